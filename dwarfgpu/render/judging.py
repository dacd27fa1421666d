"""What the execution of a kernel shows of its debugging information, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dwarfgpu.render.compared_builds import COMPARISON, comparison_text, cut_name
from dwarfgpu.render.layout import counted, plain_style
from dwarfgpu.render.records import Record
from dwarfgpu.render.verification import FINDING, report_json, report_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.audits.judge.judgement import JudgedFunction, Judgement
    from dwarfgpu.audits.verify.reports import FileReport
    from dwarfgpu.render.layout import Style


def judgement_text(
    judgement: Judgement, report: FileReport, style: Style = plain_style, width: int = 80, *, shows_all: bool = False
) -> Iterator[str]:
    """Yield the findings, what was judged of each function, and a line that sums up."""
    yield from report_text(report, style, width, shows_all=shows_all)
    if report.findings:
        yield ""
    yield from _table(judgement.functions)
    yield ""
    if judgement.comparison is not None:
        yield from comparison_text(judgement.comparison, style, width, shows_all=shows_all)
        yield ""
    severities = Counter(finding.severity for finding in report.findings)
    what = f"{counted(severities['error'], 'error')}, {counted(severities['warning'], 'warning')}"
    if severities["note"]:
        what += f", {counted(severities['note'], 'note')}"
    known = f" ({report.known} of the baseline)" if report.known else ""
    how = "" if judgement.halt.has_ended else f"; {judgement.halt}"
    yield f"{judgement.instructions:,} instructions executed: {what if report.findings else 'no findings'}{known}{how}"


def _table(functions: tuple[JudgedFunction, ...]) -> Iterator[str]:
    names = [cut_name(function.name) for function in functions]
    wide = max([len("frames in"), *map(len, names)])
    yield f"  {'frames in':{wide}}  instructions  right  wrong  not described"
    for name, function in zip(names, functions, strict=True):
        yield (
            f"  {name:{wide}}  {function.judged:12,}  {_share(function.right, function)}  "
            f"{_share(function.wrong, function)}  {_share(function.missing, function):>13}"
        )


def _share(count: int, function: JudgedFunction) -> str:
    return f"{count / function.judged:5.0%}" if function.judged else "    -"


FUNCTION = Record("function=name instructions=judged right wrong missing")


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
