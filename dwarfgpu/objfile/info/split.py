"""Split units: entries that are not in the program's file (DWARF 5 section 3.1.3 and 7.3).

A skeleton unit names a file with the rest (``.dwo``), or the rest lies in a package with that of other units
(``.dwp``), or beside the skeleton in sections of the same file that linkers leave out.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import MalformedFile, MissingContext, Unsupported
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.encoding import ByteOrder
    from dwarfgpu.objfile.info.debug_file import DebugFile
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.objfile.section_source import ImageSections

    Contributions: TypeAlias = dict[str, tuple[int, int]]
    """The offset and size of a unit's part, by section."""


@frozen
class SplitFile:
    """The reference of a skeleton to the file with the rest of its entries."""

    name: str
    """DW_AT_dwo_name."""
    directory: str | None
    """DW_AT_comp_dir, which a relative name counts from."""
    dwo_id: int | None


if TYPE_CHECKING:
    OpenSplit: TypeAlias = Callable[[SplitFile], ImageSections | None]
    """A function that opens the file that a skeleton names, or returns None if there is no such file."""

# The columns of an index. Version 2 is that of GCC's and LLVM's DWARF 4 packages.
_SECTIONS_2 = {
    dw.DW_SECT_GNU_INFO: ".debug_info",
    dw.DW_SECT_GNU_TYPES: ".debug_types",
    dw.DW_SECT_GNU_ABBREV: ".debug_abbrev",
    dw.DW_SECT_GNU_LINE: ".debug_line",
    dw.DW_SECT_GNU_LOC: ".debug_loc",
    dw.DW_SECT_GNU_STR_OFFSETS: ".debug_str_offsets",
    dw.DW_SECT_GNU_MACINFO: ".debug_macinfo",
    dw.DW_SECT_GNU_MACRO: ".debug_macro",
}
_SECTIONS_5 = {
    dw.DW_SECT_INFO: ".debug_info",
    dw.DW_SECT_ABBREV: ".debug_abbrev",
    dw.DW_SECT_LINE: ".debug_line",
    dw.DW_SECT_LOCLISTS: ".debug_loclists",
    dw.DW_SECT_STR_OFFSETS: ".debug_str_offsets",
    dw.DW_SECT_MACRO: ".debug_macro",
    dw.DW_SECT_RNGLISTS: ".debug_rnglists",
}
MAX_COLUMNS = 64


def package_parts(data: bytes, byte_order: ByteOrder, section: str) -> dict[int, Contributions]:
    """Return the parts of the units of ``.debug_cu_index`` or ``.debug_tu_index`` of a package (7.3.5.3).

    The key is where the part of a unit in ``.debug_info`` (or ``.debug_types``) begins.
    """

    def fail(message: str) -> MalformedFile:
        error = MalformedFile("bad_package_index", f"{section}: {message}", spec="DWARF 5, 7.3.5.3")
        return error.at(section=section, offset=0)  # type: ignore[no-any-return]

    def numbers(offset: int, count: int) -> tuple[int, ...]:
        try:
            return struct.unpack_from(f"{'<' if byte_order == 'little' else '>'}{count}I", data, offset)
        except struct.error:
            raise fail("it is too short") from None

    version = numbers(0, 1)[0]
    if version not in (2, 5):
        version = int.from_bytes(data[:2], byte_order)  # version 5 has two bytes, then padding
    if version not in (2, 5):
        message = f"version {version} is not known"
        raise Unsupported("bad_version", message, spec="DWARF 5, 7.3.5.3").at(section=section, offset=0)
    columns, units, slots = numbers(4, 3)
    header = 16 + (8 + 4) * slots  # the ids of units, and the numbers of their rows
    offsets = header + 4 * columns
    sizes = offsets + 4 * columns * units
    if columns > MAX_COLUMNS or sizes + 4 * columns * units > len(data):
        raise fail(f"it claims {units} units and {columns} columns, but is too short for them")
    if slots & (slots - 1):
        raise fail(f"its hash table has {slots} slots, which is not a power of two")
    known = _SECTIONS_2 if version == 2 else _SECTIONS_5
    names = [known.get(number, "") for number in numbers(header, columns)]
    parts_by_offset = {}
    for row in range(0, 4 * columns * units, 4 * columns or 4):
        cells = zip(names, numbers(offsets + row, columns), numbers(sizes + row, columns), strict=True)
        parts = {name: (offset, size) for name, offset, size in cells if name and size}
        first = parts.get(".debug_info") or parts.get(".debug_types")
        if first is not None:
            parts_by_offset[first[0]] = parts
    return parts_by_offset


def find_split_unit(dwarf: DebugFile, skeleton: Unit) -> Unit:
    """Return the split unit of a skeleton: from the same file, the package, or the file that it names."""
    unit_id = skeleton.dwo_id
    for candidate in (dwarf, dwarf.package):
        unit = None if candidate is None else candidate.split_unit_with(unit_id)
        if unit is not None:
            return unit
    name = skeleton.split_name or ""
    wanted = SplitFile(name, skeleton.directory, unit_id)
    other = dwarf.open_split_file(wanted)
    if other is None:
        error = MissingContext(
            "split_file",
            f"the entries of {skeleton.name or 'a unit'} are in {name}, which cannot be opened",
            spec="DWARF 5, 3.1.2",
            hint=f"it was compiled in {wanted.directory}" if wanted.directory else None,
        )
        raise skeleton.error(error)
    unit = other.split_unit_with(unit_id)
    if unit is None:
        shown = "no id" if unit_id is None else f"the id {unit_id:#x}"
        message = f"{name} has no unit with {shown}: it comes from a different compilation"
        raise skeleton.error(MissingContext("split_unit", message, spec="DWARF 5, 3.1.3.1"))
    return unit
