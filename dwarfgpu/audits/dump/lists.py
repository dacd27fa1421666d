"""The dump of the sections of location lists and range lists: each list with the unit that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.dump.parts import SectionPart, Table
from dwarfgpu.dwarf_constants import DW_FORM_indirect, DW_LLE_default_location, DW_LLE_GNU_view_pair
from dwarfgpu.encoding import Format, dwarf_format
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.objfile.info.forms import class_of
from dwarfgpu.objfile.list_encoding import Bounds, ListContext, kind_name, list_tables, raw_list

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.abbrevs import Abbreviation
    from dwarfgpu.objfile.info.debug_file import DebugFile
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.objfile.list_encoding import ListTable, RawEntry
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.code.dumped_expressions import DumpedExpression, ExpressionDecoder


_BOUNDS = "offset:address kind:text operands:text start:address end:address"
_COLUMNS = {"loclist": f"{_BOUNDS} expression:code", "rnglist": _BOUNDS}
_OFFSETS = "index:number offset:address"
_TITLES = {"loclist": "location list", "rnglist": "range list"}


class ListSection:
    """A section of lists of one kind: ``loclist`` or ``rnglist``."""

    def __init__(self, file: CodeObject, section: str, kind: str, code: ExpressionDecoder) -> None:
        self.file = file
        self.section = section
        self.kind = kind
        self.reader = ListDecoder(file, code)
        self.dwarf = file.dwarf
        self.data = file.dwarf.source.data(section)
        self.has_tables = section.removesuffix(".dwo").endswith("lists")

    def parts(self) -> Iterator[SectionPart]:
        """Yield the headers and lists by offset: those that entries or a header refer to, else all in sequence."""
        owners = self._owners()
        parts: dict[int, Any] = {offset: (unit, None) for offset, unit in owners.items()}
        if self.has_tables:
            self._add_tables(parts, owners)
        elif not owners:
            self._add_in_a_row(parts, 0, None)
        for offset in sorted(parts):
            part = parts[offset]
            yield part if isinstance(part, SectionPart) else self._list(offset, *part)

    # --- Finding lists --------------------------------------------------------------------------------------------

    def _owners(self) -> dict[int, Unit]:
        """Return the offsets that entries refer to, each with a unit that has such an entry."""
        owners: dict[int, Unit] = {}
        for unit in dict.fromkeys((*self.dwarf.units, *self.dwarf.compile_units())):
            known: dict[Abbreviation, list[tuple[int, int]]] = {}
            try:
                if unit.tables.list_source(self.section) is not self.dwarf.source:
                    continue
                for _, _, abbreviation, values in unit.entries():
                    places = known.get(abbreviation)
                    if places is None:
                        places = known[abbreviation] = self._lists_in(unit, abbreviation)
                    for index, form in places:
                        value = abbreviation.value(index, values)
                        if form == DW_FORM_indirect:
                            form, value = value.form, value.value  # noqa: PLW2901
                        self._own(owners, unit, form, value)
            except DwarfGpuError as error:
                self.dwarf.note(error)
        return owners

    def _lists_in(self, unit: Unit, abbreviation: Abbreviation) -> list[tuple[int, int]]:
        """Return the attributes of an abbreviation that refer to lists, by index, with their forms."""
        names = abbreviation.names(unit.dialect, unit.version)
        return [
            (index, abbreviation.forms[index])
            for name, index in names.items()
            if name != "DW_AT_GNU_locviews"
            and class_of(abbreviation.forms[index], abbreviation.attributes[index], unit.version, name) == self.kind
        ]

    def _own(self, owners: dict[int, Unit], unit: Unit, form: int, value: int) -> None:
        try:
            section, offset = unit.tables.list_offset(form, value, self.kind)
        except DwarfGpuError as error:
            self.dwarf.note(error)
        else:
            if section == self.section:
                owners.setdefault(offset, unit)

    def _add_tables(self, parts: dict[int, Any], owners: dict[int, Unit]) -> None:
        for table in list_tables(self.data, section=self.section, byte_order=self.dwarf.source.byte_order):
            if isinstance(table, DwarfGpuError):
                self.dwarf.note(table)
                continue
            header = table.header
            mine = [unit for offset, unit in owners.items() if header.base <= offset < header.end]
            unit = mine[0] if mine else None
            offsets: list[int] = []
            try:
                offsets.extend(iter(table))  # not by its length, which a broken file may have wrong
            except DwarfGpuError as error:
                self.dwarf.note(error)
            parts[header.start] = self._header(table, unit, offsets)
            for offset in offsets:
                parts.setdefault(offset, (unit, header.end))
            if not mine and not len(table):
                self._add_in_a_row(parts, header.base, header.end)

    def _add_in_a_row(self, parts: dict[int, Any], start: int, end: int | None) -> None:
        """Add unreferenced lists in sequence, as long as they can be read."""
        position, stop = start, len(self.data) if end is None else end
        while position < stop:
            listed = self.reader.read(self.section, position, None, end)
            parts.setdefault(position, (None, end))
            if listed.error is not None or listed.end <= position:
                return
            position = listed.end

    def _header(self, table: ListTable, unit: Unit | None, offsets: list[int]) -> SectionPart:
        header = table.header
        facts = {
            "size": header.end - header.start,
            "version": header.version,
            "format": dwarf_format(header.offset_size),
            "address size": header.address_size,
            "unit": _place(unit),
        }
        title, table_of_offsets = f"{_TITLES[self.kind]} table", Table("lists", _OFFSETS, tuple(enumerate(offsets)))
        return SectionPart(self.section, header.start, title, facts, (table_of_offsets,))

    def _list(self, offset: int, unit: Unit | None, end: int | None) -> SectionPart:
        listed = self.reader.read(self.section, offset, unit, end)
        facts = {"unit": _place(unit), "base": None if listed.base is None else f"{listed.base:#x}"}
        head = _COLUMNS[self.kind]
        width = len(head.split())
        rows = tuple(
            (entry.offset, entry.kind, ", ".join(map(hex, entry.operands)), entry.start, entry.end, entry.code)[:width]
            for entry in listed.entries
        )
        return SectionPart(self.section, offset, _TITLES[self.kind], facts, (Table("entries", head, rows),))


def _place(unit: Unit | None) -> str | None:
    return None if unit is None else f"{unit.section}+{unit.offset:#x}"


# --- Reading lists ------------------------------------------------------------------------------------------------


@immutable
class DumpedListEntry:
    """One entry of a list. Its addresses are None if it has none or they cannot be resolved."""

    offset: int
    kind: str
    """As the standard calls it; empty before version 5, which has no kinds but a pair that sets the base address."""
    operands: tuple[int, ...]
    start: int | None = None
    end: int | None = None
    is_default: bool = False
    code: DumpedExpression | None = None
    views: tuple[int, int] | None = None
    """GCC's views at start and end, from the entry before."""


