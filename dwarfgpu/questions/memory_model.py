"""Questions about the memory model: which code orders memory, what code orders, and what it forgets."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.memory_model.checker import ALL_RULES, CheckWish, MemoryCheck
from dwarfgpu.audits.memory_model.file_reports import MemoryReport, check_code, check_paths
from dwarfgpu.audits.memory_model.intents import stated
from dwarfgpu.audits.memory_model.sequences import SequenceCell, cells
from dwarfgpu.audits.memory_model.survey import accesses, outstanding_at, outstanding_now
from dwarfgpu.errors import NotFound, UsageError, nearest
from dwarfgpu.immutable import evolve
from dwarfgpu.program.code.code_lookup import parse_address
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.questions.document import NO_ANSWER, OK, Document, listing
from dwarfgpu.questions.sources import places_of
from dwarfgpu.questions.table import FINDINGS
from dwarfgpu.questions.verification import (
    asked,
    checked_document,
    jobs_of,
    report_status,
    sarif_document,
    shown_of,
    verdict_of,
)
from dwarfgpu.render import verification as text_of
from dwarfgpu.render.layout import Record, counted, fact, fitted, nested, problem_json, shown
from dwarfgpu.render.verification import rule_counts
from dwarfgpu.targets.amdgpu.memory_families import (
    DIFFERENCES,
    FAMILIES,
    KNOWN_BUGS,
    difference_name,
    family_of,
    mode_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.audits.memory_model.checker import SourcePosition
    from dwarfgpu.audits.memory_model.file_reports import MemoryReport
    from dwarfgpu.audits.memory_model.function_code import FunctionCode
    from dwarfgpu.audits.memory_model.sequences import SequenceCell
    from dwarfgpu.audits.memory_model.survey import CurrentAccess, OutstandingAccess, SurveyedAccess
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection

ACTIONS = ("table", "show", "check")
OF_ACTIONS = {
    "target": ("table",),
    "function": ("show", "check"),
    "pc": ("show",),
    "from-source": ("check",),
    "expect": ("check",),
    "directory": ("check",),
    "jobs": ("check",),
    **{option.name: ("check",) for option in FINDINGS},
}
"""The actions that an option goes with."""


def memory_model(selection: Selection, arguments: Arguments) -> Document:
    action, *words = arguments.words or [""]
    if action not in ACTIONS:
        raise arguments.wrong(f"does table, show or check, not {action[:40]!r}")
    for name, actions in OF_ACTIONS.items():
        if arguments.has(name) and action not in actions:
            raise UsageError(
                f"--{name} does not go with `memmodel {action}`", hint=f"it goes with {' and '.join(actions)}"
            )
    if action == "table":
        return _table(arguments, words)
    if action == "show":
        return _show(selection, arguments, words)
    with asked():
        return _check(selection, arguments, words)


def _rule_set(arguments: Arguments) -> str:
    return arguments.get("rules") or "llvm22"


def _table(arguments: Arguments, words: list[str]) -> Document:
    if not arguments.has("target"):
        raise UsageError("`memmodel table` needs --target", hint="name a processor, such as gfx1200")
    processor = arguments.get("target").removeprefix("amdgcn-").partition("-wave")[0]
    family, rule_set = family_of(processor), _rule_set(arguments)
    mode = mode_of(FAMILIES[family][rule_set], arguments.get("mode"))
    known = {word for cell in cells(family, mode, rule_set) for word in _words(cell)}
    for word in words:
        if word not in known:
            near = nearest(word, known)
            hint = f"did you mean {near}?" if near else "name an operation, an ordering, a scope or an address space"
            raise UsageError(f"no cell of the table matches {word[:40]!r}", hint=hint)
    chosen = (cell for cell in cells(family, mode, rule_set) if set(words) <= set(_words(cell)))
    around = {"target": processor, "family": family, "mode": mode, "rules": rule_set}
    other = "LLVM 22" if rule_set == "text" else "the text"
    return listing("cells", CELL, chosen, lambda rows: table_text(rows, other), around=around)


def _words(cell: SequenceCell) -> tuple[str, ...]:
    return cell.operation, cell.ordering, cell.scope, cell.space


# --- Code -------------------------------------------------------------------------------------------------------------


def _show(selection: Selection, arguments: Arguments, words: list[str]) -> Document:
    if len(words) > 1:
        raise UsageError(f"`memmodel show` is about one file, not {len(words)}")
    file = opened(words[0]) if words else selection.opened.file
    check = MemoryCheck(file, rule_set=_rule_set(arguments), mode=arguments.get("mode"))
    if arguments.has("pc"):
        if arguments.has("function"):
            raise UsageError("--function does not go with --pc")

        address = parse_address(file, arguments.get("pc"))
        function, rows = outstanding_at(check, address)
        text = partial(outstanding_text, function, address)
        return listing("outstanding", OUTSTANDING, rows, text, around=_at(function, address))
    surveyed = accesses(check, arguments.get("function"))
    around = {"file": file.name, "target": check.processor, "family": check.family, "rules": check.rule_set}
    return listing("accesses", ACCESS, surveyed, accesses_text, around=around)


def _at(function: FunctionCode, address: int) -> dict[str, Any]:
    return {"function": function.name, "address": f"{address:#x}"}


def info_outstanding(debugger: Debugger, arguments: Arguments) -> Document:
    words = arguments.text.strip()
    frame = debugger.frame
    address = places_of(debugger).address(words) if words else frame.pc
    code = None if address is None else frame.state.loaded.at(address)
    if address is None or code is None:
        raise NotFound("no_code", "no code is known at the frame", hint="name an address: `info outstanding k`")
    function, rows = outstanding_at(MemoryCheck(code.file), code.in_file(address))
    attached = debugger.attached
    is_here = attached is not None and not words and not frame.level
    now = outstanding_now(debugger.machine.stopped.machine, debugger.wave.index) if is_here else None
    here = code.in_file(address)

    def lines(_rows: Any) -> Iterator[str]:
        yield from outstanding_text(function, here, rows)
        if now is not None:
            start = code.in_program(function.addresses[0])
            yield from outstanding_now_text(debugger.wave.id, start, now)

    around = {**_at(function, here), "outstanding": ()}
    if now is not None:
        around["now"] = [*map(OUTSTANDING_NOW.json, now)]
    return listing("outstanding", OUTSTANDING, rows, lines, around=around)


def _check(selection: Selection, arguments: Arguments, words: list[str]) -> Document:
    expected = tuple(stated(text) for text in arguments.many("expect"))
    wish = CheckWish(
        _rule_set(arguments),
        arguments.get("mode"),
        arguments.get("function"),
        expected,
        from_source=arguments.has("from-source") or not expected,
        search=arguments.many("directory"),
        required=arguments.get("require") or 0,
    )
    jobs = jobs_of(arguments)
    if jobs < 1:
        raise UsageError("--jobs is a number from 1 on")
    found = check_paths(words, wish, jobs) if words else iter([check_code(selection.opened.file, wish)])
    wanted = verdict_of(arguments, ALL_RULES)

    def reports() -> Iterator[MemoryReport]:
        for report in _with_source(found, arguments):
            yield evolve(report, file=wanted.report(report.file, "instructions", report.instructions))

    def status(report: MemoryReport) -> int:
        bugs = NO_ANSWER if wanted.is_strict and report.known_bugs else OK
        return max(bugs, report_status(wanted, report.file, is_whole=report.unchecked is None))

    if arguments.has("sarif"):
        every = list(reports())
        return sarif_document([report.file for report in every], ALL_RULES, max(map(status, every), default=0))

    def noted() -> Iterator[MemoryReport]:
        for report in reports():
            if report.file.error is not None:
                document.problems.append(report.file.error)
            yield report

    document = checked_document(
        noted(),
        REPORT.json,
        status,
        lambda report: text_of.report_text(report.file, **shown_of(arguments)),
        partial(checked_text, is_strict=wanted.is_strict),
        lambda report: report.file,
    )
    return document


def _with_source(found: Iterator[MemoryReport], arguments: Arguments) -> Iterator[MemoryReport]:
    """Yield reports; where the source must be found and is not, that is an error."""
    for report in found:
        if arguments.has("from-source") and report.missing:
            hint = "name the directory it is in with --directory, or state what is meant with --expect"
            raise UsageError(f"the source file {report.missing[0]}", kind="no_source", hint=hint)
        yield report


# --- Text and JSON ----------------------------------------------------------------------------------------------------


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
