"""What one wave does, step by step: its instructions with their results, or the lines with variables that change."""

from __future__ import annotations

from contextlib import suppress
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.access_shapes import LOCAL
from dwarfgpu.execution.batch import VCC, return_addresses
from dwarfgpu.execution.control.placed import Discoveries, PlacedVariable, PrivateColumn, Unplaced, variables_in
from dwarfgpu.execution.control.watching import PRIVATE, kind_of
from dwarfgpu.execution.faults import MachineFault
from dwarfgpu.execution.halts import executing
from dwarfgpu.immutable import frozen
from dwarfgpu.isa.decoder import executed, text
from dwarfgpu.isa.instruction import OperandKind
from dwarfgpu.lanes import first_lane
from dwarfgpu.program.code.source_files import SourceTexts
from dwarfgpu.program.code.weighted_stacks import TimedCalls, WaveTrack, calls_of, stack_levels
from dwarfgpu.program.frames.macros import expanded
from dwarfgpu.program.language.named_objects import NAME, objects_read, objects_stored
from dwarfgpu.program.types.model import known_size
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import MAX_OBJECT, Bytes, ObjectPlace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dwarfgpu.execution.batch import WaveBatch
    from dwarfgpu.execution.control.running import CodePosition, Running
    from dwarfgpu.isa.instruction import GpuInstruction
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.frames.answers import LaneAnswer, Quantity
    from dwarfgpu.program.frames.frame import Frame

FrameKey = tuple[tuple[int, ...] | None, "Die | None"]
"""The return addresses of the calls around a frame, and its function, which may be inlined."""
AT_LAUNCH = " (at the launch)"
"""Follows what an argument was of which the code keeps no place."""
UNSET = "<not set yet>"
"""In place of what nothing has set."""
OPTIMIZED_OUT = "<optimized out>"
"""In place of parts without a value, in texts."""
SMALL = 4
"""The bytes of a variable that is looked at before each instruction; larger ones are where a location begins."""
_VECTORS = (OperandKind.VGPR, OperandKind.AGPR)


@frozen
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
    """The objects in memory that a line is going to load."""


