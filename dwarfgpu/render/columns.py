"""Tables that fit the screen, whatever stands in them: rows with a mark, and a last column that may go on below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.render.layout import WIDTH, plain_style, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dwarfgpu.render.layout import Style

GAP = 1
"""As many blanks as GDB has between columns."""
MARK = "* "
BELOW = 4
"""By how much a last cell is indented that stands below its row."""
NARROWEST = 20
"""A screen that is narrower is taken to be this wide."""


@frozen
class Row:
    """A row of a table."""

    cells: tuple[str, ...]
    is_marked: bool = False
    """Whether it is the one that is looked at."""
    style: str = ""


def columns(
    head: tuple[str, ...], rows: Sequence[Row], width: int = WIDTH, style: Style = plain_style
) -> Iterator[str]:
    """A head and rows, none of them wider than the screen.

    Of a row that is too long the last cell stands below it. A cell before that which is much longer than its column
    shall be moves what is behind it, and not the column.
    """
    width = max(width, NARROWEST)
    cells = [tuple(shown(cell) for cell in row.cells) for row in rows]
    widths = _widths(head, cells, width)
    for line in _lines(head, widths, width, "  "):
        yield style("dim", line)
    for row, texts in zip(rows, cells, strict=True):
        for line in _lines(texts, widths, width, MARK if row.is_marked else "  "):
            yield style(row.style, line) if row.style else line


def _widths(head: tuple[str, ...], cells: list[tuple[str, ...]], width: int) -> list[int]:
    """Of all columns but the last. The one before it is only so wide that most last cells stand beside it."""
    result = [max(map(len, column)) for column in list(zip(head, *cells, strict=True))[:-1]]
    if result:
        used = len(MARK) + sum(result[:-1]) + GAP * len(result)
        lasts = sorted(len(row[-1]) for row in cells) or [0]
        room = width - used - lasts[-1 - len(lasts) // 10]
        fitting = [len(row[-2]) for row in cells if len(row[-2]) <= room]
        result[-1] = max([len(head[-2]), *fitting])
    return result


def _lines(cells: tuple[str, ...], widths: list[int], width: int, mark: str) -> Iterator[str]:
    text = mark
    for cell, size in zip(cells, widths, strict=False):
        text += cell.ljust(size) + " " * GAP
    last = cells[-1]
    if len(text) + len(last) <= width:
        yield (text + last).rstrip()
        return
    yield from fitted(text.rstrip(), width, BELOW)
    if last:
        yield from fitted(" " * BELOW + last, width, BELOW)


def fitted(text: str, width: int, indent: int = 0) -> list[str]:
    """A text in lines that fit the screen, all but the first of them indented; a word that is longer is broken."""
    text = shown(text)
    if len(text) <= width:
        return [text]
    import textwrap

    inner = text.lstrip()
    room = max(width, NARROWEST)
    rest = " " * indent
    first = " " * (len(text) - len(inner))
    if len(first) >= room:  # empty cells alone fill the line
        first = rest
    return textwrap.wrap(
        inner, room, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    ) or [""]
