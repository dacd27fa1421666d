"""Locations that do not say which lane they belong to, bound to the lanes of an evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from dwarfgpu.errors import MissingContext
from dwarfgpu.expr.locations import Location, SingleLocation
from dwarfgpu.expr.storages import Composite, Memory, Part, Register
from dwarfgpu.targets.target import Scope

if TYPE_CHECKING:
    from dwarfgpu.backends.protocol import Backend
    from dwarfgpu.bits import Bits
    from dwarfgpu.lanes import LaneSet


def bound(location: Location, backend: Backend, lanes: LaneSet) -> Location:
    """Bind a location to lanes: storage of an unspecified lane becomes that of each of them."""
    places = [_bound_place(place, backend, lanes) for place in location.places]
    same = all(new is old for new, old in zip(places, location.places, strict=True))
    return location if same else Location(tuple(places))


def _bound_place(place: SingleLocation, backend: Backend, lanes: LaneSet) -> SingleLocation:
    storage = place.storage
    if isinstance(storage, Memory):
        space = storage.space
        if storage.lane is None and space.scope in (Scope.LANE, Scope.DEPENDS):
            lane = _lane(
                f"the address space {space.name} belongs to a lane", lanes, space.scope == Scope.LANE
            )
            return SingleLocation(Memory(space, storage.wave, lane), place.bit_offset)
    elif isinstance(storage, Register):
        if storage.lane is None and backend.lane_owned(storage.register):
            lane = _lane(f"each lane has its own register {storage.register.name}", lanes, needed=True)
            return SingleLocation(Register(storage.register, storage.wave, lane), place.bit_offset)
    elif isinstance(storage, Composite):
        parts = tuple(
            Part(bound(part.location, backend, lanes), part.bit_size, part.count, part.stride)
            for part in storage.parts
        )
        if any(new.location is not old.location for new, old in zip(parts, storage.parts, strict=True)):
            filled = evolve(storage, parts=parts)
            return SingleLocation(filled, place.bit_offset)
    return place


def _lane(why: str, lanes: LaneSet, needed: bool) -> Bits | None:  # noqa: FBT001 (internal)
    if lanes.lane is None and needed:
        raise MissingContext("lane", f"{why}, and there is no current lane", spec="A.2.5.4.4.3 (3)")
    return lanes.lane
