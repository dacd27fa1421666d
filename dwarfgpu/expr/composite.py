"""Composite location description operations (A.2.5.4.4.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import EvaluationError, IllFormed, shown
from dwarfgpu.expr import convert, locations
from dwarfgpu.expr.locations import (
    Composite,
    Implicit,
    IncompleteComposite,
    Location,
    Part,
    Register,
    SingleLocation,
    Undefined,
)
from dwarfgpu.expr.pieces import runs
from dwarfgpu.expr.table import operation, section
from dwarfgpu.expr.types import Value
from dwarfgpu.lanes import refuse, uniform

if TYPE_CHECKING:
    from dwarfgpu.expr.evaluation import Evaluation

section("Composite location description operations (A.2.5.4.4.6).")


_SPEC = "A.2.5.4.4.6"


# --- Parts --------------------------------------------------------------------------------------------------------


def _check_fits(location: Location, size: int, spec: str) -> None:
    """Check that all bits of a part are within the storage of each of its places."""
    for place in location.places:
        offset = place.bit_offset
        storage = place.storage
        if type(storage) is Undefined or (type(offset) is int and offset + size <= storage.bit_size):
            continue
        beyond = offset > storage.bit_size - size
        refuse(beyond, lambda slot, place=place: _too_large(size, locations.remaining(place, slot), spec))  # type: ignore[misc]


def _too_large(size: int, left: int, spec: str) -> IllFormed:
    message = f"a part of {shown(size)} bits is larger than the {left} bits that its storage has left"
    return IllFormed("bad_piece", message, spec=spec)


def _parts(ev: Evaluation, location: Location, size: int, bit_offset: int) -> tuple[Part, ...]:
    """Return the part that a piece operation adds, plus an undefined part beyond the storage if the rules allow it."""
    rules = ev.rules
    if rules.part_beyond_storage == "undefined":
        available = max(0, min(_available(place, size, bit_offset) for place in location.places))
        if available < size:
            beyond = Part(locations.UNDEFINED, size - available)
            return (*_parts(ev, location, available, bit_offset), beyond) if available else (beyond,)
    if rules.piece_of_value_bits == "least_significant" and ev.target.byte_order == "big":
        location = Location(tuple(_from_least_significant(place, size, bit_offset) for place in location.places))
    elif bit_offset:
        location = convert.moved(ev, location, bit_offset, "A.2.5.4.4.6 (2)")
    _check_fits(location, size, _SPEC)
    return (Part(location, size),)


def _available(place: SingleLocation, size: int, bit_offset: int) -> int:
    if type(place.storage) is Undefined:
        return size
    return min(size, place.storage.bit_size - uniform(place.bit_offset) - bit_offset)


def _from_least_significant(place: SingleLocation, size: int, bit_offset: int) -> SingleLocation:
    """Return the place of bits that are counted from the least significant end of a register or an implicit value.

    On a big-endian target that is the end of the storage (DWARF 5, 2.6.1.2).
    """
    storage = place.storage
    if type(storage) not in (Register, Implicit):
        return SingleLocation(storage, place.bit_offset + bit_offset)
    end = storage.bit_size - bit_offset
    if end <= 0:
        message = f"the bit offset {bit_offset} is outside the storage of {storage.bit_size} bits"
        raise EvaluationError("offset_out_of_storage", message, spec="DWARF 5, 2.6.1.2 (2)")
    left = end - uniform(place.bit_offset)  # a moved location has only the storage after its offset
    if left < size:
        raise _too_large(size, left, "DWARF 5, 2.6.1.2 (2)")
    return SingleLocation(storage, end - size)


# --- Pieces -------------------------------------------------------------------------------------------------------


def _add_piece(ev: Evaluation, size: int, bit_offset: int) -> None:
    """Execute DW_OP_piece or DW_OP_bit_piece, whose effect depends on the stack."""
    if not ev.rules.incomplete_composites:
        _add_piece_dwarf6(ev, size, bit_offset)
        return
    stack = ev.stack
    height = len(stack)  # how many entries stay
    top: Any = stack[-1] if height else None
    location = None
    if top is not None and type(top) is not IncompleteComposite:
        location = top if type(top) is Location else _part_location(ev)
        height -= 1
        top = stack[height - 1] if height else None
    base = locations.EMPTY
    if type(top) is IncompleteComposite:
        base = top.storage
        height -= 1
    if location is None:
        result = locations.extended(base, (Part(locations.UNDEFINED, size),))
    elif not bit_offset and _is_plain(ev, location, size):
        parts = base.parts + (Part(location, size),)  # noqa: RUF005 (faster than unpacking)
        result = Composite(parts, base.bit_size + size, base.count + 1, base.weight + 1, base.depth, base.has_pointer)
    else:
        result = locations.extended(base, _parts(ev, location, size, bit_offset))
    entry = IncompleteComposite(convert.within_limits(ev, result))
    if height == len(stack):
        stack.append(entry)
        return
    if height + 1 < len(stack):
        del stack[-1]
    stack[-1] = entry


def _is_plain(ev: Evaluation, location: Location, size: int) -> bool:
    """Return whether a part is the usual case: little-endian, and inside one memory, register or implicit storage."""
    places = location.places
    place = places[0]
    offset = place.bit_offset
    storage = place.storage
    return (
        len(places) == 1
        and type(offset) is int
        and offset + size <= storage.bit_size
        and type(storage) in locations.PLAIN
        and ev.target.byte_order == "little"
    )


def _add_piece_dwarf6(ev: Evaluation, size: int, bit_offset: int) -> None:
    """Execute DW_OP_piece or DW_OP_bit_piece by the DWARF 6 draft, which accepts DWARF 5's use too (230524.1, 3.12)."""
    stack = ev.stack
    base = _composite_place(stack[-2]) if len(stack) > 1 else None
    consumed = len(stack) if base is None else 2
    if base is None and len(stack) > 1:
        message = "a piece needs a composite, or nothing else, below its operand on the stack"
        raise IllFormed("bad_piece", message, spec="DWARF 6 (230524.1), 3.12", hint="start with DW_OP_composite")
    if base is None and stack:
        base = _composite_place(stack[-1])
    if consumed == 2 or (stack and base is None):
        parts = _parts(ev, _part_location(ev), size, bit_offset)
    else:
        parts = (Part(locations.UNDEFINED, size),)
    storage, offset = (locations.EMPTY, 0) if base is None else (base.storage, base.bit_offset)
    if consumed:
        del ev.stack[-consumed:]
    ev.stack.append(locations.at(convert.composite(ev, storage, parts), offset))  # type: ignore[arg-type]


