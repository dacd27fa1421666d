"""Launches in the words of a user: the sizes of grids and work-groups, and the values of arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|\d+)", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?|[+-]?(?:inf|nan)", re.ASCII)
_BYTES = re.compile(r"bytes:((?:[0-9a-fA-F]{2})*)")
_NAMED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
MAX_DIGITS = 400
"""Of a number in the words of a command: Python needs long for very many."""


def number(text: str, what: str) -> int:
    """A number in decimal, or as 0x10; ``what`` is what messages call it."""
    if not _INTEGER.fullmatch(text) or len(text) > MAX_DIGITS:
        raise UsageError(f"{what} {text[:40]!r} is no number", hint="write it in decimal, or as 0x10")
    return int(text, 0) if "x" in text.lower() else int(text)


def sizes(text: str, what: str) -> tuple[int, ...]:
    """``X``, ``X,Y`` or ``X,Y,Z``."""
    return tuple(number(part.strip(), what) for part in text.split(","))


def arguments(texts: Sequence[str] | None, what: str) -> Any:
    """Values of arguments: by name where they have one, as in ``n=5``, else by position; None without any."""
    if not texts:
        return None
    named = [_NAMED.fullmatch(text) for text in texts]
    if not any(named):
        return [value(text, what) for text in texts]
    values: dict[str, Any] = {}
    for text, match in zip(texts, named, strict=True):
        if match is None:
            hint = "write NAME=VALUE for each"
            raise UsageError(f"{what} {text[:40]!r} has no name and others have", hint=hint)
        if match[1] in values:
            raise UsageError(f"{what} {match[1]} is given twice")
        values[match[1]] = value(match[2], what)
    return values


def value(text: str, what: str) -> Any:
    """A number, or bytes."""
    match = _BYTES.fullmatch(text)
    if match:
        return bytes.fromhex(match[1])
    if _INTEGER.fullmatch(text):
        return number(text, what)
    if _FLOAT.fullmatch(text):
        return float(text)
    hint = "write a number, such as 5, 0x10 or 1.5, or bytes:0a0b"
    raise UsageError(f"{what} {text[:40]!r} is no value", hint=hint)
