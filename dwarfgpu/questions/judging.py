"""The question ``judge``: whether the debugging information of a kernel is true, which running it shows."""

from __future__ import annotations

import shlex
from collections import Counter
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.judge.earlier_judgement import lost_kernels, unknown_before
from dwarfgpu.audits.judge.judgement import RULES, Judge, JudgedPart, Judgement, judged_together, other_build, sum_of
from dwarfgpu.audits.verdicts import untold
from dwarfgpu.audits.verify.findings import IDIOM
from dwarfgpu.audits.verify.reports import FileReport
from dwarfgpu.compilers import BUILD, is_source
from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError, is_interrupt, until_interrupt
from dwarfgpu.execution.control.running import launched_with
from dwarfgpu.execution.halts import INTERRUPT, LIMIT, STUCK, Halt, uninterrupted
from dwarfgpu.execution.launch.made_arguments import MADE, MadeLaunch, argument_texts, launch_sizes, made_arguments
from dwarfgpu.execution.launch.options import OPTIONS, sizes
from dwarfgpu.execution.launch.triton import kernel_and_arguments, triton_launch
from dwarfgpu.immutable import define, evolve, field, frozen
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
from dwarfgpu.render.layout import Fact, Record, counted, fact, fitted, nested, number, room, shortened, shown, table
from dwarfgpu.render.verification import FINDING, report_json, report_text, verdict_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dwarfgpu.audits.judge.comparison import BuildJudgement, ComparedPart, ComparedVariable
    from dwarfgpu.audits.judge.judgement import JudgedPart
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
    with asked():
        launches, is_one = _launches(selection, arguments)
        if not is_one:
            return _every_kernel(selection, launches, wanted, arguments)
        (launch,) = launches
        judge_ = launch.judge(arguments)
    with judge_.running.progress_shown():
        judgement = judge_.run(arguments.get("limit"))
    report, total = wanted.report(judgement.report), judgement.total(launch.kernel)
    gaps = [*_gaps(judgement, arguments, _problem_of(judge_))]
    hints = (ONE_GROUP,) if judge_.running.launched.plan.geometry.group_count == 1 else ()
    total = evolve(total, next_step=_next_step(launch, judgement, arguments.get("limit")))
    result = _Judged(judgement, report, [total], hints=hints, left=() if judgement.halt.kind == INTERRUPT else None)
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
    hints: tuple[str, ...] = ()


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
    data = judgement_json(judgement, report, made, result.kernels, is_interrupted=result.left is not None)
    kernels = [kernel for kernel in result.kernels if kernel.name not in left]

    def text(output: Output) -> Iterator[str]:
        shown = shown_of(arguments)
        yield from judgement_text(judgement, report, made, document.problems, kernels, is_every=is_every, **shown)

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
    document.hints += [*(hint for _is_asked_for, hint in gaps), *result.hints]
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
        message = f"{share_text(share)} of the {what} are right: less than {least:g}%"
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
            other = other_build(path, self.kernel, args, option)
        judge_ = Judge(running, other)
        judge_.sightings.command = self._command(option)
        return judge_

    def _command(self, option: Callable[[str], Any]) -> tuple[str, ...]:
        """Return the words that launch the kernel in the debugger."""
        chosen = {name: option(name) for name in OPTIONS}
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


# --- Text and JSON ---------------------------------------------------------------------------------------------------


GRAVITY = "error", "warning", "note"
"""The order of findings."""
MOST_VARIABLES = 12
"""The variables that are shown if nothing else is said, the worst first."""
MOST_MISSING = 3
"""The findings of variables without a value that are listed beside their table."""
LEGEND = (
    "right, wrong, absent: locations of the variables in scope, by instruction",
    "callers, lanes: instructions where callers, and waiting lanes, are found",
)
LONGEST_NAME, LONGEST_FUNCTION = 34, 17
"""Of a variable beside three numbers, and of a function beside seven, on a screen of 80 columns."""


