"""The question ``judge``: whether the debugging information of a kernel is true, which running it shows."""

from __future__ import annotations

import shlex
from collections import Counter
from math import prod
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field

from dwarfgpu.audits.judge.earlier_judgement import lost_kernels, unknown_before
from dwarfgpu.audits.judge.judgement import RULES, Judge, JudgedPart, Judgement, judged_together, other_build, sum_of
from dwarfgpu.audits.judge.lane_history import LaneRecorder, chosen_lane
from dwarfgpu.audits.verdicts import untold
from dwarfgpu.audits.verify.reports import FileReport
from dwarfgpu.compilers import BUILD, is_source
from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError, is_interrupt, until_interrupt
from dwarfgpu.execution.control.running import launched_with
from dwarfgpu.execution.halts import INTERRUPT, LIMIT, STUCK, Halt, uninterrupted
from dwarfgpu.execution.launch.made_arguments import MADE, MadeLaunch, argument_texts, launch_sizes, made_arguments
from dwarfgpu.execution.launch.planning import MEMORY_OPTIONS, sizes
from dwarfgpu.execution.launch.triton import kernel_and_arguments, triton_launch
from dwarfgpu.immutable import frozen
from dwarfgpu.progress import begin
from dwarfgpu.questions.document import BAD_FILE, INTERRUPTED, NO_ANSWER, OK, Document, Output
from dwarfgpu.questions.settings import READING
from dwarfgpu.questions.verification import (
    asked,
    explained_rule,
    listed_rules,
    report_status,
    sarif_document,
    shown_of,
    verdict_of,
)
from dwarfgpu.render import judging as text_of
from dwarfgpu.render.judging import judged_page, value_words
from dwarfgpu.render.layout import WIDTH, counted, laid_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dwarfgpu.audits.verdicts import Verdict
    from dwarfgpu.audits.verify.findings import FileFinding
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.progress import Progress
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection
    from dwarfgpu.states.program import Program

    _Attempt = tuple[Judgement, str | None, list[tuple[bool, str]]]
    """A judgement of a kernel, the problem that has ended it, if any, and its gaps, as `_gaps` yields them."""


def judge(selection: Selection, arguments: Arguments) -> Document:
    if arguments.has("explain"):
        return explained_rule(arguments)
    if arguments.has("rules"):
        arguments.none()
        return listed_rules(RULES)
    wanted = verdict_of(arguments, RULES)
    if arguments.has("html") and arguments.has("sarif"):
        raise arguments.wrong("writes a page or a SARIF log, not both")
    with asked():
        launches, is_one = _launches(selection, arguments)
        if not is_one and not arguments.has("html"):
            return _every_kernel(selection, launches, wanted, arguments)
        if len(launches) > 1:
            raise arguments.wrong("writes a page about one kernel: name it")
        (launch,) = launches
        judge_ = launch.judge(arguments)
    with judge_.running.progress_shown():
        judgement = judge_.run(arguments.get("limit"))
    report, total = wanted.report(judgement.report), judgement.total(launch.kernel)
    gaps = [*_gaps(judgement, arguments, _problem_of(judge_))]
    if judge_.running.launched.plan.geometry.group_count == 1:
        gaps.append((True, ONE_GROUP))
    total = evolve(total, next_step=_next_step(launch, judgement, arguments.get("limit")))
    result = _Judged(judgement, report, [total], left=() if judgement.halt.kind == INTERRUPT else None)
    if arguments.has("html"):
        uninterrupted(judgement.halt)
        document = _page(launch, arguments, judge_, judgement, report)
        return _concluded(result, wanted, arguments, gaps, document)
    return _answer(selection, result, [launch], wanted, arguments, gaps)


@frozen
class _Judged:
    """What came of one kernel, or of every kernel of a file."""

    judgement: Judgement
    report: FileReport
    kernels: Sequence[JudgedPart]
    is_every: bool = False
    left: Sequence[str] | None = None
    """The kernels that were not judged because of ^C; None without ^C."""


def _answer(
    selection: Selection, result: _Judged, launches: Sequence[_Launch], wanted: Verdict, arguments: Arguments,
    gaps: Sequence[tuple[bool, str]],
) -> Document:  # fmt: skip
    """Return the answer as text and JSON, or as a SARIF log."""
    judgement, report, is_every, left = result.judgement, result.report, result.is_every, result.left or ()
    if arguments.has("sarif"):
        report = evolve(report, error=next(_interrupted(result), None))
        return _concluded(result, wanted, arguments, gaps, sarif_document([report], RULES, OK))
    made = [launch.made for launch in launches if launch.made is not None]
    data = text_of.judgement_json(judgement, report, made, result.kernels, is_interrupted=result.left is not None)
    kernels = [kernel for kernel in result.kernels if kernel.name not in left]

    def text(output: Output) -> Iterator[str]:
        shown = shown_of(arguments)
        yield from text_of.judgement_text(
            judgement, report, made, document.problems, kernels, is_every=is_every, **shown
        )

    rows = (lambda: [*data["findings"], *data["kernels"]]) if is_every else "findings"
    document = _concluded(result, wanted, arguments, gaps, Document(data, text, rows=rows))
    document.hints += [*_left_out(judgement), *_build(selection, arguments)]
    return document


