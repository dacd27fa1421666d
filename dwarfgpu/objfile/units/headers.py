"""Unit headers (DWARF 5 section 7.5.1), in every version and both formats.

Version 6 is read as version 5: its drafts, and the compilers that write it, have changed attributes but not the header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from attrs import frozen

from dwarfgpu.dwarf_constants import (
    DW_UT_compile,
    DW_UT_partial,
    DW_UT_skeleton,
    DW_UT_split_compile,
    DW_UT_split_type,
    DW_UT_type,
)
from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.objfile.contributions import check_address_size, following, initial_length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.encoding.cursor import ByteOrder


SPEC = "DWARF 5, 7.5.1"


@frozen
class UnitHeader:
    """The data before the entries of a unit."""

    section: str
    offset: int
    end: int
    """Where the next unit begins."""
    format: Format
    unit_type: int
    """DW_UT_*. Before version 5 there is no such field: DW_AT_GNU_dwo_id and the section tell."""
    abbreviations: int
    """The offset in ``.debug_abbrev`` (of the contribution, in a package)."""
    first: int
    """Where the unit entry begins, counted from the header."""
    signature: int | None = None
    """The signature of its type, for a type unit."""
    type_offset: int = 0
    """The entry of the type, counted from the header, for a type unit."""
    dwo_id: int | None = None

    @property
    def version(self) -> int:
        return self.format.version

    @property
    def is_type_unit(self) -> bool:
        return self.unit_type in (DW_UT_type, DW_UT_split_type)


def read_headers(
    data: bytes | memoryview, section: str, byte_order: ByteOrder
) -> Iterator[UnitHeader | DwarfGpuError]:
    """Yield all unit headers of a section, with an error in place of one that cannot be read."""
    position = 0
    while position < len(data):
        try:
            header = read_header(data, position, section, byte_order)
        except DwarfGpuError as error:
            if not any(data[position:]):
                return  # padding at the end of the section
            yield error
            after = following(data, position, byte_order)
            if after is None:
                return
            position = after
        else:
            yield header
            position = header.end


def read_header(data: bytes | memoryview, offset: int, section: str, byte_order: ByteOrder) -> UnitHeader:
    """Read the header at an offset."""
    cursor = Cursor(cast("bytes", data), offset, byte_order=byte_order, error=MalformedFile, section=section)
    length, offset_size = initial_length(cursor)
    end = cursor.position + length
    if end > cursor.end:
        raise cursor.fail(
            "truncated", f"a unit of {length} bytes is longer than the {cursor.remaining} left", SPEC, offset
        )
    cursor.end = end
    version = cursor.unsigned(2)
    if not 2 <= version <= 6:
        error = Unsupported(
            "bad_version", f"the unit has the unknown version {version}; the known ones are 2 to 6", spec=SPEC
        )
        raise error.at(section=section, offset=offset)
    if version >= 5:
        unit_type = cursor.unsigned(1)
        address_size = cursor.unsigned(1)
        abbreviations = cursor.unsigned(offset_size)
    else:
        abbreviations = cursor.unsigned(offset_size)
        address_size = cursor.unsigned(1)
        unit_type = DW_UT_type if section.startswith(".debug_types") else DW_UT_compile
    check_address_size(cursor, address_size)
    signature, type_offset, dwo_id = None, 0, None
    if unit_type in (DW_UT_type, DW_UT_split_type):
        signature, type_offset = cursor.unsigned(8), cursor.unsigned(offset_size)
    elif unit_type in (DW_UT_skeleton, DW_UT_split_compile):
        dwo_id = cursor.unsigned(8)
    elif not (
        unit_type in (DW_UT_compile, DW_UT_partial) or unit_type >= 0x80
    ):  # from 0x80 on those of vendors
        raise cursor.fail("bad_unit_type", f"the unit type {unit_type:#x} is not known", SPEC, offset)
    format = Format(address_size, offset_size, byte_order, version)  # noqa: A001
    return UnitHeader(
        section, offset, end, format, unit_type, abbreviations, cursor.position - offset, signature, type_offset, dwo_id
    )  # fmt: skip
