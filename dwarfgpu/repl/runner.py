"""The runner of lines in a debugger, and what ^C does to it."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, is_interrupt
from dwarfgpu.questions.debugger import Debugger
from dwarfgpu.questions.document import INTERRUPTED, OK
from dwarfgpu.questions.scripts import joined
from dwarfgpu.repl.terminal import Terminal, errors_are_ours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dwarfgpu.repl.terminal import Session


class Runner:
    """Runs lines in a debugger; an error is shown and becomes a status."""

    def __init__(self, session: Session, debugger: Debugger, terminal: Terminal) -> None:
        self.session = session
        self.debugger = debugger
        self.terminal = terminal
        self.interrupts = Interrupts()
        self.prompt: Any = None
        """The line editor, once `prompt_of` has made it."""

    def close(self) -> None:
        """Release the terminal and the log."""
        self.debugger.log.close()
        if self.prompt is not None:
            self.prompt.close()
            self.prompt = None

    def is_confirmed(self, question: str) -> bool:
        """Ask the user; the end of input means no."""
        self.session.out.flush()
        try:
            while True:
                answer = self.terminal.ask(f"{question} (y or n) ").strip().lower()
                if answer[:1] in ("y", "n"):
                    return answer[0] == "y"
        except EOFError:
            return False

    def run(self, text: str) -> int:
        """Run lines and show errors; return the exit status."""
        return self.guarded(partial(self.execute, text))

    def execute(self, text: str) -> None:
        """Run a line, or several that belong together, up to the first error."""
        debugger = self.debugger
        lines, further = joined(text.split("\n")), debugger.next_line

        def next_line(prompt: str) -> str | None:
            line = next(lines, None)
            return further(prompt) if line is None and further is not None else line

        debugger.next_line = next_line
        try:
            for line in lines:
                debugger.execute(line)
        finally:
            debugger.next_line = further

    def guarded(self, action: Callable[[], object]) -> int:
        """Do something and show errors; return the exit status."""
        try:
            self.terminal.begin()
            with errors_are_ours():
                action()
        except DwarfGpuError as error:
            if self.debugger.settings["debug"]:
                from traceback import format_exception

                self.session.out.flush()
                self.session.err.write("".join(format_exception(error)))
            return self.session.report(error)
        finally:
            self.terminal.end()
        return OK

    def interruptible(self, action: Callable[[], object]) -> int:
        """Do the same as `guarded`, and let ^C end it."""
        try:
            with self.interrupts.raised():
                return self.guarded(action)
        except BaseException as error:
            if not is_interrupt(error):
                raise
            self.session.out.flush()
            self.session.err.write("Quit\n")
            return INTERRUPTED


# --- ^C -----------------------------------------------------------------------------------------------------------


class Interrupts:
    """What ^C does: it is kept for the next command while keys are edited, and ends a command that runs."""

    def __init__(self) -> None:
        self._has_come = False

    @contextmanager
    def remembered(self) -> Iterator[None]:
        """Remember ^C for the next command."""
        # a handler, because programs that are started inherit a signal that is ignored
        with _handled_by(self.remember):
            yield

    def remember(self, *_signal: Any) -> None:
        self._has_come = True

    def forget(self) -> None:
        """Drop a ^C that was for an earlier command."""
        self._has_come = False

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Raise `KeyboardInterrupt` for ^C, at once if it has come already."""
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
