"""The layout of answers: wrapped text, tables, safe names of a file, plain values for JSON, and records of both.

Text, ``--json`` and ``--jsonl`` are made of the same rows by the same record, so a row of text is a row of JSON.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias, TypeVar

from dwarfgpu.immutable import asdict, evolve, frozen, has
from dwarfgpu.lanes import lanes_in
from dwarfgpu.render.written_text import StyleName, without_styles

Json: TypeAlias = dict[str, Any]
Style: TypeAlias = Callable[[StyleName, str], str]
"""Puts a text into one of the styles of `written_text.STYLES`."""


WIDTH = 80
"""The columns of a text that is for no terminal."""
NARROWEST = 20
"""The columns of a screen that is narrower."""
NARROWEST_TEXT = 12
"""The columns of a text behind a margin that leaves fewer."""
LABEL = 14
LONGEST = 2048
"""The length at which a text of a file is cut for people."""
SOURCE_ROOT = "%SRCROOT%"
"""The name of the folder that paths in SARIF logs are relative to, as GitHub has it."""
GAP = 1
"""How many blanks GDB has between columns."""
MARK = "* "
BELOW = 4
"""The indent of a last cell that is below its row."""
DEEPEST = 60
_PIECE = re.compile(" *[^ ]+")
_Item = TypeVar("_Item")
_Key = TypeVar("_Key")


# --- The screen ---------------------------------------------------------------------------------------------------


def plain_style(_style: StyleName, text: str) -> str:
    """Return the text as it is."""
    return text


_columns = WIDTH
_style: Style = plain_style
"""The columns and the style of the text that is laid out now."""


@contextmanager
def laid_out(columns: int, style: Style = plain_style) -> Iterator[None]:
    """Lay out texts for a screen of some columns, in the style of the screen."""
    global _columns, _style
    before = _columns, _style
    _columns, _style = max(columns, NARROWEST), style
    try:
        yield
    finally:
        _columns, _style = before


def style(name: StyleName, text: str) -> str:
    """Return a text in one of the styles of the text that is laid out."""
    return _style(name, text)


_ITEM = re.compile(r"(?:[-*]|\d+\.) ")
"""How an item of a list begins in Markdown."""


def room(margin: int = 0) -> int:
    """Return the columns of the text that is laid out, behind a margin."""
    return max(_columns - margin, NARROWEST_TEXT)


# --- Text ---------------------------------------------------------------------------------------------------------


def shown(text: str) -> str:
    """Return a name from a file with everything that could control a terminal escaped."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def cut(text: str) -> str:
    """Return a text, or its beginning if it is too long to be read."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def shortened(text: str, longest: int, end: str = "...") -> str:
    """Return a text, or its beginning with an ``end`` if it is too long."""
    return text if len(text) <= longest else text[: longest - len(end)] + end


def beside(head: str, lines: Iterable[str], start: int) -> list[str]:
    """Return lines with a head before the first one, and the others indented to where that one starts."""
    first, *rest = lines
    return [f"{head}{first}".rstrip(), *(" " * start + line for line in rest)]


def labelled(label: str, text: str, *, indent: int = 0) -> list[str]:
    """Return a label with a text to its right, wrapped in its own column."""
    width = LABEL - indent
    head = " " * indent + style("name", label) + " " * max(1, width - len(label))
    return beside(head, wrapped(text, room(LABEL)), LABEL)


def labels(pairs: Iterable[tuple[str, str | None]], *, indent: int = 0) -> list[str]:
    """Return each label with its text, as `labelled` does; one without a text is left out."""
    return [line for label, text in pairs if text is not None for line in labelled(label, text, indent=indent)]


def wrapped(text: str, width: int = 0) -> list[str]:
    """Return a text in lines; a long word is not broken."""
    return folded(shown(text).rstrip(), width or room(), 0)


def reflowed(lines: Iterable[str], width: int | None) -> Iterator[str]:
    """Yield Markdown with paragraphs and list items that fill a width, if there is one; all else stays."""
    block = ""
    is_code = False
    for line in lines:
        is_fence = line.startswith("```")
        stays = width is None or is_code or not line.strip() or line.startswith(("```", "    ", "|", "#"))
        is_item = _ITEM.match(line) is not None
        if block and (stays or is_item):
            yield from folded(block, width or 0, 2 if _ITEM.match(block) else 0)
            block = ""
        is_code ^= is_fence
        if stays:
            yield line
        else:
            block = f"{block} {line.lstrip()}" if block else line
    yield from folded(block, width or 0, 2 if _ITEM.match(block) else 0) if block else ()


def folded(text: str, width: int, indent: int | None = None) -> list[str]:
    """Return a line in lines that are no longer than a width, broken at blanks; a longer word stays whole.

    Lines after the first are indented, by default further than the first one. The text may have styles.
    """
    if len(text) <= width and "\t" not in text:
        return [text]
    bare = without_styles(text).expandtabs()
    if len(bare) <= width:
        return [text]
    if "\t" in text:
        text = bare
    margin = len(bare) - len(bare.lstrip(" "))
    further = margin + BELOW if indent is None else indent
    lines: list[str] = []
    line, length, has_word = "", 0, False
    for piece in _PIECE.findall(text):
        word = piece.lstrip(" ")
        size = len(without_styles(word))
        blanks = len(piece) - len(word)
        if has_word and length + blanks + size > width:
            lines.append(line)
            line, length, has_word = "", 0, False
            blanks = further
        if not has_word:  # a long word begins further left
            blanks = min(blanks, max(width - size, 0)) if size <= width else min(blanks, BELOW)
        line += " " * blanks + word
        length += blanks + size
        has_word = has_word or size > 0
    return [*lines, line]


def packed(parts: Iterable[str], width: int, gap: int = 1) -> list[str]:
    """Return parts side by side in lines, with a gap between them; a part that is longer than a line is wrapped."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + gap + len(part) <= width:
            lines[-1] += " " * gap + part
        else:
            lines += wrapped(part, width)
    return lines


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 unit``, ``2 units``, and ``2 entries`` with a plural of its own."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def range_text(first: int, last: int) -> str:
    """Return ``3``, or ``0-31``."""
    return str(first) if first == last else f"{first}-{last}"


