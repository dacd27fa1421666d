"""What an earlier judgement, as a baseline has it, judged of the kernels of a file, and a later one does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.judge.comparison import ComparedPart
from dwarfgpu.audits.verdicts import is_less

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.judgement import JudgedPart

TOLERANCE = 0.01
"""By how much a share may be lower: another order of instructions changes it a little."""
MOST_NAMES = 4


def lost_kernels(earlier: Mapping[str, Any], kernels: Sequence[JudgedPart], *, is_every: bool) -> Iterator[str]:
    """Yield what was judged earlier and is not now; ``is_every`` if these are all kernels of the file."""
    before = {str(row.get("kernel")): row for row in _rows(earlier, "kernels")}
    if is_every:
        gone = before.keys() - {part.name for part in kernels}
        yield from (f"kernel {name} is gone" for name in before if name in gone)
    for part in kernels:
        lost = [*_lost(before.get(part.name, {}), part)]
        if lost:
            yield f"{part.name}: {', '.join(lost)}"


def unknown_before(earlier: Mapping[str, Any], kernels: Sequence[JudgedPart]) -> str | None:
    """Return what an earlier judgement does not tell of the kernels, if it lacks something."""
    rows = {str(row.get("kernel")): row for row in _rows(earlier, "kernels")}
    known = [rows[part.name] for part in kernels if part.name in rows]
    if not known:
        return "how much of the kernels was judged"
    return None if all("by_name" in row for row in known) else "which variables had a location"


def _lost(row: Mapping[str, Any], part: JudgedPart) -> Iterator[str]:
    """Yield what of a kernel was judged earlier and is not now."""
    if "problem" in row and row["problem"] is None and part.problem is not None:
        yield "not judged to its end any more"
    instructions = _count(row, "instructions")
    if is_less(part.instructions, instructions):
        yield f"{part.instructions:,} instructions judged, {instructions:,} before"
    had = {str(each.get("name")) for each in _rows(row, "by_name") if _count(each, "right") or _count(each, "wrong")}
    names = sorted(had - {each.name for each in part.by_name if each.right or each.wrong})
    if names:
        more = [f"{len(names) - MOST_NAMES} more"] * (len(names) > MOST_NAMES)
        yield f"no location any more of {', '.join([*names[:MOST_NAMES], *more])}"
    yield from _lower("locations are absent", _part(row, "absent"), part.variables)
    if isinstance(row.get("values"), dict):
        if part.values is None:
            yield "values not compared with another build any more"
        else:
            yield from _lower("values are missing", _part(row["values"], "missing"), part.values)


def _lower(what: str, before: ComparedPart, now: ComparedPart) -> Iterator[str]:
    """Yield that a lower share than before has a location or a value."""
    if before.availability and before.availability - (now.availability or 0.0) > TOLERANCE:
        yield f"{1 - (now.availability or 0.0):.1%} of the {what}, {1 - before.availability:.1%} before"


def _part(row: Mapping[str, Any], missing: str) -> ComparedPart:
    return ComparedPart("", *(_count(row, key) for key in ("right", "wrong", missing)))


def _rows(row: Mapping[str, Any], key: str) -> Iterable[Mapping[str, Any]]:
    rows = row.get(key)
    return [each for each in rows if isinstance(each, dict)] if isinstance(rows, list) else []


def _count(row: Mapping[str, Any], key: str) -> int:
    count = row.get(key)
    return count if isinstance(count, int) else 0
