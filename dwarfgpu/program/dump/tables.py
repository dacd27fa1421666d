"""Show the sections that find names, addresses and frames: ``.debug_names``, ``.debug_aranges``, ``.eh_frame_hdr``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.dwarf_constants import name_of
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.source import decode
from dwarfgpu.program.dump.parts import Columns, Part, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.objfile.dwarf import Dwarf
    from dwarfgpu.objfile.indexes.debug_names import NameTable
    from dwarfgpu.program.files.codeobject import CodeObject


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
