"""Numbers and characters as they are written in C and C++."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from dwarfgpu.program.source.errors import ExpressionError
from dwarfgpu.program.source.syntax import Character, Float, Integer

if TYPE_CHECKING:
    from dwarfgpu.program.source.data_model import DataModel
    from dwarfgpu.program.source.syntax import String
    from dwarfgpu.program.source.tokens import Token

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)(\w*)")
_SUFFIXES = frozenset(("", "u", "l", "ul", "lu", "ll", "ull", "llu"))
_DECIMAL = re.compile(r"([\d.]+)(?:[eE]([+-]?\d+))?(\w*)")
_HEX = re.compile(r"0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?\d+)(\w*)")
_FLOAT_SUFFIXES = frozenset(("", "f", "l", "f16", "bf16"))
MAX_DIGITS = 1000
"""The longest number, and the largest exponent, that is read: more than the widest type can hold."""
MAX_EXPONENT = 20_000


def integer(token: Token, text: str) -> Integer:
    """An integer literal."""
    match = _INTEGER.fullmatch(token.text.replace("'", ""))
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
    return Integer(
        value, "".join(sorted(suffix, reverse=True)), digits[0] != "0" or digits == "0", token.position
    )


def floating(token: Token, text: str) -> Float:
    """A floating-point literal, exactly."""
    word = token.text.replace("'", "")
    error = ExpressionError(text, token.position, f"{_cut(token.text)} is not a number")
    if len(word) > MAX_DIGITS:
        raise error
    match = _HEX.fullmatch(word)
    if match is not None:
        whole, part, exponent, suffix = match.groups()
        if not whole + part:
            raise error
        number = Fraction(int(whole + part, 16), 1 << 4 * len(part))
        power, base = int(exponent[:8]), 2
    else:
        match = _DECIMAL.fullmatch(word)
        if match is None or match[1].count(".") > 1 or not any(each.isdigit() for each in match[1]):
            raise error
        number, suffix = Fraction(match[1] if match[1][-1] != "." else match[1] + "0"), match[3]
        power, base = int((match[2] or "0")[:8]), 10
    if suffix.lower() not in _FLOAT_SUFFIXES or abs(power) > MAX_EXPONENT:
        raise error
    number *= Fraction(base) ** power
    return Float(number.numerator, number.denominator, suffix.lower(), token.position)


def character(token: Token, text: str) -> Character:
    """A character literal: one character."""
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
"""The type of the characters of a string, by what stands before it."""


def string_bytes(node: String, model: DataModel) -> tuple[str, bytes]:
    """The bytes of a string with the null character that ends it, and the name of the type of its characters."""
    size = {"": 1, "u8": 1, "u": 2, "U": 4, "L": model.wchar_size}[node.prefix]
    if size == 1:
        return STRINGS[node.prefix], node.value.encode("utf-8", "surrogateescape") + b"\0"
    codes = [ord(each) for each in node.value] if size == 4 else _utf16(node.value)
    return STRINGS[node.prefix], b"".join(code.to_bytes(size, model.byte_order) for code in [*codes, 0])


def _utf16(text: str) -> list[int]:
    data = text.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2)]
