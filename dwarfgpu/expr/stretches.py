"""Stretches of bits: the storages that really hold the bits of a composite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu.expr.locations import Location, SingleLocation
from dwarfgpu.expr.storages import Composite, Undefined
from dwarfgpu.lanes import uniform

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits
    from dwarfgpu.expr.storages import Part


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
    if part.is_contiguous:
        return [(part.location, start, stop - start)]
    stretches = []
    while start < stop:
        index, skip = divmod(start, part.bit_size)
        length = min(part.bit_size - skip, stop - start)
        stretches.append((part.location, index * part.stride + skip, length))
        start += length
    return stretches


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