def _composite_place(entry: Any) -> SingleLocation | None:
    """Return the place of an entry that is a composite; None for any other entry."""
    place = entry.single if type(entry) is Location else None
    return place if place is not None and type(place.storage) is Composite else None


def _part_location(ev: Evaluation) -> Location:
    top = ev.stack[-1]
    location = convert.to_location(ev, top)
    if location is None:
        hint = "DW_OP_stack_value turns a value into an implicit location" if type(top) is Value else None
        convert.refuse_entry(
            ev,
            top,
            lambda entry: IllFormed(
                "wrong_kind",
                f"a piece is part of a location description, found {entry}",
                spec="A.2.5.4.4.6 (1)",
                hint=hint,
            ),
        )
    return location


@operation("DW_OP_piece", "*", "A.2.5.4.4.6 (1)", "S:uleb", follows_location=True)
def piece(ev: Evaluation, byte_size: int) -> None:
    """Add a part of S bytes to the composite under construction, or start one."""
    _add_piece(ev, byte_size * 8, 0)


@operation("DW_OP_bit_piece", "*", "A.2.5.4.4.6 (2)", "S:uleb B:uleb", since="3", follows_location=True)
def bit_piece(ev: Evaluation, bit_size: int, bit_offset: int) -> None:
    """Add a part of S bits, B bits into the location, to the composite under construction, or start one."""
    _add_piece(ev, bit_size, bit_offset)


