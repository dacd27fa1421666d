"""``.debug_aranges``: which unit has code or data at an address (DWARF 5 section 6.1.2)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unsupported
from dwarfgpu.objfile.contributions import check_address_size, following, initial_length
from dwarfgpu.objfile.entries.reader_text import CODES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.encoding.cursor import ByteOrder

SECTION = ".debug_aranges"


@frozen
class AddressSet:
    """The addresses of one unit, as they are in the section: there may be many, and one question needs few."""

    offset: int
    """The offset of the set in the section."""
    unit: int
    """The offset of the unit's header in ``.debug_info``."""
    pairs: bytes
    format: str
    """How addresses and sizes are packed."""

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield start and end of each range that is not empty."""
        return ((low, low + size) for low, size in struct.iter_unpack(self.format, self.pairs) if size)

    def covers(self, address: int) -> bool:
        pairs = struct.iter_unpack(self.format, self.pairs)
        return bool([low for low, size in pairs if 0 <= address - low < size])  # twice as fast as `any`


def read_sets(data: bytes, byte_order: ByteOrder) -> Iterator[AddressSet | DwarfGpuError]:
    """Yield all sets of the section, with an error in place of one that cannot be read."""
    position: int | None = 0
    while position is not None and position < len(data):
        after = following(data, position, byte_order)
        try:
            yield _read_set(data, position, len(data) if after is None else after, byte_order)
        except DwarfGpuError as error:
            yield error.at(section=SECTION, offset=position)
        position = after


def _read_set(data: bytes, start: int, end: int, byte_order: ByteOrder) -> AddressSet:
    cursor = Cursor(data, start, end, byte_order=byte_order, error=MalformedFile, section=SECTION)
    length, offset_size = initial_length(cursor)
    if length > cursor.remaining:
        message = f"a set of {length} bytes is longer than the {cursor.remaining} left"
        raise cursor.fail("truncated", message, "DWARF 5, 6.1.2", start)
    version = cursor.unsigned(2)
    if version != 2:
        raise Unsupported(
            "bad_version", f"version {version} of address sets is not known", spec="DWARF 5, 6.1.2"
        )
    unit = cursor.unsigned(offset_size)
    address_size, segment_size = cursor.unsigned(1), cursor.unsigned(1)
    check_address_size(cursor, address_size)
    if segment_size not in (0, 1, 2, 4, 8):
        raise cursor.fail(
            "bad_segment_size", f"a segment selector cannot have {segment_size} bytes", "DWARF 5, 6.1.2"
        )
    tuple_size = segment_size + 2 * address_size
    first = (
        start + -(-(cursor.position - start) // tuple_size) * tuple_size
    )  # tuples are aligned to their size
    if first > end:
        raise cursor.fail(
            "truncated", "the header of a set is not followed by a tuple", "DWARF 5, 6.1.2", start
        )
    order = "<" if byte_order == "little" else ">"
    stop = first + (end - first) // tuple_size * tuple_size
    return AddressSet(start, unit, data[first:stop], f"{order}{segment_size}x{CODES[address_size] * 2}")
