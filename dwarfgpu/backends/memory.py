"""The memory of a machine: one storage for each address space that is no view, seen through all of them.

Global memory and GDS are one each; local memory belongs to a work-group, private memory to a wave. The bytes of an
instance stand under keys with the number of the instance in the upper half: of a wave its index, of a work-group the
index of its first wave.

Data may stand at any address: kernels run with SH_MEM_ALIGNMENT_MODE_UNALIGNED (ROCm compute ABI, "SH_MEM_CONFIG").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from dwarfgpu.backends.extents import INSTANCE_SHIFT, Extents, Overlap
from dwarfgpu.backends.protocol import memory_unavailable
from dwarfgpu.errors import DwarfGpuError, EvaluationError, MissingContext, UsageError
from dwarfgpu.records import record
from dwarfgpu.targets.amdgpu.alias import GenericView, LaneView
from dwarfgpu.targets.amdgpu.apertures import SIZE, contains, locate, segment_address
from dwarfgpu.targets.amdgpu.numbers import GLOBAL, LOCAL, PRIVATE_LANE, PRIVATE_WAVE
from dwarfgpu.targets.amdgpu.scratch import DWORD, lane_to_wave
from dwarfgpu.targets.target import Scope

if TYPE_CHECKING:
    from dwarfgpu.bits import Array, Bits
    from dwarfgpu.targets.target import AddressSpace, Target

INSTANCED = (Scope.WORKGROUP, Scope.WAVE)
"""The scopes of address spaces of which there are several instances."""


@record
class Place:
    """Where some bytes of some slots are stored."""

    space: int
    """The number of an address space that is no view."""
    keys: Array
    inside: Array
    """Flags of the keys that are inside the address space, and of an instance that exists."""
    slots: Any = slice(None)
    """The slots they belong to."""
    first: int = 0
    """The first byte of the access that is here."""
    size: int = 0


class Owner(Protocol):
    """What its memory asks of a machine."""

    @property
    def target(self) -> Target: ...

    def groups(self) -> Array:
        """The number of the work-group of each wave, -1 where it has none."""


class MachineMemory:
    """All memory of a machine."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self.stores: dict[int, Extents] = {}
        """The bytes of each address space that has some, by its number."""

    @property
    def target(self) -> Target:
        return self._owner.target

    # --- What is there --------------------------------------------------------------------------------------------

    def store(self, space: AddressSpace) -> Extents:
        """The bytes of an address space, which must be no view."""
        if space.alias is not None:
            message = f"{space.name} memory is a view of other memory"
            raise UsageError(message, hint="give the memory of the address space that holds the bytes")
        return self.stores.setdefault(space.number, Extents())

    def map(self, space: AddressSpace, address: int, data: Any, *, instance: int = 0) -> None:
        """Put bytes, or any array, at an address. An array of bytes that can be written is kept and not copied.

        ``instance`` is a wave, for local memory any wave of the work-group.
        """
        import numpy as np

        self.map_all(space, np.array([instance]), np.array([address], dtype=np.uint64), None, _as_bytes(data))

    def map_all(
        self, space: AddressSpace, instances: Array, addresses: Array, sizes: Array | None, data: Array
    ) -> None:
        """Put many extents, which stand one behind the other in an array of bytes, at addresses of instances."""
        import numpy as np

        sizes = np.array([len(data)], dtype=np.int64) if sizes is None else sizes
        store = self.store(space)
        last = (1 << space.address_bits) - 1
        room = np.uint64(last) - np.maximum(sizes - 1, 0).astype(np.uint64)
        beyond = (addresses > room).nonzero()[0]
        if len(beyond):
            at, size = int(addresses[beyond[0]]), int(sizes[beyond[0]])
            raise UsageError(f"{size} bytes at {space.name}#{at:#x} reach past the end of the address space")
        keys = addresses.astype(np.uint64)
        if space.scope in INSTANCED:
            owners = self._instance_of(space, instances.astype(np.int64))
            without = (owners < 0).nonzero()[0]
            if len(without):
                raise UsageError(self._no_instance(space, int(instances[without[0]])))
            keys = keys | owners.astype(np.uint64) << np.uint64(INSTANCE_SHIFT)
        try:
            store.add(keys, sizes, data)
        except Overlap as clash:
            at = clash.key & last
            raise UsageError(f"the byte at {space.name}#{at:#x} is given twice") from None

    def map_rows(self, space: AddressSpace, rows: Array, address: int = 0) -> None:
        """Give the wave with index i the bytes ``rows[i]`` of an address space that waves have each for themselves."""
        import numpy as np

        count, size = rows.shape
        instances = np.arange(count, dtype=np.int64)
        addresses = np.full(count, address, dtype=np.uint64)
        self.map_all(space, instances, addresses, np.full(count, size, dtype=np.int64), rows.reshape(-1))

    def allocate(self, size: int, *, alignment: int = 256, above: int = 0x7F00_0000_0000) -> int:
        """Map zeros in global memory, above everything that is there; their address."""
        import numpy as np

        store = self.store(self.target.default_space)
        top = int(store.lasts[-1]) + 1 if len(store.lasts) else 0
        address = -(-max(top, above) // alignment) * alignment
        self.map(self.target.default_space, address, np.zeros(max(size, 1), dtype=np.uint8))
        return address

    def extents(self, space: AddressSpace) -> list[tuple[int, int, int]]:
        """What is there of an address space that is no view, as (instance, address, size)."""
        store = self.store(space)
        found = []
        for start, last in zip(store.starts.tolist(), store.lasts.tolist(), strict=True):
            owner, address = divmod(start, SIZE) if space.scope in INSTANCED else (0, start)
            found.append((owner, address, last - start + 1))
        return found

    # --- Instances ------------------------------------------------------------------------------------------------

    def _instance_of(self, space: AddressSpace, waves: Any) -> Any:
        """The instances of an address space that waves (an int or an array) mean; -1 where there is none."""
        import numpy as np

        groups = self._owner.groups()
        if isinstance(waves, int):
            if not 0 <= waves < len(groups):
                return -1
            return waves if space.scope == Scope.WAVE else int(groups[waves])
        waves = waves.astype(np.int64) if waves.dtype != np.int64 else waves
        if not len(waves) or 0 <= int(waves.min()) <= int(waves.max()) < len(groups):
            return waves if space.scope == Scope.WAVE else groups[waves]
        exists = (waves >= 0) & (waves < len(groups))
        found = waves if space.scope == Scope.WAVE else groups[np.where(exists, waves, 0)]
        return np.where(exists, found, -1)

    def _no_instance(self, space: AddressSpace, wave: int) -> str:
        if not 0 <= wave < len(self._owner.groups()):
            return f"there is no wave {wave}"
        return f"wave {wave} is in no work-group that is known, so {space.name} memory of it is not either"

    def _key(self, space: AddressSpace, address: int, size: int, wave: int | None) -> int:
        """The key of a range of an address space that is no view; an error where there can be none."""
        if address + size > 1 << space.address_bits:
            raise memory_unavailable(space, address, size, "they reach past the end of the address space")
        if space.scope not in INSTANCED:
            return address
        if wave is None:
            message = f"{space.name} memory belongs to a wave or a work-group, and there is no current thread"
            raise MissingContext("thread", message)
        instance: int = self._instance_of(space, int(wave))
        if instance < 0:
            raise memory_unavailable(space, address, size, self._no_instance(space, wave))
        return instance << INSTANCE_SHIFT | address

    # --- One access -----------------------------------------------------------------------------------------------

    def _ranges(
        self, space: AddressSpace, address: int, size: int, wave: int | None, lane: int | None
    ) -> list[tuple[Extents, int, int]]:
        """The storage of a range: (bytes, key, size), all of which are known."""
        found = []
        position = address
        for number, start, length in self.pieces(space, address, size, lane):
            base = self.target.space(number)
            if base is None:  # an alias names spaces of its own target
                raise AssertionError(number)
            store = self.stores.get(number) or Extents()
            try:
                key = self._key(base, start, length, wave)
            except EvaluationError as error:
                raise self._unavailable(space, address, size, error.message) from None
            missing = store.missing(key, length)
            if missing is not None:
                first = position + missing - key
                why = "" if first == address else f"{space.name}#{first:#x} is the first without a value"
                raise self._unavailable(space, address, size, why)
            found.append((store, key, length))
            position += length
        return found

    def pieces(
        self, space: AddressSpace, address: int, size: int, lane: int | None
    ) -> list[tuple[int, int, int]]:
        """The (space number, address, size) of the storage of a range; a view is translated."""
        if address + size > 1 << space.address_bits:
            raise memory_unavailable(space, address, size, "they reach past the end of the address space")
        alias = self._own(space).alias
        if alias is None:
            return [(space.number, address, size)]
        return alias.pieces(address, size, lane, self.target.lane_count)

    def _own(self, space: AddressSpace) -> AddressSpace:
        """An address space as this machine has it, with its own apertures."""
        return self.target.space(space.number) or space

    def _unavailable(self, space: AddressSpace, address: int, size: int, why: str) -> DwarfGpuError:
        if address == space.null:
            why = "it is the null address"
        return memory_unavailable(space, address, size, why)

    def read(self, space: AddressSpace, address: int, size: int, wave: int | None, lane: int | None) -> bytes:
        ranges = self._ranges(space, address, size, wave, lane)
        return b"".join([store.read(key, length) or b"" for store, key, length in ranges])

    def write(
        self, space: AddressSpace, address: int, data: bytes, wave: int | None, lane: int | None
    ) -> None:
        position = 0
        for store, key, length in self._ranges(space, address, len(data), wave, lane):
            store.write(key, data[position : position + length])
            position += length

    def available(self, space: AddressSpace, address: int, wave: int | None, lane: int | None) -> int:
        """How many bytes from an address on are there."""
        alias = self._own(space).alias
        limit = 1 << space.address_bits
        if isinstance(alias, GenericView):
            if alias.apertures is None:
                return 0
            number, inner = locate(address, alias.apertures)
            meant: Any = self.target.space(number)
            return self.available(meant, inner, wave, lane)
        if isinstance(alias, LaneView):
            return self._available_to_lane(space, address, wave, lane)
        try:
            key = self._key(space, address, 0, wave)
        except DwarfGpuError:
            return 0
        missing = self._stored(space.number).missing(key, limit - address)
        return limit - address if missing is None else missing - key

    def _available_to_lane(
        self, space: AddressSpace, address: int, wave: int | None, lane: int | None
    ) -> int:
        """How many bytes from an address on a lane has: dword by dword, many of them at once."""
        import numpy as np

        count, size, step = 0, DWORD - address % DWORD, 1
        while True:
            starts = np.arange(step, dtype=np.uint64) * np.uint64(size) + np.uint64(address + count)
            found = self.known(space, starts, size, wave, lane, step)
            whole = int(found.argmin()) if not found.all() else step
            count += whole * size
            if whole < step:
                for part in range(size - 1, 0, -1):
                    if self.known(space, address + count, part, wave, lane, 1).all():
                        return count + part
                return count
            size, step = DWORD, min(step * 4, 1 << 14)

    def known(
        self, space: AddressSpace, addresses: Bits, size: int, waves: Any, lanes: Any, count: int
    ) -> Array:
        """Flags of the slots all of whose bytes are there."""
        import numpy as np

        covered = np.zeros(count, dtype=np.int64)
        for place in self._places(space, addresses, size, waves, lanes, count) if size else []:
            has = self._stored(place.space).known(place.keys, place.size) & place.inside
            covered[place.slots] += has * place.size
        whole: Any = covered == size
        return whole  # type: ignore[no-any-return]

    # --- Many accesses --------------------------------------------------------------------------------------------

    def gather(
        self, space: AddressSpace, addresses: Bits, size: int, waves: Any, lanes: Any, count: int
    ) -> tuple[Array, Array]:
        import numpy as np

        if size == 0:
            return np.zeros((count, 0), dtype=np.uint8), np.ones(count, dtype=bool)
        places = self._places(space, addresses, size, waves, lanes, count)
        if len(places) == 1 and places[0].size == size and isinstance(places[0].slots, slice):
            place = places[0]
            rows, found = self._stored(place.space).gather(place.keys, size)
            return rows, found & place.inside
        rows = np.zeros((count, size), dtype=np.uint8)
        known = np.zeros((count, size), dtype=bool)
        for place in places:
            columns = slice(place.first, place.first + place.size)
            data, found = self._stored(place.space).gather(place.keys, place.size)
            if isinstance(place.slots, slice):
                rows[:, columns] = data
                known[:, columns] = (found & place.inside)[:, None]
            else:
                rows[place.slots, columns] = data
                known[place.slots, columns] = (found & place.inside)[:, None]
        whole: Any = known.all(axis=1)
        return rows, whole

    def scatter(
        self, space: AddressSpace, addresses: Bits, rows: Array, waves: Any, lanes: Any, count: int
    ) -> Array:
        import numpy as np

        size = rows.shape[1]
        whole = self.known(space, addresses, size, waves, lanes, count)
        for place in self._places(space, addresses, size, waves, lanes, count) if size else []:
            chosen = whole[place.slots]
            data = rows[place.slots, place.first : place.first + place.size]
            self._stored(place.space).scatter(place.keys[chosen], np.ascontiguousarray(data[chosen]))
        return whole

    def _stored(self, number: int) -> Extents:
        return self.stores.get(number) or Extents()

    def _places(
        self, space: AddressSpace, addresses: Any, size: int, waves: Any, lanes: Any, count: int
    ) -> list[Place]:
        """Where the bytes of all slots are stored. What is in no place is not there."""
        if isinstance(space.alias, LaneView):
            if space.alias.fixed_lane is not None:
                lanes = space.alias.fixed_lane
            return self._lane_places(addresses, size, waves, lanes, count)
        if isinstance(space.alias, GenericView):
            space = self._own(space)
            return self._generic_places(space, addresses, size, waves, lanes, count)
        keys, inside = self._keys(space, addresses, size, waves, count)
        return [Place(space.number, keys, inside, size=size)]

    def _keys(
        self, space: AddressSpace, addresses: Any, size: int, waves: Any, count: int
    ) -> tuple[Array, Array]:
        """The keys of ranges of an address space that is no view, and flags of those that can be."""
        import numpy as np

        keys = _array(addresses, count)
        limit = (1 << space.address_bits) - size
        inside = np.ones(count, dtype=bool)
        if count and int(keys.max()) > limit:
            inside &= keys <= np.uint64(max(limit, 0))
        if space.scope not in INSTANCED:
            return keys, inside
        if waves is None:
            return keys, np.zeros(count, dtype=bool)
        owners = self._instance_of(space, waves)
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

    def _lane_places(self, addresses: Any, size: int, waves: Any, lanes: Any, count: int) -> list[Place]:
        """The dwords of the wave's memory that hold bytes of a lane, dword by dword."""
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
            skip = addresses % DWORD
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
            length = min(DWORD - (skip + position) % DWORD, size - position)
            at = lane_to_wave(addresses + (position if isinstance(addresses, int) else np.uint64(position)),
                              lanes, wave_size)  # fmt: skip
            keys, inside = self._keys(private_wave, at, length, waves, count)  # type: ignore[arg-type]
            inside = inside if exists is None else inside & exists
            places.append(Place(PRIVATE_WAVE, keys, inside, first=position, size=length))
            position += length
        return places

    def _by_alignment(
        self, skips: Array, addresses: Array, size: int, waves: Any, lanes: Any, count: int
    ) -> list[Place]:
        """Lane ranges that begin at different bytes of their dwords, each kind for itself."""
        places = []
        for skip in range(DWORD):
            slots = (skips == skip).nonzero()[0]
            if len(slots):
                some = self._lane_places(
                    addresses[slots], size, _some(waves, slots), _some(lanes, slots), len(slots)
                )
                places += [_at(place, slots) for place in some]
        return places

    def _generic_places(
        self, space: AddressSpace, addresses: Any, size: int, waves: Any, lanes: Any, count: int
    ) -> list[Place]:
        """Generic addresses, sorted into what they mean; ranges that leave an aperture are taken apart there."""
        import numpy as np

        view: Any = space.alias
        apertures = view.apertures
        if apertures is None:
            return []
        keys = _array(addresses, count)
        inner = segment_address(keys)
        across = inner > np.uint64(SIZE - size)
        is_local = contains(apertures.shared, keys)
        is_private = contains(apertures.private, keys)
        places = []
        if is_private.all() and not across.any():  # a stack of every lane: nothing needs sorting
            return self._places(self.target.space(PRIVATE_LANE), inner, size, waves, lanes, count)  # type: ignore[arg-type]
        for number, chosen in (
            (LOCAL, is_local),
            (PRIVATE_LANE, is_private),
            (GLOBAL, ~(is_local | is_private)),
        ):
            meant: Any = self.target.space(number)
            slots = (chosen & ~across).nonzero()[0]
            if len(slots):
                at = (keys if number == GLOBAL else inner)[slots]
                some = self._places(meant, at, size, _some(waves, slots), _some(lanes, slots), len(slots))
                places += [_at(place, slots) for place in some]
        for room in np.unique(SIZE - inner[across].astype(np.int64)).tolist():
            slots = (across & (inner == np.uint64(SIZE - room))).nonzero()[0]
            slots = slots[keys[slots] <= np.uint64((1 << 64) - size)]
            for first, length in ((0, room), (room, size - room)):
                at = keys[slots] + np.uint64(first)
                some = self._places(space, at, length, _some(waves, slots), _some(lanes, slots), len(slots))
                places += [_at(place, slots, first) for place in some]
        return places


def _as_bytes(data: Any) -> Array:
    """Bytes, or any array, as an array of bytes that can be written."""
    import numpy as np

    if isinstance(data, (bytes, bytearray, memoryview)):
        return np.frombuffer(bytearray(data), dtype=np.uint8)
    whole = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    return whole if whole.flags.writeable else whole.copy()


def _array(bits: Any, count: int) -> Array:
    """Addresses as an array with one a slot."""
    import numpy as np

    if isinstance(bits, int):
        return np.full(count, bits, dtype=np.uint64)
    return bits if bits.dtype == np.uint64 else bits.astype(np.uint64)  # type: ignore[no-any-return]


def _some(bits: Any, slots: Array) -> Any:
    """What some slots have of something that may be absent, one for all, or one a slot."""
    return bits if bits is None or isinstance(bits, int) else bits[slots]


def _at(place: Place, slots: Array, first: int = 0) -> Place:
    """A place of some slots, as one of all: these slots, and its bytes from a later byte on."""
    own = slots if isinstance(place.slots, slice) else slots[place.slots]
    return Place(place.space, place.keys, place.inside, own, place.first + first, place.size)
