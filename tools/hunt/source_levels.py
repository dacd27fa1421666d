"""A source judged: what a compiler makes of it at -O1 to -O3, compared with -O0."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from attrs import Factory, define

from dwarfgpu.audits.judge.judgement import Judge, results_of
from dwarfgpu.audits.judge.statement_recorder import record_run
from dwarfgpu.audits.verify.findings import NOTE
from dwarfgpu.compilers.sources import Recipe, compile_source
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.control.running import launched_with
from dwarfgpu.execution.halts import uninterrupted
from dwarfgpu.execution.launch.made_arguments import GROUP, launch_sizes, made_arguments
from dwarfgpu.immutable import frozen
from dwarfgpu.states.program import open_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.audits.judge.statement_record import Context, StatementHistory
    from dwarfgpu.compilers.sources import Compiled
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.states.program import Program

LEVELS = ("1", "2", "3")
UNOPTIMIZED = "0"
ITEMS = 8
"""The work-items of a launch: as few as diverge in many ways, since each of their values is compared."""
BUDGET = 50_000
"""The instructions of a kernel; without optimization there may be so many times more."""
MORE_AT_O0 = 10
RESULT = "against-result"
"""The rule of a build that computes something else: no matter of debugging information."""
LOST = "against-missing"
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

    def compiled(self, level: str, options: Iterable[str] = ()) -> Compiled:
        """Return what the compiler makes of the source at a level."""
        words = (*self.options, *options)
        recipe = Recipe(self.processor, level, words, is_watched=False)
        return compile_source(self.path, recipe)

    def verdicts(self, only: str | None = None) -> Iterator[LevelVerdict]:
        """Yield what comes of each kernel at each level; a source that is not compiled raises an error."""
        plain = open_program(self.compiled(UNOPTIMIZED).code)
        names = plain.file.kernel_names() if only is None else [plain.file.kernels_named([only])[0].name]
        others = {name: RecordedBuild(plain, name) for name in names}
        judged_codes: set[bytes] = set()  # -O3 is mostly -O2
        for level in self.levels:
            code = self.compiled(level).code
            if code not in judged_codes:
                judged_codes.add(code)
                program = open_program(code)
                yield from (judged(program, name, level, others[name]) for name in names)


def judged(program: Program, kernel: str, level: str, other: RecordedBuild | None) -> LevelVerdict:
    """Return what comes of one kernel at one level."""
    try:
        judge = Judge(launched(program, kernel), other)
        judgement = judge.run(BUDGET)
    except DwarfGpuError as error:
        return LevelVerdict(kernel, level, problem=error.message)
    problem = None if other is None else other.problem
    problem = problem if uninterrupted(judgement.halt).has_ended else str(judgement.halt)
    return LevelVerdict(kernel, level, tuple(_findings(judge)), problem)


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
