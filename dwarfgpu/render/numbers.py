"""Numbers, characters and strings as GDB writes them, and the letters of ``print/x``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from attrs import field

from dwarfgpu.errors import UsageError
from dwarfgpu.expr.floats import DOUBLE, SINGLE, X87, FloatFormat, as_float
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from dwarfgpu.encoding.cursor import ByteOrder
    from dwarfgpu.expr.floats import Number


FORMATS = "xduotzfcasr"
"""Hexadecimal, signed, unsigned, octal, binary, padded hexadecimal, float, character, address, string, raw."""
_LAYOUTS = {32: SINGLE, 64: DOUBLE, 80: X87, 128: X87}
"""The formats in which ``/f`` reads integers by their size, as the C types of x86-64."""


def check_format(letter: str | None) -> str | None:
    """Return the letter of a format, or raise the error that there is no such format."""
    if letter is None or letter == "" or (len(letter) == 1 and letter in FORMATS):
        return letter or None
    raise UsageError(f"unknown format {letter!r}", hint=f"the formats are {', '.join(FORMATS)}")


# --- Floating point -----------------------------------------------------------------------------------------------


def float_text(pattern: int, layout: FloatFormat) -> str:
    """Return a number with as many digits as tell it from its neighbours, in the form of ``%g``."""
    sign, _, fraction = layout.fields(pattern)
    minus = "-" if sign else ""
    kind = layout.kind(pattern)
    if kind == "infinite":
        return f"{minus}inf"
    if kind == "nan":
        return f"{minus}nan({fraction:#x})" if fraction else f"{minus}nan"
    return general(layout.exact(pattern), layout.digits)


def general(number: Number, digits: int) -> str:
    """Return a finite number in the form of C's ``%.<digits>g``, rounded correctly at any length."""
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


# --- Formats ------------------------------------------------------------------------------------------------------


def formatted(pattern: int, width: int, letter: str, *, is_signed: bool, layout: FloatFormat | None) -> str:
    """Return a pattern of ``width`` bits in a format that only needs the bits: x, d, u, o, t, z, f, c."""
    if letter == "f":
        layout = layout or _LAYOUTS.get(width)
        if layout is not None:
            return float_text(pattern & ((1 << layout.bit_size) - 1), layout)
        return str(signed(pattern, width) if is_signed else pattern)
    if letter == "c":
        code = (pattern if layout is None else whole(layout.exact(pattern))) & 0xFF
        return f"{signed(code, 8) if is_signed or layout is not None else code} {character(code)}"
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
    """Return a pattern as a two's complement number."""
    return pattern - (1 << width) if width and pattern >> (width - 1) & 1 else pattern


def whole(number: Number) -> int:
    """Return a number as C converts it to a long: truncated, or the nearest long."""
    if isinstance(number, float) and not math.isfinite(number):
        return (1 << 63) - 1 if not number < 0 else -(1 << 63)
    return max(-(1 << 63), min((1 << 63) - 1, math.trunc(number)))


# --- Characters and strings ---------------------------------------------------------------------------------------

_ESCAPES = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 27: "\\033", 92: "\\\\"}
_DIGITS = frozenset("0123456789abcdefABCDEF")


def character(value: int, prefix: str = "", size: int = 1) -> str:
    """Return a character in quotes; ``size`` is that of its type in bytes."""
    return f"{prefix}'{_escaped(value & ((1 << 8 * size) - 1), size, chr(39))}'"


def _escaped(code: int, size: int, quote: str) -> str:
    escape = _ESCAPES.get(code)
    if escape is not None:
        return escape
    is_text = code < 0x80 if size == 1 else code < 0x110000 and not 0xD800 <= code < 0xE000
    if is_text:
        text = chr(code)
        if text == quote:
            return f"\\{text}"
        if text.isprintable():
            return text
    return escapes((code,))


def escapes(codes: Iterable[int]) -> str:
    """Return bytes or wider units as escapes, in octal if three digits are enough."""
    return "".join(f"\\{code:03o}" if code <= 0o777 else f"\\x{code:x}" for code in codes)


