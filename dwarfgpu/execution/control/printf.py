"""What kernels print: the records that `printf` leaves in its buffer, written as C writes them.

clang has two forms. OpenCL's records have the number of a format in the metadata, then the arguments with the sizes
that the metadata gives (LLVM 22, AMDGPUPrintfRuntimeBinding). HIP's (``-mprintf-kind=buffered``) have a control word
with the size, then the hash of a format in the metadata, or the format itself, then arguments of 8 bytes each (LLVM 22,
AMDGPUEmitPrintf).
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from io import BytesIO
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from dwarfgpu.execution.launch.dispatch import UNWRITTEN

if TYPE_CHECKING:
    from dwarfgpu.objfile.kernels.metadata import PrintfFormat

_SPECIFIER = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d*))?"
    r"(?P<vector>v(?:2|3|4|8|16))?(?P<length>hh|hl|h|ll|l|j|z|t|L)?(?P<letter>[diouxXcspfFeEgGaAn%])"
)
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\a": "\a", r"\b": "\b", r"\f": "\f", r"\v": "\v", r"\72": ":"}
"""What LLVM writes with a backslash; others are those of the program."""
_ESCAPE = re.compile("|".join(map(re.escape, _ESCAPES)))
_BYTES = {"hh": 1, "h": 2, "hl": 4, "l": 8, "ll": 8, "j": 8, "z": 8, "t": 8}
_HEAD = 8
MAX_WIDTH = 4096
UNCERTAIN = "[clang stores a %s of 4, 8, ... characters without its end: the arguments may be others]\n"
"""What follows a line of OpenCL's printf whose arguments cannot be told apart."""


def printed(memory: bytes, formats: tuple[PrintfFormat, ...]) -> Iterator[str]:
    """Yield the texts that the buffer of a launch has, and one that says what was lost, if something was."""
    if len(memory) < _HEAD:
        return
    used, size = struct.unpack_from("<II", memory)
    known = {each.id: each for each in formats if not _is_hashed(each)}
    hashed = dict(filter(None, map(_hash_and_format, formats)))
    end = min(_HEAD + used, size, len(memory))
    position = _HEAD
    while position + 4 <= end:
        if hashed or not known:
            text, position = _of_hip(memory, position, end, hashed)
        else:
            text, position = _of_opencl(memory, position, end, known)
        if text is None:
            break
        yield text
    if _HEAD + used > size:
        yield f"\n[{_HEAD + used - size} bytes of printf did not fit its buffer of {size} bytes]\n"


def _is_hashed(entry: PrintfFormat) -> bool:
    return entry.id == 0


def _hash_and_format(entry: PrintfFormat) -> tuple[int, str] | None:
    hash_, comma, text = entry.format.partition(",")
    if not _is_hashed(entry) or not comma or not re.fullmatch(r"[0-9a-fA-F]{1,16}", hash_):
        return None
    return int(hash_, 16), text


def _of_opencl(memory: bytes, position: int, end: int, known: dict[int, PrintfFormat]) -> tuple[str | None, int]:
    (number,) = struct.unpack_from("<I", memory, position)
    entry = known.get(number)
    if entry is None and memory[position : position + 4] != 4 * UNWRITTEN:
        return f"[the metadata does not describe printf {number}: later output is not shown]\n", end
    position += 4
    if entry is None or position + sum(entry.sizes) > end:
        return None, end
    data = memory[position : position + sum(entry.sizes)]
    text = unescaped(entry.format)
    specifiers = [match for match in _SPECIFIER.finditer(text) if match["letter"] != "%"]
    parts = ((match["width"], match["precision"], match["letter"]) for match in specifiers)
    letters = [each for part in parts for each in part if each in ("*", part[2])]
    padding = entry.sizes[-1] // 4 if specifiers and specifiers[-1]["vector"] == "v3" else 0
    written = data[: len(data) - padding]
    missing = (len(written) - len(written.rstrip(UNWRITTEN))) // 4
    fields = [*zip_longest(entry.sizes, letters[: len(entry.sizes)])]
    if missing > letters.count("s"):  # the lane has not written all of it
        return "", position + len(data)
    stream = BytesIO(data)
    whole = [stream.read(size) for size in entry.sizes]
    found = [*islice(_values(data, fields, missing), 2)] or [whole] * 2 if missing else [whole]
    return formatted(text, found[0]) + UNCERTAIN * (len(found) > 1), position + len(data)


