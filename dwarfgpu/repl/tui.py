"""The full screen: source, lanes and variables, a command line, and keys that move the selection."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import Application
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, to_formatted_text
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    Float,
    FloatContainer,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.controls import UIContent, UIControl
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import AppendAutoSuggestion, BeforeInput
from prompt_toolkit.lexers import PygmentsLexer

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.questions.debugger import Debugger, Quit
from dwarfgpu.questions.document import SOURCE
from dwarfgpu.questions.registry import read_arguments
from dwarfgpu.questions.scripts import is_open, word_of
from dwarfgpu.questions.sources import file_of, shown_line, standing_lanes, text_of
from dwarfgpu.render.layout import shown
from dwarfgpu.render.written_text import written
from dwarfgpu.repl.highlight import STYLE, CommandLexer
from dwarfgpu.repl.terminal import PROMPT, Terminal, errors_are_ours, keys_wait, toolbar

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyPressEvent

    from dwarfgpu.render.lanes import LaneTable
    from dwarfgpu.repl.runner import Runner


KEYS = "Left/Right lane | Up/Down frame | PgUp/PgDn wave | Tab completes | ^X a leaves"
SCROLL = 5
KEPT = 2000
"""How many lines of output are kept."""
TAB = 8


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
        """Show the screen until the user leaves it; ``wait_for`` lets it read keys."""
        debugger = self._debugger
        before = debugger.next_line, debugger.ask, debugger.full_screen, debugger.is_watched
        debugger.next_line, debugger.ask, debugger.full_screen = None, None, self._leave
        debugger.is_watched = False  # its windows show what the context view does
        debugger.is_full_screen, debugger.redraw = True, self.app.renderer.clear
        try:
            wait_for(self.app.run_async())
        finally:
            debugger.next_line, debugger.ask, debugger.full_screen, debugger.is_watched = before
            debugger.is_full_screen, debugger.redraw = False, lambda: None
        if self._leaving is not None:
            raise self._leaving

    # --- Windows --------------------------------------------------------------------------------------------------

    def _windows(self) -> FloatContainer:
        panels = self._panels
        line = BufferControl(
            self._buffer,
            input_processors=[BeforeInput(PROMPT), AppendAutoSuggestion()],
            lexer=PygmentsLexer(CommandLexer),
        )
        self._buffer_window = Window(line, height=1, wrap_lines=False)
        rules = [Window(char="-", height=1, style="class:border") for _ in range(3)]
        shows_code = Condition(lambda: self._debugger.layout in ("asm", "split"))
        shows_source = Condition(lambda: self._debugger.layout != "asm")
        shows_both = shows_source & shows_code
        return FloatContainer(
            HSplit(
                [
                    Window(Panel(self._title), height=1, style="class:bottom-toolbar"),
                    ConditionalContainer(
                        Window(Panel(panels.source), height=Dimension(weight=4, min=1)), filter=shows_source
                    ),
                    ConditionalContainer(rules[2], filter=shows_both),
                    ConditionalContainer(
                        Window(Panel(panels.code), height=Dimension(weight=4, min=1)), filter=shows_code
                    ),
                    rules[0],
                    Window(Panel(panels.middle), height=Dimension(weight=4, min=1)),
                    rules[1],
                    Window(Panel(panels.output), height=Dimension(weight=3, min=1)),
                    self._buffer_window,
                    Window(Panel(lambda width, _height: [[("", KEYS[:width])]]), height=1, style="class:border"),
                ]
            ),
            [Float(CompletionsMenu(max_height=8, scroll_offset=1), xcursor=True, ycursor=True)],
        )

    def _title(self, width: int, _height: int) -> list[StyleAndTextTuples]:
        return [[("", toolbar(self._debugger, width).ljust(width))]]

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
        last = len(self._debugger.seen_wave.frames()) - 1
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
        """Run a command; its output and errors go to the output window."""
        width = self.app.output.get_size().columns
        self._panels.write(PROMPT + text)
        with self._debugger.output.collected(width) as texts:
            try:
                if is_open(text):
                    raise UsageError(
                        "a command of several lines cannot be typed here", hint="type it at the prompt (^X a)"
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


# --- Windows and their contents -----------------------------------------------------------------------------------


class Panel(UIControl):
    """Lines that are made for the size of their window, or why they cannot be made."""

    def __init__(self, lines: Callable[[int, int], list[StyleAndTextTuples]]) -> None:
        self._lines = lines

    def create_content(self, width: int, height: int) -> UIContent:
        try:
            with errors_are_ours():
                lines = self._lines(width, height)[:height]
        except DwarfGpuError as error:
            lines = [[("class:error", shown(" ".join(str(error).split()))[:width])]]
        return UIContent(get_line=lambda number: lines[number], line_count=len(lines), show_cursor=False)


class Panels:
    """The contents of the windows, for what is selected in the debugger."""

    def __init__(self, debugger: Debugger, terminal: Terminal) -> None:
        self._debugger = debugger
        self._terminal = terminal
        self._table: LaneTable | None = None
        self._seen: Any = None
        self._answers: dict[Any, list[str]] = {}
        """What commands wrote for windows, while the same is selected."""
        self.written: list[str] = []
        """The lines of output."""
        self.scrolled = 0
        """How many lines of output are below its window."""

    def write(self, text: str) -> None:
        self.written += text.expandtabs(TAB).splitlines()
        del self.written[:-KEPT]
        self.scrolled = 0

    def forget(self) -> None:
        """Read the variables again, as a command may have assigned some."""
        self._table = None
        self._answers.clear()

    def source(self, width: int, height: int) -> list[StyleAndTextTuples]:
        """Return the source around the frame, with the number of lanes at each line."""
        debugger = self._debugger
        if debugger.attached is None:
            return [[("class:inactive", "no state, so no frame"[:width])]]
        place = file_of(debugger.frame)
        if place is None:
            return [[("class:inactive", "no source line for this address"[:width])]]
        file, current = place
        text = text_of(debugger, file)
        if text.missing is not None:
            return [[("class:inactive", f"{current} in {shown(file.name)}: {text.missing}"[:width])]]
        standing, call = standing_lanes(debugger), debugger.frame.call.source
        source = "" if call is None or call.file is None else call.file
        first = max(1, min(current - height // 2, len(text.lines) - height + 1))
        numbers = range(first, min(first + height, len(text.lines) + 1))
        digits = len(str(numbers[-1])) if numbers else 1
        room = max(1, width - digits - 8)
        plain = [shown_line(text.lines[number - 1]).expandtabs(TAB)[:room] for number in numbers]
        lines: list[StyleAndTextTuples] = []
        for number, line in zip(numbers, self._terminal.highlight(SOURCE, plain, file.path), strict=True):
            lanes = standing.get((source, number), 0)
            mark = ">" if number == current else " "
            count = f"{lanes.bit_count():>3}*" if lanes else "    "
            style = "class:current" if number == current else ""
            lines.append(
                [(style, f"{mark}{count} {number:{digits}} "), *to_formatted_text(ANSI(written(line)), style=style)]
            )
        return lines

    def code(self, width: int, height: int) -> list[StyleAndTextTuples]:
        """Return the instructions of the function around that of the frame."""
        lines = self._answered("disassemble")[1:-1]
        current = next((index for index, line in enumerate(lines) if line.startswith("=>")), 0)
        first = max(0, min(current - height // 2, len(lines) - height))
        return [
            [("class:current" if line.startswith("=>") else "", line.expandtabs(TAB)[:width])]
            for line in lines[first : first + height]
        ]

    def middle(self, width: int, height: int) -> list[StyleAndTextTuples]:
        """Return the registers of the frame where the layout has them, else the variables in the lanes."""
        if self._debugger.layout != "regs":
            return self.lanes(width, height)
        lines = self._answered("context registers", width)
        return [[("", line.expandtabs(TAB)[:width])] for line in lines[:height]]

    def _answered(self, command: str, width: int | None = None) -> list[str]:
        """Return the lines that a command writes for what is selected, or why it writes none; they are kept."""
        debugger = self._debugger
        key = command, width, debugger.attached, debugger.wave_number, debugger.frame_number, debugger.lane
        if key not in self._answers:
            self._answers = {known: text for known, text in self._answers.items() if known[2:] == key[2:]}
            with debugger.output.collected(width) as texts:
                try:
                    with errors_are_ours():
                        row, rest = debugger.registry.find(command)
                        document = row.load()(debugger, read_arguments(row, rest))
                        if document is not None:
                            document.write(debugger.output)
                except DwarfGpuError as error:
                    texts.append(" ".join(str(error).split()))
            self._answers[key] = "".join(texts).splitlines()
        return self._answers[key]

    def lanes(self, width: int, height: int) -> list[StyleAndTextTuples]:
        """Return the variables in the lanes around the selected one."""
        table = self._lane_table()
        if table is None or not height:
            return []
        lane = self._debugger.lane
        place = next((index for index, row in enumerate(table.rows) if row.lane == lane), 0)
        room = max(1, height - 1)
        first = max(0, min(place - room // 2, len(table.rows) - room))
        lines: list[StyleAndTextTuples] = [[("class:title", table.head(width))]]
        for row in table.rows[first : first + room]:
            style = "class:lane" if row.lane == lane else "" if row.is_active else "class:inactive"
            lines.append([(style, table.line(row, width).ljust(width))])
        return lines[:height]

    def _lane_table(self) -> LaneTable | None:
        from dwarfgpu.render.lanes import lane_table

        debugger = self._debugger
        if debugger.attached is None:
            return None
        seen = debugger.attached, debugger.wave_number, debugger.frame_number
        if self._table is None or seen != self._seen:
            self._table, self._seen = lane_table(debugger.frame), seen
        return self._table

    def output(self, width: int, height: int) -> list[StyleAndTextTuples]:
        """Return the last lines of output; longer ones are folded."""
        rows: list[str] = []
        wanted = height + self.scrolled
        for line in reversed(self.written):
            parts = [line[start : start + width] for start in range(0, len(line), width)] or [""]
            rows[:0] = parts
            if len(rows) >= wanted:
                break
        self.scrolled = min(self.scrolled, max(0, len(rows) - height))
        end = len(rows) - self.scrolled
        return [[("", row)] for row in rows[max(0, end - height) : end]]
