"""Parts of sections as text and as JSON: facts with labels, then tables."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from dwarfgpu.program.dump.code import Code
from dwarfgpu.render.columns import aligned
from dwarfgpu.render.entries import code_json, code_text
from dwarfgpu.render.layout import WIDTH, beside, counted, cut, plain, plain_style, shown, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.dump.parts import Kind, Part, Table
    from dwarfgpu.render.layout import Style

SAMPLE = 256
"""The columns of a table are as wide as so many rows need: the others have not been made yet."""
INDENT = 4
NARROWEST = 24
_RIGHT = ("number", "rare", "address")
"""The kinds of cells that stand at the right of their column."""


def part_text(part: Part, style: Style = plain_style) -> Iterator[str]:
    """A part in lines."""
    yield style("kind", f"{part.section}+{part.offset:#x}") + f"  {part.title}"
    facts = [(name, value) for name, value in part.facts.items() if value is not None]
    label = max((len(name) for name, _ in facts), default=0)
    for name, value in facts:
        text = ", ".join(map(str, value)) if isinstance(value, list) else _plain_text(value)
        head = f"  {style('name', name)}{' ' * (label - len(name))}  "
        yield from beside(head, wrapped(text, max(NARROWEST, WIDTH - label - 4)), label + 4)
    for table in part.tables:
        yield from _table_text(table, style)


def _plain_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _table_text(table: Table, style: Style) -> Iterator[str]:
    """A table. A column without any value is left out, if all rows are known when the first one is shown."""
    rows = iter(table.rows)
    sample = list(islice(rows, SAMPLE))
    cells = [
        [_cell(kind, value) for (_, kind), value in zip(table.columns, row, strict=True)] for row in sample
    ]
    used = [i for i, (_, kind) in enumerate(table.columns) if any(_is_there(kind, row[i]) for row in cells)]
    if len(sample) == SAMPLE:
        used = list(range(len(table.columns)))
    yield f"  {style('name', table.name)}"
    if not used:
        return
    heads = [name for name, _ in table.columns]
    widths = [max(len(heads[i]), *(len(row[i]) for row in cells)) for i in used]
    sides = "".join("r" if table.columns[i][1] in _RIGHT else "l" for i in used)
    yield " " * INDENT + style("dim", aligned([heads[i] for i in used], widths, sides).rstrip())
    for row in chain(sample, rows):
        yield from _row_text([(table.columns[i][1], row[i]) for i in used], widths, sides)


def _row_text(row: list[tuple[Kind, Any]], widths: list[int], sides: str) -> Iterator[str]:
    """A row. A long last cell goes on below itself; an expression that does not fit stands below its row."""
    *others, (kind, value) = row
    before = INDENT + sum(width + 2 for width in widths[:-1])
    head = " " * INDENT + aligned([*(_cell(*cell) for cell in others), ""], [*widths[:-1], 0], sides)
    if isinstance(value, Code):
        lines = code_text(value, max(NARROWEST, WIDTH - before))
        if len(lines) > 1:
            yield head.rstrip()
            yield from (" " * (INDENT + 2) + line for line in code_text(value, WIDTH - INDENT - 2))
            return
    elif sides[-1] == "r":
        lines = [_cell(kind, value).rjust(widths[-1])]
    else:
        lines = wrapped(_cell(kind, value), max(NARROWEST, WIDTH - before))
    yield from beside(head, lines, before)


def _is_there(kind: Kind, cell: str) -> bool:
    return bool(cell) and not (kind == "rare" and cell == "0")


def _cell(kind: Kind, value: Any) -> str:
    if value is None:
        return ""
    if kind == "address":
        return f"{value:#x}"
    if kind == "bytes":
        return bytes(value).hex()
    if kind == "source":
        return f"embedded, {counted(len(value.splitlines()), 'line')}"
    if kind == "code":
        return "expression"
    return shown(cut(str(value)))


# --- JSON ---------------------------------------------------------------------------------------------------------


def part_json(part: Part) -> dict[str, Any]:
    """A part: its facts, and its tables, where a row has its columns by name."""
    return {
        "section": part.section,
        "offset": part.offset,
        "title": part.title,
        "facts": {name.replace(" ", "_"): plain(value) for name, value in part.facts.items()},
        "tables": [{"name": table.name, "rows": _rows_json(table)} for table in part.tables],
    }


def _rows_json(table: Table) -> list[dict[str, Any]]:
    names = [name for name, _ in table.columns]
    return [
        {
            name: code_json(value) if isinstance(value, Code) else plain(value)
            for name, value in zip(names, row, strict=True)
        }
        for row in table.rows
    ]
