"""The memory model as text and as JSON: cells of the table, accesses, what is outstanding, and what was checked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dwarfgpu.render.layout import counted, fitted, problem_json, shown
from dwarfgpu.render.records import Record, fact, nested
from dwarfgpu.render.verification import rule_counts
from dwarfgpu.targets.amdgpu.memory_families import DIFFERENCES, KNOWN_BUGS, difference_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.audits.memory_model.checker import SourcePosition
    from dwarfgpu.audits.memory_model.file_reports import MemoryReport
    from dwarfgpu.audits.memory_model.function_code import FunctionCode
    from dwarfgpu.audits.memory_model.sequences import SequenceCell
    from dwarfgpu.audits.memory_model.survey import CurrentAccess, OutstandingAccess, SurveyedAccess


CELL = Record(
    "operation ordering scope space",
    nested("sequence=steps", Record("kind text")),
    "clause",
    fact("differences", value=lambda cell: [*map(difference_name, cell.differences)]),
)


def table_text(cells: Iterable[SequenceCell], other: str) -> Iterator[str]:
    """Yield the cells of a table, and what the differences to the ``other`` rule set are."""
    used: set[str] = set()
    count = 0
    for cell in cells:
        count += 1
        used |= set(cell.differences)
        scope = "" if cell.scope == "none" else f", {cell.scope}"
        yield f"{cell.operation} {cell.ordering}{scope}, {cell.space}"
        for step in cell.steps:
            yield f"    {step.text}"
        if not cell.steps:
            yield "    nothing"
        yield from fitted(f"  [{cell.clause}]", 4)
        if cell.differences:
            yield from fitted(f"  not as {other} has it: {', '.join(map(difference_name, cell.differences))}", 4)
    yield counted(count, "cell")
    for name in DIFFERENCES:
        if name in used:
            yield from fitted(f"{difference_name(name)}: {DIFFERENCES[name]}", 4)


# --- Accesses ---------------------------------------------------------------------------------------------------------


def _bit(access: SurveyedAccess, kind: str) -> str | None:
    return next((bit.removeprefix(kind) for bit in access.bits if bit.startswith(kind)), None)


def _counters(row: OutstandingAccess | CurrentAccess) -> list[dict[str, Any]]:
    return [{"counter": counter, "later": later} for counter, later in row.counters]


SOURCE = nested("source=place", Record("file=path line"))
ACCESS = Record(
    "function address# offset",
    SOURCE,
    "instruction operation space",
    fact("cache_bits", value=lambda access: [bit for bit in access.bits if ":" not in bit]),
    fact("scope", value=lambda access: _bit(access, "scope:")),
    fact("temporal_hint", value=lambda access: (hint := _bit(access, "th:")) and int(hint)),
    "counters ordering ordering_scope=scope?",
)
OUTSTANDING = Record("address#", SOURCE, "instruction", fact("counters", value=_counters), "registers")
OUTSTANDING_NOW = Record("address# instruction", fact("counters", value=_counters), "is_performed")


def accesses_text(accesses: Iterable[SurveyedAccess]) -> Iterator[str]:
    """Yield the accesses, function by function."""
    function = None
    count = 0
    for access in accesses:
        count += 1
        if access.function != function:
            function = access.function
            yield f"{shown(function)}:"
        line = "" if access.place is None else f"{_short(access.place)}  "
        yield from fitted(f"  +{access.offset:#06x}  {line}{access.instruction}", 12)
        ordering = f"{access.ordering} {access.scope}".strip()
        counters = ", ".join(access.counters)
        yield from fitted(f"          {access.operation}, {access.space}, {counters}: {ordering}", 12)
    yield counted(count, "access", "accesses")


def outstanding_text(function: FunctionCode, address: int, rows: Sequence[OutstandingAccess]) -> Iterator[str]:
    """Yield what is outstanding at an address."""
    where = f"{shown(function.name)}+{address - function.addresses[0]:#x}"
    if not rows:
        yield f"nothing is outstanding at {where}"
        return
    yield f"outstanding at {where}:"
    for row in rows:
        place = "" if row.address is None else f"+{row.address - function.addresses[0]:#06x}  "
        line = "" if row.place is None else f"{_short(row.place)}  "
        registers = f", writes {', '.join(row.registers)}" if row.registers else ""
        yield from _waiting(row, place + line, registers)


def outstanding_now_text(wave: str, start: int, rows: Sequence[CurrentAccess]) -> Iterator[str]:
    """Yield what a wave has outstanding now."""
    if not rows:
        yield f"nothing is outstanding in wave {wave} now"
        return
    yield f"outstanding in wave {wave} now:"
    for row in rows:
        distance = row.address - start
        place = f"+{distance:#06x}" if 0 <= distance < 1 << 16 else f"{row.address:#x}"
        yield from _waiting(row, f"{place}  ", f", {'' if row.is_performed else 'not yet '}performed")


def _waiting(row: OutstandingAccess | CurrentAccess, place: str, note: str) -> Iterator[str]:
    yield from fitted(f"  {place}{row.instruction}", 12)
    counters = ", ".join(f"{counter} ({later} later)" for counter, later in row.counters)
    yield from fitted(f"          {counters}{note}", 12)


def _short(place: SourcePosition) -> str:
    return f"{shown(place.path.rpartition('/')[2])}:{place.line}"


# --- Checks -----------------------------------------------------------------------------------------------------------


REPORT = Record(
    "file=file.name instructions operations",
    fact("findings", value=lambda report: len(report.file.findings)),
    "known=file.known",
    fact("rules", value=lambda report: [*rule_counts(report.file.findings)]),
    "missing_sources=missing",
    fact("known_bugs", value=lambda report: {difference_name(name): count for name, count in report.known_bugs}),
    "unchecked",
    fact("problem*", value=lambda report: report.file.error and problem_json(report.file.error)),
)


def checked_text(reports: Sequence[MemoryReport], *, is_strict: bool = False) -> Iterator[str]:
    """Yield how much was checked, and what was found; with ``is_strict`` known bugs of compilers count."""
    findings = sum(len(report.file.findings) for report in reports)
    instructions = sum(report.instructions for report in reports)
    operations = sum(report.operations for report in reports)
    missing = Counter(path for report in reports for path in report.missing)
    for path in missing:
        yield from fitted(f"{shown(path)}, so nothing is known of what it asks for", 4)
    for report in reports:
        for name, count in report.known_bugs:
            versions = next(bug.versions for bug in KNOWN_BUGS if bug.field == name)
            made = f", and {shown(report.producers[0])} made it" if report.producers else ""
            where = f"{shown(report.file.name)}: {counted(count, 'operation')} with a known bug of {versions}{made}"
            yield from fitted(f"{where} ({difference_name(name)}): --rules text shows where", 4)
        if report.unchecked is not None:
            yield from fitted(f"{shown(report.file.name)}: {report.unchecked}", 4)
    what = f"{counted(len(reports), 'file')}, {counted(instructions, 'instruction')}, "
    what += f"{counted(operations, 'operation')} with a known ordering: "
    what += counted(findings, "finding") if findings else "no findings"
    bugs = sum(count for report in reports for _name, count in report.known_bugs) if is_strict else 0
    what += f", and {counted(bugs, 'known bug')} that {'counts' if bugs == 1 else 'count'}" if bugs else ""
    known = sum(report.file.known for report in reports)
    what += f" ({known} of the baseline)" if known else ""
    broken = sum(report.file.error is not None for report in reports)
    yield what + (f" ({counted(broken, 'file')} could not be checked)" if broken else "")
