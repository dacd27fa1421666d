"""Abbreviations: what the entries of a unit look like (DWARF 5 section 7.5.3), and readers made for each.

All readers take the position of the entry's abbreviation code and know how long that is. Where a producer has padded
the code, the position to give is that many bytes later (`AbbreviationTable.at`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dwarfgpu.dwarf_constants import DW_FORM_implicit_const
from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import MalformedFile
from dwarfgpu.objfile.info.forms import AttributeDialect, class_of
from dwarfgpu.objfile.info.readers import EntryLayout, Family, family

if TYPE_CHECKING:
    from dwarfgpu.encoding import Format

    T = TypeVar("T")

MAX_ATTRIBUTES = 1000
"""An abbreviation with more is refused: an attribute occurs once in an entry (DWARF 5, 2.2), and there are not so
many."""
MAX_DENSE = 1 << 14
"""Codes from here on take three bytes and more; they are looked up in a dictionary, as are large codes of a table with
few abbreviations."""


MAX_SHAPES = 1 << 15

Shape: TypeAlias = "tuple[tuple[int, ...], dict[int, int] | None, EntryLayout]"
"""The attributes of an abbreviation, the values of those that are part of it, and the layout of its entries."""

_shapes: dict[Format, dict[tuple[int, bytes], Shape]] = {}
"""The known shapes by length of the code and bytes of the declaration: units of a file have many in common."""


class Abbreviation:
    """The look of an entry: tag, whether it may own others, and its attributes.

    The *values* of an entry are those in its data, in order. `Layout.slots` says for each attribute which of them it
    has, with -1 if the value is in the abbreviation.
    """

    __slots__ = ("_in_order", "_names", "attributes", "code", "forms", "has_children", "implicit", "layout", "tag")

    def __init__(self, code: int, tag: int, has_children: bool, shape: Shape) -> None:  # noqa: FBT001
        self.code = code
        self.tag = tag
        self.has_children = has_children
        self.attributes, self.implicit, self.layout = shape
        """The values of DW_FORM_implicit_const are by the index of their attribute."""
        self.forms = self.layout.forms
        self._names: tuple[AttributeDialect, int, dict[str, int]] | None = None
        self._in_order: tuple[Callable[[tuple[Any, ...]], Any] | None, tuple[Any, ...]] | None = None

    def __repr__(self) -> str:
        return f"Abbreviation({self.code}, tag={self.tag:#x}, {len(self.forms)} attributes)"

    def index_of(self, attribute: int) -> int:
        """Return the index of the first attribute with a number, or -1."""
        return self.attributes.index(attribute) if attribute in self.attributes else -1

    def form_of(self, attribute: int) -> int:
        """Return the form of the attribute with a number, or 0."""
        return self.forms[self.attributes.index(attribute)] if attribute in self.attributes else 0

    def names(self, dialect: AttributeDialect, version: int) -> dict[str, int]:
        """Return the names of the attributes in a dialect, each with its index, in order; of two the first counts."""
        known = self._names
        if known is None or known[0] is not dialect or known[1] != version:
            indexes: dict[str, int] = {}
            for i, attribute in enumerate(self.attributes):
                indexes.setdefault(dialect.name_of(attribute, class_of(self.forms[i], attribute, version)), i)
            self._names = known = (dialect, version, indexes)
        return known[2]

    def value(self, index: int, values: tuple[Any, ...]) -> Any:
        """Return the value of the attribute with an index, for an entry with the values ``values``."""
        slot = self.layout.slots[index]
        return values[slot] if slot >= 0 else self._constant(index)

    def _constant(self, index: int) -> Any:
        return (self.implicit or {}).get(index, 0) if self.forms[index] == DW_FORM_implicit_const else True

    def all_values(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the values of all attributes, in order, for an entry with the values ``values``."""
        if self._in_order is None:
            slots = self.layout.slots
            constants = tuple(self._constant(index) for index, slot in enumerate(slots) if slot < 0)
            # the constants follow the values of the data, from which the getter takes all in their order
            behind = iter(range(len(slots) - len(constants), len(slots)))
            places = [slot if slot >= 0 else next(behind) for slot in slots]
            self._in_order = (itemgetter(*places) if places != sorted(places) else None), constants
        getter, constants = self._in_order
        return values + constants if getter is None else getter(values + constants)


