"""Characters and strings as C writes them: quotes, escapes, runs of one character folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dwarfgpu.encoding.cursor import ByteOrder

_ESCAPES = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 27: "\\033", 92: "\\\\"}
_DIGITS = frozenset("0123456789abcdefABCDEF")


def character(value: int, prefix: str = "", size: int = 1) -> str:
    """One character in quotes; ``size`` is that of its type in bytes."""
    return f"{prefix}'{_escaped(value & ((1 << 8 * size) - 1), size, chr(39))}'"


def _escaped(code: int, size: int, quote: str) -> str:
    found = _ESCAPES.get(code)
    if found is not None:
        return found
    is_text = code < 0x80 if size == 1 else code < 0x110000 and not 0xD800 <= code < 0xE000
    if is_text:
        text = chr(code)
        if text == quote:
            return f"\\{text}"
        if text.isprintable():
            return text
    return escapes((code,))


def escapes(codes: Iterable[int]) -> str:
    """Bytes or wider units as escapes: octal as far as three digits go."""
    return "".join(f"\\{code:03o}" if code <= 0o777 else f"\\x{code:x}" for code in codes)


class _Unit:
    """One character of a string as it is written, or bytes that are none."""

    __slots__ = ("is_incomplete", "text")

    def __init__(self, text: str, *, is_incomplete: bool = False) -> None:
        self.text = text
        self.is_incomplete = is_incomplete

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Unit) and other.text == self.text and other.is_incomplete == self.is_incomplete
        )

    def __hash__(self) -> int:
        return hash(self.text)


def string(
    codes: Sequence[int], size: int, prefix: str, *, limit: int, threshold: int, is_cut: bool = False
) -> str:
    """A string: ``"abc", 'x' <repeats 12 times>...``.

    ``limit`` is how many characters are written, a run counting in full; ``is_cut`` says that there are more behind.
    """
    units = _decoded(codes, size, limit)
    pieces: list[str] = []
    open_text = ""
    written = index = 0
    after_hex = False
    while index < len(units) and written < limit:
        unit = units[index]
        first = _behind_hex(unit.text) if after_hex else unit.text
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


def _behind_hex(text: str) -> str:
    """A character behind a hexadecimal escape, of which a digit would become a part."""
    return escapes((ord(text),)) if text in _DIGITS else text


def _decoded(codes: Sequence[int], size: int, limit: int) -> list[_Unit]:
    """The characters of a string: bytes are UTF-8, units of two bytes UTF-16."""
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
    """Whether bytes are the beginning of a character that ends behind them; up to six bytes, as once in UTF-8."""
    first = rest[0]
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4 if first < 0xF8 else 5 if first < 0xFC else 6
    return len(rest) < length and all(byte >> 6 == 2 for byte in rest[1:])


def codes_of(bits: int, count: int, size: int, byte_order: ByteOrder) -> list[int]:
    """The characters of an array that was read as one number."""
    data = bits.to_bytes(count * size, byte_order)
    return [int.from_bytes(data[index : index + size], byte_order) for index in range(0, len(data), size)]
