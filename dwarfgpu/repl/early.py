"""The first prompt, which is there before the editor of lines is: to import that takes longer than all before it."""

from __future__ import annotations

import os
import sys
import termios
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TextIO

PROMPT = "(dwarfgpu) "
DUMB = ("dumb", "unknown")


def is_dumb() -> bool:
    """Whether the terminal cannot move its cursor."""
    return os.environ.get("TERM", "dumb") in DUMB


class FirstPrompt:
    """Shows the prompt. Keys that are typed now wait, unseen, for whoever reads them as an editor does."""

    def __init__(self, screen: TextIO) -> None:
        self._screen = screen
        self._before: list[Any] | None = None

    def show(self) -> None:
        """Show it; the terminal keeps keys."""
        file = sys.stdin.fileno()
        self._before = termios.tcgetattr(file)
        waiting = termios.tcgetattr(file)
        waiting[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(file, termios.TCSANOW, waiting)
        if not is_dumb():
            self._screen.write(PROMPT)
        self._screen.flush()

    def hand_over(self) -> None:
        """Take it away: what comes instead, and the prompt of the editor below that, stand in its place."""
        if not is_dumb():
            self._screen.write("\r\x1b[K")
            self._screen.flush()

    def end(self) -> None:
        """The terminal is as it was before."""
        if self._before is not None:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)
            self._before = None
