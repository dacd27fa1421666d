"""Statements judged by execution: where a debugger that steps and sets breakpoints would stop, and where code was.

A lane steps from statement to statement: to each instruction where a row of the line table begins a statement and the
lane is active. What a step is is counted in each activation of a function, and in each inlined call, for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.judge.sightings import Sighting, Sightings, Subject
from dwarfgpu.audits.judge.statement_record import live_rows
from dwarfgpu.audits.judge.variable_values import is_read_reference
from dwarfgpu.audits.verify.findings import NOTE, WARNING, CheckRule, rules
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.batch import NOWHERE
from dwarfgpu.execution.control.stepping import CodeMap
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.lanes import first_lane, lanes_in, outer_of
from dwarfgpu.program.code.code_lookup import line_table, tidy
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.variable import PARAMETER, Variable

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.call_record import InstructionVisit
    from dwarfgpu.audits.judge.followed_run import FollowedRun
    from dwarfgpu.audits.judge.source_statements import SourceStatements
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.objfile.line_table import LineTable
    from dwarfgpu.program.code.loaded import LoadedCode

    _Unread = tuple[Sighting, str | None]
    """What was seen of a parameter that cannot be read, and the limit of the producer that is the reason."""

RULES: dict[str, CheckRule] = rules(
    "statement",
    ("none", WARNING, "DWARF 5, 6.2.2", "A line whose code is executed begins a statement there.",
     "set is_stmt in a row of the line, so that steps and breakpoints stop at it"),
    ("unreached", WARNING, "DWARF 5, 6.2.2", "A breakpoint on a line stops where the code of the line is executed.",
     "begin the statement at an instruction that all ways to the line execute"),
    ("back", NOTE, "DWARF 5, 6.2.2", "Steps go back to an earlier line only where the source has a loop.",
     "begin no statement at an instruction that was moved after those of a later line"),
    ("parameter", WARNING, "A.4.1 (1)", "The parameters of a function can be read at its first statement.",
     "describe where the parameter is from the first statement on, or end the prologue later"),
)  # fmt: skip

_NO_STATEMENT = "no statement of it begins in the function"
MAX_STEPS = 20_000
"""The different steps that are kept of a function."""


@frozen
class CodeLine:
    """What the line table says of an instruction."""

    file: str
    """The path of the source file; empty where there is no line."""
    line: int
    is_start: bool
    """Whether a statement begins here."""
    owner: tuple[str, int]
    """The function, or the inlined call, whose code it is: the name of the function, and the entry."""
    block: int
    """The entry of the innermost block."""
    is_inlined: bool = False
    """Whether it is the code of an inlined call."""


class CodeLines:
    """The lines of instructions, each read once."""

    def __init__(self, running: Running, sightings: Sightings) -> None:
        self.running = running
        self.sightings = sightings
        self._known: dict[int, CodeLine] = {}
        self.tables: dict[LineTable, tuple[LoadedCode, Unit]] = {}
        """The line tables that were asked, each with the unit that it was asked for."""

    def __getitem__(self, pc: int) -> CodeLine:
        line = self._known.get(pc)
        if line is None:
            line = self._known[pc] = self._read(pc)
        return line

    def _read(self, pc: int) -> CodeLine:
        code = self.running.attached.state.loaded.at(pc)
        name = self.sightings.function(pc)[0]
        if code is None or not code.file.has_dwarf:
            return CodeLine("", 0, is_start=False, owner=(name, 0), block=0)
        place = code.in_file(pc)
        scopes = code.functions_at(pc)
        owner = name, scopes[0].die.offset if scopes else 0
        block = scopes[0].blocks[0].offset if scopes else 0
        nowhere = CodeLine("", 0, is_start=False, owner=owner, block=block)
        try:
            unit = code.file.dwarf.index.unit_at(place)
            table = None if unit is None else line_table(code.file, unit)
            spans = [] if table is None else table.at(place, prefers_statements=True)
        except DwarfGpuError as error:
            code.file.dwarf.note(error)
            return nowhere
        if not spans or table is None or unit is None:
            return nowhere
        self.tables.setdefault(table, (code, unit))
        row = spans[-1].row
        return evolve(
            nowhere,
            file=tidy(table.path(row.file, unit.directory or "") or ""),
            line=row.line,
            is_start=bool(row.line) and row.is_stmt and spans[-1].start == place,
            is_inlined=bool(scopes) and scopes[0].is_inlined,
        )


class StatementJudge:
    """Judges the statements of a line table by what is executed, and the parameters where the first one begins."""

    def __init__(self, run: FollowedRun, sightings: Sightings, texts: SourceStatements, followed: set[int]) -> None:
        self.run = run
        self.machine = run.running.machine
        self.sightings = sightings
        self.texts = texts
        self._followed = followed
        """The waves whose steps are followed."""
        self._reader = CodeMap(run.running.attached, run.running.machine.device)
        self.lines = CodeLines(run.running, sightings)
        self.executed: dict[int, Sighting] = {}
        """The instructions that lanes have executed, each with the first of them."""
        self._at: dict[tuple[int, int, tuple[str, int]], dict[int, int]] = {}
        """For each wave, call and owner the statements that lanes have come to last, with the lanes."""
        self._steps: dict[tuple[str, int], dict[tuple[int, int], Sighting]] = {}
        """The steps that lanes of an owner have made."""
        self._entered: set[int] = set()
        """The first statements of functions that were judged."""
        self._unread: dict[tuple[int, int], tuple[int, dict[str, _Unread]]] = {}
        """By wave and call the parameters that could not be read at a first statement, behind its address."""
        self._waited: set[tuple[int, int]] = set()
        """The waves, with their calls, of those in which something was waited for since."""

    def observe(self, arrival: InstructionVisit) -> None:
        """Take notice of waves that are about to execute an instruction."""
        pc = arrival.pc
        line = self.lines[pc]
        if pc not in self.executed:
            self._note_executed(arrival)
        if self._unread:
            self._wait(arrival, line)
        if not line.is_start:
            return
        for row in arrival.rows.tolist():
            wave = arrival.wave(row)
            if wave in self._followed:
                self._step(wave, arrival.number, pc, line)

    def show(self, arrival: InstructionVisit, row: int) -> None:
        """Judge the parameters of a function whose first statement begins; the registers of the batch can be read."""
        pc = arrival.pc
        if pc in self._entered:
            return
        self._entered.add(pc)
        if self._reader.at(pc).body == pc and self.lines[pc].is_start:
            key = arrival.wave(row), arrival.number
            unread = dict(self._unreadable(key[0], arrival.visits))
            if unread:
                self._unread[key] = pc, unread
                self._waited.discard(key)

    def end(self, waves: Any, number: int) -> None:
        """Forget where waves are that end, or that return from a call."""
        gone = set(waves.tolist())
        for key in [key for key in self._at if key[1] == number and key[0] in gone]:
            del self._at[key]
        for wave in gone:
            if (wave, number) in self._unread:
                self._settle(*self._unread.pop((wave, number)))

    # --- What is executed -----------------------------------------------------------------------------------------

    def _note_executed(self, arrival: InstructionVisit) -> None:
        """Note an instruction that some lane executes; others may come to it with no lane."""
        for row in arrival.rows.tolist():
            wave = arrival.wave(row)
            mask = int(self.run.lanes.active[wave])
            if mask:
                self.executed[arrival.pc] = Sighting("", self.machine.ids[wave], first_lane(mask))
                return

    def _step(self, wave: int, number: int, pc: int, line: CodeLine) -> None:
        """Note that the active lanes of a wave step to a statement."""
        active = int(self.run.lanes.active[wave])
        if not active:
            return
        places = self._at.setdefault((wave, number, line.owner), {})
        steps = self._steps.setdefault(line.owner, {})
        for before, lanes in list(places.items()):
            moved = lanes & active
            if not moved:
                continue
            if (before, pc) not in steps and len(steps) < MAX_STEPS:
                steps[before, pc] = Sighting("", self.machine.ids[wave], first_lane(moved))
            if lanes == moved:
                del places[before]
            else:
                places[before] = lanes ^ moved
        places[pc] = places.get(pc, 0) | active

    # --- Parameters -----------------------------------------------------------------------------------------------

    def _unreadable(self, wave: int, visits: int) -> Iterator[tuple[str, _Unread]]:
        """Yield the parameters of the function of a wave that cannot be read, each with why."""
        frame = self.run.stopped.stack(wave).call(0)[-1]
        try:
            active = outer_of(lanes_in(frame.active_mask or 0))
        except DwarfGpuError:
            active = []
        if frame.has_lanes and not active:
            return
        for variable in frame.variables():
            if variable.kind != PARAMETER or variable.is_artificial:
                continue
            problem = self._problem(variable, active)
            if problem is not None:
                message, lane, limit = problem
                text = f"{variable.name} cannot be read where the function begins: {message}"
                yield variable.name, (Sighting(text, self.machine.ids[wave], lane, visits), limit)

    def _problem(self, variable: Variable, lanes: list[int]) -> tuple[str, int | None, str | None] | None:
        """Return why a variable cannot be read in one of some lanes, which one, and the limit; None if it can."""
        try:
            values = answer(variable, variable.name, lanes or None)
            for lane_answer in values.by_lane:
                reason = lane_answer.reason
                if lane_answer.value is not None or reason is None or is_read_reference(variable, lane_answer.lane):
                    continue
                limit = "parameter-dropped" if reason.state == "absent" else None
                return reason.message, lane_answer.lane, limit
        except DwarfGpuError as error:
            return error.message, None, None
        return None

    def _wait(self, arrival: InstructionVisit, line: CodeLine) -> None:
        """Read again what could not be read, where the next statement begins behind a wait for what was on its way."""
        for row in arrival.rows.tolist():
            key = arrival.wave(row), arrival.number
            start, variables = self._unread.get(key, (arrival.pc, {}))
            if start == arrival.pc:
                continue
            if not line.is_start:
                if arrival.instruction.name.startswith("s_wait"):
                    self._waited.add(key)
                continue
            del self._unread[key]
            if key in self._waited:
                self.run.registers.show(arrival.batch)
                still = dict(self._unreadable(key[0], 1))
                variables = {name: each for name, each in variables.items() if name in still}
            self._settle(start, variables)

    def _settle(self, pc: int, unread: dict[str, _Unread]) -> None:
        self.sightings.note(RULES["parameter"], pc)
        for name, (sighting, limit) in unread.items():
            self.sightings.add(Subject(RULES["parameter"], name, limit=limit), pc, sighting)

    # --- What comes of it -----------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Judge the lines and the steps, once everything has been executed."""
        for pc, unread in self._unread.values():
            self._settle(pc, unread)
        self._unread.clear()
        self._judge_lines()
        for owner, steps in self._steps.items():
            self._judge_steps(owner, steps)

    def _judge_lines(self) -> None:
        """Judge whether each line that was executed has statements in the function, and whether a breakpoint stops."""
        by_line: dict[tuple[tuple[str, int], str, int], list[int]] = {}
        for pc in sorted(self.executed):
            line = self.lines[pc]
            if line.line:
                by_line.setdefault((line.owner, line.file, line.line), []).append(pc)
        statements = self._statements()
        for (owner, file, number), addresses in by_line.items():
            first: dict[int, int] = {}
            is_inlined = self.lines[addresses[0]].is_inlined
            for pc in statements.get((file, number), ()):
                if self.sightings.function(pc)[0] != owner[0]:
                    continue
                place = self.lines[pc]
                if place.owner == owner or not is_inlined:  # a line may be that of a call, and of what is inlined
                    first.setdefault(place.block, pc)  # GDB has one breakpoint for each block
            rule = RULES["unreached" if first else "none"]
            for pc in addresses:
                self.sightings.note(rule, pc)
            if any(pc in self.executed for pc in first.values()):
                continue
            if not first and is_inlined and self._goes_on(addresses[0], statements.get((file, number), ())):
                continue
            places = ", ".join(f"+{self.sightings.function(pc)[1]:#x}" for pc in list(first.values())[:3])
            message = f"line {number} is executed, and "
            message += f"breakpoints on it stop at {places}, which is not" if first else _NO_STATEMENT
            subject = Subject(rule, f"{owner[1]} {file}:{number}")
            for pc in addresses:
                self.sightings.add(subject, pc, evolve(self.executed[pc], message=message))

    def _goes_on(self, pc: int, statements: Sequence[int]) -> bool:
        """Return whether the line at an address has begun in an inlined call in front, without another line between.

        A breakpoint on the line stops there, and a table has no new row where only the call changes.
        """
        start = max((each for each in statements if each < pc), default=None)
        if start is None or start not in self.executed:
            return False
        between = (self.lines[each] for each in self.executed if start <= each < pc)
        here = self.lines[pc]
        return all((line.file, line.line) == (here.file, here.line) for line in between)

    def _statements(self) -> dict[tuple[str, int], list[int]]:
        """Return where statements begin, by file and line, in ascending order."""
        statements: dict[tuple[str, int], list[int]] = {}
        for table, (code, unit) in list(self.lines.tables.items()):
            try:
                for row in live_rows(table):
                    if row.is_stmt and row.line and not row.end_sequence:
                        path = tidy(table.path(row.file, unit.directory or "") or "")
                        statements.setdefault((path, row.line), []).append(code.in_program(row.address))
            except DwarfGpuError as error:
                code.file.dwarf.note(error)
        return {key: sorted(set(addresses)) for key, addresses in statements.items()}

    def _judge_steps(self, owner: tuple[str, int], steps: dict[tuple[int, int], Sighting]) -> None:
        """Judge the steps back of one function or inlined call."""
        circles = _circles(steps)
        jumps = [(before, after) for before, after in steps if after <= before]
        for (before, after), sighting in steps.items():
            start, end = self.lines[before], self.lines[after]
            self.sightings.note(RULES["back"], after)
            if start.file != end.file or end.line >= start.line:
                continue
            statement = self.texts.at(start.file, start.line)
            if statement is None or statement.first <= end.line:
                continue  # one statement may have several lines
            if circles[before] == circles[after] and (after <= before or self._is_head(before, after, jumps)):
                continue
            if circles[before] != circles[after] and self._is_next_round(start, end):
                continue
            message = f"a step goes back from line {start.line} to line {end.line}, and no loop of the source does"
            subject = Subject(RULES["back"], f"{owner[1]} {end.line}", limit="moved-code")
            self.sightings.add(subject, after, evolve(sighting, message=message))

    def _is_next_round(self, start: CodeLine, end: CodeLine) -> bool:
        """Return whether a step goes to the next round of a loop of the source that has none in the code any more."""
        loop = self.texts.loop_of(end.file, end.line, start.line)
        if loop is None:
            return False
        lines = (self.lines[pc] for pc in self.executed)
        inside = [
            line.line
            for line in lines
            if line.is_start and line.file == end.file and loop.first < line.line <= loop.last
        ]
        return end.line in (loop.first, min(inside, default=0))

    def _is_head(self, before: int, after: int, jumps: list[tuple[int, int]]) -> bool:
        """Return whether a line is the first of the smallest loop in the code around two statements."""
        around = [(last, first) for last, first in jumps if first <= before and after <= last]
        if not around:
            return True  # the code of the loop is not in one piece
        last, first = min(around, key=lambda loop: loop[0] - loop[1])
        line = self.lines[after]
        inside = [
            each.line
            for each in map(self.lines.__getitem__, (pc for pc in self.executed if first <= pc <= last))
            if each.is_start and each.owner == line.owner and each.file == line.file
        ]
        return line.line == min(inside)


def _circles(steps: dict[tuple[int, int], Sighting]) -> dict[int, int]:
    """Return for each statement the number of its strongly connected component: ways lead from each to each there."""
    following: dict[int, list[int]] = {}
    for before, behind in steps:
        following.setdefault(before, []).append(behind)
        following.setdefault(behind, [])
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    circle: dict[int, int] = {}
    path: list[int] = []
    for root, successors in following.items():
        if root in index:
            continue
        work = [(root, iter(successors))]
        index[root] = low[root] = len(index)
        path.append(root)
        while work:
            place, rest = work[-1]
            after = next(rest, NOWHERE)
            if after == NOWHERE:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[place])
                if low[place] == index[place]:
                    while True:
                        member = path.pop()
                        circle[member] = place
                        if member == place:
                            break
            elif after not in index:
                index[after] = low[after] = len(index)
                path.append(after)
                work.append((after, iter(following[after])))
            elif after not in circle:
                low[place] = min(low[place], index[after])
    return circle
