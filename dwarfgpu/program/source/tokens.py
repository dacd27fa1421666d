"""The words of source expressions: names, numbers, characters, strings, signs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.program.source.errors import ExpressionError

if TYPE_CHECKING:
    from typing import NoReturn

MAX_LENGTH = 1 << 16
"""Longer texts are no expressions that somebody typed."""

SIGNS = (
    "<<=", ">>=", "->*", "...",
    "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "::", ".*",
    "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=",
    "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "?", ":", ".", ",", "(", ")", "[", "]", "{", "}",
    "#", "@",
)  # fmt: skip

ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "<<=", ">>="))
STEPS = frozenset(("++", "--"))

_SPACE = re.compile(r"\s+")
_NAME = re.compile(r"[A-Za-z_\u0080-\U0010ffff][\w]*", re.UNICODE)
_REGISTER = re.compile(r"\$(?:[fg]s\.base\b|\$?\w*)")
"""What begins with a dollar; of what GDB calls values of its history, ``$``, ``$$`` and ``$$3`` too."""
_HEX_FLOAT = re.compile(r"0[xX][0-9a-fA-F']*\.?[0-9a-fA-F']*[pP][+-]?\d+[A-Za-z0-9_]*")
_FLOAT = re.compile(
    r"(?:\d[\d']*\.(?!\.)[\d']*|\.\d[\d']*)(?:[eE][+-]?\d+)?[A-Za-z0-9_]*"
    r"|\d[\d']*[eE][+-]?\d+[A-Za-z0-9_]*"
)
_INTEGER = re.compile(r"0[xX][0-9a-fA-F']+\w*|0[bB][01']+\w*|\d[\w']*")
_QUOTE = re.compile(r"(u8|[LuU])?(['\"])")


@frozen
class Token:
    """One word."""

    kind: str
    """``name``, ``register``, ``integer``, ``float``, ``character``, ``string``, ``sign`` or ``end``."""
    text: str
    position: int
    value: str = ""
    """Of a character or a string: what is between the quotes, escapes resolved, one character for each unit."""
    prefix: str = ""
    """Of a character or a string: ``L``, ``u``, ``U``, ``u8``."""

    @property
    def end(self) -> int:
        return self.position + len(self.text)


def tokens(text: str) -> list[Token]:
    """All words of an expression; the last one is the end."""
    if len(text) > MAX_LENGTH:
        message = f"an expression of {len(text)} characters is longer than {MAX_LENGTH}"
        raise ExpressionError(text[:MAX_LENGTH], 0, message)
    found: list[Token] = []
    position = 0
    while position < len(text):
        space = _SPACE.match(text, position)
        if space is not None:
            position = space.end()
            continue
        token = _next(text, position)
        found.append(token)
        position = token.end
    found.append(Token("end", "", len(text)))
    return found


def is_assignment(text: str) -> bool:
    """Whether an expression assigns something."""
    return any(each.kind == "sign" and each.text in ASSIGNMENTS | STEPS for each in tokens(text))


def _next(text: str, position: int) -> Token:
    quote = _QUOTE.match(text, position)
    if quote is not None:
        return _quoted(text, position, quote[1] or "", quote[2])
    for kind, pattern in (("float", _HEX_FLOAT), ("float", _FLOAT), ("integer", _INTEGER)):
        match = pattern.match(text, position)
        if match is not None:
            return Token(kind, match[0], position)
    register = _REGISTER.match(text, position)
    if register is not None:
        return Token("register", register[0], position)
    name = _NAME.match(text, position)
    if name is not None:
        return Token("name", name[0], position)
    for sign in SIGNS:
        if text.startswith(sign, position):
            return Token("sign", sign, position)
    raise ExpressionError(text, position, f"{text[position]!r} has no meaning in an expression")


# --- Quotes -------------------------------------------------------------------------------------------------------

_SIMPLE = {
    "a": "\a", "b": "\b", "e": "\033", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "'": "'", '"': '"', "\\": "\\", "?": "?",
}  # fmt: skip
_OCTAL = re.compile(r"[0-7]{1,3}")
_HEX = re.compile(r"[0-9a-fA-F]+")


def _quoted(text: str, start: int, prefix: str, quote: str) -> Token:
    position = start + len(prefix) + 1
    value: list[str] = []
    while position < len(text):
        character = text[position]
        if character == quote:
            kind = "character" if quote == "'" else "string"
            return Token(kind, text[start : position + 1], start, "".join(value), prefix)
        if character == "\\":
            unit, position = _escape(text, position + 1)
            value.append(unit)
            continue
        value.append(character)
        position += 1
    what = "character" if quote == "'" else "string"
    raise ExpressionError(text, start, f"the {what} has no end", hint=f"it ends with another {quote}")


def _escape(text: str, position: int) -> tuple[str, int]:
    """The character of an escape sequence, and where the text goes on."""
    letter = text[position : position + 1]
    if letter in _SIMPLE and letter:
        return _SIMPLE[letter], position + 1
    octal = _OCTAL.match(text, position)
    if octal is not None:
        return chr(int(octal[0], 8)), octal.end()
    if letter == "x":
        found = _HEX.match(text, position + 1)
        if found is not None:
            return _character(text, position, int(found[0], 16)), found.end()
    if letter in ("u", "U"):
        length = 4 if letter == "u" else 8
        found = _HEX.match(text, position + 1, position + 1 + length)
        if found is not None and len(found[0]) == length:
            return _character(text, position, int(found[0], 16)), found.end()
    return _no_escape(text, position)


def _character(text: str, position: int, code: int) -> str:
    if code > 0x10FFFF:
        return _no_escape(text, position)
    return chr(code)


def _no_escape(text: str, position: int) -> NoReturn:
    raise ExpressionError(text, position - 1, "no character is written with this escape sequence")
