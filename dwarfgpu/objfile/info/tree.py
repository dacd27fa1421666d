"""Where the entries of a unit are: which owns which, and whether one begins at an offset.

Nothing is kept of most entries. There is a mark in every half kilobyte, the beginning of an entry with the one that
owns it, and what lies between two marks is found again when it is asked for. The unit is read once, no further than
needed, and no value is decoded.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.info.readers import FAILURES, truncated

if TYPE_CHECKING:
    from dwarfgpu.objfile.info.abbrevs import AbbreviationTable

STRIDE = 512
MAX_DEPTH = 1 << 16
"""Entries nested deeper than this are refused."""


class UnitTree:
    """The entries of one unit. All offsets count from its header."""

    def __init__(self, data: bytes, first: int, table: AbbreviationTable, unit: int, section: str) -> None:
        self._data = data
        self._table = table
        self._unit = unit
        self._section = section
        self._first = self._position = first
        self._marks = array("Q")
        self._owners = array("Q")  # for each mark the entry that owns the one there
        self._above: dict[int, int] = {}  # the parents of those, and of theirs
        self._open: list[int] = []  # the entries that own the position, outermost first
        self._parents: dict[int, int] = {}
        self._seen: set[int] = set()  # entries that questions were answered by
        self._latest = first  # the entry that the last question was answered by
        self._error: DwarfGpuError | None = None

    def contains(self, offset: int) -> bool:
        """Return whether an entry begins at an offset."""
        return self.entry_around(offset) == offset

    def entry_around(self, place: int) -> int | None:
        """Return the offset of the entry whose code or data a place lies in."""
        data = self._data
        if not self._first <= place < len(data):
            return None
        if place in self._seen:
            return place
        self._read(place + 1)
        if self._position <= place:
            return None  # the unit entry has ended before
        following = self._marks[bisect_right(self._marks, place) - 1]
        if following < self._latest <= place:
            following = self._latest  # references in sequence lead a little further each
        position, sizes = following, self._table.keep("sizes", entry_sizes)
        while following <= place:
            position = following
            code = data[position]
            size = sizes[code] if code < 0x80 else 0
            following = position + abs(size) if size else self._after(position)
        if not data[position]:
            return None
        self._seen.add(position)
        self._latest = position
        return position

    def parent(self, offset: int) -> int | None:
        """Return the offset of the entry that owns the one at an offset; None for the unit entry."""
        if offset <= self._first:
            return None
        parent = self._parents.get(offset)
        if parent is None:
            self._read(offset + 1)
            if self._position <= offset:
                raise self.no_entry(offset)
            parent = self._parents[offset] = self._find_parent(offset)
        return parent

    def no_entry(self, offset: int) -> DwarfGpuError:
        """Return the error of a reference to where no entry begins."""
        message = f"no entry begins at {self._unit + offset:#x}"
        error = MalformedFile("bad_reference", message, spec="DWARF 5, 7.5.5")
        return error.at(section=self._section, offset=self._unit + offset)  # type: ignore[no-any-return]

    def _find_parent(self, offset: int) -> int:
        data, table = self._data, self._table
        i = bisect_right(self._marks, offset) - 1
        position = self._marks[i]
        owner = self._owners[i]
        inner: list[int] = []  # owners that began after the mark
        sizes = table.keep("sizes", entry_sizes)
        while position < offset:
            code = data[position]
            if code < 0x80 and sizes[code] > 0:
                position += sizes[code]
                continue
            if not code:
                if inner:
                    inner.pop()
                elif owner in self._above:
                    owner = self._above[owner]
                else:
                    raise self.no_entry(offset)
                position += 1
                continue
            abbreviation, start = table.at(data, position)
            if abbreviation.has_children:
                inner.append(position)
            position = abbreviation.layout.skip(data, start)
        return inner[-1] if inner else owner

    def _after(self, position: int) -> int:
        data = self._data
        if not data[position]:
            return position + 1
        abbreviation, position = self._table.at(data, position)
        return abbreviation.layout.skip(data, position)

    def _read(self, until: int) -> None:
        """Read on, at least to an offset if the unit entry does not end before. Entries before a broken one count."""
        position = self._position
        if position >= until or (not self._open and position > self._first):
            return
        if self._error is None:
            try:
                self._walk(position, min(until + STRIDE, len(self._data)))
            except FAILURES:
                self._error = truncated(self._unit + self._position, self._section)
            except DwarfGpuError as error:
                self._error = error.at(section=self._section, offset=self._unit + self._position)
        if self._error is not None and self._position < until:
            raise self._error.again()

    def _read_first(self, position: int) -> int:
        abbreviation, start = self._table.at(self._data, position)
        if abbreviation.has_children:
            self._open.append(position)
        self._marks.append(position)
        self._owners.append(0)
        after = abbreviation.layout.skip(self._data, start)
        if after > len(self._data):
            raise IndexError
        return after

    def _mark(self, position: int) -> None:
        """Set a mark. The parents of those that own it are remembered, so that one mark is enough to go on from."""
        waiting, above = self._open, self._above
        if len(waiting) > MAX_DEPTH:
            raise MalformedFile("limit_exceeded", f"entries are nested more than {MAX_DEPTH} deep", spec="DWARF 5, 2.3")
        self._marks.append(position)
        self._owners.append(waiting[-1])
        for i in range(len(waiting) - 1, 0, -1):
            if waiting[i] in above:
                break
            above[waiting[i]] = waiting[i - 1]

    def _walk(self, position: int, until: int) -> None:  # noqa: PLR0912 (one loop: a call for each entry would cost)
        """Read the entries from a position on. Where one is broken, the position is its own."""
        data, table = self._data, self._table
        known, rows, sizes = table.dense, table.rows, table.keep("sizes", entry_sizes)
        waiting = self._open
        if position == self._first:
            position = self._read_first(position)
            if not waiting:
                self._position = position
                return
        try:
            while position < until:
                self._position = position
                self._mark(position)
                mark = min(until, position + STRIDE)
                while position < mark:
                    code = data[position]
                    if code > 127:
                        code = rows[data[position + 1]][code]
                    size = sizes[code]
                    if size > 0:
                        position += size
                    elif size < 0:
                        if code:
                            waiting.append(position)
                            position -= size
                        else:
                            waiting.pop()
                            position += 1
                            if not waiting:  # the unit entry has ended
                                return
                    else:
                        abbreviation = known[code]
                        start = position
                        if abbreviation is None:
                            abbreviation, start = table.at(data, position)
                        if abbreviation.has_children:
                            waiting.append(position)
                        position = abbreviation.layout.skip(data, start)
        finally:
            if position <= len(data):
                self._position = position
        if position > len(data):
            raise IndexError


def entry_sizes(table: AbbreviationTable) -> list[int]:
    """Return by code how many bytes an entry has: negative if it may own others, 0 if it depends on the entry."""
    sizes = [0] * len(table.dense)
    for code, abbreviation in enumerate(table.dense):
        if abbreviation is not None:
            size = max(abbreviation.layout.size, 0)
            sizes[code] = -size if abbreviation.has_children else size
    sizes[0] = -1
    return sizes


def after_children(data: bytes, position: int, table: AbbreviationTable) -> int:
    """Return where the entries that begin at a position end, with all they own.

    That is after the null entry, or at the end.
    """
    known, rows, sizes = table.dense, table.rows, table.keep("sizes", entry_sizes)
    depth, end = 1, len(data)
    while position < end:
        code = data[position]
        if code > 127:
            code = rows[data[position + 1]][code]
        size = sizes[code]
        if size > 0:
            position += size
        elif size < 0:
            if code:
                depth += 1
                position -= size
            else:
                depth -= 1
                position += 1
                if not depth:
                    return position
        else:
            abbreviation = known[code]
            if abbreviation is None:
                abbreviation, position = table.at(data, position)
            if abbreviation.has_children:
                depth += 1
            position = abbreviation.layout.skip(data, position)
    if position > end:
        raise IndexError
    return position
