"""Commands run as lines of a debugger, and what they write."""

from pathlib import Path

import pytest

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.questions.debugger import Debugger
from dwarfgpu.questions.document import Output
from dwarfgpu.questions.files import attach_state, open_file

KERNEL = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "dwarfgpu/examples/variables.json"
"""A wave of the kernel inside two nested branches."""
CALLS = "fixtures/llvm24/hip-calls.gfx1100.w32.O2.co"
IN_CALLS = "dwarfgpu/examples/calls.json"
"""Three waves of it in calls of calls."""


def commands(text: str) -> list[str]:
    """Return the commands that lines and semicolons separate."""
    return [command for part in text.replace("\n", ";").split(";") if (command := part.strip())]


class Run:
    """A debugger that looks at a file, and at a state of it; calling it runs lines and returns what they write."""

    def __init__(self, file: Path | str | None, state: Path | str | None = None, width: int = 80) -> None:
        self.written: list[str] = []
        self.debugger = Debugger(Output(self.written.append, width=width))
        if file is not None:
            open_file(self.debugger, str(file))
        if state is not None:
            attach_state(self.debugger, str(state))

    def __call__(self, *lines: str) -> str:
        """Run lines; all that they write."""
        self.written.clear()
        for line in lines:
            self.debugger.execute(line)
        return "".join(self.written)

    def fails(self, line: str) -> DwarfGpuError:
        """The error of a line that fails; the focus must stay."""
        debugger = self.debugger
        before = debugger.wave_number, debugger.frame_number, dict(debugger.lanes)
        with pytest.raises(DwarfGpuError) as raised:
            self(line)
        assert (debugger.wave_number, debugger.frame_number, debugger.lanes) == before
        return raised.value
