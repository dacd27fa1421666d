"""Where memory has pointers, which buffers there are, and the arrays that lines name, as compiled code has it."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.checks.findings import READ, WRITE
from dwarfgpu.execution.faults import UnknownInstruction
from dwarfgpu.execution.forms.layout import STACK_WORDS, ArrayField, MemoryCell, PointerCell
from dwarfgpu.execution.forms.memory_table import address_of

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.checks.checked_memory import CheckedMemory
    from dwarfgpu.execution.checks.findings import NamedArray

MOST_ARRAYS = 1 << 12
"""The instructions whose arrays in private memory are remembered."""
EVERYWHERE = 1 << 62
"""The size of an array that is not known."""


class PointerTable:
    """Where memory has pointers, and which buffers there are, as compiled code is told of it."""

    def __init__(self, memory: CheckedMemory, bounds: Any) -> None:
        self._memory, self._bounds = memory, bounds
        self._cells = (ctypes.c_int64 * (len(MemoryCell) + len(PointerCell)))()
        self.address = ctypes.addressof(self._cells)
        self.arrays = np.zeros((MOST_ARRAYS, len(ArrayField)), np.int64)
        self._kept: list[Any] = []

    def update(self) -> None:
        """Take over where pointers are, and the segments of buffers."""
        bounds, segments = self._bounds, self._memory.memory
        with_pointers = [each for each in self._memory.mapped if each.start in bounds.shadows]
        rows = [number for each in with_pointers for number in _row(each)]
        distances = [address_of(bounds.shadows[each.start].words) - address_of(each.data) for each in with_pointers]
        numbers = [array("q", each or [0]) for each in (rows, distances)]
        for action in (READ, WRITE):
            own = array("q", [0, 0, 0])
            for number, buffer in enumerate(bounds.buffers, 1):
                segment = segments.segment_of(buffer.address, buffer.address)
                is_plain = segment is not None and segment.start == buffer.address
                is_plain = is_plain and buffer.address not in bounds.shadows and number not in bounds.closed[action]
                own.extend(_row(segment) if is_plain else (0, 0, 0))
            numbers.append(own)
        starts = [each.buffer_info()[0] for each in numbers]
        self._kept = [*numbers, bounds.pointers]
        self._cells[: MemoryCell.LATEST + 1] = [starts[0], len(with_pointers), 0]
        self._cells[PointerCell.DISTANCES :] = [*starts[1:], address_of(self.arrays), address_of(bounds.pointers)]


def _row(segment: Any) -> tuple[int, int, int]:
    return segment.start, segment.end - segment.start, address_of(segment.data)


class ArraysOfLines:
    """The arrays that the lines of instructions name."""

    def __init__(self, memory: CheckedMemory, table: PointerTable, indexed: Callable[[], Collection[int]]) -> None:
        self._memory, self._table, self._indexed = memory, table, indexed
        self._numbers: dict[int, int] = {}
        """By instruction, its place in the table."""

    def local(self, address: int) -> list[tuple[int, int]]:
        """Return where the arrays in local memory are that an instruction may access; none if any is right."""
        source = self._memory.machine.source
        return [] if source is None else [(each.start, each.size) for each in source.local_arrays(address)]

    def number(self, address: int) -> int | None:
        """Return the place in the table of the array in private memory; None if an instruction may access any."""
        source = self._memory.machine.source
        if source is None or not source.names_arrays(address):
            return None
        if len(self._numbers) == MOST_ARRAYS and address not in self._numbers:
            raise UnknownInstruction("more arrays than are remembered")
        return self._numbers.setdefault(address, len(self._numbers))

    def note(self, address: int, batch: WaveBatch, arrays: tuple[NamedArray, ...], places: Any, size: int) -> None:
        """Take note of what waves access in private memory: one of some arrays, a variable beside it, or another one.

        An instruction that has accessed an array is looked at, and then there is nothing else that it may access.
        """
        number = self._numbers.get(address)
        stack = [batch.scalar[STACK_WORDS + word] for word in (0, 1)]
        if number is None or not (places.size and all(isinstance(each, int) for each in stack)):
            return
        start, end = (0, EVERYWHERE) if not arrays else (int(places.min()), int(places.max()) + size)
        known = [(each.start, each.start + each.size) for each in arrays]
        known += [each for own in arrays for each in own.beside]
        is_looked_at = address in self._indexed()
        within = [each for each in known if each[0] <= start and end <= each[1]]
        start, end = within[0] if within else (0, 0) if is_looked_at else (start, end)
        self._table.arrays[number] = start, end - start, 0
        self._table.arrays[number].view(np.uint32)[4:] = stack

    def forget(self) -> None:
        """Forget what is known of private memory."""
        self._table.arrays[...] = 0
