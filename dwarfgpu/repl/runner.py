"""Runs what was typed, and shows what is wrong with it: whatever happens in a command, the next one can be typed."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dwarfgpu.commands.debugger import Quit
from dwarfgpu.commands.scripts import joined
from dwarfgpu.errors import DwarfGpuError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.repl.terminal import Session, Terminal

OK, FAILED, INTERRUPTED = 0, 1, 130


class Runner:
    """Runs lines in a debugger. Errors are shown, and are a status."""

    def __init__(self, session: Session, debugger: Debugger, terminal: Terminal) -> None:
        self.session = session
        self.debugger = debugger
        self.terminal = terminal
        self._can_interrupt = False

    def run(self, text: str) -> int:
        """Run a line, or several that belong together; the first that fails ends them. Return the exit status."""
        debugger = self.debugger
        lines, further = joined(text.split("\n")), debugger.next_line

        def next_line(prompt: str) -> str | None:
            found = next(lines, None)
            return further(prompt) if found is None and further is not None else found

        def run_all() -> None:
            for line in lines:
                debugger.execute(line)

        debugger.next_line = next_line
        try:
            return self.guarded(run_all)
        finally:
            debugger.next_line = further

    def guarded(self, action: Callable[[], object]) -> int:
        """Do something; what goes wrong is shown. Return the exit status."""
        try:
            self.terminal.begin()
            action()
        except DwarfGpuError as error:
            return self._report(error)
        except (Quit, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 (an error of ours must not take away what the user looks at)
            return self._report_ours(error)
        finally:
            self.terminal.end()
        return OK

    def _report(self, error: DwarfGpuError) -> int:
        if self.debugger.settings["debug"]:
            self._show_traceback(error)
        return self.session.report(error)

    def _report_ours(self, error: Exception) -> int:
        hint = "this is a defect of dwarfgpu; `set debug on` shows where, when the command is repeated"
        if self.debugger.settings["debug"]:
            self._show_traceback(error)
            hint = "this is a defect of dwarfgpu; the traceback tells where"
        message = f"internal error: {type(error).__name__}: {error}"
        self.session.report(DwarfGpuError("internal", message, hint=hint))
        return FAILED

    def _show_traceback(self, error: Exception) -> None:
        from traceback import format_exception

        self.session.out.flush()
        self.session.err.write("".join(format_exception(error)))

    # --- ^C -------------------------------------------------------------------------------------------------------

    def interruptible(self, text: str) -> int:
        """Run what was typed; ^C ends it."""
        self._can_interrupt = True
        try:
            return self.run(text)
        except KeyboardInterrupt:
            self.session.out.flush()
            self.session.err.write("Quit\n")
            return INTERRUPTED
        finally:
            self._can_interrupt = False

    @contextmanager
    def interrupts(self) -> Iterator[None]:
        """^C ends a command, and nothing else."""

        def interrupted(_number: int, _frame: Any) -> None:
            if self._can_interrupt:
                raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, interrupted)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