def _values(data: bytes, fields: list[tuple[int, str | None]], missing: int) -> Iterator[list[bytes]]:
    """Yield the arguments of a record of OpenCL in each way that leaves some of its last dwords unwritten.

    clang 16 to 22 store a constant string whose length is a multiple of 4 without its NUL, for which the metadata has
    room; the next argument follows at once.
    """
    if not fields:
        yield from [] if missing else [[]]
        return
    (size, letter), *others = fields
    if letter == "s" and size > 4 and missing and 0 not in data[: size - 4]:
        for rest in _values(data[size - 4 :], others, missing - 1):
            yield [data[: size - 4], *rest]
    text, nul, zeros = data[max(size - 4, 0) : size].partition(b"\0")
    is_whole = 0 not in data[: size - 4] and nul and (text or size == 4) and not any(zeros)
    if letter != "s" or is_whole:
        for rest in _values(data[size:], others, missing):
            yield [data[:size], *rest]


def _of_hip(memory: bytes, position: int, end: int, hashed: dict[int, str]) -> tuple[str | None, int]:
    (control,) = struct.unpack_from("<I", memory, position)
    is_constant, size = control & 2, control >> 2
    following = position + size
    if size < 4 or following > end:
        return None, end
    data = memory[position + 4 : following]
    if not is_constant:
        return formatted_words(data), following
    text = hashed.get(int.from_bytes(data[:8], "little"))
    return (None, end) if text is None else (formatted_words(data[8:], text), following)


def formatted_words(data: bytes, text: str | None = None) -> str:
    """Return a text with its arguments of 8 bytes each; if there is no text, it is in front of them."""
    at = 0
    if text is None:
        text, at = _inline_text(data, 0)
    values: list[bytes] = []
    for match in _SPECIFIER.finditer(text):
        if match["letter"] == "%":
            continue
        for star in (match["width"], match["precision"]):
            if star == "*":
                values.append(data[at : at + 8])
                at += 8
        if match["letter"] == "s":
            string, at = _inline_text(data, at)
            values.append(string.encode("latin-1") + b"\0")
            continue
        values.append(data[at : at + 8])
        at += 8
    return formatted(text, values)


def _inline_text(data: bytes, at: int) -> tuple[str, int]:
    """Return a string with its end, which is rounded up to 8 bytes."""
    end = data.find(b"\0", at)
    end = len(data) if end < 0 else end
    return data[at:end].decode("latin-1"), at + (end - at + 8) // 8 * 8


def unescaped(text: str) -> str:
    """Return a format of the metadata, in which LLVM has replaced what its own reader does not take."""
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)


# --- C's formats --------------------------------------------------------------------------------------------------


def formatted(text: str, values: list[bytes]) -> str:
    """Return a text with its arguments, given as bytes, as C's `printf` and OpenCL's vectors write them."""
    left = iter(values)
    parts, at = [], 0
    for match in _SPECIFIER.finditer(text):
        parts.append(text[at : match.start()])
        at = match.end()
        if match["letter"] == "%":
            parts.append("%")
            continue
        flags, width, precision = match["flags"], match["width"], match["precision"]
        if width == "*":
            number = _signed(next(left, b""))
            flags, width = (f"-{flags}", str(-number)) if number < 0 else (flags, str(number))
        if precision == "*":
            number = _signed(next(left, b""))
            precision = None if number < 0 else str(number)
        data = next(left, None)
        if data is None:
            parts.append(match.group())
            continue
        if match["letter"] == "n":
            continue
        sizes = min(int(width or 0), MAX_WIDTH), None if precision is None else min(int(precision or 0), MAX_WIDTH)
        length = match["length"] or ""
        if match["vector"]:
            count = int(match["vector"][1:])
            size = len(data) // (4 if count == 3 else count)
            elements = [data[index * size : (index + 1) * size] for index in range(count)]
            parts.append(",".join(_one(match["letter"], flags, *sizes, length, each) for each in elements))
        else:
            parts.append(_one(match["letter"], flags, *sizes, length, data))
    parts.append(text[at:])
    return "".join(parts)


