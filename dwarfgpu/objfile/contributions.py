"""Contributions: most sections consist of them, one for each unit, with its length first (DWARF 5 section 7.4).

The tables of ``.debug_addr`` and of lists have a header in common. A unit names its table by a *base*, the offset just
past that header.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from dwarfgpu.encoding import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.encoding import ByteOrder

ADDRESS_SIZES = frozenset((1, 2, 4, 8))
VERSIONS = frozenset((5, 6))
"""Versions whose tables have this header. The drafts of version 6 and the compilers that write it keep the layout."""


MAX_BROKEN = 1000
"""How many broken contributions to a section are reported: with so many it has no contributions at all."""

T = TypeVar("T")


@frozen
class TableHeader:
    """The header of one contribution to ``.debug_addr``, ``.debug_loclists`` or ``.debug_rnglists``."""

    start: int
    base: int
    """What a unit's DW_AT_addr_base, DW_AT_loclists_base or DW_AT_rnglists_base names: just past the header."""
    end: int
    """Where the next contribution begins; never past the end of the section."""
    version: int
    offset_size: int
    address_size: int
    segment_size: int
    count: int
    """How many offsets follow in the tables of lists; 0 in ``.debug_addr``, which has no such field."""

    @property
    def behind_offsets(self) -> int:
        """Where the offsets end: the first place of a list."""
        return self.base + self.count * self.offset_size


def initial_length(cursor: Cursor) -> tuple[int, int]:
    """Read an initial length: the length of what follows, and the size of offsets in it (DWARF 5, 7.4)."""
    start = cursor.position
    length = cursor.unsigned(4)
    if length < 0xFFFFFFF0:
        return length, 4
    if length == 0xFFFFFFFF:
        return cursor.unsigned(8), 8
    raise cursor.fail("bad_length", f"the length {length:#x} is reserved", "DWARF 5, 7.4", start)


def check_address_size(cursor: Cursor, size: int) -> None:
    """Refuse a size that no address has."""
    if size not in ADDRESS_SIZES:
        raise cursor.fail("bad_address_size", f"an address cannot have {size} bytes", "DWARF 5, 7.3")


def contributions(data: bytes, byte_order: ByteOrder, section: str) -> Iterator[TableHeader | DwarfGpuError]:
    """Yield all headers of a section in order, with an error in place of one that cannot be read."""
    read = partial(contribution_at, data, byte_order=byte_order, section=section)
    return each_contribution(data, byte_order, read, lambda header: header.end)


def each_contribution(
    data: bytes, byte_order: ByteOrder, read: Callable[[int], T], end_of: Callable[[T], int]
) -> Iterator[T | DwarfGpuError]:
    """Yield the result of ``read`` for each contribution to a section, or its error.

    The initial length alone says where the next one begins. After ``MAX_BROKEN`` broken ones the rest is skipped.
    """
    start = broken = 0
    while start < len(data) and broken < MAX_BROKEN:
        try:
            contribution = read(start)
        except DwarfGpuError as error:
            broken += 1
            yield error
            cursor = Cursor(data, start, byte_order=byte_order, error=MalformedFile)
            try:
                length, _ = initial_length(cursor)
            except MalformedFile:
                return
            start = cursor.position + length
        else:
            yield contribution
            start = end_of(contribution)


def contribution_at(data: bytes, start: int, byte_order: ByteOrder, section: str) -> TableHeader:
    """Read the contribution whose header begins at ``start``."""
    cursor = Cursor(data, start, byte_order=byte_order, error=MalformedFile, section=section)
    length, offset_size = initial_length(cursor)
    end = min(cursor.position + length, len(data))
    cursor.end = end
    version = cursor.unsigned(2)
    if version not in VERSIONS:
        raise cursor.fail("bad_version", f"version {version} of this table is not known", "DWARF 5, 7.27", start)
    address_size = cursor.unsigned(1)
    check_address_size(cursor, address_size)
    segment_size = cursor.unsigned(1)
    count = 0 if section.startswith(".debug_addr") else cursor.unsigned(4)
    return TableHeader(start, cursor.position, end, version, offset_size, address_size, segment_size, count)


def contribution_with_base(
    data: bytes, base: int, offset_size: int, byte_order: ByteOrder, section: str
) -> TableHeader:
    """Return the contribution that a unit names by its base.

    ``offset_size`` is the unit's, which is tried first.
    """
    fixed = 4 if section.startswith(".debug_addr") else 8  # version, sizes of address and selector, count
    for size in (offset_size, 12 - offset_size):
        start = base - fixed - (4 if size == 4 else 12)
        if start < 0:
            continue
        try:
            header = contribution_at(data, start, byte_order, section)
        except MalformedFile:
            continue
        if header.base == base:
            return header
    message = f"no table of {section} has its base at {base:#x}"
    raise MalformedFile("bad_base", message, spec="DWARF 5, 7.27").at(section=section, offset=base)


def following(data: bytes | memoryview, offset: int, byte_order: ByteOrder) -> int | None:
    """Return where the contribution after a broken header begins, if the length there makes sense."""
    cursor = Cursor(cast("bytes", data), offset, byte_order=byte_order, error=MalformedFile)
    try:
        length, _ = initial_length(cursor)
    except MalformedFile:
        return None
    end = cursor.position + length
    return end if length and end < len(data) else None
