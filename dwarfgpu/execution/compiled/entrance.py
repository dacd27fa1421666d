"""Copies the registers of waves into a compiled region, calls it, and copies the written registers back."""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.batch import EXEC, UNSET, VCC, WaveBatch
from dwarfgpu.execution.compiled.layout import ACCUMULATION, SCC, Cell, Exit
from dwarfgpu.execution.compiled.memory_table import SHARED_CELLS, MemoryTable, address_of

if TYPE_CHECKING:
    from dwarfgpu.execution.compiled.block_code import CompiledRegion
    from dwarfgpu.execution.memory_access import MemoryAccess

IN_PLACE = 1 << 14
"""Vector registers of at least this many bytes are read in place, without a copy."""
MOST_PLANS = 256
INTEGERS = {int, type(UNSET)}
"""The types of scalar registers that are the same in all waves."""
LOW, ALL = 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF
_ENTRY, _STOP, _NEAREST, _BARRIER = int(Cell.ENTRY), int(Cell.STOP), int(Cell.NEAREST), int(Cell.BARRIER)
_CALL_COUNT, _PASSED, _CHECKED = int(Cell.CALL_COUNT), int(Cell.PASSED), int(Cell.CHECKED)
_WAVES, _PLACE, _INSIDE = int(Cell.WAVES), int(Cell.PLACE), int(Exit.INSIDE)


