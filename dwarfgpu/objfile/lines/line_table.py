"""Line tables: from addresses to source positions and back (DWARF 5 section 6.2).

What a table says about code that is not there must not answer a question. So look-ups skip a sequence whose first
address is a *tombstone*, which a linker leaves where it dropped a function: 0 by default, except in relocatable
objects, where code begins there, all ones or all ones minus one where it was asked to. The rows are still there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.objfile.contributions import each_contribution
from dwarfgpu.objfile.lines.line_header import FileEntry, LineHeader, StringAt, join, read_line_header
from dwarfgpu.objfile.lines.line_program import LineMatrix, LineRow, Sequence, run

if TYPE_CHECKING:
    from dwarfgpu.encoding.cursor import ByteOrder


@frozen
class LineSpan:
    """The addresses that one row applies to: from its own to that of the next row of its sequence."""

    start: int
    end: int
    """The end of the addresses; equal to ``start`` if the next row has the same address."""
    row: LineRow


@immutable
class _Piece:
    """A sequence of code that is there."""

    start: int
    end: int
    sequence: Sequence
    ordered: bool
    """Whether its addresses never decrease, as they must (DWARF 5, 6.2.5)."""


class LineTable:
    """The line table of one or several units. The program is run when its rows are first needed."""

    def __init__(self, data: bytes, header: LineHeader, *, zero_is_code: bool = False, free: int | None = None) -> None:
        self.data = data
        self.free = free
        """How many bytes of the program cost nothing; None is all of them."""
        self._cut_for: object = None
        """The budget of the question in which the program was cut."""
        self.header = header
        self.zero_is_code = zero_is_code
        self._rows: LineMatrix | None = None
        self._pieces: list[_Piece] | None = None
        self._starts: list[int] = []
        self._reaches: list[int] = []

    @property
    def rows(self) -> LineMatrix:
        if self._rows is None or (self._cut_for is not None and self._cut_for is not budget.asked()):
            self.drop()
            self._rows = run(self.data, self.header, self.free)
            self._cut_for = budget.asked() if self._rows.is_cut else None
        return self._rows

    @property
    def error(self) -> DwarfGpuError | None:
        """What is wrong with the header's tables or the program; the rows before it are good."""
        return self.header.error or self.rows.error

    def drop(self) -> None:
        """Give the memory back. The next question runs the program again."""
        self._rows = self._pieces = None
        self._starts, self._reaches = [], []

    def at(self, address: int, *, prefers_statements: bool = False) -> list[LineSpan]:
        """Return the rows that apply to an address: one, or one for each of several sequences that overlap there.

        Of several rows at one address it is the last, as addr2line shows it; or the last that begins a statement, as
        GDB has it.
        """
        pieces = self._live()
        rows_there = []
        index = bisect_right(self._starts, address) - 1
        while index >= 0 and self._reaches[index] > address:
            piece = pieces[index]
            if address < piece.end:
                row = self._row_at(piece, address)
                if row is not None:
                    chosen = self._statement(row, piece.sequence.first) if prefers_statements else row
                    rows_there.append(self._span(chosen, row))
            index -= 1
        rows_there.reverse()
        return rows_there

    def ranges(self) -> list[tuple[int, int]]:
        """Return the address ranges of the sequences whose code is there, by their start."""
        return [(piece.start, piece.end) for piece in self._live()]

    def spans(self, line: int, files: Collection[int], column: int | None = None) -> list[LineSpan]:
        """Return where the code of a line is: the rows for it in one of the files, in the order of the table."""
        rows = self.rows
        rows_there = []
        for piece in sorted(self._live(), key=lambda piece: piece.sequence.first):
            for index in _indices(rows, line, piece.sequence):
                place = rows.places[index]
                if place >> 32 in files and (column is None or place & 0xFFFFFFFF == column):
                    rows_there.append(self._span(index))
        return rows_there

    def next_line(self, line: int, files: Collection[int]) -> int | None:
        """Return the first line from ``line`` on that has code, which is where a breakpoint on ``line`` goes."""
        rows = self.rows
        best: int | None = None
        for piece in self._live():
            first, stop = piece.sequence.first, piece.sequence.stop - 1
            for row_line, place in zip(rows.lines[first:stop], rows.places[first:stop], strict=True):
                if row_line >= line and (best is None or row_line < best) and place >> 32 in files:
                    best = row_line
        return best

    def _live(self) -> list[_Piece]:
        if self._pieces is None:
            rows, last = self.rows, (1 << 8 * self.header.address_size) - 1
            dead = {last, last - 1} if self.zero_is_code else {0, last, last - 1}
            pieces = (_piece(rows, sequence) for sequence in rows.sequences if sequence.origin not in dead)
            self._pieces = sorted((p for p in pieces if p.start < p.end), key=lambda piece: piece.start)
            self._starts = [piece.start for piece in self._pieces]
            reach = 0
            for piece in self._pieces:
                reach = max(reach, piece.end)
                self._reaches.append(reach)
        return self._pieces

    def _row_at(self, piece: _Piece, address: int) -> int | None:
        addresses, sequence = self.rows.addresses, piece.sequence
        if piece.ordered:
            return bisect_right(addresses, address, sequence.first, sequence.stop) - 1
        for row in range(sequence.first, sequence.stop - 1):
            if addresses[row] <= address < addresses[row + 1]:
                return row
        return None

    def _statement(self, last: int, first: int) -> int:
        """Return the last of the rows at one address that begins a statement; the last if none does."""
        rows = self.rows
        row = last
        while row >= first and rows.addresses[row] == rows.addresses[last]:
            if rows[row].is_stmt:
                return row
            row -= 1
        return last

    def _span(self, index: int, last: int | None = None) -> LineSpan:
        """Return a row with its addresses, which end behind the last of the rows at its address."""
        row, next_address = self.rows[index], self.rows.addresses[(index if last is None else last) + 1]
        return LineSpan(row.address, max(row.address, next_address), row)

    def file(self, number: int) -> FileEntry | None:
        """Return the row of the file table with a number, as a row of the table or DW_AT_decl_file gives it."""
        index = number - self.header.first_file
        if index < 0:
            return None
        if index < len(self.header.files):
            return self.header.files[index]
        defined = self.rows.defined_files
        index -= len(self.header.files)
        return defined[index] if index < len(defined) else None

    def files(self) -> Iterator[tuple[int, FileEntry]]:
        """Yield all rows of the file table with their numbers."""
        return enumerate([*self.header.files, *self.rows.defined_files], self.header.first_file)

    def path(self, number: int, compilation_directory: str = "") -> str | None:
        """Return the path of a file; ``compilation_directory`` is the unit's, which versions before 5 do not repeat."""
        entry = self.file(number)
        if entry is None:
            return None
        return join(self.header.directory(entry.directory, compilation_directory), entry.name)


