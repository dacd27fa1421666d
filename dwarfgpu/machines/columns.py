"""Registers of all waves in columns: ``data[wave, register, unit]``, with flags of the known ones.

In files the registers of a wave lie together. In a machine that runs each register does, of all waves: a launch sets a
few registers of thousands of waves, and the pages of all others stay untouched.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dwarfgpu.bits import Array
    from dwarfgpu.targets.target import TargetRegister


def unit_bits(register: TargetRegister) -> int:
    """Return the bit size of the unit that stores a register: a lane, the register, or a byte if neither fits."""
    bits = register.lane_bits or register.bit_size
    return bits if bits in (8, 16, 32, 64) else 8


def unit_type(register: TargetRegister, byte_order: str) -> str:
    """Return the type of a unit, as numpy writes it, in the byte order of the target."""
    return f"{'<' if byte_order == 'little' else '>'}u{unit_bits(register) // 8}"


def unit_count(register: TargetRegister) -> int:
    """Return how many units a register has."""
    return -(-register.bit_size // unit_bits(register))


class RegisterFile:
    """Registers of one size, of every wave."""

    __slots__ = ("_cells", "_is_by_wave", "_known", "byte_size", "positions", "registers")

    def __init__(
        self, registers: Sequence[TargetRegister], cells: Cells, known: Cells | None = None, *, is_by_wave: bool = True
    ) -> None:
        self.registers = tuple(registers)
        self.positions = {register.number: i for i, register in enumerate(registers)}
        self.byte_size = unit_count(registers[0]) * unit_bits(registers[0]) // 8
        self._cells = cells
        self._known = known
        self._is_by_wave = is_by_wave
        """Whether the registers of a wave lie together, and not one register of all waves."""

    @classmethod
    def empty(cls, registers: Sequence[TargetRegister], wave_count: int, byte_order: str) -> RegisterFile:
        """Return registers without known contents."""
        shape = len(registers), wave_count, unit_count(registers[0])
        cells = Cells(unit_type(registers[0], byte_order), shape)
        return cls(registers, cells, Cells("|b1", shape[:2]), is_by_wave=False)

    @classmethod
    def of_rows(cls, register: TargetRegister, rows: Sequence[bytes], byte_order: str) -> RegisterFile:
        """Return one register with known contents: the bytes of each row."""
        shape = len(rows), 1, unit_count(register)
        buffer = memoryview(bytearray(b"".join(rows)))
        return cls((register,), Cells(unit_type(register, byte_order), shape, buffer))

    def copy(self) -> RegisterFile:
        """Return the same registers with contents of their own."""
        known = None if self._known is None else self._known.copy()
        return RegisterFile(self.registers, self._cells.copy(), known, is_by_wave=self._is_by_wave)

    @property
    def data(self) -> Array:
        """The registers of all waves: ``data[wave, register, unit]``."""
        return self._cells.array if self._is_by_wave else self._cells.array.swapaxes(0, 1)

    @property
    def known(self) -> Array:
        """Flags of the known registers: ``known[wave, register]``."""
        import numpy as np

        if self._known is None:
            return np.broadcast_to(np.True_, (self.row_count, len(self.registers)))
        return self._known.array if self._is_by_wave else self._known.array.T

    @property
    def row_count(self) -> int:
        """The number of waves, or of lanes where each of these has its own registers."""
        return self._cells.shape[0 if self._is_by_wave else 1]

    @property
    def all_known(self) -> bool:
        """Whether every register of every wave is known."""
        return self._known is None or 0 not in bytes(self._known.buffer)

    def more_waves(self, count: int) -> None:
        """Add waves without known registers."""
        first, *rest = self._cells.shape[:2]
        known = self._known or Cells("|b1", (0, *rest)).with_rows(first, b"\1" * (first * rest[0]))
        if self._is_by_wave:
            self._cells, self._known = self._cells.with_rows(count), known.with_rows(count)
        else:
            self._cells, self._known = self._cells.with_columns(count), known.with_columns(count)

    def _index(self, wave: int, number: int) -> int:
        position = self.positions[number]
        return wave * len(self.registers) + position if self._is_by_wave else position * self.row_count + wave

    def knows(self, wave: int, number: int) -> bool:
        return self._known is None or bool(self._known.buffer[self._index(wave, number)])

    def read(self, wave: int, number: int) -> bytes | None:
        """Return the bytes of a register, in memory order; None if it is not known."""
        index = self._index(wave, number)
        if self._known is not None and not self._known.buffer[index]:
            return None
        size = self.byte_size
        start = index * size
        return self._cells.buffer[start : start + size].tobytes()

    def write(self, wave: int, number: int, data: bytes) -> None:
        """Replace a register."""
        index = self._index(wave, number)
        size = self.byte_size
        self._cells.buffer[index * size : index * size + size] = data
        if self._known is not None:
            self._known.buffer[index] = 1

    # --- One register of many waves -------------------------------------------------------------------------------

    def put(self, waves: Any, number: int, values: Array) -> None:
        """Set a register of some waves, an index of any kind, to units."""
        position = self.positions[number]
        self.data[waves, position] = values
        if self._known is not None:
            self.known[waves, position] = True

    def put_numbers(self, waves: Any, positions: list[int], values: Any) -> None:
        """Set the registers at some positions, in some waves, each to a number or to a row of lanes."""
        rows = waves if isinstance(waves, slice) else waves[:, None]
        self.data[rows, positions] = values
        if self._known is not None:
            self.known[rows, positions] = True

    def flags(self, waves: Any, number: int, count: int) -> Array:
        """Return flags of the slots in which a register is known; the slots may share one wave."""
        import numpy as np

        if self._known is None:
            return np.ones(count, dtype=bool)
        if isinstance(waves, int):
            return np.full(count, self.knows(waves, number))
        column = self.known[:, self.positions[number]]
        if len(column) <= count and column.all():
            return np.ones(count, dtype=bool)
        return column[waves]  # type: ignore[no-any-return]

    def gather(self, waves: Any, number: int, offsets: Any, size: int, count: int) -> Array:
        """Return ``size`` bytes of a register from a byte offset on: ``[slot, byte]``."""
        import numpy as np

        column = self.data[:, self.positions[number]]
        unit = column.itemsize
        if isinstance(offsets, int):
            if offsets % unit == 0 and size % unit == 0:
                part = column[:, offsets // unit : (offsets + size) // unit]
            else:
                part = column.view(np.uint8)[:, offsets : offsets + size]
            if isinstance(waves, int):
                rows = np.repeat(part[waves][None], count, axis=0)
            elif count == len(part) and (waves == np.arange(count)).all():  # all waves, in their order
                rows = part
            else:
                rows = part[waves]
            copied: Array = np.array(rows, order="C", copy=rows.base is not None)  # a caller may change it
            return copied.view(np.uint8)
        if size == unit and not (offsets & (unit - 1)).any():
            taken: Array = column[waves, offsets >> (unit.bit_length() - 1)]
            return taken.view(np.uint8).reshape(count, size)
        owners = waves if isinstance(waves, int) else waves[:, None]
        bytewise: Array = column.view(np.uint8)[owners, offsets[:, None] + np.arange(size)]
        return bytewise


# --- Names of many registers --------------------------------------------------------------------------------------


def names_of(registers: Iterable[TargetRegister]) -> str:
    """Return the names of registers, with runs such as ``v0-v127`` written as one."""
    runs: list[list[TargetRegister]] = []
    for register in registers:
        letters, number = split_name(register.name)
        if runs and number is not None and split_name(runs[-1][-1].name) == (letters, number - 1):
            runs[-1].append(register)
        else:
            runs.append([register])
    return ",".join(run[0].name if len(run) == 1 else f"{run[0].name}-{run[-1].name}" for run in runs)


@lru_cache(maxsize=1 << 12)
def split_name(name: str) -> tuple[str, int | None]:
    """Split a name into its letters and the number after them."""
    letters = name.rstrip("0123456789")
    digits = name[len(letters) :]
    return (letters, int(digits)) if digits and letters else (name, None)


# --- Cells --------------------------------------------------------------------------------------------------------
# They can be accessed as bytes, which suits one of them, and as an array of numpy, which suits many. Both
# are the same memory, so what is written through one is read through the other, and numpy is imported when
# the array is used and not before.

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
        self.shape = shape
        self.buffer: memoryview = (
            memoryview(_zeros(byte_size(kind, shape), self.row_size)) if buffer is None else buffer
        )
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

    def copy(self) -> Cells:
        """Return cells with the same numbers in memory of their own."""
        return Cells(self.kind, self.shape, memoryview(bytearray(self.buffer)))

    def with_rows(self, count: int, data: bytes | None = None) -> Cells:
        """Return a copy with more rows at the end, of zeros or of some bytes."""
        copy = Cells(self.kind, (self.shape[0] + count, *self.shape[1:]))
        size = len(self.buffer)
        copy.buffer[:size] = self.buffer
        if data is not None:
            copy.buffer[size:] = data
        return copy

    def with_columns(self, count: int) -> Cells:
        """Return a copy with more zeros behind each row."""
        rows, columns, *rest = self.shape
        copy = Cells(self.kind, (rows, columns + count, *rest))
        for row in range(rows):
            start = row * copy.row_size
            copy.buffer[start : start + self.row_size] = self.buffer[row * self.row_size : (row + 1) * self.row_size]
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


def _zeros(size: int, row_size: int) -> Any:
    if size < _LARGE:
        return bytearray(size)
    is_unix = hasattr(mmap, "MAP_PRIVATE")  # elsewhere no process is ever forked that would share the pages
    zeros = mmap.mmap(-1, size, access=mmap.ACCESS_COPY if is_unix else mmap.ACCESS_DEFAULT)
    if row_size <= mmap.PAGESIZE and hasattr(mmap, "MADV_HUGEPAGE"):  # what writes to each row writes to each page
        with suppress(OSError):
            zeros.madvise(mmap.MADV_HUGEPAGE)
    return zeros
