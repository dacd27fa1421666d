"""The records of an answer: each fact of a row is declared once, with its key in JSON, its title in text and its value.

Text, ``--json`` and ``--jsonl`` are made of the same rows by the same record, so a row of text is a row of JSON.
"""

from __future__ import annotations

from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import attrs
from attrs import evolve

from dwarfgpu.immutable import frozen
from dwarfgpu.render.layout import TableLine, columns, left_out, plain, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dwarfgpu.render.written_text import StyleName

    Json = dict[str, Any]


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
        return record.json(found) if attrs.has(type(found)) else [*map(record.json, found)]

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
        """Yield the lines of a table as GDB lays it out, with marks (`layout.columns`)."""
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
        """Return the lines of a table with its head (`layout.table`), of at most the first rows."""
        cells = [self.head, *map(self.cells, rows[:most])]
        return [*table(cells, self.sides, is_headed=True, **options), *left_out(len(rows), most, noun)]