def _piece(rows: LineMatrix, sequence: Sequence) -> _Piece:
    addresses = rows.addresses[sequence.first : sequence.stop].tolist()
    ordered = sorted(addresses)
    return _Piece(ordered[0], ordered[-1], sequence, addresses == ordered)


def _indices(rows: LineMatrix, line: int, sequence: Sequence) -> Iterator[int]:
    index = sequence.first - 1
    while True:
        try:
            index = rows.lines.index(line, index + 1, sequence.stop - 1)
        except ValueError:
            return
        yield index


def line_table(
    data: bytes,
    offset: int,
    *,
    byte_order: ByteOrder = "little",
    address_size: int = 8,
    string_at: StringAt | None = None,
    section: str = ".debug_line",
    zero_is_code: bool = False,
    free: int | None = None,
) -> LineTable:
    """Read the table at an offset, as a unit names it by DW_AT_stmt_list."""
    header = read_line_header(
        data, offset, byte_order=byte_order, address_size=address_size, string_at=string_at, section=section
    )
    return LineTable(data, header, zero_is_code=zero_is_code, free=free)


def line_tables(data: bytes, *, byte_order: ByteOrder = "little", **how: Any) -> Iterator[LineTable | DwarfGpuError]:
    """Yield all tables of a section in order, read as by `line_table`, with an error in place of a broken one."""
    read = partial(line_table, data, byte_order=byte_order, **how)
    return each_contribution(data, byte_order, read, lambda table: table.header.end)