def _signed(data: bytes) -> int:
    return int.from_bytes(data[:4], "little", signed=True)


def _one(letter: str, flags: str, width: int, precision: int | None, length: str, data: bytes) -> str:
    if letter == "s":
        string = data.partition(b"\0")[0].decode("utf-8", "backslashreplace")
        return _padded(string if precision is None else string[:precision], flags.replace("0", ""), width)
    if letter == "c":
        return _padded(chr(data[0] if data else 0), flags.replace("0", ""), width)
    if letter == "p":
        number = int.from_bytes(data, "little")
        return _padded(f"{number:#x}" if number else "(nil)", flags.replace("0", ""), width)
    if letter in "fFeEgGaA":
        return _float(letter, flags, width, precision, _number(data))
    size = min(_BYTES.get(length, 4), len(data)) or 1
    number = int.from_bytes(data[:size], "little", signed=letter in "di")
    return _integer(letter, flags, width, precision, number)


def _number(data: bytes) -> float:
    kinds: dict[int, Any] = {2: "<e", 4: "<f", 8: "<d"}
    kind = kinds.get(len(data))
    return 0.0 if kind is None else float(struct.unpack(kind, data)[0])


def _padded(text: str, flags: str, width: int, sign: str = "") -> str:
    if "-" in flags:
        return (sign + text).ljust(width)
    if "0" in flags:
        return sign + text.rjust(width - len(sign), "0")
    return (sign + text).rjust(width)


def _integer(letter: str, flags: str, width: int, precision: int | None, number: int) -> str:
    digits = format(abs(number), {"o": "o", "x": "x", "X": "X"}.get(letter, "d"))
    if precision is not None:
        digits = "" if precision == 0 and number == 0 else digits.rjust(precision, "0")
        flags = flags.replace("0", "")
    prefix = ""
    if letter in "di":
        prefix = "-" if number < 0 else "+" if "+" in flags else " " if " " in flags else ""
    elif "#" in flags and letter == "o" and not digits.startswith("0"):
        digits = f"0{digits}"
    elif "#" in flags and letter in "xX" and number:
        prefix = f"0{letter}"
    return _padded(digits, flags, width, prefix)


def _float(letter: str, flags: str, width: int, precision: int | None, number: float) -> str:
    sign = "-" if math.copysign(1.0, number) < 0 else "+" if "+" in flags else " " if " " in flags else ""
    number = abs(number)
    if not math.isfinite(number):
        text = "nan" if math.isnan(number) else "inf"
        return _padded(text.upper() if letter.isupper() else text, flags.replace("0", ""), width, sign)
    if letter in "aA":
        text = _hexadecimal(number, precision, has_point="#" in flags)
        sign, text = f"{sign}{text[:2]}", text[2:]
        if letter == "A":
            sign, text = sign.upper(), text.upper()
        return _padded(text, flags, width, sign)
    places = 6 if precision is None else precision
    return _padded(f"%{'#' if '#' in flags else ''}.{places}{letter}" % number, flags, width, sign)


def _hexadecimal(number: float, precision: int | None, *, has_point: bool) -> str:
    """Return a number as ``%a`` writes it: one hexadecimal digit before the point, 13 at most behind it."""
    mantissa, exponent = 0, 0
    if number:
        (bits,) = struct.unpack("<Q", struct.pack("<d", number))
        fraction, biased = bits & (1 << 52) - 1, bits >> 52
        mantissa, exponent = (fraction | 1 << 52, biased - 1023) if biased else (fraction, -1022)
    digits = 13
    if precision is not None and precision < 13:
        cut = 4 * (13 - precision)
        half, rest = 1 << cut - 1, mantissa & (1 << cut) - 1
        mantissa >>= cut
        mantissa += rest > half or (rest == half and mantissa & 1)
        digits = precision
    fraction_text = format(mantissa & (1 << 4 * digits) - 1, f"0{digits}x") if digits else ""
    fraction_text = fraction_text.rstrip("0") if precision is None else fraction_text.ljust(precision, "0")
    point = "." if fraction_text or has_point else ""
    return f"0x{mantissa >> 4 * digits:x}{point}{fraction_text}p{exponent:+d}"
