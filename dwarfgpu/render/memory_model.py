"""The memory model as text and as JSON: cells of the table, accesses, what is outstanding, and what was checked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.memory_model.families import DIFFERENCES, KNOWN_BUGS, difference_name
from dwarfgpu.render.layout import counted, fitted, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.audits.memory_model.checker import SourcePlace
    from dwarfgpu.audits.memory_model.file_reports import MemoryReport
    from dwarfgpu.audits.memory_model.function_code import FunctionCode
    from dwarfgpu.audits.memory_model.sequences import SequenceCell
    from dwarfgpu.audits.memory_model.survey import CurrentAccess, OutstandingAccess, SurveyedAccess


def cell_json(cell: SequenceCell) -> dict[str, Any]:
    """Return a cell of the table as a JSON object."""
    return {
        "operation": cell.operation,
        "ordering": cell.ordering,
        "scope": cell.scope,
        "space": cell.space,
        "sequence": [{"kind": step.kind, "text": step.text} for step in cell.steps],
        "clause": cell.clause,
        "differences": list(map(difference_name, cell.differences)),
    }


def table_text(cells: Iterable[SequenceCell], width: int, other: str) -> Iterator[str]:
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
        yield from fitted(f"  [{cell.clause}]", width, 4)
        if cell.differences:
            yield from fitted(f"  not as {other} has it: {', '.join(map(difference_name, cell.differences))}", width, 4)
    yield counted(count, "cell")
    for name in DIFFERENCES:
        if name in used:
            yield from fitted(f"{difference_name(name)}: {DIFFERENCES[name]}", width, 4)


# --- Accesses ---------------------------------------------------------------------------------------------------------


def access_json(access: SurveyedAccess) -> dict[str, Any]:
    """Return an access as a JSON object."""
    scope = next((bit.removeprefix("scope:") for bit in access.bits if bit.startswith("scope:")), None)
    hint = next((bit.removeprefix("th:") for bit in access.bits if bit.startswith("th:")), None)
    return {
        "function": access.function,
        "address": f"{access.address:#x}",
        "offset": access.offset,
        "source": _place_json(access.place),
        "instruction": access.instruction,
        "operation": access.operation,
        "space": access.space,
        "cache_bits": [bit for bit in access.bits if ":" not in bit],
        "scope": scope,
        "temporal_hint": None if hint is None else int(hint),
        "counters": list(access.counters),
        "ordering": access.ordering,
        "ordering_scope": access.scope or None,
    }


def _place_json(place: SourcePlace | None) -> dict[str, Any] | None:
    return None if place is None else {"file": place.path, "line": place.line}


def accesses_text(accesses: Iterable[SurveyedAccess], width: int) -> Iterator[str]:
    """Yield the accesses, function by function."""
    function = None
    count = 0
    for access in accesses:
        count += 1
        if access.function != function:
            function = access.function
            yield f"{shown(function)}:"
        line = "" if access.place is None else f"{_short(access.place)}  "
        yield from fitted(f"  +{access.offset:#06x}  {line}{access.instruction}", width, 12)
        ordering = f"{access.ordering} {access.scope}".strip()
        counters = ", ".join(access.counters)
        yield from fitted(f"          {access.operation}, {access.space}, {counters}: {ordering}", width, 12)
    yield counted(count, "access", "accesses")


def outstanding_json(function: FunctionCode, address: int, rows: Sequence[OutstandingAccess]) -> dict[str, Any]:
    """Return what is outstanding at an address as a JSON object."""
    return {
        "function": function.name,
        "address": f"{address:#x}",
        "outstanding": [
            {
                "address": None if row.address is None else f"{row.address:#x}",
                "source": _place_json(row.place),
                "instruction": row.instruction,
                "counters": [{"counter": counter, "later": later} for counter, later in row.counters],
                "registers": list(row.registers),
            }
            for row in rows
        ],
    }


def outstanding_text(
    function: FunctionCode, address: int, rows: Sequence[OutstandingAccess], width: int
) -> Iterator[str]:
    """Yield what is outstanding at an address."""
    where = f"{shown(function.name)}+{address - function.addresses[0]:#x}"
    if not rows:
        yield f"nothing is outstanding at {where}"
        return
    yield f"outstanding at {where}:"
    for row in rows:
        place = "" if row.address is None else f"+{row.address - function.addresses[0]:#06x}  "
        line = "" if row.place is None else f"{_short(row.place)}  "
        yield from fitted(f"  {place}{line}{row.instruction}", width, 12)
        counters = ", ".join(f"{counter} ({later} later)" for counter, later in row.counters)
        registers = f", writes {', '.join(row.registers)}" if row.registers else ""
        yield from fitted(f"          {counters}{registers}", width, 12)


def outstanding_now_json(row: CurrentAccess) -> dict[str, Any]:
    """Return an operation that a wave has outstanding as a JSON object."""
    return {
        "address": f"{row.address:#x}",
        "instruction": row.instruction,
        "counters": [{"counter": counter, "later": later} for counter, later in row.counters],
        "is_performed": row.is_performed,
    }


def outstanding_now_text(wave: str, start: int, rows: Sequence[CurrentAccess], width: int) -> Iterator[str]:
    """Yield what a wave has outstanding now."""
    if not rows:
        yield f"nothing is outstanding in wave {wave} now"
        return
    yield f"outstanding in wave {wave} now:"
    for row in rows:
        distance = row.address - start
        place = f"+{distance:#06x}" if 0 <= distance < 1 << 16 else f"{row.address:#x}"
        yield from fitted(f"  {place}  {row.instruction}", width, 12)
        counters = ", ".join(f"{counter} ({later} later)" for counter, later in row.counters)
        yield from fitted(f"          {counters}, {'' if row.is_performed else 'not yet '}performed", width, 12)


def _short(place: SourcePlace) -> str:
    return f"{shown(place.path.rpartition('/')[2])}:{place.line}"


# --- Checks -----------------------------------------------------------------------------------------------------------


def memory_report_json(report: MemoryReport) -> dict[str, Any]:
    """Return how much of a file was checked as a JSON object."""
    from dwarfgpu.render.layout import problem_json

    document: dict[str, Any] = {
        "file": report.file.name,
        "instructions": report.instructions,
        "operations": report.operations,
        "findings": len(report.file.findings),
        "missing_sources": list(report.missing),
        "known_bugs": {difference_name(name): count for name, count in report.known_bugs},
        "unchecked": report.unchecked,
    }
    return document if report.file.error is None else {**document, "problem": problem_json(report.file.error)}


def checked_text(reports: Sequence[MemoryReport], width: int) -> Iterator[str]:
    """Yield how much was checked, and what was found."""
    findings = sum(len(report.file.findings) for report in reports)
    instructions = sum(report.instructions for report in reports)
    operations = sum(report.operations for report in reports)
    missing = Counter(path for report in reports for path in report.missing)
    for path in missing:
        yield from fitted(f"{shown(path)}, so nothing is known of what it asks for", width, 4)
    for report in reports:
        for name, count in report.known_bugs:
            versions = next(bug.versions for bug in KNOWN_BUGS if bug.field == name)
            made = f", and {shown(report.producers[0])} made it" if report.producers else ""
            where = f"{shown(report.file.name)}: {counted(count, 'operation')} with a known bug of {versions}{made}"
            yield from fitted(f"{where} ({difference_name(name)}): --rules text shows where", width, 4)
        if report.unchecked is not None:
            yield from fitted(f"{shown(report.file.name)}: {report.unchecked}", width, 4)
    what = f"{counted(len(reports), 'file')}, {counted(instructions, 'instruction')}, "
    what += f"{counted(operations, 'operation')} with a known ordering: "
    what += counted(findings, "finding") if findings else "no findings"
    broken = sum(report.file.error is not None for report in reports)
    yield what + (f" ({counted(broken, 'file')} could not be checked)" if broken else "")
