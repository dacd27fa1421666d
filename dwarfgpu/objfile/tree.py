"""Where the entries of a unit are: which owns which, and whether an offset is one at all.

Nothing is kept of most entries. There is a mark in every half kilobyte, the beginning of an entry with the one that
owns it, and what lies between two marks is found again when it is asked for. The unit is read once, no further than
needed, and no value is decoded. Sibling attributes are not followed: what is found here is what the data says, and
references are checked against it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.objfile.readers import FAILURES, truncated

if TYPE_CHECKING:
    from dwarfgpu.objfile.abbrevs import AbbreviationTable

STRIDE = 512
MAX_DEPTH = 1 << 16
"""Entries nested deeper than this are refused."""


class UnitTree:
    """The entries of one unit. All offsets count from its header."""

    __slots__ = (
        "_data",
        "_error",
        "_first",
        "_marks",
        "_open",
        "_owners",
        "_parents",
        "_position",
        "_section",
        "_table",
        "_unit",
    )

    def __init__(self, data: bytes, first: int, table: AbbreviationTable, unit: int, section: str) -> None:
        self._data = data
        self._table = table
        self._unit = unit
        self._section = section
        self._first = self._position = first
        self._marks = array("Q")
        self._owners = array("Q")  # for each mark the entry that owns the one there
        self._open: list[int] = []  # the entries that own the position, outermost first
        self._parents: dict[int, int] = {}
        self._error: DwarfGpuError | None = None

    def contains(self, offset: int) -> bool:
        """Whether an entry begins at an offset."""
        data = self._data
        if not self._first <= offset < len(data) or not data[offset]:
            return False
        self._read(offset + 1)
        if self._position <= offset:
            return False  # the unit entry has ended before
        position = self._marks[bisect_right(self._marks, offset) - 1]
        while position < offset:
            position = self._after(position)
        return position == offset

    def entry_around(self, place: int) -> int | None:
        """The offset of the entry whose code or data a place lies in."""
        if not self._first <= place < len(self._data):
            return None
        self._read(place + 1)
        if self._position <= place:
            return None
        following = self._marks[bisect_right(self._marks, place) - 1]
        position = following
        while following <= place:
            position, following = following, self._after(following)
        return position if self._data[position] else None

    def parent(self, offset: int) -> int | None:
        """The offset of the entry that owns the one at an offset; None for the unit entry."""
        if offset <= self._first:
            return None
        found = self._parents.get(offset)
        if found is None:
            self._read(offset + 1)
            found = self._parents[offset] = self._find_parent(offset)
        return found

    def _find_parent(self, offset: int) -> int:
        data, table = self._data, self._table
        i = bisect_right(self._marks, offset) - 1
        position = self._marks[i]
        owner: int | None = self._owners[i]
        inner: list[int] = []  # owners that began behind the mark
        while position < offset:
            if not data[position]:
                if inner:
                    inner.pop()
                elif owner is not None:
                    owner = self.parent(owner)
                position += 1
                continue
            abbreviation, start = table.at(data, position)
            if abbreviation.has_children:
                inner.append(position)
            position = abbreviation.layout.skip(data, start)
        if inner:
            return inner[-1]
        return self._first if owner is None else owner

    def _after(self, position: int) -> int:
        """The position behind an entry or null entry."""
        data = self._data
        if not data[position]:
            return position + 1
        abbreviation, position = self._table.at(data, position)
        return abbreviation.layout.skip(data, position)

    def _read(self, until: int) -> None:
        """Read on, at least to an offset if the unit entry does not end before."""
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
        if self._error is not None:
            raise self._error

    def _walk(self, position: int, until: int) -> None:  # noqa: PLR0912 (one loop: a call costs more than a step)
        data, table = self._data, self._table
        known, rows, sizes = table.dense, table.rows, table.keep("sizes", entry_sizes)
        waiting = self._open
        while position < until:
            self._position = position
            self._marks.append(position)
            self._owners.append(waiting[-1] if waiting else 0)
            if len(waiting) > MAX_DEPTH:
                raise IndexError
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
                            self._position = position
                            return
                else:
                    abbreviation = known[code]
                    start = position
                    if abbreviation is None:
                        abbreviation, start = table.at(data, position)
                    if abbreviation.has_children:
                        waiting.append(position)
                    position = abbreviation.layout.skip(data, start)
                    if not waiting:  # a unit entry that owns nothing
                        break
            if not waiting:
                break
        if position > len(data):
            raise IndexError
        self._position = position


def entry_sizes(table: AbbreviationTable) -> list[int]:
    """For each code how many bytes an entry has: negative if it may own others, 0 if it depends on the entry."""
    sizes = [0] * len(table.dense)
    for code, abbreviation in enumerate(table.dense):
        if abbreviation is not None:
            size = max(abbreviation.layout.size, 0)
            sizes[code] = -size if abbreviation.has_children else size
    sizes[0] = -1
    return sizes


def after_children(data: bytes, position: int, table: AbbreviationTable) -> int:
    """Where the entries that begin at a position end, with all they own: behind the null entry, or at the end."""
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
