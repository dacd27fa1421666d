"""The full screen: source, lanes and variables, and a command line, with keys that move what is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.application import Application
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import BufferControl, Dimension, Float, FloatContainer, HSplit, Layout, Window
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import AppendAutoSuggestion, BeforeInput

from dwarfgpu.commands.debugger import Quit
from dwarfgpu.commands.scripts import is_open, word_of
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.repl.early import PROMPT, keys_wait
from dwarfgpu.repl.panels import Panel, Panels
from dwarfgpu.repl.runner import errors_are_ours
from dwarfgpu.repl.styles import STYLE, CommandColors
from dwarfgpu.repl.toolbar import toolbar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from prompt_toolkit import PromptSession
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyPressEvent

    from dwarfgpu.repl.runner import Runner

KEYS = "Left/Right lane | Up/Down frame | PgUp/PgDn wave | Tab completes | ^X a leaves"
SCROLL = 5


class FullScreen:
    """Runs commands on the full screen until the user leaves it."""

    def __init__(self, runner: Runner, session: PromptSession[str]) -> None:
        self._runner = runner
        self._debugger = runner.debugger
        self._panels = Panels(runner.debugger, runner.terminal)
        self._leaving: Quit | None = None
        self._buffer = Buffer(
            completer=session.completer,
            complete_while_typing=False,
            history=session.history,
            auto_suggest=AutoSuggestFromHistory(),
            multiline=False,
            accept_handler=self._accepted,
        )
        self.app: Application[None] = Application(
            layout=Layout(self._windows(), self._buffer_window),
            key_bindings=self._bindings(),
            style=STYLE,
            full_screen=True,
            editing_mode=session.editing_mode,
            color_depth=session.color_depth,
            input=session.input,
            output=session.output,
        )
        self.app.ttimeoutlen = 0.05

    def run(self, wait_for: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        """Show it until the user leaves it; ``wait_for`` lets it read keys."""
        debugger = self._debugger
        before = debugger.next_line, debugger.ask, debugger.full_screen, debugger.is_watched
        debugger.next_line, debugger.ask, debugger.full_screen = None, None, self._leave
        debugger.is_watched = False  # its windows show what the context view does
        try:
            wait_for(self.app.run_async())
        finally:
            debugger.next_line, debugger.ask, debugger.full_screen, debugger.is_watched = before
        if self._leaving is not None:
            raise self._leaving

    # --- Windows --------------------------------------------------------------------------------------------------

    def _windows(self) -> FloatContainer:
        panels = self._panels
        line = BufferControl(
            self._buffer,
            input_processors=[BeforeInput(PROMPT), AppendAutoSuggestion()],
            lexer=CommandColors(),
        )
        self._buffer_window = Window(line, height=1, wrap_lines=False)
        return FloatContainer(
            HSplit(
                [
                    Window(Panel(self._title), height=1, style="class:bottom-toolbar"),
                    Window(Panel(panels.source), height=Dimension(weight=4, min=1)),
                    self._rule(),
                    Window(Panel(panels.lanes), height=Dimension(weight=4, min=1)),
                    self._rule(),
                    Window(Panel(panels.output), height=Dimension(weight=3, min=1)),
                    self._buffer_window,
                    Window(Panel(self._keys), height=1, style="class:border"),
                ]
            ),
            [Float(CompletionsMenu(max_height=8, scroll_offset=1), xcursor=True, ycursor=True)],
        )

    @staticmethod
    def _rule() -> Window:
        return Window(char="-", height=1, style="class:border")

    def _title(self, width: int, _height: int) -> list[StyleAndTextTuples]:
        return [[("", toolbar(self._debugger, width).ljust(width))]]

    @staticmethod
    def _keys(width: int, _height: int) -> list[StyleAndTextTuples]:
        return [[("", KEYS[:width])]]

    # --- Keys -----------------------------------------------------------------------------------------------------

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()
        is_empty = Condition(lambda: not self._buffer.text and self._buffer.complete_state is None)

        def moves(key: str, move: Callable[[], object]) -> None:
            @keys.add(key, filter=is_empty)
            def _move(_event: KeyPressEvent) -> None:
                self._do(move)

        moves("left", lambda: self._move_lane(-1))
        moves("right", lambda: self._move_lane(1))
        moves("up", lambda: self._move_frame(1))
        moves("down", lambda: self._move_frame(-1))
        moves("pageup", lambda: self._move_wave(-1))
        moves("pagedown", lambda: self._move_wave(1))

        @keys.add("s-up")
        def _scroll_up(_event: KeyPressEvent) -> None:
            self._panels.scrolled += SCROLL

        @keys.add("s-down")
        def _scroll_down(_event: KeyPressEvent) -> None:
            self._panels.scrolled = max(0, self._panels.scrolled - SCROLL)

        @keys.add("c-x", "a")
        @keys.add("c-x", "c-a")
        @keys.add("c-d", filter=is_empty)
        def _leave(_event: KeyPressEvent) -> None:
            self._leave()

        @keys.add("c-c")
        @keys.add("<sigint>")
        def _clear(_event: KeyPressEvent) -> None:
            self._buffer.reset()

        @keys.add("c-z")
        def _suspend(event: KeyPressEvent) -> None:
            event.app.suspend_to_background()

        @keys.add("c-l")
        def _redraw(event: KeyPressEvent) -> None:
            event.app.renderer.clear()

        return keys

    def _leave(self) -> None:
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def _move_lane(self, step: int) -> None:
        debugger = self._debugger
        if debugger.lane is not None:
            count = debugger.wave.state.target.lane_count
            debugger.select_lane(max(0, min(count - 1, debugger.lane + step)))

    def _move_frame(self, step: int) -> None:
        last = len(self._debugger.wave.frames()) - 1
        self._debugger.select_frame(max(0, min(last, self._debugger.frame_number + step)))

    def _move_wave(self, step: int) -> None:
        debugger = self._debugger
        if debugger.wave_number is not None:
            debugger.select_wave(max(0, min(len(debugger.machine) - 1, debugger.wave_number + step)))

    def _do(self, action: Callable[[], object]) -> None:
        try:
            with errors_are_ours():
                action()
        except DwarfGpuError as error:
            self._panels.write(" ".join(str(error).split()))

    # --- Commands -------------------------------------------------------------------------------------------------

    def _accepted(self, buffer: Buffer) -> bool:
        text = buffer.text
        if text.strip():
            self._debugger.typed.append(text)
        try:
            self._run(text)
        except Quit as leaving:
            if leaving.status or word_of(text) not in ("quit", "q", "exit"):
                self._leaving = leaving
            self._leave()
        return False

    def _run(self, text: str) -> None:
        """Run a command; what it writes and what is wrong with it goes to the window of the output."""
        width = self.app.output.get_size().columns
        self._panels.write(PROMPT + text)
        with self._debugger.output.collected(width) as texts:
            try:
                if is_open(text):
                    raise UsageError(
                        "lines that belong together are typed at the prompt", hint="^X a goes there"
                    )
                with keys_wait(), self._runner.interrupts.raised(), errors_are_ours():
                    self._runner.execute(text)
            except DwarfGpuError as error:
                texts.append(" ".join(str(error).split()) + "\n")
                if error.hint:
                    texts.append(f"hint: {error.hint}\n")
            except KeyboardInterrupt:
                texts.append("Quit\n")
        self._panels.write("".join(texts))
        self._panels.forget()
