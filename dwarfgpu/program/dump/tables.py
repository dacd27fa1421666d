"""Sections of tables as a dump shows them: abbreviations, addresses, strings, indices of names and addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.dwarf_constants import DW_AT_addr_base, DW_AT_GNU_addr_base, DW_FORM_implicit_const, name_of
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.addresses import address_table, address_tables
from dwarfgpu.objfile.entries.forms import class_of, form_name
from dwarfgpu.objfile.source import decode
from dwarfgpu.program.dump.parts import Columns, Part, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.objfile.dwarf import Dwarf
    from dwarfgpu.objfile.entries.abbrevs import Abbreviation
    from dwarfgpu.objfile.indexes.debug_names import NameTable
    from dwarfgpu.objfile.units.unit import Unit
    from dwarfgpu.program.files.codeobject import CodeObject

_STRINGS: Columns = (("index", "number"), ("offset", "address"), ("string", "text"))


def _units(dwarf: Dwarf) -> tuple[Unit, ...]:
    return (*dwarf.units, *dwarf.split_units)


def _place(unit: Unit) -> str:
    return f"{unit.section}+{unit.offset:#x}"


def abbreviations(file: CodeObject, section: str) -> Iterator[Part]:
    """``.debug_abbrev``: the tables that units use, each once."""
    users: dict[int, list[Unit]] = {}
    for unit in _units(file.dwarf):
        start, name = unit.part(".debug_abbrev")
        if name == section:
            users.setdefault(start + unit.header.abbreviations, []).append(unit)
    for offset in sorted(users):
        first = users[offset][0]
        try:
            table = first.table
        except DwarfGpuError as error:
            file.dwarf.note(error)
            continue
        columns: Columns = (("attribute", "text"), ("form", "text"), ("value", "number"))
        listed = tuple(
            Table(_declaration(each), columns, tuple(_attributes(first, each))) for each in table.all()
        )
        if table.problem is not None:
            file.dwarf.note(table.problem)
        facts = {"units": [_place(unit) for unit in users[offset]]}
        yield Part(section, offset, "abbreviations", facts, listed)


def _declaration(abbreviation: Abbreviation) -> str:
    children = "with children" if abbreviation.has_children else "no children"
    return f"{abbreviation.code}  {name_of('DW_TAG', abbreviation.tag)}  {children}"


def _attributes(unit: Unit, abbreviation: Abbreviation) -> Iterator[tuple[str, str, int | None]]:
    for index, (number, form) in enumerate(zip(abbreviation.attributes, abbreviation.forms, strict=True)):
        name = unit.dialect.name_of(number, class_of(form, number, unit.version))
        value = abbreviation.value(index, ()) if form == DW_FORM_implicit_const else None
        yield name, form_name(form), value


# --- Addresses and strings ----------------------------------------------------------------------------------------


def addresses(file: CodeObject, section: str) -> Iterator[Part]:
    """``.debug_addr``: the tables. Before version 5 they have no header, and only units tell where they begin."""
    dwarf = file.dwarf
    data, order = dwarf.source.data(section), dwarf.source.byte_order
    bases: dict[int, Unit] = {}
    for unit in dwarf.units:
        try:
            found = unit.root_number(DW_AT_addr_base, DW_AT_GNU_addr_base)
        except DwarfGpuError as error:
            dwarf.note(error)
            continue
        if found is not None:
            bases.setdefault(found, unit)
    old = {base: unit for base, unit in bases.items() if unit.version < 5}
    tables: Iterable[Any] = address_tables(data, order, section)
    if old:
        tables = (
            address_table(
                data, base, version=4, address_size=unit.address_size, byte_order=order, section=section
            )
            for base, unit in sorted(old.items())
        )
    for table in tables:
        if isinstance(table, DwarfGpuError):
            dwarf.note(table)
            continue
        owner = bases.get(table.base)
        facts = {"address size": table.address_size, "unit": None if owner is None else _place(owner)}
        columns: Columns = (("index", "number"), ("address", "address"))
        rows = enumerate(table)
        yield Part(section, table.base, "address table", facts, (Table("addresses", columns, rows),))


def string_offsets(file: CodeObject, section: str) -> Iterator[Part]:
    """``.debug_str_offsets``: the tables of units, each with the strings."""
    dwarf = file.dwarf
    seen: set[int] = set()
    for unit in _units(dwarf):
        if section != ".debug_str_offsets" + unit.suffix:
            continue
        try:
            place = unit.tables.string_offsets_place()
            offsets = unit.tables.string_offsets if place is not None else ()
        except DwarfGpuError as error:
            dwarf.note(error)
            continue
        if place is None or place[1] in seen:
            continue
        seen.add(place[1])
        rows = _indexed_strings(unit, offsets)
        yield Part(
            section, place[1], "string offsets", {"unit": _place(unit)}, (Table("strings", _STRINGS, rows),)
        )


def _indexed_strings(unit: Unit, offsets: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    for index, offset in enumerate(offsets):
        try:
            text = unit.source.text(".debug_str" + unit.suffix, offset)
        except DwarfGpuError as error:
            unit.dwarf.note(error)
            text = None
        yield index, offset, text


def strings(file: CodeObject, section: str) -> Iterator[Part]:
    """``.debug_str`` and ``.debug_line_str``: every string."""
    data = file.dwarf.source.data(section)
    columns: Columns = (("offset", "address"), ("string", "text"))
    yield Part(section, 0, "strings", {"size": len(data)}, (Table("strings", columns, _strings(data)),))


def _strings(data: bytes) -> Iterator[tuple[int, str]]:
    position = 0
    while position < len(data):
        end = data.find(b"\0", position)
        stop = len(data) if end < 0 else end
        yield position, decode(data[position:stop])
        position = stop + 1


# --- Indices ------------------------------------------------------------------------------------------------------


def names(file: CodeObject, section: str) -> Iterator[Part]:
    """``.debug_names``: the name indices of the producer."""
    for table in file.dwarf.index.tables:
        facts = {
            "size": table.end - table.start,
            "version": table.format.version,
            "format": "DWARF64" if table.format.offset_size == 8 else "DWARF32",
            "augmentation": table.augmentation or None,
            "units": [f".debug_info+{offset:#x}" for offset in table.compile_units],
            "type units": [f".debug_info+{offset:#x}" for offset in table.type_units] or None,
            "foreign type units": [f"{number:#018x}" for number in table.foreign_types] or None,
            "names": len(table),
        }
        columns: Columns = (
            ("name", "text"),
            ("entry", "address"),
            ("tag", "text"),
            ("unit", "address"),
            ("die", "address"),
            ("signature", "address"),
            ("parent", "address"),
        )
        yield Part(
            section,
            table.start,
            "name index",
            facts,
            (Table("entries", columns, _name_rows(file.dwarf, table)),),
        )


def _name_rows(dwarf: Dwarf, table: NameTable) -> Iterator[tuple[Any, ...]]:
    for index in range(len(table)):
        try:
            name = decode(table.name(index))
            for each in table.entries(index):
                die = each.die_offset + (each.unit or 0)
                tag = name_of("DW_TAG", each.tag)
                yield name, each.offset, tag, each.unit, die, each.signature, each.parent
        except DwarfGpuError as error:
            dwarf.note(error)


def public_names(file: CodeObject, section: str) -> Iterator[Part]:
    """``.debug_pubnames`` and its sisters."""
    from dwarfgpu.objfile.indexes.pubnames import read_public_names

    source = file.dwarf.source
    for found in read_public_names(source.data(section), source.byte_order, section):
        if isinstance(found, DwarfGpuError):
            file.dwarf.note(found)
            continue
        if found.error is not None:
            file.dwarf.note(found.error)
        columns: Columns = (("die", "address"), ("name", "text"), ("kind", "text"), ("linkage", "text"))
        rows = [
            (
                found.unit + each.die_offset,
                each.name,
                each.kind,
                None if each.is_static is None else "static" if each.is_static else "external",
            )
            for each in found.names
        ]
        facts = {"unit": f".debug_info+{found.unit:#x}", "unit size": found.unit_size}
        yield Part(section, found.offset, "public names", facts, (Table("names", columns, rows),))


def address_ranges(file: CodeObject, section: str, pc: int | None = None) -> Iterator[Part]:
    """``.debug_aranges``: the sets; with ``pc`` those that have it."""
    from dwarfgpu.objfile.indexes.aranges import read_sets

    source = file.dwarf.source
    for found in read_sets(source.data(section), source.byte_order):
        if isinstance(found, DwarfGpuError):
            file.dwarf.note(found)
            continue
        rows = tuple(found.ranges())
        if pc is not None:
            rows = tuple(each for each in rows if each[0] <= pc < each[1])
            if not rows:
                continue
        columns: Columns = (("start", "address"), ("end", "address"))
        facts = {"unit": f".debug_info+{found.unit:#x}"}
        yield Part(section, found.offset, "address set", facts, (Table("ranges", columns, rows),))


def package_index(file: CodeObject, section: str) -> Iterator[Part]:
    """``.debug_cu_index`` and ``.debug_tu_index``: which parts of a package belong to which unit."""
    from dwarfgpu.objfile.units.split import PackageIndex

    dwarf = file.dwarf
    found = PackageIndex(dwarf.source.data(section), dwarf.source.byte_order, section)
    ids = {unit.offset: unit.header.signature or unit.dwo_id for unit in dwarf.split_units}
    rows = [
        (ids.get(offset), name, start, size)
        for offset, parts in sorted(found.rows().items())
        for name, (start, size) in parts.items()
    ]
    columns: Columns = (("id", "address"), ("section", "text"), ("offset", "address"), ("size", "number"))
    facts = {"version": found.version, "units": found.units, "slots": found.slots}
    yield Part(section, 0, "package index", facts, (Table("parts", columns, rows),))


def frame_header(file: CodeObject, section: str) -> Iterator[Part]:
    """``.eh_frame_hdr``: the sorted table of call frame information."""
    from dwarfgpu.objfile.frames.index import read_frame_header

    image = file.image
    found = image.section(section)
    if found is None:
        return
    header = read_frame_header(
        found.data, address=found.address, byte_order=image.byte_order, address_size=image.address_size
    )
    if header is None:
        yield Part(section, 0, "index of frames", {"table": "none that can be searched"})
        return
    facts = {
        "eh_frame": None if header.eh_frame is None else f"{header.eh_frame:#x}",
        "entries": header.count,
        "encoding": f"{header.encoding:#x}",
    }
    columns: Columns = (("location", "address"), ("entry", "address"))
    rows = map(header.row, range(header.count))
    yield Part(section, 0, "index of frames", facts, (Table("entries", columns, rows),))
