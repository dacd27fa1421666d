"""What dwarfgpu says about a file, as rows: with the reader, and with the listing of expressions."""

import contextlib
from collections.abc import Iterator
from typing import Any

from dwarfgpu import dialects
from dwarfgpu.dwarf_constants import DW_FORM_addr, DW_FORM_loclistx, DW_FORM_rnglistx, DW_FORM_string, name_of, names
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError, MissingContext
from dwarfgpu.expr.instruction import Expression, decode
from dwarfgpu.expr.listing import Line, lines
from dwarfgpu.objfile.contributions import TableHeader, contributions
from dwarfgpu.objfile.indexes.address_index import read_sets
from dwarfgpu.objfile.indexes.debug_names import read_tables
from dwarfgpu.objfile.indexes.lookup import Dwarf
from dwarfgpu.objfile.info import forms
from dwarfgpu.objfile.info.dies import VALUE_KINDS, Attribute, Die
from dwarfgpu.objfile.info.unit import Unit
from dwarfgpu.objfile.info.unit_tables import addresses_of
from dwarfgpu.objfile.line_table import FileEntry, LineHeader, LineTable, line_table, line_tables
from dwarfgpu.objfile.list_encoding import ListContext, RawEntry, list_table_at, raw_list, read_list
from dwarfgpu.program.code.code_object import CodeObject
from tests.comparison.rows import Row, escaped, header


def operations_of(expression: Expression) -> str:
    """An expression as it stands in a row: its listing, with the operands as decimal numbers."""
    return "; ".join(map(_operation, lines(expression)))


def _operation(line: Line) -> str:
    """One line of the listing: operations in an operation follow it, a block has its length before it."""
    if line.name.startswith("("):
        return f"<{line.bytes.hex(' ')}>"
    name, *words = line.text.replace("(", "").replace(")", "").replace(";", "").split()
    found: list[str] = [name]
    for word in words:
        if word.startswith("DW_OP_"):
            found[-1] += ";"
            found.append(word)
        elif name == "DW_OP_implicit_value":
            data = bytes.fromhex(word.removeprefix("0x"))
            found += map(str, [len(data), *data])
        else:
            try:
                found.append(str(int(word, 0)))
            except ValueError:
                found.append(word)
    return " ".join(found)


class Opened:
    """One file, alone: split files beside it are not looked for."""

    def __init__(self, file: CodeObject, attributes: str | None = None) -> None:
        self.image = file.image
        self.dwarf = Dwarf(file.sections, attributes=attributes)
        self.source = self.dwarf.source
        self.dialect = dialects.get("llvm-user")  # which llvm-dwarfdump reads, whatever the file
        self.locations: set[tuple[str, int]] = set()
        """Where the lists begin that attributes name."""
        self.has_views = False
        """Whether location views stand between the lists (DW_AT_GNU_locviews)."""
        self._line_tables: dict[tuple[str, int], LineTable | None] = {}
        for unit in self.dwarf.units:
            if unit.is_skeleton:
                with contextlib.suppress(MissingContext):  # the split unit is in another file
                    self.dwarf.split_unit(unit)

    def operations(self, data: bytes, form: Format) -> str:
        return operations_of(decode(data, self.dialect, form))

    def string_at(self, form: str, value: int) -> bytes:
        return self.source.string(".debug_line_str" if form == "line_strp" else ".debug_str", value)

    def line_table(self, unit: Unit) -> LineTable | None:
        """The table that a unit names, or the one in its own file."""
        found = unit.root_value(0x10)  # DW_AT_stmt_list
        if found is None:
            return None
        part, section = unit.part(".debug_line")
        key = section, part + int(found[1])
        if key not in self._line_tables:
            data = self.source.data(section)
            try:
                self._line_tables[key] = line_table(
                    data, key[1], byte_order=self.source.byte_order, string_at=self.string_at, section=section
                )
            except DwarfGpuError:
                self._line_tables[key] = None
        return self._line_tables[key]


def format_name(offset_size: int) -> str:
    return "DWARF64" if offset_size == 8 else "DWARF32"


def length(start: int, end: int, offset_size: int) -> int:
    """What the header says about the length of what begins at ``start``."""
    return end - start - (12 if offset_size == 8 else 4)


FLAGS = ("is_stmt", "basic_block", "end_sequence", "prologue_end", "epilogue_begin")


