"""What location lists and range lists share: offset tables, entry kinds, and how operands become addresses.

Both kinds of list are DWARF 5 section 2.6.2 and 2.17.3, encoded as 7.7.3 and 7.25 say. Before version 5 they were
pairs of addresses; those are read as the version 5 kinds they mean.

A linker that drops a function keeps its debug information, with a *tombstone* where the address was. All ones
is one in version 5; before, where all ones mark a base address, all ones minus one. An entry that starts at a
tombstone, or counts from one, is *dead*: its range is empty, so it never matches, but it is still listed. What linkers
leave by default, 0 and (in ``.debug_loc`` and ``.debug_ranges``) 1, cannot be told from an address here: only a caller
that knows where code begins can leave such ranges out.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from attrs import field

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import DwarfGpuError, MalformedFile, MissingContext
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.contributions import (
    TableHeader,
    check_address_size,
    contribution_at,
    contribution_with_base,
    contributions,
)

AddressAt: TypeAlias = Callable[[int], int]
"""The address with an index in the unit's ``.debug_addr`` table."""

MAX_ENTRIES = 1 << 20
"""A longer list is refused: no producer writes one, and a broken section must not fill the memory."""

if TYPE_CHECKING:
    from dwarfgpu.encoding.cursor import ByteOrder

# The kinds of entries are those of location lists (DW_LLE). Those of range lists (DW_RLE) are the same without the
# default location, and so numbered differently from 5 on; their reader translates them.
OPERANDS = ("", "x", "xx", "xu", "uu", "", "a", "aa", "au", "uu")
"""For each kind its operands: ``a`` an address, ``x`` the index of one, ``u`` an offset or length."""


@frozen
class ListContext:
    """What the entries of a list depend on."""

    address_size: int = 8
    byte_order: ByteOrder = "little"
    base: int | None = None
    """The base address of the unit: its DW_AT_low_pc (DWARF 5, 3.1.1)."""
    address_at: AddressAt | None = None
    last: int = field(init=False, eq=False)
    """The last address."""

    @last.default
    def _last(self) -> int:
        return (1 << 8 * self.address_size) - 1


@frozen
class RawEntry:
    """One entry as it is encoded."""

    offset: int
    kind: int
    operands: tuple[int, ...]
    expression: bytes | None = None
    expression_offset: int = 0


def list_cursor(data: bytes, offset: int, section: str, context: ListContext, end: int | None = None) -> Cursor:
    """Return a cursor at the first entry of a list. ``end`` bounds it if the end of its table is known."""
    if offset < 0:
        raise MalformedFile("bad_offset", f"a list cannot begin at {offset}", spec="DWARF 5, 7.5.5").at(section=section)
    cursor = Cursor(data, offset, end, byte_order=context.byte_order, error=MalformedFile, section=section)
    check_address_size(cursor, context.address_size)
    return cursor


class ListReading:
    """The entries of one list, read one after the other; what stops the reading is kept in ``error``.

    Entries before an error are good. An entry whose addresses make no sense is an error as well, but hides no other.
    """

    __slots__ = ("cursor", "entries", "error")

    def __init__(self, cursor: Cursor, entries: Iterator[RawEntry]) -> None:
        self.cursor = cursor
        self.entries = entries
        self.error: DwarfGpuError | None = None

    def __iter__(self) -> Iterator[RawEntry]:
        count = 0
        try:
            for entry in self.entries:
                if count == MAX_ENTRIES:
                    message = f"a list has more than {MAX_ENTRIES} entries"
                    raise self.cursor.fail("limit_exceeded", message, "DWARF 5, 2.6.2")
                count += 1
                yield entry
        except DwarfGpuError as error:
            self.note(error, self.cursor.position)

    def note(self, error: DwarfGpuError, offset: int) -> None:
        """Keep the first error."""
        if self.error is None:
            self.error = error.at(section=self.cursor.section, offset=offset)


