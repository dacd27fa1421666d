"""The line that shows how much is done of what takes long.

It is on standard error, only where that is a terminal, not before a second has passed, and it is taken away at the end
and before anything else is written. A face says where it is shown (`show_on`); without that nothing is.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    T = TypeVar("T")

DELAY = float("inf") if os.environ.get("DWARFGPU_PROGRESS") == "off" else 1.0
"""Seconds after which it appears. Tests of what commands write turn it off: they must not depend on the load."""
INTERVAL = 0.1
"""Seconds between two changes."""
BAR = 30

_stream: IO[str] | None = None
"""The terminal that it is shown on."""
is_announced = False
"""Whether there is no terminal, so that what takes many seconds is a line of standard error (`announce`)."""
announced: set[str] = set()
"""The lines that were written by this command."""
shown: Progress | None = None
"""What is on the terminal now, which is to be taken away before something else is written."""
_current: Progress | None = None
"""The outermost task that has begun; others within it show nothing."""


def show_on(stream: IO[str] | None) -> None:
    """Show progress on a stream from now on, if it is a terminal."""
    global _stream, _current, shown  # noqa: PLW0603 (there is one terminal)
    _stream = stream if stream is not None and stream.isatty() else None
    _current = shown = None


def is_watched() -> bool:
    """Return whether a user sees the progress, and can end what takes too long."""
    return _stream is not None


def announce(text: str, *, is_warning: bool = False) -> None:
    """Write a warning, or a line about what takes many seconds where no terminal shows progress; the same line once."""
    if (is_announced or (is_warning and is_watched())) and text not in announced:
        announced.add(text)
        if shown is not None:
            shown.clear()
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


class Progress:
    """How many of some things are done; ``total`` is 0 where it is not known."""

    def __init__(
        self, noun: str, total: int = 0, stream: IO[str] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.noun = noun
        self.total = total
        self.done = 0
        self.note = ""
        """What else is said behind the count."""
        self._stream = stream
        self._clock = clock
        self._next = float("inf") if stream is None else clock() + DELAY

    def advance(self, count: int = 1) -> None:
        """Say that some more are done."""
        self.done += count
        if self._stream is None:
            return
        now = self._clock()
        if now < self._next:
            return
        from shutil import get_terminal_size

        global shown  # noqa: PLW0603 (there is one terminal)
        self._next = now + INTERVAL
        shown = self
        text = f"{self.done:,}{f' of {self.total:,}' if self.total else ''} {self.noun}{self.note}"
        width = get_terminal_size().columns - 1  # a line that is full goes on in the next one
        bar = min(BAR, width - len(text) - len("[] "))
        if self.total and bar > 0:
            filled = int(min(1.0, self.done / self.total) * bar)
            text = f"[{'#' * filled}{'.' * (bar - filled)}] {text}"
        self._stream.write(f"\r{text[:width]}\x1b[K")
        self._stream.flush()

    def clear(self) -> None:
        """Take the line away."""
        global shown  # noqa: PLW0603 (there is one terminal)
        if shown is self and self._stream is not None:
            shown = None
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def end(self) -> None:
        """Take the line away for good."""
        global _current  # noqa: PLW0603 (there is one terminal)
        self.clear()
        if _current is self:
            _current = None


def begin(noun: str, total: int = 0) -> Progress:
    """Begin to show how many of some things are done; `Progress.end` ends it."""
    global _current  # noqa: PLW0603 (there is one terminal)
    if _stream is None or _current is not None:
        return Progress(noun, total)
    _current = Progress(noun, total, _stream)
    return _current


def counted(items: Iterable[T], noun: str, total: int = 0) -> Iterator[T]:
    """Yield items, and show how many of them have been worked on."""
    if _stream is None:
        yield from items
        return
    progress = begin(noun, total)
    try:
        for item in items:
            yield item
            progress.advance()
    finally:
        progress.end()
