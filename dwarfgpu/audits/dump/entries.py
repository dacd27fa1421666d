"""The dump of entries, unit by unit: all of them, or those of a selection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import getitem
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.dump.lists import DumpedListEntry, ListDecoder
from dwarfgpu.audits.noting import noted
from dwarfgpu.dwarf_constants import name_of, names, number_of
from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError
from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.objfile.info.dies import VALUE_KINDS, Attribute, Die
from dwarfgpu.objfile.info.scopes import SCOPES, covers, in_scopes, scopes_of, split_name
from dwarfgpu.program.code.code_lookup import line_table, tidy
from dwarfgpu.program.code.completion_index import did_you_mean
from dwarfgpu.program.code.dumped_expressions import DumpedExpression, ExpressionDecoder
from dwarfgpu.program.code.file_summary import kind_of_unit
from dwarfgpu.program.types.declaration import EntryTypes, entry_name
from dwarfgpu.progress import counted

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.abbrevs import Abbreviation
    from dwarfgpu.objfile.info.forms import Class
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject


MAX_DEPTH = 1 << 30
"""Deeper than any entry."""


@frozen
class ShownUnit:
    """The header of a unit, and the dialects that its content has been read with."""

    file: str
    section: str
    offset: int
    size: int
    version: int
    kind: str
    offset_size: int
    address_size: int
    abbreviations: int
    name: str | None
    signature: int | None
    dwo_id: int | None
    attributes: str
    """The dialect of its attributes."""
    reason: str
    """Why this dialect was chosen."""
    augmentation: str | None
    expressions: str
    """The dialect of its expressions."""
    target: str
    """The target whose names registers and address spaces have."""


@immutable
class ShownEntry:
    """One entry."""

    section: str
    offset: int
    parent: int | None
    """The offset of the entry that owns it, both in the section."""
    depth: int
    """How far below the first entry shown of its unit."""
    tag: str
    attributes: tuple[ShownAttribute, ...]


Item: TypeAlias = "ShownUnit | ShownEntry"


@frozen
class EntrySelection:
    """The entries to show, each with its descendants. An empty field selects all."""

    names: tuple[str, ...] = ()
    """Names as in the source, with or without scopes, or linkage names."""
    tags: frozenset[int] = frozenset()
    entries: tuple[str, ...] = ()
    """Offsets: ``0x2a`` in .debug_info, or ``SECTION+0x2a``."""
    pc: int | None = None
    """Select only functions and blocks with code at this address."""
    depth: int | None = None
    """How many levels below an entry are shown."""
    sections: tuple[str, ...] = ()

    @property
    def is_filter(self) -> bool:
        return bool(self.names or self.tags)


def tag_number(text: str) -> int:
    """Return the number of a tag: ``DW_TAG_variable`` or ``variable``."""
    name = text if text.startswith("DW_TAG_") else f"DW_TAG_{text}"
    number = number_of(name)
    if number is not None:
        return number
    from difflib import get_close_matches

    short = text.removeprefix("DW_TAG_")
    tags = [known.removeprefix("DW_TAG_") for known in names("DW_TAG").values()]
    hint = "write a tag as DW_TAG_subprogram, or subprogram"
    if close := get_close_matches(short, tags, n=3):
        hint = f"did you mean {' or '.join(close)}?"
    raise UsageError(f"there is no tag {text!r}", hint=hint)


class EntryDump:
    """The entries of one file. An unreadable entry becomes a problem of the file and hides no other entry."""

    def __init__(self, file: CodeObject, selection: EntrySelection, dialect: str | None = None) -> None:
        self.file = file
        self.selection = selection
        self.code = ExpressionDecoder(file, dialect)
        self.shown = 0
        self.last: Die | None = None

    def __iter__(self) -> Iterator[Item]:
        if not self.file.has_dwarf:
            message = f"{self.file.name} has no debugging information entries: it has no .debug_info"
            raise UsageError(message, kind="no_dwarf", hint="list what it has with `dwarfgpu info`")
        current: Unit | None = None
        for root in counted(self._roots(), "units"):
            try:
                for entry in self._entries(root):
                    if root.unit is not current:
                        current = root.unit
                        yield self._head(current)
                    self.shown += 1
                    yield entry
            except DwarfGpuError as error:
                root.unit.dwarf.note(error)
        if not self.shown:
            self._check_something_was_meant()

    # --- Roots ----------------------------------------------------------------------------------------------------

    def _roots(self) -> Iterator[Die]:
        wanted = self.selection
        if wanted.entries:
            yield from map(self._entry_at, wanted.entries)
        elif wanted.pc is not None:
            yield from self.file.dwarf.index.functions_at(wanted.pc)[-1:]
        elif wanted.names:
            yield from self._named()
        else:
            yield from filter(None, map(_root, self.units()))

    def _named(self) -> Iterator[Die]:
        """Yield the outermost entries with the names of the selection, or the root of a unit that has to be read."""
        wanted = self.selection
        names = dict.fromkeys(split_name(name)[-1].encode("utf-8", "surrogateescape") for name in wanted.names)
        for unit, dies in self.file.dwarf.index.entries_with(names):
            if wanted.sections and unit.section not in wanted.sections:
                continue
            if dies is None or wanted.depth is not None:  # what is within another one is shown by itself, too
                yield from filter(None, [_root(unit)])
                continue
            end = 0
            for die in sorted(set(dies), key=lambda die: die.offset):
                try:
                    if die.offset < end or not self._matches(die):
                        continue
                    yield die
                    end = self.last.offset + 1 if self.last is not None and self.last.unit is unit else end
                except DwarfGpuError as error:
                    unit.dwarf.note(error)

    def units(self) -> Iterator[Unit]:
        """Yield all units of the selected sections, with the split unit of each skeleton if it is present."""
        dwarf, sections = self.file.dwarf, self.selection.sections
        seen: set[Unit] = set()
        for unit in dwarf.units:
            both = [unit]
            try:
                if unit.is_skeleton:
                    both.append(dwarf.split_unit(unit))
            except DwarfGpuError as error:
                dwarf.note(error)
            seen.update(both)
            yield from (shown_unit for shown_unit in both if not sections or shown_unit.section in sections)
        for unit in dwarf.compile_units():
            if unit not in seen and (not sections or unit.section in sections):
                yield unit

    def _entry_at(self, text: str) -> Die:
        """Return the entry at ``0x2a`` or ``.debug_types+0x2a``."""
        section, plus, number = text.rpartition("+")
        try:
            offset = int(number, 0)
        except ValueError:
            message = f"{text!r} is not the offset of an entry"
            raise UsageError(message, hint="write an offset such as 0x2a, or .debug_types+0x2a") from None
        units = list(self.units())
        if not plus:
            section = ".debug_info" if any(unit.section == ".debug_info" for unit in units) else ""
        for unit in units:
            if unit.section == section or (not section and unit.section.startswith(".debug_info")):
                inner = offset - unit.offset
                if 0 <= inner < unit.header.end - unit.offset:
                    if unit.tree.contains(inner):
                        return unit.die_at(inner)
                    place = f"{unit.section}+{unit.offset + inner:#x}"
                    around = unit.tree.entry_around(inner)
                    hint = None if around is None else f"the entry around it begins at {unit.offset + around:#x}"
                    raise NotFound("no_entry", f"{self.file.name}: no entry begins at {place}", hint=hint)
        message = f"{self.file.name} has no unit at {section or '.debug_info'}+{offset:#x}"
        raise NotFound("no_entry", message, hint="list the units with `dwarfgpu info --units`")

    # --- Entries --------------------------------------------------------------------------------------------------

    def _entries(self, root: Die) -> Iterator[ShownEntry]:
        wanted, unit = self.selection, root.unit
        values = UnitValues(self.file, unit, self.code, wanted.pc)
        limit = wanted.depth if wanted.depth is not None else MAX_DEPTH
        is_filter, has_pc = wanted.is_filter, wanted.pc is not None
        owners: list[int] = []
        # the depths of those above it that are shown with what is below
        tops = [] if is_filter else [0]
        pruned = MAX_DEPTH  # the depth of a block that is left out, with all below it
        for offset, depth, abbreviation, encoded in unit.entries(root.offset):
            die, place = Die(unit, offset, abbreviation, encoded), unit.offset + offset
            del owners[depth:]
            owners.append(place)
            if depth > pruned:
                continue
            pruned = depth if has_pc and self._is_elsewhere(die) else MAX_DEPTH
            if pruned == depth:
                continue
            if is_filter:
                while tops and depth <= tops[-1]:
                    tops.pop()
                if noted(unit, partial(self._matches, die), False):
                    tops.append(depth)
            if not tops or depth - tops[-1] > limit:
                continue
            # the outermost that shows it
            top = tops[0] if depth - tops[0] <= limit else next(top for top in tops if depth - top <= limit)
            self.last = die
            owner = owners[-2] if depth else self._owner(die)
            tag = name_of("DW_TAG", abbreviation.tag)
            yield ShownEntry(unit.section, place, owner, depth - top, tag, values.shown(die))

    def _is_elsewhere(self, die: Die) -> bool:
        """Return whether an entry is a function or block without code at the selected address."""
        pc = self.selection.pc
        if pc is None or die.tag not in SCOPES:
            return False
        ranges = die.ranges()
        return bool(ranges) and not covers(ranges, pc)

    def _matches(self, die: Die) -> bool:
        wanted = self.selection
        if wanted.tags and die.tag not in wanted.tags:
            return False
        return not wanted.names or any(_is_called(die, name) for name in wanted.names)

    def _owner(self, die: Die) -> int | None:
        if die.offset == die.unit.first:
            return None
        owner = die.parent()
        return None if owner is None else owner.section_offset

    def _head(self, unit: Unit) -> ShownUnit:
        header = unit.header
        kind = "skeleton" if unit.is_skeleton else kind_of_unit(unit)
        return ShownUnit(
            *(unit.dwarf.name, unit.section, unit.offset, header.end - unit.offset, unit.version, kind),
            *(unit.offset_size, unit.address_size, header.abbreviations),
            noted(unit, lambda: unit.name, None),
            header.signature,
            noted(unit, lambda: unit.dwo_id, None),
            *(unit.dialect.name, unit.dialect_reason),
            noted(unit, lambda: unit.augmentation, None),
            *(self.code.dialect.name, self.code.target.name),
        )

    def _check_something_was_meant(self) -> None:
        """Raise an error for a selection that nothing matches, unless broken entries have been reported already."""
        wanted, name = self.selection, self.file.name
        if wanted.pc is not None:
            message = f"{name}: no function has code at {wanted.pc:#x}"
            raise NotFound("no_address", message, hint="show what is there with `dwarfgpu info --pc`")
        if wanted.is_filter:
            asked = [f"is called {' or '.join(wanted.names)}"] if wanted.names else []
            if wanted.tags:
                asked.append(f"is a {' or '.join(name_of('DW_TAG', tag) for tag in sorted(wanted.tags))}")
            hint = did_you_mean([self.file], wanted.names[0]) if wanted.names else None
            raise NotFound("no_entry", f"{name} has no entry that {' and '.join(asked)}", hint=hint)


def _root(unit: Unit) -> Die | None:
    return noted(unit, lambda: unit.root, None)


_NAMED = (
    *(dw.DW_AT_name, dw.DW_AT_linkage_name, dw.DW_AT_MIPS_linkage_name),
    *(dw.DW_AT_abstract_origin, dw.DW_AT_specification),
)


def _is_called(die: Die, name: str) -> bool:
    """Return whether a name refers to an entry: as its linkage name, or as its name in the scopes that the name has."""
    known = die.abbreviation.attributes
    if not any(number in known for number in _NAMED):
        return False
    *scopes, last = split_name(name)
    if die.name == last:
        return not scopes or in_scopes(tuple(scopes), scopes_of(die))
    return die.linkage_name == name


# --- Attributes ---------------------------------------------------------------------------------------------------


@frozen
class Lists:
    """A location list or range list. With a selected address, a location list has only the entries that apply.

    A long list that many attributes share is shown with the first of them.
    """

    section: str
    offset: int
    entries: tuple[DumpedListEntry, ...]
    pc: int | None = None
    shown_with: int | None = None
    """The offset of the entry that has the list, if it is not repeated here."""


@frozen
class Reference:
    """A reference to an offset of another section."""

    section: str
    offset: int


Detail: TypeAlias = "DumpedExpression | Lists | Reference"
ReadAttribute: TypeAlias = "Callable[[Attribute], tuple[Any, str | None, Detail | None]]"
"""Returns the value as it is shown, a note and a detail."""


@immutable(eq=False)
class ShownAttribute:
    """One attribute. Attributes of several entries that look the same may be the same object."""

    name: str
    form: str
    kind: str
    """The class of the value."""
    value: Any
    """A number, a text, bytes or True; for a reference the offset in the section of the entry."""
    note: str | None = None
    """The meaning of a number: a name of the text, a file, an entry, an address space."""
    detail: Detail | None = None
    error: DwarfGpuError | None = None
    """Why the value cannot be read further."""


MAX_KNOWN = 1 << 12
"""How many values of an attribute are remembered: entries have the same ones again and again."""


class AttributeLook(dict[Any, ShownAttribute]):
    """What an attribute of an abbreviation looks like, by its value; a new value is read when it is looked up."""

    __slots__ = ("form", "index", "is_remembered", "kind", "name", "note", "number", "read", "values_of_unit")

    def __init__(self, attribute: Attribute, values_of_unit: UnitValues) -> None:
        self.name, self.kind = attribute.name, attribute.value_class
        self.form, self.number, self.index = attribute.form_name, attribute.form, attribute.index
        self.values_of_unit = values_of_unit
        self.note, self.read = values_of_unit.readers(self.name, self.kind)
        self.is_remembered = self.name != "DW_AT_high_pc" and self.kind not in ("loclist", "rnglist")
        """Whether the value says everything: neither its entry nor what was shown before counts."""

    def __missing__(self, value: Any) -> ShownAttribute:
        shown, note, detail, problem = value, None, None, None
        try:
            if self.note is not None:
                note = self.note(value)
            else:
                attribute = Attribute(self.values_of_unit.die, self.index, self.number, value)
                shown, note, detail = self.read(attribute)
        except DwarfGpuError as error:
            problem = error
        found = ShownAttribute(self.name, self.form, self.kind, shown, note, detail, problem)
        if self.is_remembered and problem is None and (type(detail) is not DumpedExpression or detail.error is None):
            if len(self) >= MAX_KNOWN:
                self.clear()
            self[value] = found
        return found


LONG_LIST = 32
"""A list of more entries than this is shown once."""
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
_OLD_POINTED = {**_POINTED, "rnglistsptr": ".debug_ranges"}
"""Where DW_AT_GNU_ranges_base of version 4 leads."""


class UnitValues:
    """The values of the attributes of one unit. With ``pc``, location lists are those at that address."""

    def __init__(self, file: CodeObject, unit: Unit, code: ExpressionDecoder, pc: int | None = None) -> None:
        self.file = file
        self.unit = unit
        self.code = code
        self.pc = pc
        self.lists = ListDecoder(file, code)
        self._long: dict[tuple[str, int], Lists] = {}
        """What attributes show that share a long list with an earlier one."""
        self._referred: dict[tuple[int, Any], tuple[int, str]] = {}
        """The offset and name of the target of each reference."""
        self._types = EntryTypes()
        self._looks: dict[Abbreviation, list[AttributeLook]] = {}
        self.die: Die
        """The entry whose attributes are read."""
        self._paths: dict[int, str | None] = {}
        self._show: dict[str, ReadAttribute] = {
            "string": lambda attribute: (unit.text(attribute.form, attribute.value), None, None),
            "address": lambda attribute: (unit.address(attribute.form, attribute.value), None, None),
            "flag": lambda attribute: (bool(attribute.value), None, None),
            "reference": self._reference,
            "exprloc": self._code,
            "loclist": partial(self._list, "loclist"),
            "rnglist": partial(self._list, "rnglist"),
        }

    def shown(self, die: Die) -> tuple[ShownAttribute, ...]:
        """Return the attributes of an entry as they are shown. An error while reading a value is shown with it."""
        self.die, abbreviation = die, die.abbreviation
        if dw.DW_FORM_indirect in abbreviation.forms:
            return tuple([AttributeLook(each, self)[each.value] for each in die.attributes])
        looks = self._looks.get(abbreviation)
        if looks is None:
            looks = self._looks[abbreviation] = [AttributeLook(each, self) for each in die.attributes]
        return tuple(map(getitem, looks, abbreviation.all_values(die.values)))

    def readers(self, name: str, kind: Class) -> tuple[Callable[[Any], str | None] | None, ReadAttribute]:
        """Return what notes the meaning of a value that is shown as it is, or None; and what reads all others."""
        if kind == "constant":
            return self._note(name), self._high_pc
        if name == "DW_AT_GNU_locviews" and kind == "loclist":
            return None, self._views
        return None, self._show.get(kind, self._other)

    # --- By class -------------------------------------------------------------------------------------------------

    def _note(self, name: str) -> Callable[[Any], str | None] | None:
        """Return what notes the meaning of a constant, if that does not depend on its entry."""
        if name in VALUE_KINDS:
            return names(VALUE_KINDS[name]).get
        if name in _FILES:
            return self._path
        if name in _SPACES:
            return partial(self._space, is_class=name == "DW_AT_address_class")
        return None if name == "DW_AT_high_pc" else lambda _value: None

    def _space(self, value: int, *, is_class: bool) -> str | None:
        number = self.unit.dialect.space_of_class(value) if is_class else value
        space = None if number is None else self.code.target.space(number)
        return None if space is None else space.name

    def _high_pc(self, attribute: Attribute) -> tuple[Any, str | None, Detail | None]:
        low = attribute.die.number(dw.DW_AT_low_pc)
        return attribute.value, None if low is None else f"{low.address() + attribute.value:#x}", None

    def _path(self, number: int) -> str | None:
        def read() -> str | None:
            table = line_table(self.file, self.unit, of_entries=True)
            path = None if table is None else table.path(number, self.unit.directory or "")
            return None if path is None else tidy(path)

        if number not in self._paths:
            self._paths[number] = noted(self.unit, read, None)
        return self._paths[number]

    def _reference(self, attribute: Attribute) -> tuple[Any, str | None, Detail | None]:
        key = attribute.form, attribute.value
        if key not in self._referred:
            die = self.unit.refer(*key)
            self._referred[key] = (
                die.section_offset,
                noted(die.unit, lambda: entry_name(die, self._types), die.tag_name),
            )
        return (*self._referred[key], None)

    def _code(self, attribute: Attribute) -> tuple[Any, str | None, Detail | None]:
        block = attribute.block()
        code = self.code.read(block.data, self.unit.format, block.section, block.offset, self.unit)
        return block.data, None, code

    def _list(self, kind: str, attribute: Attribute) -> tuple[Any, str | None, Detail | None]:
        section, offset = self.unit.tables.list_offset(attribute.form, attribute.value, kind)
        lists = self._long.get((section, offset))
        if lists is None:
            listed = self.lists.read(section, offset, self.unit)
            entries, pc = listed.entries, None
            if kind == "loclist":
                entries, pc = tuple(entry for entry in entries if entry.code is not None), self.pc
            if pc is not None:
                if listed.error is not None:
                    raise listed.error
                bounded = tuple(
                    entry
                    for entry in entries
                    if entry.start is not None and entry.end is not None and entry.start <= pc < entry.end
                )
                entries = bounded or tuple(entry for entry in entries if entry.is_default)  # A.2.5.5
            lists = Lists(section, offset, entries, pc)
            if len(listed.entries) > LONG_LIST:
                is_kept = lists.pc is not None and len(lists.entries) <= LONG_LIST
                there = Lists(lists.section, lists.offset, (), lists.pc, attribute.die.section_offset)
                self._long[lists.section, lists.offset] = lists if is_kept else there
        return attribute.value, None, lists

    def _views(self, attribute: Attribute) -> tuple[Any, str | None, Detail | None]:
        """Show an offset in a section of location lists at which there is no list, but the views of one (GNU)."""
        return attribute.value, None, Reference(*attribute.list_place())

    def _other(self, attribute: Attribute) -> tuple[Any, str | None, Detail | None]:
        """Show blocks, offsets in other sections, and attributes of no known class."""
        kind = attribute.value_class
        if kind == "macptr":
            section = _MACRO_SECTIONS.get(attribute.name, ".debug_macro")
        else:
            section = (_OLD_POINTED if self.unit.version < 5 else _POINTED).get(kind, "")
        if not section:
            return attribute.value, None, None
        part, full = self.unit.part(section)
        return attribute.value, None, Reference(full, part + int(attribute.value))
