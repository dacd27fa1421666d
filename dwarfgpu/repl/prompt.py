"""The prompt of the debugger: a line editor with keys, history, a status line and completion."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.enums import DEFAULT_BUFFER, EditingMode
from prompt_toolkit.filters import completion_is_selected, has_focus
from prompt_toolkit.history import History
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import ColorDepth

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.questions.completion import complete
from dwarfgpu.questions.scripts import is_open
from dwarfgpu.repl.highlight import STYLE, CommandLexer
from dwarfgpu.repl.terminal import PROMPT, FirstPrompt, errors_are_ours, keys_wait, toolbar

if TYPE_CHECKING:
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.key_binding import KeyPressEvent

    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.settings import Settings
    from dwarfgpu.repl.runner import Interrupts, Runner


T = TypeVar("T")

IDLE = 0.1
"""Seconds until names are read, so that the prompt appears first."""
SLICE, PAUSE = 0.01, 0.002
"""Seconds to read names with the lock held, then seconds to sleep so that commands can take it."""
LARGE = 1 << 26
"""Names are read in advance only if the debugging information has at most this many bytes."""


class Prompt:
    """Asks for lines and runs them until the user leaves."""

    def __init__(self, runner: Runner, **streams: Any) -> None:
        """Set the editor up; ``streams`` are its input and output if they are not those of the terminal."""
        self.runner = runner
        self.debugger = runner.debugger
        self.history = LinesOfFile(self.debugger.settings)
        self._first: FirstPrompt | None = None
        self._toolbar = ""
        self._loop = asyncio.new_event_loop()
        self._busy = threading.RLock()
        """The lock that a command (such as the full screen) or a completion thread holds while it asks the program."""
        self._names = NameIndexer(self.debugger, self._busy)
        self.session: PromptSession[str] = PromptSession(
            history=self.history,
            completer=CommandCompleter(self.debugger, self._busy),
            complete_while_typing=False,
            complete_in_thread=True,
            auto_suggest=AutoSuggestFromHistory(),
            lexer=PygmentsLexer(CommandLexer),
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
        self.session.app.ttimeoutlen = 0.05  # a single Escape takes effect sooner
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
        """Run lines until the user leaves; return the exit status. ``first`` is a prompt that is on the screen."""
        self._first = first
        self.debugger.typed += reversed(self.history.lines())
        if first is not None:
            first.hand_over()
            self._run(partial(self._show_start, self.debugger.output.rows))
        while True:
            text = self._ask()
            if text is None:
                return 0
            if text.strip():
                self.debugger.typed.append(text)
            self._run(partial(self.runner.execute, text))

    def _show_start(self, rows: int) -> None:
        """Show the position after the last command of the command line, below its output."""
        self.debugger.output.rows = rows
        self.debugger.tell_watchers()

    def _run(self, action: Callable[[], object]) -> None:
        def alone() -> None:
            with self._busy:
                action()

        self.runner.interruptible(alone)

    def close(self) -> None:
        """Stop reading keys and names."""
        self._names.close()
        self.history.trim()
        self._loop.close()

    def _ask(self) -> str | None:
        """Return a line, or several that belong together; None when the user leaves."""
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
        """Whether ^C was already typed after the line; keys before it are dropped."""
        keys = self.session.input
        with keys_wait():  # ^C sends its signal from now on
            waiting = [*get_typeahead(keys), *keys.read_keys()]
        waiting = [press for press in waiting if press.key is not Keys.CPRResponse]  # where the cursor was
        last = max((place for place, press in enumerate(waiting) if press.key is Keys.ControlC), default=-1)
        store_typeahead(keys, waiting[last + 1 :])
        return last >= 0

    def wait_for(self, keys: Coroutine[Any, Any, T]) -> T:
        """Let an editor read keys, in one loop for all: collecting a loop as garbage would lose a ^C."""
        return self._loop.run_until_complete(keys)

    def next_line(self, prompt: str) -> str | None:
        """Return a further line of a command; None when the user leaves."""
        try:
            return self._edited(prompt)
        except EOFError:
            return None

    def show_full_screen(self) -> None:
        from dwarfgpu.repl.tui import FullScreen

        FullScreen(self.runner, self.session).run(self.wait_for)


# --- Keys ---------------------------------------------------------------------------------------------------------


def bindings(interrupts: Interrupts) -> KeyBindings:
    """Return the keys that the editor lacks: Enter runs or continues a command, ^X a shows the full screen."""
    keys = KeyBindings()
    editing = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=editing & completion_is_selected)
    def _take_completion(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @keys.add("enter", filter=editing & ~completion_is_selected)
    def _run(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_open(buffer.text):
            buffer.cursor_position = len(buffer.text)
            buffer.newline(copy_margin=False)
        else:
            interrupts.forget()  # they were for an earlier command
            buffer.validate_and_handle()

    @keys.add("c-x", "a", filter=editing)
    @keys.add("c-x", "c-a", filter=editing)
    def _full_screen(event: KeyPressEvent) -> None:
        event.current_buffer.text = "tui"
        event.current_buffer.validate_and_handle()

    return keys


# --- History ------------------------------------------------------------------------------------------------------


class LinesOfFile(History):
    """The history of the prompt; if the file cannot be written, the history lasts for the session."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings

    @property
    def path(self) -> str:
        chosen: str = self._settings["history filename"]
        if chosen:
            return os.path.expanduser(chosen)
        folder = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        return os.path.join(folder, "dwarfgpu", "history")

    def lines(self) -> list[str]:
        """Return the lines of the file, the newest first."""
        try:
            with open(self.path, encoding="utf-8", errors="backslashreplace") as file:
                text = file.read()
        except OSError:
            return []
        entries = text.replace("\\\n", "\0").splitlines()
        return [entry.replace("\0", "\n") for entry in reversed(entries[-self._settings["history size"] :])]

    def load_history_strings(self) -> Iterable[str]:
        return self.lines() if self._settings["history save"] else []

    def append_string(self, string: str) -> None:
        if string.strip() and (not self._loaded_strings or self._loaded_strings[0] != string):
            super().append_string(string)

    def store_string(self, string: str) -> None:
        if self._settings["history save"]:
            self._write([string], "a")

    def trim(self) -> None:
        """Keep only the newest `history size` lines of the file."""
        size = self._settings["history size"]
        if not self._settings["history save"]:
            return
        try:
            with open(self.path, encoding="utf-8", errors="backslashreplace") as file:
                count = sum(not line.endswith("\\\n") for line in file)
        except OSError:
            return
        if count > size:
            self._write(reversed(self.lines()), "w")

    def _write(self, entries: Iterable[str], mode: str) -> None:
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if mode == "a" else os.O_TRUNC)
            file = os.open(self.path, flags, 0o600)
            with open(file, mode, encoding="utf-8", errors="backslashreplace") as stream:
                stream.writelines(entry.replace("\n", "\\\n") + "\n" for entry in entries)