@operation("DW_OP_LLVM_piece_end", "*", "A.2.5.4.4.6 (3)")
def piece_end(ev: Evaluation) -> None:
    """Complete the composite under construction."""
    top = ev.stack[-1] if ev.stack else None
    if type(top) is not IncompleteComposite:
        if top is not None and not ev.rules.incomplete_composites and _composite_place(top) is not None:
            return  # in DWARF 6 every composite is complete
        message = "there is no composite under construction on top of the stack"
        kind = "stack_underflow" if top is None else "wrong_kind"
        raise IllFormed(kind, message, spec="A.2.5.4.4.6 (3)")
    ev.stack[-1] = convert.completed(top)


@operation("DW_OP_composite", "-- L:location", "DWARF 6 (230524.1), 3.12 (1)", since="6", storage="composite")
def composite(_ev: Evaluation) -> Location:
    """Push an empty composite, to which pieces can be added."""
    return locations.at(locations.EMPTY)


# --- Vectors ------------------------------------------------------------------------------------------------------


def _check_vector(size: int, count: int, spec: str) -> None:
    if size == 0 or count == 0:
        message = f"the element size ({size} bits) and the count ({count}) must not be 0"
        raise IllFormed("bad_operand", message, spec=spec)


@operation("DW_OP_LLVM_extend", "L:location -- L:location", "A.2.5.4.4.6 (4)", "S:uleb C:uleb", storage="composite")
def extend(ev: Evaluation, location: Location, size: int, count: int) -> Location:
    """Push a composite of C parts of S bits that are all at L."""
    _check_vector(size, count, "A.2.5.4.4.6 (4)")
    _check_fits(location, size, _SPEC)
    return locations.at(convert.composite(ev, locations.EMPTY, (Part(location, size, count),)))


@operation(
    "DW_OP_LLVM_select_bit_piece", "L0:location L1:location M:integral -- L:location", "A.2.5.4.4.6 (5)",
    "S:uleb C:uleb", storage="composite",
)  # fmt: skip
def select_bit_piece(ev: Evaluation, zero: Location, one: Location, mask: Value, size: int, count: int) -> Location:
    """Push a composite of C parts of S bits: part N is the Nth of L1 where bit N of the mask is 1, else that of L0."""
    spec = "A.2.5.4.4.6 (5)"
    _check_vector(size, count, spec)
    if mask.type.bit_size < count:
        message = f"the mask has {mask.type.bit_size} bits, which is less than the count {count}"
        raise IllFormed("bad_size", message, spec=spec)
    chosen = uniform(mask.bits)
    parts = []
    for bit, start, stop in runs(chosen, count):
        source = one if bit else zero
        first = convert.moved(ev, source, start * size, spec) if start else source
        convert.moved(ev, source, (stop - 1) * size, spec)  # every part must begin inside the storage ...
        _check_fits(first, (stop - start) * size, spec)  # ... and end there
        parts.append(Part(first, size, stop - start, size))
    return locations.at(convert.composite(ev, locations.EMPTY, tuple(parts)))


# --- Overlays -----------------------------------------------------------------------------------------------------


@operation("DW_OP_LLVM_overlay", "BL:location OL:location O:integral S:integral -- L:location", "A.2.5.4.4.6 (6)")
def overlay(ev: Evaluation, base: Location, top: Location, offset: Value, size: Value) -> Location:
    """Push BL with the S bytes at byte offset O replaced by the bytes at OL."""
    return _overlay(ev, base, top, offset, size, 8)


