"""``.debug_macro`` and ``.debug_macinfo`` as a dump shows them: definitions, and the files that they stand in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.dwarf_constants import DW_AT_GNU_macros, DW_AT_macro_info, DW_AT_macros, DW_AT_stmt_list
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.macros import read_macro_units
from dwarfgpu.program.dump.parts import Columns, Part, Table
from dwarfgpu.program.files.codelookup import line_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dwarfgpu.objfile.macros import MacroUnit
    from dwarfgpu.objfile.units.unit import Unit
    from dwarfgpu.program.files.codeobject import CodeObject

_COLUMNS: Columns = (
    ("offset", "address"),
    ("kind", "text"),
    ("line", "number"),
    ("import", "address"),
    ("text", "text"),
)


def parts(file: CodeObject, section: str) -> Iterator[Part]:
    """The units of a section. What other units include stands where it is, once."""
    source = file.dwarf.source
    owners = _owners(file, section)
    by_lines = {_lines(unit): unit for unit in (*file.dwarf.units, *file.dwarf.split_units)}
    some = next(iter(owners.values()), None) or next(iter(by_lines.values()), None)
    data = source.data(section)
    for found in read_macro_units(
        data, section=section, byte_order=source.byte_order, string_at=_strings(file, some)
    ):
        if isinstance(found, DwarfGpuError):
            file.dwarf.note(found)
            continue
        if found.error is not None:
            file.dwarf.note(found.error)
        owner = owners.get(found.offset) or (None if found.lines is None else by_lines.get(found.lines))
        yield _part(file, found, owner)


def _owners(file: CodeObject, section: str) -> dict[int, Unit]:
    """The units of entries that lead to a unit of macros."""
    found: dict[int, Unit] = {}
    for unit in (*file.dwarf.units, *file.dwarf.split_units):
        start, name = unit.part(section.removesuffix(".dwo"))
        try:
            place = unit.root_number(DW_AT_macros, DW_AT_GNU_macros, DW_AT_macro_info)
        except DwarfGpuError as error:
            file.dwarf.note(error)
            continue
        if place is not None and name == section:
            found.setdefault(start + place, unit)
    return found


def _lines(unit: Unit) -> int | None:
    try:
        return unit.root_number(DW_AT_stmt_list)
    except DwarfGpuError as error:
        unit.dwarf.note(error)
        return None


def _strings(file: CodeObject, unit: Unit | None) -> Callable[[str, int], str]:
    """The strings of macros. Units of macros do not say whose indices they use: all units of a file have one table."""
    dwarf = file.dwarf

    def string_at(form: str, value: int) -> str:
        suffix = "" if unit is None else unit.suffix
        if form == "strp_sup":
            return dwarf.supplementary_file().source.text(".debug_str", value)
        if form == "strx" and unit is not None:
            value = unit.tables.string_offset(value)
        return dwarf.source.text(".debug_str" + suffix, value)

    return string_at


def _part(file: CodeObject, found: MacroUnit, owner: Unit | None) -> Part:
    facts: dict[str, Any] = {
        "version": found.version,
        "format": "DWARF64" if found.offset_size == 8 else "DWARF32",
        "line table": None if found.lines is None else f".debug_line+{found.lines:#x}",
        "unit": None if owner is None else f"{owner.section}+{owner.offset:#x}",
    }
    rows = (
        (
            each.offset,
            each.kind,
            each.line,
            each.unit,
            each.text if each.file is None else _file(file, owner, each.file),
        )
        for each in found.entries
    )
    return Part(found.section, found.offset, "macros", facts, (Table("entries", _COLUMNS, rows),))


def _file(file: CodeObject, owner: Unit | None, number: int) -> str:
    """The name of a file, as far as the line table is known."""
    try:
        table = None if owner is None else line_table(file, owner, of_entries=True)
        path = None if table is None else table.path(number)
    except DwarfGpuError as error:
        file.dwarf.note(error)
        path = None
    return f"file {number}" if path is None else path