# --- Completion ---------------------------------------------------------------------------------------------------


class CommandCompleter(Completer):
    """Completes the line of the cursor."""

    def __init__(self, debugger: Debugger, busy: threading.RLock) -> None:
        self._debugger = debugger
        self._busy = busy

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        line = document.current_line_before_cursor
        try:
            with self._busy, errors_are_ours():
                start, candidates = complete(self._debugger, line)
        except DwarfGpuError:  # a defect must not end the prompt
            return
        for candidate in candidates:
            yield Completion(candidate.text, start - len(line), display_meta=candidate.meta)


class NameIndexer:
    """Reads the names of the program in a thread, whenever no command uses the program."""

    def __init__(self, debugger: Debugger, busy: threading.RLock) -> None:
        self._debugger = debugger
        self._busy = busy
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def start(self) -> None:
        """Start reading, or continue with another program."""
        if not self._is_closed and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._read, daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._is_closed = True
        if self._thread is not None:
            self._thread.join(1.0)

    def _read(self) -> None:
        try:
            with errors_are_ours():
                while not self._is_closed and self._goes_on():
                    time.sleep(PAUSE)
        except DwarfGpuError:  # a completion shows it again
            return

    def _goes_on(self) -> bool:
        with self._busy:
            if self._debugger.program is None:
                return False
            names = self._debugger.known_names
            return names.size <= LARGE and not names.read(SLICE)