class StepTrace:
    """Tells a function what one wave does."""

    def __init__(
        self,
        running: Running,
        tell: Callable[[TracedStep], Any],
        *,
        wave: int = 0,
        lane: int | None = None,
        show: Callable[[Object], str] | None = None,
    ) -> None:
        self.running = running
        self.tell = tell
        running.check_lane(wave, lane)
        self.wave = running.machine.ids[wave]
        self.lane = lane
        """The lane whose values are shown; without one it is the first that executes."""
        self._show = show
        self._step: Callable[[WaveBatch, int], None] = self._instruction if show is None else self._line
        self._pending: tuple[GpuInstruction, int, TracedStep] | None = None
        self.executed = 0
        """How many instructions the wave has executed, with the one that it is at."""
        self._known: dict[FrameKey, dict[Die, str]] = {}
        """The texts of the variables of the frames that the wave is in."""
        self._changes: dict[Die, tuple[str, str]] = {}
        """The variables that the line has changed, by name, with the latest texts."""
        self._is_in = False
        """Whether the lane has begun the line."""
        self._end = 0
        """The address of the latest instruction that the lane has executed of a line that it has begun."""
        self._positions: dict[int, CodePosition] = {}
        self._sources: dict[int, str | None] = {}
        self._objects: dict[tuple[str | None, int], tuple[list[str], list[str]]] = {}
        """By the line, the objects in memory that it loads, and those that it stores to."""
        self._stored: list[str] = []
        """The objects in memory that the line stores to."""
        self._frame: dict[Die, str] = {}
        """The known texts of its frame."""
        self._reader = SourceTexts()
        self.is_optimized = False
        """Whether a list says where a variable is, as optimizers write it."""
        self._unlisted: set[int] = set()
        """The addresses where no location of a list holds."""
        self._found = Discoveries(running.attached, running.machine.device, variables_in)
        self._texts: dict[tuple[int, Die], tuple[bytes | None, str | None]] = {}
        """The latest bits and text of each variable, by the address."""
        self._last: tuple[str | None, int, str | None] | None = None
        self._before = running.machine.device.observer
        running.machine.device.observer = self._observe

    def _observe(self, batch: WaveBatch) -> bool:
        if self._before is not None and self._before(batch):
            return True
        number = self.running.machine.wave_named(self.wave)
        for row in (batch.waves == number).nonzero()[0].tolist():
            self.executed += 1
            self._step(batch, row)
        return False

    def end(self) -> None:
        """Tell what is left, and stop tracing."""
        if self._pending is not None:
            self._tell_pending(None, 0)
        self.running.machine.device.observer = self._before

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

    def _instruction(self, batch: WaveBatch, row: int) -> None:
        if self._pending is not None:
            self._tell_pending(batch, row)
        device = self.running.machine.device
        try:
            code = device.code_at(batch.pc)
        except MachineFault:  # there is no code, and the wave stops with that
            return
        instruction = executed(code, 0, device.processor, device.lanes)
        mask = _mask(batch, row)
        position = self.running.position(batch.pc)
        lane = self._lane(mask)
        idle = None if mask >> lane & 1 else lane
        step = TracedStep(position, mask, text(instruction), (), *self._when(batch, row), self._source(batch.pc), idle)
        self._pending = instruction, lane, step

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

    def _tell_pending(self, batch: WaveBatch | None, row: int) -> None:
        assert self._pending is not None  # noqa: S101 (the callers have asked)
        instruction, lane, step = self._pending
        self._pending = None
        results = [] if batch is None else list(_results(instruction, batch, row, lane))
        self.tell(evolve(step, results=tuple(results)))

    # --- Lines ----------------------------------------------------------------------------------------------------

    def _line(self, batch: WaveBatch, row: int) -> None:
        position = self._positions.get(batch.pc)
        if position is None:
            position = self._positions[batch.pc] = self.running.position(batch.pc)
        if not position.line:
            return
        place = (position.file, position.line, position.inlined or position.function)
        begins, is_active = place != self._last, self.lane is None or bool(executing(batch)[row, self.lane])
        if begins:
            self._last = place
            self._is_in = is_active  # where it ends, the lane may be active again: that is no part in it
        if not self._is_in or not is_active:
            return
        if begins:
            self._begin(batch, row, _mask(batch, row), position)
        elif batch.pc not in self._unlisted:
            self._look_within(batch, row, self._lane(0 if self.lane is not None else _mask(batch, row)))
        self._end = batch.pc

    def _begin(self, batch: WaveBatch, row: int, mask: int, position: CodePosition) -> None:
        """Tell that a line begins, with what the line before has changed."""
        time, callers = self._when(batch, row)
        lane, source, frame = self._lane(mask), self._source(batch.pc), self._frame
        is_new = self._enter(batch.pc, callers)
        if not is_new:
            self._look(batch, row, lane, self._look_behind(batch, row, lane) if frame is self._frame else set())
        changed, self._changes = tuple(self._changes.values()), {}
        if frame is self._frame:
            # what is indexed with a new value is another object; of large arrays only the first elements are shown
            names = {name for name, value in changed if not value.endswith("...}")}
            stored = [text for text in self._stored if names.isdisjoint(NAME.findall(text))]
            changed += tuple(self._values(batch, row, lane, stored))
        loaded, self._stored = self._objects_of(batch, row, position, source or "")
        read = () if is_new else tuple(self._values(batch, row, lane, loaded))
        self.tell(TracedStep(position, mask, None, changed, time, callers, source, read=read))
        if is_new:
            self._look_within(batch, row, lane)

    def _enter(self, pc: int, callers: tuple[int, ...] | None) -> bool:
        """Make the innermost function the frame; return whether it begins there, and has set nothing yet."""
        code = self.running.attached.state.loaded.at(pc)
        functions = [] if code is None else [scope.die for scope in code.functions_at(pc)]
        key: FrameKey = callers, functions[0] if functions else None
        for other in [*self._known]:  # those of frames that the wave has left
            calls, function = other
            is_around = (
                function in functions
                if calls == callers
                else calls is not None and callers is not None and (not calls or callers[-len(calls) :] == calls)
            )
            if not is_around:
                del self._known[other]
        is_new = key not in self._known
        self._frame = self._known.setdefault(key, {})
        return is_new

    def _look(self, batch: WaveBatch, row: int, lane: int, visible: set[Die]) -> None:
        """Take note of the variables of the frame that have other values now; some were hidden by no other before."""
        for each in self._placed(batch, row):
            self._note(batch, row, lane, each, is_hidden=each.is_shadowed and each.die not in visible)

    def _look_within(self, batch: WaveBatch, row: int, lane: int) -> None:
        """Take note of those in locations that a list names: they may hold within the line alone."""
        placed = self._placed(batch, row)
        self.is_optimized |= any(each.is_listed for each in placed)
        listed = [each for each in placed if each.is_listed and not each.is_absent]
        if not listed:
            self._unlisted.add(batch.pc)
        for each in listed:
            if each.begins_here or (known_size(each.type) or SMALL + 1) <= SMALL:
                self._note(batch, row, lane, each, is_hidden=each.is_shadowed)

    def _look_behind(self, batch: WaveBatch, row: int, lane: int) -> set[Die]:
        """Take note of those whose scope has ended with the line: they are where they were; return what it names."""
        present = {each.die for each in self._placed(batch, row) if not each.is_absent}
        pc, batch.pc = batch.pc, self._end
        found = self._placed(batch, row)
        for each in found:
            if each.die not in present and not each.is_listed:
                self._note(batch, row, lane, each, is_hidden=each.is_shadowed)
        batch.pc = pc
        return {each.die for each in found if not each.is_shadowed}

    def _placed(self, batch: WaveBatch, row: int) -> list[PlacedVariable]:
        """Return the variables of the frame where a wave is, and how they are read there."""
        found: list[PlacedVariable] | None = self._found.at(batch)
        if found is not None:
            return found
        self.running.machine.device.written(batch)
        try:
            variables = self.running.attached[int(batch.waves[row])].frame(0).variables()
        except DwarfGpuError:
            return []
        return [*map(PlacedVariable.of, variables)]

    def _note(self, batch: WaveBatch, row: int, lane: int, placed: PlacedVariable, *, is_hidden: bool) -> None:
        """Take note of a variable if its value is another one, as a text."""
        die, bits = placed.die, _bits(placed, batch, row, lane)
        is_argument = placed.is_parameter and die not in self._frame
        if placed.is_absent and not is_argument:
            return
        if isinstance(column := placed.column, PrivateColumn) and self._is_unset(
            self.running.machine.device.memory.undefined_bytes(batch, row, lane, PRIVATE, column.address, column.size)
        ):
            text: str | None = UNSET
        else:
            key = batch.pc, die
            before, text = self._texts.get(key, (None, None))
            if bits is None or bits != before:
                if bits is not None and placed.is_text_of_bits:
                    text = self._text(Object(placed.type, ObjectPlace(Bytes(bits))))
                else:
                    text = self._value_of(batch, row, lane, die, is_argument=is_argument)
                self._texts[key] = bits, text
        if is_argument:
            self._frame[die] = ""  # the launch is asked once
        known = self._frame.get(die, UNSET)
        if text is not None and known.removesuffix(AT_LAUNCH) != text:
            self._frame[die] = text
            self._changes[die] = f"{placed.name}{' (shadowed)' * is_hidden}", text

    def _objects_of(
        self, batch: WaveBatch, row: int, position: CodePosition, source: str
    ) -> tuple[list[str], list[str]]:
        """Return the objects in memory that a line loads, and those that it stores to, with its macros expanded."""
        key = position.file, position.line or 0
        if key not in self._objects:
            frame: Frame | None = None
            with suppress(DwarfGpuError):
                self.running.machine.device.written(batch)
                frame = self.running.attached[int(batch.waves[row])].frame(0)

            def expand(text: str) -> str:
                with suppress(DwarfGpuError):
                    return text if frame is None else expanded(text, frame.macros)
                return text

            self._objects[key] = objects_read(source, expand), objects_stored(source, expand)
        return self._objects[key]

    def _values(self, batch: WaveBatch, row: int, lane: int, names: list[str]) -> Iterator[tuple[str, str]]:
        for name in names:
            answer = self._answer(batch, row, lane, methodcaller("expression", name))
            value = None if answer is None or answer.value is None else self._set_text(batch, row, lane, answer.value)
            if value is not None:
                yield name, value

    def _value_of(self, batch: WaveBatch, row: int, lane: int, die: Die, *, is_argument: bool) -> str | None:
        """Return the text of a variable as only the frame can tell it, or of the argument of the launch."""

        def variable(frame: Frame) -> Quantity:
            return next(each for each in frame.variables() if each.die == die)

        answer = self._answer(batch, row, lane, variable)
        launched = None if answer is None or answer.reason is None else answer.reason.launched
        if is_argument and launched is not None and (argument := launched()) is not None:
            return f"{self._text(argument)}{AT_LAUNCH}"
        return None if answer is None or answer.value is None else self._set_text(batch, row, lane, answer.value)

    def _answer(self, batch: WaveBatch, row: int, lane: int, find: Callable[[Frame], Quantity]) -> LaneAnswer | None:
        """Return what is found in the innermost frame of a wave; None where a name means nothing."""
        self.running.machine.device.written(batch)
        try:
            return find(self.running.attached[int(batch.waves[row])].frame(0)).values([lane]).of(lane)
        except DwarfGpuError:
            return None

    def _set_text(self, batch: WaveBatch, row: int, lane: int, value: Object) -> str | None:
        """Return the text of an object, of which parts may not be set yet."""
        address, size, device = value.address, known_size(value.type), self.running.machine.device
        space = None if address is None or address.space is None else device.machine.target.space(address.space)
        if address is None or space is None or not size or size > MAX_OBJECT or kind_of(space) not in (PRIVATE, LOCAL):
            return self._text(value)
        number = int(np.asarray(address.value).flat[0])
        unset = device.memory.undefined_bytes(batch, row, lane, kind_of(space), number, size)
        if self._is_unset(unset):
            return UNSET
        if any(unset):
            data = int(value.place.read(8 * size).bits).to_bytes(size, "little")
            value = Object(value.type, ObjectPlace(Bytes(data, undefined=unset)))
        text = self._text(value)
        return text if text is None or not any(unset) else text.replace(OPTIMIZED_OUT, UNSET)

    @staticmethod
    def _is_unset(undefined: bytes) -> bool:
        return bool(undefined) and undefined.count(0xFF) == len(undefined)

    def _text(self, value: Object) -> str | None:
        assert self._show is not None  # noqa: S101 (lines are traced with it)
        try:
            return self._show(value)
        except DwarfGpuError:
            return None