def judgement_text(
    judgement: Judgement,
    report: FileReport,
    made: Sequence[MadeLaunch] = (),
    low: Sequence[DwarfGpuError] = (),
    kernels: Sequence[JudgedPart] = (),
    *,
    is_every: bool = False,
    shows_all: bool = False,
    shows_limits: bool = False,
) -> Iterator[str]:
    """Yield the findings, what was judged of each kernel or function, the other build, and the verdict.

    ``low`` is what is less than is wanted. Without ``is_every``, the functions of the only kernel are shown.
    """
    compared, total = judgement.comparison, judgement.total()
    variables = None if compared is None else compared.variables
    yield from _found_text(report, made, variables, shows_all=shows_all, shows_limits=shows_limits)
    parts, row_of = (judgement.functions, FUNCTION) if not is_every else (kernels, KERNEL)
    yield from row_of.lines([*parts, *([sum_of(parts)] if len(parts) > 1 else [])], width=room())
    yield from map("  {}".format, LEGEND)
    for row in kernels:
        step = "" if row.next_step is None else f"; {row.next_step}"
        if row.problem is not None:
            how = "not judged" if not row.executed else "not judged to its end"
            yield from fitted(f"  {shown(row.name)} is {how}: {row.problem}{step}", 4)
        elif not row.is_half_judged:
            yield from fitted(f"  {shown(row.name)}: only {_judged_text(row)}{step}", 4)
    yield ""
    if compared is not None:
        yield from comparison_text(compared, shows_all=shows_all)
        yield ""
    done = f"{total.executed:,} instructions executed"
    if is_every:
        done = f"{counted(len(kernels), 'kernel')}, {done}"
    yield from _verdict_lines(done, total, report, low, kernels)


def _judged_text(kernel: JudgedPart) -> str:
    """Return how much of a kernel was judged."""
    how = "judged" if kernel.names_compared is None else "compared"
    variables = f", {kernel.variables_judged} of {counted(len(kernel.by_name), 'variable')} {how}"
    return (
        f"{kernel.instructions:,} of {counted(kernel.code, 'instruction')} executed{variables * bool(kernel.by_name)}"
    )


def _found_text(
    report: FileReport, made: Sequence[MadeLaunch], compared: Sequence[ComparedVariable] | None, *,
    shows_all: bool, shows_limits: bool,
) -> Iterator[str]:  # fmt: skip
    """Yield the findings, and what the kernels were launched with that the user has not chosen.

    Variables without a value are a table, if many of them count; each finding is in it as well.
    """
    report = evolve(report, findings=tuple(sorted(report.findings, key=lambda each: GRAVITY.index(each.severity))))
    listed = [each for each in report.findings if each.limit is not None or each.rule.name != "against-missing"]
    missing = len(report.findings) - len(listed)
    if compared and missing > MOST_MISSING and not shows_all:
        yield from report_text(evolve(report, findings=tuple(listed)), shows_limits=shows_limits)
        text = f"{missing} against-missing: the table of variables counts them (--all shows them)"
        yield from fitted(f"{shown(report.name)}: {text}", 4)
    else:
        yield from report_text(report, shows_all=shows_all, shows_limits=shows_limits)
    yield from ("",) if report.findings else ()
    for launch in made:
        arguments = "".join(f", {name} = {text}" for name, text in launch.arguments.items())
        words = f"{launch.kernel}: --grid {launch.grid} --work-group {launch.work_group}{arguments}"
        yield from fitted(f"  {shown(words)}", 4)
    yield from ("",) if made else ()


