"""The sections of location lists and range lists as a dump shows them: each list with the unit that it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.dwarf_constants import DW_FORM_indirect
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.entries.forms import class_of
from dwarfgpu.objfile.lists.encoding import list_tables
from dwarfgpu.program.dump.listed import ListReader
from dwarfgpu.program.dump.parts import Columns, Part, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.objfile.entries.abbrevs import Abbreviation
    from dwarfgpu.objfile.lists.encoding import ListTable
    from dwarfgpu.objfile.units.unit import Unit
    from dwarfgpu.program.dump.code import CodeReader
    from dwarfgpu.program.dump.listed import ListedEntry
    from dwarfgpu.program.files.codeobject import CodeObject

_COLUMNS: dict[str, Columns] = {
    "loclist": (
        ("offset", "address"),
        ("kind", "text"),
        ("operands", "text"),
        ("start", "address"),
        ("end", "address"),
        ("expression", "code"),
    ),
    "rnglist": (
        ("offset", "address"),
        ("kind", "text"),
        ("operands", "text"),
        ("start", "address"),
        ("end", "address"),
    ),
}
_TITLES = {"loclist": "location list", "rnglist": "range list"}


class ListSection:
    """One section of lists of a kind: ``loclist`` or ``rnglist``."""

    def __init__(self, file: CodeObject, section: str, kind: str, code: CodeReader) -> None:
        self.file = file
        self.section = section
        self.kind = kind
        self.reader = ListReader(file, code)
        self.dwarf = file.dwarf
        self.data = file.dwarf.source.data(section)
        self.has_tables = section.removesuffix(".dwo").endswith("lists")

    def parts(self) -> Iterator[Part]:
        """The headers and lists by offset: those that entries or a header lead to, else all in a row."""
        owners = self._owners()
        found: dict[int, Part | tuple[Unit | None, int | None]] = {}
        for offset, unit in owners.items():
            found[offset] = unit, None
        if self.has_tables:
            self._add_tables(found, owners)
        elif not owners:
            self._add_in_a_row(found, 0, None)
        for offset in sorted(found):
            each = found[offset]
            yield each if isinstance(each, Part) else self._list(offset, *each)

    # --- Where lists are ------------------------------------------------------------------------------------------

    def _owners(self) -> dict[int, Unit]:
        """The offsets that entries lead to, each with a unit that has such an entry."""
        found: dict[int, Unit] = {}
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
                        self._own(
                            found,
                            unit,
                            *((value.form, value.value) if form == DW_FORM_indirect else (form, value)),
                        )
            except DwarfGpuError as error:
                self.dwarf.note(error)
        return found

    def _lists_in(self, unit: Unit, abbreviation: Abbreviation) -> list[tuple[int, int]]:
        """The attributes of an abbreviation that lead to lists, by index, with their forms."""
        names = abbreviation.names(unit.dialect, unit.version)
        return [
            (index, abbreviation.forms[index])
            for name, index in names.items()
            if name != "DW_AT_GNU_locviews"
            and class_of(abbreviation.forms[index], abbreviation.attributes[index], unit.version, name)
            == self.kind
        ]

    def _own(self, found: dict[int, Unit], unit: Unit, form: int, value: int) -> None:
        try:
            section, offset = unit.tables.list_offset(form, value, self.kind)
        except DwarfGpuError as error:
            self.dwarf.note(error)
        else:
            if section == self.section:
                found.setdefault(offset, unit)

    def _add_tables(self, found: dict[int, Any], owners: dict[int, Unit]) -> None:
        for table in list_tables(self.data, section=self.section, byte_order=self.dwarf.source.byte_order):
            if isinstance(table, DwarfGpuError):
                self.dwarf.note(table)
                continue
            header = table.header
            mine = [unit for offset, unit in owners.items() if header.base <= offset < header.end]
            unit = mine[0] if mine else None
            found[header.start] = self._header(table, unit)
            for index in range(len(table)):
                try:
                    found.setdefault(table[index], (unit, header.end))
                except DwarfGpuError as error:
                    self.dwarf.note(error)
                    break
            if not mine and not len(table):
                self._add_in_a_row(found, header.base, header.end)

    def _add_in_a_row(self, found: dict[int, Any], start: int, end: int | None) -> None:
        """Lists that nothing leads to: one behind the other, as long as they can be read."""
        position, stop = start, len(self.data) if end is None else end
        while position < stop:
            listed = self.reader.read(self.section, position, self.kind, None, end)
            found.setdefault(position, (None, end))
            if listed.error is not None or listed.end <= position:
                return
            position = listed.end

    # --- What is shown --------------------------------------------------------------------------------------------

    def _header(self, table: ListTable, unit: Unit | None) -> Part:
        header = table.header
        facts = {
            "size": header.end - header.start,
            "version": header.version,
            "format": "DWARF64" if header.offset_size == 8 else "DWARF32",
            "address size": header.address_size,
            "unit": None if unit is None else f"{unit.section}+{unit.offset:#x}",
        }
        offsets = []
        for index in range(len(table)):
            try:
                offsets.append((index, table[index]))
            except DwarfGpuError:  # noted where the lists are looked for
                break
        columns: Columns = (("index", "number"), ("offset", "address"))
        return Part(
            self.section,
            header.start,
            f"{_TITLES[self.kind]} table",
            facts,
            (Table("lists", columns, tuple(offsets)),),
        )

    def _list(self, offset: int, unit: Unit | None, end: int | None) -> Part:
        found = self.reader.read(self.section, offset, self.kind, unit, end)
        facts = {
            "unit": None if unit is None else f"{unit.section}+{unit.offset:#x}",
            "base": None if found.base is None else f"{found.base:#x}",
        }
        width = len(_COLUMNS[self.kind])
        rows = tuple(_row(each)[:width] for each in found.entries)
        table = Table("entries", _COLUMNS[self.kind], rows)
        return Part(self.section, offset, _TITLES[self.kind], facts, (table,))


def _row(entry: ListedEntry) -> tuple[Any, ...]:
    operands = ", ".join(f"{operand:#x}" for operand in entry.operands)
    return entry.offset, entry.kind, operands, entry.start, entry.end, entry.code
