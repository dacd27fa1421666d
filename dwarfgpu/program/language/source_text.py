"""The text of C, C++, OpenCL C and HIP files up to tokens: C11, 5.1.1.2, phases 1 to 3; C++17, 5.2.

Everything keeps its position, in characters and in bytes, so that lines and columns of the text are those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z))
    |(?:u8|[uUL])?R"(?P<mark>[^\s()\\"]{0,16})\(.*?(?:\)(?P=mark)"|\Z)
    |(?P<quote>["'])(?:\\\r?\n|\\.|(?!(?P=quote))[^\\\n])*(?P=quote)?
    |\.?\d(?:[eEpP][+-]|'\w|[\w.])*
    |[^\W\d]\w*""",
    re.VERBOSE | re.DOTALL,
)
"""Comments, raw strings, literals, preprocessing numbers (whose digits `'` may separate), and names."""
_NOT_SPACE = re.compile(r"[^\n]")
_SPACES = {1: " ", 2: "\u00a0", 3: "\u2003"}
"""White space of as many bytes in UTF-8; of four bytes there is none."""
_LINE_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:line\b|\d)", re.MULTILINE)


def without_comments(text: str, *, keep_literals: bool = True) -> str:
    """Return the text with spaces in place of comments; also of what is between quotation marks, if asked for."""

    def space(letter: re.Match[str]) -> str:
        return _SPACES.get(len(letter[0].encode("utf-8", "replace")), letter[0])

    def blank(match: re.Match[str]) -> str:
        token = match[0]
        if match["comment"] is not None:
            return _NOT_SPACE.sub(space, token)
        start = token.find(match["quote"] or '"')
        if keep_literals or (match["quote"] is None and match["mark"] is None):
            return token
        return token[: start + 1] + _NOT_SPACE.sub(space, token[start + 1 : -1]) + token[-1:]

    return _TOKEN.sub(blank, text)


def quiet(text: str) -> str:
    """Return the text with spaces in place of comments, and of what is between the quotation marks of literals."""
    return without_comments(text, keep_literals=False)


def has_own_lines(text: str) -> bool:
    """Return whether the lines that a compiler names are those of the text: no `#line` changes them."""
    return _LINE_DIRECTIVE.search(quiet(text)) is None


def position_of(lines: Sequence[str], line: int, column: int) -> int:
    """Return where a line and a column, which a compiler counts in bytes, both from 1, are in the joined lines."""
    before = sum(len(each) + 1 for each in lines[: line - 1])
    return before + len("".join(lines[line - 1 : line]).encode()[: column - 1].decode("utf-8", "replace"))


def column_of(line: str, position: int) -> int:
    """Return the column, in bytes from 1, of a position in a line."""
    return len(line[:position].encode()) + 1


def place_of(text: str, position: int) -> tuple[int, int]:
    """Return the line and the column, in bytes, of a position in a text, both from 1."""
    first = text.rfind("\n", 0, position) + 1
    return text.count("\n", 0, position) + 1, column_of(text[first:position], position - first)


def closing(text: str, at: int) -> int:
    """Return where the bracket that opens at a place is closed, and the end of the text where it is not."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] in "([") - (text[place] in ")]")
        if not depth:
            return place
    return len(text)
