"""Progress of what takes long: one line on a terminal, from the second on in which it has not ended."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.cli.session import Session

DELAY = 1.0
"""Seconds after which it appears."""
INTERVAL = 0.1
"""Seconds between two changes."""
BAR = 30


class Progress:
    """Shows how much of something is done, where standard error is a terminal."""

    def __init__(
        self, session: Session, noun: str, total: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.noun = noun
        self.total = total
        self.done = 0
        self._stream = session.err
        self._clock = clock
        self._next = clock() + DELAY if session.err.isatty() else float("inf")
        self._is_shown = False

    def advance(self, count: int) -> None:
        """Say that some more are done."""
        self.done += count
        now = self._clock()
        if now < self._next:
            return
        self._next = now + INTERVAL
        self._is_shown = True
        share = min(1.0, self.done / self.total) if self.total else 1.0
        filled = int(share * BAR)
        bar = "#" * filled + "." * (BAR - filled)
        self._stream.write(f"\r[{bar}] {self.done:,} of {self.total:,} {self.noun}\x1b[K")
        self._stream.flush()

    def clear(self) -> None:
        """Take the line away, before something else is written to the terminal."""
        if self._is_shown:
            self._is_shown = False
            self._stream.write("\r\x1b[K")
            self._stream.flush()
