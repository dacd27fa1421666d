"""A debugger whose output is collected: what tests of commands drive."""

from __future__ import annotations

from dwarfgpu.commands.debugger import Debugger
from dwarfgpu.commands.files import attach_state, open_file
from dwarfgpu.commands.output import Output
from dwarfgpu.errors import DwarfGpuError


class Run:
    """Runs lines in a debugger that has opened a file, and attached a state if one is given."""

    def __init__(self, file: object = None, state: object = None, width: int = 80) -> None:
        self.written: list[str] = []
        self.debugger = Debugger(Output(self.written.append, width=width))
        if file is not None:
            open_file(self.debugger, str(file))
        if state is not None:
            attach_state(self.debugger, str(state))

    def __call__(self, *lines: str) -> str:
        """The text that some lines write."""
        self.written.clear()
        for line in lines:
            self.debugger.execute(line)
        return "".join(self.written)

    def fails(self, line: str) -> DwarfGpuError:
        """The error of a line that has one."""
        try:
            self.debugger.execute(line)
        except DwarfGpuError as error:
            return error
        raise AssertionError(f"{line} works: {''.join(self.written)}")
