"""Parts of sections as text and as JSON: facts with labels, then tables."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from dwarfgpu.program.dump.code import Code
from dwarfgpu.render.entries import code_json, code_text
from dwarfgpu.render.layout import WIDTH, counted, cut, plain, plain_style, shown, wrapped

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
        first, *rest = wrapped(text, max(NARROWEST, WIDTH - label - 4))
        yield f"  {style('name', name)}{' ' * (label - len(name))}  {first}"
        yield from (f"{' ' * (label + 4)}{line}" for line in rest)
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
    widths = {i: max(len(table.columns[i][0]), *(len(row[i]) for row in cells)) for i in used}
    head = [_aligned(*table.columns[i], widths[i]) for i in used]
    yield " " * INDENT + style("dim", "  ".join(head).rstrip())
    for row in chain(sample, rows):
        yield from _row_text(table, row, used, widths)


def _row_text(table: Table, row: tuple[Any, ...], used: list[int], widths: dict[int, int]) -> Iterator[str]:
    """A row. A long last cell goes on below itself; an expression that does not fit stands below its row."""
    *others, last = used
    before = INDENT + sum(widths[i] + 2 for i in others)
    cells = [_aligned(_cell(table.columns[i][1], row[i]), table.columns[i][1], widths[i]) for i in others]
    kind, value = table.columns[last][1], row[last]
    if isinstance(value, Code):
        lines = code_text(value, max(NARROWEST, WIDTH - before))
        if len(lines) > 1:
            yield (" " * INDENT + "  ".join(cells)).rstrip()
            yield from (" " * (INDENT + 2) + line for line in code_text(value, WIDTH - INDENT - 2))
            return
    elif kind in _RIGHT:
        lines = [_cell(kind, value).rjust(widths[last])]
    else:
        lines = wrapped(_cell(kind, value), max(NARROWEST, WIDTH - before))
    yield (" " * INDENT + "  ".join([*cells, lines[0]])).rstrip()
    yield from (" " * before + line for line in lines[1:])


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


def _aligned(text: str, kind: Kind, width: int) -> str:
    return text.rjust(width) if kind in _RIGHT else text.ljust(width)


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
