"""A kernel that is run to judge its debugging information, maybe together with another build of its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from dwarfgpu.audits.judge import comparison, lane_places, statements, unwinding, variable_values
from dwarfgpu.audits.judge.call_record import CallRecord
from dwarfgpu.audits.judge.comparison import StatementComparison, StatementUses
from dwarfgpu.audits.judge.lane_places import LaneJudge
from dwarfgpu.audits.judge.sightings import Sightings
from dwarfgpu.audits.judge.statement_record import StatementRecorder, record_run
from dwarfgpu.audits.judge.statements import SourceStatements, StatementJudge
from dwarfgpu.audits.judge.unwinding import FrameJudge
from dwarfgpu.audits.judge.variable_values import ValueJudge
from dwarfgpu.audits.judge.wave_registers import WaveRegisters
from dwarfgpu.audits.verify.reports import FileReport
from dwarfgpu.errors import UsageError
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.immutable import frozen
from dwarfgpu.states.stopped import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dwarfgpu.audits.judge.call_record import RecordedCall
    from dwarfgpu.audits.judge.comparison import BuildJudgement
    from dwarfgpu.audits.judge.statement_record import StatementHistory
    from dwarfgpu.audits.verify.findings import CheckRule
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.halts import Halt

RULES: dict[str, CheckRule] = {
    rule.name: rule
    for part in (unwinding, lane_places, variable_values, statements, comparison)
    for rule in part.RULES.values()
}
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
    without_text: tuple[str, ...] = ()
    """The source files whose text was not found, so that changes of variables are not judged."""
    comparison: BuildJudgement | None = None
    """What comparing the variables with another build has shown, if there is one."""


OFTEN = 4
"""The visits of an instruction in one chain of calls that are all judged; of later ones, every power of two."""
WAVES_AT_ONCE = 4
"""The waves, of those that are at an instruction together, for which expressions are evaluated."""


class Judge:
    """Runs a kernel, and judges its debugging information at every instruction."""

    def __init__(self, running: Running, against: OtherBuild | None = None) -> None:
        self.running = running
        self.against = against
        self.sightings = Sightings(running)
        self.first_wave = running.machine.ids[0]
        device = running.machine.device
        self.registers = WaveRegisters(running.machine)
        stopped = Stopped(self.registers, running.attached.stopped.loaded)
        self.frames = FrameJudge(running, self.sightings, self.registers)
        self.lanes = LaneJudge(running, self.sightings, stopped)
        self.texts = SourceStatements(running)
        self.values = ValueJudge(running, self.sightings, stopped, self.registers, self.lanes.record, self.texts)
        self.statements = StatementJudge(
            running, self.sightings, stopped, self.registers, self.lanes.record, self.texts, self.values.followed
        )
        self.calls = CallRecord(device, self._end_call)
        self.recorder: StatementRecorder | None = None
        self.comparison: StatementComparison | None = None
        """What compares with the other build, once the kernel has run."""
        if against is not None:
            self.recorder = StatementRecorder(running, stopped, self.registers, self.lanes.record)
        self._visits: dict[tuple[tuple[int, ...], int], int] = {}
        """How often waves have come to an instruction, by the chain of calls and its address."""
        device.observer = self._observe

    def _end_call(self, call: RecordedCall, batch: WaveBatch, rows: Any) -> None:
        self.frames.end(call, batch, rows)
        self.lanes.leave(call, batch.waves[rows].tolist())
        self.values.end(batch.waves[rows], call)
        self.statements.end(batch.waves[rows], call)

    def _observe(self, batch: WaveBatch) -> bool:
        try:
            instruction = self.calls.observe(batch)
        except MachineFault:  # there is no code, which stops the waves
            return False
        self.lanes.observe(batch, instruction)
        for call, rows in self.calls.groups(batch):
            self.values.observe(batch, call, rows)
            if self.recorder is not None:
                self.recorder.observe(batch, call, rows)
            self.statements.observe(batch, call, rows, instruction)
            key = () if call is None else call.chain, batch.pc
            visits = self._visits[key] = self._visits.get(key, 0) + 1
            if visits > OFTEN and visits & (visits - 1):
                continue
            self.registers.show(batch)
            chosen = _chosen(rows, visits)
            self.frames.judge(batch, call, rows, chosen, visits)
            for row in chosen:
                self.lanes.judge(batch, call, row, visits)
            self.values.judge(batch, chosen[0], visits)
            self.statements.show(batch, call, chosen[0], visits)
        if instruction.name.startswith("s_endpgm"):
            for call, rows in self.calls.groups(batch):
                self.values.end(batch.waves[rows], call)
                self.statements.end(batch.waves[rows], call)
            self.calls.end(batch)
            self.lanes.end(batch)
        return False

    def run(self, limit: int | None = None) -> Judgement:
        """Run the kernel to its end, or until so many instructions have been executed."""
        running = self.running
        device = running.machine.device
        halt = running.run(limit=limit)
        device.observer = None
        self.frames.end_all(self.calls.open_calls())
        compared = self._compare(limit)
        self.statements.finish()
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
        return Judgement(
            report, tuple(functions), halt, device.executed, tuple(sorted(self.texts.without_text)), compared
        )

    def _compare(self, limit: int | None) -> BuildJudgement | None:
        """Compare the variables with those of the other build, if there is one."""
        if self.against is None or self.recorder is None:
            return None
        history = self.recorder.history
        other = self.against.record(history, limit)
        uses = StatementUses(self.texts.text_of)
        self.comparison = StatementComparison(history, other, self.against.name, uses, self.sightings)
        return self.comparison.run()


def _chosen(rows: Any, visits: int) -> list[int]:
    """Return the rows of the waves that are judged one by one: at first some of all, later one in turn."""
    count = len(rows)
    if visits > 2:
        return [int(rows[visits % count])]
    last = count - 1
    return [int(rows[index]) for index in sorted({i * last // (WAVES_AT_ONCE - 1) for i in range(WAVES_AT_ONCE)})]


# --- The build that variables are compared with -------------------------------------------------------------------


class OtherBuild(Protocol):
    """Another build of the source that is judged."""

    name: str
    problem: str | None
    """Why not everything was recorded; None if it was."""

    def record(self, judged: StatementHistory, limit: int | None) -> StatementHistory:
        """Run it, and return what the work-items of a history do in it."""
        ...


class GpuBuild:
    """A code object that the machine runs, too."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.name = running.launched.plan.file.name.rpartition("/")[2]
        self.problem: str | None = None

    def record(self, judged: StatementHistory, limit: int | None) -> StatementHistory:
        history, halt = record_run(self.running, judged, limit)
        if not halt.has_ended:
            self.problem = f"{self.name} has not ended: {halt}"
        return history


def other_build(
    path: str, judged: Running, kernel: str, words: Sequence[str], option: Callable[[str], Any]
) -> OtherBuild:
    """Open the other build, ready to run the kernel with the same arguments."""
    from dwarfgpu.execution.control.running import launched_with
    from dwarfgpu.states.program import open_program

    program = open_program(path)
    if not program.file.has_dwarf:
        raise UsageError(f"{path} has no debugging information", hint="compile it with -g")
    if program.file.is_amdgpu:
        return GpuBuild(launched_with(program, kernel, words, option))
    from dwarfgpu.audits.judge.host_builds import HostBuild

    return HostBuild(program, judged)
