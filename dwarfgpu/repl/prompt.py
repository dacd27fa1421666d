"""The prompt of the debugger: an editor of lines with completion, history and colours."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth

from dwarfgpu.repl.completer import CommandCompleter, NameReader
from dwarfgpu.repl.early import PROMPT, keys_wait
from dwarfgpu.repl.history import LinesOfFile
from dwarfgpu.repl.keys import bindings
from dwarfgpu.repl.styles import STYLE, CommandColors
from dwarfgpu.repl.toolbar import toolbar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dwarfgpu.repl.early import FirstPrompt
    from dwarfgpu.repl.runner import Runner


T = TypeVar("T")

IDLE = 0.1
"""Seconds that the editor has to show itself before names are read."""


class Prompt:
    """Asks for lines and runs them until the user leaves."""

    def __init__(self, runner: Runner, **streams: Any) -> None:
        """``streams`` are the input and the output of the editor, where they are not those of the terminal."""
        self.runner = runner
        self.debugger = runner.debugger
        self.history = LinesOfFile(self.debugger.settings)
        self._first: FirstPrompt | None = None
        self._toolbar = ""
        self._loop = asyncio.new_event_loop()
        self._busy = threading.RLock()
        """Is held by whoever asks the program: a command, which the full screen is too, or a thread for completion."""
        self._names = NameReader(self.debugger, self._busy)
        self.session: PromptSession[str] = PromptSession(
            history=self.history,
            completer=CommandCompleter(self.debugger, self._busy),
            complete_while_typing=False,
            complete_in_thread=True,
            auto_suggest=AutoSuggestFromHistory(),
            lexer=CommandColors(),
            style=STYLE,
            include_default_pygments_style=False,
            bottom_toolbar=lambda: self._toolbar,
            multiline=True,
            prompt_continuation=lambda width, _line, wraps: "" if wraps else f"{'>':>{width - 1}} ",
            key_bindings=bindings(runner.interrupts),
            enable_open_in_editor=True,
            enable_suspend=True,
            reserve_space_for_menu=6,
            **streams,
        )
        self.session.app.ttimeoutlen = 0.05  # a single escape is known sooner
        self.debugger.settings.watchers.append(self._changed)
        for name in ("editing-mode", "style enabled"):
            self._changed(name)

    def _changed(self, name: str) -> None:
        if name == "editing-mode":
            is_vi = self.debugger.settings[name] == "vi"
            self.session.editing_mode = EditingMode.VI if is_vi else EditingMode.EMACS
        elif name == "style enabled":
            depth = None if self.runner.terminal.has_colors else ColorDepth.DEPTH_1_BIT
            self.session.color_depth = depth

    def run(self, first: FirstPrompt | None = None) -> int:
        """Run lines until the user leaves; return the exit status. The first prompt may be there already."""
        self._first = first
        self.debugger.typed += reversed(self.history.lines())
        if first is not None:
            first.hand_over()
            self._run(self.debugger.tell_watchers)
        while True:
            text = self._ask()
            if text is None:
                return 0
            if text.strip():
                self.debugger.typed.append(text)
            self._run(partial(self.runner.execute, text))

    def _run(self, action: Callable[[], object]) -> None:
        def alone() -> None:
            with self._busy:
                action()

        self.runner.interruptible(alone)

    def close(self) -> None:
        """Read no more keys, and no more names."""
        self._names.close()
        self.history.trim()
        self._loop.close()

    def _ask(self) -> str | None:
        """A line, or several that belong together; None when the user leaves."""
        with self._busy:
            self._toolbar = toolbar(self.debugger, self.runner.terminal.size()[0])
        self._loop.call_later(IDLE, self._names.start)
        while True:
            try:
                return self._edited(PROMPT)
            except KeyboardInterrupt:  # what was typed is not run
                continue
            except EOFError:
                return None

    def _edited(self, prompt: str) -> str:
        self.runner.session.out.flush()
        self.runner.session.err.flush()
        try:
            text = self.wait_for(self.session.prompt_async(prompt, handle_sigint=False))
            if self._is_interrupted():
                self.runner.interrupts.remember()
            return text
        finally:
            if self._first is not None:
                self._first.end()
                self._first = None

    def _is_interrupted(self) -> bool:
        """Whether ^C was typed behind the line already; keys before it are dropped."""
        keys = self.session.input
        with keys_wait():  # one that comes from now on sends its signal
            waiting = [*get_typeahead(keys), *keys.read_keys()]
        waiting = [each for each in waiting if each.key is not Keys.CPRResponse]  # where the cursor was
        last = max((place for place, each in enumerate(waiting) if each.key is Keys.ControlC), default=-1)
        store_typeahead(keys, waiting[last + 1 :])
        return last >= 0

    def wait_for(self, keys: Coroutine[Any, Any, T]) -> T:
        """Let an editor read keys.

        One loop serves all of them: a new one for each would be left to the collector of garbage, and a ^C that arrives
        while that works is lost.
        """
        return self._loop.run_until_complete(keys)

    def next_line(self, prompt: str) -> str | None:
        """A further line of a command; None when the user leaves."""
        try:
            return self._edited(prompt)
        except EOFError:
            return None

    def show_full_screen(self) -> None:
        """Show the full screen until the user leaves it."""
        from dwarfgpu.repl.tui import FullScreen

        FullScreen(self.runner, self.session).run(self.wait_for)
