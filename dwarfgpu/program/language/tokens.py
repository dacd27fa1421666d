"""The tokens of source expressions: names, numbers, characters, strings, signs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.language.syntax import Character, Float, Integer, StringLiteral

if TYPE_CHECKING:
    from dwarfgpu.program.language.operands import DataModel


MAX_LENGTH = 1 << 16
"""The longest text that is read."""

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
_NAME = re.compile(r"(?:[A-Za-z_]|[^\x00-\x7f])\w*")
_REGISTER = re.compile(r"\$(?:[fg]s\.base\b|\$?\w*)")
"""Names with a dollar; also ``$``, ``$$`` and ``$$3`` of GDB's value history."""
_HEX_FLOAT = re.compile(r"0[xX][0-9a-fA-F']*\.?[0-9a-fA-F']*[pP][+-]?\d+[A-Za-z0-9_]*")
_FLOAT = re.compile(
    r"(?:\d[\d']*\.(?!\.)[\d']*|\.\d[\d']*)(?:[eE][+-]?\d+)?[A-Za-z0-9_]*"
    r"|\d[\d']*[eE][+-]?\d+[A-Za-z0-9_]*"
)
_INTEGER = re.compile(r"0[xX][0-9a-fA-F']+\w*|0[bB][01']+\w*|\d[\w']*")
_QUOTE = re.compile(r"(u8|[LuU])?(['\"])")


@frozen
class Token:
    """One token."""

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
    """Split an expression into tokens; the last one is the end."""
    if len(text) > MAX_LENGTH:
        message = f"an expression of {len(text)} characters is longer than {MAX_LENGTH}"
        raise ExpressionError(text[:MAX_LENGTH], 0, message)
    words: list[Token] = []
    position = 0
    while position < len(text):
        space = _SPACE.match(text, position)
        if space is not None:
            position = space.end()
            continue
        token = _next(text, position)
        words.append(token)
        position = token.end
    words.append(Token("end", "", len(text)))
    return words


def is_assignment(text: str) -> bool:
    """Return whether an expression assigns something."""
    return any(word.kind == "sign" and word.text in ASSIGNMENTS | STEPS for word in tokens(text))


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
    raise ExpressionError(text, position, f"unexpected character {text[position]!r}")


# --- Characters and strings ---------------------------------------------------------------------------------------

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
    raise ExpressionError(text, start, f"the {what} has no end", hint=f"close it with {quote}")


def _escape(text: str, position: int) -> tuple[str, int]:
    """Return the character of an escape sequence, and the position after it."""
    letter = text[position : position + 1]
    if letter in _SIMPLE and letter:
        return _SIMPLE[letter], position + 1
    octal = _OCTAL.match(text, position)
    if octal is not None:
        return chr(int(octal[0], 8)), octal.end()
    if letter == "x":
        digits = _HEX.match(text, position + 1)
        if digits is not None:
            return _character(text, position, int(digits[0], 16)), digits.end()
    if letter in ("u", "U"):
        length = 4 if letter == "u" else 8
        digits = _HEX.match(text, position + 1, position + 1 + length)
        if digits is not None and len(digits[0]) == length:
            return _character(text, position, int(digits[0], 16)), digits.end()
    return _no_escape(text, position)


def _character(text: str, position: int, code: int) -> str:
    if code > 0x10FFFF:
        return _no_escape(text, position)
    return chr(code)


def _no_escape(text: str, position: int) -> NoReturn:
    raise ExpressionError(text, position - 1, "unknown escape sequence")


# --- Errors -------------------------------------------------------------------------------------------------------

SHORT = 60
"""The length up to which messages quote an expression."""


class ExpressionError(UsageError):
    """The error of a source expression that cannot be read. ``column`` counts from 1."""

    def __init__(self, text: str, position: int, message: str, *, hint: str | None = None) -> None:
        self.text = text
        self.position = position
        what = "the expression" if len(text) > SHORT or not text.isprintable() else repr(text)
        shown = f"{message}, at column {position + 1} of {what}"
        UsageError.__init__(self, shown, hint=hint, kind="bad_expression")

    @property
    def column(self) -> int:
        return self.position + 1


