"""Split units: entries that are not in the program's file (DWARF 5 section 3.1.3 and 7.3).

A skeleton unit names a file with the rest (``.dwo``), or the rest lies in a package with that of other units
(``.dwp``), or beside the skeleton in sections of the same file that linkers leave out.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import MalformedFile, MissingContext, Unsupported
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.objfile.dwarf import Dwarf
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.objfile.section_source import Sections

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
    OpenSplit: TypeAlias = Callable[[SplitFile], Sections | None]
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


class PackageIndex:
    """``.debug_cu_index`` or ``.debug_tu_index`` of a package: where the parts of each unit are (7.3.5.3)."""

    def __init__(self, data: bytes, byte_order: ByteOrder, section: str) -> None:
        self.section = section
        self._data = data
        self._order: ByteOrder = byte_order
        self.version = self._number(0)
        if self.version not in (2, 5):
            self.version = int.from_bytes(data[:2], byte_order)  # version 5 has two bytes, then padding
        if self.version not in (2, 5):
            message = f"version {self.version} is not known"
            raise Unsupported("bad_version", message, spec="DWARF 5, 7.3.5.3").at(section=section, offset=0)
        columns, self.units, self.slots = self._number(4), self._number(8), self._number(12)
        names = _SECTIONS_2 if self.version == 2 else _SECTIONS_5
        self._ids = 16
        self._indices = self._ids + 8 * self.slots
        header = self._indices + 4 * self.slots
        self._offsets = header + 4 * columns
        self._sizes = self._offsets + 4 * columns * self.units
        if columns > MAX_COLUMNS or self._sizes + 4 * columns * self.units > len(data):
            raise self._error(f"it claims {self.units} units and {columns} columns, but is too short for them")
        if self.slots & (self.slots - 1):
            raise self._error(f"its hash table has {self.slots} slots, which is not a power of two")
        numbers = [self._number(header + 4 * i) for i in range(columns)]
        self.sections = tuple(names.get(n, "") for n in numbers)

    def find(self, unit_id: int) -> Contributions | None:
        """Return the parts of the unit with an id or signature, or None if the package has no such unit."""
        mask = self.slots - 1
        slot, step = unit_id & mask, (unit_id >> 32) & mask | 1
        for _ in range(self.slots):
            row = self._number(self._indices + 4 * slot)
            if not row:
                return None
            if self._number(self._ids + 8 * slot, 8) == unit_id:
                return self._row(row)
            slot = (slot + step) & mask
        return None

    def rows(self) -> dict[int, Contributions]:
        """Return the parts of all units, by where their part of ``.debug_info`` (or ``.debug_types``) begins."""
        parts_by_offset = {}
        for row in range(1, self.units + 1):
            parts = self._row(row)
            for section in (".debug_info", ".debug_types"):
                if section in parts:
                    parts_by_offset[parts[section][0]] = parts
                    break
        return parts_by_offset

    def _row(self, row: int) -> Contributions:
        if row > self.units:
            raise self._error(f"there is no row {row}, there are {self.units}")
        width = len(self.sections)
        start = 4 * width * (row - 1)
        parts = {}
        for i, section in enumerate(self.sections):
            size = self._number(self._sizes + start + 4 * i)
            if section and size:
                parts[section] = (self._number(self._offsets + start + 4 * i), size)
        return parts

    def _number(self, offset: int, size: int = 4) -> int:
        try:
            form = ("<" if self._order == "little" else ">") + ("I" if size == 4 else "Q")
            return int(struct.unpack_from(form, self._data, offset)[0])
        except struct.error:
            raise self._error("it is too short") from None

    def _error(self, message: str) -> MalformedFile:
        error = MalformedFile("bad_package_index", f"{self.section}: {message}", spec="DWARF 5, 7.3.5.3")
        return error.at(section=self.section, offset=0)  # type: ignore[no-any-return]


def find_split_unit(dwarf: Dwarf, skeleton: Unit) -> Unit:
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
