"""The objects in memory that a line of the source names: ``a[i].m``, ``*p``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from dwarfgpu.program.language.source_text import closing
from dwarfgpu.program.language.tokens import split_at_commas

FIRST = re.compile(r"(?<![\w.])(?<!->)[A-Za-z_]\w*")
"""A name that is no member of something."""
NAME = re.compile(r"\b[A-Za-z_]\w*")
_STEP = re.compile(r"\s*(?:\[|(?:->|\.)\s*[A-Za-z_]\w*)")
_STORED = re.compile(r"\s*=(?!=)")
"""What follows an object that a line stores to, and does not load."""
_TARGET = re.compile(r"\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)")
"""What follows an object that a line stores to."""
_CHANGES = re.compile(r"\+\+|--|(?<![=<>!])=(?!=)|\w\s*\(")
"""Parts of an expression that change a variable, or call a function."""


def _steps(text: str, at: int) -> Iterator[int]:
    """Yield where a name ends, and where each subscript and member behind it does."""
    yield at
    while (step := _STEP.match(text, at)) is not None:
        at = closing(text, step.end() - 1) + 1 if step[0].endswith("[") else step.end()
        yield at


def objects_in(line: str) -> Iterator[str]:
    """Yield the expressions of a line that may be objects in memory: ``a[i].m``, ``*p``, ``*(p + i)`` for ``p + i``."""
    for match in FIRST.finditer(line):
        ends = [*_steps(line, match.end())]
        yield from (line[match.start() : end] for end in ends[1:])
        if line[: match.start()].rstrip().endswith("*"):
            yield f"*{line[match.start() : ends[-1]]}"
    for match in re.finditer(r"\(", line):
        for part in split_at_commas(line[match.end() : closing(line, match.start())], "([)]"):
            if re.search(r"\w\s*[+-]", text := part.strip().removeprefix("&")):
                yield f"*({text})"


def bases(expression: str) -> Iterator[str]:
    """Yield the parts of an expression that may be the pointer it counts from, the last step first."""
    first = NAME.match(expression)
    if first is not None:
        yield from [expression[:end] for end in _steps(expression, first.end())][-2::-1]
        return
    for match in FIRST.finditer(expression):
        yield expression[match.start() : [*_steps(expression, match.end())][-1]]


def indexes_in(line: str) -> list[str]:
    """Return the objects that a line loads as a part of the address of another: ``idx[i]`` of ``in[idx[i]]``."""
    known = [*objects_in(line)]
    return [text for text in objects_read(line) if any(text in each[1:] for each in known)]


def objects_read(line: str, expand: Callable[[str], str] = str) -> list[str]:
    """Return the objects that a line loads, each with all its members and subscripts, if reading it changes nothing.

    ``expand`` expands macros in a text.
    """
    return [text for text, behind in _readable(line, expand) if not all(map(_STORED.match, behind))]


def objects_stored(line: str, expand: Callable[[str], str] = str) -> list[str]:
    """Return the objects that a line stores to, if reading them changes nothing."""
    return [text for text, behind in _readable(line, expand) if any(map(_TARGET.match, behind))]


def _readable(line: str, expand: Callable[[str], str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the objects of a line that can be read, each with the code behind every place that names it as a whole.

    These are those that the line names, and then those that its macros name.
    """
    found: set[str] = set()
    code = line.partition("//")[0]
    for part in dict.fromkeys((code, expand(code))):
        for text in dict.fromkeys(objects_in(part)):
            places = re.finditer(rf"(?<![\w.])(?<!->){re.escape(text)}(?!\s*(?:\[|->|\.|\w))", part)
            behind = [part[place.end() :] for place in places]
            whole = expand(text)
            known = "".join(whole.split())
            if behind and known not in found and not _CHANGES.search(whole):
                found.add(known)
                yield text, behind
