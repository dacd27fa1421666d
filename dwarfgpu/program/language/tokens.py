"""The tokens of source expressions: names, numbers, characters, strings, signs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.language.syntax import Character, Float, Integer, SyntaxNode

MAX_LENGTH = 1 << 16
"""The longest text that is read."""

ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "<<=", ">>="))
STEPS = frozenset(("++", "--"))

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<quote>(?:u8|[LuU])?['"])
    |(?P<float>0[xX][0-9a-fA-F']*\.?[0-9a-fA-F']*[pP][+-]?\d+[A-Za-z0-9_]*
        |(?:\d[\d']*\.(?!\.)[\d']*|\.\d[\d']*)(?:[eE][+-]?\d+)?[A-Za-z0-9_]*
        |\d[\d']*[eE][+-]?\d+[A-Za-z0-9_]*)
    |(?P<integer>0[xX][0-9a-fA-F']+\w*|0[bB][01']+\w*|\d[\w']*)
    |(?P<register>\$(?:[fg]s\.base\b|\$?\w*))
    |(?P<name>(?:[A-Za-z_]|[^\x00-\x7f])\w*)
    |(?P<sign><<=|>>=|->\*|\.\.\.|->|\+\+|--|<<|>>|&&|\|\||::|\.\*|[-+*/%&|^<>=!]=|[-+*/%&|^~!<>=?:.,()[\]{}#@])""",
    re.VERBOSE,
)
"""The kinds of tokens. A name with a dollar is also ``$``, ``$$`` or ``$$3`` of GDB's value history."""


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
        match = _TOKEN.match(text, position)
        if match is None:
            raise ExpressionError(text, position, f"unexpected character {text[position]!r}")
        if match["quote"]:
            words.append(_quoted(text, position, match[0][:-1], match[0][-1]))
        elif match["space"] is None:
            words.append(Token(match.lastgroup or "", match[0], position))
        position = match.end() if match["quote"] is None else words[-1].end
    words.append(Token("end", "", len(text)))
    return words


def split_at_commas(text: str, brackets: str) -> Iterator[str]:
    """Yield the parts of a text between its commas; not those within brackets, such as ``([)]``."""
    half = len(brackets) // 2
    start = depth = 0
    for place, letter in enumerate(f"{text},"):
        depth += (letter in brackets[:half]) - (letter in brackets[half:])
        if letter == "," and depth <= 0:
            yield text[start:place]
            start = place + 1


def is_assignment(text: str) -> bool:
    """Return whether an expression assigns something."""
    return any(word.kind == "sign" and word.text in ASSIGNMENTS | STEPS for word in tokens(text))


# --- Characters and strings ---------------------------------------------------------------------------------------

_SIMPLE = {
    "a": "\a", "b": "\b", "e": "\033", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "'": "'", '"': '"', "\\": "\\", "?": "?",
}  # fmt: skip
_UNIT = re.compile(
    r"""\\(?:(?P<simple>[abefnrtv'"\\?])|(?P<octal>[0-7]{1,3})
    |[xuU](?P<hex>(?<=x)[0-9a-fA-F]+|(?<=u)[0-9a-fA-F]{4}|(?<=U)[0-9a-fA-F]{8}))|[^\\]""",
    re.VERBOSE,
)


def _quoted(text: str, start: int, prefix: str, quote: str) -> Token:
    kind = "character" if quote == "'" else "string"
    position = start + len(prefix) + 1
    value = ""
    while position < len(text) and text[position] != quote:
        unit = _UNIT.match(text, position)
        if unit is None or int(unit["hex"] or "0", 16) > 0x10FFFF:
            raise ExpressionError(text, position, "unknown escape sequence")
        code = int(unit["hex"], 16) if unit["hex"] else int(unit["octal"] or "0", 8)
        value += chr(code) if unit["hex"] or unit["octal"] else _SIMPLE.get(unit["simple"], unit[0])
        position = unit.end()
    if position == len(text):
        raise ExpressionError(text, start, f"the {kind} has no end", hint=f"close it with {quote}")
    return Token(kind, text[start : position + 1], start, value, prefix)


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

    @property
    def name(self) -> str:
        return next(iter(re.findall(r"\w+", self.text[self.position :])), "")


# --- Literals of C and C++ ----------------------------------------------------------------------------------------

_INTEGER_LITERAL = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)(\w*)")
_SUFFIXES = frozenset(("", "u", "l", "ul", "lu", "ll", "ull", "llu"))
_DECIMAL = re.compile(r"([\d.]+)(?:[eE]([+-]?\d+))?(\w*)")
_HEX_PARTS = re.compile(r"0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?\d+)(\w*)")
_FLOAT_SUFFIXES = frozenset(("", "f", "l", "f16", "bf16"))
MAX_DIGITS = 1000
"""The longest number, and the largest exponent, that is read: more than the widest type can hold."""
MAX_EXPONENT = 20_000


def literal(token: Token, text: str) -> SyntaxNode:
    """Parse the literal that a token is."""
    return {"integer": integer, "float": floating, "character": character}[token.kind](token, text)


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
    return Integer(token.position, value, "".join(sorted(suffix, reverse=True)), digits[0] != "0" or digits == "0")


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
    return Float(token.position, number.numerator, number.denominator, suffix.lower())


def character(token: Token, text: str) -> Character:
    """Parse a character literal, which has one character."""
    if len(token.value) != 1:
        raise ExpressionError(text, token.position, f"{_cut(token.text)} is not one character")
    code = ord(token.value)
    if not token.prefix and code > 0xFF:
        message = f"{_cut(token.text)} does not fit a char"
        raise ExpressionError(text, token.position, message, hint=f"write L{token.text}")
    return Character(token.position, code, token.prefix)


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
