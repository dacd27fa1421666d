"""Findings about files as text, as JSON, and as SARIF, which other tools show beside the code."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.verdicts import fingerprint
from dwarfgpu.audits.verify.findings import IDIOM, LIMITS, NOTE
from dwarfgpu.lanes import lanes_in
from dwarfgpu.render.layout import (
    SOURCE_ROOT,
    Record,
    artifact,
    command_lines,
    counted,
    fact,
    fitted,
    nested,
    problem_json,
    ranges_text,
    shown,
    style,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dwarfgpu.audits.verify.findings import CheckRule, FileFinding
    from dwarfgpu.audits.verify.reports import FileReport

_VARIABLES = "DW_TAG_variable ", "DW_TAG_formal_parameter "
MAX_RANGES = 8
"""How many ranges of lanes are shown of a finding."""
MAX_SHOWN = 10
"""How many findings of one rule are shown of a file."""


LOCATION = Record("operations reads start end")
FINDING = Record(
    "file rule=rule.name severity=counted_as message clause section offset path",
    fact("source", value=lambda finding: finding.source and dict(zip(("file", "line"), finding.source, strict=True))),
    "idiom limit? advice=rule.advice seen*",
    nested("location?*", LOCATION),
    fact("command?*", value=lambda finding: shlex.join(finding.command) or None),
    fact("lanes?*", value=lambda finding: [*map(_wave_json, (finding.lanes or {}).items())]),
)
RULE = Record("rule=name severity clause summary advice")


def _wave_json(lanes: tuple[str, int]) -> dict[str, Any]:
    return {"wave": lanes[0], "lanes": lanes_in(lanes[1])}


def rule_counts(findings: Iterable[FileFinding]) -> Iterator[dict[str, Any]]:
    """Yield how many findings each rule has, in the order in which they come."""
    counts = Counter((finding.rule.name, finding.counted_as, finding.limit) for finding in findings)
    return (dict(zip(("rule", "severity", "limit", "count"), (*key, n), strict=True)) for key, n in counts.items())


def report_json(report: FileReport) -> dict[str, Any]:
    """Return what is said of a file beside its findings."""
    counts = severities_of(report.findings)
    document: dict[str, Any] = {
        "file": report.name,
        "entries": report.entries,
        "errors": counts["error"],
        "warnings": counts["warning"],
        "notes": counts["note"],
        "limits": sum(finding.limit is not None for finding in report.findings),
        "idioms": sum(finding.idiom is not None for finding in report.findings),
        "idiom_variables": idiom_variables(report),
        "rules": [*rule_counts(report.findings)],
        "known": report.known,
        "left_out": report.left_out or {},
        "dropped": report.dropped,
        "split_files": [*report.split_files],
    }
    return document if report.error is None else {**document, "problem": problem_json(report.error)}


# --- Text -------------------------------------------------------------------------------------------------------------


def severities_of(findings: Iterable[FileFinding]) -> Counter[str]:
    """Return how many findings count, by severity."""
    return Counter(finding.severity for finding in findings if finding.limit is None)


def report_text(report: FileReport, *, shows_all: bool = False, shows_limits: bool = False) -> Iterator[str]:
    """Yield the findings of a file, few of each rule and of limits their number, unless all are asked for."""
    of_rule: Counter[str] = Counter()
    limits: dict[str, Counter[str]] = {}
    more: Counter[str] = Counter(report.left_out or {})
    for finding in report.findings:
        name = finding.rule.name
        if finding.limit is not None and not shows_limits:
            limits.setdefault(finding.limit, Counter())[name] += 1
            continue
        of_rule[name] += 1
        if of_rule[name] > MAX_SHOWN and not shows_all:
            more[name] += 1
        else:
            yield from _finding_text(finding)
    if limits:
        yield from fitted(f"{shown(report.name)}: not counted (-v shows these, --strict counts them):", 4)
    for limit, counts in limits.items():
        rules = ", ".join(f"{count} {name}" for name, count in counts.items())
        yield from fitted(f"    {rules}: {LIMITS[limit]}", 8)
    if report.dropped:
        functions = counted(report.dropped, "function")
        yield from fitted(f"{shown(report.name)}: {functions} without an address: the linker has dropped the code", 4)
    for name, count in more.items():
        hint = "" if shows_all else " (--all shows them)"
        yield from fitted(f"{shown(report.name)}: and {count} more of {name}{hint}", 4)


def _finding_text(finding: FileFinding) -> Iterator[str]:
    place = "" if finding.section is None else f"{shown(finding.place)}: "
    text = f"{shown(finding.message)} [{finding.clause}] ({finding.rule.name})"
    mark = f"{finding.counted_as}:"
    lines = fitted(f"{shown(finding.file)}: {place}{mark} {text}", 4)
    first = next((index for index, line in enumerate(lines) if mark in line), 0)
    lines[first] = lines[first].replace(mark, style(finding.severity if finding.limit is None else NOTE, mark), 1)
    yield from lines
    where = "" if finding.executed is not None else " > ".join(map(shown, finding.path[-3:]))
    if finding.executed is None and finding.source is not None:
        where += f", {shown(finding.source[0])}:{finding.source[1]}"
    if where:
        yield from fitted(f"    in {where}", 7)
    if finding.executed is not None:
        from dwarfgpu.render.findings import details  # which needs numpy, as a run does

        yield from details(finding.executed, 4)
    if finding.location is not None:
        yield from fitted(f"    location: {finding.location}", 7)
    if finding.seen is not None:
        yield from fitted(f"    first: {shown(finding.seen)}", 7)
    yield from command_lines(finding.command, 7)
    if sum(mask.bit_count() for mask in (finding.lanes or {}).values()) > 1:
        yield from fitted(f"    seen at least in {in_lanes(finding.lanes or {})}", 7)
    if finding.limit is not None:
        yield from fitted(f"    not counted: {LIMITS[finding.limit]}", 7)
    if finding.idiom is not None:
        is_repair = " " not in finding.idiom.replace(", ", "")
        yield from fitted(f"    the correction: {finding.idiom}{' (dwarfgpu ops --repairs)' * is_repair}", 7)


def in_lanes(lanes: Mapping[str, int]) -> str:
    """Return the lanes of waves, as a short list of those of the first wave and of all with the same."""
    first = next(iter(lanes.values()))
    same = [wave for wave, mask in lanes.items() if mask == first]
    ranges = ranges_text(lanes_in(first)).split(",")
    kind = "lane" if first.bit_count() == 1 else "lanes"
    text = f"{kind} {','.join(ranges[:MAX_RANGES])}{',...' if len(ranges) > MAX_RANGES else ''} of "
    text += f"wave {same[0]}" if len(same) == 1 else f"{len(same)} waves"
    if len(same) < len(lanes):
        text += f" and some of {counted(len(lanes) - len(same), 'more wave')}"
    return f"{text} ({counted(sum(mask.bit_count() for mask in lanes.values()), 'lane')})"


def summary_text(reports: Sequence[FileReport]) -> Iterator[str]:
    """Yield how much was checked, and what was found."""
    findings = [finding for report in reports for finding in report.findings]
    left_out = sum(sum((report.left_out or {}).values()) for report in reports)
    entries = sum(report.entries for report in reports)
    notes = [f"{left_out} more not listed"] * bool(left_out)
    broken = sum(report.error is not None for report in reports)
    notes += [f"{counted(broken, 'file')} could not be read"] * bool(broken)
    notes += ["there is no debugging information"] * (not entries and not broken)
    what = f"{counted(len(reports), 'file')}, {entries} entries: "
    variables = sum(idiom_variables(report) for report in reports)
    yield from fitted(what + verdict_text(findings, sum(report.known for report in reports), notes, variables), 4)


def idiom_variables(report: FileReport) -> int:
    """Return how many variables have a location that is an idiom; copies of a variable are one."""
    idioms = ((each.path[-1], each.source) for each in report.findings if each.limit == IDIOM and each.path)
    return len({variable for variable in idioms if variable[0].startswith(_VARIABLES)})


def verdict_text(findings: Sequence[FileFinding], known: int, notes: Sequence[str] = (), variables: int = 0) -> str:
    """Return how many findings there are of each severity, and how many do not count.

    ``variables`` are those with locations that are idioms.
    """
    severities = severities_of(findings)
    what = severities_text(severities) if severities else "no findings"
    limits = sum(finding.limit is not None for finding in findings)
    words = [f"{counted(limits, 'finding')} not counted"] * bool(limits)
    words += [f"{known} of the baseline"] * bool(known)
    words += notes
    idioms = f", apart from idioms in {counted(variables, 'variable')}, which do not fail" if variables else ""
    return what + idioms + (f" ({', '.join(words)})" if words else "")


def severities_text(counts: Mapping[str, int]) -> str:
    """Return how many findings there are of each severity; notes only if there are some."""
    notes = f", {counted(counts['note'], 'note')}" if counts["note"] else ""
    return f"{counted(counts['error'], 'error')}, {counted(counts['warning'], 'warning')}{notes}"


def rules_text(rules: Iterable[CheckRule]) -> Iterator[str]:
    """Yield the rules: name, severity, clause, and what must hold."""
    for rule in rules:
        yield from fitted(f"{rule.name}  {rule.severity}  [{rule.clause}]", 4)
        yield from fitted(f"    {rule.summary}", 4)


def rule_text(rule: CheckRule) -> Iterator[str]:
    """Yield all that is known of a rule."""
    yield f"{rule.name}: {rule.severity} [{rule.clause}]"
    yield from fitted(f"  {rule.summary}", 2)
    yield from fitted(f"  What to do: {rule.advice}.", 2)


# --- SARIF ------------------------------------------------------------------------------------------------------------

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT = "primaryLocationLineHash"
"""The one fingerprint that GitHub compares; it would make it of the text around the line if it were not here."""


def sarif(reports: Iterable[FileReport], rules: Sequence[CheckRule], version: str, folder: str) -> dict[str, Any]:
    """Return the findings that count as a SARIF 2.1.0 log (OASIS, "Static Analysis Results Interchange Format").

    Paths are relative to the folder, which is that of the repository for services that place findings in its files.
    """
    from urllib.parse import quote

    index = {rule.name: number for number, rule in enumerate(rules)}
    results: list[dict[str, Any]] = []
    notifications: list[dict[str, Any]] = []
    marks: Counter[str] = Counter()
    for report in reports:
        if report.error is not None:
            message = {"text": f"{report.name}: {report.error}"}
            notifications.append({"level": "error", "message": message})
        for finding in report.findings:
            if finding.limit is None:
                mark = fingerprint(finding)
                marks[mark] += 1
                results.append(_result(finding, index, f"{mark}:{marks[mark]}", folder))
    driver = {
        "name": "dwarfgpu",
        "version": version,
        "rules": [
            {
                "id": rule.name,
                "shortDescription": {"text": rule.summary},
                "help": {"text": f"{rule.advice} [{rule.clause}]"},
                "defaultConfiguration": {"level": rule.severity},
            }
            for rule in rules
        ],
    }
    invocation = {"executionSuccessful": not notifications, "toolExecutionNotifications": notifications}
    root = {SOURCE_ROOT: {"uri": f"file://{quote(folder.rstrip('/'))}/"}}
    run = {"tool": {"driver": driver}, "invocations": [invocation], "originalUriBaseIds": root, "results": results}
    return {"$schema": SARIF, "version": "2.1.0", "runs": [run]}


def _result(finding: FileFinding, index: dict[str, int], mark: str, folder: str) -> dict[str, Any]:
    """Return a finding as a result, at its line in the source if that is known, else in the file."""
    if finding.source is not None:
        physical: dict[str, Any] = {
            "artifactLocation": artifact(finding.source[0], folder),
            "region": {"startLine": finding.source[1]},
        }
    else:
        physical = {"artifactLocation": artifact(finding.file, folder)}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.path:
        location["logicalLocations"] = [{"fullyQualifiedName": " > ".join(finding.path)}]
    related: dict[str, Any] = {}
    if finding.executed is not None:
        from dwarfgpu.render.findings import side_places

        related = {"relatedLocations": side_places(finding.executed, folder)}
    properties = {"file": finding.file, "clause": finding.clause, "idiom": finding.idiom}
    return {
        "ruleId": finding.rule.name,
        "ruleIndex": index[finding.rule.name],
        "level": finding.severity,
        "message": {"text": f"{finding.place}: {finding.message} [{finding.clause}]"},
        "locations": [location],
        **related,
        "partialFingerprints": {FINGERPRINT: mark},
        "properties": properties,
    }
