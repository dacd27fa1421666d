"""A source made small: statements, blocks, functions, parameters and operands go as long as a test holds.

The source is not parsed as C, only cut into units by braces, parentheses and semicolons; that a variant is no C any
more is for the compiler to say. So OpenCL C and HIP are reduced alike, with macros and extensions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attrs import Factory, define

from dwarfgpu.immutable import immutable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Edit = tuple[int, int, str]
    """What is cut from a text, from where to where, and what comes in its place."""

TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|^[ \t]*\#[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[\w.]+|\S", re.DOTALL | re.MULTILINE
)
OPENING = {"(": ")", "[": "]", "{": "}"}
CAST = re.compile(r"\(\s*(?:unsigned\s+)?[A-Za-z_]\w*\s*\**\)\s*(?=[\w(])")
OPERATOR = re.compile(r"\s(?:[-+*/%&|^?:]|<<|>>|&&|\|\||[<>!=]=?)\s")
ELSE = re.compile(r"\s*else\b")
TYPE = re.compile(r"(?:typedef\b|struct\b|union\b|enum\b|\s)+")
GOES_ON = re.compile(r"\s*(?:else\b|[;,)=.])")
"""What goes on behind braces: those of a type or a list do, and an ``if`` with an ``else``."""
MOST_TESTS = 400


@immutable
class SourceUnit:
    """A statement, a definition or a directive, with the units in its braces."""

    start: int
    end: int
    body: tuple[int, int] | None = None
    """What is inside of its last braces."""
    inner: tuple[SourceUnit, ...] = ()


def units(text: str, start: int = 0, end: int | None = None) -> tuple[SourceUnit, ...]:
    """Return the units of a part of a text; ``else`` belongs to its ``if``."""
    end = len(text) if end is None else end
    found: list[SourceUnit] = []
    begun: int | None = None
    depth: list[str] = []
    brace = 0
    body: tuple[int, int] | None = None
    for token in TOKEN.finditer(text, start, end):
        word = token[0]
        if word.startswith(("//", "/*")):
            continue
        begun = token.start() if begun is None else begun
        if word.lstrip().startswith("#") and not depth:
            found.append(SourceUnit(token.start(), token.end()))
            begun = None
        elif word in OPENING:
            brace = token.end() if word == "{" and not depth else brace
            depth.append(OPENING[word])
        elif depth and word == depth[-1]:
            depth.pop()
            if word == "}" and not depth:
                body = brace, token.start()
                is_open = text.startswith("do", begun) or (TYPE.match(text, begun) and "(" not in text[begun:brace])
                if not is_open and not GOES_ON.match(text, token.end(), end):
                    found.append(SourceUnit(begun, token.end(), body, units(text, *body)))
                    begun, body = None, None
        elif word == ";" and not depth and not ELSE.match(text, token.end(), end):
            found.append(SourceUnit(begun, token.end(), body, units(text, *body) if body else ()))
            begun, body = None, None
    return tuple(found)


@define
class SourceReducer:
    """Makes a text smaller while a test holds."""

    test: Callable[[str], bool]
    tests: int = MOST_TESTS
    """How many more variants may be tested."""
    tried: Callable[[str], None] = lambda _smallest: None
    """Is called with the smallest text after each test."""
    _known: set[int] = Factory(set)

    def reduced(self, text: str) -> str:
        """Return the smallest text that was found."""
        while True:
            before = text
            for edits in (_without_units, _without_heads, _without_parameters, _without_operands):
                text = self._edited(text, edits)
            if text == before or self.tests <= 0:
                return without_blank_lines(text)

    def _edited(self, text: str, edits: Callable[[str], Iterator[tuple[Edit, ...]]]) -> str:
        """Return a text after all edits of a kind that leave the test true."""
        first = 0
        while True:
            for number, edit in enumerate(edits(text)):
                if number < first:
                    continue
                smaller = _applied(text, edit)
                if self._holds(smaller, text):
                    text, first = smaller, number
                    break
            else:
                return text

    def _holds(self, smaller: str, text: str) -> bool:
        key = hash(smaller)
        if smaller == text or key in self._known or self.tests <= 0:
            return False
        self._known.add(key)
        self.tests -= 1
        holds = self.test(smaller)
        self.tried(smaller if holds else text)
        return holds


def without_blank_lines(text: str) -> str:
    """Return a text whose lines all have something, and nothing at their ends."""
    return "\n".join(line.rstrip() for line in text.split("\n") if line.strip()) + "\n"


def _applied(text: str, edits: tuple[Edit, ...]) -> str:
    for start, end, other in sorted(edits, reverse=True):
        text = text[:start] + other + text[end:]
    return text


def _lists(found: tuple[SourceUnit, ...]) -> Iterator[tuple[SourceUnit, ...]]:
    """Yield the units of a text, then those in each of them."""
    if found:
        yield found
    for unit in found:
        yield from _lists(unit.inner)


def _without_units(text: str) -> Iterator[tuple[Edit, ...]]:
    """Yield cuts of runs of units: halves, quarters, and so on to single ones."""
    for siblings in _lists(units(text)):
        size = max(1, len(siblings) // 2)
        while size:
            for first in range(0, len(siblings), size):
                run = siblings[first : first + size]
                yield ((run[0].start, run[-1].end, ""),)
            size //= 2


def _without_heads(text: str) -> Iterator[tuple[Edit, ...]]:
    """Yield blocks in place of what has them: the body of an ``if`` or a loop."""
    for siblings in _lists(units(text)):
        for unit in siblings:
            if unit.body is not None:
                yield ((unit.start, unit.body[0], ""), (unit.body[1], unit.end, ""))


def _calls(text: str, name: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the places of the parts between the parentheses behind a name, wherever it stands."""
    for found in re.finditer(rf"\b{re.escape(name)}\s*\(", text):
        parts, depth, begun = [], 0, found.end()
        for token in TOKEN.finditer(text, found.end()):
            if token[0] in OPENING:
                depth += 1
            elif token[0] in OPENING.values():
                depth -= 1
            if depth < 0 or (token[0] == "," and depth == 0):
                parts.append((begun, token.start()))
                begun = token.end()
            if depth < 0:
                break
        yield parts


