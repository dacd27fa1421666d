"""A kernel under a debugger: it runs, steps and goes back, and says where and why it has stopped."""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.backends.running import halts
from dwarfgpu.backends.running.halts import Halt
from dwarfgpu.errors import UsageError
from dwarfgpu.program.running.history import History
from dwarfgpu.program.running.running import Running
from dwarfgpu.program.running.stepping import CallDepth, CodeReader, PastStep, StepGoal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dwarfgpu.backends.running.batch import WaveBatch
    from dwarfgpu.backends.running.halts import Arrival
    from dwarfgpu.program.launch.launch import Launched
    from dwarfgpu.program.program import Attached
    from dwarfgpu.program.running.breakpoints import StoppingPoint

_NAME = re.compile(r"[A-Za-z_$][\w$:<>~]*")


class Debugging:
    """A launched kernel that a debugger runs."""

    def __init__(self, launched: Launched, attached: Attached) -> None:
        self.running = Running(launched, attached=attached)
        self.machine = self.running.machine
        self.device = self.machine.device
        self.history = History(self.machine)
        self.only: int | None = None
        """The wave that runs alone; None if all run."""
        self.hit: StoppingPoint | None = None
        """What stopped the waves."""
        self.watcher: Callable[[WaveBatch], bool] | None = None
        """Looks at watchpoints before each instruction."""
        self.texts_shown = 0
        """How many of the texts that the kernel prints were shown."""

    @cached_property
    def reader(self) -> CodeReader:
        """What steps know of the code."""
        return CodeReader(self.running.attached, self.device)

    # --- Breakpoints ----------------------------------------------------------------------------------------------

    def insert(self, point: StoppingPoint) -> None:
        """Let waves stop at a breakpoint; a condition must be readable there."""
        addresses = sorted({self._behind_prologue(point.text, each) for each in self.running.addresses(point.text)})
        if point.condition is not None:
            self.running.check_condition(point.condition, addresses[0])
        for address in addresses:
            device_point = halts.Breakpoint(point.number, address, self._question(point))
            self.device.add_breakpoint(device_point)
            point.points.append(device_point)

    def _behind_prologue(self, text: str, address: int) -> int:
        """Return where a function that a text names is entered: where its second line begins."""
        if not _NAME.fullmatch(text.strip()):
            return address
        sources = self.running.attached.state.sources
        line = sources.at(address)
        following = None if line is None else sources.at(line.end)
        if line is None or following is None or following.file is not line.file:
            return address
        return following.start if self.reader.at(following.start).functions >= 1 else address

    def remove(self, point: StoppingPoint) -> None:
        """Let no wave stop there any more."""
        for device_point in point.points:
            self.device.remove_breakpoint(device_point)
        point.points.clear()

    def _question(self, point: StoppingPoint) -> Callable[[Arrival], Any]:
        def stops(arrival: Arrival) -> Any:
            if not point.is_enabled:
                return False
            lanes = self._lanes_at(point, arrival)
            if not lanes.any() or not point.counts():
                return False
            self.hit = point
            return lanes

        return stops

    def _lanes_at(self, point: StoppingPoint, arrival: Arrival) -> Any:
        lanes = arrival.lanes
        if point.condition is None:
            return lanes
        return lanes & self.running.truth(point.condition, arrival, point.number)

    # --- Forwards -------------------------------------------------------------------------------------------------

    def go_on(self, observer: Callable[[WaveBatch], Any] | None = None) -> Halt:
        """Run until something stops the waves."""
        device, history = self.device, self.history
        self.hit = None
        history.changed()
        if not device.batches and not (device.waiting or device.stopped):
            return _rest(self.machine)
        with self._alone():
            before = device.observer
            device.observer = self._both(observer)
            try:
                while True:
                    step = history.interval
                    halt = self.machine.run(limit=step)
                    if halt.kind != halts.LIMIT:
                        return halt
                    if self.only is None:
                        history.keep()
            finally:
                device.observer = before

    def _both(self, observer: Callable[[WaveBatch], Any] | None) -> Callable[[WaveBatch], Any] | None:
        watcher = self.watcher
        if watcher is None or observer is None:
            return watcher or observer
        return lambda batch: watcher(batch) or observer(batch)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep all other waves back, if one is to run alone."""
        if self.only is None:
            yield
            return
        device, wave = self.device, self.only
        held = []
        for batch in list(device.batches):
            if wave in batch.waves:
                if batch.count > 1:
                    device.batches.remove(batch)
                    other, own = batch.part(batch.waves != wave), batch.part(batch.waves == wave)
                    held.append(other)
                    device.batches.append(own)
            else:
                held.append(batch)
        device.batches = [batch for batch in device.batches if wave in batch.waves]
        ahead, self.machine.work_ahead = self.machine.work_ahead, None
        try:
            yield
        finally:
            device.batches += held
            self.machine.work_ahead = ahead
            device.write_back()
            self.history.keep(is_fixed=True)

    def step_until(self, wave: int, is_there: Callable[[int, int], bool]) -> Halt:
        """Run until a wave is at an instruction for which a question says so; its depth of calls begins with 0."""
        goal = StepGoal(self.device, self.reader, wave, is_there)
        return self.go_on(goal.observe)

    def step_instruction(self, wave: int, *, over: bool = False) -> Halt:
        """Run until a wave has executed one instruction, or also the function that it calls."""
        return self.step_until(wave, lambda _pc, depth: not over or depth <= 0)

    def step_line(self, wave: int, *, over: bool = False, behind: int = 0) -> Halt:
        """Run until a wave is at the beginning of another line, or has left its function.

        With ``behind`` the line must be behind an address, so that loops are executed to their end.
        """
        first = self._facts(wave)
        reader = self.reader

        def is_there(pc: int, depth: int) -> bool:
            if depth > 0 and over:
                return False
            facts = reader.at(pc)
            if facts.line is None:
                return False
            if over and not depth and facts.functions > first.functions > 0:
                return False
            if depth < 0 or facts.functions < first.functions:
                return facts.is_start or facts.line != first.line
            return pc > behind and facts.is_start and (facts.line != first.line or depth > 0)

        return self.step_until(wave, is_there)

    def finish(self, wave: int) -> Halt:
        """Run until the function of a wave has returned."""
        first = self._facts(wave)
        reader = self.reader

        def is_there(pc: int, depth: int) -> bool:
            return depth < 0 or (not depth and reader.at(pc).functions < first.functions)

        return self.step_until(wave, is_there)

    def run_to(self, wave: int, addresses: list[int], *, leaves: bool = True) -> Halt:
        """Run until a wave is at one of some addresses, or has left its function."""
        return self.step_until(wave, lambda pc, depth: pc in addresses or (leaves and depth < 0))

    def _facts(self, wave: int) -> Any:
        return self.reader.at(self.pc_of(wave))

    def pc_of(self, wave: int) -> int:
        """Return where a wave is."""
        pc = self.machine.program_counter(wave)
        if pc is None:
            raise UsageError("the wave has no program counter", kind="no_wave")
        return pc

    def jump(self, wave: int, address: int) -> None:
        """Send a wave to an address."""
        self.machine.set_register("pc", np.array([address], np.uint64), np.array([wave]))
        self.machine.changes += 1

    # --- Back -----------------------------------------------------------------------------------------------------

    def back_to(self, found: int | None) -> bool:
        """Go to an earlier time; to the beginning of what is known if there is none. Return whether there was one."""
        self.hit = self.hit if found is not None else None
        self.history.go_to(self.history.start if found is None else found)
        return found is not None

    def trace(self, wave: int) -> Iterator[list[PastStep]]:
        """Yield what a wave has executed, in stretches from the latest on; each is in the order of time."""
        steps: list[PastStep] = []
        depths = CallDepth(self.reader)
        last = -1

        def observe(batch: WaveBatch) -> bool:
            nonlocal last
            time = self.device.executed
            if wave in batch.waves and time != last:
                last = time
                steps.append(PastStep(time, batch.pc, depths.arrive(batch.pc)))
            return False

        for _ in self.history.stretches(observe):
            yield steps
            steps, depths, last = [], CallDepth(self.reader), -1

    def whole_trace(self, wave: int, is_enough: Callable[[list[PastStep]], int | None]) -> bool:
        """Go to the time that a question finds in what a wave has executed; it is asked with more and more of it.

        The last step that the question gets is where the wave is now.
        """
        self.history.changed()
        now = PastStep(self.device.executed, self.pc_of(wave), 0)
        steps = [now]
        for earlier in self.trace(wave):
            if not earlier:
                continue
            depths = CallDepth(self.reader)
            steps = [PastStep(step.time, step.pc, depths.arrive(step.pc)) for step in (*earlier, *steps)]
            time = is_enough(steps)
            if time is not None:
                return self.back_to(time)
        return self.back_to(None)

    def reverse_instruction(self, wave: int, *, over: bool = False) -> bool:
        """Go back by one instruction of a wave, or by a whole call that ends before it."""

        def find(steps: list[PastStep]) -> int | None:
            depth = steps[-1].depth
            return next((step.time for step in reversed(steps[:-1]) if not over or step.depth <= depth), None)

        return self.whole_trace(wave, find)

    def reverse_line(self, wave: int, *, over: bool = False) -> bool:
        """Go back to the beginning of the line, or, from there, of the one before it."""
        reader = self.reader

        def find(steps: list[PastStep]) -> int | None:
            depth = steps[-1].depth
            inlined = reader.at(steps[-1].pc).functions
            past = [
                step
                for step in steps[:-1]
                if not over or step.depth < depth or (step.depth == depth and reader.at(step.pc).functions <= inlined)
            ]
            index = len(past) - 1
            while index >= 0 and reader.at(past[index].pc).line is None:
                index -= 1
            if index < 0:
                return None
            line, level = reader.at(past[index].pc).line, past[index].depth
            while index and reader.at(past[index - 1].pc).line == line and past[index - 1].depth == level:
                if reader.at(past[index].pc).is_start and past[index].pc <= past[index - 1].pc:
                    break  # the line was executed twice
                index -= 1
            return past[index].time if index or steps[0].time == self.history.start else None

        return self.whole_trace(wave, find)

    def reverse_finish(self, wave: int) -> bool:
        """Go back to the call of the function."""

        def find(steps: list[PastStep]) -> int | None:
            depth = steps[-1].depth
            return next((step.time for step in reversed(steps[:-1]) if step.depth < depth), None)

        return self.whole_trace(wave, find)

    def reverse_go_on(self, points: list[StoppingPoint]) -> Halt | None:
        """Go back to the last time when something stopped a wave; None if nothing did."""
        self.history.changed()
        wanted = {address: point for point in points if point.is_enabled for address in point.addresses}
        latest: tuple[int, StoppingPoint, Halt] | None = None
        now = self.device.executed
        device = self.device
        watched = [point for point in points if point.is_enabled and point.watched is not None and point.watched.data]
        before: list[Any] = [None, 0, 0]  # what watchpoints have seen, the time, the address

        def look(batch: WaveBatch) -> None:
            nonlocal latest
            seen = [point.watched.data() for point in watched]
            if before[0] is not None:
                for point, old, new in zip(watched, before[0], seen, strict=True):
                    if old != new and before[1] < now:
                        lanes = {point.watched.wave: 1 << point.watched.lane}
                        latest = before[1], point, Halt(halts.STEP, point.kind, before[2], lanes)
            before[:] = seen, device.executed, batch.pc

        def observe(batch: WaveBatch) -> bool:
            nonlocal latest
            if watched:
                look(batch)
            point = wanted.get(batch.pc)
            time = device.executed
            if point is None or time >= now or batch.passed:
                return False
            arrival = halts.Arrival(device, batch)
            masks = halts.lane_masks(batch.waves, self._lanes_at(point, arrival))
            if masks:
                latest = time, point, Halt(halts.BREAKPOINT, f"breakpoint {point.number}", batch.pc, masks)
            return False

        for _ in self.history.stretches(observe):
            if watched and before[0] is not None and device.batches:
                look(device.batches[0])
            before[0] = None
            if latest is not None:
                time, self.hit, halt = latest
                self.back_to(time)
                return halt
        self.hit = None
        self.back_to(None)
        return None


def _rest(machine: Any) -> Halt:
    from dwarfgpu.backends.machine import why_at_rest

    return why_at_rest(machine.device)
