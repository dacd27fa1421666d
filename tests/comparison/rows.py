"""Rows: what a program says about a file, in one normal form for all programs.

A row belongs to an aspect, says what it is about (``where``, which begins with a place in the file) and what is there.
Two programs agree about a file when their rows are the same. Numbers are hexadecimal, except in line tables and in the
operands of operations. The aspects:

``units``
    The header of each unit.
``dies``
    Each entry with tag, abbreviation code and parent; each attribute with its form and its value: strings with where
    they stand, references with where they lead to, indices with what they select, names of constants where they have
    one. Of an expression and of a list only the form and the place: what is in them has aspects of its own.
``expressions``
    The expression of an attribute, an operation after the other: names, and operands as decimal numbers.
``lists``
    The entries of the list of an attribute, as addresses, with their expressions.
``list sections``
    The sections of lists by themselves: headers, offsets, and entries as they are encoded.
``lines``
    Each line table: header, directories, files, rows.
``names``
    ``.debug_names`` and ``.debug_aranges``.
``tables``
    ``.debug_addr``, ``.debug_str_offsets``, and the indices of packages.
"""

from collections.abc import Iterable
from typing import NamedTuple

ASPECTS = ("units", "dies", "expressions", "lists", "list sections", "lines", "names", "tables")
UNREAD = "(not understood)"
"""Begins what a row says that was made of output in which nothing is recognised."""


class Row(NamedTuple):
    aspect: str
    where: str
    what: str


class Difference(NamedTuple):
    """What one row has in one program and in the other; None where a program does not have the row."""

    aspect: str
    where: str
    theirs: str | None
    ours: str | None

    def __str__(self) -> str:
        return f"{self.aspect} | {self.where} | {self.theirs} => {self.ours}"


def keyed(rows: Iterable[Row]) -> dict[tuple[str, str], str]:
    """The rows by aspect and place. A place that occurs again is numbered, as when an attribute stands twice."""
    found: dict[tuple[str, str], str] = {}
    for aspect, where, what in rows:
        key = aspect, where
        count = 1
        while key in found:
            count += 1
            key = aspect, f"{where} ({count})"
        found[key] = what
    return found


def differences(theirs: Iterable[Row], ours: Iterable[Row]) -> list[Difference]:
    first, second = keyed(theirs), keyed(ours)
    if first == second:
        return []
    keys = dict.fromkeys([*first, *second])
    return [Difference(*key, first.get(key), second.get(key)) for key in keys if first.get(key) != second.get(key)]


def escaped(text: bytes) -> str:
    """A string as it is shown in rows, between quotes; llvm-dwarfdump escapes in the same way."""
    known = {0x5C: "\\\\", 0x09: "\\t", 0x0A: "\\n", 0x22: '\\"'}
    shown = (known.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}") for byte in text)
    return f'"{"".join(shown)}"'


def header(**fields: object) -> str:
    return " ".join(
        f"{name}={value:#x}" if isinstance(value, int) else f"{name}={value}"
        for name, value in fields.items()
        if value is not None
    )
