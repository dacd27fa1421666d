"""Reading and writing the bits that a location denotes.

Bits are read as a *stream*: a number whose bits are in storage order. On a little-endian target the first bit of the
stream is the least significant one of the number, on a big-endian target the most significant one, so that the number
is at once the value an integer of that size has. Reading is lazy, bit by bit exact, and gives a second number that
marks the bits without a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu import budget
from dwarfgpu.errors import DwarfGpuError, EvaluationError, IllFormed
from dwarfgpu.expr.locations import (
    Composite,
    Implicit,
    ImplicitPointer,
    Location,
    Memory,
    Register,
    SingleLocation,
    Undefined,
    may_hold_pointer,
    pointer_misuse,
)
from dwarfgpu.expr.pieces import pieces, shifted, sources
from dwarfgpu.immutable import field, immutable
from dwarfgpu.lanes import Diverge, LaneFault, refuse, run_in_parts, uniform, uniform_under
from dwarfgpu.machines.protocol import Backend, memory_unavailable, not_writable, register_unavailable

if TYPE_CHECKING:
    from dwarfgpu.bits import Array, Bits
    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.expr.locations import Storage
    from dwarfgpu.targets.target import TargetRegister


FREE_PARTS = 256
"""Reading so many parts of a composite costs nothing; the parts of a larger one are paid from the budget."""


@immutable
class Reading:
    """Bits that were read."""

    bits: Bits = field(eq=b.comparable)
    undefined: Bits = field(default=0, eq=b.comparable)
    """A bit is 1 where there is no value; the bit of `bits` is 0 then."""


@immutable
class Window:
    """The bits that each slot reads of one register, from offsets that differ from slot to slot."""

    storage: Register
    size: int
    skip: int
    """The number of bits of the first byte before them."""
    index: Array = field(eq=b.comparable)
    """For each slot the unit it reads, or else its bytes: ``[slot, byte]``."""
    unit: str | None
    """The type of a unit, as numpy writes it, where the slots read whole ones."""


@immutable
class Accessor:
    """Reads and writes the storage of a machine for a number of slots.

    >>> import dwarfgpu as dg
    >>> frame = dg.open("lane-pc.co").attach("variables.json")[0].frame(0)
    >>> dg.Accessor(frame.backend, "little").read(frame["even"].location(lane=4), 32).bits
    18
    """

    backend: Backend
    byte_order: ByteOrder
    count: int = 1
    max_bits: int = 1 << 24

    # --- Reading --------------------------------------------------------------------------------------------------

    def read(self, location: Location, bit_size: int) -> Reading:
        """Read from the position of a location on."""
        bits = self.read_plain(location, bit_size)
        if bits is not None:
            return Reading(bits)
        if len(location.places) != 1:
            return self._read_any(location, bit_size)
        place = location.places[0]
        storage = place.storage
        if type(storage) is Undefined:
            return Reading(0, (1 << bit_size) - 1)
        self._check_extent(place, bit_size)
        if type(storage) is Composite:
            start = uniform_offset(place.bit_offset)
            if start is not None:
                return self._concatenate(storage, start, bit_size)
            return self._read_by_run(storage, place.bit_offset, bit_size)  # type: ignore[arg-type]
        raise pointer_misuse("its bits cannot be read")

    def read_plain(self, location: Location, bit_size: int) -> Bits | None:
        """Read memory, a register or an implicit value, in which each bit has a value; of another location, None."""
        if bit_size > self.max_bits:
            message = f"reading {bit_size} bits at once is more than the limit of {self.max_bits}"
            raise EvaluationError("limit_exceeded", message, hint="read the object in pieces")
        places = location.places
        if len(places) != 1:
            return None
        place = places[0]
        storage: Any = place.storage
        offset = place.bit_offset
        kind = type(storage)
        if kind is Register:
            if type(offset) is not int or offset + bit_size > storage.register.bit_size:
                self._check_extent(place, bit_size)
            return self._read_register(storage, offset, bit_size)
        if kind is Memory:
            if type(offset) is not int or offset + bit_size > storage.bit_size:
                self._check_extent(place, bit_size)
            return self._read_memory(storage, offset, bit_size)
        if kind is Implicit:
            self._check_extent(place, bit_size)
            return self._slice(storage.data, storage.bit_size, offset, bit_size)
        return None

    def _read_any(self, location: Location, bit_size: int) -> Reading:
        """Read a location of several places: any may be used, and where they have a value it must be the same."""
        for place in location.places:  # no bit may exceed the storage of any place (A.2.5.4.3.4 (4))
            if type(place.storage) is not Undefined:
                self._check_extent(place, bit_size)
        result: Reading | None = None
        problem: Exception | None = None
        for place in location.places:
            try:
                reading = self.read(Location((place,)), bit_size)
            except EvaluationError as error:
                problem = problem or error
                continue
            except LaneFault as fault:
                rest = b.complement(fault.positions, self.count)
                if len(rest):  # some slots can use this place, the others look for another one
                    raise Diverge([fault.positions, rest]) from None
                problem = problem or fault
                continue
            result = reading if result is None else _merged(result, reading, bit_size)
        if result is None:
            raise problem or EvaluationError("undefined_read", "no place can be read", spec="A.2.5.3")
        return result

    def _check_extent(self, place: SingleLocation, bit_size: int, use: str = "read") -> None:
        """Check that all bits that are read or written are within the storage (A.2.5.4.3.4 (4))."""
        size = place.storage.bit_size
        offset = place.bit_offset
        if isinstance(offset, int):
            if offset + bit_size > size:
                raise _past_storage(place.storage, offset, bit_size, use)
            return
        if (offset.dtype != object and size - bit_size > b.MASK64) or b.all_inside(offset, size - bit_size):
            return
        beyond = offset > size - bit_size
        refuse(beyond, lambda slot: _past_storage(place.storage, int(b.select(offset, slot)), bit_size, use))

    def _slice(self, stream: Bits, stream_size: int, offset: Bits, size: int) -> Bits:
        if type(offset) is int and size == stream_size:
            return stream
        if stream_size > 64 and type(offset) is not int:  # the shifted number must not become an array of 64 bits
            offset = b.widened(offset)
            stream = b.array([stream] * self.count, stream_size) if type(stream) is int else stream
        count = offset if self.byte_order == "little" else stream_size - size - offset
        return b.resized(stream >> count, size)

    def _read_memory(self, storage: Memory, offset: Bits, size: int) -> Bits:
        wave: Any = storage.wave
        lane: Any = storage.lane
        if type(offset) is int and (wave is None or type(wave) is int) and (lane is None or type(lane) is int):
            first, last = offset >> 3, (offset + size + 7) >> 3
            data = self.backend.read_memory(storage.space, first, last - first, wave or 0, lane)
            stream = int.from_bytes(data, self.byte_order)
            return stream if size == (last - first) * 8 else self._slice(stream, (last - first) * 8, offset & 7, size)
        skip = uniform_under(offset, 7)
        addresses = offset >> 3
        length = (skip + size + 7) >> 3
        data_rows, known = self.backend.gather_memory(
            storage.space, addresses, length, storage.wave, storage.lane, self.count
        )
        if not known.all():
            raise LaneFault(b.positions_of(~known), lambda slot: self._memory_fault(storage, addresses, length, slot))
        return self._slice(self._stream(data_rows), length * 8, skip, size)

    def _read_register(self, storage: Register, offset: Bits, size: int) -> Bits:
        register = storage.register
        wave: Any = storage.wave
        lane: Any = storage.lane
        is_one = (type(wave) is int or wave is None) and (type(lane) is int or lane is None)
        if is_one:
            backend: Backend = self.backend
            data = backend.read_register(register, wave, lane)
            start = offset if type(offset) is int else uniform_offset(offset)
            if start is not None:
                first, last = start >> 3, (start + size + 7) >> 3
                if backend.has_gaps:
                    self._check_lanes(register, wave or 0, start, size)
                stream = int.from_bytes(data[first:last], self.byte_order)
                return (
                    stream if size == (last - first) * 8 else self._slice(stream, (last - first) * 8, start & 7, size)
                )
            if backend.has_gaps:
                self._check_each_lane(storage, offset, size)  # type: ignore[arg-type]
            return self._through(window_of(storage, offset, size, self.byte_order), data)  # type: ignore[arg-type]
        skip = uniform_under(offset, 7)
        length = (skip + size + 7) >> 3
        rows, known = self.backend.gather_register(register, offset >> 3, length, wave, lane, self.count)
        if not known.all():
            raise LaneFault(b.positions_of(~known), lambda slot: self._register_fault(storage, offset, size, slot))
        return self._slice(self._stream(rows), length * 8, skip, size)

    def _check_lanes(self, register: TargetRegister, wave: int, offset: int, size: int) -> None:
        """Refuse to read bits of lanes of a vector register that are not known, though others are."""
        unknown = self.backend.unknown_lanes(register, wave)
        width = register.lane_bits
        if unknown and width:
            for lane in range(offset // width, -(-(offset + size) // width)):
                if unknown >> lane & 1:
                    raise register_unavailable(register, lane=lane)

    def _check_each_lane(self, storage: Register, offsets: Array, size: int) -> None:
        """Check each slot, of which all read one register of one wave."""
        register, wave = storage.register, int(storage.wave or 0)
        unknown = self.backend.unknown_lanes(register, wave)
        width = register.lane_bits
        if not unknown or not width:
            return
        bad = []
        for slot, offset in enumerate(offsets.tolist()):
            lanes = (1 << -(-(offset + size) // width)) - (1 << offset // width)
            if unknown & lanes:
                bad.append(slot)
        if bad:
            raise LaneFault(b.array(bad, 64), lambda slot: self._register_fault(storage, offsets, size, slot))

    def _memory_fault(self, storage: Memory, addresses: Bits, size: int, slot: int) -> DwarfGpuError:
        """Return the error that a slot meets when it reads alone."""
        own_storage = storage.select(slot)
        wave: Any = own_storage.wave
        lane: Any = own_storage.lane
        address = int(b.select(addresses, slot))
        try:
            self.backend.read_memory(own_storage.space, address, size, wave or 0, lane)
        except DwarfGpuError as error:
            return error
        return memory_unavailable(own_storage.space, address, size)

    def _register_fault(self, storage: Register, offset: Bits, size: int, slot: int) -> DwarfGpuError:
        """Return the error that a slot meets when it reads alone."""
        own_storage = storage.select(slot)
        wave: Any = own_storage.wave
        lane: Any = own_storage.lane
        try:
            self.backend.read_register(own_storage.register, wave, lane)
            self._check_lanes(own_storage.register, wave or 0, int(b.select(offset, slot)), size)
        except DwarfGpuError as error:
            return error
        return register_unavailable(own_storage.register)

    def window(self, location: Location, bit_size: int) -> Window | None:
        """Return how to read the bits of all slots, if they are in one register of one wave; else None.

        It does not depend on the contents of the register, so it may be kept and read `through` repeatedly.
        """
        place = location.single
        if place is None or type(place.storage) is not Register or isinstance(place.bit_offset, int):
            return None
        storage = place.storage
        is_one = _is_one(storage.wave) and _is_one(storage.lane)
        if not is_one or bit_size > self.max_bits or self.backend.has_gaps:
            return None
        self._check_extent(place, bit_size)
        return window_of(storage, place.bit_offset, bit_size, self.byte_order)

    def through(self, window: Window) -> Reading:
        """Read the current contents of a window."""
        storage: Any = window.storage
        return Reading(self._through(window, self.backend.read_register(storage.register, storage.wave, storage.lane)))

    def _through(self, window: Window, data: bytes) -> Bits:
        import numpy as np

        if window.unit is not None:
            return np.frombuffer(data, window.unit).take(window.index).astype("u8")
        rows = np.frombuffer(data, np.uint8)[window.index]
        return self._slice(self._stream(rows), rows.shape[1] * 8, window.skip, window.size)

    def _stream(self, rows: Array) -> Bits:
        """Return rows of bytes as numbers in the byte order of the target."""
        import numpy as np

        length = rows.shape[1]
        if length > 8:
            return b.array([int.from_bytes(row.tobytes(), self.byte_order) for row in rows], length * 8)
        if length in (1, 2, 4, 8):
            order = "<" if self.byte_order == "little" else ">"
            return np.ascontiguousarray(rows).view(f"{order}u{length}").reshape(-1).astype("u8")
        padded = np.zeros((len(rows), 8), dtype=np.uint8)
        if self.byte_order == "little":
            padded[:, :length] = rows
            return padded.view("<u8").reshape(-1).astype("u8")
        padded[:, 8 - length :] = rows
        return padded.view(">u8").reshape(-1).astype("u8")

    def _concatenate(self, storage: Composite, offset: int, size: int) -> Reading:
        """Read part after part from one offset."""
        if size > FREE_PARTS:
            budget.check()
        stretches = pieces(storage, offset, size)
        if len(stretches) > FREE_PARTS:
            budget.spend(8 * len(stretches))
        readings = []
        for location, piece_offset, length in stretches:
            reading = self.read(shifted(location, piece_offset), length)
            if length == size:
                return reading
            readings.append((reading, length))
        if not readings:
            return Reading(0)
        while len(readings) > 1:  # neighbours are joined pair by pair: joining one to all before it would be quadratic
            joined = [self._join(*pair) for pair in zip(readings[::2], readings[1::2], strict=False)]
            readings = joined + readings[len(joined) * 2 :]
        return readings[0][0]

    def _join(self, first: tuple[Reading, int], second: tuple[Reading, int]) -> tuple[Reading, int]:
        """Join two stretches of bits, the second after the first."""
        size = first[1] + second[1]
        (low, low_size), (high, _) = (first, second) if self.byte_order == "little" else (second, first)
        bits = b.resized(low.bits, size) | b.shl(b.resized(high.bits, size), low_size, size)
        undefined = b.resized(low.undefined, size) | b.shl(b.resized(high.undefined, size), low_size, size)
        return Reading(bits, undefined), size

    def _read_by_run(self, storage: Composite, offset: Array, size: int) -> Reading:
        """Read from an offset that differs from slot to slot: the slots are grouped by where they fall."""
        ends = []
        end = 0
        for part in storage.parts:
            end += part.total
            ends.append(end)
        run = b.ranks(ends, offset)
        result = Reading(b.array([0] * self.count, size), b.array([0] * self.count, size))
        for positions in b.groups(run):
            index = int(run[positions[0]])
            part = storage.parts[index]
            start = ends[index] - part.total
            own = offset[positions]
            if part.is_contiguous and bool((own + size <= ends[index]).all()):
                location = shifted(part.location.select(positions), own - start)
                self._read_slots(result, positions, location, size)
                continue
            for same in b.groups(own):
                chosen = positions[same]
                narrow = SingleLocation(storage.select(chosen), int(own[same[0]]))
                self._read_slots(result, chosen, Location((narrow,)), size)
        undefined: Any = result.undefined
        return result if undefined.any() else Reading(result.bits)

    def _read_slots(self, result: Reading, positions: Array, location: Location, size: int) -> None:
        """Read for some of the slots only; the errors of some of these are raised for the whole set."""

        def read(part: tuple[Array, Location]) -> Reading:
            return Accessor(self.backend, self.byte_order, len(part[0]), self.max_bits).read(part[1], size)

        groups = run_in_parts(
            len(positions), (positions, location), read, lambda part, inner: (part[0][inner], part[1].select(inner))
        )
        for group in groups:
            chosen = positions if group.positions is None else positions[group.positions]
            if group.result is None:
                index = {int(position): number for number, position in enumerate(chosen)}
                raise LaneFault(chosen, lambda i, group=group, index=index: group.outcome(index[i]))  # type: ignore[misc]
            result.bits[chosen], result.undefined[chosen] = group.result.bits, group.result.undefined  # type: ignore[index]

    # --- Implicit pointers ----------------------------------------------------------------------------------------

    def pointer_at(self, location: Location, bit_size: int) -> ImplicitPointer | None:
        """Return the implicit pointer whose complete contents a read would retrieve, or None if it would touch none.

        Retrieving bits of one in any other way is an error (A.2.5.4.4.5 (3)).
        """
        if not may_hold_pointer(location):
            return None
        place = location.places[0]
        self._check_extent(place, bit_size)
        pointer: ImplicitPointer | None = None
        position = 0
        others = False
        for source, offset, length in sources(place, uniform(place.bit_offset), bit_size):
            if type(source) is not ImplicitPointer:
                others = True
                continue
            if (pointer is not None and source != pointer) or offset != position:
                raise pointer_misuse("only its complete contents can be retrieved, in order")
            pointer = source
            position += length
        if pointer is not None and (others or position != pointer.bit_size):
            raise pointer_misuse("only its complete contents can be retrieved, in order")
        return pointer

    # --- Writing --------------------------------------------------------------------------------------------------

    def write(self, location: Location, bit_size: int, bits: int) -> None:
        """Write one value to every place of a location; what lies beside it keeps its bits.

        All is checked before anything is written, so a write happens as a whole or not at all.
        """
        targets = [target for place in location.places for target in self._targets(place, bit_size, 0)]
        for storage, offset, length, position in targets:
            self._store(storage, offset, length, self._slice(bits, bit_size, position, length), dry=True)
        for storage, offset, length, position in targets:
            self._store(storage, offset, length, self._slice(bits, bit_size, position, length), dry=False)

    def _targets(self, place: SingleLocation, bit_size: int, position: int) -> list[tuple[Any, int, int, int]]:
        """Return the targets of a write: storage, bit offset in it, size, and position in the value."""
        storage = place.storage
        self._check_extent(place, bit_size, "write")
        offset = uniform(place.bit_offset)
        if type(storage) is not Composite:
            if type(storage) not in (Memory, Register):
                name = {Undefined: "undefined", Implicit: "implicit"}.get(type(storage), "implicit pointer")
                raise not_writable(f"{name} location storage")
            return [(storage, offset, bit_size, position)]
        targets = []
        for location, piece_offset, length in pieces(storage, offset, bit_size):
            for inner in shifted(location, piece_offset).places:
                targets.extend(self._targets(inner, length, position))
            position += length
        return targets

    def _store(self, storage: Memory | Register, offset: int, size: int, bits: Any, *, dry: bool) -> None:
        if size == 0:
            return
        first, last = offset >> 3, (offset + size + 7) >> 3
        wave: Any = storage.wave
        lane: Any = storage.lane
        if type(storage) is Memory:
            old = self.backend.read_memory(storage.space, first, last - first, wave or 0, lane)
            if not dry:
                data = self._spliced(old, offset & 7, size, bits)
                self.backend.write_memory(storage.space, first, data, wave or 0, lane)
            return
        register = storage.register  # type: ignore[union-attr]
        # of a register that is written as a whole nothing is kept, so what it holds need not be known
        known = size != register.bit_size
        whole = self.backend.read_register(register, wave, lane) if known else bytes((size + 7) >> 3)
        if not dry:
            data = self._spliced(whole[first:last], offset & 7, size, bits)
            unknown = self.backend.unknown_lanes(register, wave or 0)
            self.backend.write_register(register, whole[:first] + data + whole[last:], wave, lane)
            if unknown:
                width = register.lane_bits
                written = (1 << (offset + size) // width) - (1 << -(-offset // width))
                self.backend.set_unknown_lanes(register, wave or 0, unknown & ~written)

    def _spliced(self, old: bytes, skip: int, size: int, bits: int) -> bytes:
        total = len(old) * 8
        shift = skip if self.byte_order == "little" else total - skip - size
        mask = ((1 << size) - 1) << shift
        stream = int.from_bytes(old, self.byte_order) & ~mask | bits << shift
        return stream.to_bytes(len(old), self.byte_order)


def window_of(storage: Register, offset: Array, size: int, byte_order: ByteOrder) -> Window:
    """Return the window of some bits from offsets on that are inside a register."""
    import numpy as np

    if size in (8, 16, 32, 64) and storage.bit_size % size == 0 and not b.set_in_any(offset) & (size - 1):
        index = (offset >> (size.bit_length() - 1)).astype(np.intp)
        return Window(storage, size, 0, index, f"{'<' if byte_order == 'little' else '>'}u{size >> 3}")
    skip = uniform_under(offset, 7)
    length = (skip + size + 7) >> 3
    starts = (offset >> 3).astype(np.intp)
    return Window(storage, size, skip, starts[:, None] + np.arange(length), None)


def _is_one(owner: Any) -> bool:
    """Return whether a wave or a lane is the same for all slots, or not specified."""
    return owner is None or type(owner) is int


def uniform_offset(offset: Bits) -> int | None:
    """Return the offset that all slots share, or None if they differ."""
    if isinstance(offset, int):
        return offset
    first = offset[0]
    return int(first) if first == offset[-1] and b.all_of(offset == first) else None


def _merged(left: Reading, right: Reading, bit_size: int) -> Reading:
    """Merge two readings of an object, which must agree on the bits that both have."""
    mask = (1 << bit_size) - 1
    both = (left.undefined | right.undefined) ^ mask
    message = "the places of a location hold different values"
    refuse(((left.bits ^ right.bits) & both) != 0, lambda _i: IllFormed("bad_operand", message, spec="A.2.5.3"))
    return Reading(left.bits | right.bits, left.undefined & right.undefined)


def _past_storage(storage: Storage, offset: int, bit_size: int, use: str) -> EvaluationError:
    name = storage.register.name if isinstance(storage, Register) else "the storage"
    what = f"the {use} of {bit_size} bits at bit offset {offset}"
    message = f"{what} goes past the end of {name}, which has {storage.bit_size} bits"
    return EvaluationError("read_past_storage", message, spec="A.2.5.4.3.4 (4)")