@frozen
class ListedList:
    """One list."""

    entries: tuple[DumpedListEntry, ...]
    end: int
    """Where the next one may begin."""
    base: int | None
    error: DwarfGpuError | None
    """Why there may be more entries."""


class ListDecoder:
    """The reader of a file's lists. Errors become problems of the file."""

    def __init__(self, file: CodeObject, code: ExpressionDecoder) -> None:
        self.file = file
        self.code = code
        self.read = lru_cache(maxsize=1)(self._read)
        """Reads the list at an offset of a section; the last one is remembered, because entries may share it."""
        self._context = lru_cache(maxsize=1)(self._context_of)
        self._seen: set[tuple[str, int]] = set()
        self._counts: dict[str, int] = {}
        """How many entries the lists of a section have that were read so far, each list counted once."""

    def _read(self, section: str, offset: int, unit: Unit | None, end: int | None = None) -> ListedList:
        """Read a list; ``unit`` is its unit, if that is known."""
        dwarf = self.file.dwarf if unit is None else unit.dwarf
        data = dwarf.source.data(section) if unit is None else unit.tables.list_data(section)
        context = self._context(unit)
        self._check_room(section, len(data), offset)
        raw, after, error = raw_list(data, offset, section=section, context=context, end=end)
        if (section, offset) not in self._seen:
            self._seen.add((section, offset))
            self._counts[section] = self._counts.get(section, 0) + len(raw)
            self._check_room(section, len(data), offset)
        if error is not None:
            dwarf.note(error)
        entries = tuple(self._entries(raw, section, context, unit))
        return ListedList(entries, after, context.base, error)

    def _check_room(self, section: str, size: int, offset: int) -> None:
        """Raise an error if the lists that were read have more entries than their section has room for."""
        if 2 * self._counts.get(section, 0) > size:  # an entry has at least two bytes
            message = f"the lists of {section} overlap: they have more entries than there is room for"
            limit = MalformedFile("limit_exceeded", message, spec="DWARF 5, 7.28")
            raise limit.at(section=section, offset=offset)

    def _entries(
        self, raw: list[RawEntry], section: str, context: ListContext, unit: Unit | None
    ) -> Iterator[DumpedListEntry]:
        bounds = Bounds(context, section)
        form = Format(context.address_size, 4, context.byte_order) if unit is None else unit.format
        views: tuple[int, int] | None = None
        dwarf: DebugFile | None = self.file.dwarf if unit is None else unit.dwarf
        for entry in raw:
            start: int | None = None
            end: int | None = None
            if entry.kind not in (DW_LLE_default_location, DW_LLE_GNU_view_pair):
                try:
                    start, end = bounds.of(entry.kind, entry.operands) or (None, None)
                except DwarfGpuError as error:
                    if dwarf is not None:  # the first of a list speaks for all
                        dwarf.note(error.at(section=section, offset=entry.offset))
                    dwarf = None
            code = None
            if entry.expression is not None:
                code = self.code.read(entry.expression, form, section, entry.expression_offset, unit)
            name, is_default = kind_name(entry.kind, section), entry.kind == DW_LLE_default_location
            yield DumpedListEntry(entry.offset, name, entry.operands, start, end, is_default, code, views)
            views = (entry.operands[0], entry.operands[1]) if entry.kind == DW_LLE_GNU_view_pair else None

    def _context_of(self, unit: Unit | None) -> ListContext:
        if unit is None:
            return ListContext(self.file.image.address_size, self.file.dwarf.source.byte_order)
        base = None
        try:
            base = unit.low_pc
        except DwarfGpuError as error:
            unit.dwarf.note(error)
        return ListContext(unit.address_size, unit.format.byte_order, base, unit.tables.address)
