"""^C: it ends the command that runs. What comes between a line and its command ends that before it begins."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Interrupts:
    """What the signal of ^C does. While keys are edited it does nothing: ^C is one of them."""

    def __init__(self) -> None:
        self._has_come = False

    @contextmanager
    def remembered(self) -> Iterator[None]:
        """Remember it for the next command."""
        # a handler, because what is ignored would be ignored by programs that are run, too
        with _handled_by(self.remember):
            yield

    def remember(self, *_signal: Any) -> None:
        """It has come."""
        self._has_come = True

    def forget(self) -> None:
        """It was about something that is over."""
        self._has_come = False

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Raise `KeyboardInterrupt`, at once if it has come already."""
        with _handled_by(signal.default_int_handler):
            if self._has_come:
                self._has_come = False
                raise KeyboardInterrupt
            yield


@contextmanager
def _handled_by(handler: Any) -> Iterator[None]:
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
