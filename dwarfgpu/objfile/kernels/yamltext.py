"""The part of YAML in which code object V2 metadata is written: LLVM's YamlIO, and what other assemblers make of it.

Block mappings and sequences, flow mappings and sequences, plain and quoted scalars; neither anchors, tags, block
scalars nor scalars of several lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH = 32
MAX_FLOW_LINES = 100
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b", '"': '"',
    "/": "/", "\\": "\\", " ": " ", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}


def parse_yaml(text: str, fail: Callable[[int, str], Exception]) -> Any:
    """Read one document. ``fail`` makes the exception for a line number, counted from 1, and a message."""
    return _Parser(text, fail).document()


class _Parser:
    """The lines that mean something, each with its indentation, and where reading has come to."""

    def __init__(self, text: str, fail: Callable[[int, str], Exception]) -> None:
        self._fail = fail
        self._lines: list[tuple[int, int, str]] = []
        """Number, indentation and text."""
        self._at = 0
        for number, line in enumerate(text.split("\n"), 1):
            content = line.strip(" \t\r")
            if line.startswith("..."):
                break
            if line.startswith("---"):
                content = content[3:].lstrip(" ")
            if content and not content.startswith("#"):
                self._lines.append((number, len(line) - len(line.lstrip(" ")), content))

    def document(self) -> Any:
        if not self._lines:
            return None
        value = self._block(self._lines[0][1], 0)
        if self._at < len(self._lines):
            self._error("the line belongs to nothing before it")
        return value

    def _error(self, message: str) -> NoReturn:
        number = self._lines[min(self._at, len(self._lines) - 1)][0]
        raise self._fail(number, message)

    def _block(self, indent: int, depth: int) -> Any:
        """The mapping, sequence or scalar whose first line has an indentation."""
        if depth > MAX_DEPTH:
            self._error(f"more than {MAX_DEPTH} levels")
        text = self._lines[self._at][2]
        if text == "-" or text.startswith("- "):
            return self._sequence(indent, depth)
        if text[0] not in "[{" and _key_end(text) >= 0:
            return self._mapping(indent, depth)
        return self._inline(text, depth)

    def _sequence(self, indent: int, depth: int) -> list[Any]:
        result = []
        while self._at < len(self._lines):
            number, here, text = self._lines[self._at]
            if here != indent or not (text == "-" or text.startswith("- ")):
                break
            rest = text[1:].lstrip(" ")
            if rest:
                # what follows the dash is a line of its own, indented by where it stands
                inner = here + len(text) - len(rest)
                self._lines[self._at] = (number, inner, rest)
                result.append(self._block(inner, depth + 1))
            else:
                self._at += 1
                result.append(self._nested(indent, depth))
        return result

    def _mapping(self, indent: int, depth: int) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        while self._at < len(self._lines):
            _, here, text = self._lines[self._at]
            if here != indent or text.startswith("- "):
                break
            end = _key_end(text)
            if end < 0:
                self._error("a key and a colon are expected")
            key = self._scalar(text[:end].rstrip(" "))
            value = text[end + 1 :].strip(" ")
            if value and not value.startswith("#"):
                result[key] = self._inline(value, depth + 1)
            else:
                self._at += 1
                result[key] = self._nested(indent, depth, in_mapping=True)
        return result

    def _nested(self, indent: int, depth: int, *, in_mapping: bool = False) -> Any:
        """The block below a key or a dash; None if there is none. A sequence may stand right below its key."""
        if self._at >= len(self._lines):
            return None
        _, here, text = self._lines[self._at]
        if here > indent or (in_mapping and here == indent and text.startswith("- ")):
            return self._block(here, depth + 1)
        return None

    def _inline(self, text: str, depth: int) -> Any:
        """A scalar or flow collection; a collection may go on in the next lines."""
        if text[0] not in "[{":
            value = self._scalar(text)
            self._at += 1
            return value
        first = self._at
        while True:
            value, end = self._flow(text, 0, depth)
            self._at += 1
            if end >= 0:
                break
            if self._at >= min(len(self._lines), first + MAX_FLOW_LINES):
                self._at -= 1
                self._error("a flow collection has no end")
            text = f"{text} {self._lines[self._at][2]}"
        rest = text[end:].strip(" ")
        if rest and not rest.startswith("#"):
            self._at -= 1
            self._error("there is something behind a flow collection")
        return value

    def _flow(self, text: str, start: int, depth: int) -> tuple[Any, int]:
        """A flow collection and where it ends; -1 if the text ends before it does."""
        if depth > MAX_DEPTH:
            self._error(f"more than {MAX_DEPTH} levels")
        close = "]" if text[start] == "[" else "}"
        items: list[Any] = []
        pairs: dict[Any, Any] = {}
        position = start + 1
        while True:
            while position < len(text) and text[position] in " ,":
                position += 1
            if position >= len(text):
                return None, -1
            if text[position] == close:
                return (items if close == "]" else pairs), position + 1
            key: Any = None
            if close == "}":
                end = _scalar_end(text, position, ":")
                key, position = self._scalar(text[position:end].strip(" ")), end + 1
                while position < len(text) and text[position] == " ":
                    position += 1
                if position >= len(text):
                    return None, -1
            if text[position] in "[{":
                value, end = self._flow(text, position, depth + 1)
            else:
                end = _scalar_end(text, position, f",{close}")
                value = self._scalar(text[position:end].strip(" ")) if 0 <= end < len(text) else None
            if end < 0 or end >= len(text):
                return None, -1
            position = end
            if close == "]":
                items.append(value)
            else:
                pairs[key] = value

    def _scalar(self, text: str) -> Any:
        if text.startswith("'"):
            end = _quoted_end(text, 0)
            if end < 0:
                self._error("a quoted scalar has no end")
            return text[1:end].replace("''", "'")
        if text.startswith('"'):
            end = _quoted_end(text, 0)
            if end < 0:
                self._error("a quoted scalar has no end")
            return self._unescaped(text[1:end])
        if text[:1] and text[0] in "&*!|>%@`":
            self._error(f"what begins with {text[0]} is not read here")
        plain = text.split(" #", 1)[0].rstrip(" ")
        if plain in WORDS:
            return WORDS[plain]
        return _number(plain)

    def _unescaped(self, text: str) -> str:
        first, *parts = text.split("\\")
        out = [first]
        skip = False
        for part in parts:
            if skip:  # the backslash before this part was itself escaped
                out.append(part)
                skip = False
            elif not part:
                out.append("\\")
                skip = True
            elif part[0] in HEX_ESCAPES:
                out.append(self._hex(part))
            else:
                out.append(ESCAPES.get(part[0], "\\" + part[0]) + part[1:])
        return "".join(out)

    def _hex(self, part: str) -> str:
        end = 1 + HEX_ESCAPES[part[0]]
        try:
            code = int(part[1:end], 16)
        except ValueError:
            self._error("a hexadecimal escape has no digits")
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            self._error("an escape is no character")
        return chr(code) + part[end:]


def _number(text: str) -> Any:
    """An integer, or the text itself."""
    digits = text.lstrip("+-") if text[:1] in ("+", "-") else text
    base = 16 if digits.startswith("0x") else 8 if digits.startswith("0o") else 10
    if not digits.isascii() or not digits.isalnum() or len(digits) > 32:
        return text
    try:
        return int(text, base)
    except ValueError:
        return text


def _quoted_end(text: str, start: int) -> int:
    """Where the quote that closes a scalar stands; -1 if there is none."""
    quote = text[start]
    position = start + 1
    while position < len(text):
        if quote == '"' and text[position] == "\\":
            position += 2
            continue
        if text[position] == quote:
            if quote == "'" and text[position + 1 : position + 2] == "'":
                position += 2
                continue
            return position
        position += 1
    return -1


def _key_end(text: str) -> int:
    """Where the colon behind a key stands; -1 if the line is no key and value."""
    start = 0
    if text[0] in "'\"":
        start = _quoted_end(text, 0) + 1
        if not start:
            return -1
    position = text.find(":", start)
    while position >= 0:
        if position + 1 == len(text) or text[position + 1] == " ":
            return position
        position = text.find(":", position + 1)
    return -1


def _scalar_end(text: str, start: int, stops: str) -> int:
    """Where a scalar of a flow collection ends: at one of the stops, or at the end of the text."""
    position = start
    if text[start] in "'\"":
        position = _quoted_end(text, start) + 1 or len(text)
    while position < len(text) and text[position] not in stops:
        position += 1
    return position
