"""A kernel that is run to judge its debugging information: who watches it, and what comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.immutable import frozen
from dwarfgpu.verification.judging import unwinding
from dwarfgpu.verification.judging.call_record import CallRecord
from dwarfgpu.verification.judging.sightings import Sightings
from dwarfgpu.verification.judging.unwinding import FrameJudge
from dwarfgpu.verification.reports import FileReport

if TYPE_CHECKING:
    from dwarfgpu.backends.running.batch import WaveBatch
    from dwarfgpu.backends.running.halts import Halt
    from dwarfgpu.program.running.running import Running
    from dwarfgpu.verification.findings import CheckRule

RULES: dict[str, CheckRule] = {rule.name: rule for part in (unwinding,) for rule in part.RULES.values()}
"""The rules that execution judges by."""


@frozen
class JudgedFunction:
    """How many instructions of a function were judged, and what came of it."""

    name: str
    judged: int
    right: int
    wrong: int
    missing: int
    """Those of which the file says nothing."""


@frozen(eq=False)
class Judgement:
    """What the execution of a kernel shows of its debugging information."""

    report: FileReport
    functions: tuple[JudgedFunction, ...]
    halt: Halt
    instructions: int
    """What was executed, counted once for each wave."""


class Judge:
    """Runs a kernel, and judges its debugging information at every instruction."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.sightings = Sightings(running)
        device = running.machine.device
        self.frames = FrameJudge(running, self.sightings)
        self.calls = CallRecord(device, self.frames.end)
        device.observer = self._observe

    def _observe(self, batch: WaveBatch) -> bool:
        self.calls.observe(batch)
        for call, rows in self.calls.groups(batch):
            self.frames.judge(batch, call, rows)
        return False

    def run(self, limit: int | None = None) -> Judgement:
        """Run the kernel to its end, or until so many instructions have been executed."""
        running = self.running
        device = running.machine.device
        halt = running.run(limit=limit)
        device.observer = None
        self.frames.end_all(self.calls.open_calls())
        functions = [
            JudgedFunction(
                name,
                len(counts.seen),
                len(counts.seen - counts.wrong - counts.missing),
                len(counts.wrong),
                len(counts.missing),
            )
            for name, counts in self.sightings.functions.items()
        ]
        file = running.launched.plan.file
        report = FileReport(file.name, tuple(self.sightings.findings()), left_out=self.sightings.left_out or None)
        return Judgement(report, tuple(functions), halt, device.executed)
