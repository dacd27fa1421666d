"""The memory that running waves read and write: global memory in segments, local memory by work-group, scratch by wave.

All of it is the storage of the machine itself, so what a wave writes is what a debugger reads.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.execution.faults import MEMORY_VIOLATION, MachineFault, NamedBuffer
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.machines.extents import Extents

Lanes = Any
NEAR = 1 << 16
"""How near a buffer is, in bytes, that a fault names; further away only in its padding."""
ADJACENT = 1 << 12
"""How near a buffer is that is probably meant; further away it is only the nearest."""
WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@frozen(eq=False)
class MemorySegment:
    """Mapped bytes of the global address space, as numbers of each size."""

    start: int
    end: int
    data: Any
    views: dict[int, Any]

    @classmethod
    def of(cls, start: int, data: Any) -> MemorySegment:
        """Return the segment of bytes at an address, with numbers of the sizes that it is aligned to."""
        views: dict[int, Any] = {1: data}
        for size in (2, 4, 8):
            if start % size == 0:
                whole = len(data) // size * size
                views[size] = data[:whole].view(WORDS[size])
        return cls(start, start + len(data), data, views)


class MappedSegments:
    """The bytes that a store has, as segments."""

    def __init__(self, store: Extents) -> None:
        self._store = store
        self._moves = store.moves
        self._segments: list[MemorySegment] = []

    def now(self) -> list[MemorySegment]:
        """Return the segments that there are now: the same list, longer, if others have been added behind them."""
        store = self._store
        if store.moves != self._moves:
            self._moves, self._segments = store.moves, []
        count, columns = len(self._segments), (store.starts, store.lasts, store.owners, store.offsets)
        for start, last, owner, offset in zip(*(column[count:] for column in columns), strict=True):
            data = np.frombuffer(store.blocks[owner].buffer, np.uint8)[offset : offset + last - start + 1]
            self._segments.append(MemorySegment.of(start, data))
        return self._segments


class GlobalMemory:
    """The global address space."""

    buffers: Sequence[NamedBuffer] = ()
    """The memory of arguments, which faults name."""

    def __init__(self, segments: list[MemorySegment]) -> None:
        self.segments: list[MemorySegment] = []
        self.starts: list[int] = []
        self.window: int | None = None
        """Where among them the window on private memory is."""
        self.changes = 0
        """How often there were others."""
        self._mapped: list[MemorySegment] = []
        self.use(sorted(segments, key=attrgetter("start")))

    def use(self, mapped: list[MemorySegment], window: MemorySegment | None = None) -> None:
        """Have other segments, in the order of their addresses; of the same list, those behind the ones that it had."""
        if self.window is not None:
            del self.segments[self.window], self.starts[self.window]
        if mapped is not self._mapped:
            self._mapped, self.segments, self.starts = mapped, [], []
        fresh = mapped[len(self.segments) :]
        self.segments += fresh
        self.starts += [segment.start for segment in fresh]
        self.window = None if window is None else bisect_right(self.starts, window.start)
        if self.window is not None and window is not None:
            self.segments.insert(self.window, window)
            self.starts.insert(self.window, window.start)
        self.latest = self.segments[0] if self.segments else None
        """The segment that was found last."""
        self.changes += 1

    def segment_of(self, first: int, last: int) -> MemorySegment | None:
        """Return the segment that has all bytes of a range."""
        segment = self.latest
        if segment is not None and segment.start <= first and last < segment.end:
            return segment
        index = bisect_right(self.starts, first) - 1
        if index < 0 or last >= self.segments[index].end:
            return None
        self.latest = self.segments[index]
        return self.latest

    def missing(self, address: int) -> str:
        """Return that an address has no memory, and the buffer that is near."""
        near = [(buffer.distance(address), buffer) for buffer in self.buffers]
        distance, buffer = min(near, key=lambda each: abs(each[0]), default=(NEAR, None))
        text = f"no memory at {address:#x}"
        if buffer is None or abs(distance) > max(NEAR, buffer.padding):
            return text
        return f"{text} ({'nearest: ' if abs(distance) > ADJACENT else ''}{buffer.where(address)})"

    def read(self, address: int, size: int) -> int:
        segment = self.segment_of(address, address + size - 1)
        if segment is None:
            raise MachineFault(self.missing(address), kind=MEMORY_VIOLATION, addresses=address)
        start = address - segment.start
        return int.from_bytes(segment.data[start : start + size].tobytes(), "little")

    def places(self, addresses: Lanes, mask: Lanes, size: int) -> list[tuple[MemorySegment, Lanes, Lanes]]:
        """Return the segments that lanes reach, with the lanes as flags (None for all) and their offsets there.

        ``addresses`` is an array of unsigned 64-bit numbers ``[wave, lane]``, ``mask`` has the lanes that count.
        """
        segment = self.latest
        for _ in range(2):  # all lanes are in the latest segment, or in that of the first lane, or in several
            if segment is None:
                break
            offsets = addresses - np.uint64(segment.start)
            if mask is not None:
                offsets *= mask
            if int(offsets.max()) <= segment.end - segment.start - size:
                self.latest = segment
                return [(segment, mask, offsets.view(np.int64))]
            first = int(addresses.flat[0] if mask is None else addresses.flat[mask.argmax()])
            segment = self.segment_of(first, first + size - 1)
        places = []
        left = np.ones(addresses.shape, bool) if mask is None else mask
        while left.any():
            address = int(addresses[left].min())
            index = bisect_right(self.starts, address) - 1
            if index < 0 or address + size > self.segments[index].end:
                self._no_memory(address, addresses, left, size)
            segment = self.segments[index]
            inside = left & (addresses >= np.uint64(segment.start)) & (addresses <= np.uint64(segment.end - size))
            places.append((segment, inside, (addresses - np.uint64(segment.start)).view(np.int64)))
            left = left & ~inside
        return places

    def _no_memory(self, address: int, addresses: Lanes, lanes: Lanes, size: int) -> None:
        """Raise the fault of the lanes that reach addresses without memory, of which one is known."""
        reaching = lanes & (addresses == np.uint64(address))
        if self.segments:
            index = np.searchsorted(np.array(self.starts, np.uint64), addresses, side="right") - 1
            ends = np.array([segment.end for segment in self.segments], np.uint64)
            reaching |= lanes & ((index < 0) | (ends[index] - addresses < size) | (ends[index] < addresses))
        detail = self.missing(address)
        raise MachineFault(detail, reaching, kind=MEMORY_VIOLATION, addresses=addresses, describe=self.missing)


def gather(segment: MemorySegment, offsets: Lanes, mask: Lanes, size: int, count: int) -> list[Lanes]:
    """Read ``count`` numbers of ``size`` bytes that follow each other, for each lane."""
    offsets = offsets if mask is None else offsets * mask
    view = segment.views.get(size)
    if view is not None and _is_aligned(offsets, size):
        index = offsets >> (size.bit_length() - 1) if size > 1 else offsets
        # The indices are inside, and "wrap" is the mode that asks the least.
        return [view[number:].take(index, mode="wrap") for number in range(count)]
    return [_unaligned(segment.data, offsets + number * size, size) for number in range(count)]


def first_of_row(places: Lanes, size: int) -> int | None:
    """Return the first of places that follow each other without a gap, in their order; None for others."""
    if not places.size:
        return None
    row = places.reshape(-1)
    first = int(row[0])
    if int(row[-1]) - first != size * (row.size - 1) or not (row[1:] - row[:-1] == size).all():
        return None
    return first


def _is_aligned(offsets: Lanes, size: int) -> bool:
    return size == 1 or not int(np.bitwise_or.reduce(offsets, axis=None)) & (size - 1)


def _unaligned(data: Any, start: Lanes, size: int) -> Lanes:
    total = np.zeros(start.shape, WORDS[size])
    for byte in range(size):
        total |= data.take(start + byte, mode="clip").astype(WORDS[size]) << WORDS[size](8 * byte)
    return total


def scatter(segment: MemorySegment, offsets: Lanes, mask: Lanes, size: int, values: list[Lanes]) -> None:
    """Write numbers of ``size`` bytes that follow each other, for each lane that counts; the last lane wins."""
    if mask is not None:
        lanes = np.flatnonzero(mask)
        offsets, values = offsets.reshape(-1).take(lanes), [value.reshape(-1).take(lanes) for value in values]
    view = segment.views.get(size)
    if view is not None and _is_aligned(offsets, size):
        first = first_of_row(offsets, size) if len(values) == 1 else None
        if first is not None:
            start = first >> (size.bit_length() - 1)
            view[start : start + offsets.size] = values[0].reshape(-1)
            return
        index = offsets >> (size.bit_length() - 1) if size > 1 else offsets
        for number, value in enumerate(values):
            view[number:][index] = value
        return
    steps = np.arange(size)
    for number, value in enumerate(values):
        parts = value[..., None] >> (8 * steps).astype(value.dtype)
        segment.data[offsets[..., None] + (number * size + steps)] = parts.astype(np.uint8)
