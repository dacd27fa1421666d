"""The provenance of waves whose pointers are followed: states beside theirs, and where memory has pointers."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.batch import NOTHING, SCALARS, UNSET, WaveBatch
from dwarfgpu.execution.checks.provenance import PointerColumns, known, simple
from dwarfgpu.execution.forms.followed_waves import FollowedWaves
from dwarfgpu.execution.forms.layout import Place
from dwarfgpu.execution.forms.memory_functions import POINTER_FUNCTIONS, POINTERS_DECLARED
from dwarfgpu.execution.forms.memory_table import address_of
from dwarfgpu.execution.forms.pointer_table import ArraysOfLines, PointerTable
from dwarfgpu.execution.forms.wave_states import FormBatch, WaveStates

if TYPE_CHECKING:
    from dwarfgpu.execution.checks.checked_memory import CheckedMemory


class PointerStates(WaveStates):
    """The provenance of waves, as the registers of other waves: a byte says whether a register may be a pointer."""

    def reach(self, private: Any, size: int, table: int) -> None:
        """Let the provenance of private memory be some words, so many bytes for each wave."""
        numbers = np.arange(self.count, dtype=np.int64)
        self._places = [
            (Place.PRIVATE // 8, address_of(private) + numbers * size),
            (Place.TABLE // 8, np.broadcast_to(np.int64(table), self.count)),
        ]
        for place, values in self._places:
            self._longs[:, place] = values

    def scalars(self, rows: Any, _number: int) -> dict[int, Any]:
        words = self._words[rows, :SCALARS].view(np.int32)
        return {number: simple(words[:, number : number + 1]) for number in range(SCALARS)}

    def put_scalar(self, rows: Any, number: int, value: Any) -> None:
        word = known(value)
        if np.ndim(word):
            word = np.where((word == word[:, :1]).all(axis=1), word[:, 0], np.int32(-1))
        self._words[rows, number] = word.view(np.uint32)

    def column(self, rows: Any, number: int) -> dict[int, Any]:
        found = super().column(rows, number)[number]
        return {number: None if found is NOTHING else simple(found.view(np.int32))}

    def put_column(self, rows: Any, number: int, value: Any) -> None:
        super().put_column(rows, number, known(value).view(np.uint32))
        flags = np.any(known(value), axis=1) if np.ndim(value) else value is not None
        self._known[rows, Place.KNOWN_VECTORS - Place.KNOWN + number] = flags

    def join_known(self, rows: Any) -> None:
        """Each wave has bytes of its own."""


class StatePointers(PointerColumns):
    """The provenance of the registers of a batch whose waves have it in states."""

    def __init__(self, registers: FormBatch) -> None:
        super().__init__(registers.vector, registers.accumulation, registers.scalar)
        self.registers = registers

    def part(self, index: Any, count: int) -> PointerColumns:
        if isinstance(index, slice):
            return PointerColumns(*map(list, self.files))
        return StatePointers(self.registers.take(index))  # type: ignore[arg-type]

    def join(self, others: list[PointerColumns], counts: list[int]) -> PointerColumns:
        registers = [each.registers for each in others if isinstance(each, StatePointers)]
        if len(registers) == len(others) and all(each.states is self.registers.states for each in registers):
            return StatePointers(self.registers.join(registers))  # type: ignore[arg-type]
        return PointerColumns(*map(list, self.files)).join(others, counts)


class PointerWaves(FollowedWaves):
    """The provenance of waves whose pointers are followed."""

    def __init__(self, memory: CheckedMemory, bounds: Any) -> None:
        self.memory, self.bounds = memory, bounds
        self._table = PointerTable(memory, bounds)
        self.arrays = ArraysOfLines(memory, self._table, lambda: bounds.indexed)
        bounds.on_array = self.arrays.note
        self.states = PointerStates(0, 0, (0, 0))
        self._changes: tuple[int, ...] = ()
        self._noted: list[Any] = []
        """What the states and the table have been told of."""

    def prepare(self, library: Any) -> None:
        """Compile what forms call."""
        library.let_call(POINTER_FUNCTIONS, POINTERS_DECLARED)

    def hidden(self) -> tuple[int, ...]:
        """Return the segments of global memory that forms do not reach: those that have pointers, or private memory."""
        return *self.bounds.shadows, self.memory.scratch_base

    def writers(self) -> tuple[Any, Any, dict[str, Any]]:
        """Return what writes forms and stretches, and what they need to know."""
        from dwarfgpu.execution.forms.pointer_forms import PointerForm, PointerStretch

        return PointerForm, PointerStretch, {"arrays": self.arrays}

    def renew(self, count: int, lanes: int, counts: tuple[int, int]) -> None:
        """Have room for other waves and registers."""
        self.states, self._changes = PointerStates(count, lanes, counts), ()

    def begin(self) -> None:
        """Let waves with other memory enter."""
        self._changes = ()
        self._update()

    def places(self, count: int) -> list[tuple[Place, Any]]:
        return [(Place.POINTERS, self.states.addresses[:count])]

    def entered(self, batch: WaveBatch, entered: FormBatch) -> FormBatch:
        """Take over the provenance of a batch; return its waves with it."""
        columns = batch.beside.get("pointers") or self.bounds.start(batch)
        words = WaveBatch(batch.waves, batch.lanes, 0, 0)
        words.vector, words.accumulation, words.scalar = [], [], [UNSET] * SCALARS
        registers = self.states.enter(words)
        for file, own in zip(columns.files, (registers.vector, registers.accumulation, registers.scalar), strict=True):
            for number, column in enumerate(file):
                if column is not None:
                    own[number] = column
        registers.settle()
        entered.beside["pointers"] = StatePointers(registers)
        return entered

    def settle(self, batch: FormBatch, _distance: int) -> None:
        """Put provenance that Python has changed into the states, and where it is."""
        batch.beside["pointers"].registers.settle()
        self._update()

    @property
    def hides_local(self) -> bool:
        return self.bounds.local is not None

    def _update(self) -> None:
        bounds, memory = self.bounds, self.memory
        private = memory.private_provenance()
        arrays = [private.words, bounds.pointers, bounds.indexed, *(each.words for each in bounds.shadows.values())]
        changes = memory.memory.changes, len(bounds.buffers), len(arrays)
        if changes == self._changes and all(map(is_, arrays, self._noted)):
            return
        if self._noted and bounds.indexed is not self._noted[2]:
            self.arrays.forget()
        self._changes, self._noted = changes, arrays
        self._table.update()
        self.states.reach(private.words, memory.scratch_size, self._table.address)
