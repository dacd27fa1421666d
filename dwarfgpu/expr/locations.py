"""Location descriptions (A.2.5.3): one or more places, each a position in a storage.

A storage is a linear stream of bits that can hold values. Bit 0 is the least significant bit of its first byte on
little-endian targets, the most significant one on big-endian targets: the direction in which the target numbers the
bits of memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu import bits as b
from dwarfgpu.errors import EvaluationError, MissingContext, shown
from dwarfgpu.expr.types import ImplicitPointerValue, Value
from dwarfgpu.immutable import evolve, field, immutable
from dwarfgpu.lanes import LaneSet, refuse, uniform_flag
from dwarfgpu.targets.target import Scope

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits, Positions
    from dwarfgpu.expr.context import DieReference, UnitInfo
    from dwarfgpu.machines.protocol import Backend
    from dwarfgpu.targets.target import AddressSpace, TargetRegister


# --- Storages -------------------------------------------------------------------------------------------------------


@immutable
class Memory:
    """The memory of an address space, with the wave and lane it belongs to if each has its own (A.2.5.4.4.3)."""

    space: AddressSpace
    wave: Bits | None = field(default=None, eq=b.comparable)
    lane: Bits | None = field(default=None, eq=b.comparable)

    @property
    def bit_size(self) -> int:
        return 8 << self.space.address_bits

    def select(self, positions: Positions) -> Memory:
        if self.wave is None and self.lane is None:
            return self
        return Memory(self.space, _select(self.wave, positions), _select(self.lane, positions))


@immutable
class Register:
    """A register of a thread (A.2.5.4.4.4), with the ``lane`` where a described machine has one for each lane."""

    register: TargetRegister
    wave: Bits = field(default=0, eq=b.comparable)
    lane: Bits | None = field(default=None, eq=b.comparable)

    @property
    def bit_size(self) -> int:
        return self.register.bit_size

    def select(self, positions: Positions) -> Register:
        if type(self.wave) is int and (self.lane is None or type(self.lane) is int):
            return self
        return Register(self.register, b.select(self.wave, positions), _select(self.lane, positions))


@immutable
class Implicit:
    """A fixed value (A.2.5.4.4.5): the stream of its bits, as a number."""

    data: Bits = field(eq=b.comparable)
    bit_size: int

    def select(self, positions: Positions) -> Implicit:
        return self if type(self.data) is int else Implicit(b.select(self.data, positions), self.bit_size)


@immutable
class ImplicitPointer:
    """A pointer that was optimised away, to an object that can be described (A.2.5.4.4.5 (3))."""

    die: DieReference
    byte_offset: int
    space: AddressSpace
    unit: UnitInfo | None
    """The unit of the operation, in which the reference is looked up."""
    bit_size: int

    def select(self, _positions: Positions) -> ImplicitPointer:
        return self


def pointer_misuse(why: str) -> EvaluationError:
    """Return the error of a use of an implicit pointer that the text does not allow."""
    return EvaluationError("implicit_pointer_misuse", f"an implicit pointer was used: {why}", spec="A.2.5.4.4.5 (3)")


@immutable
class Undefined:
    """Storage without a value (A.2.5.4.4.2). It has a size only in DWARF 6, that of the largest storage."""

    bit_size: int

    def select(self, _positions: Positions) -> Undefined:
        return self


@immutable
class Part:
    """``count`` neighbouring parts of ``bit_size`` bits each; number i is ``i * stride`` bits into ``location``.

    Operations that make hundreds of parts (DW_OP_LLVM_select_bit_piece of a wavefront) make them as a few runs.
    """

    location: Location
    bit_size: int
    count: int = 1
    stride: int = 0

    @property
    def total(self) -> int:
        return self.bit_size * self.count

    @property
    def is_contiguous(self) -> bool:
        """Whether the run is one stretch of its location, readable at once."""
        return self.count == 1 or self.stride == self.bit_size

    def select(self, positions: Positions) -> Part:
        location = self.location.select(positions)
        return self if location is self.location else Part(location, self.bit_size, self.count, self.stride)


@immutable
class Composite:
    """Bits that come from other storages, part by part without gaps (A.2.5.4.4.6)."""

    parts: tuple[Part, ...] = ()
    bit_size: int = 0
    count: int = 0
    """The number of parts, each run counted in full."""
    weight: int = 0
    """The number of runs of parts in it and in all composites it is made of, counted once for each use."""
    depth: int = 1
    """The depth of the composites nested in it."""
    has_pointer: bool = False
    """Whether an implicit pointer is somewhere in it."""

    def select(self, positions: Positions) -> Composite:
        parts = tuple([part.select(positions) for part in self.parts])
        if all(map(is_, parts, self.parts)):
            return self
        return Composite(parts, self.bit_size, self.count, self.weight, self.depth, self.has_pointer)


Storage: TypeAlias = "Memory | Register | Implicit | ImplicitPointer | Undefined | Composite"


def _select(bits: Any, positions: Positions) -> Any:
    return None if bits is None else b.select(bits, positions)


# --- Locations ------------------------------------------------------------------------------------------------------


@immutable
class SingleLocation:
    """A position in a storage."""

    storage: Storage
    bit_offset: Bits = field(default=0, eq=b.comparable)

    def select(self, positions: Positions) -> SingleLocation:
        storage = self.storage.select(positions)
        if storage is self.storage and type(self.bit_offset) is int:
            return self
        return SingleLocation(storage, b.select(self.bit_offset, positions))


@immutable
class Location:
    """The location of an object: one place, or several at once that all hold the same value.

    >>> import dwarfgpu as dg
    >>> even = dg.open("lane-pc.co").attach("variables.json")[0].frame(0)["even"]
    >>> [place.bit_offset for place in even.location(lane=4).places]
    [128]
    """

    places: tuple[SingleLocation, ...]

    @property
    def single(self) -> SingleLocation | None:
        """The only place, if there is only one."""
        return self.places[0] if len(self.places) == 1 else None

    def select(self, positions: Positions) -> Location:
        places = tuple([place.select(positions) for place in self.places])
        return self if all(map(is_, places, self.places)) else Location(places)


@immutable
class IncompleteComposite:
    """A composite under construction (A.2.5.4.4.6): only the piece operations accept it."""

    storage: Composite

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.storage.parts

    def select(self, positions: Positions) -> IncompleteComposite:
        storage = self.storage.select(positions)
        return self if storage is self.storage else IncompleteComposite(storage)


Entry: TypeAlias = Value | ImplicitPointerValue | Location | IncompleteComposite
"""What a stack entry can be."""

UNDEFINED_BITS = 8 << 64
"""Size of the undefined storage where it has one: the largest address space of any target (DWARF 6 draft, 3.13)."""


def at(storage: Storage, bit_offset: Bits = 0) -> Location:
    """Return a location with one place."""
    return Location((SingleLocation(storage, bit_offset),))


UNDEFINED = at(Undefined(UNDEFINED_BITS))


def is_undefined(location: Location) -> bool:
    """Return whether nothing of the location has a value: "optimized out"."""
    return all(type(place.storage) is Undefined for place in location.places)


def moved(
    location: Location, displacement: Any, *, undefined_size: int | None, spec: str, may_be_empty: bool = False
) -> Location:
    """Move every place by a signed number of bits (A.2.5.4.4.1 (1) and (3)).

    ``undefined_size`` is the size of the undefined storage; None where it has neither a size nor an offset.
    ``may_be_empty`` tells whether the offset 0 of a composite without parts is valid.
    """
    places = location.places
    if len(places) == 1:
        return Location((_moved_place(places[0], displacement, undefined_size, spec, may_be_empty),))
    return Location(tuple([_moved_place(place, displacement, undefined_size, spec, may_be_empty) for place in places]))


def _moved_place(
    place: SingleLocation,
    displacement: Any,
    undefined_size: int | None,
    spec: str,
    may_be_empty: bool,  # noqa: FBT001 (internal)
) -> SingleLocation:
    storage = place.storage
    size = storage.bit_size
    if type(storage) is Undefined:
        if undefined_size is None:
            return place
        size = undefined_size
    positions = size or (1 if may_be_empty else 0)
    offset = place.bit_offset
    offset = offset + displacement if type(offset) is type(displacement) is int else b.moved(offset, displacement)
    if type(offset) is int:
        if not 0 <= offset < positions:
            raise _outside(offset, size, spec)
        return SingleLocation(storage, offset)
    if not b.all_inside(offset, positions - 1):
        refuse(b.outside(offset, positions), lambda slot: _outside(int(b.select(offset, slot)), size, spec))
    return SingleLocation(storage, b.settled(offset))


def _outside(offset: int, size: int, spec: str) -> EvaluationError:
    message = f"the bit offset {shown(offset)} is outside the storage of {size} bits"
    return EvaluationError("offset_out_of_storage", message, spec=spec)


def remaining(place: SingleLocation, slot: int = 0) -> int:
    """Return how many bits of the storage follow the position of a slot."""
    return place.storage.bit_size - int(b.select(place.bit_offset, slot))


def may_hold_pointer(location: Location) -> bool:
    """Return whether an implicit pointer is in the first place of a location, which is the one that is read."""
    storage = location.places[0].storage
    kind = type(storage)
    return kind is ImplicitPointer or (kind is Composite and storage.has_pointer)  # type: ignore[union-attr]


MAX_PLACES = 64
"""More places than any object is in at once: a limit against hostile input, as places are compared with each other."""


def union(locations: Iterable[Location], count: int) -> Location:
    """Return all places of some locations (A.2.5.5), each once, for a number of slots."""
    places: list[SingleLocation] = []
    for location in locations:
        places.extend([place for place in location.places if not any(_same(place, known, count) for known in places)])
        if len(places) > MAX_PLACES:
            raise EvaluationError("limit_exceeded", f"a location has more than {MAX_PLACES} places", spec="A.2.5.3")
    return Location(tuple(places))


def _same(left: SingleLocation, right: SingleLocation, count: int) -> bool:
    """Return whether two places are the same; raise `Diverge` if they are in only some slots."""
    if left == right:
        return True
    if count == 1 or (left.select(0) == left and right.select(0) == right):
        return False
    return uniform_flag(b.flags([left.select(slot) == right.select(slot) for slot in range(count)]))


def extended(base: Composite, parts: tuple[Part, ...]) -> Composite:
    """Return a composite with more parts after those it has."""
    size, count, weight = base.bit_size, base.count, base.weight + len(parts)
    depth, has_pointer = base.depth, base.has_pointer
    for part in parts:
        length = part.count
        count += length
        size += part.bit_size * length
        for place in part.location.places:
            storage = place.storage
            if type(storage) is Composite:
                weight += storage.weight
                depth = max(depth, storage.depth + 1)
                has_pointer = has_pointer or storage.has_pointer
            elif type(storage) is ImplicitPointer:
                has_pointer = True
    return Composite(base.parts + parts, size, count, weight, depth, has_pointer)


PLAIN = (Memory, Register, Implicit)
"""Storages whose bits all have a value."""

EMPTY = Composite()
"""A composite without parts."""


# --- Locations that do not say which lane they belong to ----------------------------------------------------------


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
            lane = _lane(f"the address space {space.name} belongs to a lane", lanes, space.scope == Scope.LANE)
            return SingleLocation(Memory(space, storage.wave, lane), place.bit_offset)
    elif isinstance(storage, Register):
        if storage.lane is None and backend.lane_owned(storage.register):
            lane = _lane(f"each lane has its own register {storage.register.name}", lanes, needed=True)
            return SingleLocation(Register(storage.register, storage.wave, lane), place.bit_offset)
    elif isinstance(storage, Composite):
        parts = tuple(
            Part(bound(part.location, backend, lanes), part.bit_size, part.count, part.stride) for part in storage.parts
        )
        if any(new.location is not old.location for new, old in zip(parts, storage.parts, strict=True)):
            filled = evolve(storage, parts=parts)
            return SingleLocation(filled, place.bit_offset)
    return place


def _lane(why: str, lanes: LaneSet, needed: bool) -> Bits | None:  # noqa: FBT001 (internal)
    if lanes.lane is None and needed:
        raise MissingContext("lane", f"{why}, and there is no current lane", spec="A.2.5.4.4.3 (3)")
    return lanes.lane
