"""Code in the colours of its language."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pygments.token import Comment, Generic, Keyword, Name, Number, String

from dwarfgpu.commands.output import ASSEMBLY, OPERATIONS
from dwarfgpu.repl.lexers import InstructionLexer, OperationLexer, lexer_of_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygments.lexer import Lexer

COLORS: dict[Any, str] = {
    Comment: "2",
    Comment.Preproc: "35",
    Generic.Strong: "1",
    Keyword: "1;34",
    Keyword.Type: "32",
    Name.Attribute: "36",
    Name.Builtin: "36",
    Name.Class: "32",
    Name.Function: "1;36",
    Name.Label: "35",
    Name.Namespace: "35",
    Name.Variable: "36",
    Number: "33",
    String: "32",
}
"""The escape sequences of tokens; a token that is not here has that of the nearest one around it."""


def highlighted(kind: str, lines: Sequence[str], file: str) -> list[str]:
    """The lines in colours; those of a language that is not known stay as they are."""
    lexer = _lexer(kind, file.rpartition("/")[2] if kind not in (ASSEMBLY, OPERATIONS) else "")
    if lexer is None:
        return list(lines)
    found: list[str] = [""]
    for token, text in lexer.get_tokens("\n".join(lines)):
        color = _color(token)
        first, *rest = text.split("\n")
        found[-1] += _colored(color, first)
        found += [_colored(color, one) for one in rest]
    found = found[: len(lines)]
    # a lexer takes a carriage return for the end of a line
    return found if len(found) == len(lines) and not any("\r" in line for line in lines) else list(lines)


@lru_cache(maxsize=32)
def _lexer(kind: str, file: str) -> Lexer | None:
    if kind == ASSEMBLY:
        return InstructionLexer(stripnl=False)
    return OperationLexer(stripnl=False) if kind == OPERATIONS else lexer_of_file(file)


@lru_cache(maxsize=256)
def _color(token: Any) -> str:
    while token is not None and token not in COLORS:
        token = token.parent
    return "" if token is None else COLORS[token]


def _colored(color: str, text: str) -> str:
    return f"\x1b[{color}m{text}\x1b[0m" if color and text and not text.isspace() else text
