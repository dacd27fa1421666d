"""Python scripts run by the debugger: ``dwarfgpu.gdb`` is about what it looks at."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from dwarfgpu.commands.debugger import Quit
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.host import in_lane, using

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.program.program import Attached
    from dwarfgpu.program.variables.frame import Frame
    from dwarfgpu.program.variables.wave import Wave


class DebuggerHost:
    """The debugger as the host of scripts: what it looks at is what is selected (`program.host.Host`)."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger

    def attached(self) -> Attached:
        return self._debugger.machine

    def waves(self) -> Sequence[Wave]:
        return list(self._debugger.machine)

    def wave(self) -> Wave:
        return self._debugger.wave

    def frame(self) -> Frame:
        return in_lane(self._debugger.frame, self._debugger.lane)


class _Written(io.TextIOBase):
    """What a script prints goes where the output of commands goes."""

    def __init__(self, debugger: Debugger) -> None:
        super().__init__()
        self._debugger = debugger

    def write(self, text: str) -> int:
        self._debugger.output.write(text)
        return len(text)


def run_python(debugger: Debugger, path: str) -> None:
    """Run a Python script about what the debugger looks at. What is wrong with it is one error, with its line."""
    from runpy import run_path

    try:
        with using(DebuggerHost(debugger)), redirect_stdout(_Written(debugger)):
            run_path(path, run_name="__main__")
    except (DwarfGpuError, Quit):
        raise
    except SystemExit as leaving:
        if leaving.code:
            raise UsageError(f"{path}: exit status {leaving.code}", kind="script_failed") from None
    except Exception as error:
        raise _wrong(path, error) from error


def _wrong(path: str, error: Exception) -> UsageError:
    """What a script raised, at the line of the script where it was."""
    from traceback import extract_tb

    if isinstance(error, OSError) and error.filename == path:
        return UsageError(f"{path}: {error.strerror}", kind="unreadable")
    line = error.lineno if isinstance(error, SyntaxError) else None
    for frame in extract_tb(error.__traceback__):
        if frame.filename == path:
            line = frame.lineno
    where = path if line is None else f"{path}:{line}"
    hint = "`set debug on` shows the traceback"
    return UsageError(f"{where}: {type(error).__name__}: {error}", kind="script_failed", hint=hint)