def _concluded(
    result: _Judged, wanted: Verdict, arguments: Arguments, gaps: Sequence[tuple[bool, str]], document: Document
) -> Document:
    """Return a document with the exit status, and why it is that; ``gaps`` are as `_gaps` yields them."""
    total = sum_of(result.kernels)
    ended = [*_interrupted(result)]
    few = [*_too_few(total, arguments.get("require") or int(result.is_every))]
    low = [*_too_little(total, arguments)]
    lost = [*_lost(result, wanted, arguments)]
    is_whole = all(is_asked_for for is_asked_for, _hint in gaps) and not few and not lost
    document.status = BAD_FILE if not is_whole else NO_ANSWER if low else report_status(wanted, result.report)
    if ended:
        document.status = INTERRUPTED
    document.problems += [*ended, *low, *few, *lost]
    document.hints += [hint for _is_asked_for, hint in gaps]
    unknown = wanted.earlier is not None and unknown_before(wanted.earlier, result.kernels)
    if unknown:
        document.hints.append(untold(arguments.get("baseline"), unknown))
    return document


def _lost(result: _Judged, wanted: Verdict, arguments: Arguments) -> Iterator[DwarfGpuError]:
    """Yield that less is judged than the baseline has."""
    lost = [*lost_kernels(wanted.earlier or {}, result.kernels, is_every=result.is_every)]
    if lost and result.left is None:
        yield NotFound("less_judged", f"less is judged than in {arguments.get('baseline')}: {'; '.join(lost)}")


def _interrupted(result: _Judged) -> Iterator[DwarfGpuError]:
    """Yield that ^C has ended the judgement early, and which kernels are not judged."""
    if result.left is not None:
        more = [f"{len(result.left) - MOST_LEFT} more"] * (len(result.left) > MOST_LEFT)
        names = ", ".join([*result.left[:MOST_LEFT], *more])
        yield NotFound("interrupted", f"^C ended this early{f'; not judged: {names}' if names else ''}")


def _too_little(part: JudgedPart, arguments: Arguments) -> Iterator[DwarfGpuError]:
    """Yield that less is right than the user wants."""
    least, share = arguments.get("fail-below"), part.counted.share_right
    if least is not None and (share is None or 100 * share < least):
        what = "locations" if part.values is None else "values"
        message = f"{text_of.share_text(share)} of the {what} are right: less than {least:g}%"
        yield NotFound("too_little", message)


def _build(selection: Selection, arguments: Arguments) -> Iterator[str]:
    """Yield how a source can be judged further: as it is usually shipped, and by its values."""
    given = selection.given
    if given is None or not is_source(given):
        return
    if BUILD.level == "0":
        yield f"{given.partition('@')[0]} was compiled with -O0; -O2 judges optimized code"
    elif not arguments.has("against"):
        yield f"the values are compared with those of {given} at -O0; `--against {ALONE}` judges -O{BUILD.level} alone"


def _reference(given: str, arguments: Arguments) -> str | None:
    """Return the other build: the one that the user names, or a source itself at -O0."""
    named = arguments.get("against")
    if named is None and is_source(given) and BUILD.level != "0":
        return given
    return None if named == ALONE else named


def _left_out(judgement: Judgement) -> Iterator[str]:
    """Yield what was not judged because something is missing or too much."""
    if judgement.comparison is not None and judgement.comparison.is_cut:
        yield "there are more statements than are recorded: the later ones are not compared"
    if judgement.without_text:
        files = ", ".join(judgement.without_text[:4])
        yield f"the text of {files} was not found, so changes of variables and steps back there are not judged"
    if judgement.unconfirmed:
        files = ", ".join(judgement.unconfirmed[:4])
        yield f"the line table has no MD5 of {files}: what is there now is taken for what was compiled"


# --- What is launched -------------------------------------------------------------------------------------------------

_OF_LAUNCH = "grid", "work-group", "seed", "at-once", *MEMORY_OPTIONS
"""The options that the debugger takes, too."""
ALONE = "none"
"""What stands for the other build if there is to be none."""
ONE_GROUP = "one work-group was executed, where local and global ids are the same: a larger --grid tells them apart"
BUDGET = 50_000
"""The instructions of a kernel that is judged with all others of its file."""
MOST_LEFT = 12
"""The kernels that are named if they are not judged; JSON has all."""