def runs(items: Iterable[_Item], follows: Callable[[_Item, _Item], bool]) -> Iterator[list[_Item]]:
    """Yield neighbours together, as long as each ``follows`` the one before it."""
    run: list[_Item] = []
    for item in items:
        if run and not follows(run[-1], item):
            yield run
            run = []
        run.append(item)
    if run:
        yield run


def ranges_text(numbers: Iterable[int]) -> str:
    """Return ascending numbers as a short list: ``0-31,40``."""
    return ",".join(range_text(run[0], run[-1]) for run in runs(numbers, lambda last, number: number == last + 1))


@lru_cache(maxsize=256)
def lanes_text(mask: int) -> str:
    """Return the lanes of a mask: ``lanes 0-31,40``."""
    if not mask:
        return "no lanes"
    lanes = ranges_text(lanes_in(mask))
    return f"lane{'s' if mask & (mask - 1) else ''} {lanes}"


def lane_masks(found: Iterable[tuple[int | None, _Key]]) -> dict[_Key, int]:
    """Return everything that is found in lanes, each with the mask of its lanes."""
    masks: dict[_Key, int] = {}
    for lane, key in found:
        masks[key] = masks.get(key, 0) | 1 << (lane or 0)
    return masks


def paragraphs(texts: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of several texts, with an empty line between them."""
    for number, lines in enumerate(texts):
        if number:
            yield ""
        yield from lines


# --- JSON ---------------------------------------------------------------------------------------------------------


def plain(value: Any, depth: int = 0) -> Any:
    """Return records and data of a file as JSON values: bytes in hex, keys and non-finite numbers as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if depth > DEEPEST:
        return "..."
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item, depth + 1) for item in value]
    if not has(type(value)):
        return str(value)
    return {name: plain(part, depth + 1) for name, part in asdict(value).items()}


def error_json(error: Any, key: str = "error") -> dict[str, Any]:
    """Return what a JSON object has of an error: nothing if there is none."""
    return {} if error is None else {key: problem_json(error)}


def problem_json(error: Any) -> dict[str, Any]:
    """Return an error as a JSON object."""
    where = error.where
    document = {"class": error.error_class, "kind": error.kind, "message": error.message}
    document |= {"section": where.section, "offset": where.offset, "spec": error.spec}
    return {key: value for key, value in document.items() if value is not None}


# --- Tables -------------------------------------------------------------------------------------------------------
# `table` is for the command line, with two blanks between columns; `columns` is for tables like those of GDB's
# ``info`` commands, with marked rows. `aligned` lays out a row for both, and for tables that grow row by row.


