"""What checks of a run have found, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.lanes import lanes_in
from dwarfgpu.render.lanes import item_text
from dwarfgpu.render.layout import counted, fitted, lanes_text, shown
from dwarfgpu.render.records import Record, fact
from dwarfgpu.render.verification import FINGERPRINT, SARIF, uri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.execution.control.check_report import CheckReport, NamedFinding, NamedSide

_DOES = {
    "read": "read", "write": "write", "atomic": "atomic operation", "arrive": "these lanes wait at a barrier",
    "end": "this wave has ended", "use": "use", "left-out": "write without these lanes",
    "": "these lanes do not execute it",
}  # fmt: skip


def findings_text(report: CheckReport) -> Iterator[str]:
    """Yield findings, the errors first, and how many there are."""
    for finding in report.findings:
        yield ""
        yield from finding_lines(finding)
    left = report.errors + report.notes - len(report.findings)
    if left:
        yield ""
        yield f"... and {counted(left, 'more finding')} (--max-findings shows more)"
    yield ""
    notes = f", {counted(report.notes, 'note')}" if report.notes else ""
    notes += f", {report.suppressed} suppressed" if report.suppressed else ""
    yield f"error summary: {counted(report.errors, 'error')}{notes} ({', '.join(report.checks)})"


def finding_lines(finding: NamedFinding) -> Iterator[str]:
    """Yield one finding: what it is, and what each side did."""
    text = f"{finding.severity}: {finding.kind}" + (f": {finding.register}" if finding.register else "")
    if finding.address is not None:
        likely = "" if finding.is_certain else "probably "
        name = "" if finding.variable is None else f"{likely}`{shown(finding.variable)}`, "
        text += f": {name}{counted(finding.size, 'byte')} at {finding.address:#x} in {finding.space} memory"
    count = counted(finding.count, "hazard") if finding.reach is None else counted(finding.count, "access", "accesses")
    yield from fitted(f"{text}, {count}", 2)
    if finding.reach is not None:
        yield from fitted(f"  {finding.reach}", 4)
    for each in finding.sides:
        yield from _side_lines(each)


def _side_lines(each: NamedSide) -> Iterator[str]:
    side, place = each.side, each.position
    value = (
        "" if each.value is None else f" of {each.value:g}" if isinstance(each.value, float) else f" of {each.value}"
    )
    source = f" at {place.file}:{place.line}" if place.file else ""
    yield from fitted(f"  {_DOES[side.action]}{value}{source} in {each.function or '?'}, {place.address:#x}", 4)
    for function, line in each.callers:
        where = "" if line is None or not line.line else f" at {line.file}:{line.line}"
        yield from fitted(f"    inlined into {function or '?'}{where}", 6)
    group = ",".join(map(str, side.work_group))
    first, last = (side.items[0], side.items[-1]) if side.items else (None, None)
    items = "" if first is None else f", work-item{'' if first == last else 's'} {item_text(first)}"
    items += "" if first is None or first == last else f" to {item_text(last)}"  # type: ignore[arg-type]
    yield from fitted(f"    wave {side.wave}, work-group ({group}), {lanes_text(side.lanes)}{items}", 6)


def findings_json(report: CheckReport) -> dict[str, Any]:
    """Return findings as JSON."""
    return {
        "checks": list(report.checks), "errors": report.errors, "notes": report.notes,
        "suppressed": report.suppressed,
        "findings": [*map(FINDING.json, report.findings)],
    }  # fmt: skip


def findings_sarif(report: CheckReport, version: str) -> dict[str, Any]:
    """Return findings as a SARIF 2.1.0 log: each at the line of its last side, with the other one related."""
    rules = sorted({f"{finding.check}: {finding.kind}" for finding in report.findings})
    driver = {"name": "dwarfgpu", "version": version, "rules": [{"id": rule} for rule in rules]}
    results = [
        {
            "ruleId": f"{finding.check}: {finding.kind}",
            "level": finding.severity,
            "message": {"text": "\n".join(finding_lines(finding))},
            "locations": [_place(finding.sides[-1])],
            "relatedLocations": [
                _place(side) | {"message": {"text": _DOES[side.side.action]}} for side in finding.sides[:-1]
            ],
            "partialFingerprints": {FINGERPRINT: f"{finding.kind}:{places_of(finding)}:1"},
        }
        for finding in report.findings
    ]
    return {"$schema": SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def places_of(finding: NamedFinding) -> str:
    """Return the functions of a finding with the offsets in them, which stay when lines move."""
    return ",".join(side.position.place or side.function or "?" for side in finding.sides)


def _place(side: NamedSide) -> dict[str, Any]:
    position = side.position
    logical = {"logicalLocations": [{"fullyQualifiedName": side.function or "?"}]}
    if position.file is None or not position.line:
        return logical
    region = {"artifactLocation": {"uri": uri(position.file)}, "region": {"startLine": position.line}}
    return logical | {"physicalLocation": region}


SIDE = Record(
    "action=side.action? pc=position.address# function file=position.file line=position.line?",
    fact("callers", value=lambda each: [_caller(*call) for call in each.callers]),
    "wave=side.wave work_group=side.work_group",
    fact("lanes", value=lambda each: lanes_in(each.side.lanes)),
    "work_items=side.items lane=side.lane value",
)
FINDING = Record(
    "check kind severity space address# size? register? variable is_certain reach? hazards=count",
    fact("sides", value=lambda finding: [*map(SIDE.json, finding.sides)]),
)


def _caller(function: str | None, line: Any) -> dict[str, Any]:
    return {"function": function, "file": line and line.file, "line": (line and line.line) or None}
