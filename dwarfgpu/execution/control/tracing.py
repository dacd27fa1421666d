"""What one wave does, instruction by instruction, with the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from dwarfgpu.execution.batch import EXEC, VCC, WaveBatch, return_addresses
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.isa.decoder import executed, text
from dwarfgpu.isa.instruction import GpuInstruction, OperandKind
from dwarfgpu.lanes import first_lane
from dwarfgpu.program.code.source_files import SourceTexts
from dwarfgpu.program.code.weighted_stacks import TimedCalls, WaveTrack, calls_of, stack_levels

if TYPE_CHECKING:
    from dwarfgpu.execution.control.running import CodePosition, Running
    from dwarfgpu.execution.device import Device
    from dwarfgpu.execution.forms.traced_waves import TracedWaves, TracePlan, TraceRecord

_FILES, _VECTORS = {OperandKind.VGPR: "v", OperandKind.AGPR: "a", OperandKind.SGPR: "s"}, "va"


@immutable
class TracedStep:
    """An instruction that a wave has executed, or a line that it has begun."""

    position: CodePosition
    active: int
    """The mask of the lanes that execute it."""
    text: str | None = None
    """The instruction; None for a line."""
    results: tuple[tuple[str, str], ...] = ()
    """What it wrote, in the lane that is traced, or the variables that have changed before the line."""
    time: int = 0
    """How many instructions the wave has executed before."""
    callers: tuple[int, ...] | None = ()
    """The return addresses of the calls that it is in, innermost first; None if they are not known."""
    source: str | None = None
    """The text of the line."""
    idle: int | None = None
    """The lane that is traced, if it does not execute the instruction."""
    read: tuple[tuple[str, str], ...] = ()
    """What the line before has loaded from memory."""
    returned: str | None = None
    """What the function that the line before belongs to has returned."""
    passed: int = 0
    """How many of the results are what the function was called with, and come before what it has read."""
    is_optimized: bool = False
    """Whether the code is optimized: instructions of lines are mixed, and variables are what the file says."""


class StepTrace:
    """Tells a function what one wave does: its instructions, each with its results."""

    def __init__(
        self, running: Running, tell: Callable[[TracedStep], Any], *, wave: int = 0, lane: int | None = None
    ) -> None:
        self.running = running
        self.tell = tell
        running.check_lane(wave, lane)
        self.wave = running.machine.ids[wave]
        self.lane = lane
        """The lane whose values are shown; without one it is the first that executes."""
        self._pending: tuple[int, int, int, tuple[int, ...] | None, int] | None = None
        """The latest instruction, until its results are known: its address, and the facts of a step."""
        self._instructions: dict[int, tuple[list[Destination], CodePosition, str, str | None]] = {}
        self._callers: tuple[int, ...] | None = None
        """The return addresses of the calls that the wave is in while compiled code executes it."""
        self.executed = 0
        """How many instructions the wave has executed, with the one that it is at."""
        self._sources: dict[int, str | None] = {}
        self._reader = SourceTexts()
        self.is_optimized = running.is_optimized
        device = running.machine.device
        self._before, device.observer = device.observer, self
        self.followed = self._followed_wave()
        """What compiled code does of the wave meanwhile; None where Python looks at each instruction."""
        device.forget_compiled()

    def _followed_wave(self) -> TracedWaves | None:
        device = self.running.machine.device
        if self._before is not None or not device.batches:
            return None
        from dwarfgpu.execution.forms.traced_waves import TracedWaves

        number, code = partial(self.running.machine.wave_named, self.wave), device.code_around(device.batches[0].pc)
        return TracedWaves(device, number, self.lane, code, self)

    @property
    def quiet(self) -> TracedWaves | None:
        """What compiled code executes unseen."""
        return self.followed

    def settle(self) -> bool:
        """Stop nowhere."""
        return False

    def __call__(self, batch: WaveBatch) -> bool:
        """Look at an instruction that Python executes next."""
        if self._before is not None and self._before(batch):
            return True
        for row in self._rows(batch):
            self._take_over()
            self.executed += 1
            self._step(batch, row)
        return False

    def _rows(self, batch: WaveBatch) -> list[int]:
        number = self.running.machine.wave_named(self.wave)
        return (batch.waves == number).nonzero()[0].tolist()  # type: ignore[no-any-return]

    def _take_over(self) -> None:
        """Take note of what compiled code has executed last, since Python executes what follows."""
        if self.followed is not None:
            plan, words = self.followed.take_over()
            if plan.names:
                self._end_step(plan.results_of(words))

    def end(self) -> None:
        """Tell what is left, and stop tracing."""
        device = self.running.machine.device
        self._end_step()
        device.observer = self._before
        device.forget_compiled()

    def track(self, steps: Sequence[TracedStep]) -> WaveTrack:
        """Return the steps that were told, at the end, as the track of the wave, with the calls around each."""
        loaded, machine = self.running.attached.state.loaded, self.running.machine
        ends = [*(step.time for step in steps[1:]), self.executed]
        parts = (
            TimedCalls(
                calls_of(stack_levels(loaded, step.position.address, step.callers)),
                end - step.time,
                {"pc": f"{step.position.address:#x}", "lanes": step.active.bit_count(), **dict(step.results)},
                step.text,
            )
            for step, end in zip(steps, ends, strict=True)
        )
        wave = machine.wave_named(self.wave)
        return WaveTrack(wave or 0, self.wave, machine.place_of(wave or 0)[1], tuple(parts))

    # --- Instructions ---------------------------------------------------------------------------------------------

    def _step(self, batch: WaveBatch, row: int) -> None:
        self._end_in(batch, row)
        with suppress(MachineFault):  # where there is no code the wave stops with that
            self._begin_step(batch.pc, mask_of(batch, row), *self._when(batch, row))

    def _begin_step(self, pc: int, mask: int, time: int, callers: tuple[int, ...] | None) -> None:
        if pc not in self._instructions:
            device = self.running.machine.device
            instruction = executed(device.code_at(pc), 0, device.processor, device.lanes)
            known = self.running.position(pc), text(instruction), self._source(pc)
            self._instructions[pc] = [*_destinations(instruction, device)], *known
        self._pending = pc, mask, time, callers, self._lane(mask)

    def _end_in(self, batch: WaveBatch, row: int) -> None:
        """Tell the instruction that Python has executed last."""
        if self._pending is not None:
            pc, lane = self._pending[0], self._pending[-1]
            self._end_step((*((each.name, each.text(batch, row, lane)) for each in self._instructions[pc][0]),))

    def _end_step(self, results: tuple[tuple[str, str], ...] = ()) -> None:
        if self._pending is None:
            return
        (pc, mask, time, callers, lane), self._pending = self._pending, None
        _destinations, position, text, source = self._instructions[pc]
        idle = None if mask >> lane & 1 else lane
        self.tell(TracedStep(position, mask, text, results, time, callers, source, idle))

    def plan_of(self, followed: TracedWaves, address: int, instruction: GpuInstruction) -> TracePlan:
        """Return what compiled code records of an instruction: all that it writes."""
        from dwarfgpu.execution.forms.traced_waves import TracePlan

        found, words = [*_destinations(instruction, self.running.machine.device)], followed.device.lanes // 32
        counts = [1 if each.file in _FILES.values() else words for each in found]
        places = [followed.place_of(each.file, each.number) + 4 * word
                  for each, count in zip(found, counts, strict=True) for word in range(count)]  # fmt: skip
        names = zip((each.name for each in found), counts, strict=True)
        return TracePlan(address, places, names)

    def enter(self, batch: WaveBatch) -> None:
        """Take note that waves go on in compiled code."""
        for row in self._rows(batch):
            self._end_in(batch, row)
            self._callers = return_addresses(batch.each_calls()[row])

    def replay(self, records: Iterable[TraceRecord]) -> None:
        """Tell what compiled code has executed."""
        callers = self._callers
        for plan, before, mask, results in records:
            self._end_step(before.results_of(results))
            self._begin_step(plan.address, mask, self.executed, callers)
            self.executed += 1

    def _source(self, pc: int) -> str | None:
        """Return the text of the line of an instruction."""
        if pc not in self._sources:
            line = self.running.line_at(pc)
            self._sources[pc] = None if line is None else self._reader.read(line.file).line(line.line)
        return self._sources[pc]

    def _when(self, batch: WaveBatch, row: int) -> tuple[int, tuple[int, ...] | None]:
        """Return the time of a step, and its callers."""
        return self.executed - 1, return_addresses(batch.each_calls()[row])

    def _lane(self, mask: int) -> int:
        return self.lane if self.lane is not None else first_lane(mask) if mask else 0


def mask_of(batch: WaveBatch, row: int) -> int:
    """Return the mask of the lanes of a wave that execute."""
    return _number(batch.exec, row) & (1 << batch.lanes) - 1


@frozen
class Destination:
    """A register that an instruction writes: in one lane, where lanes have their own."""

    name: str
    file: str
    """``v``, ``a``, ``s``, or that of a mask."""
    number: int

    def text(self, batch: WaveBatch, row: int, lane: int) -> str:
        if self.file in _VECTORS:
            column = (batch.accumulation if self.file == "a" else batch.vector)[self.number]
            return f"{int(column[row if column.shape[0] > 1 else 0, lane if column.shape[1] > 1 else 0]):#x}"
        return f"{_number(batch.exec if self.file == 'exec' else batch.scalar[self.number], row):#x}"


def _destinations(instruction: GpuInstruction, device: Device) -> Iterator[Destination]:
    """Yield what an instruction writes."""
    parts, counts = instruction.components or (instruction,), dict(zip("va", device.register_counts, strict=True))
    for operand in (operand for part in parts for operand in part.destinations):
        first, behind, register = operand.index, operand.index + max(1, operand.bits // 32), operand.register
        if operand.kind in _FILES:
            file = _FILES[operand.kind]
            for number in range(first, min(behind, counts.get(file, behind))):
                yield Destination(f"{file}{number}", file, number)
        elif register.startswith("exec"):
            yield Destination("exec", "exec", EXEC)
        elif register.startswith("vcc"):
            yield Destination("vcc", "vcc", VCC)


def _number(value: Any, row: int) -> int:
    return int(value) if isinstance(value, int) else int(value[row if len(value) > 1 else 0, 0])