@define(eq=False)
class _Launch:
    """A kernel and its arguments, as words, or None where they are made from their types."""

    program: Program
    file_words: tuple[str, ...]
    """The file, and how it is read, as the user says it."""
    kernel: str
    words: list[str] | None
    given: Callable[[str], Any]
    """Returns an option of the user."""
    made: MadeLaunch | None = field(default=None, init=False)
    """What the user has not chosen, as soon as it is launched."""

    def judge(self, arguments: Arguments) -> Judge:
        """Launch the kernel, and return what judges it."""
        running, option, args = self.start()
        other = None
        path = _reference(self.file_words[0], arguments)
        if path is not None:
            other = other_build(path, running, self.kernel, args, option)
        judge_ = Judge(running, other)
        judge_.sightings.command = self._command(option)
        return judge_

    def _command(self, option: Callable[[str], Any]) -> tuple[str, ...]:
        """Return the words that launch the kernel in the debugger."""
        chosen = {name: option(name) for name in _OF_LAUNCH}
        options = [word for name, value in chosen.items() if value is not None for word in (f"--{name}", f"{value}")]
        build = BUILD.words() if is_source(self.file_words[0]) else ()
        words = [MADE] if self.words is None else self.words
        return ("dwarfgpu", "debug", *self.file_words, self.kernel, *options, *build, *words)

    def start(self) -> tuple[Running, Callable[[str], Any], Any]:
        """Launch the kernel; return also the options and the arguments."""
        defaults: dict[str, Any] = {}
        args: Any = self.words
        if self.words is None:
            grid, group = launch_sizes(self.program.file, self.kernel)
            defaults = {"grid": ",".join(map(str, grid)), "work-group": ",".join(map(str, group))}
            if self.given("grid") is not None:
                grid = sizes(self.given("grid"), "--grid")
                if self.given("work-group") is None:
                    defaults["work-group"] = ",".join(str(min(pair)) for pair in zip(group, grid, strict=False))
            args = made_arguments(self.program, self.kernel, prod(grid), self.given("seed") or 0)

        def option(name: str) -> Any:
            value = self.given(name)
            return defaults.get(name) if value is None else value

        if self.words is None:
            texts = argument_texts(self.program.file, self.kernel, args)
            self.made = MadeLaunch(self.kernel, option("grid"), option("work-group"), texts)
        return launched_with(self.program, self.kernel, args, option), option, args


def _launches(selection: Selection, arguments: Arguments) -> tuple[list[_Launch], bool]:
    """Return what is launched, and whether that is one kernel that the user has named."""
    program = selection.opened
    if not program.file.has_dwarf and not program.file.frames.fdes_between(0, 1 << 64):
        raise UsageError(f"{program.file.name} has no debugging information", hint="compile it with -g")
    chosen = {name: selection.settings[name] for name in READING if selection.settings[name] != "auto"}
    read = (word for name, value in chosen.items() for word in (f"--{name}", f"{value}"))
    path = selection.given or program.file.name, *read
    if not arguments.words and triton_launch(program.file) is None:
        names = program.file.kernel_names()
        if not names:
            raise NotFound("no_kernel", f"{program.file.name} has no kernels")
        return [_Launch(program, path, name, None, arguments.get) for name in names], False
    kernel, words = kernel_and_arguments(program.file, arguments.words)
    if words and not arguments.has("grid"):
        raise arguments.wrong("needs -grid for arguments that are given")
    return [_Launch(program, path, kernel, None if words == [MADE] else words or None, arguments.get)], True


def _every_kernel(selection: Selection, launches: Sequence[_Launch], wanted: Verdict, arguments: Arguments) -> Document:
    """Judge each kernel with arguments that are made, within a budget; all findings are told together."""
    attempts: list[_Attempt] = []
    rows: list[JudgedPart] = []
    findings: dict[tuple[object, ...], FileFinding] = {}
    left_out: Counter[str] = Counter()
    file, limit = launches[0].program.file, arguments.get("limit") or BUDGET
    gaps: list[tuple[bool, str]] = []
    with until_interrupt() as interrupt:
        for launch, progress in _shown(launches):
            attempts.append(_attempt(launch, arguments, limit, progress))
            uninterrupted(attempts[-1][0].halt)
    if not attempts:
        raise KeyboardInterrupt
    left = launches[len(attempts) :]
    attempts += [(_nothing(launch, Halt(INTERRUPT, INTERRUPT)), INTERRUPT, []) for launch in left]
    for launch, (judgement, problem, of_launch) in zip(launches, attempts, strict=True):
        gaps += [(is_asked_for, f"{launch.kernel}: {hint}") for is_asked_for, hint in of_launch]
        for finding in judgement.report.findings:
            key = finding.rule.name, finding.section, finding.offset, finding.message, finding.source
            findings.setdefault(key, finding)
        left_out.update(judgement.report.left_out or {})
        step = _next_step(launch, judgement, limit)
        rows.append(evolve(judgement.total(launch.kernel), next_step=step, problem=problem))
    found = sorted(findings.values(), key=lambda finding: (finding.offset or 0, finding.rule.name, finding.message))
    total = sum_of(rows)
    report = wanted.report(FileReport(file.name, tuple(found), total.instructions, dict(left_out) or None))
    names = [launch.kernel for launch in left] if interrupt.has_come else None
    together = judged_together([judgement for judgement, *_more in attempts], report)
    result = _Judged(together, report, rows, is_every=True, left=names)
    return _answer(selection, result, launches, wanted, arguments, gaps)


