"""What comparing the variables of two builds has shown, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.render.layout import counted, plain_style, shown, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.audits.judge.comparison import BuildJudgement, ComparedPart, ComparedVariable, DifferentValue
    from dwarfgpu.render.layout import Style

MOST_VARIABLES = 12
"""The variables that are shown if nothing else is said, the worst first."""
LONGEST_NAME = 34


def comparison_text(
    comparison: BuildJudgement, style: Style = plain_style, width: int = 80, *, shows_all: bool = False
) -> Iterator[str]:
    """Yield the variables that are not right everywhere, and the sums of functions and files in percent."""
    lacking = [variable for variable in comparison.variables if variable.wrong or variable.missing]
    lacking.sort(key=lambda variable: (-variable.wrong, -variable.missing, variable.function, variable.line))
    shown_ones = lacking if shows_all else lacking[:MOST_VARIABLES]
    if shown_ones:
        head = ("variable", "line", "right", "wrong", "missing")
        rows = [
            (cut_name(f"{variable.function}: {variable.name}"), str(variable.line), f"{variable.right:,}",
             f"{variable.wrong:,}", f"{variable.missing:,}")
            for variable in shown_ones
        ]  # fmt: skip
        yield from table([head, *rows], "lrrrr", width=width, style=style)
        if len(shown_ones) < len(lacking):
            yield f"  {counted(len(lacking) - len(shown_ones), 'more variable')}: see --all"
        yield ""
    yield from table([("against " + comparison.other, "values", "available", "correct"), *sum_rows(comparison)], "lrrr",
                     longest=LONGEST_NAME + 8, width=width, style=style)  # fmt: skip
    yield f"  {comparison.aligned:,} of {comparison.stops:,} statements of lanes are aligned"


def sum_rows(comparison: BuildJudgement) -> Iterator[tuple[str, str, str, str]]:
    """Yield the sums of functions, of files, and of all: the name, the values, and both shares."""
    parts = [*comparison.functions(), *comparison.files(), evolve(comparison.total(), name="all")]
    for part in parts:
        count = part.right + part.wrong + part.missing
        yield cut_name(part.name), f"{count:,}", share_text(part.availability), share_text(part.correctness)


def cut_name(name: str) -> str:
    """Return a name that is short enough for a table on a screen of 80 columns."""
    text = shown(name)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 3] + "..."


def share_text(share: float | None) -> str:
    """Return a share in percent, rounded down."""
    return "-" if share is None else f"{int(share * 1000) / 10:.1f}%"


def comparison_json(comparison: BuildJudgement) -> dict[str, Any]:
    """Return the comparison as a JSON object."""
    return {
        "other": comparison.other,
        "stops": comparison.stops,
        "aligned": comparison.aligned,
        "is_cut": comparison.is_cut,
        "total": _part_json(comparison.total()),
        "functions": [_part_json(part) for part in comparison.functions()],
        "files": [_part_json(part) for part in comparison.files()],
        "variables": [_variable_json(variable) for variable in comparison.variables],
    }


def _part_json(part: ComparedPart) -> dict[str, Any]:
    return {
        "name": part.name,
        "right": part.right,
        "wrong": part.wrong,
        "missing": part.missing,
        "availability": part.availability,
        "correctness": part.correctness,
    }


def _variable_json(variable: ComparedVariable) -> dict[str, Any]:
    return {
        "name": variable.name,
        "function": variable.function,
        "file": variable.file,
        "line": variable.line,
        "right": variable.right,
        "wrong": variable.wrong,
        "missing": variable.missing,
        "first_wrong": _place_json(variable.first_wrong),
        "first_missing": _place_json(variable.first_missing),
    }


def _place_json(place: DifferentValue | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {
        "name": place.name,
        "file": place.file,
        "line": place.line,
        "pc": place.pc,
        "wave": place.wave,
        "lane": place.lane,
        "visit": place.visit,
        "value": place.value,
        "other": place.other,
    }