@frozen
class _Unit:
    """One character of a string as it is written, or bytes that are no character."""

    text: str
    is_incomplete: bool = field(default=False, kw_only=True)


def string(codes: Sequence[int], size: int, prefix: str, *, limit: int, threshold: int, is_cut: bool = False) -> str:
    """Return a string as GDB shows it: ``"abc", 'x' <repeats 12 times>...``.

    ``limit`` is how many characters are written, with all those of a run; ``is_cut`` says that more follow.
    """
    units = _decoded(codes, size, limit)
    pieces: list[str] = []
    open_text = ""
    written = index = 0
    after_hex = False
    while index < len(units) and written < limit:
        unit = units[index]
        # C would read a digit behind a hexadecimal escape as part of it
        first = escapes((ord(unit.text),)) if after_hex and unit.text in _DIGITS else unit.text
        after_hex = unit.text.startswith("\\x")
        end = index
        while end < len(units) and units[end] == unit:
            end += 1
        count = end - index
        if unit.is_incomplete or count > threshold:
            if open_text:
                pieces.append(f'{prefix}"{open_text}"')
                open_text = ""
            quoted = f"<incomplete sequence {unit.text}>"
            if not unit.is_incomplete:
                text = "\\'" if first == "'" else '"' if first == '\\"' else first
                quoted = f"{prefix}'{text}'"
            repeats = f" <repeats {count} times>" if count > threshold else ""
            pieces.append(quoted + repeats)
        else:
            count = min(count, limit - written)
            open_text += first + unit.text * (count - 1)
        index += count
        written += count
    if open_text or not pieces:
        pieces.append(f'{prefix}"{open_text}"')
    return ", ".join(pieces) + ("..." if is_cut or index < len(units) else "")


def _decoded(codes: Sequence[int], size: int, limit: int) -> list[_Unit]:
    """Return the characters of a string: bytes are UTF-8, units of two bytes UTF-16."""
    if size == 1:
        return _utf8(bytes(code & 0xFF for code in codes))
    units, index = [], 0
    while index < len(codes):
        code = codes[index]
        index += 1
        if size == 2 and 0xD800 <= code < 0xDC00 and index < len(codes) and 0xDC00 <= codes[index] < 0xE000:
            text = chr(0x10000 + ((code - 0xD800) << 10) + codes[index] - 0xDC00)
            units.append(_Unit(text if text.isprintable() else escapes((code, codes[index]))))
            index += 1
            continue
        is_incomplete = size == 2 and 0xD800 <= code < 0xDC00 and index == len(codes)
        units.append(_Unit(_escaped(code & ((1 << 8 * size) - 1), size, '"'), is_incomplete=is_incomplete))
    return units


def _utf8(data: bytes) -> list[_Unit]:
    units = []
    index = 0
    while index < len(data):
        byte = data[index]
        if byte < 0x80:
            units.append(_Unit(_escaped(byte, 1, '"')))
            index += 1
            continue
        length = 2 if byte >> 5 == 6 else 3 if byte >> 4 == 14 else 4 if byte >> 3 == 30 else 0
        piece = data[index : index + length]
        try:
            text = piece.decode("utf-8") if length else ""
        except UnicodeDecodeError:
            text = ""
        if text:
            units.append(_Unit(text if text.isprintable() else escapes(piece)))
            index += length
            continue
        rest = data[index:]
        if 0xC2 <= byte <= 0xFD and _may_go_on(rest):
            units.append(_Unit(escapes(rest), is_incomplete=True))
            break
        units.append(_Unit(escapes(data[index : index + 1])))
        index += 1
    return units


def _may_go_on(rest: bytes) -> bool:
    """Whether bytes begin a character that ends after them; up to six bytes, as UTF-8 once had."""
    first = rest[0]
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4 if first < 0xF8 else 5 if first < 0xFC else 6
    return len(rest) < length and all(byte >> 6 == 2 for byte in rest[1:])


def codes_of(bits: int, count: int, size: int, byte_order: ByteOrder) -> list[int]:
    """Return the characters of an array that was read as one number."""
    data = bits.to_bytes(count * size, byte_order)
    return [int.from_bytes(data[index : index + size], byte_order) for index in range(0, len(data), size)]
