"""Text in 80 columns: labels with wrapped text behind them, and names that a terminal can show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    Style: TypeAlias = Callable[[str, str], str]
    """Puts a text into a style: ``name``, ``number``, ``error``, ``hint``, ``dim`` or ``kind``."""

WIDTH = 80
LABEL = 14


def plain_style(_style: str, text: str) -> str:
    """Text as it is."""
    return text


def shown(text: str) -> str:
    """A name from a file, without what would do something to a terminal."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


LONGEST = 2048
"""A text of a file that is longer is cut where people read it."""


def cut(text: str) -> str:
    """A text that is not too long to be read, nor to be wrapped in no time."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def beside(head: str, lines: Iterable[str], start: int) -> list[str]:
    """Return lines with a head before the first one; the others are indented to the column where that one starts."""
    first, *rest = lines
    return [f"{head}{first}".rstrip(), *(" " * start + line for line in rest)]


def labelled(label: str, text: str, style: Style = plain_style, *, indent: int = 0) -> list[str]:
    """A label and a text behind it, which goes on below itself."""
    width = LABEL - indent
    head = " " * indent + style("name", label) + " " * max(1, width - len(label))
    return beside(head, wrapped(text, WIDTH - LABEL), LABEL)


def wrapped(text: str, width: int = WIDTH) -> list[str]:
    """A text in lines; a long word is left whole."""
    text = shown(text)
    if len(text) <= width:
        return [text.rstrip()]
    import textwrap

    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def packed(parts: Iterable[str], width: int = WIDTH) -> list[str]:
    """Parts side by side in lines; one that is longer than a line is wrapped by itself."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 1 + len(part) <= width:
            lines[-1] += f" {part}"
        else:
            lines += wrapped(part, width)
    return lines


def counted(count: int, noun: str) -> str:
    """``1 unit``, ``2 units``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def range_text(first: int, last: int) -> str:
    """``3``, or ``0-31``."""
    return str(first) if first == last else f"{first}-{last}"


def ranges_text(numbers: Iterable[int]) -> str:
    """Ascending numbers as a short list: ``0-31,40``."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(range_text(first, last) for first, last in found)


def lanes_text(mask: int) -> str:
    """The lanes of a mask: ``lanes 0-31,40``."""
    if not mask:
        return "no lanes"
    lanes = ranges_text(number for number in range(mask.bit_length()) if mask >> number & 1)
    return f"lane{'s' if mask & (mask - 1) else ''} {lanes}"


def paragraphs(texts: Iterable[Iterable[str]]) -> Iterator[str]:
    """Lines of several texts, with an empty line between them."""
    for number, lines in enumerate(texts):
        if number:
            yield ""
        yield from lines


# --- JSON ---------------------------------------------------------------------------------------------------------

DEEPEST = 60


def plain(value: Any, depth: int = 0) -> Any:
    """Records, and what a file holds, as what JSON has: bytes in hex, keys as text, endless numbers as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if depth > DEEPEST:
        return "..."
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {str(key): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return [plain(each, depth + 1) for each in value]
    if not attrs.has(type(value)):
        return str(value)
    return {name: plain(part, depth + 1) for name, part in attrs.asdict(value, recurse=False).items()}


def problem_json(error: Any) -> dict[str, Any]:
    """An error as JSON."""
    where = error.where
    found = {"class": error.error_class, "kind": error.kind, "message": error.message}
    found |= {"section": where.section, "offset": where.offset, "spec": error.spec}
    return {key: value for key, value in found.items() if value is not None}
