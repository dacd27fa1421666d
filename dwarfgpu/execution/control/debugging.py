"""A kernel under a debugger: it runs, steps and goes back, and says where and why it has stopped."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from math import inf
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution import halts
from dwarfgpu.execution.breakpoints import BREAK, CATCH, DPRINTF, READ_WATCH, WATCH, Arrival, Breakpoint, Breakpoints
from dwarfgpu.execution.control.checkpoints import History
from dwarfgpu.execution.control.running import Running, check_readable
from dwarfgpu.execution.control.stepping import PastStep, StepGoal, backwards, line_before
from dwarfgpu.execution.control.watching import (
    PRIVATE,
    RegisterRecorder,
    Watched,
    WatchedCall,
    Watcher,
    registers_of,
    stack_in,
    stack_pointer,
)
from dwarfgpu.execution.halts import Halt, ValueChange, WatchHit
from dwarfgpu.immutable import evolve
from dwarfgpu.lanes import lanes_in
from dwarfgpu.machines.protocol import ADDRESS, HAS_ENDED, IS_HALTED, REGISTER, CrashChange, not_set_yet
from dwarfgpu.objfile.info.scopes import covers
from dwarfgpu.program.frames.answers import location_of
from dwarfgpu.program.frames.evaluator import SourceExpression, is_constant, variables_in
from dwarfgpu.program.frames.variable import TensorVariable
from dwarfgpu.program.values.objects import Object

if TYPE_CHECKING:
    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.watching import Registers, RegisterWrite
    from dwarfgpu.execution.launch.launch import Launched
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.states.program import Attached

    Observer = Callable[[WaveBatch], Any]

ADDRESSES = ("vaddr", "addr", "saddr", "sbase")
"""The operands that addresses are in, by the names of the encodings."""
NOT_RUN = "The program is not being run."
NO_MORE = "No unwaited-for children left."
BY_HOST = "changed by the host"
"""Why going back stops at a watchpoint between two launches."""
NO_HISTORY = "No more reverse-execution history."


class LastStop:
    """The last stop before a time, as far as the past has been searched."""

    def __init__(self, before: int) -> None:
        self.before = before
        self.time = -1
        self.halt: Halt | None = None
        self.same: dict[int, WatchHit] = {}
        """The last stores to what is watched that have changed nothing, by the number of the watchpoint."""

    def see(self, time: int, halt: Halt) -> None:
        """Keep a stop if it is later than all others."""
        if time > self.time:
            self.time, self.halt = time, halt

    def tell(self, hit: WatchHit) -> bool:
        """Take note of what a watchpoint has seen; no wave stops."""
        if hit.is_inside and not hit.has_left:
            change = ValueChange(hit.change.new, hit.change.old)  # as it is seen on the way back
            self.see(hit.time, Halt(halts.STEP, hit.point.kind, hit.pc, hit.lanes, (hit.point,), change))
        return False

    def tell_same(self, hit: WatchHit) -> None:
        """Take note of a store that has changed nothing."""
        if hit.is_inside and hit.point.kind == WATCH:
            number = hit.point.number
            self.same[number] = max(hit, self.same.get(number, hit), key=lambda each: each.time)


class Debugging:
    """A launched kernel that a debugger runs. What is asked of it is as of the last stop.

    >>> import dwarfgpu as dg
    >>> kernel = dg.launch("blur.co", "blur", ["arange(50)", "zeros(50)", 49], grid=64, work_group=64)
    >>> debugging = dg.Debugging(kernel)
    >>> point = debugging.break_at("blur.cl:10", "j > 47")
    >>> stop = debugging.go_on()
    >>> watchpoint = debugging.watch("sum", wave=1, lane=16)
    >>> change = debugging.reverse_go_on().change
    >>> change.old, change.new
    ('47.0', '0.0')
    """

    def __init__(
        self,
        launched: Launched | Running,
        *,
        attached: Attached | None = None,
        points: Breakpoints | None = None,
        process: object = None,
    ) -> None:
        """``process`` has made the launch, if breakpoints may be for other launches of it or for its host."""
        self.running = launched if isinstance(launched, Running) else Running(launched, attached=attached)
        self.machine = self.running.machine
        self.device = self.machine.device
        self.history: History = self.machine.past or History(self.machine)
        self.points = Breakpoints() if points is None else points
        self.process = process
        self.only: int | None = None
        """The wave that runs alone; None if all run."""
        self.texts_shown = 0
        """How many of the texts that the kernel prints were shown."""
        self.dprinted: list[str] = []
        """What dprintf has printed, where `write` is not set."""
        self.write: Callable[[str], object] | None = None
        """Shows what dprintf prints."""
        self.last_points: tuple[Breakpoint, ...] = ()
        """The breakpoints where waves are now."""
        self.guard: Observer | None = None
        """Is asked before each instruction onwards, and stops the waves for a reason of its own."""
        self._told: set[object] = set()
        """What identifies the findings of checks that waves have stopped for."""
        if self.machine.checks is not None:
            self.guard = self._stop_at_finding
        self._watch_hits: list[WatchHit] = []
        self._problem: str | None = None
        for point in self.points:
            point.addresses = []
            if point.kind in (BREAK, DPRINTF) or point.watched is not None:
                try:
                    (self.insert if point.watched is None else self._watch_again)(point)
                except DwarfGpuError as error:  # one that was set before there was a launch
                    if process is not None and not self._is_here(point.text):
                        continue
                    self.dprinted.append(f"Error in re-setting breakpoint {point.number}: {error.message}\n")

    @property
    def attached(self) -> Attached:
        """The machine with its code."""
        return self.running.attached

    @property
    def kernel(self) -> str:
        return self.running.launched.plan.kernel.name

    @property
    def shown_kernel(self) -> str:
        """The name as the source has it, with its parameters in C++."""
        return self.running.launched.plan.kernel.demangled

    @property
    def has_ended(self) -> bool:
        """Whether all waves have ended."""
        device = self.device
        return not (device.batches or device.held or device.waiting or device.stopped or self.machine.work_ahead)

    # --- Breakpoints ----------------------------------------------------------------------------------------------

    @contextmanager
    def _new(self, kind: str, text: str) -> Iterator[Breakpoint]:
        """Add a breakpoint, whose number is free again if it cannot be set."""
        point = self.points.add(kind, text)
        try:
            yield point
        except DwarfGpuError:
            self.remove(point)
            self.points.take_back(point)
            raise

    def break_at(self, place: str, condition: str | None = None, *, is_temporary: bool = False) -> Breakpoint:
        """Let waves stop at a place, where an expression of the source language is true in a lane that executes."""
        with self._new(BREAK, place) as point:
            point.condition, point.is_temporary = condition, is_temporary
            self.insert(point)
        return point

    def print_at(
        self, place: str, texts: Callable[[Frame, list[int]], Iterable[str]], expressions: Iterable[str]
    ) -> Breakpoint:
        """Let the waves that reach a place print texts and go on; the expressions in them must be readable there."""
        with self._new(DPRINTF, place) as point:
            point.texts = texts
            self.insert(point)
            for text in expressions:
                self.running.check_condition(text, point.addresses[0])
        return point

    def insert(self, point: Breakpoint) -> None:
        """Let waves stop at a breakpoint; a condition must be readable there."""
        addresses = self.running.stops_with(point.text, point.condition)
        moved = None if self.process is None else self.running.moved_text(point.text, addresses)
        if moved is not None:
            raise UsageError(moved)
        point.addresses, point.holds = addresses, lambda arrival: self._stopping(point, arrival)
        point.guard = lambda batch: self.running.guard(point.condition, batch)
        self.device.add_breakpoint(point)

    def _is_here(self, place: str) -> bool:
        """Return whether this launch has a place."""
        try:
            return self.running.moved_text(place, self.running.stops(place)) is None
        except DwarfGpuError:
            return False

    def remove(self, point: Breakpoint) -> None:
        """Let no wave stop there any more."""
        self.device.remove_breakpoint(point)
        point.addresses = []

    def points_at(self, place: str) -> list[Breakpoint]:
        """Return the breakpoints at the lines of a place, or at its addresses if they have no line."""
        wanted = set(map(self._line_at, self.running.stops(place)))
        return [point for point in self.points if wanted.intersection(map(self._line_at, point.addresses))]

    def _line_at(self, address: int) -> tuple[str, int] | int:
        place = self.running.position(address)
        return (place.file, place.line) if place.file and place.line else address

    def forget(self, point: Breakpoint) -> None:
        """Remove a breakpoint, watchpoint or catchpoint for good."""
        self.remove(point)
        self.points.drop(point)

    def condition(self, point: Breakpoint, text: str | None) -> None:
        """Change the condition of a breakpoint or a watchpoint."""
        if text is not None and point.watched is not None:
            _check_in_lane(text, self.attached[point.watched.wave].frame(0))
        if text is not None and point.addresses:
            self.running.check_condition(text, point.addresses[0])
        point.condition = text

    def _stopping(self, point: Breakpoint, arrival: Arrival) -> Any:
        """Return the lanes that a breakpoint stops; a dprintf prints, and stops none."""
        lanes = self._lanes_at(point, arrival)
        if point.texts is None:
            return lanes
        if lanes.any() and point.counts():
            write = self.write or self.dprinted.append
            assert arrival.machine is self.machine  # noqa: S101 (it has the registers of these waves from now on)
            for wave, mask in halts.lane_masks(arrival.waves, lanes).items():
                for text in point.texts(self.attached[wave].frame(0), lanes_in(mask)):
                    write(text)
        return False

    def _lanes_at(self, point: Breakpoint, arrival: Arrival) -> Any:
        """Return the lanes that a breakpoint stops. An error in its condition stops them all, and is told."""
        lanes = arrival.lanes
        if point.condition is None:
            return lanes
        try:
            truth = self.running.truth(point.condition, arrival, point.number)
        except DwarfGpuError as error:
            self._problem = f"{point.condition} ({error.message})"
            return lanes
        problem = self.running.condition_problem
        stopping = lanes & truth
        if problem is not None and stopping.any():
            self._problem = problem.text
        return stopping

    # --- Watchpoints ----------------------------------------------------------------------------------------------

    def watch(
        self,
        text: str,
        kind: str = WATCH,
        *,
        wave: int = 0,
        lane: int = 0,
        frame: int = 0,
        shown: Callable[[Object, Frame], str] | None = None,
        condition: str | None = None,
    ) -> Breakpoint:
        """Stop when the value of an expression in a lane has changed, or when its memory is read or written.

        With a condition only if that is true in the lane then.

        Where the expression is in memory, that memory is watched from now on, whatever its variables become.
        ``shown`` makes the text of a value.
        """
        place = self.attached[wave].frame(frame)
        expression = place.expression(text)
        if is_constant(expression.tree):
            raise UsageError(f"Cannot watch constant value `{text[:60]}'.", kind="no_address")
        object_ = watched_object(expression, lane)
        if condition is not None:
            _check_in_lane(condition, place)
        call = WatchedCall(
            self.running.launched.plan,
            wave,
            lane,
            place.function or place.name,
            place.name or "its function",
            self._function_of(place),
            self._stack_of(place, wave),
            self.is_outermost(place),
            _variables_of(expression),
            _number_text if shown is None else shown,
            self.process,
        )
        watched = self._watched(text, kind, object_, place, call)
        point = self.points.add(kind, text)
        point.watched, point.condition = watched, condition
        return point

    def _watched(self, text: str, kind: str, object_: Object | None, place: Frame, call: WatchedCall) -> Watched:
        """Return what watches an object in a call, where a frame can read it; None is a tensor without a value yet."""
        wave, lane, home, address = call.wave, call.lane, call.function, None if object_ is None else object_.address

        def frame_now(*, calls: bool = False) -> Frame:
            """Return the frame of the function: of several calls that have not returned, the one of the watchpoint."""
            frames = [*self.attached[wave]] if calls else self.attached[wave].call(0)
            own = [frame for frame in frames if (frame.function or frame.name) == home]
            same = (frame for frame in own if len(own) > 1 and self._stack_of(frame, wave) == call.stack)
            return next(same, own[0] if own else frames[0])

        def holds(text: str, batch: WaveBatch) -> bool:
            own = self.device.batch_of(wave, batch)
            is_here = wave in own.waves and (call.is_outermost or stack_in(own, wave) in (None, call.stack))
            known = self.running.flags(text, own, self.device, home) if is_here else None
            if known is not None:
                return bool(known[own.waves == wave, lane].all())
            self.device.written(own)
            try:  # of a caller, too, where the function that changes the value is called
                there = frame_now(calls=True)
                return bool(there.expression(text).find(there.lane(lane)).number())
            except DwarfGpuError as error:
                self._problem = f"{text}: {error.message}"
                return True

        known_at = 0

        def value() -> str:
            nonlocal known_at
            try:
                if object_ is not None and address is not None:
                    return call.shown(object_, place)
                if not covers(call.ranges, self._pc(wave)):  # in a call, where it is out of sight
                    return watched.text
                there = frame_now()
                found = there.expression(text).find(there.lane(lane))
                if watched.is_tensor and found.read().undefined:
                    raise not_set_yet("not all waves have assigned it")
                known_at = self.device.executed
                return call.shown(found, there)
            except DwarfGpuError as error:
                is_kept = watched.is_tensor and watched.text and known_at <= self.device.executed  # else of the future
                return watched.text if is_kept else f"<{error.message}>"

        watched = Watched(call, value, holds)
        watched.is_tensor = address is None and bool(_tensors_of(place.expression(text)))
        if object_ is not None and address is not None:
            watched.locate(self.machine, object_.type, address)
            is_of_call = watched.space == PRIVATE
        elif kind != WATCH:
            raise UsageError("Expression cannot be implemented with read/access watchpoint.", kind="no_address")
        else:
            is_of_call = True
        if is_of_call and not call.is_outermost:
            watched.function, watched.stack = call.ranges, call.stack
        watched.look()
        return watched

    def _watch_again(self, point: Breakpoint) -> None:
        """Watch what a watchpoint has watched in the launch before: at once, or in the same call of its function."""
        watched, call, name = point.watched, point.watched.call, f"Watchpoint {point.number} ({point.text})"
        plan = self.running.launched.plan
        is_shared = self.process is not None and self.process is call.process and watched.is_of_program
        if self.process is not None and not is_shared and call.plan.kernel.name != plan.kernel.name:
            watched.wait()  # for another launch of its kernel
        elif not is_shared and not call.can_be_in(plan):
            self.forget(point)
            self.dprinted.append(
                f"{name} deleted: this launch has other addresses. `watch {point.text}` sets it again.\n"
            )
        elif watched.is_there_at_launch:
            watched.wait()  # if the memory is not there in this launch
            point.watched = self._again(point, self.attached[min(call.wave, len(self.attached) - 1)].frame(0))
        else:
            watched.wait()
            has_value = "" if watched.space or watched.is_tensor else f" and {point.text} has a value"
            where = f"when wave {call.wave + 1} is in {call.name}{has_value}"
            self.dprinted.append(f"{name} will be set again {where}.\n")

    def _again(self, point: Breakpoint, place: Frame) -> Watched:
        """Return what watches the same as before, where a frame can read it."""
        call, kind = point.watched.call, point.watched.type
        lane = place.lane(call.lane)
        if kind is None:
            object_ = watched_object(place.expression(point.text), call.lane)
        else:
            object_ = Object(kind, place.around(lane).memory(point.watched.place)).as_it_is()
        plan = self.running.launched.plan
        if not call.can_be_in(plan):  # conditions are about the variables of this kernel
            wave, home, ranges = min(call.wave, len(self.attached) - 1), place.function, self._function_of(place)
            call = evolve(call, wave=wave, function=home or place.name, ranges=ranges, is_outermost=True, variables=())
        call = evolve(call, plan=plan)
        return self._watched(point.text, point.kind, object_, place, call)

    def _in_same_call(self, watcher: Watcher) -> Observer | None:
        """Return what sets the watchpoints that wait for a call where their wave is in it."""
        plan = self.running.launched.plan
        pending = (point for point in self.points if point.watched is not None and point.watched.is_pending)
        waiting = [point for point in pending if point.watched.call.can_be_in(plan)]
        lacking: set[tuple[int, int]] = set()
        """Where those of registers have no value."""

        def observe(batch: WaveBatch) -> bool:
            for point in [*waiting]:
                key, call = (point.number, batch.pc), point.watched.call
                if key in lacking or not call.is_at(batch, self.running.reader):
                    continue
                self.device.written(batch)
                found = self._in_call(point, call)
                if found is None:
                    lacking.add(key)
                else:
                    point.watched = found
                    watcher.add(point)
                    waiting.remove(point)
            return False

        return observe if waiting else None

    def _in_call(self, point: Breakpoint, call: WatchedCall) -> Watched | None:
        """Return what watches the same as before in the call where a wave is now; None if it has no value there."""
        for place in self.attached[call.wave].call(0):
            if (place.function or place.name) == call.function:
                with suppress(DwarfGpuError):
                    if call.variables == _variables_of(place.expression(point.text)) or point.watched.type is not None:
                        found = self._again(point, place)
                        return None if found.text.startswith("<") and not found.is_tensor else found
        return None

    def function_at(self, address: int) -> str | None:
        """Return the name of the function of an address, as the source has it; else the name of the symbol."""
        running = self.running
        try:
            frames = running.frames_at(address)
        except DwarfGpuError:
            frames = ()
        if frames and frames[0].name is not None:
            return frames[0].name
        return running.position(address).function

    def _function_of(self, frame: Frame) -> tuple[tuple[int, int], ...]:
        pc = frame.pc
        code = None if pc is None else self.attached.state.loaded.at(pc)
        die = None if code is None or pc is None or not code.file.has_dwarf else code.function_at(pc)
        if die is None or code is None:
            return ()
        return tuple((code.in_program(low), code.in_program(high)) for low, high in die.ranges())

    def _stack_of(self, frame: Frame, wave: int) -> int:
        if not frame.level:
            return stack_pointer(self.machine, wave)
        try:
            return int(frame.expression("$s32").find(frame.lane(0)).number())
        except DwarfGpuError:
            return stack_pointer(self.machine, wave)

    def is_outermost(self, frame: Frame) -> bool:
        """Return whether a frame is that of the kernel, which no function has called."""
        entry = self.running.launched.plan.start.entry
        return covers(self._function_of(frame), entry) and not frame.is_inlined

    def catch(self, what: str) -> Breakpoint:
        """Give a number to stops at faults or traps, at which waves stop in any case."""
        return self.points.add(CATCH, what)

    def _watcher(self, tell: Callable[[WatchHit], bool]) -> Watcher | None:
        points = [point for point in self.points if point.watched is not None]
        there = [point for point in points if not point.watched.is_pending]
        return Watcher(self.device, there, self.running.reader, tell) if points else None

    def _stop_at_finding(self, _batch: WaveBatch) -> bool:
        """Stop waves behind an instruction that a check has found something at."""
        memory: Any = self.device.memory
        new = [each for each in memory.findings if each.stops_waves and each.identity not in self._told]
        if not new:
            return False
        from dwarfgpu.execution.control.check_report import FindingNames

        (finding, *_others) = new
        self._told.add(finding.identity)
        side = finding.sides[-1]
        wave = self.machine.wave_named(side.wave)
        named = FindingNames(self.running).named(finding)
        mask = side.lanes if side.lane is None else 1 << side.lane
        self.device.halt = Halt(
            halts.CHECK, named.message, side.pc, {} if wave is None else {wave: mask}, finding=named
        )
        return True

    # --- Forwards -------------------------------------------------------------------------------------------------

    def go_on(self, observer: Observer | None = None, *, limit: int | None = None) -> Halt:
        """Run until something stops the waves, or until so many instructions were executed, counted for each wave.

        An observer is asked before each instruction whether it stops.
        """
        device, history = self.device, self.history
        self.running.name_variables()
        self._watch_hits, self._problem, self.last_points = [], None, ()
        history.changed()
        self.check_that_it_runs()
        history.changed(is_certain=device.let_run(self.only))
        watcher = self._watcher(self._stop_at_watchpoint)
        observer = _both(self.guard, observer)
        before = device.observer
        if watcher is not None:
            observer = _both(_both(watcher, self._in_same_call(watcher)), observer)
            watcher.start()
        device.observer = observer
        try:
            end = None if limit is None else device.executed + limit
            while True:
                begun = process_time()
                step = history.distance if end is None else min(history.distance, end - device.executed)
                halt = self.machine.run(limit=step)
                if halt.kind != halts.LIMIT:
                    break
                history.keep_after(process_time() - begun)
                if end is not None and device.executed >= end:
                    break
            if watcher is not None and watcher.settle() and device.halt is not None:
                halt = device.halt
        finally:
            device.observer = before
            if watcher is not None:
                watcher.stop()
        if halt.has_ended and device.held:
            halt = Halt(halts.STUCK, NO_MORE)
        return self._explained(halt)

    def check_that_it_runs(self) -> None:
        """Raise an error if no wave can run."""
        device = self.device
        if self.has_ended:
            raise UsageError(NOT_RUN, kind="cannot_run", hint="`run` starts the kernel again, `reverse-step` goes back")
        if device.stopped and not (device.batches or device.held or device.waiting):
            raise UsageError(
                f"all waves have ended or stopped: {device.stopped[0][1]}",
                kind="cannot_run",
                hint="`reverse-step` goes back, `run` starts the kernel again",
            )

    def _stop_at_watchpoint(self, hit: WatchHit) -> bool:
        if not hit.has_left and not hit.point.counts():
            return False
        self._watch_hits.append(hit)
        if self.device.halt is None or self.device.halt.kind not in (halts.FAULT, halts.TRAP):
            self.device.halt = Halt(halts.STEP, hit.point.kind, hit.pc, hit.lanes)
        return True

    def _explained(self, halt: Halt) -> Halt:
        """Return a halt with the watchpoints and catchpoints that have led to it."""
        if self._watch_hits:
            left = [hit for hit in self._watch_hits if hit.has_left]
            first, *further = left or self._watch_hits
            points = tuple(dict.fromkeys(hit.point for hit in (first, *further)))
            for point in points if left else ():
                self.forget(point)
            if left or halt.kind == halts.STEP:
                halt = Halt(halts.STEP, "scope" if left else first.point.kind, first.pc, first.lanes)
            return evolve(halt, points=points, change=first.change, further=tuple(further), problem=self._problem)
        if halt.kind == halts.BREAKPOINT:
            self._reached(halt.points)
            return evolve(halt, problem=self._problem)
        if halt.kind in (halts.FAULT, halts.TRAP):
            caught = tuple(p for p in self.points if p.kind == CATCH and p.is_enabled and p.text == halt.kind)
            for point in caught:
                point.counts()
            return evolve(halt, points=caught)
        return halt

    def _reached(self, points: tuple[Breakpoint, ...]) -> None:
        """Take note of the breakpoints where waves have stopped, which are deleted if they are temporary."""
        self.last_points = points
        for point in points:
            if point.is_temporary:
                self.forget(point)

    def step_until(self, wave: int, is_there: Callable[[int, int], bool]) -> Halt:
        """Run until a wave is at an instruction for which a question says so; its depth of calls begins with 0."""
        self.pc_of(wave)
        goal = StepGoal(self.device, self.running.reader, wave, is_there)
        return self.go_on(goal.observe)

    def step_instruction(self, wave: int, *, over: bool = False) -> Halt:
        """Run until a wave has executed one instruction, or also the function that it calls."""
        return self.step_until(wave, lambda _pc, depth: not over or depth <= 0)

    def step_line(self, wave: int, *, over: bool = False, behind: int = 0) -> Halt:
        """Run until a wave is at the beginning of another line, or has left its function.

        With ``behind`` the line must be behind an address, so that loops are executed to their end. The body of an
        OpenCL kernel, which clang may make a function of its own, is a part of the kernel, not a call.
        """
        reader = self.running.reader
        first = reader.at(self.pc_of(wave))

        def is_there(pc: int, depth: int) -> bool:
            facts = reader.at(pc)
            if depth > 0:
                is_entered = not over or (depth == 1 and facts.is_body_of(first))
                return is_entered and facts.line is not None and pc == facts.body
            if facts.line is None or (over and not depth and facts.functions > first.functions > 0):
                return False
            if depth < 0 or facts.functions < first.functions:
                return facts.is_start or facts.line != first.line
            return pc > behind and facts.is_start and facts.line != first.line

        return self.step_until(wave, is_there)

    def finish(self, wave: int, frame: int = 0) -> Halt:
        """Run until the function of a frame of a wave has returned."""
        place = self.attached[wave].frame(frame)
        self._check_is_called(place)
        calls = self.attached[wave].call(place.level)
        level = 0 if place.activation is None else place.activation.returns
        if not place.is_inlined:
            return self.step_until(wave, lambda _pc, depth: depth < -level)
        around = len(calls) - next(index for index, call in enumerate(calls) if call.number == place.number)
        reader = self.running.reader
        return self.step_until(
            wave, lambda pc, depth: depth < -level or (depth == -level and reader.at(pc).functions < around)
        )

    def _check_is_called(self, frame: Frame) -> None:
        if self.is_outermost(frame):
            raise UsageError('"finish" not meaningful in the outermost frame.', kind="no_frame")

    def run_to(self, wave: int, place: str, *, is_deeper: bool = False) -> Halt:
        """Run until a wave is at a place, or has left its function; with ``is_deeper`` also in a call of its own."""
        addresses = self.running.stops(place)
        return self.step_until(wave, lambda pc, depth: depth < 0 or (pc in addresses and (is_deeper or not depth)))

    def pc_of(self, wave: int) -> int:
        """Return where a wave is that can run; raise an error if it cannot."""
        device = self.device
        self.history.changed()
        if self.machine.stop_text(wave) == "has ended":
            hint = "`continue` lets the others run" if not self.has_ended else "`run` starts the kernel again"
            raise UsageError("the wave has ended", kind="cannot_run", hint=f"{hint}, `reverse-step` goes back")
        reason = next((reason for batch, reason in device.stopped if wave in batch.waves), None)
        if reason is not None:
            hint = "`reverse-step` goes back, `continue` lets the others run"
            stopped = reason if reason == IS_HALTED else f"has stopped: {reason}"
            raise UsageError(f"the wave {stopped}", kind="cannot_run", hint=hint)
        return self._pc(wave)

    def standing_at(self, addresses: Collection[int]) -> list[int]:
        """Return the waves that have not ended, and execute one of some instructions next."""
        batches = (batch for batch, reason in self.device.every_batch() if reason != HAS_ENDED)
        return sorted(wave for batch in batches if batch.pc in addresses for wave in batch.waves.tolist())

    def _pc(self, wave: int) -> int:
        pc = self.machine.program_counter(wave)
        if pc is None:
            raise UsageError("the wave has no program counter", kind="no_wave")
        return pc

    def jump(self, wave: int, place: str) -> int:
        """Send a wave to a place; return its address."""
        address = self.running.addresses(place)[0]
        self.machine.set_register("pc", np.array([address], np.uint64), np.array([wave]))
        self.machine.changes += 1
        return address

    # --- Back -----------------------------------------------------------------------------------------------------

    def _back_to(self, time: int | None) -> Halt:
        """Go to an earlier time; to the beginning of what is known if there is none."""
        self.history.go_to(self.history.start if time is None else time)
        self.only, self.last_points = self.device.alone, ()
        kind = halts.STEP if time is not None else halts.LIMIT
        return Halt(kind, "stepped" if time is not None else NO_HISTORY, is_at_start=time is None)

    def _past(self, wave: int) -> Iterator[PastStep]:
        """Yield what a wave has executed, the latest first."""
        device = self.device

        def stretches() -> Iterator[list[tuple[int, int]]]:
            steps: list[tuple[int, int]] = []

            def observe(batch: WaveBatch) -> bool:
                if wave in batch.waves:
                    steps.append((device.executed, batch.pc))
                return False

            for _ in self.history.stretches(observe):
                yield steps
                steps.clear()

        return backwards(self.running.reader, self._pc(wave), stretches())

    def _reverse(self, wave: int, find: Callable[[Iterable[PastStep]], int | None]) -> Halt:
        self.history.changed()
        with self.history.staying():
            return self._back_to(find(self._past(wave)))

    def reverse_instruction(self, wave: int, *, over: bool = False) -> Halt:
        """Go back by one instruction of a wave, or by a whole call that ends before it."""
        return self._reverse(
            wave, lambda steps: next((step.time for step in steps if not over or step.depth <= 0), None)
        )

    def reverse_line(self, wave: int, *, over: bool = False) -> Halt:
        """Go back to the beginning of the line, or, from there, of the one before it."""
        pc = self._pc(wave)
        return self._reverse(wave, lambda steps: line_before(self.running.reader, pc, steps, over=over))

    def reverse_finish(self, wave: int) -> Halt:
        """Go back to the call of the function."""
        self._check_is_called(self.attached[wave].frame(0))
        return self._reverse(wave, lambda steps: next((step.time for step in steps if step.depth < 0), None))

    def reverse_go_on(self) -> Halt:
        """Go back to the last time when something stopped a wave."""
        self.history.changed()
        with self.history.staying():
            return self._last_stop()

    def watched_values(self) -> dict[int, tuple[bytes, str]]:
        """Return the global memory whose change stops waves in any case, with its value as text, by watchpoints."""
        own = [point for point in self.points if point.is_enabled and point.kind != READ_WATCH and not point.condition]
        known = {point.number: point.watched for point in own if point.watched and point.watched.is_of_program}
        return {number: (each.data(), each.value()) for number, each in known.items() if each.data is not None}

    def changed_since(self, values: dict[int, tuple[bytes, str]]) -> Halt | None:
        """Return a stop at a watchpoint whose memory the host has changed after this launch, given its later value."""
        for point in self.points:
            content, text = values.get(point.number, (None, ""))
            if content is not None and not point.watched.is_pending and content != point.watched.data():
                change = ValueChange(text, point.watched.value())
                return Halt(halts.STEP, BY_HOST, None, None, (point,), change)
        return None

    def _last_stop(self) -> Halt:
        last = LastStop(self.device.executed)
        enabled = [point for point in self.points if point.is_enabled and point.texts is None]
        points = [
            Breakpoint(point.number, point.addresses, partial(self._record, last, point), guard=point.guard)
            for point in enabled
            if point.addresses
        ]
        watched = [point for point in enabled if point.watched is not None and not point.watched.is_pending]
        searched = self._stretches(watched, last.tell, points, tell_same=last.tell_same) if points or watched else ()
        next((None for _ in searched if last.halt is not None), None)
        if last.halt is None:
            return evolve(self._back_to(None), further=tuple(last.same.values()))
        self._back_to(last.time)
        (point,) = last.halt.points
        point.hits += 1
        if point.watched is None:
            self._reached(last.halt.points)
        else:
            point.watched.look()
        return last.halt

    def _record(self, last: LastStop, point: Breakpoint, arrival: Arrival) -> bool:
        """Record where a breakpoint would have stopped waves in the past."""
        if self.device.executed < last.before:
            masks = halts.lane_masks(arrival.waves, self._lanes_at(point, arrival))
            if masks:
                last.see(self.device.executed, Halt(halts.BREAKPOINT, point.reason, arrival.pc, masks, (point,)))
        return False

    def _stretches(
        self,
        watched: list[Breakpoint],
        tell: Callable[[WatchHit], bool],
        points: Sequence[Breakpoint] = (),
        until: float = inf,
        tell_same: Callable[[WatchHit], object] | None = None,
    ) -> Iterator[None]:
        """Execute the past once more, the latest stretch first, and tell what watchpoints see."""
        device = self.device
        watcher: list[Watcher] = []

        def observe(batch: WaveBatch) -> bool:
            if process_time() > until:
                raise TimeoutError
            if not watcher:  # the stretch begins, and the machine has the registers of another time
                for each in (*(each for each, _reason in device.every_batch()), batch):
                    device.written(each)
                watcher.append(Watcher(device, watched, self.running.reader, tell, tell_same))
                watcher[0].start()
            watcher[0](batch)
            return False

        try:
            for _ in self.history.stretches(observe if watched else None, [*points]):
                for active in watcher:
                    active.settle()
                watcher.clear()
                yield
        finally:
            device.memory.watch = device.memory.watch_waves = None

    def last_change(
        self, text: str, wave: int, lane: int, frame: int, until: float, shown: Callable[[Object, Frame], str]
    ) -> CrashChange | None:
        """Return what has changed a variable last, and leave all waves where they are.

        None if it is in no memory and no registers of the innermost call, or if no instruction has changed it.
        ``shown`` makes the text of a value. Raises `TimeoutError` at a time of the clock.
        """
        place = self.attached[wave].frame(frame)
        value = place.expression(text).find(place.lane(lane))
        made = partial(CrashChange, text, self.machine.ids[wave], lane, frame=frame)
        if value.address is None:
            registers = registers_of(location_of(value))
            if place.level or not registers:
                return None
            write = self.last_write(registers, wave, lane, until)
            return None if write is None else made(pc=write.pc, kind=REGISTER, new=shown(value, place))
        point = self.watch(text, wave=wave, lane=lane, frame=frame, shown=shown)
        self.points.take_back(point)
        now = point.watched.text
        hits: list[WatchHit] = []

        def tell(hit: WatchHit) -> bool:
            if hit.is_inside and not hit.has_left:
                hits.append(hit)
            return False

        self.history.changed()
        with self.history.visiting():
            for _ in self._stretches([point], tell, until=until):
                if hits:
                    break
        last = max(hits, key=lambda hit: hit.time, default=None)
        if last is None or last.change.new != now:  # a user has changed it
            return None
        if last.change.old == now and last.change.at is not None:  # both texts leave out what differs
            from dwarfgpu.execution.control.check_report import element_at

            name = f"{text}{element_at(value.type, last.change.at)[0]}"
            new = shown(place.expression(name).find(place.lane(lane)), place)
            return CrashChange(name, self.machine.ids[wave], lane, last.pc, frame=frame, new=new)
        return made(pc=last.pc, old=last.change.old, new=now)

    def last_address(self, pc: int, wave: int, lane: int, until: float) -> list[CrashChange]:
        """Return what has changed the registers last of which a memory instruction makes the address of a lane."""
        instruction = self.device.instruction(pc)
        for operand in filter(None, map(instruction.operand, ADDRESSES)):
            registers = tuple((operand.text[0], operand.index + word) for word in range(max(operand.count, 1)))
            write = self.last_write(registers, wave, lane, until) if operand.text[0] in "vs" else None
            if write is not None:
                name, new = self.machine.ids[wave], _joined(write.new)
                return [CrashChange(operand.text, name, lane, write.pc, kind=ADDRESS, new=new)]
        return []

    def last_write(self, registers: Registers, wave: int, lane: int, until: float) -> RegisterWrite | None:
        """Return the last instruction that has changed registers in a lane, and leave all waves where they are."""
        recorder = RegisterRecorder(self.device, registers, wave, lane, until)
        self.history.changed()
        with self.history.visiting():
            for _ in self.history.stretches(recorder.observe):
                recorder.settle()
                if recorder.last is not None:
                    break
        return recorder.last


def _both(first: Observer | None, second: Observer | None) -> Observer | None:
    if first is None or second is None:
        return first or second
    return lambda batch: first(batch) or second(batch)


def _check_in_lane(text: str, frame: Frame) -> None:
    """Refuse a condition that has names nobody knows in a frame."""
    check_readable(text, frame, lambda expression: expression.find(frame.lane(0)).number())


def _variables_of(expression: SourceExpression) -> tuple[int, ...]:
    """Return the offsets of the entries of the variables that an expression names."""
    return tuple(variable.die.section_offset for variable in variables_in(expression.frame, expression.tree))


def _tensors_of(expression: SourceExpression) -> list[TensorVariable]:
    """Return the tensors that an expression names."""
    named = variables_in(expression.frame, expression.tree)
    return [variable for variable in named if isinstance(variable, TensorVariable)]


def watched_object(expression: SourceExpression, lane: int | None) -> Object | None:
    """Return what an expression means in a lane; None of a tensor that the program has not assigned yet."""
    try:
        return expression.find(expression.frame.lane(lane)).as_it_is()
    except DwarfGpuError:
        if any(variable.is_unassigned for variable in _tensors_of(expression)):
            return None
        raise


def _joined(words: Iterable[int | None]) -> str | None:
    """Return registers as one number in hex; None if one is not set."""
    known = [word for word in words if word is not None]
    return f"{sum(word << 32 * place for place, word in enumerate(known)):#x}" if len(known) == len([*words]) else None


def _number_text(value: Object, _frame: Frame) -> str:
    return str(value.number()) if value.scalar is not None else f"{value.read().bits:#x}"
