"""What the lanes of a kernel do, statement by statement, with the values of the variables that are visible there.

A stop is a row of the line table where a statement begins (is_stmt) that some lanes of a wave come to. Its context is
the function with the calls that it is in, inlined or not, each with the place of the call, so that two builds of which
one has inlined a function have the same contexts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.judge.buffer_accesses import BufferAccesses
from dwarfgpu.audits.judge.followed_run import FollowedRun
from dwarfgpu.audits.judge.kept_values import ContentSource, KeptValues, source_of
from dwarfgpu.audits.judge.located_variables import entries_of
from dwarfgpu.audits.judge.recorded_values import UNUSED, PointerNames, is_shared, recorded, recorded_everywhere
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.halts import Halt, uninterrupted
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.code_lookup import line_table
from dwarfgpu.program.code.kernel_parameters import is_body
from dwarfgpu.program.frames.variable import PARAMETER, STATIC, Variable
from dwarfgpu.program.frames.wave_positions import place_of
from dwarfgpu.targets.amdgpu.numbers import PRIVATE_WAVE

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.call_record import InstructionVisit
    from dwarfgpu.audits.judge.recorded_values import Recorded
    from dwarfgpu.audits.judge.same_code import SameCode
    from dwarfgpu.audits.judge.undefined_values import UndefinedValues
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.line_table import LineRow, LineTable
    from dwarfgpu.objfile.lists.list_encoding import ListEntry
    from dwarfgpu.program.code.loaded import Loaded, LoadedCode
    from dwarfgpu.program.code.scopes import SourceCall
    from dwarfgpu.program.code.source_files import LineAt
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.states.stopped import Stopped

FOLLOWED_WAVES = 4
"""The waves whose lanes are compared."""
BETWEEN_WAVES, BETWEEN_LANES = 2, 8
"""The waves and the lanes of an instruction between statements that are compared."""
SAME = 4, 64
"""Those that are compared with a build whose code is the same, in which every place is known."""
MAX_STOPS = 20_000
MAX_VISITS = 16
"""The visits of one statement by one wave at which variables are read; in the other build twice as many.

