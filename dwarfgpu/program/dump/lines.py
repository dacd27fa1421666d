"""``.debug_line`` as a dump shows it: headers, directories, files with embedded source, and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.dwarf_constants import DW_AT_stmt_list
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.lines.table import line_tables
from dwarfgpu.program.dump.parts import Part, Table
from dwarfgpu.program.files.codelookup import line_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.objfile.lines.header import LineHeader
    from dwarfgpu.objfile.lines.program import Row
    from dwarfgpu.objfile.lines.table import LineTable
    from dwarfgpu.objfile.units.unit import Unit
    from dwarfgpu.program.files.codeobject import CodeObject

_FLAGS = ("is_stmt", "basic_block", "end_sequence", "prologue_end", "epilogue_begin")


def parts(file: CodeObject, section: str, pc: int | None = None) -> Iterator[Part]:
    """The tables of a section; with ``pc`` those that have a row for it, and only these rows."""
    for table in _tables(file, section):
        if table.error is not None:
            file.dwarf.note(table.error)
        rows: Iterable[Row] = table.rows
        if pc is not None:
            rows = [span.row for span in table.at(pc)]
            if not rows:
                continue
        yield _part(table, rows)


def _tables(file: CodeObject, section: str) -> Iterator[LineTable]:
    """The tables in order, those that a unit names with the strings of that unit."""
    dwarf = file.dwarf
    named: dict[int, Unit] = {}
    for unit in (*dwarf.units, *dwarf.split_units):
        try:
            found = unit.root_value(DW_AT_stmt_list)
            start, name = unit.part(".debug_line")
            if found is not None and name == section:
                named.setdefault(start + int(found[1]), unit)
        except DwarfGpuError as error:
            dwarf.note(error)
    source = dwarf.source
    for table in line_tables(
        source.data(section),
        byte_order=source.byte_order,
        address_size=file.image.address_size,
        string_at=_strings(file),
        section=section,
        zero_is_code=not file.image.is_linked,
    ):
        if isinstance(table, DwarfGpuError):
            dwarf.note(table)
            continue
        owner = named.get(table.header.offset)
        known = None if owner is None else line_table(file, owner, of_entries=True)
        yield table if known is None else known


def _strings(file: CodeObject) -> Callable[[str, int], bytes]:
    """The strings of a table that no unit names: those by index cannot be found."""

    def string_at(form: str, value: int) -> bytes:
        section = ".debug_line_str" if form == "line_strp" else ".debug_str"
        return file.dwarf.source.string(section, value)

    return string_at


def _part(table: LineTable, rows: Iterable[Row]) -> Part:
    header = table.header
    return Part(
        header.section,
        header.offset,
        f"line table, version {header.version}",
        _facts(header),
        (
            Table(
                "directories",
                (("directory", "number"), ("path", "text")),
                tuple(enumerate(header.directories, 0 if header.version >= 5 else 1)),
            ),
            Table(
                "files",
                (
                    ("file", "number"),
                    ("directory", "number"),
                    ("name", "text"),
                    ("time", "number"),
                    ("size", "number"),
                    ("md5", "bytes"),
                    ("source", "source"),
                ),
                tuple(
                    (
                        number,
                        each.directory,
                        each.name,
                        each.timestamp or None,
                        each.size or None,
                        each.md5,
                        each.source,
                    )
                    for number, each in table.files()
                ),
            ),
            Table(
                "rows",
                (
                    ("address", "address"),
                    ("line", "number"),
                    ("column", "number"),
                    ("file", "number"),
                    ("isa", "rare"),
                    ("discriminator", "rare"),
                    ("op_index", "rare"),
                    ("flags", "text"),
                ),
                map(_row, rows),
            ),
        ),
    )


def _facts(header: LineHeader) -> dict[str, Any]:
    return {
        "size": header.end - header.offset,
        "format": "DWARF64" if header.offset_size == 8 else "DWARF32",
        "address size": header.address_size,
        "minimum instruction length": header.min_instruction_length,
        "maximum operations per instruction": header.max_operations,
        "default is_stmt": header.default_is_stmt,
        "line base": header.line_base,
        "line range": header.line_range,
        "opcode base": header.opcode_base,
        "standard opcode lengths": list(header.opcode_lengths),
    }


def _row(row: Row) -> tuple[Any, ...]:
    flags = " ".join(name for name in _FLAGS if getattr(row, name))
    return row.address, row.line, row.column, row.file, row.isa, row.discriminator, row.op_index, flags
