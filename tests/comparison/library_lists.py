from collections.abc import Iterator

from dwarfgpu.dwarf_constants import name_of
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.contributions import TableHeader, contributions
from dwarfgpu.objfile.lists.list_encoding import ListContext, RawEntry, list_table_at, raw_list
from tests.comparison.library_opened import Opened, format_name, length
from tests.comparison.rows import Row, header


def raw_entry(file: Opened, entry: RawEntry, form: Format, prefix: str = "") -> str:
    words = [prefix + name_of("DW_LLE", entry.kind).removeprefix("DW_LLE_"), *map(hex, entry.operands)]
    if entry.expression is not None:
        words.append(file.operations(entry.expression, form))
    return " ".join(words).rstrip()


def table_header(found: TableHeader, count: int | None = None) -> str:
    return header(
        length=length(found.start, found.end, found.offset_size),
        format=format_name(found.offset_size),
        version=found.version,
        address_size=found.address_size,
        segment_size=found.segment_size,
        count=count,
    )


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