def line_rows(file: Opened, section: str) -> Iterator[Row]:
    tables = line_tables(
        file.source.data(section), byte_order=file.source.byte_order, address_size=file.image.address_size,
        string_at=file.string_at, section=section)  # fmt: skip
    for table in tables:
        if isinstance(table, DwarfGpuError):
            yield Row("lines", section, table.kind)
            continue
        where = f"{section}+{table.header.offset:#x}"
        yield Row("lines", f"{where} header", _header(table.header))
        for number, path in enumerate(table.header.directories, 0 if table.header.version >= 5 else 1):
            yield Row("lines", f"{where} directory {number}", escaped(path.encode()))
        for number, entry in table.files():
            yield Row("lines", f"{where} file {number}", _file(entry))
        for number, row in enumerate(table.rows):
            words = [f"{row.address:#x} {row.file}:{row.line}:{row.column}"]
            words += [flag for flag in FLAGS if getattr(row, flag)]
            words += [
                f"{name}={getattr(row, name)}" for name in ("isa", "discriminator", "op_index") if getattr(row, name)
            ]
            yield Row("lines", f"{where} row {number}", " ".join(words))
        if table.error is not None:
            yield Row("lines", f"{where} error", table.error.kind)


def _header(found: LineHeader) -> str:
    before = 4 if found.offset_size == 4 else 12
    fixed = 2 + (2 if found.version >= 5 else 0) + found.offset_size
    return header(
        length=length(found.offset, found.end, found.offset_size), format=format_name(found.offset_size),
        version=found.version, address_size=found.address_size if found.version >= 5 else None,
        header_length=found.program - found.offset - before - fixed, instruction=found.min_instruction_length,
        operations=found.max_operations, is_stmt=int(found.default_is_stmt), line_base=str(found.line_base),
        line_range=found.line_range, opcode_base=found.opcode_base, lengths=",".join(map(str, found.opcode_lengths)),
    )  # fmt: skip


def _file(found: FileEntry) -> str:
    words = [escaped(found.name.encode()), f"directory={found.directory}"]
    words += [f"time={found.timestamp}"] if found.timestamp else []
    words += [f"size={found.size}"] if found.size else []
    words += [f"md5={found.md5.hex()}"] if found.md5 is not None else []
    words += [f"source={escaped(found.source.encode())}"] if found.source is not None else []
    return " ".join(words)


def raw_entry(file: Opened, entry: RawEntry, form: Format, prefix: str = "") -> str:
    words = [prefix + name_of("DW_LLE", entry.kind).removeprefix("DW_LLE_"), *map(hex, entry.operands)]
    if entry.expression is not None:
        words.append(file.operations(entry.expression, form))
    return " ".join(words).rstrip()


def table_header(found: TableHeader, count: int | None = None) -> str:
    return header(
        length=length(found.start, found.end, found.offset_size), format=format_name(found.offset_size),
        version=found.version, address_size=found.address_size, segment_size=found.segment_size, count=count,
    )  # fmt: skip


def list_section_rows(file: Opened, section: str) -> Iterator[Row]:
    """A section of version 5: its tables, each with its header, its offsets and its lists."""
    data, order = file.source.data(section), file.source.byte_order
    for table in contributions(data, order, section):
        if isinstance(table, DwarfGpuError):
            yield Row("list sections", section, table.kind)
            continue
        where = f"{section}+{table.start:#x}"
        yield Row("list sections", f"{where} header", table_header(table, count=table.count))
        for number, offset in enumerate(list_table_at(data, table.start, section=section, byte_order=order)):
            yield Row("list sections", f"{where} offset {number}", f"{offset - table.base:#x}")
        form = Format(table.address_size, table.offset_size, order, table.version)
        yield from _table_lists(file, section, data, table, form)


def _table_lists(file: Opened, section: str, data: bytes, table: TableHeader, form: Format) -> Iterator[Row]:
    context = ListContext(form.address_size, form.byte_order)
    position = table.base + table.count * table.offset_size
    if section.startswith(".debug_rnglists"):
        while position < table.end:
            entries, position, error = raw_list(data, position, section=section, context=context, end=table.end)
            for entry in entries:
                yield Row("list sections", f"{section}+{entry.offset:#x}", raw_entry(file, entry, form))
            if error is not None:
                yield Row("list sections", f"{section}+{position:#x}", error.kind)
                return
    else:
        yield from _location_lists(file, section, data, position, table.end, form)


