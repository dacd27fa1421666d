"""The question where variables can be seen: ``coverage``."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.coverage.availability import FileAvailability, VariableAvailability
from dwarfgpu.audits.coverage.code_scope import CodeScope, distinct_names
from dwarfgpu.audits.coverage.sums import file_coverage, selector
from dwarfgpu.audits.coverage.tally import REASONS, CoverageSum, Tally
from dwarfgpu.errors import NotFound, UsageError
from dwarfgpu.program.code.code_object import CodeObject
from dwarfgpu.questions.document import NO_ANSWER, Document
from dwarfgpu.questions.selection import Selection
from dwarfgpu.render.layout import Record, counted, fact, room, shown, style, table, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.audits.coverage.availability import VariableAvailability
    from dwarfgpu.audits.coverage.sums import FileCoverage, UnitCoverage
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.render.pictures import Strip, StripPart

WORST = 10
"""How many functions, units or variables are shown if nothing else is said."""


def coverage(selection: Selection, arguments: Arguments) -> Document:
    document = _document(selection, arguments)
    least = arguments.get("fail-below")
    if least is not None:
        if not 0 <= least <= 100:
            raise UsageError("--fail-below is a share in percent, from 0 to 100")
        if "located" not in document.data:
            raise UsageError("--fail-below does not go with --svg")
        size = document.data["bytes"]
        share = document.data["located"] / size if size else None
        if share is None or 100 * share < least:
            document.status = NO_ANSWER
            what = "no variable has a scope" if share is None else f"{percent(share)} has a location"
            document.hints.append(f"{what}: less than {least:g}%")
    return document


def _document(selection: Selection, arguments: Arguments) -> Document:
    file = selection.code_file
    if not file.has_dwarf:
        message = f"{file.name} has no debugging information"
        raise UsageError(message, kind="no_debug_info", hint="compile it with -g, or name the file that has it")
    function, variable = arguments.get("function"), arguments.get("variable")
    if arguments.text and function is not None:
        raise UsageError("a function is named twice", hint="leave out --function")
    function = arguments.text or function
    worst = arguments.get("worst")
    if worst is not None and worst < 1:
        raise UsageError("--worst is a number from 1 on")
    reading = selection.reading()
    read_as = {"dialect": reading["dialect"], "repair": reading["repair"]}
    if function is None and variable is None and not arguments.has("svg"):
        sums = file_coverage(file, **read_as)
        return Document(
            {
                "file": sums.name,
                **SUM.json(sums.sum),
                "scopes_without_code": sums.scopes_without_code,
                "repairs": dict(sums.repairs),
                "units": [{"unit": unit.name, **SUM.json(unit.sum)} for unit in sums.units[:worst]],
                "functions": [{**FUNCTION.json(each), **SUM.json(each.sum)} for each in sums.functions[:worst]],
            },
            lambda _output: file_text(sums, worst or WORST),
            rows="functions",
            row={"file": file.name},
            problems=sums.problems,
        )
    return _chosen(file, arguments, function, variable, worst, read_as)


def _chosen(
    file: CodeObject,
    arguments: Arguments,
    function: str | None,
    variable: str | None,
    worst: int | None,
    read_as: dict[str, Any],
) -> Document:
    is_wanted = selector(function, variable)
    records = [record for record in FileAvailability(file, **read_as) if is_wanted(record)]
    if not records and (function is not None or variable is not None):
        raise _nothing(file, function, variable)
    total = sum_of(records)
    if arguments.has("svg"):
        drawn = _worst_functions(records, worst or WORST) if function is None else records[:worst]
        title = f"{file.name}: {percent(total.share)} of the scopes of {total.variables} variables"
        lines = list(coverage_svg(title, drawn))
        return Document({"svg": "\n".join(lines)}, lines, is_file=True)
    if worst is not None:
        records = sorted(records, key=_missing)[:worst]
    name = function if variable is None else variable if function is None else f"{function} > {variable}"
    data = {"file": file.name, **SUM.json(total), "variables_listed": map(VARIABLE.json, records)}
    return Document(
        data,
        lambda _output: variables_text(records, total, name or file.name),
        rows="variables_listed",
        row={"file": file.name},
        problems=file.dwarf.problems,
    )


def sum_of(records: Iterable[VariableAvailability]) -> CoverageSum:
    """Return how much of the scopes of some variables has a location."""
    tally = Tally()
    for record in records:
        tally.add(record)
    return tally.sum()


def _missing(record: VariableAvailability) -> int:
    return record.located - record.size


def _worst_functions(records: list[VariableAvailability], worst: int) -> list[VariableAvailability]:
    lacking: dict[Any, int] = {}
    for record in records:
        if record.scope is not None:
            function = record.scope.function
            lacking[function] = lacking.get(function, 0) + _missing(record)
    chosen = sorted(lacking, key=lacking.__getitem__)[:worst]
    return [record for function in chosen for record in records if record.scope and record.scope.function is function]


def _nothing(file: CodeObject, function: str | None, variable: str | None) -> NotFound:
    hint = "`coverage` alone lists the functions"
    if variable is None:
        message = f"no function `{function}` with variables has code in {file.name}"
    else:
        where = f"{file.name}" if function is None else f"`{function}`"
        message = f"there is no variable `{variable}` in {where}"
    return NotFound("no_variable", message, hint=hint)


# --- Coverage as text and JSON ----------------------------------------------------------------------------------------


NAME = 32
"""The length of a name that has a line of its own above the rest of its row."""
CALL = " > "
"""Between a function and the call that is inlined in it."""


def percent(share: float | None) -> str:
    """Return a share for people. Only all is 100%, and only nothing is 0%."""
    if share is None:
        return "-"
    text = f"{100 * share:.1f}%"
    if text == "100.0%" and share < 1:
        return "99.9%"
    return "0.1%" if text == "0.0%" and share > 0 else text


# --- A file -------------------------------------------------------------------------------------------------------


def file_text(coverage: FileCoverage, worst: int) -> Iterator[str]:
    """Yield the text about a file: kinds, reasons, and its units and functions, worst first."""
    yield from sum_text(shown(coverage.name), coverage.sum)
    if coverage.scopes_without_code:
        yield f"{counted(coverage.scopes_without_code, 'function')} or inlined calls have no code, and do not count"
    yield from _kinds(coverage.sum)
    if len(coverage.units) > 1:
        yield from _parts("units", coverage.units, worst)
    yield from _parts("functions", coverage.functions, worst)


def sum_text(name: str, total: CoverageSum) -> Iterator[str]:
    """Yield the number of variables, and the share of their scopes with a location."""
    if not total.variables and not total.statics:
        yield f"{style('name', name)}: no variables"
        return
    text = f": {counted(total.variables, 'variable')}"
    if total.size:
        text += f", locations cover {percent(total.share)} of their scopes"
        if total.repaired != total.written:
            text += f" (repaired {percent(total.share_repaired)})"
    first, *rest = wrapped(name + text)
    yield style("name", name) + first[len(name) :] if first.startswith(name) else first
    yield from rest
    partly = total.variables - total.whole - total.nowhere
    yield f"  {total.whole} everywhere, {partly} in part, {total.nowhere} nowhere in their scope"
    if total.statics:
        yield f"  {total.statics_located} of {total.statics} outside of functions have a location"


def _kinds(total: CoverageSum) -> Iterator[str]:
    if not total.size:
        return
    written, repaired = dict(total.written), dict(total.repaired)
    has_repairs = written != repaired
    names = [*repaired, *(name for name in written if name not in repaired)]
    rows = [("kind", "as written", "repaired" if has_repairs else "")]
    rows += [
        (name, _part(written.get(name, 0), total.size), _part(repaired.get(name, 0), total.size) if has_repairs else "")
        for name in names
    ]
    yield ""
    yield from table(rows, "lrr", is_headed=True)
    if total.missing:
        yield ""
        rows = [("no location because", "as written", "")]
        rows += [(name, _part(count, total.size), REASONS[name]) for name, count in total.missing]
        yield from table(rows, "lrl", is_headed=True, width=room())


def _part(count: int, size: int) -> str:
    return percent(count / size) if count else "-"


def _parts(noun: str, parts: Sequence[UnitCoverage | CodeScope], worst: int) -> Iterator[str]:
    if not parts:
        return
    rows: list[tuple[str, ...]] = [(f"{noun}, worst first", "variables", "nowhere", "located", "repaired", "bytes")]
    names = distinct_names([part for part in parts[:worst] if isinstance(part, CodeScope)])
    for part in parts[:worst]:
        name, total = names[part] if isinstance(part, CodeScope) else part.name, part.sum
        has_repairs = total.written != total.repaired
        repaired = percent(total.share_repaired) if has_repairs else ""
        counts = str(total.variables), str(total.nowhere)
        rows.append((name, *counts, percent(total.share), repaired, str(total.size)))
    yield ""
    yield from table(rows, "lrrrrr", longest=NAME, is_headed=True)
    if len(parts) > worst:
        yield f"  and {len(parts) - worst} more: --worst {len(parts)} shows all"


FUNCTION = Record(
    "function=name section=unit.section", fact("offset", value=lambda scope: scope.unit.offset + scope.offset)
)
KINDS = (
    fact("kinds", value=lambda counted: dict(counted.written)),
    fact("kinds_repaired", value=lambda counted: dict(counted.repaired)),
    fact("missing", value=lambda counted: dict(counted.missing)),
)
"""The bytes of each kind of location, and of each reason why there is none."""
SUM = Record(
    "variables everywhere=whole nowhere bytes=size located located_repaired",
    *KINDS,
    "static_variables=statics static_located=statics_located",
)


# --- Variables ----------------------------------------------------------------------------------------------------


def variables_text(records: Sequence[VariableAvailability], total: CoverageSum, name: str) -> Iterator[str]:
    """Yield the text about some variables: where each has which kind of location, and why not."""
    yield from sum_text(name, total)
    before: tuple[str, ...] | None = None
    for record in records:
        calls = record.calls
        if calls != before:
            yield ""
            yield from wrapped(CALL.join(calls) or "outside of functions")
            before = calls
        yield from _variable(record)


def _variable(record: VariableAvailability) -> Iterator[str]:
    name = shown(record.name)
    size = record.size
    where = percent(record.located / size if size else float(bool(record.written)))
    line = "" if record.line is None else f", line {record.line}"
    text = f"  {name}: {where}, {record.kind} {record.type_name}{line}"
    first, *rest = wrapped(text, room())
    yield first.replace(name, style("name", name), 1)
    yield from (f"    {part}" for part in rest)
    if record.scope is None:
        kinds = [kind for kind, _count in record.written] or [record.reason or "no location"]
        repaired = [kind for kind, _count in record.repaired]
        note = f" (repaired: {', '.join(repaired) or 'no location'})" if repaired != kinds and record.repairs else ""
        yield f"    {', '.join(kinds)}{note}"
    rows = [
        (
            f"{span.low:#x}-{span.high:#x}",
            span.written or f"none: {span.reason}",
            "" if span.repaired == span.written else f"repaired: {span.repaired or 'no location'}",
        )
        for span in islice(record.spans(), MAX_SPANS + 1)
    ]
    yield from table(rows[:MAX_SPANS], "lll", indent=4)
    if len(rows) > MAX_SPANS:
        yield "    and more: --json has all"
    if record.repairs:
        yield from (f"    {part}" for part in wrapped(f"repaired by {', '.join(record.repairs)}", room(4)))


MAX_SPANS = 64
"""How many parts of a scope are shown for a variable."""


VARIABLE = Record(
    "name kind type=type_name line calls section=die.unit.section offset=die.section_offset bytes=size located",
    *KINDS,
    "repairs reason*",
    fact("spans", value=lambda record: [*record.spans()]),
)


# --- A picture ----------------------------------------------------------------------------------------------------


def coverage_svg(title: str, records: Iterable[VariableAvailability]) -> Iterator[str]:
    """Draw a strip for each variable over the addresses of its function, with the kinds that the repairs give."""
    from dwarfgpu.render.pictures import StripGroup, strip_svg

    groups: dict[Any, list[VariableAvailability]] = {}
    for record in records:
        if record.scope is not None:
            groups.setdefault(record.scope.function, []).append(record)
    drawn = []
    for function, variables in groups.items():
        spans = f"{function.spans[0][0]:#x}-{function.spans[-1][1]:#x}" if function.spans else "no code"
        drawn.append(StripGroup(f"{function.name}  {spans}", tuple(map(strip_of, variables))))
    yield from strip_svg(title, drawn)


def strip_of(record: VariableAvailability) -> Strip:
    """Return the strip of a variable over the addresses of its function."""
    from dwarfgpu.render.pictures import NOTHING, OUTSIDE, Strip, StripPart

    assert record.scope is not None  # noqa: S101 (there are no addresses outside of functions)
    parts: list[StripPart] = []
    place = 0  # how many bytes of the function are before what follows
    function = record.scope.function
    for span in record.spans():
        start = function.before(span.low)
        if start > place:
            parts.append(StripPart(start - place, OUTSIDE, "out of scope"))
        size = function.before(span.high) - start
        if not size:
            continue
        where = f"{span.low:#x}-{span.high:#x}: "
        what = span.repaired or f"no location: {span.reason or 'the repaired expression gives none'}"
        written = "" if span.written == span.repaired else f" (as written: {span.written or 'none'})"
        parts.append(StripPart(size, span.repaired or NOTHING, where + what + written))
        place = start + size
    if place < function.size:
        parts.append(StripPart(function.size - place, OUTSIDE, "out of scope"))
    calls = record.calls[1:]
    label = ("  " * len(calls)) + record.name + (f" ({calls[-1]})" if calls else "")
    return Strip(label, tuple(parts), percent(record.located / record.size if record.size else None))
