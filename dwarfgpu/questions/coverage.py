"""The question where variables can be seen: ``coverage``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.coverage.availability import FileAvailability, VariableAvailability
from dwarfgpu.audits.coverage.build_comparison import compare_builds
from dwarfgpu.audits.coverage.sums import file_coverage, selector
from dwarfgpu.audits.coverage.tally import CoverageSum, Tally
from dwarfgpu.errors import NotFound, UsageError
from dwarfgpu.program.code.code_object import CodeObject, opened
from dwarfgpu.questions.document import NO_ANSWER, Document
from dwarfgpu.questions.selection import Selection, source_of
from dwarfgpu.render import coverage as render

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.questions.registry import Arguments

WORST = 10
"""How many functions, units or variables are shown if nothing else is said."""


def coverage(selection: Selection, arguments: Arguments) -> Document:
    document = _document(selection, arguments)
    least = arguments.get("fail-below")
    if least is not None:
        if not 0 <= least <= 100:
            raise UsageError("--fail-below is a share in percent, from 0 to 100")
        if "located" not in document.data:
            raise UsageError("--fail-below does not go with --compare or --svg")
        size = document.data["bytes"]
        share = document.data["located"] / size if size else None
        if share is None or 100 * share < least:
            document.status = NO_ANSWER
            what = "no variable has a scope" if share is None else f"{render.percent(share)} has a location"
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
    forms = [name for name in ("svg", "compare") if arguments.has(name)]
    if len(forms) > 1:
        raise UsageError(f"--{forms[0]} does not go with --{forms[1]}")
    worst = arguments.get("worst")
    if worst is not None and worst < 1:
        raise UsageError("--worst is a number from 1 on")
    reading = selection.reading()
    read_as = {"dialect": reading["dialect"], "repair": reading["repair"]}
    if arguments.has("compare"):
        other = opened(**source_of(arguments.get("compare")), attributes=arguments.get("attributes"))
        if not other.has_dwarf:
            message = f"{other.name} has no debugging information"
            raise UsageError(message, kind="no_debug_info", hint="compile it with -g")
        compared = compare_builds(file, other, **read_as, wanted=lambda: selector(function, variable))
        return Document(
            render.comparison_json(compared),
            lambda _output: render.comparison_text(compared, worst or WORST),
            problems=(*file.dwarf.problems, *other.dwarf.problems),
        )
    if function is None and variable is None and not arguments.has("svg"):
        sums = file_coverage(file, **read_as)
        return Document(
            render.file_json(sums, worst),
            lambda _output: render.file_text(sums, worst or WORST),
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
        title = f"{file.name}: {render.percent(total.share)} of the scopes of {total.variables} variables"
        lines = list(render.coverage_svg(title, drawn))
        return Document({"svg": "\n".join(lines)}, lines, is_file=True)
    if worst is not None:
        records = sorted(records, key=_missing)[:worst]
    name = function if variable is None else variable if function is None else f"{function} > {variable}"
    data = {"file": file.name, **render.SUM.json(total), "variables_listed": map(render.VARIABLE.json, records)}
    return Document(
        data,
        lambda _output: render.variables_text(records, total, name or file.name),
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
        is_file = os.path.isfile(function or "")  # noqa: PTH113 (`pathlib` raises where a name is too long)
        hint = f"--compare {function} compares two builds" if is_file else hint
    else:
        where = f"{file.name}" if function is None else f"`{function}`"
        message = f"there is no variable `{variable}` in {where}"
    return NotFound("no_variable", message, hint=hint)
