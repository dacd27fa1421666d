"""The variables of one unit that have an address in the program."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import (
    DW_LANG_PLI,
    DW_AT_byte_size,
    DW_AT_count,
    DW_AT_language,
    DW_AT_location,
    DW_AT_lower_bound,
    DW_AT_upper_bound,
    DW_FORM_indirect,
    DW_LANG_Ada83,
    DW_LANG_Ada95,
    DW_LANG_Ada2005,
    DW_LANG_Ada2012,
    DW_LANG_Cobol74,
    DW_LANG_Cobol85,
    DW_LANG_Fortran03,
    DW_LANG_Fortran08,
    DW_LANG_Fortran18,
    DW_LANG_Fortran77,
    DW_LANG_Fortran90,
    DW_LANG_Fortran95,
    DW_LANG_Julia,
    DW_LANG_Modula2,
    DW_LANG_Modula3,
    DW_LANG_Pascal83,
    DW_TAG_array_type,
    DW_TAG_enumeration_type,
    DW_TAG_pointer_type,
    DW_TAG_reference_type,
    DW_TAG_rvalue_reference_type,
    DW_TAG_subrange_type,
    DW_TAG_variable,
)
from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.entries.forms import NO_DATA, class_of
from dwarfgpu.objfile.entries.pc_ranges import is_dead
from dwarfgpu.objfile.entries.scan import scan

if TYPE_CHECKING:
    from collections.abc import Collection

    from dwarfgpu.objfile.entries.abbrevs import Abbreviation
    from dwarfgpu.objfile.entries.dies import Die
    from dwarfgpu.objfile.units.unit import Unit

_POINTERS = frozenset((DW_TAG_pointer_type, DW_TAG_reference_type, DW_TAG_rvalue_reference_type))
_OP_ADDR, _OP_ADDRX, _OP_GNU_ADDR_INDEX = 0x03, 0xA1, 0xFB
MAX_TYPES = 64
"""How many types may lie between a variable and the one with a size."""


def _select(abbreviation: Abbreviation) -> tuple[int, ...] | None:
    if abbreviation.tag != DW_TAG_variable or abbreviation.form_of(DW_AT_location) in (0, *NO_DATA):
        return None
    return (DW_AT_location,)


class VariableIndex:
    """The variables of one unit by address."""

    __slots__ = ("_starts", "_unit", "_variables")

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        rows: list[
            tuple[int, int, bytes]
        ] = []  # (address, offset of the entry, the expression after the address)
        for offset, plan, picked in scan(unit, _select):
            form, location = plan.abbreviation.form_of(DW_AT_location), picked[plan.places[DW_AT_location]]
            if form == DW_FORM_indirect:
                form, location = location.form, location.value
            if class_of(form, DW_AT_location, unit.version) != "exprloc":
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
    if not expression or expression[0] not in (_OP_ADDR, _OP_ADDRX, _OP_GNU_ADDR_INDEX):
        return None
    cursor = Cursor(expression, 1, byte_order=unit.format.byte_order, error=MalformedFile)
    plain = expression[0] == _OP_ADDR
    address = cursor.unsigned(unit.address_size) if plain else unit.tables.address(cursor.uleb())
    return address, expression[cursor.position :]


def size_of_type(die: Die | None) -> int | None:
    """Return the size in bytes of a type (DWARF 5, 5 and 2.21), or None if it is not a constant."""
    factor = 1
    for _ in range(MAX_TYPES):
        if die is None:
            return None
        size = _constant(die, DW_AT_byte_size)
        if size is not None:
            return factor * size
        if die.tag in _POINTERS:
            return factor * die.unit.address_size
        if die.tag == DW_TAG_array_type:
            count = _elements(die)
            if count is None:
                return None
            factor *= count
        die = die.type()
    return None


def _elements(array: Die) -> int | None:
    """Return how many elements an array has in all its dimensions."""
    total = 1
    for dimension in array.children():
        if dimension.tag not in (DW_TAG_subrange_type, DW_TAG_enumeration_type):
            continue
        count = _constant(dimension, DW_AT_count)
        if count is None:
            last = _constant(dimension, DW_AT_upper_bound)
            if last is None:
                return None
            first = _constant(dimension, DW_AT_lower_bound)
            count = last - (_default_lower_bound(array) if first is None else first) + 1
        total *= max(count, 0)
    return total


def _default_lower_bound(die: Die) -> int:
    """Return the lower bound of an array that does not name one (DWARF 5, table 7.17)."""
    return 1 if die.unit.root_number(DW_AT_language) in FROM_ONE else 0


FROM_ONE = frozenset(
    (
        DW_LANG_Ada83,
        DW_LANG_Cobol74,
        DW_LANG_Cobol85,
        DW_LANG_Fortran77,
        DW_LANG_Fortran90,
        DW_LANG_Pascal83,
        DW_LANG_Modula2,
        DW_LANG_Ada95,
        DW_LANG_Fortran95,
        DW_LANG_PLI,
        DW_LANG_Modula3,
        DW_LANG_Julia,
        DW_LANG_Fortran03,
        DW_LANG_Fortran08,
        DW_LANG_Fortran18,
        DW_LANG_Ada2005,
        DW_LANG_Ada2012,
    )
)
"""The languages whose arrays begin with element 1, if they do not say otherwise (DWARF 5, table 7.17)."""


def _constant(die: Die, attribute: int) -> int | None:
    number = die.number(attribute)
    return int(number.value) if number is not None and number.value_class == "constant" else None
