"""What checks of a run have found, as text and JSON."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.run_checks import path_of, rule_of
from dwarfgpu.execution.checks.findings import NAN
from dwarfgpu.lanes import lanes_in
from dwarfgpu.render.lanes import global_ids, group_noun, group_words, items_text
from dwarfgpu.render.layout import Record, artifact, counted, fact, fitted, lanes_text, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.execution.control.check_report import CheckReport, Coverage, NamedFinding, NamedSide
    from dwarfgpu.program.code.scopes import SourceCall

MOST_FINDINGS = 10
"""The findings of checks that are shown, unless an option says otherwise."""
MOST_MISSING = 8
"""The lines that were not covered and are named."""


def findings_text(report: CheckReport, most: int) -> Iterator[str]:
    """Yield at most so many findings, and how many there are."""
    for finding in report.findings[:most]:
        yield ""
        yield from finding_lines(finding)
    left = len(report.findings) - most
    if left > 0:
        yield ""
        yield f"... and {counted(left, 'more finding')} (--max-findings shows more)"
    yield ""
    if report.coverage is not None:
        yield from fitted(coverage_text(report.coverage), 2)
    counts = Counter(finding.severity for finding in report.findings)
    words = [counted(counts["error"], "error")]
    words += [counted(counts[name], name) for name in ("warning", "note") if counts[name]]
    words += [f"{report.suppressed} suppressed"] * bool(report.suppressed)
    words += [f"{report.known} of the baseline"] * bool(report.known)
    yield f"error summary: {', '.join(words)} ({', '.join(report.checks)})"


def coverage_text(coverage: Coverage) -> str:
    """Return what a check has looked at: that it found nothing says nothing of the rest."""
    text = f"race: {coverage.executed} of {counted(coverage.total, 'memory instruction')} were executed"
    places = [
        f"{Path(each.file).name}:{each.line}" if each.file and each.line else each.place or f"{each.address:#x}"
        for each in coverage.missing[:MOST_MISSING]
    ]
    more = len(coverage.missing) - len(places)
    return f"{text}; not covered: {', '.join([*places, *[f'{more} more'] * bool(more)])}" if places else text


def finding_lines(finding: NamedFinding, *, with_source: bool = False) -> Iterator[str]:
    """Yield one finding: what it is, and what each side did, if wanted with the line of the source."""
    yield from fitted(f"{finding.severity}: {shown(finding.message)}, {times(finding)}", 2)
    yield from details(finding, with_source=with_source)


def times(finding: NamedFinding) -> str:
    """Return how often it happened."""
    if finding.reach is not None:
        return counted(finding.count, "access", "accesses")
    if finding.check == NAN:
        file, groups = finding.sides[0].line, len(finding.groups)
        inside = f" in {counted(groups, group_noun(file and file[0]))}" if groups > 1 else ""
        return f"{counted(finding.count, 'number')}{inside}"
    return counted(finding.count, "hazard") + (f" of {finding.places} pairs of instructions" * (finding.places > 1))


def details(finding: NamedFinding, indent: int = 2, *, with_source: bool = False) -> Iterator[str]:
    """Yield how far outside of which memory it is, and what each side did."""
    mark = " " * indent
    if finding.reach is not None:
        yield from fitted(f"{mark}{finding.reach}", indent + 2)
    for each in finding.sides:
        yield from _side_lines(each, mark, each.text if with_source else None)


def _side_lines(each: NamedSide, mark: str, source: str | None) -> Iterator[str]:
    deeper = len(mark) + 2
    yield from fitted(f"{mark}{each.done}", deeper)
    if source is not None:
        yield from fitted(f"{mark}  {each.position.line}  {shown(source.strip())}", deeper + 2)
    for call, caller in pairwise(each.calls):
        line = caller.source
        where = f" at {Path(line.file).name}:{line.line}" if line is not None and line.file and line.line else ""
        word = "inlined into" if call.inlined else "called by"
        yield from fitted(f"{mark}  {word} {caller.function or '?'}{where}", deeper + 2)
    for text in who(each):
        yield from fitted(f"{mark}  {text}", deeper + 2)


def who(each: NamedSide) -> Iterator[str]:
    """Yield the wave, its work-group, and the lane and work-item of the element; then all lanes, if there are more."""
    side, sources = each.side, (call.source for call in each.calls)
    file = each.position.file or next((source.file for source in sources if source is not None), None)
    words = f"wave {side.wave}", group_words(side.work_group, file)
    lanes = (lanes_text(side.lanes),) if side.lanes else ()
    if side.items:
        lanes = *lanes, items_text(side.lanes, (side.items[0], side.items[-1]), each.origin, file)
    if side.lane is None or side.lanes == 1 << side.lane:
        yield ", ".join(filter(None, (*words, *lanes)))
        return
    item = items_text(1 << side.lane, (side.item, side.item), each.origin, file)
    yield ", ".join(filter(None, (*words, f"lane {side.lane}", item)))
    yield f"in all: {', '.join(filter(None, lanes))}"


def findings_json(report: CheckReport, most: int) -> dict[str, Any]:
    """Return at most so many findings as JSON, and how many there are of each rule."""
    counts = Counter((rule_of(finding).name, finding.severity) for finding in report.findings)
    severities = Counter(finding.severity for finding in report.findings)
    return {
        "checks": list(report.checks), "errors": severities["error"], "warnings": severities["warning"],
        "notes": severities["note"], "suppressed": report.suppressed, "known": report.known,
        "rules": [{"rule": rule, "severity": severity, "count": n} for (rule, severity), n in counts.items()],
        **({} if report.coverage is None else {"coverage": _coverage_json(report.coverage)}),
        "findings": [{"file": report.file, **FINDING.json(finding)} for finding in report.findings[:most]],
    }  # fmt: skip


def _coverage_json(coverage: Coverage) -> dict[str, Any]:
    places = [{"file": each.file, "line": each.line, "address": each.address} for each in coverage.missing]
    return {"executed": coverage.executed, "memory_instructions": coverage.total, "not_covered": places}


def side_places(finding: NamedFinding, folder: str) -> list[dict[str, Any]]:
    """Return the sides of a finding as places of SARIF, each with what was done there."""
    return [
        _place(side, folder) | {"message": {"text": f"{side.action}, {'; '.join(who(side))}"}} for side in finding.sides
    ]


def _place(side: NamedSide, folder: str) -> dict[str, Any]:
    logical = {"logicalLocations": [{"fullyQualifiedName": side.function or "?"}]}
    if side.line is None:
        return logical
    file, line = side.line
    region = {"artifactLocation": artifact(file, folder), "region": {"startLine": line}}
    return logical | {"physicalLocation": region}


SIDE = Record(
    "action=side.action? pc=position.address# function file=position.file line=position.line? text",
    fact("callers", value=lambda each: [*map(_caller, each.calls[1:])]),
    "wave=side.wave work_group=side.work_group",
    fact("lanes", value=lambda each: lanes_in(each.side.lanes)),
    "work_items=side.items lane=side.lane work_item=side.item? is_scalar=side.is_scalar value",
    fact("global_ids", value=lambda each: global_ids(each.side.items, each.origin)),
)
OPERAND = Record(
    "name value",
    fact("file", value=lambda each: each.changed and each.changed.file),
    fact("line", value=lambda each: (each.changed and each.changed.line) or None),
    fact("pc", value=lambda each: each.changed and each.changed.address),
    "came_in? is_certain",
)
FINDING = Record(
    fact("rule", value=lambda finding: rule_of(finding).name),
    "message",
    fact("path", value=lambda finding: [*path_of(finding)]),
    "check kind severity space address# size? register? variable is_certain reach? hazards=count pairs=places",
    fact("operands", value=lambda finding: [*map(OPERAND.json, finding.operands)]),
    fact("sides", value=lambda finding: [*map(SIDE.json, finding.sides)]),
)


def _caller(call: SourceCall) -> dict[str, Any]:
    line = call.source
    return {"function": call.function, "file": line and line.file, "line": (line and line.line) or None}
