"""What the lanes of a kernel do, statement by statement, with the values of the variables that are visible there.

A stop is a row of the line table where a statement begins (is_stmt) that some lanes of a wave come to. Its context is
the function with the calls that it is in, inlined or not, each with the place of the call, so that two builds of which
one has inlined a function have the same contexts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.judge.buffer_accesses import BufferAccesses
from dwarfgpu.audits.judge.recorded_values import PointerNames
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.code_lookup import line_table
from dwarfgpu.program.code.kernel_parameters import is_body
from dwarfgpu.program.frames.variable import PARAMETER, STATIC, Variable

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.buffer_accesses import WorkItem
    from dwarfgpu.audits.judge.recorded_values import Recorded
    from dwarfgpu.objfile.line_table import LineRow, LineTable
    from dwarfgpu.program.code.loaded import Loaded, LoadedCode
    from dwarfgpu.program.code.scopes import SourceCall
    from dwarfgpu.program.code.source_files import LineAt
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.states.stopped import Stopped


Context = tuple[Any, ...]
"""The name of a function, then for each call that it is in the name of the caller, the line and the column."""


@frozen
class DeclarationKey:
    """What a variable is known by in another build: its name and the line of its declaration."""

    name: str
    line: int
    is_parameter: bool


_key = lru_cache(1 << 12)(DeclarationKey)
"""Makes each key once: two that are one object are equal without a look at their fields."""


@frozen(eq=False)
class VisibleVariable:
    """A variable at an address."""

    key: DeclarationKey
    index: int
    """Its number among those of the frame."""
    is_listed: bool
    """Whether it has a location list."""


@frozen(eq=False)
class StatementStop:
    """Lanes of a wave that have come to the beginning of a statement."""

    pc: int
    file: str
    line: int
    column: int
    context: Context
    wave: str
    visit: int
    """How often the wave has come here."""
    positions: dict[WorkItem, int]
    """The work-items of the lanes, with their places in the rows of values."""
    lanes: tuple[int, ...]
    values: dict[DeclarationKey, list[Recorded]] | None
    """What variables are in the lanes; None where they were not read."""
    call: int = 0
    """The number of the call that it is in; 0 is the kernel."""

    @property
    def place(self) -> tuple[str, int]:
        return self.file.rpartition("/")[2], self.line

    def value(self, key: DeclarationKey, item: WorkItem) -> Recorded | None:
        """Return what a variable is for a work-item; None where it is not visible."""
        rows = None if self.values is None else self.values.get(key)
        return None if rows is None else rows[self.positions[item]]


class StatementHistory:
    """The stops of a kernel, and those of each work-item in their order."""

    def __init__(self, names: PointerNames) -> None:
        self.names = names
        self.accesses: BufferAccesses | None = None
        """What work-items do to buffers; None where that is not known."""
        self.stops: list[StatementStop] = []
        self.by_item: dict[WorkItem, list[StatementStop]] = {}
        self.shared: set[DeclarationKey] = set()
        """The variables that are not in the memory of one work-item, so that others can change them."""
        self.listed: set[DeclarationKey] = set()
        """The variables with a location list, which can have values that no statement shows."""
        self.self_calls: dict[WorkItem, set[Context]] = {}
        """The contexts of the calls with which functions call themselves."""
        self.is_cut = False
        """Whether there were more stops than are kept."""
        self.between: dict[WorkItem, list[tuple[int, StatementStop]]] = {}
        """The instructions of work-items at which no statement begins, each behind so many of their stops."""

    def add_between(self, stop: StatementStop) -> None:
        """Add an instruction at which no statement begins."""
        for item in stop.positions:
            self.between.setdefault(item, []).append((len(self.by_item.get(item, ())), stop))

    def add(self, stop: StatementStop) -> None:
        """Add a stop behind the others."""
        self.stops.append(stop)
        for item in stop.positions:
            self.by_item.setdefault(item, []).append(stop)
        if caller_in(stop.context) is not None:
            self.note_call(stop.context, stop.positions)

    def note_call(self, context: Context, items: Iterable[WorkItem]) -> None:
        """Note that work-items are in a call with which a function calls itself."""
        for item in items:
            self.self_calls.setdefault(item, set()).add(context)


def live_rows(table: LineTable) -> Iterator[LineRow]:
    """Yield the rows of a line table whose code a linker has kept."""
    rows, live = table.rows, {low for low, _high in table.ranges()}
    for sequence in rows.sequences:
        if rows[sequence.first].address in live:
            yield from (rows[index] for index in range(sequence.first, sequence.stop))


class StatementRows:
    """The rows of line tables where statements begin, by their address in the running program."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self._rows: dict[int, LineRow | None] = {}
        self._table_rows = cache(self._read)

    def at(self, pc: int) -> LineRow | None:
        """Return the row of a statement that begins at an address, behind the prologue of its function."""
        if pc not in self._rows:
            try:
                self._rows[pc] = self._find(pc)
            except DwarfGpuError:  # a table that cannot be read has no statements
                self._rows[pc] = None
        return self._rows[pc]

    def _find(self, pc: int) -> LineRow | None:
        code = self.loaded.at(pc)
        if code is None or not code.file.has_dwarf:
            return None
        address = code.in_file(pc)
        unit = code.file.dwarf.index.unit_at(address)
        table = None if unit is None else line_table(code.file, unit)
        if table is None:
            return None
        rows, addresses, ends = self._table_rows(table)
        row = rows.get(address)
        return None if row is None or address < self._body(code, pc, addresses, ends) else row

    def _read(self, table: LineTable) -> tuple[dict[int, LineRow], list[int], list[int]]:
        """Return the rows of statements by address, all addresses with rows, and those where prologues end."""
        rows: dict[int, LineRow] = {}
        addresses, ends = set(), []
        for row in live_rows(table):
            addresses.add(row.address)
            if row.prologue_end:
                ends.append(row.address)
            if row.is_stmt and row.line and not row.end_sequence:
                rows[row.address] = row  # the last one of an address counts, as for GDB
        return rows, sorted(addresses), sorted(ends)

    @staticmethod
    def _body(code: LoadedCode, pc: int, addresses: list[int], ends: list[int]) -> int:
        """Return the address behind the prologue of the function around an address; 0 if its beginning is not known."""
        functions = code.functions_at(pc)
        die = functions[-1].die if functions else None
        low, high = (None if die is None else die.find(name) for name in ("DW_AT_low_pc", "DW_AT_high_pc"))
        if low is None:
            return 0
        start = low.address()
        end = start
        if high is not None:
            end = high.address() if high.value_class == "address" else start + high.unsigned()
        index = bisect_left(ends, start)
        if index < len(ends) and ends[index] < end:
            return ends[index]
        index = bisect_right(addresses, start)
        return addresses[index] if index < len(addresses) and addresses[index] < end else start