def _verdict_lines(
    done: str, total: JudgedPart, report: FileReport, low: Sequence[DwarfGpuError], kernels: Sequence[JudgedPart]
) -> Iterator[str]:
    """Yield what was executed, what share of the locations and values is right, and in the last line the verdict."""
    done += _shares_text(total.variables, "locations of variables", "absent")
    if total.values is None:
        done += "; values are compared only with --against OTHER"
    else:
        done += _shares_text(total.values, "values at statements", "missing")
    yield from fitted(done, 4)
    repaired = repaired_names(total)
    if repaired:
        names = ", ".join(map(shown, repaired[:MOST_VARIABLES]))
        if len(repaired) > MOST_VARIABLES:
            names += f" and {len(repaired) - MOST_VARIABLES} more"
        locations = f"{total.locations_repaired:,} of {total.locations:,} locations are idioms"
        yield from fitted(f"repaired: the compiler misdescribes {names}: {locations}, wrong with --repair off", 4)
    cut = sum(kernel.problem is not None for kernel in kernels)
    notes = [f"{counted(cut, 'kernel')} not judged to the end"] * bool(cut)
    few = [kernel.name for kernel in kernels if kernel.problem is None and not kernel.is_half_judged]
    notes += [f"less than half judged of {shown(few[0]) if len(few) == 1 else counted(len(few), 'kernel')}"] * bool(few)
    notes += ["no variable was judged"] * (total.variables.right + total.variables.wrong == 0)
    verdict = verdict_text(report.findings, report.known, notes, _idiom_variables(total, report))
    words = [*(error.message for error in low), verdict]
    yield from fitted(f"verdict: {'; '.join(words)}", 4)


def repaired_names(part: JudgedPart) -> list[str]:
    """Return the names of the variables that dwarfgpu does not take as they are written."""
    return sorted({name for name, _line in part.repaired})


def _idiom_variables(part: JudgedPart, report: FileReport) -> int:
    """Return how many variables have a location that is an idiom and does not count."""
    return len(part.repaired) if any(finding.limit == IDIOM for finding in report.findings) else 0


def _shares_text(part: ComparedPart, what: str, lack: str) -> str:
    """Return how many locations or values were judged, and how many are right; nothing without any."""
    count = part.right + part.wrong + part.missing
    if not count:
        return ""
    right, missing = (share_text(each / count) for each in (part.right, part.missing))
    return f"; {count:,} {what}: {right} right, {part.wrong:,} wrong, {missing} {lack}"


def _of_judged(name: str) -> Callable[[JudgedPart], str]:
    """Return what writes the share of the instructions; nothing where nothing says so of any."""

    def text(part: JudgedPart) -> str:
        is_silent = not part.instructions or (name == "frames_right" and part.frames_missing == part.instructions)
        return "-" if is_silent else f"{getattr(part, name) / part.instructions:.0%}"

    return text


