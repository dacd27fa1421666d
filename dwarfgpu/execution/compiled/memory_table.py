"""Where compiled code finds memory: the numbers that all regions of a device are called with."""

from __future__ import annotations

import ctypes
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.compiled.layout import MOST_CALLS, Cell

if TYPE_CHECKING:
    from dwarfgpu.execution.device_memory import MemorySegment
    from dwarfgpu.execution.memory_access import MemoryAccess

_Byte = ctypes.c_char
SHARED_CELLS = int(Cell.GROUPS)
"""How many numbers all regions have: the first ones."""


class MemoryTable:
    """The memory of a device, as compiled code is told of it."""

    def __init__(self) -> None:
        self.cells = (ctypes.c_int64 * SHARED_CELLS)()
        self.address = ctypes.addressof(self.cells)
        self.shared = memoryview(self.cells).cast("B")
        self.calls = (ctypes.c_uint64 * (MOST_CALLS + 1))()
        """The calls that compiled code has noted."""
        self.cells[Cell.CALLS] = ctypes.addressof(self.calls)
        self._room = np.empty(0, np.int64)
        self._changes = 0
        self._mapped: list[MemorySegment] | None = None
        self._table = array("Q")
        """The start and the size of each segment, and its address of the host; with the window on private memory."""
        self._window: int | None = None
        """Where in the table that window is."""
        self._kept: tuple[Any, ...] = ()
        self._can_reach_all = True

    def make_room(self, waves: int, lanes: int) -> None:
        """Have room for what compiled code keeps of so many waves in one instruction: places, and their distances."""
        needed = waves * (2 * lanes + 1)
        if len(self._room) < needed:
            self._room = np.empty(2 * needed, np.int64)
            rows = address_of(self._room)
            places = rows + 16 * waves
            self.cells[Cell.ROWS], self.cells[Cell.PLACES] = rows, places
            self.cells[Cell.STEPS] = places + 16 * waves * lanes

    def can_reach_all(self, memory: MemoryAccess) -> bool:
        """Take over where memory is; return whether compiled code can reach all of it."""
        segments, mapped = memory.memory, memory.mapped
        if segments.changes == self._changes:
            return self._can_reach_all
        self._changes = segments.changes
        private, shared, table = memory.private_aperture >> 32, memory.shared_aperture >> 32, self._table
        if self._window is not None:
            del table[3 * self._window : 3 * self._window + 3]
        if mapped is not self._mapped:
            del table[:]
            self._mapped, self._can_reach_all = mapped, True
        count = len(table) // 3
        latest = min(count, max(len(mapped) - 1, 0))
        table.extend(number for each in mapped[count:] for number in self._row(each, private, shared))
        self._window = segments.window
        if self._window is not None:
            row = self._row(segments.segments[self._window], private, shared)
            table[3 * self._window : 3 * self._window] = array("Q", row)
        self._kept = memory.local.data, memory.scratch.data
        local, scratch = map(address_of, self._kept)
        self.cells[Cell.SEGMENTS :] = [
            table.buffer_info()[0], len(table) // 3, latest, local, memory.local_size, scratch, memory.scratch_size,
            memory.scratch_base, memory.scratch.data.size, shared, private,
        ]  # fmt: skip
        return self._can_reach_all

    def _row(self, segment: MemorySegment, private: int, shared: int) -> tuple[int, int, int]:
        first, last = segment.start >> 32, segment.end >> 32
        if first <= private <= last or first <= shared <= last:
            self._can_reach_all = False
        return segment.start, segment.end - segment.start, address_of(segment.data)


def address_of(column: Any) -> int:
    """Return the address of the host of an array that is not empty."""
    if not column.size:
        return 0
    try:
        return ctypes.addressof(_Byte.from_buffer(column))  # six times as fast as what follows
    except (ValueError, TypeError, BufferError):  # it cannot be written
        address: int = column.__array_interface__["data"][0]
        return address
