"""The reference of the operations as text and as JSON."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from dwarfgpu.render.layout import paragraphs, plain_style

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.dialects.operation_reference import OperationReference
    from dwarfgpu.expr.listing import Line
    from dwarfgpu.expr.verify import Finding
    from dwarfgpu.render.layout import Style


def overview(found: Iterable[OperationReference], style: Style = plain_style) -> Iterator[str]:
    """An operation a line, below the section of the text that has it."""
    sections = groupby(found, lambda one: one.section)
    yield from paragraphs(
        [style("name", name), *(f"  {line(one)}" for one in some)] for name, some in sections
    )


def line(one: OperationReference, width: int = 0) -> str:
    """An operation on one line: name, operands, effect."""
    name = " ".join((one.name, *one.operands))
    return f"{name:{width}}  ( {one.effect.strip()} )  [{one.spec}]"


def paragraph(one: OperationReference, style: Style = plain_style) -> list[str]:
    """An operation in full."""
    name = style("name", " ".join((one.name, *one.operands)))
    lines = [name, f"  {one.meaning}", f"  stack    ( {one.effect.strip()} )"]
    lines.append(f"  clause   {one.spec}, {one.section}")
    lines.append(f"  since    {one.since}{', deprecated' if one.deprecated else ''}")
    if one.aliases:
        lines.append(f"  also     {', '.join(one.aliases)}")
    if one.needs:
        lines.append(f"  needs    {', '.join(one.needs)}")
    lines.append(f"  in CFI   {'no: ' + one.cfi_obstacle if one.cfi_obstacle else 'yes'}")
    encodings = ", ".join(f"{path} ({', '.join(names)})" for path, names in _by_path(one).items())
    lines.append(f"  encoded  {encodings or 'no dialect has a number for it'}")
    return lines


def _by_path(one: OperationReference) -> dict[str, list[str]]:
    paths: dict[str, list[str]] = {}
    for name, path in one.encodings:
        paths.setdefault(path, []).append(name)
    return paths


def document(one: OperationReference) -> dict[str, Any]:
    """An operation as a JSON object."""
    operands = [dict(zip(("name", "kind"), operand.split(":"), strict=True)) for operand in one.operands]
    return {
        "name": one.name,
        "aliases": list(one.aliases),
        "section": one.section,
        "operands": operands,
        "effect": one.effect,
        "meaning": one.meaning,
        "spec": one.spec,
        "since": one.since,
        "needs": list(one.needs),
        "cfi_obstacle": one.cfi_obstacle,
        "deprecated": one.deprecated,
        "encodings": [{"dialect": name, "path": path} for name, path in one.encodings],
    }


# --- Listings of expressions --------------------------------------------------------------------------

BYTES = 8
"""How many bytes of an operation are shown."""
WIDEST = 40
"""How far to the right notes stand at most, behind the bytes."""


def bytes_text(line: Line) -> str:
    """Return the first bytes of an operation."""
    return line.bytes[:BYTES].hex(" ") + (" .." if len(line.bytes) > BYTES else "")


def lines_text(lines: Sequence[Line], style: Style = plain_style) -> Iterator[str]:
    """An operation a line: offset, bytes, operation, note."""
    width = min(max((len(line.text) for line in lines), default=0), WIDEST)
    for line in lines:
        name = style("name", line.name)
        text = f"{name} {line.operands}" if line.operands else name
        note = " " * (width - len(line.text)) + "  " + style("dim", f"# {line.note}") if line.note else ""
        yield f"{line.offset:#06x}  {bytes_text(line):26}  {text}{note}".rstrip()


def line_json(line: Line) -> dict[str, Any]:
    """One operation."""
    return {
        "offset": line.offset,
        "bytes": line.bytes.hex(),
        "operation": line.name,
        "operands": line.operands,
        "note": line.note,
    }


def findings_text(findings: Sequence[Finding], style: Style = plain_style) -> Iterator[str]:
    """A finding a line."""
    for one in findings:
        severity = style("error" if one.severity == "error" else "number", f"{one.severity}:")
        clause = f" [{one.spec}]" if one.spec else ""
        yield f"{one.offset:#06x}  {severity} {one.message}{clause}"
    if not findings:
        yield "no findings"


def finding_json(one: Finding) -> dict[str, Any]:
    """One finding."""
    return {
        "severity": one.severity,
        "kind": one.kind,
        "message": one.message,
        "offset": one.offset,
        "operation": one.operation,
        "spec": one.spec,
    }
