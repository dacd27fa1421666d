"""Addresses by index: ``.debug_addr`` (DWARF 5 section 7.27).

The GNU tables of split units before version 5 have no header: they reach to the section's end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.contributions import check_address_size, contribution_with_base, contributions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.objfile.contributions import TableHeader


@frozen
class AddressTable:
    """The addresses of one unit, by index."""

    data: bytes
    base: int
    end: int
    address_size: int
    byte_order: ByteOrder
    segment_size: int = 0
    """Bytes of a segment selector before each address; the selector is not used."""
    section: str = ".debug_addr"

    def __len__(self) -> int:
        return max(0, self.end - self.base) // (self.segment_size + self.address_size)

    def __getitem__(self, index: int) -> int:
        """Return the address with an index; raise an error, not IndexError, if there is none."""
        if not 0 <= index < len(self):
            error = MalformedFile(
                "index_out_of_range",
                f"there is no address {index}, the table has {len(self)}",
                spec="DWARF 5, 7.27",
            )
            raise error.at(section=self.section, offset=self.base)
        stop = self.base + (index + 1) * (self.segment_size + self.address_size)
        return int.from_bytes(self.data[stop - self.address_size : stop], self.byte_order)

    def __iter__(self) -> Iterator[int]:
        return (self[index] for index in range(len(self)))


def address_table(
    data: bytes,
    base: int,
    *,
    version: int,
    address_size: int,
    byte_order: ByteOrder = "little",
    offset_size: int = 4,
    section: str = ".debug_addr",
) -> AddressTable:
    """Return the table that DW_AT_addr_base (version 5) or DW_AT_GNU_addr_base (before) names."""
    if version < 5:
        if not 0 <= base <= len(data):
            error = MalformedFile(
                "bad_base", f"the base {base:#x} is outside the section", spec="DWARF 5, 7.27"
            )
            raise error.at(section=section, offset=base)
        check_address_size(Cursor(data, base, error=MalformedFile, section=section), address_size)
        return AddressTable(data, base, len(data), address_size, byte_order, section=section)
    return _table(
        data, contribution_with_base(data, base, offset_size, byte_order, section), byte_order, section
    )


def address_tables(
    data: bytes, byte_order: ByteOrder = "little", section: str = ".debug_addr"
) -> Iterator[AddressTable | DwarfGpuError]:
    """Yield all tables of a version 5 section in order, with an error in place of one that cannot be read."""
    for header in contributions(data, byte_order, section):
        yield header if isinstance(header, DwarfGpuError) else _table(data, header, byte_order, section)


def _table(data: bytes, header: TableHeader, byte_order: ByteOrder, section: str) -> AddressTable:
    return AddressTable(
        data, header.base, header.end, header.address_size, byte_order, header.segment_size, section
    )
