"""Values, locations, readings and errors as JSON: the inverse of `json_types`, with exactly the keys that it reads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.errors import DwarfGpuError, EvaluationError, Unsupported
from dwarfgpu.expr import locations
from dwarfgpu.expr.types import Value
from dwarfgpu.immutable import frozen
from dwarfgpu.targets.target import Scope

if TYPE_CHECKING:
    from dwarfgpu.expr.types import BaseType

    Json = dict[str, Any]

MAX_LOCATIONS = 1 << 20
"""How many locations one answer may hold: parts of parts of parts could make it endless."""

PRICE, PRICE_AGAIN = 8, 2
"""What a location costs, and what one costs that has been written before: it is only repeated in the output."""

MAX_NUMBER_BITS = 14_000
"""Wider numbers are not written as one: Python and many readers of JSON refuse more than 4300 digits."""


@frozen
class ReadBits:
    """Bits that were read from a location."""

    bit_size: int
    byte_order: str
    bits: int
    """A number whose bits are in storage order, as in `expr.access`."""
    undefined: int = 0
    """The bits that have no value."""
    type: BaseType | None = None

    @property
    def value(self) -> Value | None:
        """The value, where a type was asked for and every bit is known."""
        return None if self.type is None or self.undefined else Value(self.type, self.bits)

    def data(self) -> bytes:
        """Return the bytes, in memory order; the unused bits of the last one are 0."""
        return in_memory_order(self.bits, self.bit_size, self.byte_order)

    def undefined_mask(self) -> bytes:
        """Return the bits without a value, in the form of `data`."""
        return in_memory_order(self.undefined, self.bit_size, self.byte_order)


@frozen
class Outcome:
    """The outcome for one lane, or without lanes: an error, or a result and what was asked about it."""

    error: DwarfGpuError | None = None
    result: locations.Entry | None = None
    stack: tuple[locations.Entry, ...] = ()
    """All entries at the end, bottom first."""
    reading: ReadBits | None = None


def in_memory_order(bits: int, bit_size: int, byte_order: str) -> bytes:
    """Return the bytes of a stream of bits; what is missing in the last one is 0."""
    size = -(-bit_size // 8)
    if byte_order == "little":
        return bits.to_bytes(size, "little")
    return (bits << (8 * size - bit_size)).to_bytes(size, "big")


class JsonWriter:
    """Writes the results of one answer. ``byte_order`` is that of the target."""

    def __init__(self, byte_order: str) -> None:
        self.byte_order = byte_order
        self._left = MAX_LOCATIONS
        self._written: dict[int, tuple[tuple[locations.Part, ...], list[Json], int]] = {}
        """The parts that are written, with how many locations they are; lanes and entries share them."""

    @property
    def count(self) -> int:
        """How many locations have been written so far."""
        return MAX_LOCATIONS - self._left

    def _pay(self, count: int, price: int) -> None:
        """Pay for locations."""
        self._left -= count
        if self._left < 0:
            message = f"the result has more than {MAX_LOCATIONS} locations, too many to write down"
            raise EvaluationError("limit_exceeded", message)
        budget.spend(price * count)

    # --- Entries --------------------------------------------------------------------------------------------------

    def entry(self, entry: locations.Entry) -> Json:
        """Return a result or a stack entry as JSON."""
        if isinstance(entry, Value):
            return {"kind": "value", "type": type_json(entry.type), "value": number_json(entry, self.byte_order)}
        if isinstance(entry, locations.Location):
            return self.location(entry)
        if isinstance(entry, locations.IncompleteComposite):
            return {"kind": "composite", "bit_offset": 0, "parts": self._parts(entry.parts)}
        return _pointer(entry.pointer)

    # --- Locations ------------------------------------------------------------------------------------------------

    def location(self, location: locations.Location) -> Json:
        single = location.single
        if single is not None:
            return self._place(single, 0)
        return {"kind": "multiple", "places": [self._place(place, 0) for place in location.places]}

    def _place(self, place: locations.SingleLocation, displacement: int) -> Json:
        """Return a place, moved by some bits within its storage, as JSON."""
        self._pay(1, PRICE)
        storage = place.storage
        offset = int(place.bit_offset) + displacement
        if isinstance(storage, locations.Memory):
            return _memory(storage, offset)
        if isinstance(storage, locations.Register):
            register = storage.register
            return {"kind": "register", "register": register.number, "name": register.name, "bit_offset": offset}
        if isinstance(storage, locations.Implicit):
            data = in_memory_order(int(storage.data), storage.bit_size, self.byte_order)
            return {"kind": "implicit", "bytes": data.hex(), "bit_offset": offset}
        if isinstance(storage, locations.Composite):
            return {"kind": "composite", "bit_offset": offset, "parts": self._parts(storage.parts)}
        if isinstance(storage, locations.ImplicitPointer):
            return _pointer(storage, offset)
        return {"kind": "undefined"}

    def _parts(self, parts: tuple[locations.Part, ...]) -> list[Json]:
        """Return the parts of a composite; a run of parts is taken apart."""
        known = self._written.get(id(parts))
        if known is not None:
            self._pay(known[2], PRICE_AGAIN)
            return known[1]
        before = self.count
        written: list[Json] = []
        for part in parts:
            different = part.count if part.stride else min(part.count, 1)
            start = self.count
            written += [
                {"bit_size": part.bit_size, "location": self._moved(part.location, index * part.stride)}
                for index in range(different)
            ]
            if different < part.count:
                self._pay((self.count - start) * (part.count - 1), PRICE_AGAIN)
                written += written[-1:] * (part.count - 1)
        self._written[id(parts)] = parts, written, self.count - before
        return written

    def _moved(self, location: locations.Location, displacement: int) -> Json:
        if not displacement:
            return self.location(location)
        places = [
            self._place(place, 0 if type(place.storage) is locations.Undefined else displacement)
            for place in location.places
        ]
        return places[0] if len(places) == 1 else {"kind": "multiple", "places": places}

    # --- Bytes that were read -------------------------------------------------------------------------------------

    def reading(self, reading: ReadBits) -> Json:
        """Return bytes that were read, a mask of the bits without a value, and the value if a type was asked for."""
        result: Json = {"bytes": reading.data().hex()}
        if reading.undefined:
            result["undefined"] = reading.undefined_mask().hex()
        if reading.type is not None:
            value = reading.value
            result["value"] = None if value is None else number_json(value, self.byte_order)
        return result


def _memory(storage: locations.Memory, offset: int) -> Json:
    space = storage.space
    address, bit = divmod(offset, 8)
    result: Json = {"kind": "memory", "space": space.number, "space_name": space.name, "address": address, "bit": bit}
    if storage.lane is not None and means_a_lane(storage, address):
        result["lane"] = int(storage.lane)
    return result


def means_a_lane(storage: locations.Memory, address: int) -> bool:
    """Return whether an address means memory that each lane has for itself."""
    space = storage.space
    if space.scope != Scope.DEPENDS or space.alias is None:
        return space.scope == Scope.LANE
    try:
        return space.alias.scope(address) == Scope.LANE
    except DwarfGpuError:  # what it means is not known
        return False


def _pointer(pointer: locations.ImplicitPointer, bit_offset: int = 0) -> Json:
    """Return an implicit pointer; ``bit_offset`` is that of a location in its own storage."""
    result: Json = {
        "kind": "implicit_pointer",
        "die": str(pointer.die),
        "byte_offset": pointer.byte_offset,
        "space": pointer.space.number,
    }
    return {**result, "bit_offset": bit_offset} if bit_offset else result


# --- Types and numbers --------------------------------------------------------------------------------------------


def type_json(kind: BaseType) -> str | Json:
    """Return a type: ``"generic"``, or an object with encoding and size (for a vector those of one element)."""
    if kind.is_generic:
        return "generic"
    element = kind.element
    result: Json = {"encoding": kind.encoding, "byte_size": element.byte_size}
    if element.bit_size != 8 * element.byte_size:
        result["bit_size"] = element.bit_size
    if kind.vector_size is not None:
        result["vector_size"] = kind.vector_size
    return result


def number_json(value: Value, byte_order: str) -> Any:
    """Return the number of a value: an int, a float, ``nan``, ``inf``, or a list of the numbers of a vector."""
    kind = value.type
    if kind.vector_size is not None:
        return [number_json(element, byte_order) for element in elements_of(value, byte_order)]
    if kind.encoding in ("float", "bfloat16"):
        if kind.arithmetic is None:
            message = f"the value of a float of {kind.bit_size} bits cannot be written as a number"
            raise Unsupported("float_format", message, hint="read it as bytes")
        number = float(value.number())
        if math.isnan(number):
            return "nan"
        return number if math.isfinite(number) else "inf" if number > 0 else "-inf"
    if kind.bit_size > MAX_NUMBER_BITS:
        message = f"a number of {kind.bit_size} bits is too wide to be written down"
        raise EvaluationError("limit_exceeded", message, hint="read it as bytes")
    return int(value.number())


def elements_of(value: Value, byte_order: str) -> list[Value]:
    """Return the elements of a vector, in the order in which memory holds them (A.5.1)."""
    kind = value.type
    element = kind.element
    count = kind.vector_size or 1
    size = element.bit_size  # 8 elements have as many bytes
    data = int(value.bits).to_bytes(-(-count // 8) * size, "little")
    patterns: list[int] = []
    for start in range(0, len(data), size):
        eight = int.from_bytes(data[start : start + size], "little")
        patterns.extend(eight >> shift & element.mask for shift in range(0, 8 * size, size))
    del patterns[count:]
    if (kind.byte_order or byte_order) == "big":  # the first element is the most significant
        patterns.reverse()
    return [Value(element, bits) for bits in patterns]


# --- Errors -------------------------------------------------------------------------------------------------------


def error_json(error: DwarfGpuError) -> Json:
    """Return an error: its class and kind, its message, and its position if that is known."""
    result: Json = {"class": error.error_class, "kind": error.kind, "message": error.message}
    if error.where.offset is not None:
        result["offset"] = error.where.offset
    if error.where.operation is not None:
        result["operation"] = error.where.operation
    if error.spec is not None:
        result["spec"] = error.spec
    return result
