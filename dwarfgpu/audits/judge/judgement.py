"""A kernel that is run to judge its debugging information, maybe together with another build of its source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dwarfgpu.audits import run_checks
from dwarfgpu.audits.judge import comparison, lane_places, statements, unwinding, variable_values
from dwarfgpu.audits.judge.comparison import ComparedPart, StatementComparison, sum_of_compared, together
from dwarfgpu.audits.judge.followed_run import FollowedRun
from dwarfgpu.audits.judge.lane_places import LaneJudge
from dwarfgpu.audits.judge.located_variables import Declaration, names_in
from dwarfgpu.audits.judge.reference_stops import StatementUses
from dwarfgpu.audits.judge.rounding import differ_by_rounding
from dwarfgpu.audits.judge.sightings import Sighting, Sightings, Subject
from dwarfgpu.audits.judge.source_functions import FunctionTexts
from dwarfgpu.audits.judge.source_statements import SourceStatements
from dwarfgpu.audits.judge.statement_record import StatementHistory
from dwarfgpu.audits.judge.statement_recorder import StatementRecorder, record_run
from dwarfgpu.audits.judge.statements import StatementJudge
from dwarfgpu.audits.judge.undefined_values import CHECKS, UndefinedValues, behaviour_of, without_uncertain
from dwarfgpu.audits.judge.unwinding import UnwindingJudge
from dwarfgpu.audits.judge.variable_values import ValueJudge
from dwarfgpu.audits.verify.reports import FileReport
from dwarfgpu.compilers import code_of, is_source
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution.access_shapes import depends_on_order
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.execution.halts import INTERRUPT, Halt, uninterrupted
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.program.code.kernel_parameters import listed_name
from dwarfgpu.targets.amdgpu.initial_state import first_instruction

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.call_record import InstructionVisit, RecordedCall
    from dwarfgpu.audits.judge.comparison import BuildJudgement
    from dwarfgpu.audits.judge.undefined_values import UndefinedBehaviour
    from dwarfgpu.audits.verify.findings import CheckRule
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.objfile.info.dies import Die

RULES: dict[str, CheckRule] = {
    rule.name: rule
    for part in (unwinding, lane_places, variable_values, statements, comparison)
    for rule in part.RULES.values()
} | run_checks.RULES


@frozen
class JudgedPart:
    """What came of a function, or of a kernel with the functions that it calls."""

    name: str
    instructions: int = 0
    """The different instructions that were judged."""
    code: int = 0
    """The instructions of the functions that were executed."""
    by_name: tuple[ComparedPart, ...] = ()
    """For each variable of these functions, its locations at the instructions at which it is in scope."""
    repaired: frozenset[Declaration] = frozenset()
    """The variables that are judged by what the compiler means, which is not what it has written."""
    locations: int = 0
    """The variables with a location at each instruction."""
    locations_repaired: int = 0
    """Those of them that are not taken as they are written."""
    frames_right: int = 0
    """The instructions at which callers are right."""
    frames_missing: int = 0
    """Those without call frame information."""
    lanes_right: int = 0
    """Those at which nothing about lanes is wrong or missing."""
    executed: int = 0
    """What was executed, counted once for each wave."""
    problem: str | None = None
    """Why it was not judged, or not to its end."""
    next_step: str | None = None
    """What to type then."""
    values: ComparedPart | None = None
    """The values of variables that were compared with another build; None without one."""
    names_compared: frozenset[str] | None = None
    """The variables that were."""

    @property
    def variables(self) -> ComparedPart:
        """The locations of the variables in scope at each instruction after a prologue."""
        return sum_of_compared(self.by_name, self.name)

    @property
    def variables_judged(self) -> int:
        """How many variables were compared; without another build, were in scope at an instruction."""
        if self.names_compared is not None:
            return sum(each.name in self.names_compared for each in self.by_name)
        return sum(bool(each.right or each.wrong or each.missing) for each in self.by_name)

    @property
    def is_half_judged(self) -> bool:
        return 2 * self.instructions >= self.code and 2 * self.variables_judged >= len(self.by_name)

    @property
    def counted(self) -> ComparedPart:
        """The values, if another build shows them, else the locations."""
        return self.variables if self.values is None else self.values


def sum_of(parts: Iterable[JudgedPart], name: str = "all", **more: Any) -> JudgedPart:
    """Return the sum of some parts, under a name."""
    parts = list(parts)
    by_name: dict[str, list[ComparedPart]] = {}
    for variable in (variable for part in parts for variable in part.by_name):
        by_name.setdefault(variable.name, []).append(variable)
    variables = tuple(sum_of_compared(same, each) for each, same in sorted(by_name.items()))
    values = [part.values for part in parts if part.values is not None]
    keys = "instructions code frames_right frames_missing lanes_right executed locations locations_repaired"
    numbers = {key: sum(getattr(part, key) for part in parts) for key in keys.split()}
    repaired = frozenset(each for part in parts for each in part.repaired)
    compared = sum_of_compared(values, name) if values else None
    return JudgedPart(name, by_name=variables, values=compared, repaired=repaired, **{**numbers, **more})


@frozen(eq=False)
class Judgement:
    """What the execution of a kernel shows of its debugging information."""

    report: FileReport
    functions: tuple[JudgedPart, ...]
    halt: Halt
    instructions: int
    """What was executed, counted once for each wave."""
    without_text: tuple[str, ...] = ()
    """The source files whose text was not found, so that changes of variables are not judged."""
    unconfirmed: tuple[str, ...] = ()
    """Those whose text is taken for what was compiled although no line table has its MD5."""
    comparison: BuildJudgement | None = None
    """What comparing the variables with another build has shown, if there is one."""

    def total(self, name: str = "all") -> JudgedPart:
        """Return the sum of the functions, with what another build shows, if there is one."""
        problem = None if self.halt.has_ended else str(self.halt)
        total = sum_of(self.functions, name, executed=self.instructions, problem=problem)
        if self.comparison is None:
            return total
        names = frozenset(variable.name for variable in self.comparison.variables)
        return evolve(total, values=self.comparison.total(), names_compared=names)


def judged_together(judgements: Sequence[Judgement], report: FileReport) -> Judgement:
    """Return what came of several kernels; the halt is the first that is not the end of a kernel."""
    functions: dict[str, list[JudgedPart]] = {}
    for part in (part for each in judgements for part in each.functions):
        functions.setdefault(part.name, []).append(part)
    compared = [each.comparison for each in judgements if each.comparison is not None]
    return Judgement(
        report,
        tuple(sum_of(parts, name) for name, parts in functions.items()),
        next((each.halt for each in judgements if not each.halt.has_ended), judgements[-1].halt),
        sum(each.instructions for each in judgements),
        tuple(sorted({name for each in judgements for name in each.without_text})),
        tuple(sorted({name for each in judgements for name in each.unconfirmed})),
        together(compared) if compared else None,
    )


OFTEN = 4
"""The visits of an instruction in one chain of calls that are all judged; of later ones, every power of two."""
MAX_CODE = 1 << 20
"""The bytes of a function whose instructions are counted."""
WAVES_AT_ONCE = 4
"""The waves, of those that are at an instruction together, for which expressions are evaluated."""


class Judge:
    """Runs a kernel, and judges its debugging information at every instruction."""

    def __init__(self, running: Running, against: OtherBuild | None = None) -> None:
        self.running = running
        self.against = against
        self.sightings = Sightings(running)
        self.first_wave = running.machine.ids[0]
        self.followed = followed = FollowedRun(running, self._observe, self._end_call)
        self.frames = UnwindingJudge(followed, self.sightings)
        self.lanes = LaneJudge(followed, self.sightings)
        self.texts = SourceStatements(running)
        self.functions = FunctionTexts(running, self.texts)
        self.values = ValueJudge(followed, self.sightings, self.texts, self.functions)
        self.statements = StatementJudge(followed, self.sightings, self.texts, self.values.followed)
        self.recorder = None if against is None else StatementRecorder(followed)

    def _end_call(self, call: RecordedCall, batch: WaveBatch, rows: Any) -> None:
        waves = batch.waves[rows]
        self.frames.end(call, batch, rows)
        self.values.end(waves, call.number)
        self.statements.end(waves, call.number)

    def _observe(self, batch: WaveBatch, arrivals: list[InstructionVisit], ends: bool) -> None:  # noqa: FBT001
        for arrival in arrivals:
            self.values.observe(arrival)
            if self.recorder is not None:
                self.recorder.observe(arrival)
            self.statements.observe(arrival)
            visits = arrival.visits
            if visits > OFTEN and visits & (visits - 1):
                continue
            self.followed.registers.show(batch)
            chosen = _chosen(arrival.rows, visits)
            self.frames.judge(arrival, chosen)
            for row in chosen:
                self.lanes.judge(arrival, row)
            self.values.judge(arrival, chosen[0])
            self.statements.show(arrival, chosen[0])
        if ends:
            for arrival in arrivals:
                self.values.end(batch.waves[arrival.rows], arrival.number)
                self.statements.end(batch.waves[arrival.rows], arrival.number)

    def run(self, limit: int | None = None) -> Judgement:
        """Run the kernel to its end, or until so many instructions have been executed; after ^C compare nothing."""
        halt = self.followed.run(limit)
        if self.recorder is not None:
            self.recorder.accesses.end()
        self.frames.end_all(self.followed.calls.open_calls())
        compared = None if halt.kind == INTERRUPT else self._compare(limit)
        if self.against is not None and halt.has_ended and self.against.problem is None:
            if any(depends_on_order(self.followed.calls.instruction(pc)) for pc in self.statements.executed):
                compared = compared and evolve(compared, depends_on_order=True)
            else:
                self._compare_results(self.against.results, self.sightings)
        compared = self._without_undefined(compared, limit)
        self.statements.finish()
        self.values.report_repairs()
        file = self.running.launched.plan.file
        executed = self._executed()
        findings = [*self.sightings.findings()]
        if self.running.machine.checks is not None:
            findings += run_checks.run_report(check_report(self.running)).findings
        parts = tuple(self._parts(executed))
        judged = sum_of(parts).instructions
        report = FileReport(file.name, tuple(findings), judged, self.sightings.left_out or None)
        count = self.running.machine.device.executed
        without_text, unconfirmed = (tuple(sorted(each)) for each in (self.texts.without_text, self.texts.unconfirmed))
        return Judgement(report, parts, halt, count, without_text, unconfirmed, compared)

    def _executed(self) -> dict[Die, str]:
        """Return the entries of the functions that were executed, each with the name of its symbol."""
        functions: dict[Die, str] = {}
        for pc in self.statements.executed:
            code = self.running.attached.state.loaded.at(pc)
            scopes = () if code is None or not code.file.has_dwarf else code.functions_at(pc)
            if code is not None and scopes:
                functions[scopes[-1].die] = self.sightings.function(pc)[0]
        return functions

    def _parts(self, executed: dict[Die, str]) -> Iterator[JudgedPart]:
        """Yield what came of each function."""
        wrong_lanes = {pc for _subject, pc, _sighting in self.sightings.of_part("lane")}
        variables = self._variables(executed)
        located = Counter(self.sightings.function(pc)[0] for _variable, _line, pc in self.values.located)
        repaired: dict[str, list[Declaration]] = {}
        for name, line, pc in self.values.located & self.values.repaired.keys():
            repaired.setdefault(self.sightings.function(pc)[0], []).append((name, line))
        for name, counts in self.sightings.functions.items():
            seen, found = counts.seen, variables.get(name, {})
            frames = len(seen - counts.wrong - counts.missing), len(counts.missing)
            read = repaired.get(name, [])
            meant = frozenset(read), located[name], len(read)
            code = self._code_size(seen)
            yield JudgedPart(
                listed_name(name), len(seen), code, tuple(found.values()), *meant, *frames, len(seen - wrong_lanes)
            )

    def _code_size(self, seen: set[int]) -> int:
        """Return how many instructions the function has in which some were executed."""
        first, count = min(seen, default=0), 0
        entry = first_instruction(self.running.launched.plan.start)  # behind what loads arguments for old firmware
        for code, symbol, offset in self.running.attached.state.loaded.symbols_at(first):
            pc, header = first - offset, code.file.behind_header(symbol.value) - symbol.value
            end = pc + min(symbol.size, MAX_CODE) - header
            pc = entry if pc < entry < end else pc
            with suppress(DwarfGpuError, MachineFault):  # where data, or nothing, follows
                while pc < end:
                    pc, count = pc + max(self.followed.calls.decoded(pc).size, 4), count + 1
            break
        return max(count, len(seen))

    def _variables(self, executed: dict[Die, str]) -> dict[str, dict[str, ComparedPart]]:
        """Return at how many instructions the variables of each function are right, wrong, or have no location."""
        wrong, located = {*self.sightings.wrong_values()}, self.values.located
        seen: list[tuple[int, str, int]] = [((name, pc) in wrong, name, pc) for name, _line, pc in located]
        seen += [(True, *place) for place in wrong - {(name, pc) for name, _line, pc in located}]
        seen += [(2, name, pc) for name, _line, pc in self.values.absent - located if (name, pc) not in wrong]
        counts: dict[str, dict[str, Counter[int]]] = {}
        for die, function in executed.items():
            counts.setdefault(function, {}).update((name, Counter()) for name in names_in(die))
        for column, name, pc in seen:
            counts.setdefault(self.sightings.function(pc)[0], {}).setdefault(name, Counter())[column] += 1
        return {
            function: {name: ComparedPart(name, *(count[column] for column in range(3))) for name, count in of.items()}
            for function, of in counts.items()
        }

    def _compare(self, limit: int | None) -> BuildJudgement | None:
        """Compare the variables with those of the other build, if there is one."""
        if self.against is None or self.recorder is None:
            return None
        other = self.against.record(self.recorder.history, limit)
        return self._compare_with(other, self.sightings)

    def _compare_with(self, other: StatementHistory, sightings: Sightings) -> BuildJudgement | None:
        if self.against is None or self.recorder is None:
            return None
        uses = StatementUses(self.texts.text_of)
        return StatementComparison(self.recorder.history, other, self.against.name, uses, sightings).run()

    def _without_undefined(self, compared: BuildJudgement | None, limit: int | None) -> BuildJudgement | None:
        """Doubt what undefined behaviour of the kernel may change."""
        if compared is None or self.recorder is None or not isinstance(self.against, GpuBuild):
            return compared
        behaviour = self.against.behaviour(limit) if self.sightings.differ() else None
        if behaviour is None:
            return compared
        other, uncertain = self.against.record_certain(behaviour, self.recorder.history, limit)
        certain = Sightings(self.running)
        again = self._compare_with(other, certain)
        own, results = results_of(self.running), self.against.results
        expected = {
            name: without_uncertain(results[name], own[name], uncertain[name]) for name in own if name in results
        }
        self._compare_results(expected, certain)
        self.sightings.doubt(certain, behaviour.text)
        return again and evolve(again, depends_on_order=compared.depends_on_order)

    def _compare_results(self, results: dict[str, bytes], sightings: Sightings) -> None:
        """Compare what the kernel leaves in its buffers."""
        plan, name_of = self.running.launched.plan, self.against.name if self.against is not None else ""
        forms, entry = {each.name: np.dtype(each.form[0]) for each in plan.buffers}, first_instruction(plan.start)
        for name, content in results_of(self.running).items():
            expected = results.get(name, content)
            rule, found = "rounding", rounded(content, expected, name_of, forms[name])
            if found is None:
                rule, found = "result", difference(content, expected, name_of, forms[name])
            if found is not None:
                subject = Subject(comparison.RULES[rule], name)
                sightings.add(subject, entry, Sighting(f"{name}{found}", self.first_wave))


def results_of(running: Running) -> dict[str, bytes]:
    """Return what is in the buffers of a launch now."""
    buffers = running.launched.buffers
    return {buffer.name: bytes(buffers[buffer.name]) for buffer in running.launched.plan.buffers}


def rounded(content: bytes, expected: bytes, name: str, form: Any) -> str | None:
    """Return where a buffer of floats differs from that of another build, if it differs by rounding alone."""
    if content == expected or form.kind != "f" or len(content) != len(expected):
        return None
    size = len(content) // form.itemsize * form.itemsize
    own, other = (np.frombuffer(each[:size], form) for each in (content, expected))
    bits = f"<u{form.itemsize}"
    (places,) = np.nonzero(own.view(bits) != other.view(bits))
    is_rounded = differ_by_rounding(own[places], other[places], _terms_of(other))
    if content[size:] != expected[size:] or not is_rounded.all():
        return None
    first = int(places[0])
    count = f"elements that differ by rounding: {len(places)} of {len(own)}"
    return f"[{first}] is {own[first]} at the end, and {other[first]} in {name}; {count}"


def _terms_of(floats: Any) -> Any:
    """Return how large the terms of the elements of a buffer count as.

    They are not known. So a few of the last bits of the largest element may differ, and no more: a sixteenth of what
    the terms of a variable may.
    """
    return np.abs(floats[np.isfinite(floats)]).max(initial=0.0) / 16


def difference(content: bytes, expected: bytes, name: str, form: Any = None) -> str | None:
    """Return in which element or word a buffer differs from that of another build first; None if it does not."""
    if content == expected:
        return None
    if form is not None and form.kind in "fiu" and form.itemsize > 1 and len(content) == len(expected):
        size = len(content) // form.itemsize * form.itemsize
        values, others = (np.frombuffer(each[:size], form) for each in (content, expected))
        is_other = values != others
        if form.kind == "f":
            is_other &= ~differ_by_rounding(values, others, _terms_of(others))
        if is_other.any():
            index = int(np.argmax(is_other))
            return f"[{index}] is {values[index]} at the end, and {others[index]} in {name}"
    at = next((i for i, (own, other) in enumerate(zip(content, expected, strict=False)) if own != other), len(content))
    own, other = (int.from_bytes(each[at & ~3 :][:4], "little") for each in (content, expected))
    return f": 32-bit word {at // 4} is {own:#x} at the end, and {other:#x} in {name}"


def _chosen(rows: Any, visits: int) -> list[int]:
    """Return the rows of the waves that are judged one by one: at first some of all, later one in turn."""
    count = len(rows)
    if visits > 2:
        return [int(rows[visits % count])]
    last = count - 1
    return [int(rows[index]) for index in sorted({i * last // (WAVES_AT_ONCE - 1) for i in range(WAVES_AT_ONCE)})]


# --- The build that variables are compared with -------------------------------------------------------------------


class OtherBuild(Protocol):
    """Another build of the source that is judged."""

    name: str
    problem: str | None
    """Why not everything was recorded; None if it was."""
    results: dict[str, bytes]
    """What is in the buffers at the end, of those that are compared."""

    def record(self, judged: StatementHistory, limit: int | None) -> StatementHistory:
        """Run it, and return what the work-items of a history do in it."""
        ...


class GpuBuild:
    """A code object that the machine runs, too."""

    def __init__(self, running: Running, name: str, checked: Callable[[], Running] | None = None) -> None:
        self.running, self.name = running, name
        self._checked = checked
        """Launches the kernel once more, with the checks for undefined behaviour."""
        self.problem: str | None = None
        self.results: dict[str, bytes] = {}

    def behaviour(self, limit: int | None) -> UndefinedBehaviour | None:
        """Return the undefined behaviour of the kernel that a checked run shows, if any."""
        if self._checked is None:
            return None
        running = self._checked()
        uninterrupted(running.run(limit=limit))
        return behaviour_of(running)

    def record_certain(
        self, behaviour: UndefinedBehaviour, judged: StatementHistory, limit: int | None
    ) -> tuple[StatementHistory, dict[str, bytes]]:
        """Return what is certain of the history in spite of undefined behaviour, and the flags of uncertain bytes."""
        assert self._checked is not None  # noqa: S101 (it has shown the behaviour)
        running = self._checked()
        undefined = UndefinedValues(running, behaviour)
        history, _halt = record_run(running, judged, limit, undefined)
        return history, undefined.in_buffers()

    def record(self, judged: StatementHistory, limit: int | None) -> StatementHistory:
        history, halt = record_run(self.running, judged, limit)
        self.results = results_of(self.running)
        if not halt.has_ended:
            self.problem = f"{self.name} has not ended: {halt}"
        return history


def other_build(
    path: str, kernel: str, words: Sequence[str] | dict[int, Any], option: Callable[[str], Any]
) -> GpuBuild:
    """Open the other build, ready to run the kernel with the same arguments; a source is compiled with -O0 for it."""
    from dwarfgpu.execution.control.running import launched_with
    from dwarfgpu.states.program import open_program

    program = open_program(code_of(path, level="0"))
    if not program.file.has_dwarf:
        raise UsageError(f"{path} has no debugging information", hint="compile it with -g")
    if not program.file.is_amdgpu:
        raise UsageError(f"{path} is for {program.target.name}", hint="name a code object for a GPU, or the source")

    def launched(checks: str | None = None) -> Running:
        return launched_with(program, kernel, words, lambda name: checks if name == "check" else option(name))

    name = path.rpartition("/")[2] + (" -O0" if is_source(path) else "")
    return GpuBuild(launched(), name, lambda: launched(CHECKS))
