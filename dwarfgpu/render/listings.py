"""Listings of expressions, and what is wrong with one, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.render.layout import plain_style

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dwarfgpu.expr.listing import Line
    from dwarfgpu.expr.verify import Finding
    from dwarfgpu.render.layout import Style

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
