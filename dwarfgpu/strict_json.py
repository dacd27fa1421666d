"""Strict reading of JSON: every value knows its path, and an unknown key is an error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from dwarfgpu.errors import DwarfGpuError, MalformedFile, Unread
from dwarfgpu.immutable import immutable

MAX_INTEGER_BITS = 8192
"""Wider integers are refused; the widest register there is has 2048 bits."""

MAX_WARNINGS = 20
"""So many unknown keys are named."""

_INTEGER = re.compile(r"-?(0[xX][0-9a-fA-F]+|[0-9]+)")


class NotACase(MalformedFile):
    """A case is not well-formed. A well-formed case may still ask something that has no answer."""

    def __init__(self, path: str, why: str, *, hint: str | None = None) -> None:
        MalformedFile.__init__(self, "not_a_case", f"{path}: {why}" if path else why, hint=hint)
        self.path = path
        self.line: int | None = None

    def in_line(self, number: int) -> NotACase:
        """Add the number of the line that holds the case."""
        self.line = number
        self.at(section=f"line {number}")
        return self


@immutable
class Node:
    """A JSON value and its path, such as ``context.memory[0].address``."""

    value: Any
    path: str = ""

    def fail(self, why: str, *, hint: str | None = None) -> NotACase:
        return NotACase(self.path, why, hint=hint)

    def _expected(self, what: str) -> NotACase:
        return self.fail(f"{what} is needed, found {kind_of(self.value)}")

    def integer(self) -> int:
        """Return an integer: a number, or a string such as ``"0x10"`` or ``"-3"``."""
        value = self.value
        if type(value) is str:
            value = parse_integer(value)
            if value is None:
                raise self.fail("this string is not an integer", hint='write 16, "16" or "0x10"')
        elif type(value) is not int:
            raise self._expected("an integer")
        if value.bit_length() > MAX_INTEGER_BITS:
            raise self.fail(f"the integer has more than {MAX_INTEGER_BITS} bits")
        return value

    def unsigned(self, bits: int = 64, *, at_least: int = 0, below: int | None = None) -> int:
        value = self.integer()
        limit = 1 << bits if below is None else below
        if not at_least <= value < limit:
            raise self.fail(f"{value:#x} is not in the range from {at_least} to {limit - 1:#x}")
        return value

    def signed(self, bits: int = 64) -> int:
        value = self.integer()
        if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise self.fail(f"{value:#x} does not fit a signed integer of {bits} bits")
        return value

    def pattern(self, bits: int) -> int:
        """Return the pattern of an integer that is given as signed or unsigned."""
        value = self.integer()
        if not -(1 << (bits - 1)) <= value < 1 << bits:
            raise self.fail(f"{value:#x} does not fit {bits} bits")
        return value & ((1 << bits) - 1)

    def boolean(self) -> bool:
        if type(self.value) is not bool:
            raise self._expected("true or false")
        return self.value

    def string(self) -> str:
        if type(self.value) is not str:
            raise self._expected("a string")
        return self.value

    def choice(self, choices: Iterable[str]) -> str:
        """Return a word, which must be one of the choices."""
        word = self.string()
        known = list(choices)
        if word not in known:
            raise self.fail(f"{word!r} is not one of {', '.join(known)}")
        return word

    def bytes(self) -> bytes:
        """Return bytes, given as hex digits without a prefix."""
        data = parse_hex(self.string())
        if data is None:
            raise self.fail("this string is not an even number of hex digits")
        return data

    @property
    def is_object(self) -> bool:
        return type(self.value) is dict

    @property
    def is_list(self) -> bool:
        return type(self.value) is list

    def items(self) -> list[Node]:
        """Return the elements of an array."""
        if type(self.value) is not list:
            raise self._expected("an array")
        return [Node(value, f"{self.path}[{i}]") for i, value in enumerate(self.value)]

    def entries(self) -> Iterator[tuple[Node, Node]]:
        """Yield the keys and values of an object whose keys are data. A key has the path of its value."""
        if type(self.value) is not dict:
            raise self._expected("an object")
        for key, value in self.value.items():
            path = self._below(key)
            yield Node(key, path), Node(value, path)

    def fields(
        self, required: Iterable[str] = (), optional: Iterable[str] = (), warnings: list[DwarfGpuError] | None = None
    ) -> dict[str, Node]:
        """Return the values of an object by key; unknown and missing keys are errors, or unknown ones ``warnings``."""
        if type(self.value) is not dict:
            raise self._expected("an object")
        needed = list(required)
        known = [*needed, *optional]
        unknown = [key for key in self.value if key not in known]
        if unknown and warnings is None:
            raise NotACase(self._below(unknown[0]), "unknown key", hint=f"known: {', '.join(known)}")
        for key in needed:
            if key not in self.value:
                raise self.fail(f"the key {key!r} is missing")
        if warnings is not None:
            for key in unknown[: MAX_WARNINGS - len(warnings)]:
                where = self._below(key)
                warnings.append(Unread("unknown_key", f"{where}: this key is not known", hint=_meant(key, known)))
        return {key: Node(value, self._below(key)) for key, value in self.value.items() if key in known}

    def _below(self, key: str) -> str:
        shown = key if len(key) <= 80 else f"{key[:77]}..."
        return f"{self.path}.{shown}" if self.path else shown


def _meant(key: str, known: list[str]) -> str:
    """Return the known key that looks like a key, or all of them."""
    from difflib import get_close_matches

    near = get_close_matches(key[:80], known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"


def parse_integer(text: str) -> int | None:
    """Return the number that a string denotes, or None if it is not a number or is too long."""
    if _INTEGER.fullmatch(text) is None:
        return None
    if "x" in text or "X" in text:
        return int(text, 16)
    return int(text) if len(text) <= MAX_INTEGER_BITS // 3 else None


def parse_hex(text: str) -> bytes | None:
    """Return the bytes that hex digits denote, or None."""
    try:
        data = bytes.fromhex(text)
    except ValueError:
        return None
    return data if 2 * len(data) == len(text) else None  # no blanks between the digits


def kind_of(value: object) -> str:
    """Return the name of the type of a JSON value, for a message."""
    kinds = {type(None): "null", bool: "a boolean", str: "a string", list: "an array", dict: "an object"}
    return kinds.get(type(value), "a number")


def parse(text: str) -> object:
    """Return the JSON value in a text; raise `NotACase` for invalid JSON or a key that an object has twice."""
    import json

    text = text.removeprefix("\ufeff")  # a byte order mark, which some editors write
    try:
        return json.loads(text, object_pairs_hook=unique_object, parse_constant=_refuse)
    except RecursionError:
        raise NotACase("", "it is nested too deeply") from None
    except ValueError as error:
        raise NotACase("", f"it is not JSON: {error}") from error


def _refuse(word: str) -> None:
    raise NotACase("", f"{word} is not JSON")


def unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of a JSON text (``object_pairs_hook``); a key that is given twice is an error."""
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise NotACase("", f"the key {key[:80]!r} is given twice in one object")
        values[key] = value
    return values
