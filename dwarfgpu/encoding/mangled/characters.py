"""The characters of a mangled name, one after the other."""

from __future__ import annotations

import re

from dwarfgpu.encoding.mangled.trees import NotUnderstood

MAX_DEPTH = 120

_NUMBER = re.compile(r"\d+")


class Characters:
    """A place in a mangled name, behind its first two letters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.index = 2
        self.depth = 0

    def peek(self, count: int = 1) -> str:
        return self.text[self.index : self.index + count]

    def accept(self, text: str) -> bool:
        found = self.text.startswith(text, self.index)
        self.index += len(text) * found
        return found

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise NotUnderstood

    def take(self) -> str:
        self.index += 1
        return self.text[self.index - 1 : self.index]

    def number(self) -> int:
        match = _NUMBER.match(self.text, self.index)
        if match is None or len(match[0]) > 9:
            raise NotUnderstood
        self.index = match.end()
        return int(match[0])

    def sequence(self, base: int) -> int:
        """``_`` is 0, ``0_`` is 1."""
        if self.accept("_"):
            return 0
        end = self.text.find("_", self.index)
        digits = self.text[self.index : end]
        if (
            end < 0
            or not digits.isalnum()
            or not digits.isascii()
            or len(digits) > 6
            or digits != digits.upper()
        ):
            raise NotUnderstood
        self.index = end + 1
        try:
            return int(digits, base) + 1
        except ValueError:
            raise NotUnderstood from None

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NotUnderstood
