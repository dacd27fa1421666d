"""Text in 80 columns: labels with wrapped text behind them, and names that a terminal can show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    Style: TypeAlias = Callable[[str, str], str]
    """Puts a text into a style: ``name``, ``number``, ``error``, ``hint``, ``dim`` or ``kind``."""
    from collections.abc import Sequence


WIDTH = 80
LABEL = 14


def plain_style(_style: str, text: str) -> str:
    """Text as it is."""
    return text


def shown(text: str) -> str:
    """A name from a file, without what would do something to a terminal."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


LONGEST = 2048
"""A text of a file that is longer is cut where people read it."""


def cut(text: str) -> str:
    """A text that is not too long to be read, nor to be wrapped in no time."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def beside(head: str, lines: Iterable[str], start: int) -> list[str]:
    """Return lines with a head before the first one; the others are indented to the column where that one starts."""
    first, *rest = lines
    return [f"{head}{first}".rstrip(), *(" " * start + line for line in rest)]


def labelled(label: str, text: str, style: Style = plain_style, *, indent: int = 0) -> list[str]:
    """A label and a text behind it, which goes on below itself."""
    width = LABEL - indent
    head = " " * indent + style("name", label) + " " * max(1, width - len(label))
    return beside(head, wrapped(text, WIDTH - LABEL), LABEL)


def wrapped(text: str, width: int = WIDTH) -> list[str]:
    """A text in lines; a long word is left whole."""
    text = shown(text)
    if len(text) <= width:
        return [text.rstrip()]
    import textwrap

    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def packed(parts: Iterable[str], width: int = WIDTH) -> list[str]:
    """Parts side by side in lines; one that is longer than a line is wrapped by itself."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 1 + len(part) <= width:
            lines[-1] += f" {part}"
        else:
            lines += wrapped(part, width)
    return lines


def counted(count: int, noun: str) -> str:
    """``1 unit``, ``2 units``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def range_text(first: int, last: int) -> str:
    """``3``, or ``0-31``."""
    return str(first) if first == last else f"{first}-{last}"


def ranges_text(numbers: Iterable[int]) -> str:
    """Ascending numbers as a short list: ``0-31,40``."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(range_text(first, last) for first, last in found)


def lanes_text(mask: int) -> str:
    """The lanes of a mask: ``lanes 0-31,40``."""
    if not mask:
        return "no lanes"
    lanes = ranges_text(number for number in range(mask.bit_length()) if mask >> number & 1)
    return f"lane{'s' if mask & (mask - 1) else ''} {lanes}"


def paragraphs(texts: Iterable[Iterable[str]]) -> Iterator[str]:
    """Lines of several texts, with an empty line between them."""
    for number, lines in enumerate(texts):
        if number:
            yield ""
        yield from lines


# --- JSON ---------------------------------------------------------------------------------------------------------

DEEPEST = 60


def plain(value: Any, depth: int = 0) -> Any:
    """Records, and what a file holds, as what JSON has: bytes in hex, keys as text, endless numbers as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if depth > DEEPEST:
        return "..."
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {str(key): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return [plain(each, depth + 1) for each in value]
    if not attrs.has(type(value)):
        return str(value)
    return {name: plain(part, depth + 1) for name, part in attrs.asdict(value, recurse=False).items()}


def problem_json(error: Any) -> dict[str, Any]:
    """An error as JSON."""
    where = error.where
    found = {"class": error.error_class, "kind": error.kind, "message": error.message}
    found |= {"section": where.section, "offset": where.offset, "spec": error.spec}
    return {key: value for key, value in found.items() if value is not None}


# --- Tables of text -----------------------------------------------------------------------------------
# `table` shows columns with two blanks between them, as the command line has its tables; `columns` has those
# of GDB's ``info`` commands, with marked rows. `aligned` lays out a row for both, and for tables whose rows
# are shown one by one.

GAP = 1
"""As many blanks as GDB has between columns."""
MARK = "* "
BELOW = 4
"""By how much a last cell is indented that stands below its row."""
NARROWEST = 20
"""A screen that is narrower is taken to be this wide."""


def aligned(cells: Sequence[str], widths: Sequence[int], sides: str = "", *, gap: int = 2) -> str:
    """Return a row of cells with ``gap`` blanks between its columns.

    ``sides`` has a letter for each column, ``l`` or ``r``; without it all cells stand at the left.
    """
    sides = sides or "l" * len(cells)
    return (" " * gap).join(
        cell.ljust(width) if side == "l" else cell.rjust(width)
        for cell, width, side in zip(cells, widths, sides, strict=True)
    )


def table(
    rows: Iterable[tuple[str, ...]],
    sides: str,
    *,
    indent: int = 2,
    longest: int = 0,
    width: int = 0,
    style: Style = plain_style,
) -> list[str]:
    """Return rows in columns; ``sides`` is that of `aligned`. A column that is empty in every row is left out.

    With ``longest``, a first cell that is longer has lines of its own, above the rest of its row. With ``width``, the
    last cell of a row that is wider is below it. With ``style``, the first row is shown as the head.
    """
    whole = [tuple(shown(cell) for cell in row) for row in rows]
    fitting = [(row if not longest or len(row[0]) <= longest else ("", *row[1:])) for row in whole]
    widths = [max((len(row[i]) for row in fitting), default=0) for i in range(len(sides))]
    used = [i for i, size in enumerate(widths) if size]
    margin = " " * indent

    def line(row: tuple[str, ...]) -> str:
        columns = [row[i] for i in used], [widths[i] for i in used], "".join(sides[i] for i in used)
        return (margin + aligned(*columns)).rstrip()

    lines = []
    for row, fits in zip(whole, fitting, strict=True):
        if row[0] != fits[0]:
            lines += [margin + part for part in wrapped(row[0], max(NARROWEST, (width or WIDTH) - indent))]
        if width and row[-1] and len(line(fits)) > width:
            lines.append(line((*fits[:-1], "")))
            lines += [margin + " " * BELOW + part for part in wrapped(row[-1], width - indent - BELOW)]
        else:
            lines.append(line(fits))
    return [style("dim", lines[0]), *lines[1:]] if lines else []


@frozen
class TableRow:
    """A row of a table."""

    cells: tuple[str, ...]
    is_marked: bool = False
    """Whether it is the one that is looked at."""
    style: str = ""


def columns(
    head: tuple[str, ...], rows: Sequence[TableRow], width: int = WIDTH, style: Style = plain_style
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
    last = cells[-1]
    text = mark + aligned((*cells[:-1], ""), (*widths, 0), gap=GAP)
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
