"""The terminal: the size, colours and pages of output, and keys typed before an editor reads them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Protocol, TextIO

from dwarfgpu.errors import DwarfGpuError, exhausted
from dwarfgpu.questions.debugger import Debugger, Quit
from dwarfgpu.questions.document import Output
from dwarfgpu.questions.settings import AUTOMATIC, MAX_NUMBER, Settings
from dwarfgpu.render.layout import WIDTH, shown
from dwarfgpu.render.written_text import SafeStream, StyleName, without_styles, written

if TYPE_CHECKING:

    class Session(Protocol):
        """What the command line keeps for all its commands."""

        out: SafeStream
        err: SafeStream

        def style(self, style: StyleName, text: str, stream: SafeStream | None = None) -> str: ...
        def report(self, error: DwarfGpuError, file: str = "") -> int: ...
        def report_problems(self, problems: Iterable[DwarfGpuError]) -> int: ...
        def hint(self, text: str) -> None: ...


UNLIMITED = 10_000
"""The columns of a screen with unlimited width."""
NARROWEST = 20
PROMPT = "(dwarfgpu) "
DUMB = ("dumb", "unknown")
"""The values of ``TERM`` for terminals that cannot move the cursor."""
MORE = "--Type <RET> for more, q to quit, c to continue without paging--"


class Terminal:
    """The output of the debugger: a terminal, or any other stream."""

    def __init__(self, session: Session, *, is_terminal: bool) -> None:
        self.session = session
        self.is_terminal = is_terminal
        self.output = Output(self.write, self.style, highlight=self.highlight)
        self.ask: Callable[[str], str] = input
        """Shows a text and reads a line after it; raises `EOFError` at the end of input."""
        self._settings: Settings | None = None
        self._pages = False

    def follow(self, settings: Settings) -> None:
        """Apply the settings, now and whenever they change."""
        self._settings = settings
        settings.watchers.append(self._changed)
        self._measure()

    def _changed(self, name: str) -> None:
        if name in ("width", "height"):
            self._measure()
        elif name == "pagination":
            self._pages = self._wants_pages()

    def begin(self) -> None:
        """Begin a command: measure the screen again, and count its rows from 0."""
        self._measure()
        self.output.rows = 0
        self._pages = self._wants_pages()

    def end(self) -> None:
        """End a command; later text is not its output."""
        self._pages = False

    def _wants_pages(self) -> bool:
        return self.is_terminal and self._settings is not None and bool(self._settings["pagination"])

    def _measure(self) -> None:
        if self._settings is None:
            return
        columns, lines = self.size()
        width, height = self._settings["width"], self._settings["height"]
        output = self.output
        output.width = max(NARROWEST, min(columns if width == AUTOMATIC else width, UNLIMITED))
        output.fold = self.session.out.fold if width == AUTOMATIC else output.width
        output.height = None
        if self.is_terminal and height != MAX_NUMBER:
            output.height = max(2, lines if height == AUTOMATIC else height)

    def size(self) -> tuple[int, int]:
        """Return the columns and lines of the screen."""
        lines = 0
        if self.is_terminal:
            with suppress(OSError, ValueError):  # it has no file, or no size
                lines = os.get_terminal_size(sys.stdout.fileno()).lines
        return self.session.out.width or WIDTH, lines or 24

    @property
    def has_colors(self) -> bool:
        return self.style("name", "x") != "x"

    def style(self, style: StyleName, text: str) -> str:
        """Return a text in a style, if styles are shown."""
        if self._settings is not None and not self._settings["style enabled"]:
            return text
        return self.session.style(style, text)

    def highlight(self, kind: str, lines: Sequence[str], file: str) -> list[str]:
        """Return lines of code in the colours of its language."""
        if not self.has_colors:
            return list(lines)
        from dwarfgpu.repl.highlight import highlighted

        return highlighted(kind, lines, file)

    def write(self, text: str) -> None:
        """Write a text; when the screen is full, ask the user whether to go on."""
        height = self.output.height
        for line in (text,) if height is None else text.splitlines(keepends=True):
            if height is not None:
                rows = self._rows_of(line)
                if self._pages and self.output.rows and self.output.rows + rows >= height:
                    self._ask_for_more()
                self.output.rows += rows
            self.session.out.write(line)

    def _rows_of(self, line: str) -> int:
        """Return how many rows of the screen a line fills."""
        columns, _lines = self.size()
        shown = without_styles(line.rstrip("\n")).expandtabs()
        return max(0, len(shown) - 1) // columns + line.endswith("\n")

    def _ask_for_more(self) -> None:
        self.session.out.flush()
        try:
            answer = self.ask(written(self.style("hint", MORE))).strip().lower()
        except EOFError:
            answer = "q"
        self.output.rows = 0
        if answer.startswith("q"):
            self._pages = False
            raise KeyboardInterrupt
        if answer.startswith("c"):
            self._pages = False


# --- Before the editor --------------------------------------------------------------------------------------------


def is_dumb() -> bool:
    """Whether the terminal cannot move its cursor."""
    return os.environ.get("TERM", "dumb") in DUMB


@contextmanager
def keys_wait() -> Iterator[None]:
    """Keep typed keys, unseen, for an editor that reads them later; ^C sends its signal."""
    try:
        import termios
    except ImportError:  # on Windows the console keeps them
        yield
        return
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
    """Shows the prompt before the editor is there; keys wait for the editor."""

    def __init__(self, screen: TextIO) -> None:
        self._screen = screen
        self._mode = ExitStack()

    def show(self) -> None:
        self._mode.enter_context(keys_wait())
        self._write(PROMPT)

    def hand_over(self) -> None:
        """Erase the prompt, so that other output and the prompt of the editor take its place."""
        self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        if not is_dumb():
            self._screen.write(text)
        self._screen.flush()

    def end(self) -> None:
        """Restore the terminal."""
        self._mode.close()


# --- The status line ----------------------------------------------------------------------------------------------

SEPARATOR = " | "
"""The text between the parts of the status line."""


@contextmanager
def errors_are_ours() -> Iterator[None]:
    """Turn an error of Python into one of dwarfgpu, so that a defect does not end the session."""
    try:
        yield
    except (DwarfGpuError, Quit, BrokenPipeError):
        raise
    except (RecursionError, MemoryError) as error:
        raise exhausted(error) from None
    except Exception as error:
        message = f"internal error: {type(error).__name__}: {error}"
        hint = "this is a defect of dwarfgpu; with `set debug on` the command shows where"
        raise DwarfGpuError("internal_error", message, hint=hint) from error


def toolbar(debugger: Debugger, width: int) -> str:
    """Return the status line, cut to a width."""
    parts: list[str] = []
    try:
        with errors_are_ours():
            for part in _parts(debugger):
                parts.append(part)  # noqa: PERF402 (those before an error are shown)
    except DwarfGpuError as error:
        parts.append(error.what)
    text = f" {SEPARATOR.join(parts)} "
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _parts(debugger: Debugger) -> Iterator[str]:
    if debugger.program is None:
        yield "no file"
        return
    if debugger.attached is None:
        yield shown(debugger.program.file.name).rpartition("/")[2]
        yield "no state"
        return
    noun = "wave" if debugger.attached.has_waves else "thread"
    number = 0 if debugger.wave_number is None else debugger.wave_number
    yield f"{noun} {number + 1} of {len(debugger.attached)} ({shown(debugger.wave.id)})"
    if debugger.lane is not None:
        yield f"lane {debugger.lane}"
    frame = debugger.frame
    yield f"frame {debugger.frame_number}"
    source = frame.call.source
    where = shown(frame.name or "??")
    if source is not None and source.file is not None:
        where += f" at {shown(source.file).rpartition('/')[2]}:{source.line}"
    yield where