def old_list_rows(file: Opened, section: str) -> Iterator[Row]:
    """A section from before version 5: nothing but lists."""
    data = file.source.data(section)
    if not data:
        return
    units = [unit for unit in (*file.dwarf.units, *file.dwarf.split_units) if unit.version < 5]
    form = units[0].format if units else Format(8, 4, file.source.byte_order, 4)
    if section != ".debug_ranges":
        yield from _location_lists(file, section, data, 0, len(data), form)
        return
    context = ListContext(form.address_size, form.byte_order)
    position = 0
    while position < len(data):
        start = position
        entries, position, error = raw_list(data, start, section=section, context=context)
        for number, entry in enumerate(entries):
            words = _pair(entry, form)
            yield Row("list sections", f"{section}+{start:#x} #{number}", " ".join(map(hex, words)))
        if error is not None:
            yield Row("list sections", f"{section}+{start:#x} error", error.kind)


def _location_lists(file: Opened, section: str, data: bytes, start: int, end: int, form: Format) -> Iterator[Row]:
    """Lists one behind the other; where views stand between them, only those that an attribute names."""
    context = ListContext(form.address_size, form.byte_order)
    named = sorted(offset for name, offset in file.locations if name == section and start <= offset < end)
    position = start
    while position < end and (named or not file.has_views):
        if file.has_views:
            position = named.pop(0)
        first = position
        entries, position, error = raw_list(data, first, section=section, context=context, end=end)
        for number, entry in enumerate(entries):
            shown = raw_entry(file, entry, form)
            if section == ".debug_loc":
                expression = file.operations(entry.expression or b"", form)
                shown = f"pair {' '.join(map(hex, _pair(entry, form)))} {expression}".rstrip()
            yield Row("list sections", f"{section}+{first:#x} #{number}", shown)
        if error is not None:
            yield Row("list sections", f"{section}+{first:#x} error", error.kind)


def _pair(entry: RawEntry, form: Format) -> tuple[int, int]:
    """An entry from before version 5 as the pair that it is."""
    if len(entry.operands) == 1:
        return (1 << 8 * form.address_size) - 1, entry.operands[0]
    return entry.operands[0], entry.operands[1]


_COLUMNS = {
    ".debug_info": "INFO", ".debug_types": "TYPES", ".debug_abbrev": "ABBREV", ".debug_line": "LINE",
    ".debug_loc": "LOC", ".debug_loclists": "LOCLISTS", ".debug_str_offsets": "STR_OFFSETS", ".debug_macro": "MACRO",
    ".debug_macinfo": "MACINFO", ".debug_rnglists": "RNGLISTS"}  # fmt: skip


