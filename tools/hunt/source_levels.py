"""A source judged: what a compiler makes of it at -O1 to -O3, compared with -O0 and, where it is random, the host."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attrs import Factory, define, evolve

from dwarfgpu.audits.judge.judgement import Judge, difference, results_of, sum_of
from dwarfgpu.audits.judge.statement_recorder import record_run
from dwarfgpu.audits.verify.findings import NOTE
from dwarfgpu.compilers.sources import Recipe, compile_source
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.control.running import launched_with
from dwarfgpu.execution.halts import uninterrupted
from dwarfgpu.execution.launch.made_arguments import GROUP, launch_sizes, made_arguments
from dwarfgpu.immutable import frozen
from dwarfgpu.states.program import open_program
from hunt.host_results import ITEMS, HostKernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.audits.judge.statement_record import Context, StatementHistory
    from dwarfgpu.compilers.sources import Compiled
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.states.program import Program

LEVELS = ("1", "2", "3")
UNOPTIMIZED = "0"
BUDGET = 50_000
"""The instructions of a kernel; without optimization there may be so many times more."""
MORE_AT_O0 = 10
RESULT = "against-result"
"""The rule of a build that computes something else: no matter of debugging information."""
LOST = "against-missing"
"""The rule of a variable that has no location where one is needed: no wrong value."""
"""The rule of a variable that has no location where one would be right."""
PARTS = ("value", "against")
"""The parts of the rules that are about variables, which passes of a compiler make wrong one by one."""


@frozen
class SourceFinding:
    """Something that a level makes wrong in a kernel: a variable somewhere, or its results."""

    rule: str
    function: str
    variable: str
    offset: int
    """The first instruction, behind the start of the function."""
    line: int
    message: str


@frozen
class LevelVerdict:
    """What came of one kernel at one level."""

    kernel: str
    level: str
    instructions: int = 0
    """The different ones that were judged."""
    right: int = 0
    wrong: int = 0
    absent: int = 0
    """The variables in scope at these instructions."""
    values_right: int = 0
    values_wrong: int = 0
    values_absent: int = 0
    """The values at statements, compared with the build without optimization."""
    frames: int = 0
    """The instructions at which callers are right."""
    frames_missing: int = 0
    lanes: int = 0
    lines: int = 0
    """The lines that the build without optimization executes."""
    lines_reached: int = 0
    """Those that have a statement here that is executed, too."""
    findings: tuple[SourceFinding, ...] = ()
    problem: str | None = None
    """Why it was not judged, or not to its end."""


@define(eq=False)
class RecordedBuild:
    """The build without optimization: recorded once for all levels that make the same calls."""

    program: Program
    kernel: str
    name: str = "-O0"
    problem: str | None = None
    results: dict[str, bytes] = Factory(dict)
    """What is in the buffers at the end."""
    history: StatementHistory | None = None
    _contexts: set[Context] = Factory(set)

    def record(self, judged: StatementHistory, limit: int | None) -> StatementHistory:
        contexts = {stop.context for stop in judged.stops}
        if self.history is None or not contexts <= self._contexts:
            running = launched(self.program, self.kernel)
            self.history, halt = record_run(running, judged, limit and limit * MORE_AT_O0)
            self._contexts = contexts
            self.problem = None if halt.has_ended else f"without optimization it has not ended: {halt}"
            self.results = results_of(running)
        return self.history


def launched(program: Program, kernel: str, check: str | None = None) -> Running:
    """Launch one work-group of a kernel with arguments that are made."""
    _grid, group = launch_sizes(program.file, kernel)
    if math.prod(group) == GROUP:  # which no kernel requires
        group = (ITEMS,)
    options: dict[str, Any] = dict.fromkeys(("grid", "work-group"), ",".join(map(str, group))) | {"check": check}
    return launched_with(program, kernel, made_arguments(program, kernel, max(GROUP, math.prod(group)), 0), options.get)


def is_defined(program: Program, kernel: str) -> bool:
    """Return whether the source defines the results of a kernel, as far as a checked run of its plain build shows."""
    running = launched(program, kernel, "init,bounds")
    return uninterrupted(running.run(limit=BUDGET * MORE_AT_O0)).has_ended and not running.findings


@frozen
class SourceLevels:
    """A source, and how a compiler is called for it."""

    path: str
    processor: str
    options: tuple[str, ...] = ()
    levels: tuple[str, ...] = LEVELS
    calls_library: bool = True
    """Whether it may call built-in functions; random sources call none."""

    def compiled(self, level: str, options: Iterable[str] = ()) -> Compiled:
        """Return what the compiler makes of the source at a level."""
        words = (*self.options, *options)
        recipe = Recipe(self.processor, level, words, is_linked=self.calls_library, is_watched=False)
        return compile_source(self.path, recipe)

    def verdicts(self, *, host: HostKernels | None = None, only: str | None = None) -> Iterator[LevelVerdict]:
        """Yield what comes of each kernel at each level; a source that is not compiled raises an error."""
        plain = open_program(self.compiled(UNOPTIMIZED).code)
        names = plain.file.kernel_names() if only is None else [plain.file.kernels_named([only])[0].name]
        others = {name: RecordedBuild(plain, name) for name in names}
        known: dict[bytes, list[LevelVerdict]] = {}  # -O3 is mostly -O2
        for level in self.levels:
            code = self.compiled(level).code
            if code in known:
                yield from (evolve(verdict, level=level) for verdict in known[code])
                continue
            program, known[code] = open_program(code), []
            for name in names:
                known[code].append(judged(program, name, level, others[name], host))
                yield known[code][-1]


def judged(
    program: Program, kernel: str, level: str, other: RecordedBuild | None, host: HostKernels | None = None
) -> LevelVerdict:
    """Return what comes of one kernel at one level."""
    try:
        running = launched(program, kernel)
        judge = Judge(running, other)
        before = results_of(running)
        judgement = judge.run(BUDGET)
    except DwarfGpuError as error:
        return LevelVerdict(kernel, level, problem=error.message)
    alone, total = sum_of(judgement.functions), judgement.total()
    values = total.counted
    lines = set() if other is None or other.history is None else {stop.place for stop in other.history.stops}
    own = set() if judge.recorder is None else {stop.place for stop in judge.recorder.history.stops}
    problem = None if other is None else other.problem
    problem = problem if uninterrupted(judgement.halt).has_ended else str(judgement.halt)
    findings = [*_findings(judge)]
    if problem is None and host is not None and not any(each.rule == RESULT for each in findings):
        findings += _different(kernel, results_of(running), host.run(kernel, before))
    return LevelVerdict(
        kernel,
        level,
        total.instructions,
        *(alone.variables.right, alone.variables.wrong, alone.variables.missing),
        *(values.right, values.wrong, values.missing),
        total.frames_right,
        total.frames_missing,
        total.lanes_right,
        len(lines),
        len(lines & own),
        tuple(findings),
        problem,
    )


def _findings(judge: Judge) -> Iterator[SourceFinding]:
    """Yield the first place of each variable that is wrong by a rule in a function."""
    first: dict[tuple[str, str, str], tuple[int, SourceFinding]] = {}
    for part in PARTS:
        for subject, pc, sighting in judge.sightings.of_part(part):
            if subject.limit is not None or subject.rule.severity == NOTE:
                continue
            function, offset = judge.sightings.function(pc)
            key = subject.rule.name, function, subject.name
            if key not in first or pc < first[key][0]:
                line = judge.running.line_at(pc)
                found = SourceFinding(*key, offset, 0 if line is None else line.line, sighting.message)
                first[key] = pc, found
    yield from (found for _pc, found in first.values())


def _different(kernel: str, results: dict[str, bytes], host: dict[str, bytes]) -> Iterator[SourceFinding]:
    """Yield a finding for each buffer that the host leaves different."""
    for name, content in results.items():
        found = difference(content, host.get(name, content), "the host")
        if found is not None:
            yield SourceFinding(RESULT, kernel, name, 0, 0, f"{name}{found}")
