"""Attributes as a dump shows them: what is encoded, and what it means in this file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import frozen

from dwarfgpu.dwarf_constants import DW_AT_low_pc, DW_FORM_indirect, names
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.entries.values import VALUE_KINDS
from dwarfgpu.program.dump.code import Code, CodeReader, entry_name
from dwarfgpu.program.dump.listed import ListedEntry, ListReader
from dwarfgpu.program.files.codelookup import line_table, tidy

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.objfile.entries.abbrevs import Abbreviation
    from dwarfgpu.objfile.entries.forms import Class
    from dwarfgpu.objfile.entries.values import Attribute
    from dwarfgpu.objfile.units.unit import Unit
    from dwarfgpu.program.files.codeobject import CodeObject


@frozen
class Lists:
    """A location list or range list. With an address asked for, of a location list only what applies there."""

    section: str
    offset: int
    entries: tuple[ListedEntry, ...]
    pc: int | None = None


@frozen
class Place:
    """What begins at an offset of another section."""

    section: str
    offset: int


Detail: TypeAlias = "Code | Lists | Place"


@frozen
class ShownAttribute:
    """One attribute."""

    name: str
    form: str
    kind: str
    """The class of the value."""
    value: Any
    """A number, a text, bytes or True; for a reference the offset in the section of the entry."""
    note: str | None = None
    """What a number stands for: a name of the text, a file, an entry, an address space."""
    detail: Detail | None = None
    error: DwarfGpuError | None = None
    """Why the value cannot be read further."""


_SPACES = frozenset(("DW_AT_address_class", "DW_AT_LLVM_address_space"))
_FILES = frozenset(("DW_AT_decl_file", "DW_AT_call_file"))
_POINTED = {
    "addrptr": ".debug_addr",
    "lineptr": ".debug_line",
    "loclistsptr": ".debug_loclists",
    "rnglistsptr": ".debug_rnglists",
    "stroffsetsptr": ".debug_str_offsets",
}
_MACRO_SECTIONS = {"DW_AT_macro_info": ".debug_macinfo"}
_OLD_POINTED = {"rnglistsptr": ".debug_ranges"}
"""Where DW_AT_GNU_ranges_base of version 4 leads."""
_NO_LIST = "DW_AT_GNU_locviews"
"""An offset in a section of location lists at which there is no list, but the views of one (GNU)."""


def _applying(entries: tuple[ListedEntry, ...], pc: int) -> tuple[ListedEntry, ...]:
    """The entries that apply at a program location: the bounded ones that hold it, else the default ones (A.2.5.5)."""
    bounded = tuple(
        each
        for each in entries
        if each.start is not None and each.end is not None and each.start <= pc < each.end
    )
    return bounded or tuple(each for each in entries if each.is_default)


class UnitValues:
    """Shows the attributes of one unit. With ``pc``, location lists are those at that address."""

    def __init__(self, file: CodeObject, unit: Unit, code: CodeReader, pc: int | None = None) -> None:
        self.file = file
        self.unit = unit
        self.code = code
        self.pc = pc
        self.lists = ListReader(file, code)
        self._referred: dict[tuple[int, Any], tuple[int, str]] = {}
        """What references lead to: where it is, and what it is called."""
        self._looks: dict[tuple[Abbreviation, int], tuple[str, str, Class]] = {}
        """Name, form and class of the attributes of an abbreviation, which do not depend on the entry."""
        self._paths: dict[int, str | None] = {}
        self._show: dict[str, Callable[[Attribute], tuple[Any, str | None, Detail | None]]] = {
            "string": lambda each: (each.text(), None, None),
            "address": lambda each: (each.address(), None, None),
            "constant": self._constant,
            "flag": lambda each: (bool(each.value), None, None),
            "reference": self._reference,
            "exprloc": self._code,
            "loclist": self._locations,
            "rnglist": self._ranges,
        }

    def shown(self, attribute: Attribute) -> ShownAttribute:
        """An attribute. That it means nothing is no reason to stop: the error stands with it."""
        name, form, kind = self._look(attribute)
        value, note, detail, problem = attribute.value, None, None, None
        try:
            show = self._show.get(kind, self._other)
            value, note, detail = show(attribute)
        except DwarfGpuError as error:
            problem = error
        return ShownAttribute(name, form, kind, value, note, detail, problem)

    def _look(self, attribute: Attribute) -> tuple[str, str, Class]:
        abbreviation, index = attribute.die.abbreviation, attribute.index
        found = self._looks.get((abbreviation, index))
        if found is None:
            found = attribute.name, attribute.form_name, attribute.value_class
            if abbreviation.forms[index] != DW_FORM_indirect:
                self._looks[abbreviation, index] = found
        return found

    # --- By class -------------------------------------------------------------------------------------------------

    def _constant(self, attribute: Attribute) -> tuple[Any, str | None, Detail | None]:
        name, value = attribute.name, attribute.value
        note = None
        if name in VALUE_KINDS:
            note = names(VALUE_KINDS[name]).get(value)
        elif name in _FILES:
            note = self._path(value)
        elif name in _SPACES:
            space = self.code.target.space(value)
            note = None if space is None else space.name
        elif name == "DW_AT_high_pc":
            low = attribute.die.number(DW_AT_low_pc)
            note = None if low is None else f"{low.address() + value:#x}"
        return value, note, None

    def _path(self, number: int) -> str | None:
        if number not in self._paths:
            try:
                table = line_table(self.file, self.unit, of_entries=True)
                path = None if table is None else table.path(number, "")
            except DwarfGpuError as error:
                self.unit.dwarf.note(error)
                path = None
            self._paths[number] = None if path is None else tidy(path)
        return self._paths[number]

    def _reference(self, attribute: Attribute) -> tuple[Any, str | None, Detail | None]:
        key = attribute.form, attribute.value
        if key not in self._referred:
            die = attribute.reference()
            try:
                name = entry_name(die)
            except DwarfGpuError as error:
                die.unit.dwarf.note(error)
                name = die.tag_name
            self._referred[key] = die.section_offset, name
        return (*self._referred[key], None)

    def _code(self, attribute: Attribute) -> tuple[Any, str | None, Detail | None]:
        block = attribute.block()
        code = self.code.read(block.data, self.unit.format, block.section, block.offset, self.unit)
        return block.data, None, code

    def _locations(self, attribute: Attribute) -> tuple[Any, str | None, Detail | None]:
        section, offset = attribute.list_place()
        if attribute.name == _NO_LIST:
            return attribute.value, None, Place(section, offset)
        found = self.lists.read(section, offset, "loclist", self.unit)
        entries = tuple(each for each in found.entries if each.code is not None)
        if self.pc is not None:
            if found.error is not None:
                raise found.error
            entries = _applying(entries, self.pc)
        return attribute.value, None, Lists(section, offset, entries, self.pc)

    def _ranges(self, attribute: Attribute) -> tuple[Any, str | None, Detail | None]:
        section, offset = attribute.list_place()
        found = self.lists.read(section, offset, "rnglist", self.unit)
        return attribute.value, None, Lists(section, offset, found.entries)

    def _other(self, attribute: Attribute) -> tuple[Any, str | None, Detail | None]:
        """Blocks, offsets in other sections, and what has no known class."""
        kind = attribute.value_class
        if kind == "macptr":
            section = _MACRO_SECTIONS.get(attribute.name, ".debug_macro")
        else:
            section = (_OLD_POINTED if self.unit.version < 5 else _POINTED).get(kind) or _POINTED.get(
                kind, ""
            )
        if not section:
            return attribute.value, None, None
        part, full = self.unit.part(section)
        return attribute.value, None, Place(full, part + int(attribute.value))
