from collections.abc import Iterator
from typing import Any

from dwarfgpu.dwarf_constants import name_of
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.contributions import contributions
from dwarfgpu.objfile.indexes.address_index import read_sets
from dwarfgpu.objfile.indexes.debug_names import read_tables
from dwarfgpu.objfile.info.unit_tables import addresses_of
from tests.comparison.library_lists import table_header
from tests.comparison.library_opened import Opened
from tests.comparison.rows import Row, escaped, header

_COLUMNS = {
    ".debug_info": "INFO", ".debug_types": "TYPES", ".debug_abbrev": "ABBREV", ".debug_line": "LINE",
    ".debug_loc": "LOC", ".debug_loclists": "LOCLISTS", ".debug_str_offsets": "STR_OFFSETS", ".debug_macro": "MACRO",
    ".debug_macinfo": "MACINFO", ".debug_rnglists": "RNGLISTS",
}  # fmt: skip


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
                tag=name_of("DW_TAG", entry.tag),
                compile_unit=unit,
                type_unit=type_unit,
                die_offset=entry.die_offset,
                parent=parent,
            ),
        )
