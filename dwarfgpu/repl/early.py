"""The terminal while no editor has it, and the first prompt: to import the editor takes longer than all before it."""

from __future__ import annotations

import os
import sys
import termios
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

PROMPT = "(dwarfgpu) "
DUMB = ("dumb", "unknown")


def is_dumb() -> bool:
    """Whether the terminal cannot move its cursor."""
    return os.environ.get("TERM", "dumb") in DUMB


@contextmanager
def keys_wait() -> Iterator[None]:
    """Keys that are typed wait, unseen, for whoever reads them as an editor does; but ^C sends its signal."""
    try:
        file = sys.stdin.fileno()
        before, waiting = termios.tcgetattr(file), termios.tcgetattr(file)
    except (OSError, ValueError, termios.error):  # keys come from somewhere else
        yield
        return
    waiting[3] = (waiting[3] & ~(termios.ECHO | termios.ICANON)) | termios.ISIG
    termios.tcsetattr(file, termios.TCSANOW, waiting)
    try:
        yield
    finally:
        termios.tcsetattr(file, termios.TCSANOW, before)


class FirstPrompt:
    """Shows the prompt; keys wait for the editor."""

    def __init__(self, screen: TextIO) -> None:
        self._screen = screen
        self._mode = ExitStack()

    def show(self) -> None:
        """Show it."""
        self._mode.enter_context(keys_wait())
        self._write(PROMPT)

    def hand_over(self) -> None:
        """Take it away: what comes instead, and the prompt of the editor below that, stand in its place."""
        self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        if not is_dumb():
            self._screen.write(text)
        self._screen.flush()

    def end(self) -> None:
        """The terminal is as it was before."""
        self._mode.close()
