"""The question ``verify``: what is wrong with expressions, variables, files, or the values of a machine."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dwarfgpu import __version__, progress
from dwarfgpu.audits.verdicts import Verdict, names_of, verdict
from dwarfgpu.audits.verify.reports import FileReport, check_file, check_files
from dwarfgpu.audits.verify.rule_table import RULES, rule_named
from dwarfgpu.errors import DwarfGpuError, MalformedFile, NotFound, Unread, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.types.model import contradiction, resolved
from dwarfgpu.questions import expressions as render
from dwarfgpu.questions.document import BAD_FILE, NO_ANSWER, OK, USAGE, Document, Output, listing
from dwarfgpu.questions.expressions import bytes_of, encoding_of, variables_called
from dwarfgpu.questions.table import ENCODING, FINDINGS
from dwarfgpu.render import verification as text_of
from dwarfgpu.render.layout import counted, fitted, plain, problem_json, shown
from dwarfgpu.render.verification import FINDING, RULE, rule_counts, rule_text, rules_text, sarif

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dwarfgpu.audits.verify.findings import CheckRule
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.variable import Variable
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection


OF_FILES = (*(option.name for option in FINDINGS), "jobs")
"""The options of a check of files."""
OF_EXPRESSIONS = ("cfi", "depth", "want", "rules", *(option.name for option in ENCODING if option.name != "dialect"))
"""The options of a check of an expression by itself."""


def verify(selection: Selection, arguments: Arguments) -> Document:
    if arguments.get("rules") == "":
        arguments.none()
        return listed_rules(RULES)
    if arguments.has("explain"):
        return explained_rule(arguments)
    if arguments.has("ops") and arguments.has("hex"):
        raise UsageError("-ops and -hex are two ways to write one expression", hint="choose one of them")
    if arguments.has("ops") or arguments.has("hex"):
        _refuse(arguments, OF_FILES, "for files")
        return _verify_expression(selection, arguments)
    _refuse(arguments, OF_EXPRESSIONS, "with -ops or -hex")
    if selection.paths:
        return _verify_files(selection, arguments)
    if selection.program is None:
        raise UsageError("FILE, or exactly one of --ops and --hex is needed")
    with selection.settings.lent({"dialect": arguments.get("dialect")} if arguments.has("dialect") else {}):
        if arguments.text or selection.attached is not None:
            _refuse(arguments, OF_FILES, "for files, and without a state")
        if arguments.text or (selection.attached is not None and selection.has_focus):
            return _verify_variables(selection, arguments)
        if selection.attached is not None:
            return _verify_machine(selection)
        return _verify_files(selection, arguments)


def _refuse(arguments: Arguments, names: Iterable[str], where: str) -> None:
    """Refuse options that would change nothing, because something else is checked."""
    for name in names:
        if arguments.has(name):
            raise arguments.wrong(f"takes -{name} only {where}")


# --- Files ------------------------------------------------------------------------------------------------------------


def _verify_files(selection: Selection, arguments: Arguments) -> Document:
    wanted = verdict_of(arguments, RULES)
    required = arguments.get("require") or 0
    jobs = jobs_of(arguments)
    reading = selection.reading()
    found: Iterable[FileReport]
    if selection.paths:
        options = {"dialect": reading["dialect"], "attributes": reading["attributes"]}
        found = check_files(selection.paths, **options, ignored=wanted.ignored, jobs=jobs)
    else:
        assert selection.program is not None  # noqa: S101 (there is a file)
        found = [check_file(selection.program.file, dialect=reading["dialect"], ignored=wanted.ignored)]
    reports = (wanted.report(report, "entries", report.entries) for report in found)

    def status(report: FileReport) -> int:
        return report_status(wanted, report, is_whole=report.entries >= required)

    if arguments.has("sarif"):
        every = [*reports]
        return sarif_document(every, RULES, max(map(status, every), default=0))

    def lines(report: FileReport) -> Iterator[str]:
        if report.error is not None:
            document.problems.append(report.error)
        elif report.entries < required:
            document.hints.append(
                f"{report.name}: {counted(report.entries, 'entry', 'entries')} of {required} required"
            )
        if report.split_files:
            files = counted(len(report.split_files), "more file has", "more files have")
            command = shlex.join(("dwarfgpu", "verify", *report.split_files[:4]))
            document.hints.append(f"{report.name}: {files} entries of this program: {command}")
        yield from text_of.report_text(report, **shown_of(arguments))

    document = checked_document(reports, text_of.report_json, status, lines, text_of.summary_text)
    return document


def verdict_of(arguments: Arguments, rules: Mapping[str, CheckRule]) -> Verdict:
    """Return which findings count, as the options say."""
    for name in ("require", "fail-below"):
        if arguments.has(name) and not 0 <= arguments.get(name) <= (100 if name == "fail-below" else 1 << 62):
            raise arguments.wrong(f"takes -{name} with a number from 0 on{', to 100' * (name == 'fail-below')}")
    return verdict(
        rules,
        ignored=arguments.many("ignore"),
        only=arguments.many("only"),
        severities=arguments.get("severities"),
        baseline=arguments.get("baseline"),
        is_strict=arguments.has("strict"),
    )


def shown_of(arguments: Arguments) -> dict[str, bool]:
    """Return which findings are shown, as the options say."""
    return {"shows_all": arguments.has("all"), "shows_limits": arguments.has("verbose")}


def report_status(wanted: Verdict, report: FileReport, *, is_whole: bool = True) -> int:
    """Return the exit status of a report: 3 where not all was checked, else 1 where something is wrong."""
    if isinstance(report.error, (UsageError, NotFound)):
        return USAGE
    if report.error is not None or report.less is not None or not is_whole:
        return BAD_FILE
    return NO_ANSWER if wanted.is_wrong(report) else OK


@contextmanager
def asked() -> Iterator[None]:
    """Take whatever cannot be found for a wrong question: only what is wrong with a file has the status 1."""
    try:
        yield
    except (UsageError, MalformedFile, Unread):
        raise
    except DwarfGpuError as error:
        raise UsageError(error.message, kind=error.kind, hint=error.hint) from error


def checked_document(
    found: Iterable[Any],
    summarised: Callable[[Any], dict[str, Any]],
    status: Callable[[Any], int],
    lines: Callable[[Any], Iterable[str]],
    summary: Callable[[list[Any]], Iterable[str]],
    file_of: Callable[[Any], FileReport] = lambda report: report,
) -> Document:
    """Return the document of checks of files: each is checked when it is written, and its findings follow."""
    reports: list[Any] = []

    def noted() -> Iterator[Any]:
        for report in found:
            reports.append(report)
            document.status = max(document.status, status(report))
            document.hints += _less_of(file_of(report))
            yield report

    def text(output: Output) -> Iterator[str]:
        for report in noted():
            yield from lines(report)
        yield from summary(reports)

    def findings() -> Iterator[dict[str, Any]]:
        for report in reports:
            yield from map(FINDING.json, file_of(report).findings)

    def rows() -> Iterator[dict[str, Any]]:
        summaries = [*map(summarised, noted())]
        yield from findings()
        yield from summaries

    counts = (count for reported in [reports] for count in rule_counts(chain(*(file_of(r).findings for r in reported))))
    document = Document({"files": map(summarised, noted()), "rules": counts, "findings": findings()}, text, rows=rows)
    return document


def jobs_of(arguments: Arguments) -> int:
    """Return how many processes check files: as many as `--jobs` says, or one for each processor."""
    jobs: int = arguments.get("jobs") if arguments.has("jobs") else os.cpu_count() or 1
    return jobs


def sarif_log(reports: Sequence[FileReport], rules: Mapping[str, CheckRule]) -> dict[str, Any]:
    """Return the SARIF log of reports, relative to the repository that this folder is in, else to this folder."""
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    return sarif(reports, list(rules.values()), __version__, str(root))


def sarif_document(reports: Sequence[FileReport], rules: Mapping[str, CheckRule], status: int) -> Document:
    """Return a SARIF log of reports, with the rules of the check that made them."""
    import json

    log = sarif_log(reports, rules)
    document = Document(log, [json.dumps(log, indent=2)], is_file=True)
    document.status = status
    document.hints += chain.from_iterable(map(_less_of, reports))
    return document


def _less_of(report: FileReport) -> list[str]:
    return [] if report.less is None else [report.less]


def names_of_rules(command: str) -> dict[str, str]:
    """Return the names that `--ignore` and `--only` of a command take, each with what it means."""
    return names_of(_rules_of_commands()[command])


def explained_rule(arguments: Arguments) -> Document:
    """Return what is known of the rule of a finding, whichever command has the rule."""
    every = {name: rule for rules in _rules_of_commands().values() for name, rule in rules.items()}
    rule = rule_named(arguments.get("explain"), every)
    return Document(RULE.json(rule), rule_text(rule))


def listed_rules(rules: Mapping[str, CheckRule]) -> Document:
    """Return the rules of a command."""
    return listing("rules", RULE, rules.values(), rules_text)


def _rules_of_commands() -> dict[str, Mapping[str, CheckRule]]:
    """Return the rules of each command."""
    from dwarfgpu.audits import run_checks
    from dwarfgpu.audits.judge import judgement
    from dwarfgpu.audits.memory_model import checker

    return {"verify": RULES, "judge": judgement.RULES, "memmodel": checker.ALL_RULES, "run": run_checks.RULES}


# --- Machines ---------------------------------------------------------------------------------------------------------


@frozen
class _Failure:
    """Why a variable has no value in some lanes."""

    function: str
    variable: str
    kind: str
    message: str


def _verify_machine(selection: Selection) -> Document:
    """Evaluate each variable of each frame of each wave, or of those that are selected."""
    failures: Counter[_Failure] = Counter()
    waves: dict[_Failure, list[str]] = {}
    states: Counter[str] = Counter()
    problems: list[DwarfGpuError] = []
    for name, frame in progress.counted(_frames(selection, problems), "frames"):
        for variable in frame.variables():
            for failure, lanes in _failures(frame, variable, states):
                failures[failure] += lanes
                if name not in waves.setdefault(failure, []):
                    waves[failure].append(name)
    noun = "wave" if selection.machine.has_waves else "thread"

    def text(output: Output) -> Iterator[str]:
        for failure, lanes in failures.items():
            names = waves[failure]
            where = f"{shown(failure.function)}: {shown(failure.variable)}"
            yield from fitted(f"{where}: {failure.message}", 4)
            places = f"{counted(len(names), noun)} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"
            yield from fitted(f"    in {counted(lanes, 'lane')} of {places}", 7)
        parts = [f"{states[state]} {word}" for state, word in _STATES.items() if states[state]]
        yield f"{counted(sum(states.values()), 'value')}: {', '.join(parts) or 'there are no variables'}"

    data = {
        "values": {word: states[state] for state, word in _STATES.items()},
        "findings": [
            {**plain(failure), "lanes": lanes, f"{noun}s": waves[failure]} for failure, lanes in failures.items()
        ],
    }
    return Document(data, text, rows="findings", problems=problems, has_failed=bool(failures))


_STATES = {
    "active": "known",
    "inactive": "known in inactive lanes",
    "absent": "absent",
    "undefined": "undefined",
    "error": "failed",
}
"""What is said of a value by the state of its lane."""


def _frames(selection: Selection, problems: list[DwarfGpuError]) -> Iterator[tuple[str, Frame]]:
    machine = selection.machine
    chosen = range(len(machine)) if selection.wave_number is None else (selection.wave_number,)
    for index in chosen:
        wave = machine[index]
        try:
            for frame in [selection.frame] if selection.frame_number else wave.frames():
                yield wave.id, frame
        except DwarfGpuError as error:
            problems.append(error)


def _failures(frame: Frame, variable: Variable, states: Counter[str]) -> Iterator[tuple[_Failure, int]]:
    """Yield why a variable has no value, with the number of lanes; count the states of all."""
    from dwarfgpu.program.frames.answers import answer

    function = frame.name or "??"
    reasons: Counter[_Failure] = Counter()
    try:
        values = answer(variable, variable.name, "active" if frame.has_lanes else None)
        for lane in values.by_lane:
            states[lane.state] += 1
            if lane.state == "error" and lane.reason is not None:
                reasons[_Failure(function, variable.name, lane.reason.kind, lane.reason.message)] += 1
    except DwarfGpuError as error:
        states["error"] += 1
        reasons[_Failure(function, variable.name, error.kind, str(error))] += 1
    yield from reasons.items()


# --- Expressions and variables --------------------------------------------------------------------------------------


def _verify_expression(selection: Selection, arguments: Arguments) -> Document:
    context = encoding_of(selection, arguments)
    if arguments.has("ops"):
        expression = context.parsed(arguments.get("ops"))
    else:
        expression = context.decoded(bytes_of(arguments.get("hex")))
    findings = context.findings(
        expression, in_cfi=arguments.has("cfi"), depth=arguments.get("depth") or 0, want=arguments.get("want")
    )
    data = {"dialect": context.dialect.name, "rules": context.rules.name, "findings": map(plain, findings)}
    return Document(data, lambda _output: render.findings_text(findings), rows="findings", has_failed=bool(findings))


def _verify_variables(selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.program.frames.variable import all_variables, checked
    from dwarfgpu.questions.explaining import findings_text

    frame = selection.frame
    variables: Iterable[Variable]
    if arguments.text:
        variables = variables_called(selection, arguments.text)
    elif frame.place is None:
        variables = all_variables(frame)
    else:
        variables = [*frame.variables(), *frame.statics()]
    locations: list[Any] = []
    errors: list[tuple[str, DwarfGpuError]] = []
    count = 0
    for variable in progress.counted(variables, "variables"):
        count += 1
        try:
            contradicted = contradiction(resolved(variable.type))
            if contradicted is not None:
                errors.append((variable.name, contradicted))
            locations += checked(variable)
        except DwarfGpuError as error:
            errors.append((variable.name, error))
    findings = [(location, finding) for location in locations for finding in location.findings]
    total = len(findings) + len(errors)

    def text(output: Output) -> Iterator[str]:
        for name, error in errors:
            yield f"{shown(name)}: {output.style('error', str(error))}"
        for location in locations:
            if location.findings:
                yield from findings_text(location)
        what = f"{counted(count, 'variable')}, {counted(len(locations), 'location')}"
        yield f"{what}: {counted(total, 'finding') if total else 'no findings'}"

    data = {
        "variables": count,
        "locations": len(locations),
        "findings": [
            *({"variable": name, "error": problem_json(error)} for name, error in errors),
            *({"variable": location.variable.name, **plain(finding)} for location, finding in findings),
        ],
    }
    return Document(data, text, rows="findings", has_failed=bool(total))