def aligned(cells: Sequence[str], widths: Sequence[int], sides: str = "", *, gap: int = 2) -> str:
    """Return a row of cells with ``gap`` blanks between them; ``sides`` has ``l`` or ``r`` for each, ``l`` if empty."""
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
    is_headed: bool = False,
) -> list[str]:
    """Return rows in columns, and leave out a column that is empty in every row.

    ``sides`` is that of `aligned`. With ``longest``, a first cell that is longer has lines of its own above
    the rest of its row. With ``width``, the last cell of a row that is wider is below it; where that is a number,
    the first cell is above it. If it ``is_headed``, the first row is shown as the head.
    """
    whole = [tuple(shown(cell) for cell in row) for row in rows]
    if width and sides.endswith("r"):
        others = [max(map(len, column)) for column in list(zip(*whole, strict=True))[1:]]
        width, longest = 0, width - indent - sum(size + 2 for size in others if size)
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
            lines += [margin + part for part in wrapped(row[0], max(NARROWEST, (width or room()) - indent))]
        if width and row[-1] and len(line(fits)) > width:
            lines.append(line((*fits[:-1], "")))
            lines += [margin + " " * BELOW + part for part in wrapped(row[-1], width - indent - BELOW)]
        else:
            lines.append(line(fits))
    return [style("dim", lines[0]), *lines[1:]] if lines and is_headed else lines


@frozen
class TableLine:
    """A line of a table, with its mark and style."""

    cells: tuple[str, ...]
    is_marked: bool = False
    """Whether it is the selected one."""
    style: StyleName = "plain"


def columns(head: tuple[str, ...], rows: Sequence[TableLine]) -> Iterator[str]:
    """Yield a head and rows that are no wider than the screen.

    If a row is too long, its last cell is below it. A cell before that which is much longer than its column
    moves the rest of its row, and does not widen the column.
    """
    cells = [tuple(shown(cell) for cell in row.cells) for row in rows]
    widths = _widths(head, cells)
    for line in _lines(head, widths, "  "):
        yield style("dim", line)
    for row, texts in zip(rows, cells, strict=True):
        for line in _lines(texts, widths, MARK if row.is_marked else "  "):
            yield style(row.style, line)


