"""Kinds of stack entries, and the implicit conversions between them (A.2.5.4.4.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, EvaluationError, IllFormed, shown
from dwarfgpu.expr import locations
from dwarfgpu.expr.locations import (
    UNDEFINED,
    Composite,
    Entry,
    Implicit,
    ImplicitPointer,
    IncompleteComposite,
    Location,
    Memory,
    Part,
    Register,
    SingleLocation,
    Undefined,
    pointer_misuse,
)
from dwarfgpu.expr.types import ImplicitPointerValue, Value
from dwarfgpu.lanes import LaneFault, uniform_flag

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits
    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.expr.evaluation import Evaluation, Result
    from dwarfgpu.expr.instruction import Step
    from dwarfgpu.expr.rules import Rules


def coerce(ev: Evaluation, entry: Entry, kind: str, step: Step) -> Any:
    """Convert an entry to the kind that an operation needs, or raise the error that it cannot be converted."""
    if type(entry) is Value and kind == "location" and entry.type.is_generic:  # the usual conversion
        return memory(ev, entry.bits)
    if type(entry) is IncompleteComposite:
        message = f"{step.instruction.name} cannot use a composite before it is complete"
        raise IllFormed("incomplete_composite", message, spec="A.2.5.4.4.6", hint="end it with DW_OP_LLVM_piece_end")
    if kind == "any":
        return entry
    if kind == "location":
        location = to_location(ev, entry)
        if location is None:
            _wrong_kind(ev, "a location description", entry, step)
        return location
    value = to_value(ev, entry)
    if value is None:
        _wrong_kind(ev, "a value", entry, step)
    return value


def check_integral(step: Step, entries: Sequence[Any]) -> None:
    """Check that those entries have an integral type of which a step needs it."""
    for index in step.integral:
        kind = entries[index].type
        if not kind.is_integral:
            message = f"a value of an integral type is needed, found {kind}"
            raise IllFormed("integral_type_required", message, spec=step.operation.spec)


def to_value(ev: Evaluation, entry: Entry) -> Value | None:
    """Convert an entry to a value; a location must be a byte address in the default address space."""
    if type(entry) is Value:
        return entry
    if type(entry) is ImplicitPointerValue:
        raise pointer_misuse("its value can only become the location it points to")
    if type(entry) is not Location or len(entry.places) != 1:
        return None
    place = entry.places[0]
    storage = place.storage
    if type(storage) is not Memory or storage.space.number != ev.target.default_space.number:
        return None
    if not uniform_flag(b.equal(place.bit_offset & 7, 0)):
        return None
    return Value(ev.generic, b.resized(place.bit_offset >> 3, ev.generic.bit_size))


def to_location(ev: Evaluation, entry: Entry) -> Location | None:
    """Convert an entry to a location: the memory that a value addresses, or the target of an implicit pointer."""
    if type(entry) is Location:
        return entry
    if type(entry) is ImplicitPointerValue:
        if entry.pointer.space.number != ev.target.default_space.number:
            raise pointer_misuse(f"it points into {entry.pointer.space.name}, not into the default address space")
        return pointed_to(ev, entry.pointer)
    if type(entry) is not Value:
        return None
    kind = entry.type
    if kind.is_generic:
        return memory(ev, entry.bits)
    if ev.rules.value_as_location == "integral" and kind.is_integral:
        return memory(ev, b.resized(entry.bits, ev.generic.bit_size))
    return None


def memory(ev: Evaluation, address: Bits) -> Location:
    """Return the memory of the default address space at a byte address."""
    storage = ev.memory
    if storage is None:
        storage = ev.memory = Memory(ev.target.address_spaces[0])
    offset = address * 8 if type(address) is int else b.settled(b.scaled(address, 8))
    return Location((SingleLocation(storage, offset),))


def value_stream(ev: Evaluation, value: Value) -> Bits:
    """Return the bits of a value in storage order: its number, unless its type has the other byte order."""
    order = value.type.byte_order
    if order is None or order == ev.target.byte_order:
        return value.bits
    return b.byte_swapped(value.bits, value.type.byte_size)


def implicit(ev: Evaluation, value: Value) -> Location:
    """Return the implicit location that holds a value (A.2.5.4.4.5 (2))."""
    bits = value.bits if value.type.byte_order is None else value_stream(ev, value)
    return Location((SingleLocation(Implicit(bits, value.type.bit_size), 0),))


def block_stream(ev: Evaluation, block: bytes) -> int:
    """Return the bits of a block of bytes in storage order."""
    return int.from_bytes(block, ev.target.byte_order)


def pointed_to(ev: Evaluation, pointer: ImplicitPointer) -> Location:
    """Return the location that an implicit pointer points to (A.2.5.4.4.5 (3)), in the current context."""
    unit = pointer.unit if pointer.unit is not None else ev.need("unit")
    die = unit.die(pointer.die)
    if die.location is not None:
        location = evaluate_location(ev, die)
    elif die.const_value is not None:
        location = locations.at(Implicit(block_stream(ev, die.const_value), 8 * len(die.const_value)))
    else:
        raise pointer_misuse(f"the entry {pointer.die} has neither a location nor a constant value")
    return moved(ev, location, pointer.byte_offset * 8)


def evaluate_location(ev: Evaluation, die: Any) -> Location:
    """Evaluate DW_AT_location of an entry by itself: an expression, or the union of matching ones (A.2.5.5)."""
    expressions = die.location if isinstance(die.location, tuple) else (die.location,)
    if not expressions:
        return UNDEFINED
    matching = [
        ev.evaluate(expression, unit=die.unit, object=None, initial_stack=(), result_kind="location")
        for expression in expressions
    ]
    return matching[0] if len(matching) == 1 else locations.union(matching, ev.lanes.count)


def object_location(location: Location, bit_size: int, rules: Rules, byte_order: ByteOrder) -> Location:
    """Return where an object or a value of a size is, in a storage that is larger or ends before it."""
    places = location.places
    if rules.object_beyond_composite == "undefined" and any(type(place.storage) is Composite for place in places):
        location = with_undefined_rest(location, bit_size)
    if byte_order == "big" and rules.object_of_value_bits == "least_significant":
        location = Location(tuple([_least_significant(place, bit_size) for place in location.places]))
    return location


def with_undefined_rest(location: Location, bit_size: int) -> Location:
    """Return a location whose composites have at least so many bits; those after the last part are undefined."""
    return Location(tuple([_with_undefined_rest(place, bit_size) for place in location.places]))


def _with_undefined_rest(place: SingleLocation, bit_size: int) -> SingleLocation:
    storage, offset = place.storage, place.bit_offset
    if type(storage) is not Composite:
        return place
    furthest = offset if type(offset) is int else int(offset.max())  # type: ignore[union-attr]
    missing = furthest + bit_size - storage.bit_size
    if missing <= 0:
        return place
    return SingleLocation(locations.extended(storage, (Part(UNDEFINED, missing),)), offset)


def _least_significant(place: SingleLocation, bit_size: int) -> SingleLocation:
    """Return the place of the least significant bits of a register or an implicit value, on a big-endian target."""
    storage = place.storage
    is_whole = type(place.bit_offset) is int and place.bit_offset == 0
    if type(storage) not in (Register, Implicit) or not is_whole or storage.bit_size <= bit_size:
        return place
    return SingleLocation(storage, storage.bit_size - bit_size)


def moved(ev: Evaluation, location: Location, displacement: Any, spec: str = "A.2.5.4.4.1 (1)") -> Location:
    """Move a location by a signed number of bits, under the rules in force."""
    places = location.places
    place = places[0]
    offset = place.bit_offset
    if len(places) == 1 and type(offset) is int and type(displacement) is int:  # the usual one
        storage = place.storage
        if 0 <= offset + displacement < storage.bit_size and type(storage) is not Undefined:
            return Location((SingleLocation(storage, offset + displacement),))
    undefined_size = ev.target.max_storage_bits() if ev.rules.undefined_has_size else None
    may_be_empty = ev.rules.offset_of_empty_composite == "zero"
    return locations.moved(location, displacement, undefined_size=undefined_size, spec=spec, may_be_empty=may_be_empty)


def result_of(ev: Evaluation) -> Result:
    """Return the result of an evaluation: the top of its stack, converted to the wanted kind (A.2.5.4)."""
    wanted = ev.context.result_kind
    if not ev.stack:
        if wanted == "value":
            raise IllFormed("bad_result_kind", "a value is wanted, but the stack is empty", spec="A.2.5.4")
        return UNDEFINED
    top = ev.stack[-1]
    if isinstance(top, IncompleteComposite):
        top = completed(top)
    elif ev.rules.location_after_pieces == "ill_formed" and any(type(e) is IncompleteComposite for e in ev.stack):
        raise IllFormed("bad_piece", "a location after pieces has no piece of its own", spec="DWARF 5, 2.6.1.2")
    if wanted is None or (wanted == "value" and isinstance(top, ImplicitPointerValue)):
        return top
    converted = to_location(ev, top) if wanted == "location" else to_value(ev, top)
    if converted is None:
        hint = "DW_OP_stack_value turns a value into an implicit location" if wanted == "location" else None
        refuse_entry(
            ev,
            top,
            lambda result: IllFormed(
                "bad_result_kind", f"a {wanted} is wanted, but the result is {result}", spec="A.2.5.4", hint=hint
            ),
        )
    return converted


def completed(incomplete: IncompleteComposite) -> Location:
    """Return the location of a composite that no piece will be added to."""
    return locations.at(incomplete.storage)


def composite(ev: Evaluation, base: Composite, parts: tuple[Part, ...]) -> Composite:
    """Return a composite with more parts, within what the text and the limits allow."""
    return within_limits(ev, locations.extended(base, parts))


def within_limits(ev: Evaluation, result: Composite) -> Composite:
    """Return a composite that the text and the limits allow."""
    limits = ev.context.limits
    size = result.bit_size
    if size > ev.generic.mask and size > ev.target.max_storage_bits():
        message = f"a composite of {size} bits is larger than the largest address space"
        raise IllFormed("bad_piece", message, spec="A.2.5.4.4.6")
    if result.count > limits.composite_parts or result.weight > limits.composite_parts:
        message = f"a composite has more than {limits.composite_parts} parts"
        raise EvaluationError("limit_exceeded", message, hint="raise the limit `composite_parts`")
    if result.depth > limits.composite_depth:
        message = f"composites are nested more than {limits.composite_depth} deep"
        raise EvaluationError("limit_exceeded", message, hint="raise the limit `composite_depth`")
    return result


def describe(entry: Entry) -> str:
    """Describe an entry for a message."""
    if isinstance(entry, Value):
        number = entry.number()
        return f"value {shown(number) if isinstance(number, int) else number} ({entry.type})"
    if isinstance(entry, ImplicitPointerValue):
        return "an implicit pointer value"
    if isinstance(entry, IncompleteComposite):
        return "an incomplete composite"
    if len(entry.places) != 1:
        return f"a location of {len(entry.places)} places"
    names = {Undefined: "an undefined", Implicit: "an implicit", Composite: "a composite", Memory: "a memory"}
    names[ImplicitPointer] = "an implicit pointer"
    return f"{names.get(type(entry.places[0].storage), 'a register')} location"


def refuse_entry(ev: Evaluation, entry: Entry, error: Callable[[str], DwarfGpuError]) -> NoReturn:
    """Raise an error about an entry, which may be a different one in each slot; ``error`` takes its description."""
    if ev.lanes.count == 1:
        raise error(describe(entry))
    raise LaneFault(b.arange(ev.lanes.count), lambda slot: error(describe(entry.select(slot))))


def _wrong_kind(ev: Evaluation, needed: str, entry: Entry, step: Step) -> NoReturn:
    spec = step.operation.spec
    refuse_entry(
        ev, entry, lambda description: IllFormed("wrong_kind", f"{needed} is needed, found {description}", spec=spec)
    )