def _attempt(launch: _Launch, arguments: Arguments, limit: int, progress: Progress) -> _Attempt:
    """Judge a kernel."""
    try:
        judge_ = launch.judge(arguments)
        with judge_.running.progress_shown(progress):
            judgement = judge_.run(limit)
    except DwarfGpuError as error:
        if is_interrupt(error):
            raise
        gaps = [(False, f"it cannot be launched: {error.message}")]
        return _nothing(launch, Halt(STUCK, error.message)), error.message, gaps
    problem = _problem_of(judge_)
    return judgement, judgement.total().problem or problem, [*_gaps(judgement, arguments, problem)]


def _nothing(launch: _Launch, halt: Halt) -> Judgement:
    """Return the judgement of a kernel that was not executed."""
    return Judgement(FileReport(launch.program.file.name, ()), (), halt, 0)


def _shown(launches: Sequence[_Launch]) -> Iterator[tuple[_Launch, Progress]]:
    """Yield launches, each with the line that shows how many are done."""
    progress = begin("kernels", len(launches))
    try:
        for launch in launches:
            yield launch, progress
            progress.advance()
    finally:
        progress.end()


def _next_step(launch: _Launch, judgement: Judgement, limit: int | None) -> str | None:
    """Return what to do to judge more of a kernel, unless ^C has ended it."""
    if judgement.halt.kind == INTERRUPT:
        return None
    if limit is not None and judgement.halt.kind == LIMIT:
        return f"--limit {10 * limit} executes more"
    if launch.words is not None:
        return "other arguments may execute more"
    sizes = "" if launch.made is None else f" --grid {launch.made.grid} --work-group {launch.made.work_group}"
    file = launch.program.file.name
    return f"choose its arguments: dwarfgpu judge {shlex.join((file, launch.kernel))}{sizes} ARG ..."


def _gaps(judgement: Judgement, arguments: Arguments, problem: str | None) -> Iterator[tuple[bool, str]]:
    """Yield what of a kernel is not judged, or not compared, and whether the user wants that: a limit of his own."""
    if not judgement.halt.has_ended:
        is_limited = judgement.halt.kind == LIMIT
        more = "; a larger --limit executes more" if is_limited else ""
        hint = f"the kernel has not ended: what it has not executed is not judged{more}"
        yield is_limited and arguments.has("limit"), hint
    compared = judgement.comparison
    if problem is not None:
        yield arguments.has("limit"), f"{problem}; what it has not done is not compared"
    elif compared is not None and not compared.aligned:
        yield False, f"no statement is one of {compared.other}: both must be builds of the same source"


def _too_few(part: JudgedPart, required: int) -> Iterator[DwarfGpuError]:
    """Yield that fewer instructions were judged than are required."""
    if part.instructions < required:
        yield NotFound("too_few", f"{counted(part.instructions, 'instruction')} judged, {required} required")


def _problem_of(judge_: Judge) -> str | None:
    """Return why the other build has not done everything; None if it has, or if there is none."""
    return None if judge_.against is None else judge_.against.problem


def _page(launch: _Launch, arguments: Arguments, judge_: Judge, judgement: Judgement, report: FileReport) -> Document:
    """Return the page: the kernel runs again, and one lane of it is followed."""
    wave, lane = chosen_lane(judge_)
    kernel, again = launch.kernel, launch.start()[0]
    with again.progress_shown():
        recorder = LaneRecorder(again, judge_, wave, lane, judge_.texts, value_words)
        history = recorder.run(arguments.get("limit"))
    judge_.texts.for_page()
    command = "dwarfgpu judge FILE KERNEL ... --all"
    with laid_out(WIDTH):
        lines = list(judged_page(f"{kernel} judged", judgement, report, history, judge_.texts.lines, command))
    return Document({"file": report.name, "html": "\n".join(lines)}, lines, is_file=True)
