"""Accesses outside of the memory that their pointer came from.

A pointer belongs to the buffer of the argument that it came from. It is followed through registers (`provenance`) and
through memory: a shadow has the buffer of each word that is a pointer. Where no buffer is known, the access is wrong
only if no memory is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.access_shapes import shape_of
from dwarfgpu.execution.checks.findings import (
    ATOMIC,
    BOUNDS,
    FORBIDDEN,
    INVALID,
    READ,
    WRITE,
    CheckFinding,
    FindingSide,
)
from dwarfgpu.execution.checks.kept_state import KeptState
from dwarfgpu.execution.checks.provenance import ZERO, Column, PointerColumns, known, plus, put, simple
from dwarfgpu.execution.faults import FREED, READ_ONLY, WRITE_ONLY, MachineFault, NamedBuffer
from dwarfgpu.execution.memory_access import has_base
from dwarfgpu.isa.semantics.numbers import ALL

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.checks.findings import NamedArray
    from dwarfgpu.execution.device_memory import MemorySegment
    from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand

Lanes = Any
_NO_DWORDS = np.zeros(0, bool)


class PointerShadow(KeptState):
    """The buffer of each word of some memory that is a pointer, or 0."""

    def __init__(self, size: int) -> None:
        self.words = np.zeros((size >> 2) + 1, np.int32)

    def at(self, offsets: Lanes, mask: Lanes, count: int, step: int) -> list[Column]:
        """Return the provenance of words from some offsets on; words are so many places apart."""
        first = offsets >> 2 if mask is None else (offsets >> 2) * mask
        return [simple(self.words.take(first + step * number, mode="clip")) for number in range(count)]

    def put(self, offsets: Lanes, mask: Lanes, columns: Sequence[Column], step: int) -> None:
        """Take note of what is written to words from some offsets on."""
        lanes = slice(None) if mask is None else mask
        first = (offsets >> 2)[lanes]
        for number, column in enumerate(columns):
            self.words[first + step * number] = np.broadcast_to(known(column), offsets.shape)[lanes]


class BoundsCheck(KeptState):
    """Looks whether accesses are in the memory that their pointer came from."""

    CHANGING = "found", "shadows", "local", "private", "pointers", "indexed"

    def __init__(
        self,
        buffers: list[NamedBuffer],
        side: Callable[..., FindingSide],
        first_wave: Callable[[], int],
        arrays_of: Callable[[str, int, WaveBatch, int], tuple[NamedArray, ...]],
        preloaded: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        self.buffers = buffers
        self.side = side
        self.arrays_of = arrays_of
        """Returns the arrays of private or local memory of which an access is, if the source says so."""
        self.first_wave = first_wave
        self.preloaded = preloaded
        """As `CheckSettings` has it."""
        self.arguments: PointerShadow | None = None
        """The provenance of the arguments of the launch."""
        self.found: dict[tuple[Any, ...], CheckFinding] = {}
        self.shadows: dict[int, PointerShadow] = {}
        """By the start of a segment of global memory."""
        self.local: PointerShadow | None = None
        self.private: PointerShadow | None = None
        self.pointers = _NO_DWORDS
        """For each dword of the private memory of a lane, whether there has been a pointer in any lane."""
        self.pc, self.action = 0, ""
        """The address of the instruction that is executed, and what it does."""
        self.now: Column = None
        """The buffer of the address that it accesses."""
        self.is_told = False
        """Whether it is outside of its array, and so no other memory matters."""
        self.stored: tuple[Column, ...] = ()
        """The provenance of what it writes."""
        self.loaded: list[Column] | None = None
        """The provenance of what it has read, if there are pointers in that memory."""
        self.formatted: set[int] = set()
        """Instructions that convert formats."""
        self.indexed: set[int] = set()
        """Instructions that access an array in private memory, and no other variable of the same line."""
        self.on_array: Callable[..., None] = lambda *_access: None
        """Is told of the arrays in private memory that an instruction may access, the addresses of lanes, and bytes."""
        self._starts = np.zeros(0, np.int64)
        closed = {access: {number for number, buffer in enumerate(buffers, 1) if buffer.access == access}
                  for access in (READ_ONLY, WRITE_ONLY)}  # fmt: skip
        self.closed = {READ: closed[WRITE_ONLY], WRITE: closed[READ_ONLY], ATOMIC: closed[READ_ONLY]}
        """The buffers that an action is not for."""

    batch: WaveBatch
    """The waves that execute it."""

    def use(self) -> None:
        """Begin with other waves, whose local and private memory is new."""
        self.local = self.private = None
        self.pointers = _NO_DWORDS

    def start(self, batch: WaveBatch) -> PointerColumns:
        """Return the provenance of the registers that waves start with: no pointers but preloaded arguments."""
        columns = batch.beside["pointers"] = PointerColumns.of(batch)
        first, count, word = self.preloaded
        words = () if self.arguments is None else self.arguments.words[word : word + count].tolist()
        columns.scalar[first : first + len(words)] = [number or None for number in words]
        return columns

    def set_arguments(self, segment: int, data: bytes) -> None:
        """Take note of the addresses of buffers in a kernarg segment, also in structures."""
        shadow = PointerShadow(len(data))
        for offset in range(0, len(data) - 7, 4):
            address = int.from_bytes(data[offset : offset + 8], "little")
            for number, buffer in enumerate(self.buffers, 1):
                if buffer.holds(address):
                    shadow.words[offset >> 2 : (offset >> 2) + 2] = number
        self.shadows[segment] = self.arguments = shadow

    # --- Instructions -------------------------------------------------------------------------------------------------

    def begin(
        self, batch: WaveBatch, pc: int, action: str, low: Column, high: Column, offset: Column,
        stored: tuple[Column, ...] = (),
    ) -> None:  # fmt: skip
        """Begin an access; ``low`` and ``high`` are the provenance of its address, to which a number is added."""
        self.batch, self.pc, self.action, self.stored, self.loaded = batch, pc, action, stored, None
        self.is_told = False
        if low is None or high is None or offset is not None:
            self.now = None
        elif isinstance(low, int) and isinstance(high, int):
            self.now = low if low == high and low > 0 else None
        else:
            now = np.where(known(low) == known(high), known(low), ZERO)
            self.now = simple(np.maximum(now, ZERO))

    @property
    def stores_pointers(self) -> bool:
        """Whether the instruction writes pointers."""
        return any(each is not None for each in self.stored)

    def holds(self, segment: MemorySegment) -> bool:
        """Return whether all lanes of the access may be in a segment, which has no pointers; else each is looked at."""
        now = self.now
        is_own = now is None or (
            isinstance(now, int)
            and self.buffers[now - 1].address == segment.start
            and now not in self.closed[self.action]
        )
        return is_own and segment.start not in self.shadows and not self.stores_pointers

    def access(self, batch: WaveBatch, segment: MemorySegment, mask: Lanes, offsets: Lanes, size: int,
               value: Callable[[int, int], bytes | None]) -> None:  # fmt: skip
        """Look at an access of lanes in a segment of global memory."""
        now = self.now
        if now is None:
            return
        if closed := self.closed[self.action]:
            flags = np.isin(np.broadcast_to(known(now), offsets.shape), [*closed])
            self._report(batch, flags if mask is None else flags & mask, offsets + segment.start, size, value,
                         FORBIDDEN[self.action])  # fmt: skip
        if isinstance(now, int):
            if self.buffers[now - 1].address == segment.start:
                return
            wrong = np.ones(offsets.shape, bool) if mask is None else mask
        else:
            wrong = (now > 0) & (self._table()[now] != segment.start)
            wrong = np.broadcast_to(wrong if mask is None else wrong & mask, offsets.shape)
        if wrong.any():
            self._report(batch, wrong, offsets + segment.start, size, value)

    def _table(self) -> Lanes:
        if len(self._starts) <= len(self.buffers):
            self._starts = np.array([0, *(buffer.address for buffer in self.buffers)], np.int64)
        return self._starts

    def fault(self, batch: WaveBatch, fault: MachineFault, size: int) -> None:
        """Take note of lanes that access what no memory is at."""
        shape = batch.count, batch.lanes
        flags = np.ones(shape, bool) if fault.lanes is None else np.broadcast_to(
            fault.lanes if fault.lanes.ndim == 2 else fault.lanes[:, None], shape
        )  # fmt: skip
        if batch.mask is not None:
            flags = flags & batch.mask
        if not flags.any() or (self.is_told and fault.outside is not None):
            return
        if fault.outside is not None:
            memory, address = fault.outside
            self._add(batch, flags, np.array([address]), size, memory.name.partition(" ")[0], memory, None)
        elif fault.addresses is not None:
            addresses = np.broadcast_to(np.asarray(fault.addresses, np.uint64).reshape(
                (1, 1) if np.ndim(fault.addresses) == 0 else np.shape(fault.addresses)), shape)  # fmt: skip
            self._report(batch, flags, addresses.view(np.int64), size, lambda _wave, _lane: None)

    def array(self, batch: WaveBatch, space: str, address: Lanes, mask: Lanes, size: int) -> None:
        """Look whether lanes access one of the arrays in private or local memory that their line names, if it does."""
        row = 0 if mask is None else int(mask.any(axis=1).argmax())
        arrays = self.arrays_of(space, self.pc, batch, row)
        if not arrays:
            self.on_array(self.pc, batch, arrays, address, size)
            return
        shape = batch.count, batch.lanes
        wrong = np.broadcast_to(True if mask is None else mask, shape)
        for array in arrays:
            wrong = wrong & array.misses(address, size)
        if space == "private" and self.pc not in self.indexed:
            executing = np.broadcast_to(True if mask is None else mask, shape)
            places = np.broadcast_to(address, shape)[executing]
            if (executing & ~wrong).any() or (places != places[:1]).any():
                self.indexed.add(self.pc)
        if space == "private":
            executing = np.broadcast_to(address, shape)[np.broadcast_to(True if mask is None else mask, shape)]
            self.on_array(self.pc, batch, arrays, executing, size)
        if not wrong.any() or (space == "private" and self.pc not in self.indexed):
            return
        address, self.is_told = np.broadcast_to(address, shape), True
        buffers = [NamedBuffer(f"`{array.name}`", array.start, array.size) for array in arrays]
        first = int(address[wrong][0])
        nearest = min(range(len(arrays)), key=lambda number: abs(buffers[number].distance(first)))
        array, memory = arrays[nearest], buffers[nearest]
        for flags in (wrong & (address >= array.start), wrong & (address < array.start)):
            if flags.any():
                self._add(batch, flags, address[flags], size, space, memory, None).array = array

    # --- Findings -----------------------------------------------------------------------------------------------------

    def _report(self, batch: WaveBatch, wrong: Lanes, addresses: Lanes, size: int,
                value: Callable[[int, int], bytes | None], kind: str | None = None) -> None:  # fmt: skip
        """Report lanes, by buffers and by the side on which they are."""
        of = np.broadcast_to(known(self.now), wrong.shape)
        for number in np.unique(of[wrong]).tolist():
            buffer = self.buffers[number - 1] if number > 0 else self._freed_at(int(addresses[wrong][0]))
            start = buffer.address if buffer is not None else 0
            mine = wrong & (of == number)
            for flags in (mine & (addresses >= start), mine & (addresses < start)):
                if flags.any():
                    self._add(batch, flags, addresses[flags], size, "global", buffer, value, kind)

    def _freed_at(self, address: int) -> NamedBuffer | None:
        """Return the buffer that was freed where an address is that belongs to no argument."""
        return next((each for each in self.buffers if each.access == FREED and each.holds(address)), None)

    def _add(self, batch: WaveBatch, flags: Lanes, addresses: Lanes, size: int, space: str,
             buffer: NamedBuffer | None, value: Callable[[int, int], bytes | None] | None,
             kind: str | None = None) -> CheckFinding:  # fmt: skip
        """Add the accesses of lanes with a flag; the first of these is named."""
        address, low, high = (int(each) & ALL if space == "global" else int(each)
                              for each in (addresses[0], addresses.min(), addresses.max()))  # fmt: skip
        is_before = buffer is not None and low < buffer.address
        key = kind, self.action, self.pc, space, buffer and buffer.name, is_before
        finding = self.found.get(key)
        if finding is None:
            row = int(flags.any(axis=1).argmax())
            lanes = np.flatnonzero(flags[row])
            known_value = None if value is None else value(row, int(lanes[0]))
            wave = int(batch.waves[row]) + self.first_wave()
            side = self.side(self.action, self.pc, wave, lanes, int(lanes[0]), known_value, batch=batch)
            finding = self.found[key] = CheckFinding(
                BOUNDS, kind or INVALID[self.action], (side,), space, address, size
            )
            finding.buffer = buffer
        first, last = finding.ends
        finding.ends = min(low, first), max(high, last)
        finding.count += int(flags.sum())
        return finding

    # --- Pointers in memory -------------------------------------------------------------------------------------------

    def read(self, columns: list[Column], mask: Lanes) -> None:
        """Take note of the pointers among the words that lanes read, of all that read with a mask of None."""
        if mask is not None:
            columns = [each if each is None else np.where(mask, known(each), ZERO) for each in columns]
        before = self.loaded
        self.loaded = columns if before is None else [*map(plus, before, columns)]

    def follow(self, before: list[Column] | None, count: int) -> None:
        """Put the pointers that the instruction has read before in front of those of its second read."""
        if before is not None:
            self.loaded = [*before, *(self.loaded or [None] * count)]

    def written(self, count: int) -> Sequence[Column]:
        """Return the provenance of what lanes write to words."""
        return self.stored[:count] if len(self.stored) >= count else (None,) * count

    def keep(self, file: list[Column], first: int, count: int, mask: Any) -> None:
        """Write the provenance of what was read to registers, of scalar ones with a mask of None."""
        loaded = self.loaded or ()
        for number in range(count):
            new, old = loaded[number] if number < len(loaded) else None, file[first + number]
            if new is not old:
                file[first + number] = new if mask is None else put(mask, new, old)


def word(data: Any, offset: int, size: int) -> bytes:
    """Return the bytes of a lane that are shown: a number of at most 8."""
    return bytes(data[offset : offset + min(size, 8)])


# --- Instructions ---------------------------------------------------------------------------------------------------


def base_and_offset(instruction: GpuInstruction) -> tuple[GpuOperand | None, GpuOperand | None]:
    """Return the operand whose two words are the address of an access, and the one that is added to it."""
    operand, vaddr, saddr = instruction.operand, instruction.operand("vaddr"), instruction.operand("saddr")
    bases = (operand(name) for name in ("sbase", "srsrc", "rsrc"))
    if (base := next(filter(None, bases), None)) is not None:
        return base, operand("soffset") if instruction.encoding == "SMEM" else None
    if instruction.encoding not in ("FLAT", "GLOBAL"):
        return None, None
    return (saddr, vaddr) if has_base(saddr) else (vaddr, None)


def stored_operands(instruction: GpuInstruction) -> list[GpuOperand]:
    """Return the operands that an access writes to memory, if they may be pointers."""
    shape = shape_of(instruction.name)
    is_store = shape is not None and shape.action == "store" and shape.size == 4
    if not is_store and not instruction.name.startswith("s_store"):
        return []
    given = (instruction.operand(name) for name in ("sdata", "vdata", "data0", "data", "data1"))
    return [each for each in given if each is not None]


def loaded_operands(instruction: GpuInstruction) -> list[GpuOperand]:
    """Return the operands that an access writes."""
    data = instruction.operand("vdata")
    return [*instruction.destinations, *([data] if data is not None and "atomic" in instruction.name else [])]


def loads_pointers(instruction: GpuInstruction) -> bool:
    """Return whether what an access loads may be pointers."""
    shape = shape_of(instruction.name)
    if shape is not None and shape.action == "load" and shape.size == 4:
        return not instruction.modifiers.get("lds")
    return bool(re.match(r"s_(buffer_)?load_(dword|b)", instruction.name))
