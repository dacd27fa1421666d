"""Where compiled code finds memory: numbers that the waves of a device share."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from dwarfgpu.execution.forms.layout import MemoryCell

if TYPE_CHECKING:
    from dwarfgpu.execution.device_memory import MemorySegment
    from dwarfgpu.execution.memory_access import MemoryAccess

_Byte = ctypes.c_char


class MemoryTable:
    """The memory of a device, as compiled code is told of it."""

    def __init__(self, hidden: Callable[[], Collection[int]] = tuple) -> None:
        """Segments with some starts can be hidden: then compiled code reaches nothing there."""
        self._hidden, self._without = hidden, frozenset[int]()
        self._cells = (ctypes.c_int64 * len(MemoryCell))()
        self.address = ctypes.addressof(self._cells)
        self._changes = 0
        self._mapped: list[MemorySegment] | None = None
        self._table = array("Q")
        """The start and the size of each segment, and its address of the host; with the window on private memory."""
        self._window: int | None = None
        """Where in the table that window is."""
        self._scratch: Any = None
        """Private memory, whose address is told."""
        self._can_reach_all = True

    def can_reach_all(self, memory: MemoryAccess) -> bool:
        """Take over where memory is; return whether compiled code can reach all of it."""
        segments, mapped, hidden = memory.memory, memory.mapped, frozenset(self._hidden())
        if segments.changes == self._changes and hidden == self._without:
            return self._can_reach_all
        if hidden != self._without:
            self._mapped, self._without = None, hidden
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
        scratch = self._scratch = memory.scratch.data
        self._cells[:] = [
            table.buffer_info()[0], len(table) // 3, latest, address_of(scratch), memory.scratch_base, scratch.size,
            shared, private, 0,
        ]  # fmt: skip
        return self._can_reach_all

    def copied(self) -> Any:
        """Return a copy of the numbers, for a thread that finds other segments last."""
        return type(self._cells)(*self._cells)

    def set_program(self, distance: int) -> None:
        """Say how far the addresses of instructions are from the numbers of their slots."""
        self._cells[MemoryCell.PROGRAM] = distance

    def _row(self, segment: MemorySegment, private: int, shared: int) -> tuple[int, int, int]:
        first, last = segment.start >> 32, segment.end >> 32
        if first <= private <= last or first <= shared <= last:
            self._can_reach_all = False
        size = 0 if segment.start in self._without else segment.end - segment.start
        return segment.start, size, address_of(segment.data)


def address_of(column: Any) -> int:
    """Return the address of the host of an array that is not empty."""
    if not column.size:
        return 0
    try:
        return ctypes.addressof(_Byte.from_buffer(column))  # six times as fast as what follows
    except (ValueError, TypeError, BufferError):  # it cannot be written
        address: int = column.__array_interface__["data"][0]
        return address