def _bits(placed: PlacedVariable, batch: WaveBatch, row: int, lane: int) -> bytes | None:
    """Return the bytes of a variable in a lane; None where only the frame can tell them."""
    try:
        column = None if placed.column is None else placed.column(batch)
    except Unplaced:
        return None
    if column is None:
        return None
    value = column[row if column.shape[0] > 1 else 0, lane if column.shape[1] > 1 else 0]
    return bytes(value.tobytes())


def _mask(batch: WaveBatch, row: int) -> int:
    flags = executing(batch)[row]
    return sum(1 << lane for lane, flag in enumerate(flags.tolist()) if flag)


def _results(instruction: GpuInstruction, batch: WaveBatch, row: int, lane: int) -> Any:
    """Yield what an instruction has written, in one lane where lanes have their own."""
    parts = instruction.components or (instruction,)
    for operand in (operand for part in parts for operand in part.destinations):
        if operand.kind in _VECTORS:
            file = batch.accumulation if operand.kind is OperandKind.AGPR else batch.vector
            for number in range(operand.index, min(operand.index + max(1, operand.bits // 32), len(file))):
                column = file[number]
                value = column[row if column.shape[0] > 1 else 0, lane if column.shape[1] > 1 else 0]
                yield f"{'a' if operand.kind is OperandKind.AGPR else 'v'}{number}", f"{int(value):#x}"
        elif operand.kind is OperandKind.SGPR:
            for number in range(operand.index, operand.index + max(1, operand.bits // 32)):
                yield f"s{number}", f"{_number(batch.scalar[number], row):#x}"
        elif operand.register.startswith("exec"):
            yield "exec", f"{_number(batch.exec, row):#x}"
        elif operand.register.startswith("vcc"):
            yield "vcc", f"{_number(batch.scalar[VCC], row):#x}"


def _number(value: Any, row: int) -> int:
    return int(value) if isinstance(value, int) else int(value[row if len(value) > 1 else 0, 0])