def _widths(head: tuple[str, ...], cells: list[tuple[str, ...]]) -> list[int]:
    """Return the widths of all columns but the last.

    The column before the last is only as wide as lets most last cells fit beside it.
    """
    result = [max(map(len, column)) for column in list(zip(head, *cells, strict=True))[:-1]]
    if result:
        used = len(MARK) + sum(result[:-1]) + GAP * len(result)
        lasts = sorted(len(row[-1]) for row in cells) or [0]
        free = room() - used - lasts[-1 - len(lasts) // 10]
        fitting = [len(row[-2]) for row in cells if len(row[-2]) <= free]
        result[-1] = max([len(head[-2]), *fitting])
    return result


def _lines(cells: tuple[str, ...], widths: list[int], mark: str) -> Iterator[str]:
    last = cells[-1]
    text = mark + aligned((*cells[:-1], ""), (*widths, 0), gap=GAP)
    if len(text) + len(last) <= room():
        yield (text + last).rstrip()
        return
    yield from fitted(text.rstrip(), BELOW)
    if last:
        yield from fitted(" " * BELOW + last, BELOW)


def fitted(text: str, indent: int = 0) -> list[str]:
    """Return a text in lines that fit the screen, all but the first indented; a longer list breaks at its commas."""
    words = shown(text).split(" ")
    longest = room() - indent
    return folded(" ".join(word.replace(",", ", ") if len(word) > longest else word for word in words), room(), indent)


def left_out(count: int, most: int | None, noun: str = "", how: str = "--json has all") -> list[str]:
    """Return the line about the rows of a list that are not shown, if it has more than ``most``."""
    if most is None or count <= most:
        return []
    return [f"  ... and {counted(count - most, f'more {noun}') if noun else f'{count - most} more'} ({how})"]


def command_lines(words: Iterable[str], indent: int = 0) -> list[str]:
    """Return a command in lines that fit the screen, with the marks of a shell that goes on in the next line."""
    lines: list[str] = []
    for word in (shown(shlex.quote(word)) for word in words):
        if lines and len(lines[-1]) + len(word) + len("  \\") <= room():
            lines[-1] += f" {word}"
        else:
            lines.append(f"{' ' * (indent + 4 * bool(lines))}{word}")
    return [*(f"{line} \\" for line in lines[:-1]), *lines[-1:]]


def artifact(path: str, folder: str) -> dict[str, str]:
    """Return a file as SARIF has it (2.1.0, 3.4): relative to the folder, or absolute if it is not below that."""
    from urllib.parse import quote

    whole = posixpath.normpath(posixpath.join(folder, path))
    inside = whole.removeprefix(f"{folder.rstrip('/')}/")
    return {"uri": f"file://{quote(whole)}"} if inside == whole else {"uri": quote(inside), "uriBaseId": SOURCE_ROOT}


# --- Records: each fact of a row is declared once, with its key in JSON, its title in text and its value --------------


def cell(value: Any) -> str:
    """Return a value as text: nothing for None, and what is in it of a list."""
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def hexadecimal(number: int | None) -> str | None:
    """Return a number in hex; None if it is not known."""
    return None if number is None else f"{number:#x}"


@frozen
class Fact:
    """A field of each row in JSON, a column in text, or both."""

    key: str
    """Its name in JSON; empty if only text has it."""
    title: str | None
    """Its head in text; None if only JSON has it."""
    value: Callable[[Any], Any]
    """Returns the value of a row."""
    text: Callable[[Any], str] = cell
    """Writes the value in text."""
    side: str = "l"
    """``l`` or ``r``: where it is aligned in text."""
    is_optional: bool = False
    """Whether JSON lacks the key where the value is None."""
    may_be_empty: bool = False
    """Whether text leaves out the column if it is empty in every row (``Stopped by?``)."""


def fact(
    word: str,
    title: str | None = None,
    value: Callable[[Any], Any] | None = None,
    text: Callable[[Any], str] = cell,
    side: str = "l",
) -> Fact:
    """Return the fact that a word declares: ``name``, an attribute, or ``rule=rule.name``, one under another key.

    ``name=0`` is a part of a tuple, ``line?`` is null where it is empty or 0, ``pc#`` is a number in hex, and JSON
    lacks ``seen*`` where it is None, ``parts?*`` where it is empty. ``number:Id`` has a title.
    """
    word, _, head = word.partition(":")
    key, _, path = word.rstrip("?#*").partition("=")
    found = value or (itemgetter(int(path)) if path.isdecimal() else attrgetter(path or key))
    reader = found
    if word.rstrip("*").endswith("?"):
        reader = lambda row: found(row) or None  # noqa: E731
    elif word.endswith("#"):
        reader = lambda row: hexadecimal(found(row))  # noqa: E731
    title = head or title
    may_be_empty = title is not None and title.endswith("?")
    title = None if title is None else title.removesuffix("?")
    return Fact(key, title, reader, text, side, word.endswith("*"), may_be_empty)


def column(title: str, value: Callable[[Any], Any], side: str = "l") -> Fact:
    """Return the fact that only text has."""
    return fact("", title, value, side=side)


def number(word: str, title: str | None = None, value: Callable[[Any], Any] | None = None) -> Fact:
    """Return the fact that is a number, at the right in text, with commas between thousands."""
    return fact(word, title or word, value, "{:,}".format, "r")


def nested(word: str, record: Record) -> Fact:
    """Return the fact that is another record, or a list of records; null where there is none."""
    declared = fact(word)

    def value(row: Any) -> Any:
        found = declared.value(row)
        if found is None:
            return None
        return record.json(found) if has(type(found)) else [*map(record.json, found)]

    return evolve(declared, value=value)


class Record:
    """The facts of a row, in their order. Words declare facts that need no more."""

    def __init__(self, *declared: Fact | str) -> None:
        facts: list[Fact] = []
        for each in declared:
            facts += map(fact, each.split()) if isinstance(each, str) else [each]
        self._keyed = [each for each in facts if each.key]
        self._titled = [each for each in facts if each.title is not None]
        self.head = tuple(each.title or "" for each in self._titled)
        self.sides = "".join(each.side for each in self._titled)

    def json(self, row: Any) -> Json:
        """Return a row as a JSON object."""
        found = ((each, each.value(row)) for each in self._keyed)
        return {each.key: plain(value) for each, value in found if value is not None or not each.is_optional}

    def cells(self, row: Any) -> tuple[str, ...]:
        """Return the cells of a row of text."""
        return tuple(each.text(each.value(row)) for each in self._titled)

    def screen(
        self,
        rows: Sequence[Any],
        is_marked: Callable[[Any], bool] = lambda _row: False,
        style: Callable[[Any], StyleName] = lambda _row: "plain",
    ) -> Iterator[str]:
        """Yield the lines of a table as GDB lays it out, with marks (`columns`)."""
        cells = [self.cells(row) for row in rows]
        used = [
            index
            for index, each in enumerate(self._titled)
            if not each.may_be_empty or any(row[index] for row in cells)
        ]
        lines = [
            TableLine(tuple(texts[index] for index in used), is_marked(row), style(row))
            for row, texts in zip(rows, cells, strict=True)
        ]
        return columns(tuple(self.head[index] for index in used), lines)

    def lines(self, rows: Sequence[Any], most: int | None = None, noun: str = "", **options: Any) -> list[str]:
        """Return the lines of a table with its head (`table`), of at most the first rows."""
        cells = [self.head, *map(self.cells, rows[:most])]
        return [*table(cells, self.sides, is_headed=True, **options), *left_out(len(rows), most, noun)]
