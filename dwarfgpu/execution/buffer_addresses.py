"""The addresses that resources of buffers (V#) give to lanes, and those of stacks that are such buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.batch import number_of
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.isa.semantics.numbers import LOW

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.device_memory import MemorySegment

Lanes = Any

OUTSIDE = np.uint64((1 << 64) - 1)
"""In place of an address: outside of a buffer, where loads give 0 and stores do nothing."""


class BufferAddresses:
    """What an address in a buffer is made of, for the waves of a dispatch."""

    lanes: int
    lane_numbers: Lanes
    scratch: MemorySegment
    scratch_base: int
    scratch_size: int
    """The bytes of the private memory of a wave."""

    generation = 9

    swizzles_dwords = False
    """Whether swizzled elements have always 4 bytes (GFX9 and later)."""

    apart: Lanes = None
    """The latest addresses in stacks that are buffers where a number is in several dwords."""

    def buffer_address(self, batch: WaveBatch, words: Any, index: Any, offset: Any, scalar: Any, size: int) -> Lanes:
        """Return the address that a buffer resource gives; `OUTSIDE` where it is not in the buffer."""
        flags, last_word = (word if isinstance(word, int) else number_of(word) for word in (words[1] >> 16, words[3]))
        if not (isinstance(flags, int) and isinstance(last_word, int)):
            raise MachineFault("a buffer resource that differs between waves")
        address = self._unchecked_buffer_address(words, flags, last_word, index, offset, scalar)
        is_stack = self.generation < 11 and last_word >> 23 & 1
        is_apart = is_stack and self._is_apart(batch, words, offset, address, size)
        records = words[2]
        if not (isinstance(records, int) and records == LOW):
            inside = self._is_inside(records, flags, last_word, index, offset, scalar, size)
            address = address if inside.all() else np.where(inside, address, OUTSIDE)
        if is_apart:
            self.apart = address
        return address

    def _is_inside(
        self, records: Any, flags: int, last_word: int, index: Any, offset: Any, scalar: Any, size: int
    ) -> Lanes:
        """Return in which lanes so many bytes are in the buffer."""
        index, offset, records, scalar = _long(index), _long(offset), _long(records), _long(scalar)
        stride = flags & 0x3FFF
        swizzled = flags >> 15 & 1 if self.generation < 11 else flags >> 14 & 3
        ends = offset + np.uint64(size)
        if self.generation >= 10:
            kind = last_word >> 28 & 3
            if kind == 0:
                return (index < records) & (ends <= np.uint64(stride))
            if kind == 1:
                return index < records
            if kind == 2:
                return records != 0
            return ends + (scalar if self.generation >= 12 else np.uint64(0)) <= records
        if not stride:
            return ends + scalar <= records
        inside = index < records
        return inside & (offset < np.uint64(stride)) if swizzled else inside

    def _is_apart(self, batch: WaveBatch, words: Any, offset: Any, address: Lanes, size: int) -> bool:
        """Return whether a number in a stack is in several dwords, which do not follow each other, up to GFX10.

        Waves that reach the private memory of others with the resource of their stacks stop.
        """
        base = _long(words[0] | (words[1] & 0xFFFF) << 32) - np.uint64(self.scratch_base)
        if np.ndim(address) != 2 or not (base < np.uint64(self.scratch.data.size)).any():
            return False
        first = np.uint64(self.scratch_base) + batch.waves.astype(np.uint64) * np.uint64(self.scratch_size)
        behind = first + np.uint64(self.scratch_size)
        mask: Lanes = True if batch.mask is None else batch.mask
        if isinstance(offset, int):  # the lanes reach one dword after the other
            crosses: Lanes = np.bool_((offset & 3) + size > 4)
            is_inside = (address[:, 0] >= first) & (address[:, -1] < behind)
            if is_inside.all() and not crosses:
                return False
        else:
            crosses = (address & np.uint64(3)) + np.uint64(size) > np.uint64(4)
        is_apart = bool(np.any(crosses & mask))
        last = self.stack_byte(address, size - 1) if is_apart else address
        outside = ((address < first[:, None]) | (last >= behind[:, None])) & mask
        if outside.any():
            place = np.broadcast_to(last - first[:, None], outside.shape)[outside].view(np.int64)
            wanted = int(place[0]) // (4 * self.lanes) * 4
            raise MachineFault.of_private(wanted, self.scratch_size // self.lanes, outside)
        return is_apart

    def stack_byte(self, address: Lanes, number: int) -> Lanes:
        """Return where a byte is that is so many behind an address in a stack: dwords of lanes take turns there."""
        within = (address & np.uint64(3)) + np.uint64(number)
        dword = address - (address & np.uint64(3)) + (within >> np.uint64(2)) * np.uint64(4 * self.lanes)
        return np.where(address == OUTSIDE, OUTSIDE, dword + (within & np.uint64(3)))

    def _unchecked_buffer_address(
        self, words: Any, flags: int, format_word: int, index: Any, offset: Any, scalar: Any
    ) -> Lanes:
        """Return the address that a buffer resource gives (V#: base, stride, swizzle, ADD_TID_ENABLE)."""
        base = words[0] | (words[1] & 0xFFFF) << 32
        swizzled = flags >> 15 & 1
        adds_lane = format_word >> 23 & 1
        if adds_lane:
            index = self.lane_numbers.astype(np.uint64) + (np.uint64(index) if isinstance(index, int) else index)
        stride = flags & 0x3FFF
        start = _long(base) + _long(scalar)
        offset = _long(offset)
        if isinstance(index, int) and not index and not swizzled:
            return start + offset
        if not swizzled:
            return start + _long(index) * _long(stride) + offset
        element = 2 << (format_word >> 19 & 3)
        span = 8 << (format_word >> 21 & 3)
        if self.swizzles_dwords:
            element = 4
        unit, within = _long(element), offset % _long(element)
        index = _long(index)
        lines = _long(span)
        record = index // lines * (_long(stride) * lines)
        return start + record + offset // unit * (unit * lines) + index % lines * unit + within


def _long(number: Any) -> Any:
    """Return a number as unsigned 64-bit integers that fit ``[wave, lane]``."""
    return np.array([[number & ((1 << 64) - 1)]], np.uint64) if isinstance(number, int) else number
