"""The records of an answer: each fact of a row is declared once, with its key in JSON, its title in text and its value.

Text, ``--json`` and ``--jsonl`` are made of the same rows by the same record, so a row of text is a row of JSON.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs
from attrs import evolve

from dwarfgpu.immutable import frozen
from dwarfgpu.render.layout import TableLine, columns, plain, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

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


def fact(
    word: str,
    title: str | None = None,
    value: Callable[[Any], Any] | None = None,
    text: Callable[[Any], str] = cell,
    side: str = "l",
) -> Fact:
    """Return the fact that a word declares: ``name``, an attribute, or ``rule=rule.name``, one under another key.

    ``line?`` is null where it is empty or 0, ``pc#`` is a number in hex, and JSON lacks ``seen*`` where it is None,
    ``parts?*`` where it is empty. ``number:Id`` has a title.
    """
    word, _, head = word.partition(":")
    key, _, path = word.rstrip("?#*").partition("=")
    found = value or attrgetter(path or key)
    reader = found
    if word.rstrip("*").endswith("?"):
        reader = lambda row: found(row) or None  # noqa: E731
    elif word.endswith("#"):
        reader = lambda row: hexadecimal(found(row))  # noqa: E731
    return Fact(key, head or title, reader, text, side, word.endswith("*"))


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

    def screen(self, rows: Sequence[Any], is_marked: Callable[[Any], bool]) -> Iterator[str]:
        """Yield the lines of a table as GDB lays it out, with marks (`layout.columns`)."""
        return columns(self.head, [TableLine(self.cells(row), is_marked(row)) for row in rows])

    def lines(self, rows: Iterable[Any], **options: Any) -> list[str]:
        """Return the lines of a table with its head (`layout.table`)."""
        return table([self.head, *map(self.cells, rows)], self.sides, **options)