class AbbreviationTable:
    """The abbreviations from an offset to the null entry that ends them, or to the end of the section.

    They are read as far as they are asked for. What is broken does not hide the abbreviations before it. ``room`` is
    how many more there may be in this and other tables of the section: tables that overlap would fill the memory, and
    a compressed section expands to millions that no entry uses.
    """

    def __init__(
        self, data: bytes, offset: int, format: Format, section: str = ".debug_abbrev", room: list[int] | None = None
    ) -> None:
        if not 0 <= offset < len(data):
            message = f"{section} has {len(data)} bytes, no table is at {offset:#x}"
            raise MalformedFile("bad_offset", message, spec="DWARF 5, 7.5.3").at(section=section, offset=offset)
        self.offset = offset
        self.problem: MalformedFile | None = None
        """Why there may be more abbreviations than could be read."""
        self.repeated: list[int] = []
        """The codes that more abbreviations than one have; the first one counts."""
        self.odd_children: list[int] = []
        """The codes of abbreviations that say neither DW_CHILDREN_no nor DW_CHILDREN_yes."""
        self.is_terminated = False
        """Whether a null entry ends the table, once all of it has been read."""
        self._family = family(format)
        self._shapes = _shapes.setdefault(format, {})
        if len(self._shapes) > MAX_SHAPES:
            self._shapes.clear()
        self._by_code: dict[int, Abbreviation] = {}
        self._cursor: Cursor | None = Cursor(
            data, offset, byte_order=format.byte_order, error=MalformedFile, section=section
        )
        self._room = [len(data)] if room is None else room
        self._kept: dict[Any, Any] = {}

    def get(self, code: int) -> Abbreviation:
        """Return the abbreviation with a code."""
        abbreviation = self._by_code.get(code)
        while abbreviation is None and self._cursor is not None:
            self._read_one(self._cursor)
            abbreviation = self._by_code.get(code)
        if abbreviation is not None:
            return abbreviation
        if self.problem is not None:
            raise self.problem.again()
        message = f"the table at {self.offset:#x} of .debug_abbrev has no abbreviation {code}"
        raise MalformedFile("unknown_abbreviation", message, spec="DWARF 5, 7.5.2")

    def all(self) -> list[Abbreviation]:
        """Return all abbreviations that could be read, in order."""
        while self._cursor is not None:
            self._read_one(self._cursor)
        return list(self._by_code.values())

    def at(self, data: bytes, position: int) -> tuple[Abbreviation, int]:
        """Return the abbreviation of an entry that is not a null entry, and the position to give to its readers."""
        code = data[position]
        if code < 0x80:
            return self.get(code), position
        code, end = wide_code(data, position)
        abbreviation = self.get(code)
        return abbreviation, end - abbreviation.layout.lead

    @cached_property
    def dense(self) -> list[Abbreviation | None]:
        """The abbreviations by code, for codes of one and two bytes. The last element is for all other codes."""
        limit = min(MAX_DENSE, 128 + 4 * len(self.all()))
        last = max((code for code in self._by_code if code < limit), default=0)
        dense: list[Abbreviation | None] = [None] * (max(last + 1, 128) + 1)
        for code, abbreviation in self._by_code.items():
            if code < limit:
                dense[code] = abbreviation
        return dense

    @cached_property
    def rows(self) -> list[list[int]]:
        """``rows[second][first]`` is the code that two bytes encode, or else the last index of `dense`."""
        unused = [len(self.dense) - 1] * 256
        rows = [unused] * 256
        for code in range(128, len(self.dense)):
            if self.dense[code] is not None:
                second = code >> 7
                if rows[second] is unused:
                    rows[second] = unused.copy()
                rows[second][code & 0x7F | 0x80] = code
        return rows

    def keep(self, key: Any, make: Callable[[AbbreviationTable], T]) -> T:
        """Return an object that belongs to the table, made when it is first asked for."""
        if key not in self._kept:
            self._kept[key] = make(self)
        kept: T = self._kept[key]
        return kept

    def _read_one(self, cursor: Cursor) -> None:
        data, position = cursor.data, cursor.position
        if position >= cursor.end or not data[position]:
            self.is_terminated = position < cursor.end
            self._cursor = None
            return
        match = _DECLARATION.match(data, position)
        try:
            if match is None:
                code, tag, flag, shape = self._slowly(cursor)
            else:
                first, second, flag, body = match.groups()
                code = first[0] if len(first) == 1 else _number(first)
                tag = second[0] if len(second) == 1 else _number(second)
                known = self._shapes.get((len(first), body))
                if known is None:
                    known = self._shapes[len(first), body] = _shape(len(first), body, self._family)
                shape = known
                cursor.position = match.end()
        except MalformedFile as error:
            self.problem = error.at(section=cursor.section, offset=position)
            self._cursor = None
            return
        if code not in self._by_code:
            if not self._room[0]:
                message = (
                    "tables overlap or are too long: they have more abbreviations than the file has bytes of entries"
                )
                overlap = MalformedFile("limit_exceeded", message, spec="DWARF 5, 7.5.3")
                self.problem = overlap.at(section=cursor.section, offset=position)
                self._cursor = None
                return
            self._room[0] -= 1
            self._by_code[code] = Abbreviation(code, tag, flag == b"\1", shape)
            if flag not in _CHILDREN:
                self.odd_children.append(code)
        else:
            self.repeated.append(code)

    def _slowly(self, cursor: Cursor) -> tuple[int, int, bytes, Shape]:
        """Read a declaration in which numbers are padded, or say what is wrong with it."""
        code, tag, flag = cursor.uleb(), cursor.uleb(), bytes(cursor.bytes(1))
        attributes: list[int] = []
        forms: list[int] = []
        implicit: dict[int, int] = {}
        while True:
            position = cursor.position
            attribute, form = cursor.uleb(), cursor.uleb()
            if not attribute and not form:
                break
            if not attribute or not form:
                message = f"attribute {attribute:#x} with form {form:#x}"
                raise cursor.fail("bad_abbreviation", message, "DWARF 5, 7.5.3", position)
            if len(forms) == MAX_ATTRIBUTES:
                raise _too_many()
            if form == DW_FORM_implicit_const:
                implicit[len(forms)] = cursor.sleb()
            attributes.append(attribute)
            forms.append(form)
        lead = max(1, (code.bit_length() + 6) // 7)
        return (code, tag, flag, (tuple(attributes), implicit or None, self._family.layout(lead, tuple(forms))))


_CHILDREN = (b"\0", b"\1")

# One declaration: code, tag, whether there are children, attributes with their forms, and two zeros. A regular
# expression reads it several times faster than statements would.
_LEB = rb"[\x80-\xff]*[\x01-\x7f]"
_DECLARATION = re.compile(
    rb"(%(leb)s)(%(leb)s)(.)((?:%(leb)s(?:(?!\x21)%(leb)s|\x21[\x80-\xff]*[\x00-\x7f]))*)\x00\x00" % {b"leb": _LEB},
    re.DOTALL,
)
_PAIR = re.compile(rb"(%(leb)s)(?:\x21([\x80-\xff]*[\x00-\x7f])|(%(leb)s))" % {b"leb": _LEB})


def _shape(lead: int, body: bytes, family: Family) -> Shape:
    if len(body) > 2 * MAX_ATTRIBUTES:
        raise _too_many()
    if body.isascii() and DW_FORM_implicit_const not in body:  # then all are single bytes
        return tuple(body[::2]), None, family.layout(lead, tuple(body[1::2]))
    attributes: list[int] = []
    forms: list[int] = []
    implicit: dict[int, int] = {}
    for attribute, constant, form in _PAIR.findall(body):
        attributes.append(attribute[0] if len(attribute) == 1 else _number(attribute))
        if constant:
            implicit[len(forms)] = Cursor(constant, error=MalformedFile).sleb()
        forms.append(DW_FORM_implicit_const if constant else form[0] if len(form) == 1 else _number(form))
    return tuple(attributes), implicit or None, family.layout(lead, tuple(forms))


def _too_many() -> MalformedFile:
    message = f"an abbreviation has more than {MAX_ATTRIBUTES} attributes"
    return MalformedFile("limit_exceeded", message, spec="DWARF 5, 2.2")


def _number(leb: bytes) -> int:
    return Cursor(leb, error=MalformedFile).uleb()


def wide_code(data: bytes, position: int) -> tuple[int, int]:
    """Decode an abbreviation code of any length, and return where it ends, too.

    At the end of the data it raises IndexError.
    """
    code = shift = 0
    while shift < 64:
        byte = data[position]
        position += 1
        code |= (byte & 0x7F) << shift
        if byte < 0x80:
            return code, position
        shift += 7
    raise MalformedFile("leb128_overflow", "an abbreviation code has more than 64 bits", spec="DWARF 5, 7.5.2")