class Bounds:
    """Turns the operands of entries into addresses, and remembers the applicable base address (DWARF 5, 2.6.2)."""

    __slots__ = ("address_at", "base", "dead", "mask", "relocated")

    def __init__(self, context: ListContext, *, before_5: bool) -> None:
        self.mask = context.last
        self.dead = (self.mask, self.mask - 1) if before_5 else (self.mask,)
        self.relocated = before_5  # whether an offset pair may hold addresses, and so a tombstone
        self.base = context.base
        self.address_at = context.address_at

    def of(self, kind: int, operands: tuple[int, ...]) -> tuple[int, int] | None:
        """Return the range of an entry, with start == end for a dead one; None if the entry sets the base address."""
        if kind == dw.DW_LLE_offset_pair:
            begin, end = operands
            base = self.base
            if self.relocated and begin in self.dead:
                return begin, begin
            if base is None:
                message = "the entry is relative to the base address of its unit, which has none"
                raise MissingContext("unit_base", message, spec="DWARF 5, 2.6.2")
            if base in self.dead:
                return base, base
            return self._checked(base + begin, base + end)
        if kind in (dw.DW_LLE_base_address, dw.DW_LLE_base_addressx):
            self.base = operands[0] if kind == dw.DW_LLE_base_address else self._indexed(operands[0])
            return None
        start, end = operands
        if kind in (dw.DW_LLE_startx_endx, dw.DW_LLE_startx_length):
            start = self._indexed(start)
        if start in self.dead:
            return start, start
        if kind in (dw.DW_LLE_startx_length, dw.DW_LLE_start_length):
            end += start
        elif kind == dw.DW_LLE_startx_endx:
            end = self._indexed(end)
        return self._checked(start, end)

    def _indexed(self, index: int) -> int:
        if self.address_at is None:
            raise MissingContext("debug_addr", f"the entry needs address {index}, but there is no .debug_addr table")
        return self.address_at(index)

    def _checked(self, start: int, end: int) -> tuple[int, int]:
        if start > self.mask:  # counted from a base above: addresses wrap around
            start &= self.mask
            end &= self.mask
        if end > self.mask + 1:  # the end may be the address after the last one
            message = f"the range ends at {end:#x}, past the last address"
            raise MalformedFile("address_overflow", message, spec="DWARF 5, 2.6.2")
        if start > end:
            message = f"the range begins at {start:#x}, after its end {end:#x}"
            raise MalformedFile("bad_range", message, spec="DWARF 5, 2.6.2")
        return start, end


def operands_of(cursor: Cursor, kind: int, address_size: int) -> tuple[int, ...]:
    """Read the operands of a version 5 entry."""
    return tuple(cursor.unsigned(address_size) if o == "a" else cursor.uleb() for o in OPERANDS[kind])


def pairs_before_5(cursor: Cursor, address_size: int) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield the pairs of ``.debug_loc`` and ``.debug_ranges`` as (offset, kind, operands), without the end (0, 0).

    A pair counts from the base address, unless the first is all ones: then the second is the new base address
    (DWARF 4, 2.6.2 and 2.17.3).
    """
    all_ones = (1 << 8 * address_size) - 1
    while True:
        offset = cursor.position
        begin, end = cursor.unsigned(address_size), cursor.unsigned(address_size)
        if begin == end == 0:
            return
        if begin == all_ones:
            yield offset, dw.DW_LLE_base_address, (end,)
        else:
            yield offset, dw.DW_LLE_offset_pair, (begin, end)


@frozen
class ListTable:
    """A contribution to ``.debug_loclists`` or ``.debug_rnglists``: the lists of one unit (DWARF 5, 7.28 and 7.29)."""

    data: bytes
    header: TableHeader
    byte_order: ByteOrder
    section: str

    def __len__(self) -> int:
        return self.header.count

    def __getitem__(self, index: int) -> int:
        """Return where the list with an index begins: for DW_FORM_loclistx and DW_FORM_rnglistx (DWARF 5, 7.5.5)."""
        header = self.header
        if not 0 <= index < header.count:
            raise self._error("index_out_of_range", f"there is no list {index}, the table has {header.count}")
        start = header.base + index * header.offset_size
        if start + header.offset_size > header.end:
            raise self._error("truncated", f"the table claims {header.count} offsets, but ends before number {index}")
        place = header.base + int.from_bytes(self.data[start : start + header.offset_size], self.byte_order)
        if place >= header.end:
            raise self._error("bad_offset", f"list {index} begins at {place:#x}, past the end of its table")
        return place

    def __iter__(self) -> Iterator[int]:
        return (self[index] for index in range(len(self)))

    def places(self) -> list[int]:
        """Return where all lists begin, at once; nothing if one of the offsets is wrong."""
        header = self.header
        stop = header.base + header.count * header.offset_size
        if stop > header.end:
            return []
        code = f"{'<' if self.byte_order == 'little' else '>'}{header.count}{'Q' if header.offset_size == 8 else 'I'}"
        places = [header.base + offset for offset in struct.unpack(code, self.data[header.base : stop])]
        return places if max(places, default=0) < header.end else []

    def _error(self, kind: str, message: str) -> MalformedFile:
        error = MalformedFile(kind, message, spec="DWARF 5, 7.28")
        return error.at(section=self.section, offset=self.header.start)  # type: ignore[no-any-return]


def list_table(
    data: bytes, base: int, *, section: str, offset_size: int = 4, byte_order: ByteOrder = "little"
) -> ListTable:
    """Return the table that DW_AT_loclists_base or DW_AT_rnglists_base names."""
    header = contribution_with_base(data, base, offset_size, byte_order, section)
    return ListTable(data, header, byte_order, section)


def list_table_at(data: bytes, start: int, *, section: str, byte_order: ByteOrder = "little") -> ListTable:
    """Return the table whose header begins at ``start``.

    A split unit has no base, its table is the first of its section.
    """
    return ListTable(data, contribution_at(data, start, byte_order, section), byte_order, section)


def list_tables(data: bytes, *, section: str, byte_order: ByteOrder = "little") -> Iterator[ListTable | DwarfGpuError]:
    """Yield all tables of a section in order, with an error in place of one that cannot be read."""
    for header in contributions(data, byte_order, section):
        yield header if isinstance(header, DwarfGpuError) else ListTable(data, header, byte_order, section)
