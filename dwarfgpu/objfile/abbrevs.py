"""Abbreviations: what the entries of a unit look like (DWARF 5 section 7.5.3), and readers made for each.

An abbreviation whose values all have a fixed size is read by one `struct.Struct`. For any other one a function is
generated, once it has been used a few times: for a single entry that would cost more than it gains, and no file, however
made, can then spend more time on generated functions than on reading entries without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import MalformedFile
from dwarfgpu.objfile import readers
from dwarfgpu.objfile.forms import IMPLICIT_CONST, NO_DATA, class_of
from dwarfgpu.records import record

if TYPE_CHECKING:
    import struct
    from collections.abc import Callable
    from typing import Any

    from dwarfgpu.encoding.operands import Format
    from dwarfgpu.objfile.attributes import AttributeDialect
    from dwarfgpu.objfile.forms import Class
    from dwarfgpu.objfile.readers import Pick, Read, Skip

MAX_ATTRIBUTES = 1000
"""An abbreviation with more is refused: an attribute stands once in an entry (DWARF 5, 2.2), and there are not so many."""
FEW = 8
"""An abbreviation that has been used more often than this gets a function of its own."""


@record
class Specification:
    """One attribute of an abbreviation: number, form, and the value of DW_FORM_implicit_const."""

    attribute: int
    form: int
    implicit: int = 0


class Abbreviation:
    """The look of an entry: tag, whether it may own others, and its attributes.

    ``values`` of an entry are those that stand in its data, in order; ``slots`` says for each attribute which value it
    has, with -1 where the value stands here.
    """

    __slots__ = (
        "_names",
        "_skip",
        "_uses",
        "code",
        "codes",
        "format",
        "has_children",
        "read",
        "size",
        "slots",
        "specifications",
        "structure",
        "tag",
    )

    def __init__(
        self,
        code: int,
        tag: int,
        *,
        has_children: bool,
        specifications: tuple[Specification, ...],
        format: Format,
    ) -> None:
        self.code = code
        self.tag = tag
        self.has_children = has_children
        self.specifications = specifications
        self.codes = tuple(each.form for each in specifications)
        self.format = format
        slots, count = [], 0
        for form in self.codes:
            slots.append(-1 if form in NO_DATA else count)
            count += form not in NO_DATA
        self.slots = tuple(slots)
        self._names: tuple[AttributeDialect, int, dict[str, int]] | None = None
        self._skip: Skip | None = None
        self._uses = 0
        self.structure: struct.Struct | None = None
        """How the data is packed, where all values are plain numbers of fixed size."""
        self.size = -1
        """How many bytes the data has, if that is fixed."""
        self.read: Read = self._prepare
        """(data, position) -> (next position, values). It replaces itself, so look it up each time."""

    def __repr__(self) -> str:
        return f"Abbreviation({self.code}, tag={self.tag:#x}, {len(self.codes)} attributes)"

    def index_of(self, attribute: int) -> int:
        """Which of the attributes has a number: the first one that has; -1 for none."""
        for i, each in enumerate(self.specifications):
            if each.attribute == attribute:
                return i
        return -1

    def form_of(self, attribute: int) -> int:
        """The form of the attribute with a number; 0 for none."""
        i = self.index_of(attribute)
        return self.codes[i] if i >= 0 else 0

    def classes(self, version: int) -> tuple[Class, ...]:
        """The class of each attribute, as far as forms say it."""
        return tuple(class_of(each.form, each.attribute, version) for each in self.specifications)

    def names(self, dialect: AttributeDialect, version: int) -> dict[str, int]:
        """The names of the attributes in a dialect, each with its index, in order; of two the first counts."""
        known = self._names
        if known is None or known[0] is not dialect or known[1] != version:
            found: dict[str, int] = {}
            for i, each in enumerate(self.specifications):
                found.setdefault(
                    dialect.name_of(each.attribute, class_of(each.form, each.attribute, version)), i
                )
            self._names = known = (dialect, version, found)
        return known[2]

    def value(self, index: int, values: tuple[Any, ...]) -> Any:
        """The value of the attribute with an index, for an entry with some values."""
        slot = self.slots[index]
        if slot >= 0:
            return values[slot]
        each = self.specifications[index]
        return each.implicit if each.form == IMPLICIT_CONST else True

    # --- Readers ----------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Find out whether the size is fixed; an unknown form is an error here, when an entry uses it."""
        if self._uses:
            return
        self._uses = 1
        structure = readers.plain_struct(self.codes, self.format)
        if structure is not None:
            self.structure = structure
            self.size = structure.size
            self.read = _structure_reader(structure)
        elif readers.is_known(self.codes, self.format):
            self.read = readers.reader(self.codes, self.format)
        else:
            self.read = self._interpret

    def _prepare(self, data: bytes, position: int) -> tuple[int, tuple[Any, ...]]:
        self.prepare()
        return self.read(data, position)

    def _interpret(self, data: bytes, position: int) -> tuple[int, tuple[Any, ...]]:
        self._uses += 1
        if self._uses > FEW:
            self.read = readers.reader(self.codes, self.format)
        return readers.interpret(self.codes, self.format, data, position)

    @property
    def skip(self) -> Skip:
        """A function that finds the end of the data."""
        if self._skip is None:
            self.prepare()
            size = self.size
            self._skip = (
                readers.skipper(self.codes, self.format) if size < 0 else lambda _, position: position + size
            )
        return self._skip

    def picker(self, attributes: tuple[int, ...]) -> Pick:
        """A function that decodes the values of some attributes; None for one that is not in the data."""
        return readers.picker(self.codes, tuple(map(self.index_of, attributes)), self.format)