Between statements they are the first, the second, the fourth and so on: rounds of a loop differ more as it goes on.
"""

WorkItem = tuple[tuple[int, int, int], tuple[int, int, int]]
"""A work-item: its work-group, and its place in it."""
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
    source: ContentSource


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
        """The line, with the name of its file."""
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

    def item_of(self, wave: str, lane: int) -> WorkItem | None:
        """Return the work-item of a lane of a wave; None if it has come to no stop."""
        for stop in self.stops:
            if stop.wave == wave and lane in stop.lanes:
                position = stop.lanes.index(lane)
                return next(item for item, place in stop.positions.items() if place == position)
        return None


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

    def addresses(self) -> Iterable[int]:
        """Yield the addresses of all statements, behind the prologues of their functions."""
        for code in self.loaded.codes:
            if not code.file.has_dwarf:
                continue
            for unit in code.file.dwarf.index.units:
                try:
                    table = line_table(code.file, unit)
                    rows = {} if table is None else self._table_rows(table)[0]
                except DwarfGpuError:
                    continue
                for address in rows:
                    if self.at(code.in_program(address)) is not None:
                        yield code.in_program(address)

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


class StatementRecorder:
    """Records the stops of waves of a device, or of some work-items."""

    def __init__(
        self,
        run: FollowedRun,
        judged: StatementHistory | None = None,
        same: SameCode | None = None,
        undefined: UndefinedValues | None = None,
    ) -> None:
        self.run = run
        self.undefined = undefined
        """What undefined behaviour may change, which is left out."""
        self.same = same
        """Another build to read at the same instructions, as long as these are the same."""
        self.running = running = run.running
        self.judged = judged
        """The history of the build that is judged, if this is the other one, whose contexts are recorded alone."""
        self._contexts = None if judged is None else {stop.context for stop in judged.stops}
        self._most_visits = MAX_VISITS if judged is None else 2 * MAX_VISITS
        self.history = StatementHistory(PointerNames.of(running))
        self.rows = StatementRows(run.stopped.loaded)
        self.contexts = CallContexts(run.stopped.loaded)
        self._items: dict[tuple[int, int], tuple[WorkItem | None, ...]] = {}
        self._visits: dict[tuple[str, int], int] = {}
        self._known: set[DeclarationKey] = set()
        self._visible: dict[tuple[int, int], list[VisibleVariable]] = {}
        self._entries: dict[Die, tuple[ListEntry, ...] | None] = {}
        self._kept = KeptValues(run.registers)
        self.accesses = BufferAccesses(running, self.items_of, None if judged is None else judged.accesses)
        self.history.accesses = self.accesses
        count = running.launched.geometry.wave_count
        self._followed = {index * (count - 1) // (FOLLOWED_WAVES - 1) for index in range(FOLLOWED_WAVES)}

    def observe(self, arrival: InstructionVisit) -> None:
        """Record waves of one call that are about to execute an instruction, if a statement begins there."""
        batch, chain = arrival.batch, arrival.chain
        self.accesses.observe(batch)
        if self.same is not None and not self.same.has(batch.pc, arrival.instruction):
            self.same = None
            self.history.between.clear()  # which has what is different alone
        row = self.rows.at(batch.pc)
        if self.judged is None:
            self._observe_between(arrival, is_statement=row is not None)
        if row is None:
            return
        if len(self.history.stops) >= MAX_STOPS:
            self.history.is_cut = True
            return
        context = self.contexts.of(batch.pc, chain)
        is_known = self._contexts is None or context in self._contexts
        if not is_known and caller_in(context) not in (self._contexts or ()):
            return
        is_shown = False
        for wave in batch.waves[arrival.rows].tolist():
            items = self.items_of(wave)
            mask = int(self.run.lanes.active[wave])
            lanes = tuple(lane for lane, item in enumerate(items) if item is not None and mask >> lane & 1)
            if not is_known:  # a call that the build that is judged does not have
                self.history.note_call(context, [item for lane in lanes if (item := items[lane]) is not None])
            elif lanes:
                if not is_shown:
                    self.run.registers.show(batch)
                    is_shown = True
                visit = self._visit(wave, batch.pc, is_over=True)
                stop = self._made(arrival, row, context, wave, visit, lanes, items)
                self.history.add(stop)
                if self.same is not None:
                    self.same.add(stop, wave, chain)

    def _observe_between(self, arrival: InstructionVisit, *, is_statement: bool) -> None:
        """Record some lanes of waves in the functions of an instruction in which it does not begin a statement."""
        batch, chain = arrival.batch, arrival.chain
        around = self.contexts.around(batch.pc, chain)
        if is_statement:
            around = around[:-1]
        waves = batch.waves[arrival.rows].tolist() if around else []
        visits = {wave: self._visit(wave, batch.pc, is_over=not is_statement) for wave in waves}
        most_waves, most_lanes = (BETWEEN_WAVES, BETWEEN_LANES) if self.same is None else SAME
        chosen = [wave for wave, visit in visits.items() if visit <= MAX_VISITS and not visit & visit - 1]
        for wave in chosen[:most_waves]:
            items = self.items_of(wave)
            mask = int(self.run.lanes.active[wave])
            known = [lane for lane, item in enumerate(items) if item is not None and mask >> lane & 1]
            if not known:
                continue
            evenly = (known[index * (len(known) - 1) // (most_lanes - 1)] for index in range(most_lanes))
            lanes = tuple(dict.fromkeys(evenly))
            self.run.registers.show(batch)
            for number, context in around:
                stop = self._made(arrival, None, context, wave, visits[wave], lanes, items, number)
                self.history.add_between(stop if self.same is None else self.same.add_between(stop, wave, chain))

    def _name(self, wave: int) -> str:
        return self.running.machine.ids[wave]

    def _visit(self, wave: int, pc: int, *, is_over: bool) -> int:
        """Return how often a wave has come to an instruction; with ``is_over`` the next one will be another visit."""
        place = self._name(wave), pc
        visit = self._visits.get(place, 0) + 1
        if is_over:
            self._visits[place] = visit
        return visit

    def items_of(self, wave: int) -> tuple[WorkItem | None, ...]:
        """Return the work-items of the lanes of a wave; None for those that are not followed."""
        machine = self.running.machine
        key = machine.device.rounds, wave
        items = self._items.get(key)
        if items is None:
            place = place_of(machine, wave)
            group = place.work_group
            number = int(machine.ids[wave].rpartition(":")[2]) - 1
            work_items: list[WorkItem | None] = []
            for lane in range(self.run.lanes.lanes):
                at = place.item(lane)
                item = None if at is None or group is None else (group, at)
                is_followed = (number in self._followed) if self.judged is None else item in self.judged.by_item
                work_items.append(item if is_followed else None)
            items = self._items[key] = tuple(work_items)
        return items

    def _made(
        self,
        arrival: InstructionVisit,
        row: LineRow | None,
        context: Context,
        wave: int,
        visit: int,
        lanes: tuple[int, ...],
        items: tuple[WorkItem | None, ...],
        frame: int = 0,
    ) -> StatementStop:
        """Return a stop; without a row of a statement it is on the line of the instruction, or of the inlined call."""
        name, pc = self._name(wave), arrival.pc
        call = self.run.stopped.loaded.calls_at(pc)[frame].source if frame else None
        place = (call.file or "", call.line, 0) if call is not None else source_place(row, self.running.line_at(pc))
        return StatementStop(
            pc,
            *place,
            context,
            name,
            visit,
            {items[lane]: position for position, lane in enumerate(lanes)},  # type: ignore[misc]
            lanes,
            self._values(pc, wave, lanes, frame, of_lists=row is None) if visit <= self._most_visits else None,
            arrival.number,
        )

    def _values(
        self, pc: int, wave: int, lanes: tuple[int, ...], number: int, *, of_lists: bool = False
    ) -> dict[DeclarationKey, list[Recorded]]:
        """Return what the variables are; with ``of_lists`` those alone whose location says where it begins."""
        values: dict[DeclarationKey, list[Recorded]] = {}
        read = recorded_everywhere if self.judged is None else recorded
        if (pc, number) not in self._visible:
            self._visible[pc, number] = [*self._visible_in(wave, number)]
        for each in self._visible[pc, number]:
            if of_lists and self.same is None and not each.is_listed:
                continue

            def found(index: int = each.index) -> tuple[Frame, Variable]:
                frame = self.run.stopped.stack(wave).call(0)[number]
                return frame, frame.variables()[index]

            def rows(found: Callable[[], tuple[Frame, Variable]] = found) -> list[Recorded]:
                return read(*found(), lanes)

            values[each.key] = self._kept.read(each.source, wave, lanes, rows)
            if self.undefined is not None:
                values[each.key] = self.undefined.certain(wave, *found(), lanes, values[each.key])
            if each.is_listed:
                self.history.listed.add(each.key)
            if each.key not in self._known:
                self._known.add(each.key)
                if is_shared(*found(), lanes[0]):
                    self.history.shared.add(each.key)
        return values

    def _visible_in(self, wave: int, number: int) -> Iterator[VisibleVariable]:
        """Yield the variables in a frame of a wave."""
        for frame, variable, key in variables_of(self.run.stopped, wave, number):
            if variable.die not in self._entries:
                self._entries[variable.die] = entries_of(variable)
            index = next(at for at, each in enumerate(frame.variables()) if each is variable)
            source = source_of(variable, self._entries[variable.die])
            yield VisibleVariable(key, index, _has_list(variable), source)


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


def _has_list(variable: Variable) -> bool:
    try:
        location = variable.definition.find_number(dw.DW_AT_location)
    except DwarfGpuError:
        return False
    return location is not None and location.value_class == "loclist"


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


def record_run(
    running: Running, judged: StatementHistory, limit: int | None = None, undefined: UndefinedValues | None = None
) -> tuple[StatementHistory, Halt]:
    """Run a kernel to its end, and return what work-items do in it that another build has, and how it ends."""
    store = running.machine.memory.stores.get(PRIVATE_WAVE)
    for block in () if store is None else store.blocks:
        np.frombuffer(block.buffer, np.uint8)[:] = UNUSED

    def observe(batch: WaveBatch, arrivals: list[InstructionVisit], *_others: Any) -> None:
        if undefined is not None:
            undefined.observe(batch)
        for arrival in arrivals:
            recorder.observe(arrival)

    run = FollowedRun(running, observe)
    recorder = StatementRecorder(run, judged, undefined=undefined)
    halt = uninterrupted(run.run(limit))
    recorder.accesses.end()
    recorder.history.is_cut |= not halt.has_ended
    return recorder.history, halt