def cut_name(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name that is short enough for a table on a screen of 80 columns."""
    return shortened(shown(name), longest)


def _values_json(values: ComparedPart | None) -> dict[str, Any] | None:
    return None if values is None else PART.json(values)


def _part_record(noun: str, *more: str | Fact) -> Record:
    """Return the row of a function or a kernel."""
    return Record(
        fact(f"{noun}=name", noun, text=partial(cut_name, longest=LONGEST_FUNCTION)),
        "instructions code",
        fact("", "executed", lambda part: f"{part.instructions:,} of {part.code:,}", side="r"),
        *more,
        *(number(f"{name}=variables.{name}", name) for name in ("right", "wrong")),
        number("absent=variables.missing", "absent"),
        fact("", "% right", lambda part: share_text(part.variables.share_right), side="r"),
        "frames_right frames_missing lanes_right",
        fact("", "callers", _of_judged("frames_right"), side="r"),
        fact("", "lanes", _of_judged("lanes_right"), side="r"),
    )


FUNCTION = _part_record("function")
NAMED = Record("name right wrong absent=missing")
KERNEL = _part_record(
    "kernel",
    "executed problem",
    nested("by_name", NAMED),
    fact("values?*", value=lambda part: _values_json(part.values)),
)
VARIABLES = Record("right wrong absent=missing share_right")
LAUNCH = Record("kernel grid work_group arguments")


def judgement_json(
    judgement: Judgement,
    report: FileReport,
    made: Sequence[MadeLaunch],
    kernels: Sequence[JudgedPart],
    *,
    is_interrupted: bool = False,
) -> dict[str, Any]:
    """Return the judgement as a JSON document; its findings are those that `--baseline` reads."""
    total = judgement.total()
    return {
        **report_json(report),
        "idiom_variables": _idiom_variables(total, report),
        **({} if judgement.comparison is None else {"against": COMPARISON.json(judgement.comparison)}),
        "interrupted": is_interrupted,
        "ended": judgement.halt.has_ended,
        "halt": str(judgement.halt),
        "instructions": judgement.instructions,
        "variables": VARIABLES.json(total.variables),
        "repaired": repaired_names(total),
        "locations": total.locations,
        "locations_repaired": total.locations_repaired,
        "launches": [*map(LAUNCH.json, made)],
        "kernels": [*map(KERNEL.json, kernels)],
        "functions": [*map(FUNCTION.json, judgement.functions)],
        "findings": [*map(FINDING.json, report.findings)],
    }


# --- Two builds -------------------------------------------------------------------------------------------------------


def comparison_text(comparison: BuildJudgement, *, shows_all: bool = False) -> Iterator[str]:
    """Yield the variables that are not right everywhere, and the sums of functions and files in percent."""
    yield from _variables_text(comparison.variables, shows_all=shows_all)
    rows = [(f"against {comparison.other}", *PART.head[1:]), *sum_rows(comparison)]
    yield from table(rows, PART.sides, longest=LONGEST_NAME + 5, width=room(), is_headed=True)
    other = shown(comparison.other)
    statements = f"{comparison.aligned:,} of {comparison.stops:,} statements"
    yield from fitted(f"  counted: values at {statements} that lanes execute, which have a counterpart in {other}", 4)
    uncertain = comparison.total().uncertain
    if uncertain:
        counted_ones = f"{uncertain:,} more values are uncertain"
        yield from fitted(f"  {counted_ones}: of the statements of {other} that may correspond, only some have them", 4)
    between = comparison.between
    if between.right or between.wrong:
        count = between.right + between.wrong
        yield from fitted(f"  between statements, {count:,} more values are compared: {between.wrong:,} are wrong", 4)
    if comparison.depends_on_order:
        yield from fitted("  the buffers at the end are not compared: they depend on the order of atomic operations", 4)


def _variables_text(variables: Iterable[ComparedVariable], *, shows_all: bool) -> Iterator[str]:
    """Yield a table of the variables that are not right everywhere, the worst first."""
    lacking = [variable for variable in variables if variable.wrong or variable.missing]
    lacking.sort(key=lambda variable: (-variable.wrong, -variable.missing, variable.function, variable.line))
    shown_ones = lacking if shows_all else lacking[:MOST_VARIABLES]
    if shown_ones:
        yield from VARIABLE.lines(shown_ones, width=room())
        if len(shown_ones) < len(lacking):
            yield f"  {counted(len(lacking) - len(shown_ones), 'more variable')}: see --all"
        yield ""


def sum_rows(comparison: BuildJudgement) -> Iterator[tuple[str, ...]]:
    """Yield the sums of functions, of files, and of all: the name, the values, and both shares."""
    yield from map(PART.cells, [*comparison.functions(), *comparison.files(), evolve(comparison.total(), name="all")])


def share_text(share: float | None) -> str:
    """Return a share in percent, rounded down."""
    return "-" if share is None else f"{int(share * 1000) / 10:.1f}%"


PART = Record(
    fact("name", "", text=cut_name),
    "right wrong missing uncertain",
    number("", "values", lambda part: part.right + part.wrong + part.missing),
    fact("availability", "% available", text=share_text, side="r"),
    fact("correctness", "% of these right", text=share_text, side="r"),
)
VARIABLE = Record(
    fact("", "variable", lambda variable: f"{variable.function}: {variable.name}", cut_name),
    "name function file",
    fact("line", "line", side="r"),
    number("", "values", lambda variable: variable.right + variable.wrong + variable.missing),
    *map(number, ("right", "wrong", "missing")),
    "uncertain first_wrong first_missing",
)
COMPARISON = Record(
    "other stops aligned is_cut depends_on_order",
    fact("total", value=lambda comparison: PART.json(comparison.total())),
    fact("functions", value=lambda comparison: [*map(PART.json, comparison.functions())]),
    fact("files", value=lambda comparison: [*map(PART.json, comparison.files())]),
    nested("variables", VARIABLE),
    fact("between", value=lambda comparison: PART.json(comparison.between)),
)
