"""Registers of waves that stay in the mapped core file.

A register of a wave is a range of memory: the wave's first address, plus the register's number times the register size.
Nothing is read in advance, and one gather from the mapping reads a register of all waves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.machines.columns import Cells, RegisterFile, unit_count, unit_type
from dwarfgpu.machines.extents import gathered_rows

if TYPE_CHECKING:
    from array import array

    from dwarfgpu.bits import Array
    from dwarfgpu.machines.gpu_core.file_memory import FileMemory
    from dwarfgpu.targets.target import TargetRegister

MAX_COPIED = 1 << 32
"""At most this many bytes of registers are copied into one array."""


NO_CELLS = Cells("|u1", (0,))


@frozen(eq=False)
class RecordRows:
    """Where the registers are in each wave's record. Lists are by shape: waves of one shape share a record layout."""

    records: array[int]
    shape: array[int]
    offsets: list[int]
    """The offset of the first register in a record."""
    counts: list[int]
    """How many registers a wave has."""
    shared: list[int]
    """How many shared vector registers follow."""
    elsewhere: Sequence[tuple[int, int]] = ()
    """By shape: the first of the two SGPRs that show XNACK_MASK, and its offset in the record; empty without these."""


class MappedRegisters(RegisterFile):
    """Consecutive registers of one kind, of every wave."""

    __slots__ = ("_elsewhere", "_lacking", "_memory", "_places", "_rows", "_shared", "_stored", "_written")

    def __init__(
        self,
        registers: Sequence[TargetRegister],
        memory: FileMemory,
        rows: RecordRows,
        *,
        stored: int | None = None,
        has_shared: bool = False,
        lacking: frozenset[int] = frozenset(),
    ) -> None:
        """Read registers of the file; ``rows`` says where the first one of each wave is.

        ``stored`` is how many bytes of a register the file has; those above are zeros. With ``has_shared``, shared
        vector registers follow: both halves of a wave of 64 lanes see the same 32 dwords. ``lacking`` are the waves
        without these registers.
        """
        RegisterFile.__init__(self, registers, NO_CELLS)
        self._stored = self.byte_size if stored is None else stored
        self._memory = memory
        self._rows = rows
        self._shared = has_shared
        self._lacking = lacking
        self._elsewhere = {position for at, _offset in rows.elsewhere for position in (at, at + 1)}
        self._places: Any = None
        self._written: dict[tuple[int, int], bytes] = {}
        """Registers that were written but have no place of full size in the mapping, by wave and position."""

    # --- One register ---------------------------------------------------------------------------------------------

    @property
    def row_count(self) -> int:
        return len(self._rows.records)

    def _range(self, wave: int, position: int) -> tuple[int, int] | None:
        """Return the address and the stored size of a register of a wave, if it has one."""
        if wave in self._lacking:
            return None
        rows = self._rows
        shape = rows.shape[wave]
        count, first = rows.counts[shape], rows.records[wave] + rows.offsets[shape]
        if position < count:
            at, offset = rows.elsewhere[shape] if rows.elsewhere else (count, 0)
            if at <= position < at + 2:
                first, position = rows.records[wave] + offset, position - at
            return first + position * self.byte_size, self._stored
        if self._shared and position < count + rows.shared[shape]:
            half = self.byte_size // 2
            return first + count * self.byte_size + (position - count) * half, half
        return None

    def read(self, wave: int, number: int) -> bytes | None:
        position = self.positions[number]
        if self._written and (wave, position) in self._written:
            return self._written[wave, position]
        place = self._range(wave, position)
        data = None if place is None else self._memory.read(*place)
        if data is None or len(data) == self.byte_size:
            return data
        is_shared = position >= self._rows.counts[self._rows.shape[wave]]
        return data + data if is_shared else data.ljust(self.byte_size, b"\0")

    def knows(self, wave: int, number: int) -> bool:
        return self.read(wave, number) is not None

    def write(self, wave: int, number: int, data: bytes) -> None:
        """Replace a register, in the mapping if it is there; the file itself never changes."""
        position = self.positions[number]
        place = self._range(wave, position)
        if (
            self._memory.is_writable
            and place is not None
            and place[1] == self.byte_size
            and self._memory.read(*place) is not None
        ):
            self._memory.write(place[0], data)
        else:
            self._written[wave, position] = data

    # --- Registers of many waves ----------------------------------------------------------------------------------

    def _located(self) -> tuple[int | None, Any, Any, Any]:
        """Return the file that has all registers, or None; and by wave the offset in it, register count and address."""
        import numpy as np

        if self._places is None:
            rows = self._rows
            shape = np.asarray(rows.shape, dtype=np.int64)
            counts = np.array(rows.counts, dtype=np.int64)[shape]
            firsts = np.asarray(rows.records, dtype=np.uint64) + np.array(rows.offsets, dtype=np.uint64)[shape]
            if self._lacking:
                counts[list(self._lacking)] = 0
            size = np.maximum(counts - 1, 0) * self.byte_size + self._stored
            columns = self._memory.columns
            file, starts = None, None
            if len(columns.starts) and len(firsts):
                index = np.maximum(columns.starts.searchsorted(firsts, side="right") - 1, 0)
                begin, last, owners = columns.starts[index], columns.lasts[index], columns.owners[index]
                room = last - firsts
                is_whole = (firsts >= begin) & (firsts <= last) & (room >= (size - 1).astype(np.uint64))
                is_whole |= counts <= 0
                if is_whole.all() and (owners == owners[0]).all():
                    file = int(owners[0])
                    starts = (firsts - begin).view(np.int64) + columns.offsets[index]
            self._places = file, starts, counts, firsts
        return self._places  # type: ignore[no-any-return]

    def flags(self, waves: Any, number: int, count: int) -> Array:
        import numpy as np

        if isinstance(waves, int):
            return np.full(count, self.knows(waves, number))
        position = self.positions[number]
        file, _starts, counts, firsts = self._located()
        if file is not None and not self._shared and not self._written:
            if int(counts.min(initial=position + 1)) > position:
                return np.ones(count, dtype=bool)
            return (counts > position)[waves]  # type: ignore[no-any-return]
        if not self._shared and not self._written:
            keys = firsts[waves] + np.uint64(position * self.byte_size)
            return self._memory.known(keys, self._stored) & (counts[waves] > position)  # type: ignore[no-any-return]
        unique, inverse = np.unique(waves, return_inverse=True)
        known = np.array([self.knows(wave, number) for wave in unique.tolist()], dtype=bool)
        return known[inverse].reshape(count)

    def gather(self, waves: Any, number: int, offsets: Any, size: int, count: int) -> Array:
        import numpy as np

        position = self.positions[number]
        file, starts, counts, firsts = self._located()
        stays_inside = self._stored == self.byte_size or (isinstance(offsets, int) and offsets + size <= self._stored)
        if self._shared or self._written or not stays_inside or position in self._elsewhere:
            return self._one_by_one(waves, number, offsets, size, count)
        if isinstance(waves, int):
            waves = np.full(count, waves, dtype=np.int64)
        if file is None:
            keys = firsts[waves] + np.uint64(position * self.byte_size) + np.asarray(offsets).astype(np.uint64)
            return self._memory.gather(keys, size)[0]
        block = self._memory.blocks[file].array
        begin = starts + position * self.byte_size
        if int(counts.min(initial=position + 1)) <= position:  # waves without it: any bytes, unknown in `flags`
            begin = np.where(counts > position, begin, 0)
        places = begin[waves]
        places += offsets
        return gathered_rows(block, places, size)

    def _one_by_one(self, waves: Any, number: int, offsets: Any, size: int, count: int) -> Array:
        """Gather wave by wave, for registers that were written or that the file stores in another form."""
        import numpy as np

        if isinstance(waves, int):
            unique, inverse = np.array([waves]), np.zeros(count, dtype=np.int64)
        else:
            unique, inverse = np.unique(waves, return_inverse=True)
            inverse = inverse.reshape(count)
        empty = bytes(self.byte_size)
        whole = b"".join([self.read(wave, number) or empty for wave in unique.tolist()])
        rows = np.frombuffer(whole, dtype=np.uint8).reshape(len(unique), self.byte_size)
        index = np.broadcast_to(np.asarray(offsets), (count,))[:, None] + np.arange(size)
        taken: Array = rows[inverse[:, None], index]
        return taken

    def put(self, waves: Any, number: int, values: Array) -> None:
        import numpy as np

        chosen = np.arange(self.row_count)[waves]
        rows = np.broadcast_to(np.asarray(values), (len(chosen), unit_count(self.registers[0])))
        units = rows.astype(unit_type(self.registers[0], "little"))
        for wave, row in zip(chosen.tolist(), units, strict=True):
            self.write(wave, number, row.tobytes())

    @property
    def known(self) -> Array:
        """Flags of the known registers: ``known[wave, register]``."""
        import numpy as np

        waves = np.arange(self.row_count)
        columns = [self.flags(waves, register.number, len(waves)) for register in self.registers]
        return np.stack(columns, axis=1)

    @property
    def all_known(self) -> bool:
        return bool(self.known.all())

    @property
    def data(self) -> Array:
        """A copy of the registers of all waves, ``data[wave, register, unit]``; a change does not reach the machine."""
        import numpy as np

        if self.row_count * len(self.registers) * self.byte_size > MAX_COPIED:
            message = f"{len(self.registers)} registers of {self.row_count} waves are too many for one array"
            raise UsageError(message, hint="`dwarfgpu snapshot convert CORE NEW --waves LIST` chooses fewer waves")
        waves = np.arange(self.row_count)
        columns = [self.gather(waves, register.number, 0, self.byte_size, len(waves)) for register in self.registers]
        kind = unit_type(self.registers[0], "little")
        return np.stack(columns, axis=1).view(kind)

    def more_waves(self, count: int) -> None:
        raise UsageError("no wave can be added to a core file", hint="save it as a snapshot first")


def copied(file: RegisterFile, waves: list[int], byte_order: str) -> RegisterFile:
    """Return a copy of the registers of some waves, which does not need the file."""
    import numpy as np

    kind, count = unit_type(file.registers[0], byte_order), len(waves)
    cells = Cells(kind, (count, len(file.registers), unit_count(file.registers[0])))
    known = Cells("|b1", (count, len(file.registers)))
    rows = np.array(waves, dtype=np.int64)
    for position, register in enumerate(file.registers if count else ()):
        flags = file.flags(rows, register.number, count)
        data = file.gather(rows, register.number, 0, file.byte_size, count)
        cells.array[:, position] = np.where(flags[:, None], data.view(kind), 0)
        known.array[:, position] = flags
    return RegisterFile(file.registers, cells, None if known.array.all() else known)
