"""Stretches of bits: the storages that really hold the bits of a composite."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu.errors import EvaluationError
from dwarfgpu.expr import locations
from dwarfgpu.expr.locations import EMPTY, Composite, Location, Part, SingleLocation, Undefined
from dwarfgpu.lanes import uniform

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits


def runs(mask: int, count: int) -> Iterator[tuple[int, int, int]]:
    """Yield the runs of equal bits among the first bits of a mask: bit, first position, position after the last."""
    start = 0
    while start < count:
        bit = mask >> start & 1
        stop = start + 1
        while stop < count and mask >> stop & 1 == bit:
            stop += 1
        yield bit, start, stop
        start = stop


def pieces(storage: Composite, offset: int, size: int) -> list[tuple[Location, int, int]]:
    """Return the stretches of parts that bits of a composite come from: location, bit offset from it, size."""
    stretches = []
    position = 0
    end = offset + size
    for part in storage.parts:
        stop = position + part.total
        if part.total and stop > offset and position < end:
            stretches.extend(stretches_of_part(part, max(offset - position, 0), min(end, stop) - position))
        position = stop
        if position >= end:
            break
    return stretches


def stretches_of_part(part: Part, start: int, stop: int) -> list[tuple[Location, int, int]]:
    """Return the stretches of bits ``start`` to ``stop`` of a run of parts."""
    if part.is_contiguous or is_nowhere(part.location):
        return [(part.location, start, stop - start)]
    stretches = []
    while start < stop:
        index, skip = divmod(start, part.bit_size)
        length = min(part.bit_size - skip, stop - start)
        stretches.append((part.location, index * part.stride + skip, length))
        start += length
    return stretches


def is_nowhere(location: Location) -> bool:
    """Return whether a location is undefined storage, of which every position is like every other one."""
    place = location.single
    return place is not None and type(place.storage) is Undefined


def sources(place: SingleLocation, offset: int, size: int) -> list[tuple[Any, int, int]]:
    """Return the storages that bits come from, through composites, using the first place of each part."""
    storage = place.storage
    if type(storage) is not Composite:
        return [(storage, offset, size)]
    stretches = []
    for location, piece_offset, length in pieces(storage, offset, size):
        inner = location.places[0]
        stretches.extend(sources(inner, uniform(inner.bit_offset) + piece_offset, length))
    return stretches


def shifted(location: Location, offset: Bits) -> Location:
    """Move a location forward within its storage; the caller knows that it stays inside."""
    if type(offset) is int and offset == 0:
        return location
    return Location(
        tuple(
            [
                place
                if type(place.storage) is Undefined
                else SingleLocation(place.storage, b.settled(b.moved(place.bit_offset, offset)))
                for place in location.places
            ]
        )
    )


# --- Composites without composites in them ------------------------------------------------------------------------
# The location of a caller's register is made from its location in the callee, so it would nest as deep as
# the stack has frames. Flattened at every step, each frame costs the same.

MAX_WALK = 1 << 16
"""A composite that is made of more stretches, before those that continue each other are joined, is not walked."""
MAX_STRETCHES = 1 << 12
"""What is made of more stretches stays as it is: no register is, and a broken file must not fill the memory."""


def flattened(location: Location) -> Location:
    """Return a location of the same bits without nested composites, with adjacent stretches joined.

    Parts with several places stay as they are, and so do locations with an offset that differs from lane to lane.
    """
    place = location.single
    if place is None or type(place.storage) is not Composite or type(place.bit_offset) is not int:
        return location
    storage = place.storage
    try:
        stretches = list(islice(_joined(_CompositeWalk().stretches(storage, 0, storage.bit_size)), MAX_STRETCHES + 1))
    except EvaluationError:  # it is too long to be walked
        return location
    if len(stretches) > MAX_STRETCHES:
        return location
    if len(stretches) == 1 and place.bit_offset == 0:
        whole = stretches[0][0].single
        if whole is not None and (
            type(whole.storage) is Undefined or (whole.bit_offset == 0 and whole.storage.bit_size == storage.bit_size)
        ):
            return stretches[0][0]  # a whole register, or nothing at all
    parts = tuple([Part(inner, size) for inner, size in stretches])
    return locations.at(locations.extended(EMPTY, parts), place.bit_offset)


def stretches_of(location: Location, size: int) -> Iterator[tuple[Location, int]]:
    """Yield the stretches that hold the first bits of a location, each as its location and its size."""
    place = location.single
    if place is None or type(place.storage) is not Composite or type(place.bit_offset) is not int:
        yield location, size
        return
    offset = place.bit_offset
    size = min(size, place.storage.bit_size - offset)
    yield from _joined(_CompositeWalk().stretches(place.storage, offset, size))


def alike_bits(location: Location, offset: int, size: int, step: int) -> int:
    """Return how many of ``size`` bits from an offset on are alike every ``step`` bits, as far as that is known unread.

    They have no value, or are parts of a run that repeats one place.
    """
    place = location.single
    if place is None or type(place.bit_offset) is not int:
        return 0
    storage = place.storage
    if type(storage) is Undefined:
        return size
    if type(storage) is not Composite:
        return 0
    start = place.bit_offset + offset
    size = min(size, storage.bit_size - start)
    begin = 0
    for part in storage.parts:
        inside = start - begin
        begin += part.total
        if inside < part.total:
            if part.count > 1 and not part.stride and not inside % part.bit_size and not step % part.bit_size:
                return min(size, part.total - inside)
            break
    count = 0
    try:
        for inner, length in _CompositeWalk().stretches(storage, start, size):
            if not is_nowhere(inner):
                break
            count += length
    except EvaluationError:  # it is too long to be walked
        pass
    return count


class _CompositeWalk:
    """A walk through composites within composites, which computes the starts of the parts of each only once."""

    def __init__(self) -> None:
        self._starts: dict[int, list[int]] = {}
        self._empty: dict[int, bool] = {}
        """Whether no bit of a composite has a value."""
        self._left = MAX_WALK

    def _is_empty(self, location: Location) -> bool:
        place = location.single
        if place is None:
            return False
        storage = place.storage
        if type(storage) is not Composite:
            return type(storage) is Undefined
        known = self._empty.get(id(storage))
        if known is None:
            known = self._empty[id(storage)] = all(self._is_empty(part.location) for part in storage.parts)
        return known

    def stretches(self, storage: Composite, offset: int, size: int) -> Iterator[tuple[Location, int]]:
        """Yield the stretches that hold bits of a composite, as (location, size)."""
        starts = self._starts.get(id(storage))
        if starts is None:
            starts = self._starts[id(storage)] = [0, *accumulate(part.total for part in storage.parts)]
        first = bisect_right(starts, offset) - 1
        end = offset + size
        for index in range(first, len(storage.parts)):
            start = starts[index]
            if start >= end:
                return
            below, above = max(offset - start, 0), min(end, starts[index + 1]) - start
            if below >= above:
                continue
            part = storage.parts[index]
            if part.count > 1 and self._is_empty(part.location):  # a run of nothing is one stretch
                yield locations.UNDEFINED, above - below
                continue
            for location, inner, length in stretches_of_part(part, below, above):
                self._left -= 1
                if self._left < 0:
                    raise EvaluationError("limit_exceeded", f"a location is made of more than {MAX_WALK} stretches")
                place = location.single
                if place is not None and type(place.storage) is Composite and type(place.bit_offset) is int:
                    yield from self.stretches(place.storage, place.bit_offset + inner, length)
                else:
                    yield shifted(location, inner), length


def _joined(stretches: Iterator[tuple[Location, int]]) -> Iterator[tuple[Location, int]]:
    """Yield the stretches, each joined with those that continue it."""
    last: tuple[Location, int] | None = None
    for location, size in stretches:
        if last is not None:
            if _goes_on(last[0].single, last[1], location.single):
                last = last[0], last[1] + size
                continue
            yield last
        last = location, size
    if last is not None:
        yield last


def _goes_on(first: SingleLocation | None, size: int, second: SingleLocation | None) -> bool:
    if first is None or second is None:
        return False
    if type(first.storage) is Undefined and type(second.storage) is Undefined:
        return True
    if type(first.bit_offset) is not int or type(second.bit_offset) is not int:
        return False
    return first.bit_offset + size == second.bit_offset and first.storage == second.storage
