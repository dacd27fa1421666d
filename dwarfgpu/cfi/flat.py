"""Composites without composites in them.

The place of a caller's register is made of its place in the callee, which is made of that in the callee below. Left so,
it nests as deep as there are frames; flattened at every step, each frame costs the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.expr import locations
from dwarfgpu.expr.locations import EMPTY, Location, SingleLocation
from dwarfgpu.expr.storages import Composite, Part, Undefined
from dwarfgpu.expr.stretches import pieces, shifted

if TYPE_CHECKING:
    from collections.abc import Iterator


def flattened(location: Location) -> Location:
    """The same bits, from storages that are no composites, with neighbours that are one stretch joined.

    Parts with several places stay as they are, and so do locations with an offset that differs from lane to lane.
    """
    place = location.single
    if place is None or type(place.storage) is not Composite or type(place.bit_offset) is not int:
        return location
    storage = place.storage
    stretches = list(_joined(_stretches(storage, 0, storage.bit_size)))
    if len(stretches) == 1 and place.bit_offset == 0:
        whole = stretches[0][0].single
        if whole is not None and (
            type(whole.storage) is Undefined
            or (whole.bit_offset == 0 and whole.storage.bit_size == storage.bit_size)
        ):
            return stretches[0][0]  # a whole register, or nothing at all
    parts = tuple([Part(found, size) for found, size in stretches])
    return locations.at(locations.extended(EMPTY, parts), place.bit_offset)


def stretches_of(location: Location, size: int) -> Iterator[tuple[Location, int]]:
    """The stretches that the first bits of a location are in, each as where it begins and its size."""
    place = location.single
    if place is None or type(place.storage) is not Composite or type(place.bit_offset) is not int:
        yield location, size
        return
    offset = place.bit_offset
    yield from _joined(_stretches(place.storage, offset, min(size, place.storage.bit_size - offset)))


def _stretches(storage: Composite, offset: int, size: int) -> Iterator[tuple[Location, int]]:
    """The stretches of bits that a composite is made of, as (location, size)."""
    for location, piece_offset, length in pieces(storage, offset, size):
        place = location.single
        if place is not None and type(place.storage) is Composite and type(place.bit_offset) is int:
            yield from _stretches(place.storage, place.bit_offset + piece_offset, length)
        else:
            yield shifted(location, piece_offset), length


def _joined(stretches: Iterator[tuple[Location, int]]) -> Iterator[tuple[Location, int]]:
    """Neighbours that go on where the one before ends as one."""
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
