"""Location lists: ``.debug_loclists``, ``.debug_loc`` and the GNU form of it in split units (DWARF 5 section 2.6.2).

Which entries of a list apply at a program location is said in A.2.5.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.dwarf_constants import name_of
from dwarfgpu.encoding.cursor import Cursor
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.lists.list_encoding import (
    Bounds,
    ListContext,
    ListReading,
    RawEntry,
    list_cursor,
    operands_of,
    pairs_before_5,
)


@frozen
class ListEntry:
    """One location list entry: an operation expression, and when it is valid."""

    start: int
    """The lowest address; 0 for the default entry."""
    end: int
    """The first address past the range. An entry with start == end never matches."""
    default: bool
    """Whether it is valid wherever no bounded entry is."""
    expression: bytes
    offset: int
    """The offset of the entry in its section."""
    expression_offset: int
    """The offset of its expression there."""
    views: tuple[int, int] | None = None
    """The location views of GCC at start and end, which tell places of one address apart; not used here."""

    def covers(self, pc: int) -> bool:
        """Return whether it is a bounded entry whose range holds ``pc``."""
        return self.start <= pc < self.end


@frozen
class LocationList:
    """The entries of one list. Some may be missing when there is an ``error``."""

    section: str
    offset: int
    entries: tuple[ListEntry, ...]
    end: int
    """Where the next list may begin, or where the reading stopped."""
    error: DwarfGpuError | None = None

    def matching(self, pc: int) -> tuple[ListEntry, ...]:
        """Return the entries that apply at a program location (A.2.5.5). A list with an error has no answer."""
        if self.error is not None:
            raise self.error.again()
        return matching(self.entries, pc)


def matching(entries: Sequence[ListEntry], pc: int) -> tuple[ListEntry, ...]:
    """Return the bounded entries whose range holds ``pc``, or else the default ones (A.2.5.5)."""
    bounded = tuple(entry for entry in entries if entry.covers(pc))
    return bounded or tuple(entry for entry in entries if entry.default)


def read_location_list(
    data: bytes, offset: int, *, section: str, context: ListContext, end: int | None = None
) -> LocationList:
    """Read the list at an offset. The name of the section, which may end in ``.dwo``, says how it is encoded."""
    cursor = list_cursor(data, offset, section, context, end)
    bounds = Bounds(context, before_5=not section.startswith(".debug_loclists"))
    reading = ListReading(cursor, _decoder(section)(cursor, context.address_size))
    entries: list[ListEntry] = []
    views: tuple[int, int] | None = None
    for raw in reading:
        if raw.kind == dw.DW_LLE_GNU_view_pair:
            views = raw.operands[0], raw.operands[1]
            continue
        try:
            span = (0, 0) if raw.kind == dw.DW_LLE_default_location else bounds.of(raw.kind, raw.operands)
        except DwarfGpuError as error:
            reading.note(error, raw.offset)
            views = None
            continue
        if span is not None and raw.expression is not None:
            entries.append(
                ListEntry(
                    *span,
                    raw.kind == dw.DW_LLE_default_location,
                    raw.expression,
                    raw.offset,
                    raw.expression_offset,
                    views,
                )
            )
            views = None
    return LocationList(section, offset, tuple(entries), cursor.position, reading.error)


def raw_location_list(
    data: bytes, offset: int, *, section: str, context: ListContext, end: int | None = None
) -> tuple[list[RawEntry], int, DwarfGpuError | None]:
    """Return the entries as they are encoded, where the list ends, and the error that cut it short, if any."""
    cursor = list_cursor(data, offset, section, context, end)
    reading = ListReading(cursor, _decoder(section)(cursor, context.address_size))
    return list(reading), cursor.position, reading.error


def kind_name(kind: int, section: str = ".debug_loclists") -> str:
    """Return the name of an entry kind as the standard or GNU writes it; the kinds of ``.debug_loc`` have no names."""
    if section.startswith(".debug_loclists"):
        return name_of("DW_LLE", kind)
    return name_of("DW_LLE_GNU", kind) if section.endswith(".dwo") else ""


def _decoder(section: str) -> Callable[[Cursor, int], Iterator[RawEntry]]:
    if section.startswith(".debug_loclists"):
        return _version_5
    return _gnu_split if section.endswith(".dwo") else _before_5


def _version_5(cursor: Cursor, address_size: int) -> Iterator[RawEntry]:
    while True:
        offset = cursor.position
        kind = cursor.unsigned(1)
        if kind == dw.DW_LLE_end_of_list:
            return
        if kind > dw.DW_LLE_GNU_view_pair:
            message = f"the location list entry kind {kind:#x} is not known"
            raise cursor.fail("unknown_entry_kind", message, "DWARF 5, 7.7.3", offset)
        operands = operands_of(cursor, kind, address_size)
        if (
            dw.DW_LLE_startx_endx <= kind <= dw.DW_LLE_default_location
            or dw.DW_LLE_start_end <= kind <= dw.DW_LLE_start_length
        ):
            yield _with_expression(cursor, offset, kind, operands, cursor.uleb())
        else:
            yield RawEntry(offset, kind, operands)


def _before_5(cursor: Cursor, address_size: int) -> Iterator[RawEntry]:
    """Read ``.debug_loc``: pairs of addresses, each with the 2-byte length of its expression (DWARF 4, 7.7.3)."""
    for offset, kind, operands in pairs_before_5(cursor, address_size):
        if kind == dw.DW_LLE_offset_pair:
            yield _with_expression(cursor, offset, kind, operands, cursor.unsigned(2))
        else:
            yield RawEntry(offset, kind, operands)


def _gnu_split(cursor: Cursor, address_size: int) -> Iterator[RawEntry]:
    """Read ``.debug_loc.dwo`` before version 5 (DW_LLE_GNU_*): kinds as in version 5 up to 4.

    Lengths and offsets have 4 bytes, and the lengths of expressions 2, as in ``.debug_loc``. (GCC wiki, DebugFission.)
    """
    while True:
        offset = cursor.position
        kind = cursor.unsigned(1)
        if kind == dw.DW_LLE_end_of_list:
            return
        if kind > dw.DW_LLE_offset_pair:
            message = f"the GNU location list entry kind {kind:#x} is not known"
            raise cursor.fail("unknown_entry_kind", message, "DWARF 5, 7.7.3", offset)
        if kind == dw.DW_LLE_offset_pair:
            operands: tuple[int, ...] = (cursor.unsigned(4), cursor.unsigned(4))
        elif kind == dw.DW_LLE_base_addressx:
            yield RawEntry(offset, kind, (cursor.uleb(),))
            continue
        else:
            operands = (cursor.uleb(), cursor.uleb() if kind == dw.DW_LLE_startx_endx else cursor.unsigned(4))
        yield _with_expression(cursor, offset, kind, operands, cursor.unsigned(2))


def _with_expression(cursor: Cursor, offset: int, kind: int, operands: tuple[int, ...], length: int) -> RawEntry:
    start = cursor.position
    return RawEntry(offset, kind, operands, cursor.bytes(length), start)