@operation(
    "DW_OP_LLVM_bit_overlay", "BL:location OL:location BO:integral BS:integral -- L:location", "A.2.5.4.4.6 (7)", unit=1
)
def bit_overlay(ev: Evaluation, base: Location, top: Location, offset: Value, size: Value) -> Location:
    """Push BL with the BS bits at bit offset BO replaced by the bits at OL."""
    return _overlay(ev, base, top, offset, size, 1)


def _overlay(ev: Evaluation, base: Location, top: Location, offset: Value, size: Value, unit: int) -> Location:
    bit_offset = uniform_number(offset) * unit
    if ev.rules.overlay == "dwarf6":
        return _overlay_dwarf6(ev, base, top, bit_offset, uniform(size.bits) * unit)
    bit_size = uniform_number(size) * unit
    spec = "A.2.5.4.4.6 (7)"
    if bit_offset < 0 or bit_size < 0:
        message = f"an overlay of {shown(bit_size)} bits at {shown(bit_offset)}: neither number may be negative"
        raise IllFormed("bad_operand", message, spec=spec)
    rest = min(_size(ev, place) - uniform(place.bit_offset) for place in base.places)
    if rest < bit_offset + bit_size:
        message = f"an overlay of {shown(bit_size)} bits at {shown(bit_offset)} exceeds the {rest} bits of the base"
        raise IllFormed("bad_piece", message, spec=spec)
    if bit_size == 0:
        return base
    if bit_offset == 0 and bit_size == rest:
        return top
    parts: tuple[Part, ...] = ()
    if bit_offset:
        parts += _plain_part(ev, base, bit_offset, 0)
    parts += _plain_part(ev, top, bit_size, 0)
    if rest > bit_offset + bit_size:
        parts += _plain_part(ev, base, rest - bit_offset - bit_size, bit_offset + bit_size)
    return locations.at(convert.composite(ev, locations.EMPTY, parts))


def uniform_number(value: Value) -> int:
    """Return the number of a value, which must be equal in all slots; read the generic type as signed."""
    uniform(value.bits)
    return int(value.select(0).displacement())


def _size(ev: Evaluation, place: SingleLocation) -> int:
    """Return the size of a storage in bits; an undefined one counts as large as a composite may be."""
    return ev.target.max_storage_bits() if type(place.storage) is Undefined else place.storage.bit_size


def _plain_part(ev: Evaluation, location: Location, size: int, bit_offset: int) -> tuple[Part, ...]:
    """Return what DW_OP_bit_piece makes of a location, without its compatibility rules."""
    if bit_offset:
        location = convert.moved(ev, location, bit_offset, "A.2.5.4.4.6 (7)")
    _check_fits(location, size, _SPEC)
    return (Part(location, size),)


def _overlay_dwarf6(ev: Evaluation, base: Location, top: Location, bit_offset: int, bit_size: int) -> Location:
    """Make the overlay of the DWARF 6 proposal (251120.1): the base storage stays whole, and grows if needed."""
    spec = "DWARF 6 (251120.1)"
    _check_fits(top, bit_size, spec)
    return Location(tuple(_overlaid(ev, place, top, bit_offset, bit_size, spec) for place in base.places))


def _overlaid(
    ev: Evaluation, place: SingleLocation, top: Location, bit_offset: int, bit_size: int, spec: str
) -> SingleLocation:
    storage = place.storage
    size = _size(ev, place)
    position = uniform(place.bit_offset)
    start = position + bit_offset
    stop = start + bit_size
    if start < 0:
        raise IllFormed("bad_operand", f"the overlay begins {shown(-start)} bits before the base storage", spec=spec)
    if bit_size == 0 and start <= size:
        return place
    parts = []
    if start:
        parts.append(Part(locations.at(storage), min(start, size)))
    if start > size:
        parts.append(Part(locations.UNDEFINED, start - size))
    parts.append(Part(top, bit_size))
    if stop < size:
        parts.append(Part(locations.at(storage, stop), size - stop))
    kept = tuple(part for part in parts if part.total)
    return SingleLocation(convert.composite(ev, locations.EMPTY, kept), position)