def _structure_reader(structure: struct.Struct) -> Read:
    unpack, size = structure.unpack_from, structure.size
    return lambda data, position: (position + size, unpack(data, position))


class AbbreviationTable:
    """The abbreviations of one or more units, by code."""

    __slots__ = ("by_code", "extras", "low", "offset", "problem")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.by_code: dict[int, Abbreviation] = {}
        self.low: list[Abbreviation | None] = [None] * 128
        """The abbreviations whose code is a single byte."""
        self.problem: MalformedFile | None = None
        """Why there may be more abbreviations than could be read."""
        self.extras: dict[Any, Any] = {}
        """What others keep with the table, such as which of its entries an index looks at."""

    def get(self, code: int) -> Abbreviation:
        """The abbreviation with a code."""
        found = self.by_code.get(code)
        if found is None:
            if self.problem is not None:
                raise self.problem
            raise MalformedFile(
                "unknown_abbreviation",
                f"the table at {self.offset:#x} of .debug_abbrev has no abbreviation {code}",
                spec="DWARF 5, 7.5.2",
            )
        return found

    def extra(self, key: Any, make: Callable[[], Any]) -> Any:
        """Something kept with the table, made when it is first asked for."""
        found = self.extras.get(key)
        if found is None:
            found = self.extras[key] = make()
        return found


def read_table(data: bytes, offset: int, format: Format, section: str = ".debug_abbrev") -> AbbreviationTable:
    """Read the abbreviations from an offset to the null entry that ends them, or to the end of the section.

    What is broken in the table does not hide the abbreviations before it.
    """
    if not 0 <= offset < len(data):
        error = MalformedFile(
            "bad_offset",
            f"{section} has {len(data)} bytes, no table is at {offset:#x}",
            spec="DWARF 5, 7.5.3",
        )
        raise error.at(section=section, offset=offset)
    table = AbbreviationTable(offset)
    cursor = Cursor(data, offset, byte_order=format.byte_order, error=MalformedFile, section=section)
    try:
        while cursor.position < cursor.end:
            code = cursor.uleb()
            if not code:
                break
            tag = cursor.uleb()
            has_children = cursor.unsigned(1) == 1
            found = Abbreviation(
                code, tag, has_children=has_children, specifications=_specifications(cursor), format=format
            )
            if code not in table.by_code:
                table.by_code[code] = found
                if code < 128:
                    table.low[code] = found
    except MalformedFile as error:
        table.problem = error
    return table


def _specifications(cursor: Cursor) -> tuple[Specification, ...]:
    start = cursor.position
    found = []
    data = cursor.data
    while True:
        position = cursor.position
        if position + 2 <= cursor.end and data[position] < 0x80 and data[position + 1] < 0x80:
            attribute, form = data[position], data[position + 1]
            cursor.position = position + 2
        else:
            attribute, form = cursor.uleb(), cursor.uleb()
        if not attribute and not form:
            return tuple(found)
        if not attribute or not form:
            raise cursor.fail(
                "bad_abbreviation",
                f"attribute {attribute:#x} with form {form:#x}",
                "DWARF 5, 7.5.3",
                position,
            )
        if len(found) == MAX_ATTRIBUTES:
            raise cursor.fail(
                "limit_exceeded",
                f"an abbreviation has more than {MAX_ATTRIBUTES} attributes",
                "DWARF 5, 2.2",
                start,
            )
        implicit = cursor.sleb() if form == IMPLICIT_CONST else 0
        found.append(Specification(attribute, form, implicit))
