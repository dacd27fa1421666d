"""Cells: numbers of one type, row after row, in memory or in a mapped file.

They can be accessed as bytes, which suits one of them, and as an array of numpy, which suits many. Both are the same
memory, so what is written through one is read through the other, and numpy is imported when the array is used and not
before.
"""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dwarfgpu.bits import Array

_LARGE = 1 << 16
"""Cells of more bytes get pages of their own, which cost nothing until they are written."""
_CODES = {"b1": "?", "u1": "B", "i8": "q", "u8": "Q"}
"""How `struct` calls the types whose numbers are read one by one."""


def item_size(kind: str) -> int:
    """Return the byte size of a number, or of a text, of a type as numpy writes it."""
    return int(kind[2:]) * (4 if kind[1] == "U" else 1)


def byte_size(kind: str, shape: tuple[int, ...]) -> int:
    """Return the byte size of an array."""
    size = item_size(kind)
    for length in shape:
        size *= length
    return size


class Cells:
    """Numbers of one type in a number of dimensions, C order."""

    __slots__ = ("_array", "_row", "buffer", "kind", "shape")

    def __init__(self, kind: str, shape: tuple[int, ...], buffer: memoryview | None = None) -> None:
        self.kind = kind
        """Their type, as numpy writes it."""
        self.shape = shape
        self.buffer: memoryview = memoryview(_zeros(byte_size(kind, shape))) if buffer is None else buffer
        """Their bytes, which can be written."""
        self._array: Array | None = None
        self._row: struct.Struct | None = None

    @classmethod
    def of_bytes(cls, data: Any) -> Cells:
        """Make cells of bytes, or of the bytes of an array. A writable buffer is used without a copy."""
        if hasattr(data, "dtype"):
            import numpy as np

            data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        view = memoryview(data)
        view = memoryview(bytearray(view)) if view.readonly else view.cast("B") if view.nbytes else view
        return cls("|u1", (view.nbytes,), view)

    @property
    def row_size(self) -> int:
        """The byte size of a row."""
        return byte_size(self.kind, self.shape[1:])

    @property
    def array(self) -> Array:
        """The cells as an array, which is the same memory."""
        if self._array is None:
            import numpy as np

            self._array = np.ndarray(self.shape, self.kind, self.buffer)
        return self._array

    def shaped(self, *shape: int) -> Cells:
        """Return the same cells in other dimensions."""
        return Cells(self.kind, shape, self.buffer)

    def with_rows(self, count: int, data: bytes | None = None) -> Cells:
        """Return a copy with more rows at the end, of zeros or of some bytes."""
        copy = Cells(self.kind, (self.shape[0] + count, *self.shape[1:]))
        size = len(self.buffer)
        copy.buffer[:size] = self.buffer
        if data is not None:
            copy.buffer[size:] = data
        return copy

    def tolist(self) -> list[int]:
        """Return all numbers in a flat list."""
        return list(struct.unpack(self._format(len(self.buffer) // item_size(self.kind)), self.buffer))

    def row(self, index: int) -> tuple[int, ...]:
        """Return the numbers with the same first index."""
        if self._row is None:
            self._row = struct.Struct(self._format(self.row_size // item_size(self.kind)))
        return self._row.unpack_from(self.buffer, index * self._row.size)

    def _format(self, count: int) -> str:
        return f"{'>' if self.kind[0] == '>' else '<'}{count}{_CODES[self.kind[1:]]}"


def _zeros(size: int) -> Any:
    if size < _LARGE:
        return bytearray(size)
    is_unix = hasattr(mmap, "MAP_PRIVATE")  # elsewhere no process is ever forked that would share the pages
    return mmap.mmap(-1, size, access=mmap.ACCESS_COPY if is_unix else mmap.ACCESS_DEFAULT)