class Entrance:
    """The registers of a number of waves in a region, and the call of its code."""

    def __init__(self, region: CompiledRegion, waves: int, lanes: int) -> None:
        self.region, self.waves = region, waves
        self._shape = waves, lanes
        self._shape_of_all = len(region.columns), waves | 1, lanes
        """The shape of all vector registers. The odd number of rows spreads them over the host's cache."""
        self.following = np.empty(waves, np.uint64)
        """The address at which each running wave continues."""
        self._every, self._some = np.arange(waves, dtype=np.int64), np.empty(waves, np.int64)
        self._bytes = bytearray(4 * waves * len(region.scalars))
        self._scalars: Any = np.frombuffer(self._bytes, np.uint32).reshape(waves, -1)
        self._numbers: list[tuple[int, int, bool]] = []
        """Each scalar register of the region: its number, its first column, and whether it takes two columns."""
        for column, register in enumerate(region.scalars):
            if lanes == 32 or register not in (VCC + 1, EXEC + 1):
                self._numbers.append((register, column, lanes == 64 and register in (VCC, EXEC)))
        self._format = struct.Struct("<" + "".join("Q" if is_long else "I" for *_place, is_long in self._numbers))
        registers = [register for register, *_place in self._numbers]
        self._sources = [0 if register == SCC else register for register in registers]
        self._exec = registers.index(EXEC) if EXEC in registers else None
        self._scc = registers.index(SCC) if SCC in registers else None
        self._visited = (ctypes.c_char * (-(-len(region.blocks) // 8) * 8))()
        self._table = (ctypes.c_uint64 * len(region.columns))()
        columns = [*enumerate(region.columns)]
        self._read = [[each for each in columns if each[1] not in unread] for unread in (*region.overwritten, ())]
        """By block, (slot, register) pairs to load if all lanes are active: those not overwritten first; last: all."""
        self._numbers_of_waves = np.empty((2, waves), np.int64)
        self._plans: dict[tuple[int, int, int], tuple[list[tuple[int, int]], list[tuple[int, int, int, bool]]]] = {}
        """The registers to copy back, by the blocks executed, the last block, and the instruction in it."""
        self._vectors: Any = None
        """Copies of vector registers of a batch that has entered; compiled code may write them."""
        self._kept: list[Any] = []
        """Vector registers that are read in place, kept alive until the batch leaves."""
        self._gathered: Any = None
        """The vector registers of several batches, while only some of their waves run at a time."""
        self.cells = (ctypes.c_int64 * len(Cell))()
        self._shared = memoryview(self.cells).cast("B")[: 8 * SHARED_CELLS]
        self._at = ctypes.addressof(self.cells)
        for cell, value in (
            (Cell.GROUPS, address_of(self._numbers_of_waves)), (Cell.NUMBERS, address_of(self._numbers_of_waves[1])),
            (Cell.SCALARS, address_of(self._scalars)), (Cell.VECTORS, ctypes.addressof(self._table)),
            (Cell.WAVES, waves), (Cell.RUNNING, address_of(self._every)), (Cell.NEXT, address_of(self.following)),
            (Cell.VISITED, ctypes.addressof(self._visited)),
        ):  # fmt: skip
            self.cells[cell] = value

    def enter(self, batch: WaveBatch, memory: MemoryAccess, entry: int) -> None:
        """Copy the registers of a batch in; it will execute the region from the block ``entry`` on."""
        if self.region.asks_for_waves:
            self._numbers_of_waves[0] = memory.group_of[batch.index]
            self._numbers_of_waves[1] = batch.waves
        self._enter_scalars(batch)
        self._vectors, self._kept = self._enter_vectors(batch, entry)

    def execute(self, batch: WaveBatch, table: MemoryTable, entry: int, stops: tuple[int, int, int]) -> int:
        """Let the batch that has entered execute the region; return why it has left.

        ``stops``: after how many instructions it leaves, where another batch has its turn (-1: nowhere), and after how
        many instructions it stops at a barrier.
        """
        self._shared[:] = table.shared
        reason = self._call(entry, stops)
        vectors, self._vectors, self._kept = self._vectors, None, []
        place = self.cells[_PLACE]
        self._leave(batch, vectors, (self.visited, place >> 16, place & 0xFFFF if reason == _INSIDE else 0))
        return reason

    def _call(self, entry: int, stops: tuple[int, int, int]) -> int:
        cells = self.cells
        cells[_ENTRY], cells[_CALL_COUNT], cells[_PASSED], cells[_CHECKED] = entry, 1, 0, 0
        cells[_STOP], cells[_NEAREST], cells[_BARRIER] = stops
        return self.region.function.call(self._at)

    @property
    def visited(self) -> int:
        """The blocks that were executed completely: a byte for each."""
        return int.from_bytes(self._visited, "little")

    # --- Waves that part ------------------------------------------------------------------------------------------

    def gather(self, batches: list[WaveBatch], table: MemoryTable, memory: MemoryAccess) -> None:
        """Copy the registers of batches in, in consecutive rows, so that some of their waves can run at a time."""
        self._shared[:] = table.shared
        self._gathered = self._room()
        start = 0
        for batch in batches:
            rows = slice(start, start + batch.count)
            self._enter_scalars(batch, start)
            for slot, register in self._read[-1]:
                self._gathered[slot, rows] = _column(batch, register)
            self._numbers_of_waves[0, rows] = memory.group_of[batch.index]
            self._numbers_of_waves[1, rows] = batch.waves
            start += batch.count
        self.cells[Cell.RUNNING] = address_of(self._some)

    def run_some(self, rows: list[int], entry: int, stops: tuple[int, int, int]) -> int:
        """Let some waves execute the region from a block on; return why they have left."""
        self._some[: len(rows)] = rows
        self.cells[_WAVES] = len(rows)
        return self._call(entry, stops)

    def leave_some(self, batch: WaveBatch, rows: list[int], left: tuple[int, int, int]) -> None:
        """Copy the written registers of some rows back into a batch of these waves."""
        self._leave(batch, self._gathered, left, np.array(rows))

    def release(self) -> None:
        """Let all waves run again."""
        self.cells[Cell.RUNNING], self.cells[_WAVES] = address_of(self._every), self.waves
        self._gathered = None

    # --- Registers ------------------------------------------------------------------------------------------------

    def _enter_scalars(self, batch: WaveBatch, start: int = 0) -> None:
        scalar, rows = batch.scalar, self._scalars[start : start + batch.count]
        numbers = [scalar[register] for register in self._sources]
        if self._exec is not None:
            numbers[self._exec] = batch.exec
        if self._scc is not None:
            numbers[self._scc] = batch.scc
        columns: list[int] = []
        if not INTEGERS.issuperset(map(type, numbers)):
            columns = [position for position, number in enumerate(numbers) if not isinstance(number, int)]
        shared = numbers.copy()
        for position in columns:
            shared[position] = 0
        first = 4 * start * len(self.region.scalars)
        try:
            self._format.pack_into(self._bytes, first, *shared)
        except struct.error:  # a number has more bits than its register
            pairs = zip(self._numbers, shared, strict=True)
            self._format.pack_into(self._bytes, first, *(number & (ALL if at[2] else LOW) for at, number in pairs))
        if batch.count > 1:
            rows[1:] = rows[0]
        for position in columns:
            _register, column, is_long = self._numbers[position]
            if is_long:
                rows[:, column : column + 2] = numbers[position].astype("<u8", copy=False).view("<u4")
            else:
                rows[:, column] = numbers[position][:, 0]

    def _enter_vectors(self, batch: WaveBatch, entry: int) -> tuple[Any, list[Any]]:
        """Return copies of the vector registers, and the registers that are read in place."""
        region, shape, table = self.region, self._shape, self._table
        vectors, size = self._room(), 4 * shape[0] * shape[1]
        kept: list[Any] = []
        for slot, register in self._read[entry if batch.mask is None else -1]:
            column = _column(batch, register)
            if size >= IN_PLACE and register not in region.written and column.shape == shape and column.flags.carray:
                table[slot] = address_of(column)
                kept.append(column)
            else:
                vectors[slot] = column
        return vectors, kept

    def _room(self) -> Any:
        """Return memory for all vector registers, and write the addresses to the table."""
        count, rows, lanes = self._shape_of_all
        vectors = np.empty(self._shape_of_all, np.uint32)
        first, size = address_of(vectors), 4 * rows * lanes
        self._table[:] = [*range(first, first + size * count, size)]
        return vectors[:, : self.waves]

    def _leave(self, batch: WaveBatch, vectors: Any, left: tuple[int, int, int], chosen: Any = None) -> None:
        """Copy written registers back; ``left`` is a key of `_plans`, ``chosen`` the rows of the batch (None: all)."""
        plan = self._plans.get(left)
        if plan is None:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            plan = self._plans[left] = self._planned(*left)
        for register, slot in plan[0]:
            column = vectors[slot] if chosen is None else vectors[slot, chosen]
            if register < ACCUMULATION:
                batch.vector[register] = column
            else:
                batch.accumulation[register - ACCUMULATION] = column
        if not plan[1]:
            return
        rows = self._scalars if chosen is None else self._scalars[chosen]
        content = self._bytes if chosen is None else rows.tobytes()
        values, differs = self._format.unpack_from(content), None
        if content != content[: len(content) // batch.count] * batch.count:
            differs = (rows != rows[0]).any(axis=0).tolist()
        for register, position, column, is_long in plan[1]:
            value = values[position]
            if differs is not None and (differs[column] or (is_long and differs[column + 1])):
                part = rows[:, column : column + 1 + is_long]
                value = part.copy().view("<u8") if is_long else part.astype(np.uint64)
            if register == EXEC:
                batch.set_exec(value)
            elif register == SCC:
                batch.scc = value
            else:
                batch.scalar[register] = value

    def _planned(
        self, visited: int, last: int, index: int
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int, int, bool]]]:
        """Return the registers written by completed blocks, and before instruction ``index`` of the last block."""
        region, found = self.region, []
        for written in (region.written_vectors, region.written_scalars):
            registers: set[int] = set()
            for block in (number for number in range(len(region.blocks)) if visited >> 8 * number & 1):
                registers |= written.get(block, {}).keys()
            registers |= {register for register, first in written.get(last, {}).items() if first < index}
            found.append(registers)
        vectors, scalars = found
        return [(register, region.slots[register]) for register in sorted(vectors)], [
            (register, position, column, is_long)
            for position, (register, column, is_long) in enumerate(self._numbers)
            if register in scalars or (is_long and register + 1 in scalars)
        ]


def _column(batch: WaveBatch, register: int) -> Any:
    return batch.vector[register] if register < ACCUMULATION else batch.accumulation[register - ACCUMULATION]
