"""The memory of a machine: one store for each address space, and the spaces that are views of these stores.

Global memory and GDS are one each; local memory belongs to a work-group, private memory to a wave. The bytes of an
instance have keys with the number of the instance in the upper half: of a wave its index, of a work-group the
index of its first wave.

Data may be at any address: kernels run with SH_MEM_ALIGNMENT_MODE_UNALIGNED (ROCm compute ABI, "SH_MEM_CONFIG").
"""

from __future__ import annotations

from bisect import bisect_right
from operator import add
from typing import TYPE_CHECKING, Any, Protocol

from dwarfgpu.bits import comparable
from dwarfgpu.errors import DwarfGpuError, EvaluationError, MissingContext, UsageError
from dwarfgpu.immutable import field, frozen, immutable
from dwarfgpu.machines.columns import Cells
from dwarfgpu.machines.extents import INSTANCE_SHIFT, Extents, Overlap, numbers
from dwarfgpu.machines.protocol import memory_unavailable
from dwarfgpu.targets.amdgpu import GLOBAL, LOCAL, PRIVATE_LANE, PRIVATE_WAVE
from dwarfgpu.targets.amdgpu import address_spaces as ap
from dwarfgpu.targets.amdgpu.address_spaces import DWORD, SIZE, GenericView, LaneView, locate
from dwarfgpu.targets.target import AddressSpace, Scope, Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.bits import Array, Bits


INSTANCED = (Scope.WORKGROUP, Scope.WAVE)
"""The scopes of address spaces of which there are several instances."""


NOWHERE = -1
"""The instance of a wave that there is not, or that is in no work-group."""


class MemoryOwner(Protocol):
    """A machine, as far as its memory knows it."""

    target: Target
    changes: int

    @property
    def wave_count(self) -> int: ...

    @property
    def group_numbers(self) -> Sequence[int]: ...

    def groups(self) -> Array: ...


@immutable
class StoredBytes:
    """The storage of some bytes of some slots."""

    space: int
    """The number of an address space that is no view."""
    keys: Array = field(eq=comparable)
    inside: Array | None = field(eq=comparable)
    """For each key, whether it is inside the address space and its instance exists; None if all are."""
    slots: Any = slice(None)
    """The slots they belong to."""
    first: int = 0
    """The first byte of the access that is here."""
    size: int = 0

    def among(self, known: Array) -> Array:
        """Return flags of the keys that are known and inside."""
        return known if self.inside is None else known & self.inside


@frozen
class Region:
    """Bytes of memory in one address space."""

    space: AddressSpace
    address: int
    data: bytes
    lane: int | None = None
    """The lane whose memory it is, in an address space of which each lane has its own."""
    wave: int = 0
    """The wave whose memory it is, or any wave of the work-group."""


