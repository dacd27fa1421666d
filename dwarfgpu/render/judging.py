"""What the execution of a kernel shows of its debugging information, or comparing two builds: text, JSON, a page."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.audits.judge.judgement import sum_of
from dwarfgpu.audits.verify.findings import IDIOM
from dwarfgpu.render import pictures
from dwarfgpu.render import report as html
from dwarfgpu.render.layout import counted, fitted, room, runs, shortened, shown, table
from dwarfgpu.render.pictures import OUTSIDE, Strip, StripPart
from dwarfgpu.render.records import Fact, Record, fact, nested, number
from dwarfgpu.render.values import value_line
from dwarfgpu.render.verification import FINDING, report_json, report_text, verdict_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dwarfgpu.audits.judge.comparison import BuildJudgement, ComparedPart, ComparedVariable
    from dwarfgpu.audits.judge.judgement import JudgedPart, Judgement
    from dwarfgpu.audits.judge.lane_history import LaneHistory, LaneStep, ShownValue
    from dwarfgpu.audits.verify.reports import FileReport
    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.execution.launch.made_arguments import MadeLaunch
    from dwarfgpu.program.frames.answers import LaneAnswer


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


FINDING_ROOM, LANE_ROOM = 500_000, 2_000_000
MAX_VARIABLES, MAX_LINES, MAX_DIFFERENT = 120, 400, 200
LONGEST_VALUE = 160
FRAMES = {"right": "unwinding", "wrong": "wrong", "missing": pictures.NOTHING}
FRAME_WORDS = {"right": "callers are right", "wrong": "callers are wrong", "missing": "no call frame information"}


def value_words(answer: LaneAnswer) -> str:
    """Return a value in one line."""
    return "" if answer.value is None else value_line(answer.value, sys.maxsize)


def judged_page(
    title: str,
    judgement: Judgement,
    report: FileReport,
    history: LaneHistory,
    lines_of: Callable[[str], Sequence[str]],
    command: str,
) -> Iterator[str]:
    """Yield the page; ``lines_of`` returns the lines of a source file, ``command`` lists all findings."""
    findings, figure = html.findings_section(report.findings, report.left_out or {}, FINDING_ROOM, command)
    if not report.findings:
        findings.add(html.note("Nothing is wrong."))
    known = f"{counted(report.known, 'finding')} of the baseline" if report.known else ""
    total = judgement.total()
    judged, right, missing = total.instructions, total.frames_right, total.frames_missing
    shown = [value.kind for values in history.variables.values() for value in values.values()]
    compared = judgement.comparison
    tiles = [
        html.Tile("Instructions", f"{judgement.instructions:,}", "executed" if judgement.halt.has_ended else "so far"),
        html.Tile("Findings", figure, known),
        html.Tile(
            "Frames right",
            f"{right / judged:.1%}" if judged else "-",
            f"of {counted(judged, 'instruction')}, {missing} without",
        ),
        html.Tile(
            "Values wrong", str(shown.count("wrong")), f"of {len(shown)} in lane {history.lane} of wave {history.wave}"
        ),
    ]
    other = "" if compared is None else compared.other
    sections = [_lane_section(history, lines_of, other)]
    if compared is not None:
        part = total.counted
        values = f"of {counted(part.right + part.wrong + part.missing, 'value')} in all lanes, against {other}"
        tiles.append(html.Tile("Values available", share_text(part.availability), values))
        tiles.append(html.Tile("Values correct", share_text(part.correctness), "of those that are available"))
        sections.append(_against_section(compared, history))
    yield from html.page(title, tiles, [*sections, findings, _functions(judgement)])


# --- The lane ---------------------------------------------------------------------------------------------------------


def _lane_section(history: LaneHistory, lines_of: Callable[[str], Sequence[str]], other: str) -> html.PageSection:
    """Return the variables over time, and the source with the times when each line was executed."""
    title = f"Lane {history.lane} of wave {history.wave}"
    section = html.PageSection("lane", title, "part", LANE_ROOM, len(history.steps))
    if not history.steps:
        section.add(html.note("The lane has executed no statement."))
        return section
    section.add(html.note(
        f"From left to right the {counted(len(history.steps), 'statement')} that the lane has begun. "
        "Red is what a debugger shows wrongly; pointing at it shows what is right, where that is known."
    ))  # fmt: skip
    if other:
        section.add(html.note(
            f"At {counted(_compared_count(history), 'statement')} variables are compared with those of {other}: "
            "pointing at a part shows both values."
        ))  # fmt: skip
    if history.left_out:
        section.add(html.note(f"{counted(history.left_out, 'later statement')} not shown."))
    by_function: dict[str, list[Strip]] = {}
    for (function, name, _die), values in sorted(history.variables.items(), key=_first_wrong)[:MAX_VARIABLES]:
        by_function.setdefault(function, []).append(_variable_strip(name, values, history.steps, other))
    strips = [strip for of_function in by_function.values() for strip in of_function]
    frames = Strip("call frames", tuple(_merged(_frame_parts(history.steps))))
    section.add(html.legend(pictures.kinds_of([*strips, frames])))
    ends = "statement 1", f"statement {len(history.steps)}"
    for function, of_function in by_function.items():
        label = f"Variables of {function} over time"
        section.add(f"<h3>{html.text(function)}</h3>{html.strip_rows(of_function, ends, label)}")
    section.left_out += max(0, len(history.variables) - MAX_VARIABLES)
    section.add(f"<h3>Call frames</h3>{html.strip_rows([frames], ends, 'Call frames over time')}")
    section.add(f"<h3>Source</h3>{html.source_table(_source_blocks(history.steps, lines_of), 'when it is executed')}")
    return section


def _first_wrong(item: tuple[tuple[str, str, int], dict[int, ShownValue]]) -> tuple[int, int, int]:
    """Order variables: those that are wrong first, then those that are missing, then by when they come into scope."""
    (_function, _name, die), values = item
    kinds = {value.kind for value in values.values()}
    return 0 if "wrong" in kinds else 1 if "missing" in kinds else 2, min(values, default=0), die


def _compared_count(history: LaneHistory) -> int:
    """Return at how many statements of the lane some variable is compared with another build."""
    return len({
        index
        for values in history.variables.values()
        for index, value in values.items()
        if value.is_compared
    })  # fmt: skip


def _variable_strip(name: str, values: dict[int, ShownValue], steps: Sequence[LaneStep], other: str) -> Strip:
    parts = []
    for index, step in enumerate(steps):
        where = f"statement {index + 1}, line {step.line}: "
        value = values.get(index)
        if value is None:
            parts.append(StripPart(1, OUTSIDE, f"{where}{name} is out of scope"))
            continue
        parts.append(StripPart(1, value.kind, where + _shown_words(name, value, other)))
    kinds = Counter(value.kind for value in values.values())
    note = ", ".join(f"{kinds[kind]} {kind}" for kind in ("wrong", "missing") if kinds[kind])
    return Strip(name, tuple(_merged(parts)), note)


def _shown_words(name: str, value: ShownValue, other: str) -> str:
    """Return what a debugger shows of a variable, and what it is in another build."""
    text = value.text[:LONGEST_VALUE]
    words = f"{name}{value.part} = {text}" if value.is_value else f"{name}: no value: {value.text}"
    if value.meant:
        words += f"; it was {value.meant[:LONGEST_VALUE]}, and nothing assigns it"
    if value.other:
        words += f"; it is {value.other[:LONGEST_VALUE]} in {other}"
    elif value.is_compared:
        words += f"; the same in {other}"
    return words


def _against_section(compared: BuildJudgement, history: LaneHistory) -> html.PageSection:
    """Return what the lane has otherwise than the other build, and the sums of functions and files."""
    title = f"Against {compared.other}"
    section = html.PageSection("against", title, "row", FINDING_ROOM)
    section.add(html.note(
        f"{compared.aligned:,} of {compared.stops:,} statements of lanes are statements of {compared.other}, too. "
        f"Below is what lane {history.lane} of wave {history.wave} has otherwise, and then the sums of all lanes."
    ))  # fmt: skip
    rows = list(_different_rows(history))
    section.count = len(rows)
    if rows:
        columns = ("variable", "a debugger shows", f"in {compared.other}", "statement", "line")
        section.add(html.grid(columns, rows[:MAX_DIFFERENT], numbers_from=len(columns)))
        section.left_out += max(0, len(rows) - MAX_DIFFERENT)
    else:
        section.add(html.note("What is compared in this lane is the same."))
    section.add(html.grid(("all lanes", *PART.head[1:]), sum_rows(compared), numbers_from=1))
    return section


def _different_rows(history: LaneHistory) -> Iterator[tuple[str, ...]]:
    """Yield a row for each run of statements at which a variable has the same two values, or lacks one."""
    for (function, name, _die), values in sorted(history.variables.items(), key=_first_wrong):
        different = ((index, value) for index, value in sorted(values.items()) if value.other)
        for run in runs(different, lambda before, each: each == (before[0] + 1, before[1])):
            (first, value), (last, _value) = run[0], run[-1]
            numbers = str(first + 1) if first == last else f"{first + 1} to {last + 1}"
            lines = sorted({history.steps[index].line for index in range(first, last + 1)})
            of_lines = str(lines[0]) if len(lines) == 1 else f"{lines[0]} to {lines[-1]}"
            what = value.text if value.is_value else f"no value: {value.text}"
            name_of_part = f"{function}: {name}{value.part}"
            yield name_of_part, what[:LONGEST_VALUE], value.other[:LONGEST_VALUE], numbers, of_lines


def _frame_parts(steps: Iterable[LaneStep]) -> Iterator[StripPart]:
    for index, step in enumerate(steps):
        where = f"statement {index + 1}, line {step.line} of {step.function}: {FRAME_WORDS[step.frames]}"
        yield StripPart(1, FRAMES[step.frames], where)


def _merged(parts: Iterable[StripPart]) -> Iterator[StripPart]:
    """Yield neighbours that say the same but for the statement as one part."""
    for run in runs(parts, lambda last, part: (last.kind, _said(last)) == (part.kind, _said(part))):
        yield StripPart(len(run), run[0].kind, run[0].text)


def _said(part: StripPart) -> str:
    return part.text.partition(": ")[2]


def _source_blocks(steps: Sequence[LaneStep], lines_of: Callable[[str], Sequence[str]]) -> Iterator[html.SourceBlock]:
    """Yield the lines that were executed, with a strip of the times when they were."""
    times: dict[tuple[str, int], list[int]] = {}
    for index, step in enumerate(steps):
        times.setdefault((step.file, step.line), []).append(index)
    for (file, line), indices in sorted(times.items())[:MAX_LINES]:
        lines = lines_of(file)
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        parts: list[StripPart] = []
        done = 0
        for index in indices:
            if index > done:
                parts.append(StripPart(index - done, OUTSIDE, ""))
            problem = steps[index].problem
            words = f"statement {index + 1}: line {line}" + (f": {problem}" if problem else "")
            parts.append(StripPart(1, "implicit" if problem else "register", words))
            done = index + 1
        if done < len(steps):
            parts.append(StripPart(len(steps) - done, OUTSIDE, ""))
        strip = pictures.strip_bar(Strip("", tuple(parts)))
        yield html.SourceBlock(file, line, text.expandtabs(4).rstrip(), (strip,))


def _functions(judgement: Judgement) -> html.PageSection:
    section = html.PageSection("functions", "Functions", "function", FINDING_ROOM, len(judgement.functions))
    section.add(html.grid(FUNCTION.head, map(FUNCTION.cells, judgement.functions), numbers_from=1))
    return section
