"""Addresses to storage: those of many slots in any address space become keys, in a few array operations.

A single access uses the pieces of the address space (`AddressSpace.alias`); this is the same arithmetic on arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from attrs import field

from dwarfgpu.bits import comparable
from dwarfgpu.immutable import immutable
from dwarfgpu.machines.extents import INSTANCE_SHIFT
from dwarfgpu.targets.amdgpu import address_spaces as ap
from dwarfgpu.targets.amdgpu.numbers import GLOBAL, LOCAL, PRIVATE_LANE, PRIVATE_WAVE
from dwarfgpu.targets.target import Scope

if TYPE_CHECKING:
    from array import array

    from dwarfgpu.bits import Array
    from dwarfgpu.targets.target import AddressSpace, Target

INSTANCED = (Scope.WORKGROUP, Scope.WAVE)
"""The scopes of address spaces of which there are several instances."""


NOWHERE = -1
"""The instance of a wave that there is not, or that is in no work-group."""


class Owner(Protocol):
    """What memory needs to know of its machine."""

    changes: int

    @property
    def target(self) -> Target: ...

    @property
    def wave_count(self) -> int: ...

    @property
    def group_numbers(self) -> array[int]:
        """The number of the work-group of each wave, `NOWHERE` where it has none."""

    def groups(self) -> Array:
        """Return `group_numbers` as an array of numpy."""


@immutable
class StoredBytes:
    """The storage of some bytes of some slots."""

    space: int
    """The number of an address space that is no view."""
    keys: Array = field(eq=comparable)
    inside: Array | None = field(eq=comparable)
    """Flags of the keys that are inside the address space, and of an instance that exists; None: all that are known."""
    slots: Any = slice(None)
    """The slots they belong to."""
    first: int = 0
    """The first byte of the access that is here."""
    size: int = 0

    def among(self, known: Array) -> Array:
        """Return flags of the keys that are known and inside."""
        return known if self.inside is None else known & self.inside


class Resolver:
    """A resolver of accesses to the memory of a machine into places."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    @property
    def target(self) -> Target:
        return self._owner.target

    def own(self, space: AddressSpace) -> AddressSpace:
        """Return an address space as the machine has it, with its own apertures."""
        return self.target.space(space.number) or space

    def owner_of(self, space: AddressSpace, wave: int) -> int:
        """Return the instance of an address space that a wave means."""
        if not 0 <= wave < self._owner.wave_count:
            return NOWHERE
        return self._owner.group_numbers[wave] if space.scope == Scope.WORKGROUP else wave

    def owners_of(self, space: AddressSpace, waves: list[int]) -> list[int]:
        """Return the instances of an address space that some waves mean."""
        if waves and not 0 <= min(waves) <= max(waves) < self._owner.wave_count:
            return [self.owner_of(space, wave) for wave in waves]
        return list(map(self._owner.group_numbers.__getitem__, waves)) if space.scope == Scope.WORKGROUP else waves

    def instance_of(self, space: AddressSpace, waves: Any) -> Any:
        """Return the instances of an address space that waves (an int or an array) mean."""
        import numpy as np

        if isinstance(waves, int):
            return self.owner_of(space, waves)
        count = self._owner.wave_count
        groups = self._owner.groups() if space.scope == Scope.WORKGROUP else np.arange(count)
        waves = waves.astype(np.int64) if waves.dtype != np.int64 else waves
        if not len(waves) or 0 <= int(waves.min()) <= int(waves.max()) < count:
            return groups[waves] if space.scope == Scope.WORKGROUP else waves
        exists = (waves >= 0) & (waves < count)
        instances = np.full(len(waves), NOWHERE)
        instances[exists] = groups[waves[exists]]
        return instances

    def places(
        self, space: AddressSpace, addresses: Any, size: int, waves: Any, lanes: Any, count: int
    ) -> list[StoredBytes]:
        """Return the places of the bytes of all slots. Bytes without a place are not available."""
        if isinstance(space.alias, ap.LaneView):
            if space.alias.fixed_lane is not None:
                lanes = space.alias.fixed_lane
            return self._lane_places(addresses, size, waves, lanes, count)
        if isinstance(space.alias, ap.GenericView):
            space = self.own(space)
            return self._generic_places(space, addresses, size, waves, lanes, count)
        keys, inside = self._keys(space, addresses, size, waves, count)
        return [StoredBytes(space.number, keys, inside, size=size)]

    def _keys(
        self, space: AddressSpace, addresses: Any, size: int, waves: Any, count: int
    ) -> tuple[Array, Array | None]:
        """Return the keys of ranges of an address space that is no view, and flags of those that can be."""
        keys = _array(addresses, count)
        if space.scope not in INSTANCED:  # whose keys are addresses: what is known of them is inside
            return keys, None
        import numpy as np

        limit = (1 << space.address_bits) - size
        inside = np.ones(count, dtype=bool)
        if count and int(keys.max()) > limit:
            inside &= keys <= np.uint64(max(limit, 0))
        if waves is None:
            return keys, np.zeros(count, dtype=bool)
        owners = self.instance_of(space, waves)
        if isinstance(owners, int):
            if owners < 0:
                return keys, np.zeros(count, dtype=bool)
            return keys + np.uint64(owners << INSTANCE_SHIFT), inside
        if count and int(owners.min()) < 0:
            inside &= owners >= 0
        instances = owners.astype(np.uint64)
        instances <<= np.uint64(INSTANCE_SHIFT)
        instances += keys
        return instances, inside

    def _lane_places(self, addresses: Any, size: int, waves: Any, lanes: Any, count: int) -> list[StoredBytes]:
        """Return the dwords of the wave's memory that hold bytes of a lane, dword by dword."""
        import numpy as np

        wave_size = self.target.lane_count
        if lanes is None or (isinstance(lanes, int) and lanes >= wave_size):
            return []
        if not isinstance(addresses, int):
            skips = addresses & 3
            if (skips != skips[:1]).any():
                return self._by_alignment(skips, addresses, size, waves, lanes, count)
            skip = int(skips[0]) if count else 0
        else:
            skip = addresses % ap.DWORD
        exists = None
        if not isinstance(lanes, int):
            lanes = lanes.astype(np.uint64) if lanes.dtype != np.uint64 else lanes
            if count and int(lanes.max()) >= wave_size:
                exists = lanes < np.uint64(wave_size)
        if not isinstance(addresses, int) and addresses.dtype != np.uint64:
            addresses = addresses.astype(np.uint64)
        private_wave = self.target.space(PRIVATE_WAVE)
        places = []
        position = 0
        while position < size:
            length = min(ap.DWORD - (skip + position) % ap.DWORD, size - position)
            start = addresses + (position if isinstance(addresses, int) else np.uint64(position))
            at = ap.lane_to_wave(start, lanes, wave_size)
            keys, inside = self._keys(private_wave, at, length, waves, count)  # type: ignore[arg-type]
            if exists is not None:
                inside = exists if inside is None else inside & exists
            places.append(StoredBytes(PRIVATE_WAVE, keys, inside, first=position, size=length))
            position += length
        return places

    def _by_alignment(
        self, skips: Array, addresses: Array, size: int, waves: Any, lanes: Any, count: int
    ) -> list[StoredBytes]:
        """Return the places of lane ranges that begin at different bytes of their dwords, one alignment at a time."""
        places = []
        for skip in range(ap.DWORD):
            slots = (skips == skip).nonzero()[0]
            if len(slots):
                parts = self._lane_places(addresses[slots], size, _some(waves, slots), _some(lanes, slots), len(slots))
                places += [_at(place, slots) for place in parts]
        return places

    def _generic_places(
        self, space: AddressSpace, addresses: Any, size: int, waves: Any, lanes: Any, count: int
    ) -> list[StoredBytes]:
        """Return the places of generic addresses by their meaning; ranges are cut where they leave an aperture."""
        import numpy as np

        view: Any = space.alias
        apertures = view.apertures
        if apertures is None:
            return []
        keys = _array(addresses, count)
        inner = ap.segment_address(keys)
        across = inner > np.uint64(ap.SIZE - size)
        is_local = ap.contains(apertures.shared, keys)
        is_private = ap.contains(apertures.private, keys)
        places = []
        if is_private.all() and not across.any():  # a stack of every lane: nothing needs sorting
            return self.places(self.target.space(PRIVATE_LANE), inner, size, waves, lanes, count)  # type: ignore[arg-type]
        for number, chosen in ((LOCAL, is_local), (PRIVATE_LANE, is_private), (GLOBAL, ~(is_local | is_private))):
            meant: Any = self.target.space(number)
            slots = (chosen & ~across).nonzero()[0]
            if len(slots):
                at = (keys if number == GLOBAL else inner)[slots]
                parts = self.places(meant, at, size, _some(waves, slots), _some(lanes, slots), len(slots))
                places += [_at(place, slots) for place in parts]
        for room in np.unique(ap.SIZE - inner[across].astype(np.int64)).tolist():
            slots = (across & (inner == np.uint64(ap.SIZE - room))).nonzero()[0]
            slots = slots[keys[slots] <= np.uint64((1 << 64) - size)]
            for first, length in ((0, room), (room, size - room)):
                at = keys[slots] + np.uint64(first)
                parts = self.places(space, at, length, _some(waves, slots), _some(lanes, slots), len(slots))
                places += [_at(place, slots, first) for place in parts]
        return places


def _array(bits: Any, count: int) -> Array:
    if isinstance(bits, int):
        import numpy as np

        return np.full(count, bits, dtype=np.uint64)
    return bits if bits.dtype == "u8" else bits.astype("u8")  # type: ignore[no-any-return]


def _some(bits: Any, slots: Array) -> Any:
    """Select the elements of some slots from bits that may be absent, one for all, or one a slot."""
    return bits if bits is None or isinstance(bits, int) else bits[slots]


def _at(place: StoredBytes, slots: Array, first: int = 0) -> StoredBytes:
    """Return a place of some slots as one of all slots, with its bytes from a later byte on."""
    own = slots if isinstance(place.slots, slice) else slots[place.slots]
    return StoredBytes(place.space, place.keys, place.inside, own, place.first + first, place.size)
