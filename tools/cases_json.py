"""Types, values and locations as JSON, read into what the evaluator works with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from dwarfgpu.errors import IllFormed
from dwarfgpu.expr import locations, types
from dwarfgpu.expr.arithmetic import Floats
from dwarfgpu.expr.context import DieReference, Limits
from dwarfgpu.expr.locations import (
    Implicit,
    ImplicitPointer,
    Location,
    Memory,
    Part,
    Register,
    SingleLocation,
    Undefined,
)
from dwarfgpu.expr.types import BaseType, Value
from dwarfgpu.strict_json import MAX_INTEGER_BITS, Node, parse_integer
from dwarfgpu.targets.target import Scope

if TYPE_CHECKING:
    from dwarfgpu.expr.context import UnitInfo
    from dwarfgpu.expr.locations import Entry, Storage
    from dwarfgpu.machines.described import DescribedMachine
    from dwarfgpu.targets.target import AddressSpace, Target, TargetRegister

    K = TypeVar("K")

# --- Types --------------------------------------------------------------------------------------------------------


def type_of(node: Node, target: Target) -> Callable[[], BaseType]:
    """Read a type; return what makes it, or raises the error of an ill-formed one, which concerns only its users."""
    if type(node.value) is str:
        if node.value != "generic":
            raise node.fail(f"{node.value!r} is not a type", hint='write "generic", or an object with `encoding`')
        return partial(types.generic, target.address_size)
    fields = node.fields(("encoding", "byte_size"), ("bit_size", "vector_size"))
    encoding, byte_size = fields["encoding"].choice(types.ENCODINGS), fields["byte_size"].unsigned(32)
    bits = fields["bit_size"].unsigned(32) if "bit_size" in fields else 8 * byte_size
    vector_size = fields["vector_size"].unsigned(32) if "vector_size" in fields else None
    return partial(_base_type, encoding, byte_size, bits, vector_size)


def _base_type(encoding: str, byte_size: int, bits: int, vector_size: int | None) -> BaseType:
    if bits > 8 * byte_size:
        message = f"a base type of {bits} bits does not fit its {byte_size} bytes"
        raise IllFormed("bad_type", message, spec="DWARF 5, 5.1")
    if not 0 < bits <= MAX_INTEGER_BITS or bits * (vector_size or 1) > types.MAX_BIT_SIZE:
        count = "" if vector_size is None else f", {vector_size} times"
        message = f"a base type of {bits} bits{count} is too small or too large"
        hint = f"1 to {MAX_INTEGER_BITS} bits, and {types.MAX_BIT_SIZE} bits in all, are possible"
        raise IllFormed("bad_type", message, spec="DWARF 5, 5.1", hint=hint)
    return BaseType(encoding, bits, vector_size=vector_size)


# --- Values -------------------------------------------------------------------------------------------------------

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def bits_of(node: Node, kind: BaseType, target: Target) -> int:
    """Return the bit pattern of a value: an integer, a float, or a list with one of them for each element."""
    if kind.vector_size is None:
        if isinstance(kind.arithmetic, Floats):
            return _float_bits(node, kind.arithmetic)
        return node.pattern(kind.bit_size)
    items = node.items()
    if len(items) != kind.vector_size:
        raise node.fail(f"the type {kind} has {kind.vector_size} elements, not {len(items)}")
    element = kind.element
    patterns = [bits_of(item, element, target) for item in items]
    if (kind.byte_order or target.byte_order) == "big":  # the first element is the most significant
        patterns.reverse()
    bits = 0
    for pattern in reversed(patterns):
        bits = bits << element.bit_size | pattern
    return bits


def _float_bits(node: Node, arithmetic: Floats) -> int:
    value = node.value
    if type(value) is float and math.isfinite(value):
        return int(arithmetic.layout.encode(value))
    if type(value) is str and value in _NOT_FINITE:
        return int(arithmetic.layout.encode(_NOT_FINITE[value]))
    if type(value) is float:
        raise node.fail("the number is too large for a float", hint='infinity is "inf"')
    return int(arithmetic.layout.encode(node.integer()))


# --- Locations ----------------------------------------------------------------------------------------------------

LOCATION_KINDS = ("memory", "register", "implicit", "implicit_pointer", "undefined", "composite", "multiple")


class JsonLocations:
    """Reads locations of a machine. Whose storage one means stays open where it does not say (`binding.bound`)."""

    def __init__(self, machine: DescribedMachine, unit: UnitInfo) -> None:
        self.machine = machine
        self.target = machine.target
        self.unit = unit

    def location_or_address(self, node: Node) -> Location:
        """Read a location, or an address in the default address space."""
        if node.is_object:
            return self.location(node)
        space = self.target.default_space
        return locations.at(Memory(space), 8 * node.unsigned(space.address_bits))

    def entry(self, node: Node) -> Entry:
        """Read a stack entry: an integer of the generic type, a value with its type, or a location."""
        if not node.is_object:
            generic = types.generic(self.target.address_size)
            return Value(generic, node.pattern(generic.bit_size))
        if "value" in node.value or "type" in node.value:
            fields = node.fields(("value", "type"), ("kind",))
            if "kind" in fields:
                fields["kind"].choice(("value",))
            kind = type_of(fields["type"], self.target)()
            return Value(kind, bits_of(fields["value"], kind, self.target))
        return self.location(node)

    def location(self, node: Node) -> Location:
        """Read a location of any kind."""
        kind = node.value.get("kind") if node.is_object else None
        if kind is None:
            node.fields(("kind",), (*node.value,) if node.is_object else ())
        kind = Node(kind, f"{node.path}.kind").choice(LOCATION_KINDS)
        location: Location = getattr(self, f"_{kind}")(node)
        return location

    def _undefined(self, node: Node) -> Location:
        node.fields(("kind",))
        return locations.UNDEFINED

    def _multiple(self, node: Node) -> Location:
        fields = node.fields(("kind", "places"))
        places: list[SingleLocation] = []
        for item in fields["places"].items():
            location = self.location(item)
            if location.single is None:
                raise item.fail("a place cannot have several places itself")
            places.append(location.single)
        if not places:
            raise fields["places"].fail("a location has at least one place")
        return Location(tuple(places))

    def _placed(self, storage: Storage, node: Node | None) -> Location:
        """Return a position in a storage, at the bit offset in a JSON value."""
        offset = 0 if node is None else node.unsigned(80)
        if node is not None and offset and offset >= storage.bit_size:
            raise node.fail(f"{offset} is outside the storage of {storage.bit_size} bits")
        return locations.at(storage, offset)

    def space(self, fields: dict[str, Node]) -> AddressSpace:
        """Return the address space in ``space`` and ``space_name``; the default one without either."""
        spaces = [space_of(fields[key], self.target) for key in ("space", "space_name") if key in fields]
        if len(spaces) == 2 and spaces[0].number != spaces[1].number:
            raise fields["space_name"].fail(f"the address space {spaces[0].number} is called {spaces[0].name}")
        return spaces[0] if spaces else self.target.default_space

    def _memory(self, node: Node) -> Location:
        fields = node.fields(("kind", "address"), ("space", "space_name", "bit", "lane"))
        space = self.space(fields)
        address = fields["address"].unsigned(space.address_bits)
        bit = fields["bit"].unsigned(3) if "bit" in fields else 0
        wave = None if space.scope in (Scope.PROCESS, Scope.AGENT) else 0
        lane = lane_of(fields["lane"], space) if "lane" in fields else None
        return locations.at(Memory(space, wave, lane), 8 * address + bit)

    def register(self, fields: dict[str, Node]) -> TargetRegister:
        """Return the register in ``register`` and ``name``."""
        registers = [register_of(fields[key], self.machine) for key in ("register", "name") if key in fields]
        if len(registers) == 2 and registers[0].number != registers[1].number:
            raise fields["name"].fail(f"register {registers[0].number} is called {registers[0].name}")
        return registers[0]

    def _register(self, node: Node) -> Location:
        fields = node.fields(("kind",), ("register", "name", "bit_offset"))
        if "register" not in fields and "name" not in fields:
            raise node.fail("the key 'register' is missing")
        return self._placed(Register(self.register(fields)), fields.get("bit_offset"))

    def _implicit(self, node: Node) -> Location:
        fields = node.fields(("kind", "bytes"), ("bit_offset",))
        data = fields["bytes"].bytes()
        number = int.from_bytes(data, "little" if self.target.byte_order == "little" else "big")
        return self._placed(Implicit(number, 8 * len(data)), fields.get("bit_offset"))

    def _implicit_pointer(self, node: Node) -> Location:
        fields = node.fields(("kind", "die"), ("byte_offset", "space", "space_name", "bit_offset"))
        space = self.space(fields)
        displacement = fields["byte_offset"].signed(64) if "byte_offset" in fields else 0
        pointer = ImplicitPointer(die_reference(fields["die"]), displacement, space, self.unit, space.address_bits)
        return self._placed(pointer, fields.get("bit_offset"))

    def _composite(self, node: Node) -> Location:
        fields = node.fields(("kind", "parts"), ("bit_offset",))
        parts = []
        for item in fields["parts"].items():
            part = item.fields(("bit_size", "location"))
            size = part["bit_size"].unsigned(80)
            location = self.location(part["location"])
            for place in location.places:
                if type(place.storage) is not Undefined and locations.remaining(place) < size:
                    raise part["bit_size"].fail(f"the storage has {locations.remaining(place)} bits left, not {size}")
            parts.append(Part(location, size))
        storage = locations.extended(locations.EMPTY, tuple(parts))
        limits = Limits()
        if storage.bit_size > self.target.max_storage_bits():
            raise node.fail(f"{storage.bit_size} bits are more than the largest address space has")
        if storage.count > limits.composite_parts or storage.depth > limits.composite_depth:
            raise node.fail(
                f"at most {limits.composite_parts} parts and a depth of {limits.composite_depth} are possible"
            )
        return self._placed(storage, fields.get("bit_offset"))


# --- Tables, names and numbers ------------------------------------------------------------------------------------


def table(node: Node | None, read: Callable[[Node], K], name: Callable[[K], str]) -> Iterator[tuple[K, Node]]:
    """Yield the values of an object, each with what its key means; two keys may not mean the same."""
    seen: set[K] = set()
    for key, value in () if node is None else node.entries():
        meant = read(key)
        if meant in seen:
            raise key.fail(f"{name(meant)} is given twice")
        seen.add(meant)
        yield meant, value


def space_of(node: Node, target: Target) -> AddressSpace:
    """Return an address space by number or name."""
    if type(node.value) is str and parse_integer(node.value) is None:
        address_space = target.space_named(node.value)
    else:
        address_space = target.space(node.unsigned())
    if address_space is None:
        names = [f"{space.number} {space.name}" for space in target.spaces() if space.number < 0x20]
        raise node.fail(f"{target.name} has no such address space", hint=f"it has {', '.join(names)}")
    return address_space


def register_of(node: Node, machine: DescribedMachine) -> TargetRegister:
    """Return a register by number or name."""
    target = machine.target
    if type(node.value) is str and parse_integer(node.value) is None:
        named = target.register_named(node.value)
        register = None if named is None else machine.register(named.number)
    else:
        register = machine.register(node.unsigned())
    if register is None:
        raise node.fail(f"{target.name} has no such register")
    return register


def lane_of(node: Node, space: AddressSpace) -> int:
    """Read the lane that an address belongs to, in an address space where each lane has its own memory."""
    if space.scope not in (Scope.LANE, Scope.DEPENDS):
        raise node.fail(f"no lane has memory of its own in the address space {space.name}")
    return node.unsigned(32)


def die_reference(node: Node) -> DieReference:
    """Read a reference to a debugging information entry: ``unit:<offset>`` or ``info:<offset>``."""
    base, colon, digits = node.string().partition(":")
    offset = parse_integer(digits) if colon else None
    if base not in ("unit", "info") or offset is None:
        raise node.fail("this is not `unit:<offset>` or `info:<offset>`")
    return DieReference("unit" if base == "unit" else "info", Node(offset, node.path).unsigned())
