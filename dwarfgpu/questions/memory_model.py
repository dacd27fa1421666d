"""Questions about the memory model: which code orders memory, what code orders, and what it forgets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.audits.memory_model.checker import ALL_RULES, CheckWish, MemoryCheck
from dwarfgpu.audits.memory_model.file_reports import MemoryReport, check_code, check_paths
from dwarfgpu.audits.memory_model.intents import stated
from dwarfgpu.audits.memory_model.sequences import SequenceCell, cells
from dwarfgpu.audits.memory_model.survey import accesses, outstanding_at, outstanding_now
from dwarfgpu.errors import NotFound, UsageError, nearest
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
from dwarfgpu.render import memory_model as render
from dwarfgpu.render import verification as text_of
from dwarfgpu.targets.amdgpu.memory_families import FAMILIES, family_of, mode_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.audits.memory_model.function_code import FunctionCode
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
    return listing("cells", render.CELL, chosen, lambda rows: render.table_text(rows, other), around=around)


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
        text = partial(render.outstanding_text, function, address)
        return listing("outstanding", render.OUTSTANDING, rows, text, around=_at(function, address))
    surveyed = accesses(check, arguments.get("function"))
    around = {"file": file.name, "target": check.processor, "family": check.family, "rules": check.rule_set}
    return listing("accesses", render.ACCESS, surveyed, render.accesses_text, around=around)


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
        yield from render.outstanding_text(function, here, rows)
        if now is not None:
            start = code.in_program(function.addresses[0])
            yield from render.outstanding_now_text(debugger.wave.id, start, now)

    around = {**_at(function, here), "outstanding": ()}
    if now is not None:
        around["now"] = [*map(render.OUTSTANDING_NOW.json, now)]
    return listing("outstanding", render.OUTSTANDING, rows, lines, around=around)


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
        render.REPORT.json,
        status,
        lambda report: text_of.report_text(report.file, **shown_of(arguments)),
        partial(render.checked_text, is_strict=wanted.is_strict),
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
