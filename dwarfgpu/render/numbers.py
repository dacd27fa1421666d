"""Numbers as GDB writes them: floating point with all the digits its format has, and the letters of ``print/x``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.expr.floats import DOUBLE, SINGLE, X87, FloatFormat, as_float
from dwarfgpu.render.characters import character

if TYPE_CHECKING:
    from fractions import Fraction

    from dwarfgpu.expr.floats import Number

FORMATS = "xduotzfcasr"
"""Hexadecimal, signed, unsigned, octal, binary, padded hexadecimal, float, character, address, string, raw."""
_LAYOUTS = {32: SINGLE, 64: DOUBLE, 80: X87, 128: X87}
"""The formats that ``/f`` reads integers of some size in, as the C types of x86-64 are."""


def check_format(letter: str | None) -> str | None:
    """A format's letter, or the error that there is no such format."""
    if letter is None or letter == "" or (len(letter) == 1 and letter in FORMATS):
        return letter or None
    message = f"there is no format {letter!r}"
    raise UsageError(message, hint=f"the formats are {', '.join(FORMATS)}")


# --- Floating point -----------------------------------------------------------------------------------------------


def float_text(pattern: int, layout: FloatFormat) -> str:
    """A number with as many digits as tell it from its neighbours, as ``%g`` lays them out."""
    sign, _, fraction = layout.fields(pattern)
    minus = "-" if sign else ""
    kind = layout.kind(pattern)
    if kind == "infinite":
        return f"{minus}inf"
    if kind == "nan":
        payload = fraction
        return f"{minus}nan({payload:#x})" if payload else f"{minus}nan"
    return general(layout.exact(pattern), layout.digits)


def general(number: Number, digits: int) -> str:
    """A finite number as C's ``%.<digits>g``, correctly rounded however long it is."""
    from fractions import Fraction  # which costs start-up time

    if not number:
        return "-0" if isinstance(number, float) and math.copysign(1.0, number) < 0 else "0"
    if digits <= 17 and as_float(number) == number:
        return _trimmed(f"{as_float(number):.{digits}g}")
    exact = abs(Fraction(number))
    power = _magnitude(exact)
    scaled = exact / Fraction(10) ** (power - digits + 1)
    steps = round(scaled)
    if steps >= 10**digits:
        steps //= 10
        power += 1
    text = str(steps)
    sign = "-" if number < 0 else ""
    if -4 <= power < digits:
        if power < 0:
            return sign + _trimmed(f"0.{'0' * (-power - 1)}{text}")
        return sign + _trimmed(f"{text[: power + 1]}.{text[power + 1 :]}")
    mantissa = _trimmed(f"{text[0]}.{text[1:]}")
    return f"{sign}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02}"


def _magnitude(exact: Fraction) -> int:
    """The power of ten of the first digit."""
    from fractions import Fraction

    bits = exact.numerator.bit_length() - exact.denominator.bit_length()
    power = math.floor(bits * 0.30102999566398120) - 1
    while Fraction(10) ** (power + 1) <= exact:
        power += 1
    while Fraction(10) ** power > exact:
        power -= 1
    return power


def _trimmed(text: str) -> str:
    head, letter, exponent = text.partition("e")
    if "." in head:
        head = head.rstrip("0").rstrip(".")
    return f"{head}{letter}{exponent}"


# --- The letters --------------------------------------------------------------------------------------------------


def formatted(pattern: int, width: int, letter: str, *, is_signed: bool, layout: FloatFormat | None) -> str:
    """A pattern of ``width`` bits by one of the letters that need nothing but the bits: x, d, u, o, t, z, f, c."""
    if letter == "f":
        return _as_float(pattern, width, is_signed=is_signed, layout=layout)
    if letter == "c":
        return _as_character(pattern, width, is_signed=is_signed, layout=layout)
    if letter == "x":
        return f"{pattern:#x}"
    if letter == "z":
        return f"0x{pattern:0{(width + 7) // 8 * 2}x}"
    if letter == "o":
        return f"0{pattern:o}" if pattern else "0"
    if letter == "t":
        return f"{pattern:b}"
    if letter == "d":
        return str(signed(pattern, width))
    return str(pattern)


def signed(pattern: int, width: int) -> int:
    """A pattern as two's complement."""
    return pattern - (1 << width) if width and pattern >> (width - 1) & 1 else pattern


def _as_float(pattern: int, width: int, *, is_signed: bool, layout: FloatFormat | None) -> str:
    layout = layout or _LAYOUTS.get(width)
    if layout is not None:
        return float_text(pattern & ((1 << layout.bit_size) - 1), layout)
    return str(signed(pattern, width) if is_signed else pattern)


def _as_character(pattern: int, width: int, *, is_signed: bool, layout: FloatFormat | None) -> str:
    if layout is not None:
        pattern, is_signed = whole(layout.exact(pattern)), True
    code = pattern & 0xFF
    return f"{signed(code, 8) if is_signed else code} {character(code)}"


def whole(number: Number) -> int:
    """A number as C converts it to a long: cut, and the nearest one where it does not fit."""
    if isinstance(number, float) and not math.isfinite(number):
        return (1 << 63) - 1 if not number < 0 else -(1 << 63)
    return max(-(1 << 63), min((1 << 63) - 1, math.trunc(number)))
