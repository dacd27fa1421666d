"""Range lists: ``.debug_rnglists`` and ``.debug_ranges`` (DWARF 5 section 2.17.3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap

from dwarfgpu.dwarf_constants import DW_LLE_default_location, DW_LLE_end_of_list, DW_LLE_start_length, name_of
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
class RangeEntry:
    """One bounded range; empty when start == end."""

    start: int
    end: int
    offset: int
    """The offset of the entry in its section."""


@frozen
class RangeList:
    """The ranges of one list. Some may be missing when there is an ``error``."""

    section: str
    offset: int
    entries: tuple[RangeEntry, ...]
    end: int
    """Where the next list may begin, or where the reading stopped."""
    error: DwarfGpuError | None = None

    def spans(self) -> list[tuple[int, int]]:
        """Return the ranges that are not empty, in the order of the list. A list with an error has no answer."""
        if self.error is not None:
            raise self.error.again()
        return [(entry.start, entry.end) for entry in self.entries if entry.start < entry.end]


def read_range_list(data: bytes, offset: int, *, section: str, context: ListContext) -> RangeList:
    """Read the list at an offset. The name of the section says how it is encoded."""
    cursor = list_cursor(data, offset, section, context)
    bounds = Bounds(context, before_5=section.startswith(".debug_ranges"))
    reading = _reading(cursor, section, context)
    entries: list[RangeEntry] = []
    for raw in reading:
        try:
            span = bounds.of(raw.kind, raw.operands)
        except DwarfGpuError as error:
            reading.note(error, raw.offset)
        else:
            if span is not None:
                entries.append(RangeEntry(*span, raw.offset))
    return RangeList(section, offset, tuple(entries), cursor.position, reading.error)


def raw_range_list(
    data: bytes, offset: int, *, section: str, context: ListContext, end: int | None = None
) -> tuple[list[RawEntry], int, DwarfGpuError | None]:
    """Return the entries as they are encoded, where the list ends, and the error that cut it short, if any."""
    cursor = list_cursor(data, offset, section, context, end)
    reading = _reading(cursor, section, context)
    return list(reading), cursor.position, reading.error


def kind_name(kind: int, section: str = ".debug_rnglists") -> str:
    """Return the name of an entry kind as the standard writes it; the kinds of ``.debug_ranges`` have no names."""
    if not section.startswith(".debug_rnglists"):
        return ""
    return name_of("DW_RLE", kind - (kind > DW_LLE_default_location))


def _reading(cursor: Cursor, section: str, context: ListContext) -> ListReading:
    decoder = _before_5 if section.startswith(".debug_ranges") else _version_5
    return ListReading(cursor, decoder(cursor, context.address_size))


def _version_5(cursor: Cursor, address_size: int) -> Iterator[RawEntry]:
    while True:
        offset = cursor.position
        kind = cursor.unsigned(1)
        if kind == DW_LLE_end_of_list:
            return
        if kind >= DW_LLE_default_location:
            kind += 1  # range lists have no default entry
        if kind > DW_LLE_start_length:
            message = f"the range list entry kind {kind - 1:#x} is not known"
            raise cursor.fail("unknown_entry_kind", message, "DWARF 5, 7.25", offset)
        yield RawEntry(offset, kind, operands_of(cursor, kind, address_size))


def _before_5(cursor: Cursor, address_size: int) -> Iterator[RawEntry]:
    return starmap(RawEntry, pairs_before_5(cursor, address_size))
