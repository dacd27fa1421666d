"""Text as it is written: what could steer a terminal is escaped, and only styles of this program are colours.

A name in a file may hold escape sequences, and names are everywhere: types, symbols, paths, sections. So everything is
escaped where it is written, by `SafeStream`. Ends of lines must pass there; `shown` escapes those of a name where a
text is made, so that a name cannot look like a line of ours. Styles must pass: `styled` marks
them with a number that no file knows, and `written` turns exactly these marks into escape sequences. What the user
has typed, as the text of ``echo``, passes as well: `own` marks it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, Literal, TypeAlias

from dwarfgpu import progress, regular_files
from dwarfgpu.errors import UsageError

StyleName: TypeAlias = Literal["plain", "name", "number", "kind", "error", "warning", "note", "hint", "dim"]
STYLES: dict[StyleName, tuple[str, str]] = {
    "plain": ("", ""),
    "name": ("1;36", "variable"),
    "number": ("33", "variable"),
    "kind": ("32", "function"),
    "error": ("1;31", "highlight"),
    "warning": ("1;33", "highlight"),
    "note": ("", ""),
    "hint": ("36", "metadata"),
    "dim": ("2", "metadata"),
}
"""The styles of texts: SGR codes for terminals, none where a text stays plain, and the style of GDB (``set style``)."""

_KEY = str(int.from_bytes(os.urandom(8), "little"))
"""Is in every mark of this process."""
_UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # all control characters but the ends of lines and tabs
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e007f\ud800-\udfff"  # what has no width or changes the order, and halves of characters
)
_MARKS = re.compile(rf"\x1b\[{_KEY}(?:;([0-9;]*)m|:([0-9]+)u)")
_SPECIAL = re.compile(rf"{_MARKS.pattern}|([{_UNSAFE}])")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ASCII_CONTROL = bytes([number for number in range(128) if _CONTROL.match(chr(number))])


def styled(codes: str, text: str) -> str:
    """Return a text in the style of some SGR codes, such as ``1;36``; without codes it stays plain."""
    return text if not codes else f"\x1b[{_KEY};{codes}m{text}\x1b[{_KEY};0m"


def own(text: str) -> str:
    """Return a text that the user has typed, or a program of the user has written: it may steer the terminal."""
    return _CONTROL.sub(lambda match: f"\x1b[{_KEY}:{ord(match[0])}u", text)


def written(text: str) -> str:
    """Return a text as it may be written to a terminal."""
    if text.isascii() and len(text.encode().translate(None, _ASCII_CONTROL)) == len(text):
        return text  # which is found in a quarter of the time of a regular expression
    return _SPECIAL.sub(_replaced, text)


def without_styles(text: str) -> str:
    """Return a text without styles, as it appears on a screen."""
    return _MARKS.sub(lambda match: "" if match[2] is None else chr(int(match[2])), text) if "\x1b" in text else text


def _replaced(match: re.Match[str]) -> str:
    if match[3] is not None:
        return match[3].encode("unicode_escape").decode()
    return f"\x1b[{match[1]}m" if match[2] is None else chr(int(match[2]))


class SafeStream:
    """A stream to which texts are written escaped. What cannot be written is an error of one line."""

    def __init__(self, raw: Any, *, has_answers: bool = False) -> None:
        self.raw = raw
        """The stream itself, for what moves the cursor of the terminal."""
        self.has_answers = has_answers
        """Whether answers are written to it, which are of no use when a file is lost that they are about."""

    def write(self, text: str) -> int:
        """Write a text."""
        if progress.shown is not None:
            progress.shown.clear()
        if self.has_answers and regular_files.lost:
            regular_files.check_lost()
        try:
            self.raw.write(written(text))
        except OSError as error:
            self._fail(error)
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        """Write some texts."""
        for text in texts:
            self.write(text)

    def flush(self) -> None:
        """Write what waits to be written."""
        try:
            self.raw.flush()
        except OSError as error:
            self._fail(error)

    def isatty(self) -> bool:
        return self._is_terminal

    @cached_property
    def _is_terminal(self) -> bool:
        return bool(self.raw.isatty())  # a call of the system, which would take longer than to write a line

    @property
    def width(self) -> int | None:
        """The columns of the terminal, or those that COLUMNS asks for; None if neither is known."""
        columns = 0
        if self.isatty():
            with suppress(OSError, ValueError):  # it has no file, or no size
                columns = os.get_terminal_size(self.fileno()).columns
        if not columns:
            asked = os.environ.get("COLUMNS", "")
            columns = int(asked) if asked.isdecimal() else 0
        return max(columns, 20) if columns else None

    @property
    def fold(self) -> int | None:
        """The columns of a terminal, which no line exceeds; None where a line may have any length."""
        return self.width if self.isatty() else None

    def fileno(self) -> int:
        return int(self.raw.fileno())

    def _fail(self, error: OSError) -> None:
        if isinstance(error, BrokenPipeError):
            raise error
        silence(self.raw)
        raise UsageError(f"output cannot be written: {error.strerror or error}", kind="unwritable") from None


@contextmanager
def may_be_left(stream: Any) -> Iterator[None]:
    """Write an answer whose reader, such as ``head``, may leave: the exit status is that of the whole answer."""
    try:
        yield
    except BrokenPipeError:
        silence(stream)


def silence(stream: Any) -> None:
    """Point a stream that cannot be written at nothing, so that closing it at exit cannot fail."""
    try:
        number = stream.fileno()
    except (OSError, ValueError):  # it has no file
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, number)
    os.close(nothing)
