"""A user who sits at the prompt: keys go in through a pipe, and what is written is collected."""

import io
from pathlib import Path
from typing import Any

from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.questions.debugger import Debugger, Quit
from dwarfgpu.render.written_text import SafeStream
from dwarfgpu.repl.runner import Runner
from dwarfgpu.repl.start import prompt_of, sit_down
from dwarfgpu.repl.terminal import Terminal

LEAVE = "\x04"
INTERRUPT = "\x03"
TAB = "\t"
ENTER = "\r"


class Session:
    """The streams and colours of a command line, collected."""

    def __init__(self) -> None:
        self.out = SafeStream(io.StringIO())
        self.err = self.out
        self.is_colored = False

    def style(self, style: str, text: str, stream: SafeStream | None = None) -> str:
        return f"<{style}>{text}</>" if self.is_colored else text

    def report(self, error: DwarfGpuError, file: str = "") -> int:
        self.err.write(f"error: {error}\n")
        if error.hint:
            self.err.write(f"hint: {error.hint}\n")
        return 1

    @property
    def text(self) -> str:
        found = self.out.raw.getvalue()
        assert isinstance(found, str)
        return found


class Sitting:
    """A debugger at a prompt. What keys do stays from one call to the next."""

    def __init__(self, file: Path | None = None, state: Path | None = None) -> None:
        self.session = Session()
        self.terminal = Terminal(self.session, is_terminal=False)
        self.debugger = Debugger(self.terminal.output)
        self.terminal.follow(self.debugger.settings)
        self.runner = Runner(self.session, self.debugger, self.terminal)
        if file is not None:
            self.debugger.execute(f"file {file}")
        if state is not None:
            self.debugger.execute(f"core-file {state}")
        self.status: int | None = None
        self.prompt: Any = None

    def __call__(self, *keys: str) -> str:
        """Type some keys, the next when the screen shows the last, and ^D behind them; what was written."""
        before = len(self.session.text)
        waiting = [*keys, LEAVE]
        with create_pipe_input() as pipe:
            self.runner = Runner(self.session, self.debugger, self.terminal)
            self.prompt = prompt_of(self.runner, input=pipe, output=DummyOutput())
            sit_down(self.runner)
            buffer = self.prompt.session.default_buffer
            typed: list[tuple[str, str]] = []
            pressed: list[bool] = [True]  # since the last keys were sent

            def type_next(app: Any) -> None:
                if app.is_done or not pressed:
                    return
                if buffer._load_history_task is None or not buffer._load_history_task.done():
                    app.invalidate()
                    return
                if typed and typed[-1] == (TAB, buffer.text) and buffer.complete_state is None:
                    return  # completion works in a thread
                if waiting:
                    typed.append((waiting[0], buffer.text))
                    pressed.clear()
                    pipe.send_text(waiting.pop(0))

            self.prompt.session.app.after_render += type_next
            self.prompt.session.app.key_processor.after_key_press += lambda _keys: pressed.append(True)
            try:
                with self.runner.interrupts.remembered():
                    self.status = self.prompt.run()
            except Quit as leaving:
                self.status = leaving.status
            finally:
                self.runner.close()
        return self.session.text[before:]
