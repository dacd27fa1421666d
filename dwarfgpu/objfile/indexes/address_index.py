"""The addresses of one unit: which function is where."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.contributions import check_address_size, following, initial_length
from dwarfgpu.objfile.indexes.name_index import ADDRESS_OPERATIONS
from dwarfgpu.objfile.info.forms import ADDRESS_INDEX, NO_DATA, UNSIGNED, class_of
from dwarfgpu.objfile.info.readers import CODES
from dwarfgpu.objfile.info.scan import Plan, scan
from dwarfgpu.objfile.info.scopes import Budget, Ranges, is_dead

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.objfile.info.abbrevs import Abbreviation
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.info.unit import Unit


_WANTED = (dw.DW_AT_low_pc, dw.DW_AT_high_pc, dw.DW_AT_ranges)


def functions_of(unit: Unit) -> Ranges:
    """Return the ranges of the functions of a unit, each with the offset of the entry. Broken ones are left out."""
    ranges: list[tuple[int, int, int]] = []
    try:
        ranges.extend(_functions(unit))
    except DwarfGpuError as error:
        unit.dwarf.note(unit.error(error))
    return Ranges(ranges)


def _functions(unit: Unit) -> Iterator[tuple[int, int, int]]:
    budget = Budget(unit.header.end - unit.offset)
    dead = (1 << 8 * unit.address_size) - 2  # from here on there are only tombstones
    for offset, plan, picked in scan(unit, _select):
        places = plan.note
        if places is None:
            places = plan.note = _plain_places(plan)
        if places:
            low = picked[places[0]]
            size = picked[places[1]]
            if size and low < dead:
                yield low, low + size, offset
            continue
        ranges: list[tuple[int, int]] = []
        try:
            ranges = _ranges(unit, plan, picked, offset)
        except DwarfGpuError as error:
            unit.dwarf.note(unit.error(error, offset))
        budget.spend(unit, ranges)
        for low, high in ranges:
            yield low, high, offset


def _select(abbreviation: Abbreviation) -> tuple[int, ...] | None:
    if abbreviation.tag != dw.DW_TAG_subprogram:
        return None
    low, high, ranges = map(abbreviation.form_of, _WANTED)
    return _WANTED if ranges or (low and high) else None


def _plain_places(plan: Plan) -> tuple[int, int] | tuple[()]:
    """Return where address and size are among the picked values, for entries with just these."""
    low, high, ranges = map(plan.abbreviation.form_of, _WANTED)
    return (
        (plan.places[dw.DW_AT_low_pc], plan.places[dw.DW_AT_high_pc])
        if low == dw.DW_FORM_addr and high in UNSIGNED and not ranges
        else ()
    )


def _ranges(unit: Unit, plan: Plan, picked: tuple[int, ...], offset: int) -> list[tuple[int, int]]:
    low_form, high_form, ranges = map(plan.abbreviation.form_of, _WANTED)
    if low_form not in ADDRESS_INDEX or high_form not in UNSIGNED or ranges:
        return unit.die_known_at(offset).ranges()
    low = unit.tables.address(picked[plan.places[dw.DW_AT_low_pc]])
    high = low + picked[plan.places[dw.DW_AT_high_pc]]
    return [(low, high)] if low < high and not is_dead(low, unit.address_size) else []


_POINTERS = frozenset((dw.DW_TAG_pointer_type, dw.DW_TAG_reference_type, dw.DW_TAG_rvalue_reference_type))
MAX_TYPES = 64
"""How many types may lie between a variable and the one with a size."""


def _select_variables(abbreviation: Abbreviation) -> tuple[int, ...] | None:
    if abbreviation.tag != dw.DW_TAG_variable or abbreviation.form_of(dw.DW_AT_location) in (0, *NO_DATA):
        return None
    return (dw.DW_AT_location,)


class VariableIndex:
    """The variables of one unit by address."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        rows: list[tuple[int, int, bytes]] = []  # (address, offset of the entry, what follows in the expression)
        for offset, plan, picked in scan(unit, _select_variables):
            form = plan.abbreviation.form_of(dw.DW_AT_location)
            location = picked[plan.places[dw.DW_AT_location]]
            if form == dw.DW_FORM_indirect:
                form, location = location.form, location.value
            if class_of(form, dw.DW_AT_location, unit.version) != "exprloc":
                continue
            try:
                place = address_of(unit, location)
            except DwarfGpuError as error:
                unit.dwarf.note(unit.error(error, offset))
                continue
            if place is not None and not is_dead(place[0], unit.address_size):
                rows.append((place[0], offset, place[1]))
        self._variables = sorted(rows)
        self._starts = [address for address, _, _ in self._variables]

    @property
    def addresses(self) -> list[int]:
        """Where the variables begin, in order."""
        return self._starts

    def at(self, address: int, suffixes: Collection[bytes]) -> list[Die]:
        """Return the variables whose object contains an address."""
        variables: list[Die] = []
        sizes: dict[Die | None, int | None] = {}  # many variables have the same type
        i = bisect_right(self._starts, address)
        start = None
        while i > 0:
            i -= 1
            if start is not None and self._starts[i] != start:
                break  # objects of other variables end before this one begins
            begin, offset, suffix = self._variables[i]
            if suffix not in suffixes:
                continue
            start = begin
            die = self._unit.die_known_at(offset)
            if begin == address or address < begin + (self._size(die, sizes) or 0):
                variables.append(die)
        return variables[::-1]

    def _size(self, die: Die, sizes: dict[Die | None, int | None]) -> int | None:
        """Return the size of an object; None if its type is broken, so that others are still found."""
        try:
            kind = die.type()
            if kind not in sizes:
                sizes[kind] = size_of_type(kind)
            return sizes[kind]
        except DwarfGpuError as error:
            self._unit.dwarf.note(error)
            return None


