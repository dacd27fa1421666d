"""The tables of a unit: strings and addresses by index, and where its lists are.

The bases of the tables come from the unit entry (DWARF 5 section 3.1.1), from the package that a split unit lies in
(7.3.5), or, as the address table of a split unit, from its skeleton (3.1.3).
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile, MissingContext
from dwarfgpu.objfile.contributions import TableHeader, check_address_size, contribution_with_base
from dwarfgpu.objfile.info import forms
from dwarfgpu.objfile.info.readers import CODES

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder, Format
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.objfile.list_encoding import EntryList, ListTable
    from dwarfgpu.objfile.section_source import SectionSource


STRING_SECTIONS = {dw.DW_FORM_strp: ".debug_str", dw.DW_FORM_line_strp: ".debug_line_str"}
LIST_SECTIONS = {"loclist": (".debug_loc", ".debug_loclists"), "rnglist": (".debug_ranges", ".debug_rnglists")}
"""The names of the section before version 5, and since."""


class UnitTables:
    """The tables of one unit."""

    __slots__ = ("_addresses", "_lists", "_no_addresses", "_strings", "ranges", "unit")

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._strings: Sequence[int] | None = None
        self._addresses: Sequence[int] | None = None
        self._lists: dict[str, ListTable] = {}
        self._no_addresses: DwarfGpuError | None = None
        """Why it has no addresses, once they were to be read."""
        self.ranges: tuple[str, int, EntryList] | None = None
        """Section and offset of the range list that was read last, and the list."""

    def drop(self) -> None:
        """Free what has been read."""
        self._strings = self._addresses = self._no_addresses = self.ranges = None
        self._lists.clear()

    def string_place(self, form: int, value: Any) -> tuple[SectionSource, str, int]:
        """Return where the string of a value is that is not in the entry itself."""
        section = STRING_SECTIONS.get(form)
        if section is not None:
            return self.unit.source, section + self.unit.suffix, value
        if form in forms.STRING_INDEX:
            return self.unit.source, ".debug_str" + self.unit.suffix, self.string_offset(value)
        if form in (dw.DW_FORM_strp_sup, dw.DW_FORM_GNU_strp_alt):
            return self.unit.dwarf.supplementary_file().source, ".debug_str", value
        message = f"{forms.form_name(form)} is not a string"
        raise self.unit.error(MalformedFile("bad_form", message, spec="DWARF 5, 7.5.5"))

    def string_offset(self, index: int) -> int:
        """Return an entry of the unit's string offsets table (DWARF 5, 7.26)."""
        try:
            return self.string_offsets[index]
        except IndexError:
            raise self._no_index("string", index, len(self.string_offsets)) from None

    @property
    def string_offsets(self) -> Sequence[int]:
        """The offsets of its strings, by index."""
        if self._strings is None:
            start, end = self._string_offsets_bounds()
            data = self.unit.source.data(".debug_str_offsets" + self.unit.suffix)
            self._strings = numbers(
                data, start, end, self.unit.offset_size, little=self.unit.format.byte_order == "little"
            )
        return self._strings

    def string_offsets_place(self) -> tuple[bytes, int, int] | None:
        """Return the section with its string offsets, and where they are in it; None if it has none."""
        unit = self.unit
        data = unit.source.data(".debug_str_offsets" + unit.suffix)
        if not data or (not unit.suffix and unit.root_value(dw.DW_AT_str_offsets_base) is None):
            return None
        return (data, *self._string_offsets_bounds())

    def _string_offsets_bounds(self) -> tuple[int, int]:
        unit = self.unit
        part, section = unit.part(".debug_str_offsets")
        data = unit.source.data(section)
        end = len(data)
        if unit.contributions is not None and ".debug_str_offsets" in unit.contributions:
            end = min(end, part + unit.contributions[".debug_str_offsets"][1])
        if unit.version < 5:  # the GNU table has no header
            return part, end
        base_attribute = unit.root_number(dw.DW_AT_str_offsets_base)
        if base_attribute is None and not unit.suffix:
            message = "the unit has no DW_AT_str_offsets_base"
            raise unit.error(MissingContext("str_offsets_base", message, spec="DWARF 5, 3.1.1"))
        wide = unit.offset_size == 8
        header = 16 if wide else 8
        base = part + (header if base_attribute is None else base_attribute)
        if header <= base <= end:
            order = unit.format.byte_order
            length = int.from_bytes(data[base - (12 if wide else 8) : base - 4], order)
            version = int.from_bytes(data[base - 4 : base - 2], order)
            stop = base - 4 + length
            if version >= 5 and base <= stop <= end:
                return base, stop
        message = f"no table of {section} has its base at {base:#x}"
        raise MalformedFile("bad_base", message, spec="DWARF 5, 7.26").at(section=section, offset=base)

    def address(self, index: int) -> int:
        """Return an entry of the unit's address table (DWARF 5, 7.27); for a split unit that of its skeleton."""
        table = self.addresses
        try:
            return table[index]
        except IndexError:
            raise self._no_index("address", index, len(table)) from None

    @property
    def addresses(self) -> Sequence[int]:
        """Its addresses, by index."""
        if self._no_addresses is not None:
            raise self._no_addresses.again()
        if self._addresses is None:
            try:
                self._addresses = self._read_addresses()
            except DwarfGpuError as error:  # a list may ask for an address with each of its entries
                self._no_addresses = error
                raise
        return self._addresses

    def _read_addresses(self) -> Sequence[int]:
        base = self.unit.root_number(dw.DW_AT_addr_base, dw.DW_AT_GNU_addr_base)
        if base is None and self.unit.skeleton is not None:
            return self.unit.skeleton.tables.addresses
        if base is None:
            if self.unit.suffix:
                raise self._no_skeleton("addresses")
            raise self.unit.error(MissingContext("addr_base", "the unit has no DW_AT_addr_base", spec="DWARF 5, 3.1.1"))
        return address_table(self.unit.source.data(".debug_addr"), base, self.unit.format)

    def _no_skeleton(self, name: str) -> DwarfGpuError:
        message = f"a split unit has the {name} of its skeleton, which is not known"
        return self.unit.error(MissingContext("skeleton", message, spec="DWARF 5, 3.1.3"))

    def list_data(self, section: str) -> bytes:
        """Return the content of a section of lists."""
        return self.list_source(section).data(section)

    def list_source(self, section: str) -> SectionSource:
        """Return the file with a section of lists. That of range lists before version 5 is the program's."""
        unit = self.unit
        if unit.suffix and not section.endswith(".dwo"):
            if unit.skeleton is None:
                raise self._no_skeleton("ranges")
            unit = unit.skeleton
        return unit.source

    def list_offset(self, form: int, value: Any, kind: str) -> tuple[str, int]:
        """Return section and offset of a location list (``kind`` is ``loclist``) or a range list (``rnglist``)."""
        old, new = LIST_SECTIONS[kind]
        if self.unit.version >= 5:
            part, section = self.unit.part(new)
            if form in (dw.DW_FORM_loclistx, dw.DW_FORM_rnglistx):
                if section not in self._lists:
                    self._lists[section] = self._list_table(section, part, kind)
                return section, self._lists[section][int(value)]
            return section, part + int(value)
        if kind == "rnglist":  # ranges stay in the program's file even for split units
            skeleton = self.unit.skeleton
            base = None if skeleton is None else skeleton.root_number(dw.DW_AT_GNU_ranges_base)
            return old, int(value) + (base or 0)
        part, section = self.unit.part(old)
        return section, part + int(value)

    def _list_table(self, section: str, part: int, kind: str) -> ListTable:
        from dwarfgpu.objfile.list_encoding import list_table, list_table_at

        data, order = self.unit.source.data(section), self.unit.format.byte_order
        base = self.unit.root_number(dw.DW_AT_loclists_base if kind == "loclist" else dw.DW_AT_rnglists_base)
        if base is not None:
            size = self.unit.offset_size
            return list_table(data, part + base, section=section, offset_size=size, byte_order=order)
        if self.unit.suffix:
            return list_table_at(data, part, section=section, byte_order=order)
        message = f"the unit has no DW_AT_{kind}s_base"
        raise self.unit.error(MissingContext(f"{kind}s_base", message, spec="DWARF 5, 3.1.1"))

    def _no_index(self, name: str, index: int, count: int) -> DwarfGpuError:
        message = f"there is no {name} {index}, the table of the unit has {count}"
        return self.unit.error(MalformedFile("index_out_of_range", message, spec="DWARF 5, 7.26 to 7.29"))


