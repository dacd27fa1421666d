"""The lines of a line table as a debugger sees them: where the code of each begins, and what it reaches to.

A table has more rows than that: for columns, for basic blocks, for what is no beginning of a statement. The rules here
are those of GDB, so that both say the same of an address; but for code that belongs to no line (6.2.2), which GDB
counts among that of the line before it. Rows for one line that discriminators tell apart are one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dwarfgpu.objfile.lines.program import Row
    from dwarfgpu.objfile.lines.table import LineTable


@frozen
class LineStart:
    """Where the code of a line begins, or goes on after that of another one."""

    address: int
    end: int
    """Where the next one begins."""
    file: int
    line: int
    """0 for code that belongs to no line (DWARF 5, 6.2.2)."""
    is_statement: bool


class Lines:
    """The lines of one table, by address."""

    def __init__(self, table: LineTable) -> None:
        live = table.ranges()
        starts: list[LineStart] = []
        for sequence in table.rows.sequences:
            rows = [table.rows[index] for index in range(sequence.first, sequence.stop)]
            if any(rows[0].address == low for low, _ in live):
                starts += _starts(rows)
        starts.sort(key=lambda each: each.address)
        self.starts: tuple[LineStart, ...] = tuple(starts)
        self._addresses = [each.address for each in starts]

    def at(self, address: int) -> LineStart | None:
        """The line of an address: of several that begin there the last one, a statement before what is none."""
        index = bisect_right(self._addresses, address) - 1
        if index < 0:
            return None
        found = self.starts[index]
        first = bisect_left(self._addresses, found.address)
        if not found.is_statement:
            found = next((each for each in reversed(self.starts[first:index]) if each.is_statement), found)
        return found if address < found.end else None

    def entered_at(self, start: LineStart) -> LineStart:
        """The first line that begins where another one does: the brace before the first statement of a function."""
        return self.starts[bisect_left(self._addresses, start.address)]

    def first(self, line: int, files: Collection[int]) -> LineStart | None:
        """Where a statement of a line begins first."""
        return next(
            (each for each in self.starts if each.line == line and each.is_statement and each.file in files),
            None,
        )

    def next_line(self, line: int, files: Collection[int]) -> int | None:
        """The first line from one on that has a statement."""
        lines = (
            each.line
            for each in self.starts
            if each.line >= line and each.is_statement and each.file in files
        )
        return min(lines, default=None)


def _starts(rows: list[Row]) -> Iterator[LineStart]:
    """The rows of a sequence that begin a line; the last row only ends it."""
    kept: list[Row] = []
    before: Row | None = None
    is_told_apart = has_statement = False
    for row in rows[:-1]:
        is_same = before is not None and before.line == row.line
        is_told_apart = bool(row.discriminator) or (is_same and is_told_apart)
        is_same_file = before is not None and before.file == row.file
        at_same_address = before is not None and before.address == row.address
        has_statement = has_statement and at_same_address
        is_shadowed = not is_same_file and at_same_address and not row.is_stmt and has_statement
        goes_on = is_same_file and bool(kept) and kept[-1].line == row.line and is_told_apart
        if not is_shadowed and not goes_on:
            kept.append(row)
        has_statement = has_statement or row.is_stmt
        before = row
    ends = sorted({row.address for row in kept} | {rows[-1].address})
    for row in kept:
        end = ends[min(bisect_right(ends, row.address), len(ends) - 1)]
        yield LineStart(row.address, end, row.file, row.line, row.is_stmt)