def _without_parameters(text: str) -> Iterator[tuple[Edit, ...]]:
    """Yield functions without one of their parameters, nor its arguments."""
    for unit in units(text):
        heads = [*re.finditer(r"(\w+)\s*\((?!\()", text[unit.start : unit.body[0]])] if unit.body else []
        if not heads:
            continue
        calls = [*_calls(text, heads[-1][1])]
        count = max(map(len, calls), default=0)
        if any(len(parts) != count for parts in calls):
            continue
        for number in range(count):
            edits = []
            for parts in calls:
                start, end = parts[number]
                if number + 1 < count:
                    end = parts[number + 1][0]
                elif number:
                    start = parts[number - 1][1]
                edits.append((start, end, ""))
            yield tuple(edits)


def _without_operands(text: str) -> Iterator[tuple[Edit, ...]]:
    """Yield one side of an operation in place of both, what is cast without the cast, a number for parentheses."""
    for found in CAST.finditer(text):
        yield ((found.start(), found.end(), ""),)
    places: list[int] = []
    for token in TOKEN.finditer(text):
        if token[0] in "([":
            places.append(token.end())
        elif token[0] in ")]" and places:
            start, end = places.pop(), token.start()
            inner = text[start:end]
            for operator in OPERATOR.finditer(inner):
                yield ((start, start + operator.end(), ""),)
                yield ((start + operator.start(), end, ""),)
            if not re.fullmatch(r"\s*\w*\s*", inner) and text[start - 1] == "(":
                yield ((start - 1, end + 1, "1"),)
                yield ((start - 1, start, ""), (end, end + 1, ""))
    for value in re.finditer(r"(?<=[^=!<>]= )[^;{}]+(?=;)|(?<=return )[^;{}]+(?=;)", text):
        for operator in OPERATOR.finditer(value[0]):
            yield ((value.start(), value.start() + operator.end(), ""),)
            yield ((value.start() + operator.start(), value.end(), ""),)
