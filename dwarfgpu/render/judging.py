"""What the execution of a kernel shows of its debugging information, and what comparing two builds shows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.render.layout import counted, room, shortened, shown, table
from dwarfgpu.render.records import Fact, Record, fact, nested, number
from dwarfgpu.render.verification import FINDING, report_json, report_text, severities_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.audits.judge.comparison import BuildJudgement
    from dwarfgpu.audits.judge.judgement import JudgedFunction, Judgement
    from dwarfgpu.audits.verify.reports import FileReport

MOST_VARIABLES = 12
"""The variables that are shown if nothing else is said, the worst first."""
LONGEST_NAME = 34


def judgement_text(judgement: Judgement, report: FileReport, *, shows_all: bool = False) -> Iterator[str]:
    """Yield the findings, what was judged of each function, and a line that sums up."""
    yield from report_text(report, shows_all=shows_all)
    if report.findings:
        yield ""
    yield from FUNCTION.lines(judgement.functions)
    yield ""
    if judgement.comparison is not None:
        yield from comparison_text(judgement.comparison, shows_all=shows_all)
        yield ""
    what = severities_text(Counter(finding.severity for finding in report.findings))
    known = f" ({report.known} of the baseline)" if report.known else ""
    how = "" if judgement.halt.has_ended else f"; {judgement.halt}"
    yield f"{judgement.instructions:,} instructions executed: {what if report.findings else 'no findings'}{known}{how}"


def cut_name(name: str) -> str:
    """Return a name that is short enough for a table on a screen of 80 columns."""
    return shortened(shown(name), LONGEST_NAME)


def _share(name: str) -> Fact:
    """Return the column of a part of the instructions."""

    def value(function: JudgedFunction) -> str:
        return f"{getattr(function, name) / function.judged:.0%}" if function.judged else "-"

    return fact("", "not described" if name == "missing" else name, value, side="r")


FUNCTION = Record(
    fact("function=name", "frames in", text=cut_name),
    number("instructions=judged", "instructions"),
    "right wrong missing",
    *map(_share, ("right", "wrong", "missing")),
)


def judgement_json(judgement: Judgement, report: FileReport) -> dict[str, Any]:
    """Return the judgement as a JSON document; its findings are those that `--baseline` reads."""
    return {
        **report_json(report),
        "notes": sum(finding.severity == "note" for finding in report.findings),
        **({} if judgement.comparison is None else {"against": COMPARISON.json(judgement.comparison)}),
        "ended": judgement.halt.has_ended,
        "halt": str(judgement.halt),
        "instructions": judgement.instructions,
        "functions": [*map(FUNCTION.json, judgement.functions)],
        "findings": [*map(FINDING.json, report.findings)],
    }


# --- Two builds -------------------------------------------------------------------------------------------------------


def comparison_text(comparison: BuildJudgement, *, shows_all: bool = False) -> Iterator[str]:
    """Yield the variables that are not right everywhere, and the sums of functions and files in percent."""
    lacking = [variable for variable in comparison.variables if variable.wrong or variable.missing]
    lacking.sort(key=lambda variable: (-variable.wrong, -variable.missing, variable.function, variable.line))
    shown_ones = lacking if shows_all else lacking[:MOST_VARIABLES]
    if shown_ones:
        yield from VARIABLE.lines(shown_ones, width=room(), is_headed=True)
        if len(shown_ones) < len(lacking):
            yield f"  {counted(len(lacking) - len(shown_ones), 'more variable')}: see --all"
        yield ""
    rows = [(f"against {comparison.other}", *PART.head[1:]), *sum_rows(comparison)]
    yield from table(rows, PART.sides, longest=LONGEST_NAME + 8, width=room(), is_headed=True)
    yield f"  {comparison.aligned:,} of {comparison.stops:,} statements of lanes are aligned"


def sum_rows(comparison: BuildJudgement) -> Iterator[tuple[str, ...]]:
    """Yield the sums of functions, of files, and of all: the name, the values, and both shares."""
    yield from map(PART.cells, [*comparison.functions(), *comparison.files(), evolve(comparison.total(), name="all")])


def share_text(share: float | None) -> str:
    """Return a share in percent, rounded down."""
    return "-" if share is None else f"{int(share * 1000) / 10:.1f}%"


PART = Record(
    fact("name", "", text=cut_name),
    "right wrong missing",
    number("", "values", lambda part: part.right + part.wrong + part.missing),
    fact("availability", "available", text=share_text, side="r"),
    fact("correctness", "correct", text=share_text, side="r"),
)
VARIABLE = Record(
    fact("", "variable", lambda variable: f"{variable.function}: {variable.name}", cut_name),
    "name function file",
    fact("line", "line", side="r"),
    *map(number, ("right", "wrong", "missing")),
    "first_wrong first_missing",
)
COMPARISON = Record(
    "other stops aligned is_cut",
    fact("total", value=lambda comparison: PART.json(comparison.total())),
    fact("functions", value=lambda comparison: [*map(PART.json, comparison.functions())]),
    fact("files", value=lambda comparison: [*map(PART.json, comparison.files())]),
    nested("variables", VARIABLE),
)