def address_of(unit: Unit, expression: bytes) -> tuple[int, bytes] | None:
    """Return the address that an expression begins with, and the rest of it; None if it begins otherwise."""
    if not expression or expression[0] not in ADDRESS_OPERATIONS:
        return None
    cursor = Cursor(expression, 1, byte_order=unit.format.byte_order, error=MalformedFile)
    plain = expression[0] == ADDRESS_OPERATIONS[0]
    address = cursor.unsigned(unit.address_size) if plain else unit.tables.address(cursor.uleb())
    return address, expression[cursor.position :]


def size_of_type(die: Die | None) -> int | None:
    """Return the size in bytes of a type (DWARF 5, 5 and 2.21), or None if it is not a constant."""
    factor = 1
    for _ in range(MAX_TYPES):
        if die is None:
            return None
        size = _constant(die, dw.DW_AT_byte_size)
        if size is not None:
            return factor * size
        if die.tag in _POINTERS:
            return factor * die.unit.address_size
        if die.tag == dw.DW_TAG_array_type:
            count = _elements(die)
            if count is None:
                return None
            factor *= count
        die = die.type()
    return None


def _elements(array: Die) -> int | None:
    total = 1
    for dimension in array.children():
        if dimension.tag not in (dw.DW_TAG_subrange_type, dw.DW_TAG_enumeration_type):
            continue
        count = _constant(dimension, dw.DW_AT_count)
        if count is None:
            last = _constant(dimension, dw.DW_AT_upper_bound)
            if last is None:
                return None
            first = _constant(dimension, dw.DW_AT_lower_bound)
            if first is None:
                first = int(array.unit.root_number(dw.DW_AT_language) in FROM_ONE)
            count = last - first + 1
        total *= max(count, 0)
    return total


FROM_ONE = dw.numbers(
    "DW_LANG",
    "Ada83 Cobol74 Cobol85 Fortran77 Fortran90 Pascal83 Modula2 Ada95 Fortran95 PLI Modula3 Julia "
    "Fortran03 Fortran08 Fortran18 Ada2005 Ada2012",
)
"""The languages whose arrays begin with element 1, if they do not say otherwise (DWARF 5, table 7.17)."""


def _constant(die: Die, attribute: int) -> int | None:
    number = die.number(attribute)
    return int(number.value) if number is not None and number.value_class == "constant" else None


SECTION = ".debug_aranges"


@frozen
class AddressSet:
    """The addresses of one unit, as they are in the section: there may be many, and one question needs few."""

    offset: int
    """The offset of the set in the section."""
    unit: int
    """The offset of the unit's header in ``.debug_info``."""
    pairs: bytes
    format: str
    """How addresses and sizes are packed."""

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield start and end of each range that is not empty."""
        return ((low, low + size) for low, size in struct.iter_unpack(self.format, self.pairs) if size)


def read_sets(data: bytes, byte_order: ByteOrder) -> Iterator[AddressSet | DwarfGpuError]:
    """Yield all sets of the section, with an error in place of one that cannot be read."""
    position: int | None = 0
    while position is not None and position < len(data):
        after = following(data, position, byte_order)
        try:
            yield _read_set(data, position, len(data) if after is None else after, byte_order)
        except DwarfGpuError as error:
            yield error.at(section=SECTION, offset=position)
        position = after


def _read_set(data: bytes, start: int, end: int, byte_order: ByteOrder) -> AddressSet:
    cursor = Cursor(data, start, end, byte_order=byte_order, error=MalformedFile, section=SECTION)
    length, offset_size = initial_length(cursor)
    if length > cursor.remaining:
        message = f"a set of {length} bytes is longer than the {cursor.remaining} left"
        raise cursor.fail("truncated", message, "DWARF 5, 6.1.2", start)
    version = cursor.unsigned(2)
    if version != 2:
        raise Unsupported("bad_version", f"version {version} of address sets is not known", spec="DWARF 5, 6.1.2")
    unit = cursor.unsigned(offset_size)
    address_size, segment_size = cursor.unsigned(1), cursor.unsigned(1)
    check_address_size(cursor, address_size)
    if segment_size not in (0, 1, 2, 4, 8):
        raise cursor.fail("bad_segment_size", f"a segment selector cannot have {segment_size} bytes", "DWARF 5, 6.1.2")
    tuple_size = segment_size + 2 * address_size
    first = start + -(-(cursor.position - start) // tuple_size) * tuple_size  # they are aligned to their size
    if first > end:
        raise cursor.fail("truncated", "the header of a set is not followed by a tuple", "DWARF 5, 6.1.2", start)
    order = "<" if byte_order == "little" else ">"
    stop = first + (end - first) // tuple_size * tuple_size
    return AddressSet(start, unit, data[first:stop], f"{order}{segment_size}x{CODES[address_size] * 2}")
