"""DWARF operations as text and as JSON: their reference, the listings of expressions, and findings."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from dwarfgpu.render.layout import paragraphs, plain, plain_style

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.dialects.operation_reference import OperationReference
    from dwarfgpu.expr.listing import Line
    from dwarfgpu.expr.verify import Finding
    from dwarfgpu.render.layout import Style


BYTES = 8
"""How many bytes of an operation are shown."""
WIDEST = 40
"""The widest column of operations, after which notes begin."""


# --- Operations ---------------------------------------------------------------------------------------------------


def overview(operations: Iterable[OperationReference], style: Style = plain_style) -> Iterator[str]:
    """Yield a line for each operation, below the section of the text that defines it."""
    sections = groupby(operations, lambda row: row.section)
    yield from paragraphs([style("name", name), *(f"  {line(row)}" for row in rows)] for name, rows in sections)


def line(operation: OperationReference, width: int = 0) -> str:
    """Return an operation on one line: name, operands, effect."""
    name = " ".join((operation.name, *operation.operands))
    return f"{name:{width}}  ( {operation.effect.strip()} )  [{operation.spec}]"


def paragraph(operation: OperationReference, style: Style = plain_style) -> list[str]:
    """Return the full description of an operation as lines."""
    name = style("name", " ".join((operation.name, *operation.operands)))
    lines = [name, f"  {operation.meaning}", f"  stack    ( {operation.effect.strip()} )"]
    lines.append(f"  clause   {operation.spec}, {operation.section}")
    lines.append(f"  since    {operation.since}{', deprecated' if operation.deprecated else ''}")
    if operation.aliases:
        lines.append(f"  also     {', '.join(operation.aliases)}")
    if operation.needs:
        lines.append(f"  needs    {', '.join(operation.needs)}")
    lines.append(f"  in CFI   {'no: ' + operation.cfi_obstacle if operation.cfi_obstacle else 'yes'}")
    encodings = ", ".join(f"{path} ({', '.join(names)})" for path, names in _by_path(operation).items())
    lines.append(f"  encoded  {encodings or 'no dialect has a number for it'}")
    return lines


def _by_path(operation: OperationReference) -> dict[str, list[str]]:
    paths: dict[str, list[str]] = {}
    for name, path in operation.encodings:
        paths.setdefault(path, []).append(name)
    return paths


def document(operation: OperationReference) -> dict[str, Any]:
    """Return an operation of the reference as a JSON object."""
    operands = [dict(zip(("name", "kind"), operand.split(":"), strict=True)) for operand in operation.operands]
    encodings = [{"dialect": name, "path": path} for name, path in operation.encodings]
    return {**plain(operation), "operands": operands, "encodings": encodings}


# --- Listings of expressions --------------------------------------------------------------------------------------


def bytes_text(line: Line) -> str:
    """Return the first bytes of an operation."""
    return line.bytes[:BYTES].hex(" ") + (" .." if len(line.bytes) > BYTES else "")


def lines_text(lines: Sequence[Line], style: Style = plain_style) -> Iterator[str]:
    """Yield a line for each operation: offset, bytes, operation, note."""
    width = min(max((len(line.text) for line in lines), default=0), WIDEST)
    for line in lines:
        name = style("name", line.name)
        text = f"{name} {line.operands}" if line.operands else name
        note = " " * (width - len(line.text)) + "  " + style("dim", f"# {line.note}") if line.note else ""
        yield f"{line.offset:#06x}  {bytes_text(line):26}  {text}{note}".rstrip()


def line_json(line: Line) -> dict[str, Any]:
    """Return an operation of a listing as a JSON object."""
    return {
        "offset": line.offset,
        "bytes": line.bytes.hex(),
        "operation": line.name,
        "operands": line.operands,
        "note": line.note,
    }


# --- Findings -----------------------------------------------------------------------------------------------------


def findings_text(findings: Sequence[Finding], style: Style = plain_style) -> Iterator[str]:
    """Yield a line for each finding."""
    for finding in findings:
        severity = style(finding.severity, f"{finding.severity}:")
        clause = f" [{finding.spec}]" if finding.spec else ""
        yield f"{finding.offset:#06x}  {severity} {finding.message}{clause}"
    if not findings:
        yield "no findings"