_NATIVE_LITTLE = sys.byteorder == "little"


def numbers(data: bytes, start: int, end: int, size: int, *, little: bool) -> Sequence[int]:
    """Return the unsigned numbers of ``data[start:end]``; without a copy if the machine has the same byte order."""
    view = memoryview(data)[start : end - (end - start) % size]
    kind = CODES[size]
    if little == _NATIVE_LITTLE or size == 1:
        return view.cast(kind)
    decoded = array(kind, view.tobytes())
    decoded.byteswap()
    return decoded


# --- Addresses by index -------------------------------------------------------------------------------------------
# The GNU tables of split units before version 5 have no header: they reach to the section's end.


def address_table(data: bytes, base: int, form: Format) -> Sequence[int]:
    """Return the addresses that DW_AT_addr_base (version 5) or DW_AT_GNU_addr_base (before) names."""
    if form.version >= 5:
        header = contribution_with_base(data, base, form.offset_size, form.byte_order, ".debug_addr")
        return addresses_of(data, header, form.byte_order)
    if not 0 <= base <= len(data):
        message = f"the base {base:#x} is outside the section"
        raise MalformedFile("bad_base", message, spec="DWARF 5, 7.27").at(section=".debug_addr", offset=base)
    check_address_size(Cursor(data, base, error=MalformedFile, section=".debug_addr"), form.address_size)
    return numbers(data, base, len(data), form.address_size, little=form.byte_order == "little")


def addresses_of(data: bytes, header: TableHeader, byte_order: ByteOrder) -> Sequence[int]:
    """Return the addresses of a table of version 5, without the segment selectors before them."""
    size, selector = header.address_size, header.segment_size
    if not selector:
        return numbers(data, header.base, header.end, size, little=byte_order == "little")
    starts = range(header.base + selector, header.end - size + 1, selector + size)
    return [int.from_bytes(data[start : start + size], byte_order) for start in starts]
