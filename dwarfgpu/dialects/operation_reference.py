"""The reference of the operations, from their rows and the dialects."""

from __future__ import annotations

import re

from dwarfgpu import dialects
from dwarfgpu.errors import UsageError
from dwarfgpu.expr import table
from dwarfgpu.expr.dialect import format_path
from dwarfgpu.immutable import frozen


@frozen
class OperationReference:
    """The documentation of an operation."""

    name: str
    aliases: tuple[str, ...]
    section: str
    operands: tuple[str, ...]
    """``letter:kind`` of each."""
    effect: str
    meaning: str
    spec: str
    since: str
    needs: tuple[str, ...]
    cfi_obstacle: str | None
    deprecated: bool
    encodings: tuple[tuple[str, str], ...]
    """Dialect and path; empty where no dialect has a number for it."""


def references() -> list[OperationReference]:
    """Return the reference of every operation, in the order of the text."""
    encodings = _encodings()
    return [_reference(row, title.rstrip("."), encodings) for title, rows in table.sections() for row in rows]


def is_repeated(name: str) -> bool:
    """Return whether a name is an interchangeable member of a family: ``DW_OP_lit1`` to ``DW_OP_lit31``."""
    return re.fullmatch(r"DW_OP_(lit|reg|breg)([1-9]|[12]\d|3[01])", name) is not None


def find(name: str) -> list[OperationReference]:
    """Return the operations with a name: exact, without its prefix, or containing it."""
    everything = {(one.name, *one.aliases): one for one in references()}
    wanted = name.lower().removeprefix("dw_op_")
    found = (
        [one for names, one in everything.items() if name in names]
        or [one for names, one in everything.items() if f"dw_op_{wanted}" in map(str.lower, names)]
        or [one for one in everything.values() if wanted in one.name.lower() and not is_repeated(one.name)]
    )
    if not found:
        from difflib import get_close_matches

        known = [each for names in everything for each in names]
        close = get_close_matches(name if name.startswith("DW_OP_") else f"DW_OP_{name}", known, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "list all with `dwarfgpu ops`"
        raise UsageError(f"there is no operation {name!r}", hint=hint)
    return found


def _encodings() -> dict[str, list[tuple[str, str]]]:
    """Return the dialects and paths of each operation."""
    encodings: dict[str, list[tuple[str, str]]] = {}
    for name in dialects.NAMES:
        for encoding in dialects.get(name).by_path.values():
            row = table.find(encoding.name)
            encodings.setdefault(encoding.name if row is None else row.name, []).append(
                (name, format_path(encoding.path))
            )
    return encodings


def _reference(row: table.Operation, section: str, encodings: dict[str, list[tuple[str, str]]]) -> OperationReference:
    return OperationReference(
        row.name,
        row.aliases,
        section,
        tuple(f"{operand.name}:{operand.kind}" for operand in row.operands),
        row.effect,
        row.meaning,
        row.spec,
        f"DWARF {row.since}" if row.since.isdigit() else row.since,
        tuple(sorted(row.needs)),
        row.cfi_obstacle,
        row.deprecated,
        tuple(encodings.get(row.name, ())),
    )
