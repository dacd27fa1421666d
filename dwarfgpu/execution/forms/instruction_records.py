"""What forms have counted: a record for each instruction of a program, and for each way that calls lead there."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dwarfgpu.execution.batch import Calls, return_addresses
from dwarfgpu.execution.forms.counted_forms import CountedForm, CountedLoop, CountedStretch
from dwarfgpu.execution.forms.counting_functions import CountField, WayField
from dwarfgpu.execution.forms.layout import SLOT, Place
from dwarfgpu.execution.forms.memory_table import address_of

if TYPE_CHECKING:
    from dwarfgpu.execution.forms.engine import FormLibrary
    from dwarfgpu.execution.forms.program import FormProgram
    from dwarfgpu.execution.forms.wave_states import FormBatch

    Callers = tuple[int, ...] | None
    """The return addresses of calls, the innermost first; None where they are not known."""

MOST_WAYS = 1 << 12
"""The ways of calls whose records a program has."""


class _Way:
    """A way of calls in a program, and the records of its instructions."""

    def __init__(self, program: FormProgram, callers: Callers, outer: _Way | None) -> None:
        self.callers = callers
        self.records = np.zeros((program.slot_count, SLOT // 8), np.int64)
        self.cells = (ctypes.c_uint64 * len(WayField))()
        self.address = ctypes.addressof(self.cells)
        self.distance = address_of(self.records) - program.slot_of(program.start)
        self.put(WayField.DISTANCE, self.distance)
        if callers and outer is not None:
            self.put(WayField.BEHIND, program.slot_of(callers[0]) if program.has(callers[0]) else 0)
            self.put(WayField.OUTER, outer.address)
            self.put(WayField.NEXT, outer.cells[WayField.INNER // 8])
            outer.put(WayField.INNER, self.address)

    def put(self, field: WayField, number: int) -> None:
        """Let forms know something."""
        self.cells[field // 8] = number & (1 << 64) - 1


class InstructionRecords:
    """The records of all programs of a device."""

    needs_order = False
    """Whether waves go in step."""

    def __init__(self) -> None:
        self._ways: dict[FormProgram, dict[Callers, _Way]] = {}

    writers = CountedForm, CountedStretch
    """What writes forms and stretches."""
    loop_writer = CountedLoop

    def prepare(self, library: FormLibrary) -> None:
        """Compile what these forms call."""
        from dwarfgpu.execution.forms.counting_functions import DECLARED, FUNCTIONS

        library.let_call(FUNCTIONS, DECLARED)

    def enter(self, program: FormProgram, batch: FormBatch) -> bool:
        """Let waves count where their calls have led them; return whether there is room for that."""
        ways = self._ways.setdefault(program, {})
        each = [batch.calls] if not isinstance(batch.calls, list) else batch.calls
        found = {id(calls): self._way(program, ways, calls) for calls in each}
        if len(ways) >= MOST_WAYS:
            return False
        ordered = [found[id(calls)] for calls in each]
        rows = batch.waves if len(ordered) > 1 else batch.index
        batch.states.put(rows, Place.RECORDS, [way.distance for way in ordered])
        batch.states.put(rows, Place.WAY, [way.address for way in ordered])
        return True

    @staticmethod
    def _way(program: FormProgram, ways: dict[Callers, _Way], calls: Calls) -> _Way:
        callers = return_addresses(calls)
        if callers not in ways:
            outer = None
            for depth in range(len(callers or ()), -1, -1):  # the outermost first
                part = None if callers is None else callers[depth:]
                outer = ways[part] if part in ways else ways.setdefault(part, _Way(program, part, outer))
        return ways[callers]

    def taken(self) -> Iterator[tuple[int, Callers, list[int]]]:
        """Yield what has been counted since, by instruction and calls: the first five numbers of `CountField`."""
        for program, ways in self._ways.items():
            places = np.flatnonzero(program.begins)
            for way in ways.values():
                whole = way.records[places, : CountField.MORE]
                whole[:, :2] += way.records[:, CountField.MORE : CountField.MORE_LANES + 1].cumsum(axis=0)[places]
                way.records[way.records.any(axis=1)] = 0
                for row in np.flatnonzero(whole.any(axis=1)).tolist():
                    yield program.start + 4 * int(places[row]), way.callers, whole[row].tolist()