class CallContexts:
    """Finds out which functions the lanes at an address are in."""

    def __init__(self, loaded: Loaded, outermost: str | None = None) -> None:
        self.loaded = loaded
        self.outermost = outermost
        """The function whose callers do not count."""
        self.of = cache(self._find)
        self.around = cache(self._find_around)

    def _find_around(self, pc: int, chain: tuple[int, ...]) -> list[tuple[int, Context]]:
        """Return the contexts of the functions at an address, the innermost last, each with the number of its frame."""
        frames = self.loaded.calls_at(pc)
        numbers = [number for number in range(1, len(frames)) if not _is_stub(frames[number - 1], frames[number])]
        return [(number, self.of(pc, chain, number)) for number in (*reversed(numbers), 0)]

    def _find(self, pc: int, chain: tuple[int, ...], first: int = 0) -> Context:
        """Return the context of an address in some calls, which are given by their return addresses."""
        frames = [*self.loaded.calls_at(pc)[first:]]
        for address in chain:
            frames += self.loaded.calls_at(address - 1)
        parts: list[Any] = [frames[0].function]
        before = frames[0]
        for frame in frames[1:]:
            if before.function == self.outermost:
                break
            if not _is_stub(before, frame):
                line, column = (0, 0) if frame.source is None else (frame.source.line, frame.source.column)
                parts.append((frame.function, line, column))
            before = frame
        return tuple(parts)


def _is_stub(frame: SourceCall, caller: SourceCall) -> bool:
    """Return whether a caller is the kernel that does nothing but call the function with its code."""
    return frame.function == caller.function and is_body(frame.linkage_name)


def variables_of(stopped: Stopped, wave: int, number: int) -> Iterator[tuple[Frame, Variable, DeclarationKey]]:
    """Yield the variables of the source in a frame of a wave, none of them twice."""
    known: set[DeclarationKey] = set()
    with suppress(DwarfGpuError):  # which functions are here cannot be read
        frame = stopped.stack(wave).call(0)[number]
        for variable in frame.variables():
            if variable.kind == STATIC or variable.is_artificial or variable.is_shadowed:
                continue
            key = key_of(variable)
            if key not in known:
                known.add(key)
                yield frame, variable, key


def source_place(row: LineRow | None, line: LineAt | None) -> tuple[str, int, int]:
    """Return the file, the line and the column of an instruction, given its row if a statement begins there."""
    number, column = (0 if line is None else line.line, 0) if row is None else (row.line, row.column)
    return "" if line is None else line.file.name, number, column


def caller_in(context: Context) -> Context | None:
    """Return the context of the caller where a function calls itself; None for any other context."""
    if len(context) < 2 or context[1][0] != context[0]:
        return None
    return (context[0], *context[2:])


def key_of(variable: Variable) -> DeclarationKey:
    """Return what a variable is known by in another build."""
    try:
        line = variable.die.find_number(dw.DW_AT_decl_line)
        number = 0 if line is None else int(line.unsigned())
    except DwarfGpuError:
        number = 0
    return _key(variable.name, number, variable.kind == PARAMETER)