def address_rows(file: Opened) -> Iterator[Row]:
    source = file.source
    data = source.data(".debug_addr")
    if data and any(unit.version < 5 and unit.root_value(0x2133) for unit in file.dwarf.units):
        size = file.image.address_size
        for number in range(len(data) // size):
            found = int.from_bytes(data[number * size : (number + 1) * size], source.byte_order)
            yield Row("tables", f".debug_addr [{number}]", f"{found:#x}")
    else:
        for each in contributions(data, source.byte_order, ".debug_addr"):
            if isinstance(each, DwarfGpuError):
                yield Row("tables", ".debug_addr", each.kind)
                continue
            where = f".debug_addr+{each.start:#x}"
            yield Row("tables", f"{where} header", table_header(each))
            for number, found in enumerate(addresses_of(data, each, source.byte_order)):
                yield Row("tables", f"{where} [{number}]", f"{found:#x}")


def string_offset_rows(file: Opened) -> Iterator[Row]:
    done = set()
    for unit in (*file.dwarf.units, *file.dwarf.split_units):
        place = unit.tables.string_offsets_place()
        if place is None or (unit.suffix, place[1]) in done:
            continue
        done.add((unit.suffix, place[1]))
        for number, offset in enumerate(unit.tables.string_offsets):
            where = place[1] + number * unit.offset_size
            yield Row("tables", f".debug_str_offsets{unit.suffix}+{where:#x}", f"{offset:#x}")


def package_rows(file: Opened, section: str) -> Iterator[Row]:
    if not file.source.data(section):
        return
    is_types = section == ".debug_tu_index"
    for unit in file.dwarf.split_units:
        if unit.header.is_type_unit == is_types:
            number = unit.header.signature if is_types else unit.dwo_id
            parts = unit.contributions or {}
            shown = [f"{_COLUMNS[name]}={start:#x}..{start + size:#x}" for name, (start, size) in parts.items()]
            yield Row("tables", f"{section} {number:#x}", " ".join(sorted(shown)))


def address_set_rows(file: Opened) -> Iterator[Row]:
    for number, found in enumerate(read_sets(file.source.data(".debug_aranges"), file.source.byte_order)):
        where = f".debug_aranges {number}"
        if isinstance(found, DwarfGpuError):
            yield Row("names", where, found.kind)
            continue
        yield Row("names", where, f"unit={found.unit:#x}")
        for index, (start, end) in enumerate(found.ranges()):
            yield Row("names", f"{where} #{index}", f"{start:#x}..{end:#x}")


def name_rows(file: Opened) -> Iterator[Row]:
    for table in read_tables(file.source):
        if isinstance(table, DwarfGpuError):
            yield Row("names", ".debug_names", table.kind)
            continue
        where = f".debug_names+{table.start:#x}"
        yield Row("names", f"{where} Version", str(table.format.version))
        yield Row("names", f"{where} Augmentation", table.augmentation)
        yield Row("names", f"{where} Name count", str(len(table)))
        yield Row("names", f"{where} Bucket count", str(len(table.buckets)))
        columns = (("CU", table.compile_units), ("LocalTU", table.type_units), ("ForeignTU", table.foreign_types))
        for name, column in columns:
            for number, offset in enumerate(column):
                yield Row("names", f"{where} {name}[{number}]", f"{offset:#x}")
        for number in range(len(table)):
            yield from _name(file, table, f"{where} name {number}", number)


def _name(file: Opened, table: Any, where: str, number: int) -> Iterator[Row]:
    text = table.name(number)
    assert {entry.offset for entry in table.find(text)} >= {entry.offset for entry in table.entries(number)}
    yield Row("names", where, f"{table.string_offsets[number]:#x} {escaped(text)}")
    if table.hashes:
        yield Row("names", f"{where} hash", f"{table.hashes[number]:#x}")
    for entry in table.entries(number):
        parent = "none" if entry.parent is None else hex(entry.parent)
        type_unit = None
        if entry.unit in tuple(table.type_units) and entry.unit not in tuple(table.compile_units):
            type_unit = tuple(table.type_units).index(entry.unit)
        elif entry.signature is not None:
            type_unit = len(table.type_units) + tuple(table.foreign_types).index(entry.signature)
        unit = None
        if type_unit is None and len(table.compile_units) > 1:
            unit = tuple(table.compile_units).index(entry.unit)
        yield Row(
            "names",
            f"{where} entry {entry.offset:#x}",
            header(
                tag=name_of("DW_TAG", entry.tag), compile_unit=unit, type_unit=type_unit, die_offset=entry.die_offset,
                parent=parent))  # fmt: skip


def unit_rows(file: Opened, section: str) -> Iterator[Row]:
    for unit in file.dwarf.units_of(section):
        yield Row("units", f"{section}+{unit.offset:#x}", _unit(unit))
        for die in unit.dies():
            yield from _entry(file, die)
    broken = [error for error in file.dwarf.problems if error.where.section == section]
    if broken:
        raise broken[0]


def _unit(unit: Unit) -> str:
    found = unit.header
    return header(
        length=length(found.offset, found.end, unit.offset_size), format=format_name(unit.offset_size),
        version=found.version, type=name_of("DW_UT", found.unit_type),
        abbreviations=unit.part(".debug_abbrev")[0] + found.abbreviations, address_size=unit.address_size,
        signature=found.signature, type_offset=found.type_offset if found.is_type_unit else None, id=found.dwo_id,
        next=found.end)  # fmt: skip


def _entry(file: Opened, die: Die) -> Iterator[Row]:
    where = f"{die.unit.section}+{die.section_offset:#x}"
    parent = die.parent()
    inside = f" in {parent.section_offset:#x}" if parent is not None else ""
    children = "*" if die.has_children else ""
    yield Row("dies", where, f"{die.tag_name} [{die.abbreviation.code}]{children}{inside}")
    for attribute in die.attributes:
        place = f"{where} {attribute.name}"
        if attribute.value_class == "exprloc":
            yield Row("dies", place, attribute.form_name)
            yield Row("expressions", place, file.operations(attribute.block().data, die.unit.format))
        else:
            yield Row("dies", place, f"{attribute.form_name} {_value(file, attribute)}".rstrip())
            if attribute.value_class in ("loclist", "rnglist"):
                yield from _list_of(file, attribute, place)


def _value(file: Opened, attribute: Attribute) -> str:
    kind, found = attribute.value_class, attribute.value
    if kind == "string":
        return _text(file, attribute)
    if kind == "reference":
        leads = f" -> {attribute.reference().section_offset:#x}" if attribute.form in forms.REF_UNIT else ""
        return f"{found:#x}{leads}"
    if kind == "address":
        return _address(file, attribute)
    if kind == "block":
        return bytes(found).hex(" ")
    if kind in ("loclist", "rnglist"):
        index = f"[{found}] " if attribute.form in (DW_FORM_loclistx, DW_FORM_rnglistx) else ""
        return f"{index}{attribute.list_place()[1]:#x}"
    if kind == "flag":
        return hex(int(found))
    return _constant(file, attribute, attribute.die.unit, found)


def _text(file: Opened, attribute: Attribute) -> str:
    try:
        shown = escaped(attribute.string())
    except MissingContext:  # in a supplementary file
        return hex(attribute.value)
    if attribute.form == DW_FORM_string:
        return shown
    index = attribute.value
    return f"[{index}] {shown}" if attribute.form in forms.STRING_INDEX else f"{index:#x} {shown}"


def _address(file: Opened, attribute: Attribute) -> str:
    found, index = attribute.value, ""
    if isinstance(found, tuple):
        index = f"[{found[0]}] + {found[1]:#x} "
    elif attribute.form != DW_FORM_addr:
        index = f"[{found}] "
    try:
        return f"{index}{attribute.address():#x}"
    except MissingContext:  # in the file of the skeleton
        return f"{index}?"


def _constant(file: Opened, attribute: Attribute, unit: Unit, found: int) -> str:
    if attribute.name in ("DW_AT_decl_file", "DW_AT_call_file"):
        table = file.line_table(unit)
        path = None if table is None else table.path(found, unit.directory or "")
        return hex(found) if path is None else escaped(path.encode())
    if attribute.form_name == "DW_FORM_data16":
        return found.to_bytes(16, unit.format.byte_order).hex()
    return (names(VALUE_KINDS[attribute.name]).get(found) if attribute.name in VALUE_KINDS else None) or hex(found)


def _list_of(file: Opened, attribute: Attribute, place: str) -> Iterator[Row]:
    """The entries of the list of an attribute: as addresses, and as they are encoded where those are not known."""
    unit = attribute.die.unit
    section, offset = attribute.list_place()
    if attribute.name == "DW_AT_GNU_locviews":
        file.has_views = True
        return
    context = ListContext(unit.address_size, unit.format.byte_order, unit.low_pc, unit.tables.address)
    try:
        data = unit.tables.list_data(section)
    except MissingContext:  # the ranges of a split unit of version 4 are in the file of its skeleton
        return
    if attribute.value_class == "loclist":
        file.locations.add((section, offset))
        found: Any = read_list(data, offset, section=section, context=context)
        raw, _, _ = raw_list(data, offset, section=section, context=context)
    else:
        found = read_list(data, offset, section=section, context=context)
        raw, _, _ = raw_list(data, offset, section=section, context=context)
    if isinstance(found.error, MissingContext):
        for number, each in enumerate(raw):
            prefix = "DW_LLE_" if attribute.value_class == "loclist" else "DW_RLE_"
            yield Row("lists", f"{place} #{number}", raw_entry(file, each, unit.format, prefix))
        return
    if found.error is not None:
        yield Row("lists", f"{place} error", found.error.kind)
    for number, each in enumerate(found.entries):
        shown = "default" if getattr(each, "default", False) else f"{each.start:#x}..{each.end:#x}"
        if attribute.value_class == "loclist":
            shown = f"{shown} {file.operations(each.expression, unit.format)}".rstrip()
        yield Row("lists", f"{place} #{number}", shown)


def rows_of(code_object: CodeObject, attributes: str | None = None) -> Iterator[Row]:
    """Everything. Where a section cannot be read, its error is a row, and the other sections follow."""
    file = Opened(code_object, attributes)
    for section in (".debug_info", ".debug_types", ".debug_info.dwo", ".debug_types.dwo"):
        yield from _guarded("dies", section, unit_rows(file, section))
    for suffix in ("", ".dwo"):
        for name in (".debug_loclists", ".debug_rnglists"):
            yield from _guarded("list sections", name + suffix, list_section_rows(file, name + suffix))
        for name in (".debug_loc", ".debug_ranges"):
            yield from _guarded("list sections", name + suffix, old_list_rows(file, name + suffix))
        yield from _guarded("lines", f".debug_line{suffix}", line_rows(file, f".debug_line{suffix}"))
    yield from _guarded("names", ".debug_aranges", address_set_rows(file))
    yield from _guarded("names", ".debug_names", name_rows(file))
    yield from _guarded("tables", ".debug_addr", address_rows(file))
    yield from _guarded("tables", ".debug_str_offsets", string_offset_rows(file))
    for section in (".debug_cu_index", ".debug_tu_index"):
        yield from _guarded("tables", section, package_rows(file, section))


def _guarded(aspect: str, section: str, rows: Iterator[Row]) -> Iterator[Row]:
    try:
        yield from rows
    except DwarfGpuError as error:
        yield Row(aspect, section, f"{error.error_class} {error.kind}")
