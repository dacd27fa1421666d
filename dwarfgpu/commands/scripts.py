"""Python scripts run by the debugger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
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
        self.debugger = debugger

    def attached(self) -> Attached:
        return self.debugger.machine

    def waves(self) -> Sequence[Wave]:
        return list(self.debugger.machine)

    def wave(self) -> Wave:
        return self.debugger.wave

    def frame(self) -> Frame:
        return in_lane(self.debugger.frame, self.debugger.lane)


def run_python(debugger: Debugger, path: str) -> None:
    """Run a Python script about what the debugger looks at."""
    from runpy import run_path

    try:
        with using(DebuggerHost(debugger)):
            run_path(path, run_name="__main__")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", kind="unreadable") from None