class Memories:
    """All memory of a machine."""

    def __init__(self, owner: MemoryOwner) -> None:
        self._owner = owner
        self.stores: dict[int, Extents] = {}
        """The bytes of each address space that has some, by its number."""

    @property
    def target(self) -> Target:
        return self._owner.target

    # --- Extents --------------------------------------------------------------------------------------------------

    @property
    def spaces(self) -> list[AddressSpace]:
        """The address spaces that have bytes, by their numbers."""
        spaces = map(self.target.space, sorted(self.stores))
        return [space for space in spaces if space is not None]

    def store(self, space: AddressSpace) -> Extents:
        """Return the bytes of an address space, which must be no view."""
        if space.alias is not None:
            message = f"{space.name} memory is a view of other memory"
            raise UsageError(message, hint="give the memory of the address space that holds the bytes")
        return self.stores.setdefault(space.number, Extents())

    def writable(self, address: int, size: int) -> memoryview:
        """Return a writable view of mapped global memory, which must lie in one mapping."""
        space = self.target.default_space
        store = self.store(space)
        index = bisect_right(store.starts, address) - 1
        if index < 0 or address + size - 1 > store.lasts[index]:
            raise memory_unavailable(space, address, size)
        offset = store.offsets[index] + address - store.starts[index]
        return memoryview(store.blocks[store.owners[index]].buffer).cast("B")[offset : offset + size]

    def remove_instances(self) -> None:
        """Remove the memory of waves and work-groups."""
        for number in list(self.stores):
            space = self.target.space(number)
            if space is not None and space.scope in INSTANCED:
                del self.stores[number]

    def map(self, space: AddressSpace, address: int, data: Any, *, instance: int = 0) -> None:
        """Put bytes, or any array, at an address. A writable buffer is used without a copy.

        ``instance`` is a wave, for local memory any wave of the work-group.
        """
        self.map_all(space, [instance], [address], None, data)

    def unmap(self, space: AddressSpace, address: int) -> None:
        """Remove the shared memory that was mapped from an address on."""
        self._owner.changes += 1
        self.store(space).remove(address)

    def map_all(self, space: AddressSpace, instances: Any, addresses: Any, sizes: Any | None, data: Any) -> None:
        """Put many extents, which follow each other in a buffer, at addresses of instances."""
        cells = data if isinstance(data, Cells) else Cells.of_bytes(data)
        keys = numbers(addresses)
        lengths = [len(cells.buffer)] if sizes is None else numbers(sizes)
        store = self.store(space)
        self._owner.changes += 1
        limit = 1 << space.address_bits
        if max(map(add, keys, lengths), default=0) > limit or max(keys, default=0) >= limit:
            at, size = next(
                extent for extent in zip(keys, lengths, strict=True) if max(sum(extent), extent[0] + 1) > limit
            )
            message = f"{size} bytes at {space.name}#{at:#x} reach past the end of the address space"
            raise UsageError(message)
        if space.scope in INSTANCED:
            waves = numbers(instances)
            owners = self.owners_of(space, waves)
            if NOWHERE in owners:
                raise UsageError(self._no_instance(space, waves[owners.index(NOWHERE)]))
            keys = [owner << INSTANCE_SHIFT | at for owner, at in zip(owners, keys, strict=True)]
        try:
            store.add(keys, lengths, cells)
        except Overlap as clash:
            at = clash.key & limit - 1
            raise UsageError(f"the byte at {space.name}#{at:#x} is given twice") from None

    def describe(self, region: Region) -> None:
        """Add the bytes of a region. Regions may overlap where they agree."""
        space, address, data = region.space, region.address, region.data
        if address + len(data) > 1 << space.address_bits:
            raise UsageError(f"{len(data)} bytes at {space.name}#{address:#x} are not in the address space")
        self._owner.changes += 1
        position = 0
        for number, start, length in self.pieces(space, address, len(data), region.lane):
            base: Any = self.target.space(number)  # an alias names spaces of its own target
            key = self._key(base, start, length, region.wave)
            conflict = self.store(base).describe(key, data[position : position + length])
            if conflict is not None:
                where = address + position + conflict - key
                raise UsageError(f"the byte at {space.name}#{where:#x} is given twice, with different values")
            position += length

    def map_rows(self, space: AddressSpace, rows: Array, address: int = 0) -> None:
        """Give the wave with index i the bytes ``rows[i]`` of an address space that waves have each for themselves."""
        count, size = rows.shape
        self.map_all(space, range(count), [address] * count, [size] * count, rows)

    def allocate(self, size: int, *, alignment: int = 256, above: int = 0x7F00_0000_0000) -> int:
        """Map zeros in global memory, above all mapped memory, and return their address."""
        address = -(-max(self.top, above) // alignment) * alignment
        self.map(self.target.default_space, address, bytearray(max(size, 1)))
        return address

    @property
    def top(self) -> int:
        """The address behind all mapped global memory."""
        lasts = self.store(self.target.default_space).lasts
        return lasts[-1] + 1 if lasts else 0

    def extents(self, space: AddressSpace) -> list[tuple[int, int, int]]:
        """Return the mapped memory of an address space that is no view, as (instance, address, size)."""
        store = self._stored(space.number)
        extents = []
        for start, last in zip(store.starts, store.lasts, strict=True):
            owner, address = divmod(start, SIZE) if space.scope in INSTANCED else (0, start)
            extents.append((owner, address, last - start + 1))
        return extents

    def range_around(self, space: AddressSpace, address: int) -> tuple[int, int] | None:
        """Return the address and the size of the extent of shared memory that an address is in."""
        store = self._stored(space.number)
        index = bisect_right(store.starts, address) - 1
        if index < 0 or address > store.lasts[index]:
            return None
        return store.starts[index], store.lasts[index] - store.starts[index] + 1

    def extents_of_owners(self, number: int) -> dict[int, list[tuple[int, int]]]:
        """Return the mapped memory of an address space as (address, size), by instance."""
        space = self.target.space(number)
        owned: dict[int, list[tuple[int, int]]] = {}
        for owner, address, size in [] if space is None else self.extents(space):
            owned.setdefault(owner, []).append((address, size))
        return owned

    def _no_instance(self, space: AddressSpace, wave: int) -> str:
        if not 0 <= wave < self._owner.wave_count:
            return f"there is no wave {wave}"
        return f"wave {wave} belongs to no known work-group, so its {space.name} memory is not known either"

    def _key(self, space: AddressSpace, address: int, size: int, wave: int | None) -> int:
        """Return the key of a range of an address space that is no view; raise an error if it cannot have one."""
        if address + size > 1 << space.address_bits:
            raise memory_unavailable(space, address, size, "they reach past the end of the address space")
        if space.scope not in INSTANCED:
            return address
        if wave is None:
            message = f"{space.name} memory belongs to a wave or a work-group, and there is no current thread"
            raise MissingContext("thread", message)
        instance = self.owner_of(space, int(wave))
        if instance == NOWHERE:
            raise memory_unavailable(space, address, size, self._no_instance(space, wave))
        return instance << INSTANCE_SHIFT | address

    # --- One access -----------------------------------------------------------------------------------------------

    def _ranges(
        self, space: AddressSpace, address: int, size: int, wave: int | None, lane: int | None
    ) -> list[tuple[Extents, int, int]]:
        """Return the storage of a range: (bytes, key, size), all of which are known."""
        ranges = []
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
            ranges.append((store, key, length))
            position += length
        return ranges

    def pieces(self, space: AddressSpace, address: int, size: int, lane: int | None) -> list[tuple[int, int, int]]:
        """Return the (space number, address, size) of the storage of a range; a view is translated."""
        if address + size > 1 << space.address_bits:
            raise self._unavailable(space, address, size, "they reach past the end of the address space")
        alias = self.own(space).alias
        if alias is None:
            return [(space.number, address, size)]
        return alias.pieces(address, size, lane, self.target.lane_count)

    def _unavailable(self, space: AddressSpace, address: int, size: int, why: str) -> DwarfGpuError:
        if address == space.null:
            why = "it is the null address"
        return memory_unavailable(space, address, size, why)

    def read(self, space: AddressSpace, address: int, size: int, wave: int | None, lane: int | None) -> bytes:
        if space.alias is None and space.scope not in INSTANCED and space.number in self.stores:
            data = self.stores[space.number].read(address, size)
            if data is not None:
                return data
        ranges = self._ranges(space, address, size, wave, lane)
        return b"".join([store.read(key, length) or b"" for store, key, length in ranges])

    def write(self, space: AddressSpace, address: int, data: bytes, wave: int | None, lane: int | None) -> None:
        position = 0
        self._owner.changes += 1
        for store, key, length in self._ranges(space, address, len(data), wave, lane):
            store.write(key, data[position : position + length])
            position += length

    def available(self, space: AddressSpace, address: int, wave: int | None, lane: int | None) -> int:
        """Return how many bytes from an address on are known."""
        alias = self.own(space).alias
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

    def _available_to_lane(self, space: AddressSpace, address: int, wave: int | None, lane: int | None) -> int:
        """Return how many bytes from an address on a lane has, counted in blocks of dwords."""
        import numpy as np

        count, size, step = 0, DWORD - address % DWORD, 1
        while True:
            starts = np.arange(step, dtype=np.uint64) * np.uint64(size) + np.uint64(address + count)
            known = self.known(space, starts, size, wave, lane, step)
            whole = int(known.argmin()) if not known.all() else step
            count += whole * size
            if whole < step:
                for part in range(size - 1, 0, -1):
                    if self.known(space, address + count, part, wave, lane, 1).all():
                        return count + part
                return count
            size, step = DWORD, min(step * 4, 1 << 14)

    def known(self, space: AddressSpace, addresses: Bits, size: int, waves: Any, lanes: Any, count: int) -> Array:
        """Return flags of the slots whose bytes are all known."""
        import numpy as np

        covered = np.zeros(count, dtype=np.int64)
        for place in self.places(space, addresses, size, waves, lanes, count) if size else []:
            has = place.among(self._stored(place.space).known(place.keys, place.size))
            covered[place.slots] += has * place.size
        whole: Any = covered == size
        return whole  # type: ignore[no-any-return]

    # --- Many accesses --------------------------------------------------------------------------------------------

    def gather(
        self, space: AddressSpace, addresses: Bits, size: int, waves: Any, lanes: Any, count: int
    ) -> tuple[Array, Array]:
        import numpy as np

        places = self.places(space, addresses, size, waves, lanes, count)
        if len(places) == 1 and places[0].size == size and isinstance(places[0].slots, slice):
            place = places[0]
            rows, has_bytes = self._stored(place.space).gather(place.keys, size)
            return rows, place.among(has_bytes)
        rows = np.zeros((count, size), dtype=np.uint8)
        known = np.zeros((count, size), dtype=bool)
        for place in places:
            columns = slice(place.first, place.first + place.size)
            data, has_bytes = self._stored(place.space).gather(place.keys, place.size)
            if isinstance(place.slots, slice):
                rows[:, columns] = data
                known[:, columns] = place.among(has_bytes)[:, None]
            else:
                rows[place.slots, columns] = data
                known[place.slots, columns] = place.among(has_bytes)[:, None]
        whole: Any = known.all(axis=1)
        return rows, whole

    def _stored(self, number: int) -> Extents:
        return self.stores.get(number) or Extents()

    # --- Addresses to storage -------------------------------------------------------------------------------------
    # Those of many slots in any address space become keys, in a few array operations. A single access uses the pieces
    # of the address space (`AddressSpace.alias`); this is the same arithmetic on arrays.

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
        if isinstance(space.alias, LaneView):
            if space.alias.fixed_lane is not None:
                lanes = space.alias.fixed_lane
            return self._lane_places(addresses, size, waves, lanes, count)
        if isinstance(space.alias, GenericView):
            space = self.own(space)
            return self._generic_places(space, addresses, size, waves, lanes, count)
        keys, inside = self._keys(space, addresses, size, waves, count)
        return [StoredBytes(space.number, keys, inside, size=size)]

    def _keys(
        self, space: AddressSpace, addresses: Any, size: int, waves: Any, count: int
    ) -> tuple[Array, Array | None]:
        """Return the keys of ranges of an address space that is no view, and flags of those that can be."""
        keys = _array(addresses, count)
        if space.scope not in INSTANCED:  # keys are addresses here, and known bytes are always inside
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
        for skip in range(DWORD):
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
        across = inner > np.uint64(SIZE - size)
        is_local = apertures.is_local(keys)
        is_private, lanes = apertures.is_private(keys), apertures.lane_of(keys, lanes)
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
        for room in np.unique(SIZE - inner[across].astype(np.int64)).tolist():
            slots = (across & (inner == np.uint64(SIZE - room))).nonzero()[0]
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
