"""The dump of sections: which ones can be shown, by which names they are selected, and how each is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.dump.lists import ListSection
from dwarfgpu.audits.dump.parts import SectionPart, Table
from dwarfgpu.dwarf_constants import DW_AT_stmt_list, name_of
from dwarfgpu.encoding import dwarf_format
from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError
from dwarfgpu.objfile.line_table import LineRow, LineTable, line_tables
from dwarfgpu.objfile.section_source import decode
from dwarfgpu.program.code.code_lookup import free_bytes, line_table
from dwarfgpu.program.code.dumped_expressions import ExpressionDecoder

if TYPE_CHECKING:
    from dwarfgpu.objfile.indexes.debug_names import NameTable
    from dwarfgpu.objfile.indexes.lookup import Dwarf
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.code.frame_rows import DecodedFrameEntry, Entry


# --- Index sections -----------------------------------------------------------------------------------------------

_NAME_COLUMNS = "name:text entry:address tag:text unit:address die:address signature:address parent:address"
_RANGE_COLUMNS = "start:address end:address"
_FRAME_COLUMNS = "location:address entry:address"


def names(file: CodeObject, section: str) -> Iterator[SectionPart]:
    """Yield the name indices of ``.debug_names``."""
    for table in file.dwarf.index.tables:
        facts = {
            "size": table.end - table.start,
            "version": table.format.version,
            "format": dwarf_format(table.format.offset_size),
            "augmentation": table.augmentation or None,
            "units": [f".debug_info+{offset:#x}" for offset in table.compile_units],
            "type units": [f".debug_info+{offset:#x}" for offset in table.type_units] or None,
            "foreign type units": [f"{number:#018x}" for number in table.foreign_types] or None,
            "names": len(table),
        }
        tables = (Table("entries", _NAME_COLUMNS, _name_rows(file.dwarf, table)),)
        yield SectionPart(section, table.start, "name index", facts, tables)


def _name_rows(dwarf: Dwarf, table: NameTable) -> Iterator[tuple[Any, ...]]:
    for index in range(len(table)):
        try:
            name = decode(table.name(index))
            for entry in table.entries(index):
                die = entry.die_offset + (entry.unit or 0)
                tag = name_of("DW_TAG", entry.tag)
                yield name, entry.offset, tag, entry.unit, die, entry.signature, entry.parent
        except DwarfGpuError as error:
            dwarf.note(error)


def address_ranges(file: CodeObject, section: str, pc: int | None = None) -> Iterator[SectionPart]:
    """Yield the sets of ``.debug_aranges``; with ``pc`` those that contain it."""
    from dwarfgpu.objfile.indexes.address_index import read_sets

    source = file.dwarf.source
    for address_set in read_sets(source.data(section), source.byte_order):
        if isinstance(address_set, DwarfGpuError):
            file.dwarf.note(address_set)
            continue
        rows = tuple(address_set.ranges())
        if pc is not None:
            rows = tuple(bounds for bounds in rows if bounds[0] <= pc < bounds[1])
            if not rows:
                continue
        facts, table = {"unit": f".debug_info+{address_set.unit:#x}"}, Table("ranges", _RANGE_COLUMNS, rows)
        yield SectionPart(section, address_set.offset, "address set", facts, (table,))


def frame_header(file: CodeObject, section: str) -> Iterator[SectionPart]:
    """Yield the sorted table of call frame information in ``.eh_frame_hdr``."""
    from dwarfgpu.objfile.call_frames import read_frame_header

    image = file.image
    table = image.section(section)
    if table is None:
        return
    header = read_frame_header(
        table.data, address=table.address, byte_order=image.byte_order, address_size=image.address_size
    )
    if header is None:
        yield SectionPart(section, 0, "index of frames", {"table": "not searchable"})
        return
    facts = {
        "eh_frame": None if header.eh_frame is None else f"{header.eh_frame:#x}",
        "entries": header.count,
        "encoding": f"{header.encoding:#x}",
    }
    table_of_frames = Table("entries", _FRAME_COLUMNS, map(header.row, range(header.count)))
    yield SectionPart(section, 0, "index of frames", facts, (table_of_frames,))


# --- Line tables --------------------------------------------------------------------------------------------------

_DIRECTORY_COLUMNS = "directory:number path:text"
_FILE_COLUMNS = "file:number directory:number name:text time:number size:number md5:bytes source:source"
_ROW_COLUMNS = (
    "address:address line:number column:number file:number isa:rare discriminator:rare op_index:rare flags:text"
)
_FLAGS = ("is_stmt", "basic_block", "end_sequence", "prologue_end", "epilogue_begin")
_flags_of = attrgetter(*_FLAGS)


def line_parts(file: CodeObject, section: str, pc: int | None = None) -> Iterator[SectionPart]:
    """Yield the tables of ``.debug_line``; with ``pc`` those that have a row for it, and only these rows."""
    for table in _line_tables(file, section):
        if table.error is not None:
            file.dwarf.note(table.error)
        rows: Iterable[LineRow] = table.rows
        if pc is not None:
            rows = [span.row for span in table.at(pc)]
            if not rows:
                continue
        yield _line_part(table, rows)


def _line_tables(file: CodeObject, section: str) -> Iterator[LineTable]:
    """Yield the tables in order; a table that a unit names has the strings of that unit."""
    dwarf = file.dwarf
    named: dict[int, Unit] = {}
    for unit in (*dwarf.units, *dwarf.split_units):
        try:
            line_table_offset = unit.root_number(DW_AT_stmt_list)
            start, name = unit.part(".debug_line")
            if line_table_offset is not None and name == section:
                named.setdefault(start + line_table_offset, unit)
        except DwarfGpuError as error:
            dwarf.note(error)
    source = dwarf.source

    def string_at(form: str, value: int) -> bytes:  # of a table without a unit, which has no strings by index
        return source.string(".debug_line_str" if form == "line_strp" else ".debug_str", value)

    for table in line_tables(
        source.data(section),
        byte_order=source.byte_order,
        address_size=file.image.address_size,
        string_at=string_at,
        section=section,
        zero_is_code=not file.image.is_linked,
        free=free_bytes(file, section),
    ):
        if isinstance(table, DwarfGpuError):
            dwarf.note(table)
            continue
        owner = named.get(table.header.offset)
        known = None if owner is None else line_table(file, owner, of_entries=True)
        yield table if known is None else known


def _line_part(table: LineTable, rows: Iterable[LineRow]) -> SectionPart:
    header = table.header
    facts = {
        "size": header.end - header.offset,
        "format": dwarf_format(header.offset_size),
        "address size": header.address_size,
        "minimum instruction length": header.min_instruction_length,
        "maximum operations per instruction": header.max_operations,
        "default is_stmt": header.default_is_stmt,
        "line base": header.line_base,
        "line range": header.line_range,
        "opcode base": header.opcode_base,
        "standard opcode lengths": list(header.opcode_lengths),
    }
    directories = tuple(enumerate(header.directories, 0 if header.version >= 5 else 1))
    files = tuple(
        (number, file.directory, file.name, file.timestamp or None, file.size or None, file.md5, file.source)
        for number, file in table.files()
    )
    tables = (
        Table("directories", _DIRECTORY_COLUMNS, directories),
        Table("files", _FILE_COLUMNS, files),
        Table("rows", _ROW_COLUMNS, map(_line_row, rows)),
    )
    return SectionPart(header.section, header.offset, f"line table, version {header.version}", facts, tables)


def _line_row(row: LineRow) -> tuple[Any, ...]:
    flags = " ".join(compress(_FLAGS, _flags_of(row)))
    return row.address, row.line, row.column, row.file, row.isa, row.discriminator, row.op_index, flags


# --- Sections -----------------------------------------------------------------------------------------------------

ALL = "all"
ENTRIES = frozenset((".debug_info", ".debug_types"))
FRAMES = frozenset((".debug_frame", ".eh_frame"))
_LISTS = {
    **dict.fromkeys((".debug_loc", ".debug_loclists"), "loclist"),
    **dict.fromkeys((".debug_ranges", ".debug_rnglists"), "rnglist"),
}
_TABLES = {".debug_names": names, ".eh_frame_hdr": frame_header}
_BY_ADDRESS = {".debug_aranges": address_ranges, ".debug_line": line_parts}
"""The sections that can be searched for an address."""
_SHOWN = ENTRIES | FRAMES | _LISTS.keys() | _TABLES.keys() | _BY_ADDRESS.keys()
_REST = "llvm-readelf and llvm-dwarfdump print the other sections"


def base_name(section: str) -> str:
    """Return the name of a section without the suffix of split sections."""
    return section.removesuffix(".dwo")


def find_sections(file: CodeObject, names: Iterable[str]) -> list[str]:
    """Return the sections that names select: ``.debug_line``, ``debug_line``, ``line``, or all that can be shown."""
    images = dict.fromkeys((file.image, file.debug.image))
    known = dict.fromkeys(section.name for image in images for section in image.sections)
    shown = [section for section in known if base_name(section) in _SHOWN]
    chosen: dict[str, None] = {}
    for name in names:
        if name == ALL:
            chosen.update(dict.fromkeys(sorted(shown, key=lambda section: base_name(section) not in ENTRIES)))
            continue
        meant = [name, f".{name}", f".debug_{name}"]
        matches = [section for section in shown if section in meant or base_name(section) in meant]
        if not matches:
            hint = f"there are {', '.join(shown)}; {_REST}" if shown else _REST
            raise NotFound("no_section", f"{file.name} has no section {name!r} that can be shown", hint=hint)
        chosen.update(dict.fromkeys(matches))
    return list(chosen)


class SectionDump:
    """The sections of one file other than its entries; with ``pc``, only the parts about an address."""

    def __init__(self, file: CodeObject, dialect: str | None = None, pc: int | None = None) -> None:
        self.file = file
        self.code = ExpressionDecoder(file, dialect)
        self.pc = pc
        if dialect is not None:
            file.frames.use_dialect(dialect)

    def frames(self, section: str) -> Iterator[DecodedFrameEntry]:
        """Yield the entries of a section of call frame information."""
        frames = self.file.frames
        indexes = [index for index in frames.indexes if index.section.name == section]
        entries: Iterable[Entry | DwarfGpuError]
        if self.pc is None:
            entries = (entry for index in indexes for entry in index.section.entries())
        else:
            entries = [fde for index in indexes for fde in index.fdes_at(self.pc)]
            if not entries:
                raise self._nothing(section)
        for entry in entries:
            if isinstance(entry, DwarfGpuError):
                self.file.dwarf.note(entry)
                continue
            listed = frames.listed(entry)
            if listed.error is not None:
                self.file.dwarf.note(listed.error)
            yield listed

    def parts(self, section: str) -> Iterator[SectionPart]:
        """Yield the parts of a section. What cannot be read becomes a problem of the file."""
        count = 0
        try:
            for part in self._parts(section):
                count += 1
                yield part
        except DwarfGpuError as error:
            if isinstance(error, (NotFound, UsageError)):
                raise
            self.file.dwarf.note(error)
        if self.pc is not None and not count:
            raise self._nothing(section)

    def _nothing(self, section: str) -> NotFound:
        return NotFound("no_address", f"{section} of {self.file.name} has nothing at {self.pc:#x}")

    def _parts(self, section: str) -> Iterator[SectionPart]:
        name = base_name(section)
        if name in _BY_ADDRESS:
            return _BY_ADDRESS[name](self.file, section, self.pc)
        if self.pc is not None:
            hint = "search for addresses in entries, lines, aranges or call frame information"
            raise UsageError(f"{section} cannot be searched for an address", hint=hint)
        if name in _LISTS:
            return ListSection(self.file, section, _LISTS[name], self.code).parts()
        return _TABLES[name](self.file, section)
