"""The debugger for commands inside GDB: it takes GDB's selection anew for each command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import gdb

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.gdbplugin.convenience import gdb_remembered
from dwarfgpu.gdbplugin.host import gdb_host, no_process, select_lane
from dwarfgpu.program.frames.history import Remembered
from dwarfgpu.questions.debugger import Debugger
from dwarfgpu.questions.document import Output
from dwarfgpu.questions.settings import SETTINGS
from dwarfgpu.render import written_text
from dwarfgpu.render.layout import plain_style

if TYPE_CHECKING:
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.render.written_text import StyleName
    from dwarfgpu.states.program import Attached


NEEDS_A_PROCESS = ("no_frame", "no_machine")
"""The kinds of errors whose words name commands of the debugger; in GDB a process is what is missing."""


class ErrorStream:
    """Writes what belongs beside an answer that is data to GDB's error stream, each on a line."""

    def report_problems(self, problems: Iterable[DwarfGpuError]) -> None:
        for error in problems:
            self.hint(one_line(error))

    def hint(self, text: str) -> None:
        gdb.write(f"{written_text.written(text)}\n", gdb.STDERR)


class GdbDebugger(Debugger):
    """A debugger whose program, thread, frame and lane are those selected in GDB."""

    def __init__(self) -> None:
        Debugger.__init__(self, Output(write))
        self._states[Remembered] = gdb_remembered()
        self.aside = ErrorStream()
        self.chosen: set[str] = set()
        """The settings that have values of their own, others than GDB's."""
        self._of_gdb: Frame | None = None
        """The selected frame, where GDB alone finds it."""
        self._no_frame: UsageError | None = None
        """Why the library has no frame for that of GDB."""

    def read_anew(self) -> None:
        gdb_host().processes.read_anew(self.reading())
        self.program = self.attached = self.wave_number = None

    def look(self, *, is_typed: bool = False) -> None:
        """Take over what is selected in GDB; without a process only the file of GDB."""
        look(self.output, is_typed=is_typed)
        for name in AS_IN_GDB:
            if name not in self.chosen:
                self.settings.set(name, setting_of_gdb(name))
        host = gdb_host()
        self._no_frame = self._of_gdb = None
        if gdb.selected_thread() is None:
            program = host.processes.program_alone()
            if program is not self.program or self.attached is not None:
                self.program = self.attached = self.wave_number = None
                if program is not None:
                    self.use(program, None)
            return
        attached = host.attached()
        if attached is not self.attached:
            self.use(attached.program, attached)
        wave = host.wave()
        self.wave_number, self.frame_number = wave.index, 0
        self.lanes.clear()
        try:
            frame = host.frame()
        except UsageError as error:
            self._no_frame = error
            return
        if frame.wave is not wave:
            self._of_gdb = frame
            return
        self.frame_number = frame.number
        if frame.selected_lane is not None:
            self.lanes[wave.index] = frame.selected_lane

    def check_applied(self, line: str) -> None:
        """Leave it to GDB, whose commands it may be."""

    def execute_applied(self, line: str) -> None:
        if self.lane is not None:
            select_lane(self.lane)
        try:
            self.output.write(gdb.execute(line, to_string=True))
        except gdb.error as error:
            raise UsageError(" ".join(str(error).split()), kind="gdb") from None

    def value_printer(self, frame: Frame | None) -> Any:
        from dwarfgpu.gdbplugin.values import value_printer

        return None if frame is None or frame.activation is None else value_printer(frame)

    @property
    def machine(self) -> Attached:
        if self.attached is None:
            raise no_process()
        return self.attached

    @property
    def frame(self) -> Frame:
        if self._no_frame is not None:
            raise self._no_frame.with_traceback(None)
        if self._of_gdb is not None:
            return self._of_gdb
        return Debugger.frame.fget(self)  # type: ignore[attr-defined, no-any-return]


AS_IN_GDB = tuple(setting.name for setting in SETTINGS if setting.name.startswith("print "))
"""The settings that GDB has, too. Those that have no value of their own here are as in GDB."""
_OTHER_WORDS = {"None": "unlimited", "True": "on", "False": "off", "presence": "none"}


def setting_of_gdb(name: str) -> str:
    """Return a setting of GDB as a text that a setting of the debugger takes."""
    text = str(gdb.parameter(name))
    return _OTHER_WORDS.get(text, text)


@cache
def debugger() -> GdbDebugger:
    """Return the debugger of this GDB."""
    return GdbDebugger()


def one_line(error: BaseException) -> str:
    """Return an error as one line, with what can be done."""
    if isinstance(error, DwarfGpuError) and error.kind in NEEDS_A_PROCESS and gdb.selected_thread() is None:
        error = no_process()
    text = " ".join(str(error).split()) or type(error).__name__
    hint = error.hint if isinstance(error, DwarfGpuError) else None
    return f"{text} ({hint})" if hint else text


# --- GDB's screen -------------------------------------------------------------------------------------------------

UNLIMITED = 1 << 12
"""The width of a screen that GDB calls unlimited."""
_COLORS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_INTENSITIES = {"bold": "1", "dim": "2"}


def look(output: Output, *, is_typed: bool) -> None:
    """Give an output the settings of GDB; a command that was not typed is plain, as programs may read it."""
    width, height = gdb.parameter("width"), gdb.parameter("height")
    output.width = int(width) if width else UNLIMITED
    output.height = int(height) if height else None
    output.style = styled if is_typed and _shows_styles() else plain_style


def write(text: str) -> None:
    """Write a text; a character that GDB's host charset lacks becomes an escape."""
    text = written_text.written(text)
    if not text.isascii():
        charset = getattr(gdb, "host_charset", lambda: "utf-8")()
        try:
            text = text.encode(charset, "backslashreplace").decode(charset)
        except LookupError:  # a charset that Python does not know
            text = text.encode("ascii", "backslashreplace").decode()
    gdb.write(text)


def _shows_styles() -> bool:
    terminal = sys.__stdout__
    return bool(
        gdb.parameter("style enabled")
        and terminal is not None
        and terminal.isatty()
        and os.environ.get("TERM", "dumb") != "dumb"
        and not os.environ.get("NO_COLOR")
    )


def styled(style: StyleName, text: str) -> str:
    """Return a text in GDB's style for its kind."""
    name = written_text.STYLES[style][1]
    return written_text.styled(_codes(name), text) if name else text


def _codes(style: str) -> str:
    color, intensity = (gdb.parameter(f"style {style} {part}") for part in ("foreground", "intensity"))
    codes = [str(30 + _COLORS.index(color))] if color in _COLORS else []
    return ";".join([*codes, *filter(None, [_INTENSITIES.get(intensity)])])
