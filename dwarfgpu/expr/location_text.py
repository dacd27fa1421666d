"""Results as text for people: one line for a value or a location."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.expr import locations
from dwarfgpu.expr.types import Value

if TYPE_CHECKING:
    from dwarfgpu.expr.location_json import Outcome, ReadBits

MAX_PARTS = 64
"""How many parts of a composite are shown before the rest is only counted; fewer of one inside another."""

MAX_BYTES = 64
"""How many bytes of an implicit value or of a reading are shown."""

MAX_ELEMENTS = 64
"""How many elements of a vector are shown."""

_DEEP = 4


class TextRenderer:
    """Writes results. ``byte_order`` is that of the target."""

    def __init__(self, byte_order: str) -> None:
        self.byte_order = byte_order

    # --- Entries --------------------------------------------------------------------------------------------------

    def entry(self, entry: locations.Entry) -> str:
        """Return a result or a stack entry on one line."""
        if isinstance(entry, Value):
            return f"value {self.number(entry)} ({entry.type})"
        if isinstance(entry, locations.Location):
            return "undefined (optimized out)" if locations.is_undefined(entry) else self.location(entry)
        if isinstance(entry, locations.IncompleteComposite):
            return f"incomplete {self._composite(entry.parts, 0)}"
        return f"{_pointer(entry.pointer)} (value)"

    def number(self, value: Value) -> str:
        """Return the number of a value; a vector is a list, and what has no number is shown as bytes."""
        from dwarfgpu.expr.location_json import elements_of

        kind = value.type
        if kind.vector_size is not None:
            shown = [self.number(element) for element in elements_of(value, self.byte_order)[:MAX_ELEMENTS]]
            rest = ["..."] if kind.vector_size > MAX_ELEMENTS else []
            return f"[{', '.join(shown + rest)}]"
        if kind.arithmetic is None or kind.bit_size > 8 * MAX_BYTES:
            return f"0x{value.bits:x}" if kind.bit_size <= 8 * MAX_BYTES else f"of {kind.bit_size} bits"
        return str(value.number())

    # --- Locations ------------------------------------------------------------------------------------------------

    def location(self, location: locations.Location, depth: int = 0) -> str:
        """Return a location on one line; several places are joined by ``and``."""
        return " and ".join(self._place(place, 0, depth) for place in location.places)

    def _place(self, place: locations.SingleLocation, displacement: int, depth: int) -> str:
        from dwarfgpu.expr.location_json import in_memory_order

        storage = place.storage
        offset = int(place.bit_offset) + displacement
        if isinstance(storage, locations.Memory):
            from dwarfgpu.expr.location_json import means_a_lane

            address, bit = divmod(offset, 8)
            lane = ""
            if storage.lane is not None and means_a_lane(storage, address):
                lane = f" (lane {int(storage.lane)})"
            return f"{storage.space.name}#{address:#x}{_bit(bit)}{lane}"
        if isinstance(storage, locations.Register):
            return _register(storage, offset)
        if isinstance(storage, locations.Implicit):
            data = in_memory_order(int(storage.data), storage.bit_size, self.byte_order)
            return f"implicit {_bytes(data)}{_bit(offset)}"
        if isinstance(storage, locations.Composite):
            return self._composite(storage.parts, depth) + _bit(offset)
        return _pointer(storage) + _bit(offset) if isinstance(storage, locations.ImplicitPointer) else "undefined"

    def _composite(self, parts: tuple[locations.Part, ...], depth: int) -> str:
        """Return parts in braces, each with its size; a run of parts is shown once, with a count."""
        if depth >= _DEEP:
            return f"{{{sum(part.count for part in parts)} parts}}"
        limit = MAX_PARTS >> 2 * depth
        shown = [self._part(part, depth) for part in parts[:limit]]
        if len(parts) > limit:
            shown.append(f"and {sum(part.count for part in parts[limit:])} more parts")
        return f"{{{', '.join(shown)}}}"

    def _part(self, part: locations.Part, depth: int) -> str:
        where = self.location(part.location, depth + 1)
        if part.is_contiguous or all(type(place.storage) is locations.Undefined for place in part.location.places):
            return f"{where}: {part.total} bits"
        every = f" every {part.stride} bits" if part.stride else ""
        return f"{where}: {part.count} times {part.bit_size} bits{every}"

    # --- Bytes that were read -------------------------------------------------------------------------------------

    def reading(self, reading: ReadBits) -> str:
        """Return bytes that were read, the bits that have no value, and the value if a type was asked for."""
        text = _bytes(reading.data())
        if reading.undefined:
            text += f" without a value: {_bytes(reading.undefined_mask())}"
        value = reading.value
        return text if value is None else f"{text} = {self.number(value)} ({value.type})"

    def outcome(self, outcome: Outcome) -> str:
        """Return the outcome of an evaluation on one line."""
        if outcome.error is not None or outcome.result is None:
            return "nothing" if outcome.error is None else str(outcome.error)
        text = self.entry(outcome.result)
        return text if outcome.reading is None else f"{text}: {self.reading(outcome.reading)}"


def _register(storage: locations.Register, offset: int) -> str:
    """Return a register; for a vector register also the lane that the bit belongs to."""
    register = storage.register
    text = f"{register.name}{_bit(offset)}"
    if storage.lane is not None:
        return f"{text} (lane {int(storage.lane)})"
    if register.lane_bits and offset:
        lane, bit = divmod(offset, register.lane_bits)
        return f"{text} ({register.name}[{lane}]{_bit(bit)})"
    return text


def _bit(offset: int) -> str:
    return f" bit {offset}" if offset else ""


def _pointer(pointer: locations.ImplicitPointer) -> str:
    sign = "+" if pointer.byte_offset >= 0 else "-"
    return f"implicit pointer to {pointer.die}{sign}{abs(pointer.byte_offset):#x} in {pointer.space.name}"


def _bytes(data: bytes) -> str:
    if len(data) <= MAX_BYTES:
        return data.hex() or "(no bytes)"
    return f"{data[:MAX_BYTES].hex()}... ({len(data)} bytes)"
