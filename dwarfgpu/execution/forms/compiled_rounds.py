"""How waves run one after the other as forms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution import turns
from dwarfgpu.execution.batch import Calls, called_from, shared_calls
from dwarfgpu.execution.forms.layout import MOST_CALLS_OF_WAVE, RoundCell, RoundExit
from dwarfgpu.execution.forms.memory_table import address_of
from dwarfgpu.execution.forms.native import CompilerError

if TYPE_CHECKING:
    from dwarfgpu.execution.forms.program import FormProgram
    from dwarfgpu.execution.forms.wave_states import FormBatch

SPAN = 1 << 20
"""The instructions, counted for each wave, after which compiled code lets Python look for ^C."""


class CompiledRound:
    """The turns of some waves."""

    def __init__(
        self, forms: Any, batch: FormBatch, program: FormProgram, places: Any, turn: int, begin: tuple[int, int]
    ) -> None:
        self._forms, self._batch, self._program, self._turn = forms, batch, program, turn
        self.row, self._left = begin[0], turn
        """The position of the wave whose turn it is, and the instructions that are left of that."""
        self._group, self._used = 0, begin[1]
        """The position of its work-group, and the instructions that this has executed."""
        bounds, are_whole = forms.device.groups_of(batch.waves)
        self._bounds, self._are_whole = bounds.astype(np.int64), are_whole.astype(np.uint8)
        batch.states.put_complete(batch.waves, address_of(forms.device.barriers.complete) + batch.waves)
        batch.settle()
        batch.states.put_next(batch.waves, program.slots_of(places))
        self._calls: dict[int, Calls] = {}
        """The calls of waves that Python knows all of, by position."""
        self._before: Calls | list[Calls] = []
        """The calls of the wave of which Python executes an instruction."""
        outer, inner = batch.calls, list[int]()
        if not isinstance(outer, list):
            while outer[2] > 0 and len(inner) < MOST_CALLS_OF_WAVE // 2 and program.has(outer[0]):
                inner.insert(0, program.slot_of(outer[0]))
                outer = outer[1]
        self._outer: Calls | list[Calls] = outer
        """The calls around those that waves have noted."""
        batch.states.put_calls(batch.waves, inner)

    def run(self, room: int) -> FormBatch | None:
        """Let waves run; return one whose next instruction Python executes, or None where nothing is left to do."""
        forms, batch, program = self._forms, self._batch, self._program
        device, cells = forms.device, forms.cells
        groups = len(self._are_whole)
        cells[RoundCell.WAVES], cells[RoundCell.COUNT] = address_of(batch.pointers), groups
        cells[RoundCell.BOUNDS], cells[RoundCell.WHOLES] = address_of(self._bounds), address_of(self._are_whole)
        cells[RoundCell.TURN], cells[RoundCell.MOST], cells[RoundCell.HOT] = self._turn, SPAN, forms.hot
        while room > 0 and self._group < groups and not (device.is_interrupted or forms.problem):
            cells[RoundCell.GROUP], cells[RoundCell.USED], cells[RoundCell.ROOM] = self._group, self._used, room
            cells[RoundCell.NUMBER], cells[RoundCell.LEFT] = self.row, self._left
            reason = forms.library.round(forms.place)
            device.executed += cells[RoundCell.EXECUTED]
            room -= cells[RoundCell.EXECUTED]
            self._group, self._used = cells[RoundCell.GROUP], cells[RoundCell.USED]
            self.row, self._left = cells[RoundCell.NUMBER], cells[RoundCell.LEFT]
            if reason == RoundExit.OVER:
                continue
            wave = batch.waves[self.row : self.row + 1]
            address = program.address_of(int(batch.states.next_slots(wave)[0]))
            if reason == RoundExit.HOT:
                with suppress(CompilerError):  # what there is goes on
                    program.extend(address)
            elif reason == RoundExit.NOTED:
                called = self._wave(address)
                forms.note(called, program.address_of(cells[RoundCell.LAST]), address)
                self._keep(called)
            elif not forms.fill(program, address):
                if not device.waves_meet(address, batch.mode):
                    return self._wave(address)
                self._skip()
        return None

    def go_on(self, wave: FormBatch) -> None:
        """Let the wave whose turn it is go on, of which Python has executed an instruction."""
        wave.settle()
        wave.states.put_next(wave.waves, self._program.slot_of(wave.pc))
        self._keep(wave)
        self._left, self._used = self._left - 1, self._used + 1

    def leave_out(self) -> None:
        """Let the next wave have its turn; that whose turn it is has none any more, so its work-group is not whole."""
        self._are_whole[self._group] = 0
        self._skip()

    def _skip(self) -> None:
        """Let the next wave have its turn."""
        self.row, self._left = self.row + 1, self._turn

    def parts(self, flags: Any) -> Iterator[FormBatch]:
        """Yield the waves with a flag, those together that are at one place."""
        batch = self._batch
        batch.calls = self._calls_of(np.arange(batch.count))
        places = self._program.address_of(batch.states.next_slots(batch.waves))
        for place in np.unique(places[flags]).tolist():
            rows = np.flatnonzero(flags & (places == place))
            batch.states.join_known(batch.waves[rows])
            for first in range(0, len(rows), turns.WIDEST):
                part: Any = batch.take(rows[first : first + turns.WIDEST])
                part.pc = place
                yield part

    def _wave(self, address: int) -> FormBatch:
        """Return the wave whose turn it is."""
        rows = np.array([self.row])
        wave: Any = self._batch.take(rows)
        wave.pc, wave.calls = address, self._calls_of(rows)
        self._before = wave.calls
        return wave  # type: ignore[no-any-return]

    def _keep(self, wave: FormBatch) -> None:
        """Keep the calls of the wave whose turn it is, if they are others now."""
        if wave.calls is not self._before:
            (self._calls[self.row],) = wave.each_calls()
            wave.states.put_calls(wave.waves, [])

    def _calls_of(self, rows: Any) -> Calls | list[Calls]:
        """Return the calls that some waves are in."""
        noted, outer, own = self._batch.states.calls(self._batch.waves[rows]), self._outer, self._calls
        if not own and not isinstance(outer, list) and (noted == noted[0]).all():
            return self._inside(outer, noted[0, 1 : 1 + noted[0, 0]].tolist())
        noted, which = np.unique(noted, axis=0, return_inverse=True)
        slots = [row[1 : 1 + row[0]] for row in noted.tolist()]
        around = outer if isinstance(outer, list) else [outer] * self._batch.count
        each = zip(rows.tolist(), which.reshape(-1).tolist(), strict=True)
        return shared_calls([self._inside(own.get(row, around[row]), slots[number]) for row, number in each])

    def _inside(self, calls: Calls, slots: list[int]) -> Calls:
        for slot in slots:
            calls = called_from(calls, self._program.address_of(slot))
        return calls
