"""The prompt of the debugger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError

if TYPE_CHECKING:
    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.repl.start import Session

PROMPT = "(dwarfgpu) "


class Prompt:
    """Asks for lines and runs them until the user leaves."""

    def __init__(self, session: Session, debugger: Debugger, *, quiet: bool) -> None:
        from prompt_toolkit import PromptSession

        self.session = session
        self.debugger = debugger
        self.quiet = quiet
        self.prompt: PromptSession[str] = PromptSession()
        debugger.next_line = self._next_line

    def _next_line(self, prompt: str) -> str | None:
        try:
            return self.prompt.prompt(prompt)
        except EOFError:
            return None

    def run(self) -> int:
        """Run lines; return the exit status."""
        while True:
            try:
                line = self._next_line(PROMPT)
                if line is None:
                    return 0
                self.debugger.execute(line)
            except KeyboardInterrupt:  # ends the command, never the prompt
                continue
            except DwarfGpuError as error:
                if self.debugger.settings["debug"]:
                    raise
                self.session.report(error)
