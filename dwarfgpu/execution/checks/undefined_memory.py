"""The undefined bits of memory: memory of the same shape that has a 1 for each bit that is undefined."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dwarfgpu.execution.access_shapes import BUFFER, FLAT, LOCAL, SCRATCH, AccessShape
from dwarfgpu.execution.batch import WaveBatch
from dwarfgpu.execution.block_writer import BlockWriter, cell
from dwarfgpu.execution.buffer_formats import COMPONENTS, BufferFormat, ElementAccess
from dwarfgpu.execution.checks.undefined_registers import DEFINED
from dwarfgpu.execution.device_memory import WORDS, GlobalMemory, MemorySegment
from dwarfgpu.execution.memory_access import OUTSIDE, MemoryAccess, Place
from dwarfgpu.isa.instruction import GpuInstruction, GpuOperand
from dwarfgpu.isa.semantics.numbers import LOW

Lanes = Any
_SCALAR_RESULT = re.compile(r"\bs\[(\d+)\] = ")


class UndefinedElements(ElementAccess):
    """The undefined bits of elements: a component has all bits or none, besides integers of a whole register."""

    def registers(self, codes: list[Lanes], form: BufferFormat, count: int, chosen: tuple[int, ...]) -> list[Lanes]:
        """Return the undefined bits that the registers get; constants have none."""
        bits = [self._all_or_none(code, size, form, LOW) for code, size in zip(codes, form.sizes, strict=True)]
        found = []
        for selection in chosen[:count]:
            number = COMPONENTS.get(selection, len(bits))
            found.append(bits[number] if number < len(bits) else np.zeros((1, 1), np.uint32))
        return [column & np.uint32(0xFFFF) for column in found] if self.is_half else found

    def fields(self, values: list[Lanes], form: BufferFormat, _mask: Lanes) -> list[Lanes]:
        """Return the undefined bits of components."""
        pairs = zip(values, form.sizes, strict=False)
        return [self._all_or_none(value, size, form, (1 << size) - 1) for value, size in pairs]

    @staticmethod
    def _all_or_none(bits: Lanes, size: int, form: BufferFormat, every: int) -> Lanes:
        bits = bits.astype(np.uint32)
        return bits if size == 32 and form.is_integer else np.where(bits != 0, np.uint32(every), np.uint32(0))


class UndefinedMemory(MemoryAccess):
    """The undefined bits of the memory of one dispatch; addresses are those of the real registers."""

    elements = UndefinedElements
    unwritten = 0xFF
    """The bits of each byte of the memory of waves that nothing has written."""

    def __init__(self, memory: GlobalMemory, **others: Any) -> None:
        self.has_undefined = False
        """Whether global memory has an undefined bit."""
        self.is_permissive = True  # the memory itself stops lanes that reach outside
        segments = [MemorySegment.of(each.start, np.zeros(each.end - each.start, np.uint8)) for each in memory.segments]
        self.loaded: Callable[..., None] = lambda *_place: None
        """Is told of undefined bits that were read: the batch, the space, addresses, flags of lanes, and the numbers.

        All lanes may have one address, which is a number then, without flags. It may put others in place of numbers.
        """
        self.loaded_scalar: Callable[..., None] = lambda *_place: None
        """Is told of numbers of waves that were read: the address, their size, and the numbers."""
        self.stored: Callable[..., None] = self.loaded
        """Is told of undefined bits before they are written."""
        shadow = GlobalMemory(segments)
        shadow.buffers = memory.buffers
        super().__init__(shadow, **others)

    def use(self, local: Any, group_of: Any, scratch: Any) -> None:
        """Use the memory of other waves, which nothing has written."""
        own = (np.full(each.shape, self.unwritten, np.uint8) for each in (local, scratch))
        super().use(next(own), group_of, next(own))

    def set_undefined(self, start: int, size: int) -> None:
        """Mark bytes of global memory as undefined."""
        segment = self.memory.segment_of(start, start + max(size, 1) - 1)
        if segment is not None and size:
            segment.data[start - segment.start : start - segment.start + size] = 0xFF
            self.has_undefined = True

    def put(self, start: int, bits: bytes | bytearray) -> None:
        """Mark bits of global memory as undefined, others of these bytes as defined."""
        segment = self.memory.segment_of(start, start + len(bits) - 1)
        if segment is not None:
            segment.data[start - segment.start : start - segment.start + len(bits)] = np.frombuffer(bits, np.uint8)
            self.has_undefined = True

    def undefined_bits(self, start: int, size: int) -> bytearray | None:
        """Return which bits of some bytes of global memory are undefined; None if none is."""
        segment = self.memory.segment_of(start, start + size - 1) if self.has_undefined else None
        if segment is None:
            return None
        bits = segment.data[start - segment.start : start - segment.start + size]
        return bytearray(bits.tobytes()) if bits.any() else None

    def saved(self) -> list[Any]:
        """Return what `restore` needs: the bytes of waves, and those of global memory if one has an undefined bit."""
        parts = [self.local.data, self.scratch.data]
        if self.has_undefined:
            parts += [each.data for each in self.mapped]
        return [part.copy() for part in parts]

    def restore(self, saved: list[Any]) -> None:
        """Bring back what was saved."""
        local, scratch, *parts = saved
        if self.has_undefined:
            for number, segment in enumerate(self.mapped):
                segment.data[...] = parts[number] if parts else 0
        self.has_undefined = bool(parts)
        self.local.data[...], self.scratch.data[...] = local, scratch

    # --- Text -----------------------------------------------------------------------------------------------------

    @staticmethod
    def cell(data: GpuOperand, number: int = 0) -> str:
        """Return the text of the undefined bits of a register."""
        return f"u{cell(data, number)}"

    @staticmethod
    def _wide(data: GpuOperand, first: int, size: int) -> str:
        register = f"u{cell(data, first)}"
        return register if size == 4 else f"joined(z.wide_{register[1]}, {register[:2]}, {data.index + first})"

    def _write_counter(self, writer: BlockWriter, instruction: GpuInstruction) -> None:
        """What counts lanes gives a defined number."""

    def _write_scalar(self, writer: BlockWriter, instruction: GpuInstruction) -> bool:
        if "load" not in instruction.name:
            return True
        start = len(writer.lines)
        is_one = super()._write_scalar(writer, instruction)
        writer.lines[start:] = [_SCALAR_RESULT.sub(r"us[\1] = ", line) for line in writer.lines[start:]]
        return is_one

    # --- Access ---------------------------------------------------------------------------------------------------

    def load(self, batch: WaveBatch, space: str, address: Lanes, size: int, count: int) -> list[Lanes]:
        words = super().load(batch, space, address, size, count)
        self._note(self.loaded, batch, space, address, words)
        return words

    def load_private(self, batch: WaveBatch, address: Any, size: int, count: int) -> list[Lanes] | None:
        words = super().load_private(batch, address, size, count)
        if words is None:
            return None
        if any(word.any() for word in words):
            self.loaded(batch, SCRATCH, address, None, words)
            return words
        return [DEFINED] * count if size == DEFINED.itemsize else words

    def load_local(self, batch: WaveBatch, address: Lanes, offsets: tuple[int, ...], count: int) -> list[Lanes]:
        words = super().load_local(batch, address, offsets, count)
        for number, offset in enumerate(offsets):
            part = words[number * count : (number + 1) * count]
            self._note(self.loaded, batch, LOCAL, address.astype(np.int64) + offset, part)
            words[number * count : (number + 1) * count] = part
        return words

    def load_scalar(self, address: Any, size: int, count: int, is_signed: bool) -> list[Any]:  # noqa: FBT001 (of a text)
        if not self.has_undefined:
            return [0] * count
        words = super().load_scalar(address, size, count, is_signed)
        self.loaded_scalar(address, size, words)
        return words

    def store(self, batch: WaveBatch, space: str, address: Lanes, size: int, values: list[Lanes]) -> None:
        self._note(self.stored, batch, space, address, values)
        super().store(batch, space, address, size, values)

    def store_private(self, batch: WaveBatch, address: Any, size: int, values: list[Lanes]) -> bool:
        is_done = super().store_private(batch, address, size, values)
        if is_done and any(value is not DEFINED and value.any() for value in values):
            self.stored(batch, SCRATCH, address, None, values)
        return is_done

    def store_local(self, batch: WaveBatch, address: Lanes, offset: int, values: list[Lanes]) -> None:
        self._note(self.stored, batch, LOCAL, address.astype(np.int64) + offset, values)
        super().store_local(batch, address, offset, values)

    def _write(self, batch: WaveBatch, space: str, place: Place, size: int, values: list[Lanes]) -> None:
        segment, mask, _offsets = place
        is_own = segment is self.local or segment is self.scratch or segment.start == self.scratch_base
        if not (is_own or self.has_undefined):
            flags = False
            for value in values:
                flags = flags | (value != 0)
            if not np.any(flags if mask is None else flags & mask):
                return
            self.has_undefined = True
        super()._write(batch, space, place, size, values)

    def atomic(
        self, batch: WaveBatch, space: str, address: Lanes, shape: AccessShape, data: Lanes, other: Lanes = None
    ) -> Lanes:
        """Return the undefined bits of the old numbers; all of a new one are undefined if one of what makes it is.

        Of lanes that change the same number only the first gets the old one.
        """
        full = batch.count, batch.lanes
        (old,) = self.load(batch, space, address, shape.size, 1)
        given = np.broadcast_to(data if other is None else data | other, full)
        mask = np.ones(full, bool) if batch.mask is None else np.broadcast_to(batch.mask, full)
        if not ((old | given) * mask).any():
            return old
        flags = given != 0 if shape.action == "swap" else (old != 0) | (given != 0)
        everything = np.negative(flags.astype(f"i{shape.size}")).view(WORDS[shape.size])
        self.store(batch, space, address, shape.size, [everything])
        if shape.action == "swap":
            places = np.broadcast_to(address, full)[mask]
            first = np.zeros(len(places), bool)
            first[np.unique(places, return_index=True)[1]] = True
            kept = np.zeros(full, bool)
            kept[mask] = first
            old = np.where(kept, old, everything)
        return old

    def _note(self, tell: Any, batch: WaveBatch, space: str, address: Lanes, words: list[Lanes]) -> None:
        if not any(word.any() for word in words):
            return
        full = batch.count, batch.lanes
        flags = np.zeros(full, bool)
        for word in words:
            flags |= word != 0
        if batch.mask is not None:
            flags &= batch.mask
        if space == BUFFER:
            flags &= np.broadcast_to(address != OUTSIDE, full)
        if flags.any():
            tell(batch, *self._placed(batch, space, np.broadcast_to(address, full), flags), words)

    def _placed(self, batch: WaveBatch, space: str, address: Lanes, flags: Lanes) -> tuple[str, Lanes, Lanes]:
        """Return the space that the lanes with a flag reach for certain, addresses in it, and flags of its lanes.

        Of generic addresses the space is that of the first lane, and the flags are those of the lanes that reach it.
        """
        if space == FLAT:
            upper = address.astype(np.uint64) >> np.uint64(32)
            low = (address.astype(np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.int64)
            for name, base in ((LOCAL, self.shared_aperture), (SCRATCH, self.private_aperture)):
                inside = flags & (upper == np.uint64(base >> 32))
                if inside.any():
                    return name, low, inside
        if space == BUFFER and self.scratch.data.size:
            base = np.uint64(self.scratch_base)
            inside = flags & (address.astype(np.uint64) - base < np.uint64(self.scratch.data.size))
            if inside.any():
                within = (address.astype(np.uint64) - base).astype(np.int64) % self.scratch_size
                return SCRATCH, within // (4 * self.lanes) * 4 + (within & 3), inside
        return space, address, flags