class UnknownName(ExpressionError, KeyError):
    """A name that means nothing at a place."""


# --- Literals of C and C++ ----------------------------------------------------------------------------------------

_INTEGER_LITERAL = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)(\w*)")
_SUFFIXES = frozenset(("", "u", "l", "ul", "lu", "ll", "ull", "llu"))
_DECIMAL = re.compile(r"([\d.]+)(?:[eE]([+-]?\d+))?(\w*)")
_HEX_PARTS = re.compile(r"0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?\d+)(\w*)")
_FLOAT_SUFFIXES = frozenset(("", "f", "l", "f16", "bf16"))
MAX_DIGITS = 1000
"""The longest number, and the largest exponent, that is read: more than the widest type can hold."""
MAX_EXPONENT = 20_000


def integer(token: Token, text: str) -> Integer:
    """Parse an integer literal."""
    match = _INTEGER_LITERAL.fullmatch(token.text.replace("'", ""))
    suffix = "" if match is None else match[2].lower()
    if match is None or suffix not in _SUFFIXES or len(match[1]) > MAX_DIGITS:
        raise ExpressionError(text, token.position, f"{_cut(token.text)} is not a number")
    digits = match[1]
    if digits[:2].lower() == "0b":
        value = int(digits, 2)
    elif digits[:2].lower() == "0x":
        value = int(digits, 16)
    elif digits[0] == "0" and len(digits) > 1:
        if not set(digits) <= set("01234567"):
            raise ExpressionError(text, token.position, f"{_cut(token.text)} is not an octal number")
        value = int(digits, 8)
    else:
        value = int(digits)
    return Integer(value, "".join(sorted(suffix, reverse=True)), digits[0] != "0" or digits == "0", token.position)


def floating(token: Token, text: str) -> Float:
    """Parse a floating-point literal, exactly."""
    from fractions import Fraction

    word = token.text.replace("'", "")
    error = ExpressionError(text, token.position, f"{_cut(token.text)} is not a number")
    if len(word) > MAX_DIGITS:
        raise error
    match = _HEX_PARTS.fullmatch(word)
    if match is not None:
        whole, part, exponent, suffix = match.groups()
        if not whole + part:
            raise error
        number = Fraction(int(whole + part, 16), 1 << 4 * len(part))
        power, base = int(exponent[:8]), 2
    else:
        match = _DECIMAL.fullmatch(word)
        if match is None or match[1].count(".") > 1 or not any(letter.isdigit() for letter in match[1]):
            raise error
        number, suffix = Fraction(match[1] if match[1][-1] != "." else match[1] + "0"), match[3]
        power, base = int((match[2] or "0")[:8]), 10
    if suffix.lower() not in _FLOAT_SUFFIXES or abs(power) > MAX_EXPONENT:
        raise error
    number *= Fraction(base) ** power
    return Float(number.numerator, number.denominator, suffix.lower(), token.position)


def character(token: Token, text: str) -> Character:
    """Parse a character literal, which has one character."""
    if len(token.value) != 1:
        raise ExpressionError(text, token.position, f"{_cut(token.text)} is not one character")
    code = ord(token.value)
    if not token.prefix and code > 0xFF:
        message = f"{_cut(token.text)} does not fit a char"
        raise ExpressionError(text, token.position, message, hint=f"write L{token.text}")
    return Character(code, token.prefix, token.position)


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


STRINGS = {"": "char", "u8": "char8_t", "u": "char16_t", "U": "char32_t", "L": "wchar_t"}
"""The type of the characters of a string, by its prefix."""


def string_bytes(node: StringLiteral, model: DataModel) -> tuple[str, bytes]:
    """Return the type name of a string's characters, and its bytes with the null character at the end."""
    size = {"": 1, "u8": 1, "u": 2, "U": 4, "L": model.wchar_size}[node.prefix]
    if size == 1:
        return STRINGS[node.prefix], node.value.encode("utf-8", "surrogateescape") + b"\0"
    codes = [ord(letter) for letter in node.value] if size == 4 else _utf16(node.value)
    return STRINGS[node.prefix], b"".join(code.to_bytes(size, model.byte_order) for code in [*codes, 0])


def _utf16(text: str) -> list[int]:
    data = text.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2)]
