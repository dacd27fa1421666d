"""``llvm-mc --disassemble``, which reads bytes as hexadecimal text: what it is given, and what it writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "llvm-mc"
OPTIONS = ("--disassemble", "--show-encoding")
WORD = 4
"""It passes over so many bytes that are no instruction."""

_BYTE = "0x%02x "
_WRITTEN = re.compile(r"\t(.*?)\s*; encoding: \[((?:0x[0-9a-f]{2},?)+)\]")
_INVALID = re.compile(r":1:(\d+): warning: (?:invalid|potentially undefined) instruction encoding")


def input_text(code: bytes) -> bytes:
    """Code as it reads it: on one line, so that the column of a warning says the byte."""
    return "".join(_BYTE % each for each in code).encode()


def as_objdump(written: str, warnings: str, code: bytes, address: int) -> str:
    """What it has written, as ``llvm-objdump`` writes it: with the addresses, and with bytes that are no code."""
    return "\n".join(_lines(written, warnings, code, address))


def _lines(written: str, warnings: str, code: bytes, address: int) -> Iterator[str]:
    size = len(_BYTE % 0)
    invalid = {(int(column) - 1) // size for column in _INVALID.findall(warnings)}
    at = 0
    for text, encoding in [*_WRITTEN.findall(written), ("", "")]:
        while at in invalid:
            word = int.from_bytes(code[at : at + WORD], "little")
            yield _line(f".long {word:#010x}", address + at, WORD)
            at += WORD
        if not text:
            break
        length = len(encoding.split(","))
        yield _line(text, address + at, length)
        at += length


def _line(text: str, address: int, length: int) -> str:
    return f"\t{text} // {address:012X}:{' 00000000' * (length // WORD)}"
