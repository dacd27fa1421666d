"""The device of a script that asks for one itself: in its process, with its memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from dwarfgpu.immutable import define
from dwarfgpu.questions.document import Output
from dwarfgpu.runtimes.device import HostLaunch, ProgramDevice
from dwarfgpu.runtimes.report import ProgramReport
from dwarfgpu.runtimes.triton.connected import frame_names
from dwarfgpu.runtimes.triton.program import TritonProgram


@define(eq=False)
class _OwnCall:
    """A call of this process."""

    process: TritonProgram
    frames: Sequence[int]


class OwnDevice:
    """A device in this process."""

    def __init__(self, device: ProgramDevice) -> None:
        self.launches: list[HostLaunch] = []
        """What was launched, in this order."""
        self.told: list[str] = []
        """What was reported of the last launch."""
        self.report = ProgramReport(sys.argv[0], self.told.append, Output(sys.stderr.write))
        self.program = TritonProgram(os.getpid(), device, self.report.problem)
        device.report_launch = self._reported
        device.print_text = lambda text, to_errors: (sys.stderr if to_errors else sys.stdout).write(text)

    def load(self, request: dict[str, Any]) -> int:
        return self.program.load(request)

    def launch(self, request: dict[str, Any], frames: Sequence[int]) -> None:
        self.program.host.names.update(frame_names())
        self.told.clear()
        call: Any = _OwnCall(self.program, frames)
        self.program.launch(call, request)

    def answer(self) -> dict[str, Any]:
        answer = self.program.answer()
        text = "\n".join(self.told)
        if answer["error"]:
            return answer | {"error": text or answer["error"]}
        if text:
            sys.stderr.write(f"{text}\n")
            self.told.clear()
        return answer

    def _reported(self, launch: HostLaunch) -> None:
        self.launches.append(launch)
        self.report.launch(self.program, launch)
