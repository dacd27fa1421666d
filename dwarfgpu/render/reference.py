"""The reference of the operations as text and as JSON."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from dwarfgpu.render.layout import paragraphs, plain_style

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.program.reference import Reference
    from dwarfgpu.render.layout import Style


def overview(found: Iterable[Reference], style: Style = plain_style) -> Iterator[str]:
    """An operation a line, below the section of the text that has it."""
    sections = groupby(found, lambda one: one.section)
    yield from paragraphs(
        [style("name", name), *(f"  {line(one)}" for one in some)] for name, some in sections
    )


def line(one: Reference, width: int = 0) -> str:
    """An operation on one line: name, operands, effect."""
    name = " ".join((one.name, *one.operands))
    return f"{name:{width}}  ( {one.effect.strip()} )  [{one.spec}]"


def paragraph(one: Reference, style: Style = plain_style) -> list[str]:
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


def _by_path(one: Reference) -> dict[str, list[str]]:
    paths: dict[str, list[str]] = {}
    for name, path in one.encodings:
        paths.setdefault(path, []).append(name)
    return paths


def document(one: Reference) -> dict[str, Any]:
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
