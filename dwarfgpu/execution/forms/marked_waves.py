"""The marks of waves that are checked: states beside theirs, with a 1 for each undefined bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.batch import NOTHING, WaveBatch
from dwarfgpu.execution.checks.undefined_registers import DEFINED, UndefinedRegisters
from dwarfgpu.execution.forms.followed_waves import FollowedWaves
from dwarfgpu.execution.forms.layout import Place
from dwarfgpu.execution.forms.memory_table import MemoryTable, address_of
from dwarfgpu.execution.forms.wave_states import FormBatch, WaveStates

if TYPE_CHECKING:
    from dwarfgpu.execution.checks.init_check import InitCheck


class MarkStates(WaveStates):
    """The marks of waves that are checked, as the registers of other waves: a byte says whether a register has any."""

    def note(self, batch: WaveBatch, place: Place, numbers: Any) -> None:
        """Say where there are numbers of the registers of waves."""
        places = address_of(numbers) + np.arange(len(numbers)) * numbers.strides[0]
        self._longs[batch.index, place // 8] = places[batch.index]

    def column(self, rows: Any, number: int) -> dict[int, Any]:
        found = super().column(rows, number)[number]
        return {number: found if found is not NOTHING and found.any() else DEFINED}

    def put_column(self, rows: Any, number: int, value: Any) -> None:
        super().put_column(rows, number, value)
        self._known[rows, Place.KNOWN_VECTORS - Place.KNOWN + number] = value.any(axis=1)

    def join_known(self, rows: Any) -> None:
        """Each wave has bytes of its own."""


class MarkedWaves(FollowedWaves):
    """The marks of waves whose undefined bits are followed."""

    def __init__(self, check: InitCheck) -> None:
        self.check, self._table = check, MemoryTable()
        self.states = MarkStates(0, 0, (0, 0))

    def renew(self, count: int, lanes: int, counts: tuple[int, int]) -> None:
        """Have room for other waves and registers."""
        self.states = MarkStates(count, lanes, counts)

    def can_reach_all(self) -> bool:
        """Return whether compiled code can reach all marks."""
        return self._table.can_reach_all(self.check.memory)

    def writers(self) -> tuple[Any, Any, dict[str, Any]]:
        """Return what writes forms and stretches, and what they need to know."""
        from dwarfgpu.execution.forms.checked_forms import CheckedForm, CheckedStretch

        return CheckedForm, CheckedStretch, {}

    def begin(self) -> None:
        """Let waves with other memory enter."""
        self.states.begin(self.check.memory, self._table)

    def places(self, count: int) -> list[tuple[Place, Any]]:
        return [(Place.MARKS, self.states.addresses[:count])]

    def entered(self, batch: WaveBatch, entered: FormBatch) -> FormBatch:
        """Take over the marks of a batch; return its waves with them."""
        registers, origins = self.check.followed.of(batch), self.check.followed.origins(batch)
        entered.beside[self.check.followed.name] = UndefinedRegisters(self.states.enter(registers), origins)
        self.states.note(entered, Place.PARTLY, self.check.partly(entered))
        self.states.note(entered, Place.COPIES, self.check.copies(entered))
        return entered

    def settle(self, batch: FormBatch, distance: int) -> None:
        """Put marks that Python has changed into the states; say where the program is that runs."""
        self.check.followed.of(batch).settle()  # type: ignore[attr-defined]
        self._table.set_program(distance)
