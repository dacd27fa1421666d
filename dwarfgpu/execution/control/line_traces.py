"""What one wave does, line by line: the variables that change, and what is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.access_shapes import FLAT, LOCAL
from dwarfgpu.execution.batch import WaveBatch
from dwarfgpu.execution.control.lane_accesses import LOAD, STORE, LaneAccess, LaneAccesses, place_in
from dwarfgpu.execution.control.line_accesses import UNSET, AccessNames, LineAccesses, NamedPlace
from dwarfgpu.execution.control.placed import (
    Discoveries,
    PlacedObject,
    PlacedVariable,
    has_elements,
    memory_of,
    object_in,
    variables_in,
)
from dwarfgpu.execution.control.placed_columns import PrivateColumn, Unplaced
from dwarfgpu.execution.control.returned import ReturnType, return_type
from dwarfgpu.execution.control.tracing import StepTrace, TracedStep, mask_of
from dwarfgpu.execution.control.watching import PRIVATE, kind_of
from dwarfgpu.execution.halts import executing
from dwarfgpu.immutable import field, frozen
from dwarfgpu.isa.decoder import executed
from dwarfgpu.isa.instruction import OperandKind
from dwarfgpu.lanes import LaneSet
from dwarfgpu.program.frames.macros import expanded
from dwarfgpu.program.types.model import Pointer, known_size, resolved
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import MAX_OBJECT, Bytes, ObjectPlace

if TYPE_CHECKING:
    from dwarfgpu.execution.control.running import CodePosition, Running
    from dwarfgpu.execution.control.stepping import CodeFacts
    from dwarfgpu.execution.forms.traced_waves import TracedWaves
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.frames.answers import LaneAnswer, Quantity
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.variable import Variable
    from dwarfgpu.program.frames.wave import Wave

FrameKey = tuple[tuple[int, ...] | None, "Die | None"]
"""The return addresses of the calls around a frame, and its function, which may be inlined."""
AT_LAUNCH = " (at the launch)"
"""Follows what an argument was of which the code keeps no place."""
AS_BEFORE = " (as before)"
"""Follows a value that a line has stored once more."""
OPTIMIZED_OUT = "<optimized out>"
"""In place of parts without a value, in texts."""
SMALL = 4
"""The bytes of a variable that is looked at before each instruction; larger ones are where a location begins."""


@frozen(eq=False)
class TracedFrame:
    """A frame that a wave is in, and what is known of it."""

    callers: tuple[int, ...] | None = None
    """The return addresses of the calls around it, innermost first."""
    returns: ReturnType | None = None
    """What its function returns."""
    texts: dict[Die, str] = field(factory=dict)
    """The texts of its variables."""
    pointers: dict[Die, bytes] = field(factory=dict)
    """The bits of its pointers: what these lead to may change without them."""
    written: set[int] = field(factory=set)
    """The private addresses that it has stored to, or functions that it calls."""
    stale: dict[Die, str | None] = field(factory=dict)
    """The first texts of variables elsewhere: calls before have left them on the stack."""


class LineTrace(StepTrace):
    """Tells a function which lines one wave begins, with the variables that it has changed before."""

    _slots_stored: tuple[int, ...] = ()
    """The private addresses that a line has stored to before the variables there, which it declares, are in scope."""

    def __init__(
        self, running: Running, tell: Callable[[TracedStep], Any], show: Callable[[Object], str], **options: Any
    ) -> None:
        super().__init__(running, tell, **options)
        self._show = show
        self._known: dict[FrameKey, TracedFrame] = {}
        """The frames that the wave is in."""
        self._frame = TracedFrame()
        """The innermost one."""
        self._changes: dict[Die, tuple[str, str]] = {}
        """The variables that the line has changed, by name, with the latest texts."""
        self._stored: dict[Die, str] = {}
        """The names of variables that it has stored to, whether that has changed them or not."""
        self._arrays: set[Die] = set()
        """The arrays of which it has stored elements, which are shown in their place."""
        self._passed = 0
        """How many of the changes are arguments that the function has got in this line."""
        self._is_in = False
        """Whether the lane has begun the line."""
        self._end = 0
        """The address of the latest instruction that the lane has executed of a line that it has begun."""
        self._positions: dict[int, CodePosition] = {}
        self._accesses = LaneAccesses(running.machine.device)
        self._names = AccessNames(running)
        self._objects: dict[str, Discoveries] = {}
        """The objects that lines name, by name."""
        self._of_line = LineAccesses()
        """What the lane has loaded and stored in the line."""
        self._jump: CodeFacts | None = None
        """The latest instruction, if it was a call or a return."""
        self._return_types: dict[Die | None, ReturnType | None] = {}
        self._slots: dict[int, bool] = {}
        """Whether the instruction at an address accesses a fixed place of the stack."""
        self._unlisted: set[int] = set()
        """The addresses where no location of a list holds."""
        self._found = Discoveries(running.attached, running.machine.device, variables_in)
        self._texts: dict[tuple[int, Die], tuple[bytes | None, str | None]] = {}
        """The latest bits and text of each variable, by the address, or 0 if its text follows from its bits."""
        self._as_of = 0, 0, 0
        """The instruction for which the machine got the registers of the batch, its address, and `changes` then."""
        self._last: tuple[str | None, int, str | None] | None = None

    def _followed_wave(self) -> TracedWaves | None:
        return None

    def __call__(self, batch: WaveBatch) -> bool:
        self._accesses.pause()
        return super().__call__(batch)

    def end(self) -> None:
        super().end()
        self._accesses.end()

    def _step(self, batch: WaveBatch, row: int) -> None:
        self._settle(batch, row)
        position = self._positions.get(batch.pc)
        if position is None:
            position = self._positions[batch.pc] = self.running.position(batch.pc)
        if not position.line:  # code that the compiler has moved
            if self._is_in and bool(executing(batch)[row, self._lane(mask_of(batch, row))]):
                self._end = batch.pc
                self._accesses.begin(batch, row, self._lane(mask_of(batch, row)))
            return
        place = (position.file, position.line, position.inlined or position.function)
        if (jump := self._jump) is not None:
            self._jump, facts = None, self.running.reader.at(batch.pc)
            if facts.is_body_of(jump):  # what clang has made of an OpenCL kernel
                self._forget()
                self._enter(batch, row, self._when(batch, row)[1])
            elif self._is_in and not jump.is_body_of(facts):
                self._last = None  # a function may call itself in its only line
        begins, is_active = place != self._last, self.lane is None or bool(executing(batch)[row, self.lane])
        if begins:
            self._last = place
            self._is_in = is_active  # where it ends, the lane may be active again: that is no part in it
        if not self._is_in or not is_active:
            return
        lane = self._lane(0 if self.lane is not None else mask_of(batch, row))
        if begins:
            self._begin(batch, row, mask_of(batch, row), position)
        elif self.is_optimized and batch.pc not in self._unlisted:
            self._look_within(batch, row, lane)
        facts = self.running.reader.at(batch.pc)
        if facts.body == batch.pc and not begins:  # a function in one line has its arguments there
            self._look(batch, row, lane, set())
            self._passed = len(self._changes)
        self._end = batch.pc
        self._accesses.begin(batch, row, lane)
        self._jump = facts if facts.is_call or facts.is_jump else None

    def _settle(self, batch: WaveBatch, row: int) -> None:
        """Take note of what the lane has accessed by the latest instruction that it has executed of its line."""
        found = self._accesses.take()
        if not found:
            return
        lane, pc = self._lane(mask_of(batch, row)), batch.pc
        batch.pc = self._end
        try:
            placed = self._placed(batch, row)
            for access in found:
                own = next((each for each in placed if each.holds(access.kind, access.address)), None)
                if access.kind == PRIVATE and access.action != LOAD:
                    for frame in self._known.values():  # callers may have passed the address
                        frame.written.update(range(access.address, access.end))
                if own is None and access.kind == PRIVATE and self._is_slot(batch.pc):
                    self._slots_stored += (access.address,) * (access.action == STORE)
                    continue
                if own is None or has_elements(own.type):
                    self._note_access(batch, row, lane, access, own)
                elif access.action == LOAD:
                    self._of_line.use(own.die, own.name)
                else:
                    self._stored[own.die] = own.name
                    self._note(batch, row, lane, own, is_hidden=own.is_shadowed)
        finally:
            batch.pc = pc

    def _is_slot(self, pc: int) -> bool:
        """Return whether unoptimized code accesses a fixed place of the stack: a variable's, or the compiler's own."""
        if pc not in self._slots:
            device = self.running.machine.device
            address = executed(device.code_at(pc), 0, device.processor, device.lanes).operand("vaddr")
            self._slots[pc] = not self.is_optimized and address is not None and address.kind is OperandKind.OFF
        return self._slots[pc]

    def _note_access(
        self, batch: WaveBatch, row: int, lane: int, access: LaneAccess, own: PlacedVariable | None
    ) -> None:
        """Take note of an access by the names of the objects that it reaches; own is the variable that has them."""
        memory, is_load = self.running.machine.device.memory, access.action == LOAD
        undefined = b""
        if access.kind in (PRIVATE, LOCAL):
            undefined = memory.undefined_bytes(batch, row, lane, access.kind, access.address, access.size)
        at = access.address
        while at < access.end:
            place = self._named_at(batch, row, lane, access, at, is_own=own is not None)
            known = self._names.known(access.kind, at)
            if known is not None:
                known = known.part(at - known.address, min(access.end, known.end) - at)
            if own is not None and own.memory is not None:
                known = NamedPlace(own.name, own.type, *own.memory)
                self._arrays |= set() if is_load else {own.die}
            found = None if place is None else self._of_line.object_at(place, is_load=is_load)
            if found is None:
                if (other := known or place) is None:
                    return
                found = self._of_line.object_at(other, is_load=is_load, is_other=True)
            assert found is not None  # noqa: S101 (another one may have the name)
            if not (is_load and access.kind == PRIVATE and isinstance(resolved(found.place.type), Pointer)):
                found.put(access, undefined)
            at = found.place.address + found.place.size

    def _named_at(
        self, batch: WaveBatch, row: int, lane: int, access: LaneAccess, at: int, *, is_own: bool
    ) -> NamedPlace | None:
        """Return the object at an address that the line names; None if none of its names means one there."""
        line = self._source(batch.pc) or ""
        for name in self._names.names(line, self._expanding(batch, row), is_load=access.action == LOAD):
            place = self._place_named(batch, row, lane, name)
            if place is None:
                self._names.forget(line, name)
            elif place.holds(access.kind, at):
                if not has_elements(place.type):
                    return place
                if not is_own:
                    return place.part(at - place.address, min(access.end, place.end) - at)
        return None

    def _place_named(self, batch: WaveBatch, row: int, lane: int, name: str) -> NamedPlace | None:
        """Return where the object of a name is in memory: as it was found there before, or as the frame tells."""
        attached, device = self.running.attached, self.running.machine.device
        if name not in self._objects:
            self._objects[name] = Discoveries(attached, device, object_in(name))
        found: PlacedObject | None = self._objects[name].at(batch)
        with suppress(Unplaced):
            if found is not None and found.space and found.type is not None:
                at = place_in(device, found.space, found.address(batch, row, lane), int(batch.waves[row]), lane)
                return NamedPlace(name, found.type, *at)
        answer = self._answer(batch, row, lane, methodcaller("expression", name))
        value = None if answer is None or answer.value is None else answer.value.target()
        return None if value is None else self._place_of(batch, row, lane, name, value, found)

    def _place_of(
        self, batch: WaveBatch, row: int, lane: int, name: str, value: Object, found: PlacedObject | None
    ) -> NamedPlace | None:
        """Return where an object is in memory, with its name; from now on as it was found, if that is right."""
        address, device = value.address, self.running.machine.device
        target = device.machine.target
        space = target.default_space if address is None or address.space is None else target.space(address.space)
        if address is None or space is None or not (kind := kind_of(space)) or not known_size(value.type):
            return None
        number = int(np.asarray(address.value).flat[0])
        if found is not None and not found.is_wrong:
            found.is_wrong = True
            with suppress(Unplaced):
                found.is_wrong = found.address(batch, row, lane) != number
            found.space, found.type = "" if found.is_wrong else kind, value.type
        return NamedPlace(name, value.type, *place_in(device, kind, number, int(batch.waves[row]), lane))

    def _expanding(self, batch: WaveBatch, row: int) -> Callable[[str], str]:
        """Return what expands the macros in a text, where a wave is."""

        def expand(text: str) -> str:
            with suppress(DwarfGpuError):
                return expanded(text, self._wave(batch, row).frame(0).macros)
            return text

        return expand

    def _begin(self, batch: WaveBatch, row: int, mask: int, position: CodePosition) -> None:
        """Tell that a line begins, with what the line before has changed."""
        time, callers = self._when(batch, row)
        lane, before = self._lane(mask), self._frame
        returned = self._returned(batch, row, lane, callers)
        is_new = self._enter(batch, row, callers)
        is_same = before is self._frame
        if is_same and not is_new:
            self._look(batch, row, lane, self._look_behind(batch, row, lane))
            for each in self._placed(batch, row) if self._slots_stored else ():  # declared by the line
                if not has_elements(each.type) and any(each.holds(PRIVATE, at) for at in self._slots_stored):
                    self._stored.setdefault(each.die, each.name)
        changed = (
            *(self._changes[die] for die in self._changes if die not in self._arrays),
            *self._unchanged(before),
            *self._of_line.stored(self._text),
        )
        read = self._of_line.loaded(self._text)
        if not (changed or read or returned or (is_new and len(self._known) > 1)):  # a condition, for example
            read = self._of_line.used(before.texts)
        done = changed, time, callers, self._source(batch.pc), None, read, returned, self._passed
        self._forget()
        self._of_line.know(self._values(batch, row, lane, self._names.built_in(self._source(batch.pc) or "")))
        self.tell(TracedStep(position, mask, None, *done, self.is_optimized))
        if is_new:
            self._look_within(batch, row, lane)
        elif not is_same:  # what a function has changed, which has returned
            self._look(batch, row, lane, set())

    def _forget(self) -> None:
        """Begin a line, in which nothing has been done yet."""
        self._changes, self._stored, self._arrays, self._of_line = {}, {}, set(), LineAccesses()
        self._slots_stored = ()
        self._passed = 0

    def _unchanged(self, frame: TracedFrame) -> Iterator[tuple[str, str]]:
        """Yield the variables that the line has stored to, and that have the values that they had."""
        for die, name in self._stored.items():
            if die not in self._changes:
                text = frame.texts.get(die, UNSET)
                yield name, text if text == UNSET else f"{text.removesuffix(AT_LAUNCH)}{AS_BEFORE}"

    def _returned(self, batch: WaveBatch, row: int, lane: int, callers: tuple[int, ...] | None) -> str | None:
        """Return the text of what the function has returned that was the innermost one, if it has ended now."""
        frame = self._frame
        if frame.returns is None or not frame.callers or (batch.pc, callers) != (frame.callers[0], frame.callers[1:]):
            return None
        machine = self.running.machine.device.written(batch)
        kept = frame.returns.values(machine, int(batch.waves[row]))
        pattern = getattr(None if kept is None else kept.lanes.get(lane), "pattern", None)
        size = known_size(frame.returns.type)
        if pattern is None or not size:
            return None
        kind = resolved(frame.returns.type)
        if isinstance(kind, Pointer) and kind.is_reference:
            memory, address = place_in(self.running.machine.device, FLAT, pattern, int(batch.waves[row]), lane)
            place = self._names.known(memory, address)
            return f"{pattern:#x}" if place is None else place.part(address - place.address, 1).name
        return self._text(Object(frame.returns.type, ObjectPlace(Bytes(pattern.to_bytes(size, "little")))))

    def _enter(self, batch: WaveBatch, row: int, callers: tuple[int, ...] | None) -> bool:
        """Make the innermost function the frame; return whether it begins there, and has set nothing yet."""
        code = self.running.attached.state.loaded.at(batch.pc)
        functions = [] if code is None else [scope.die for scope in code.functions_at(batch.pc)]
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
        if is_new:
            self._known[key] = TracedFrame(callers, self._return_type(batch, row, key[1]) if callers else None)
        self._frame = self._known[key]
        return is_new

    def _return_type(self, batch: WaveBatch, row: int, function: Die | None) -> ReturnType | None:
        """Return what a function that begins is going to return."""
        if function not in self._return_types:
            self._return_types[function] = None
            with suppress(DwarfGpuError):
                self._return_types[function] = return_type(self._wave(batch, row).frame(0))
        return self._return_types[function]

    def _look(self, batch: WaveBatch, row: int, lane: int, visible: set[Die]) -> None:
        """Take note of the variables of the frame that have other values now; some were hidden by no other before."""
        for each in self._placed(batch, row):
            self._note(batch, row, lane, each, is_hidden=each.is_shadowed and each.die not in visible)

    def _look_within(self, batch: WaveBatch, row: int, lane: int) -> None:
        """Take note of those in locations that a list names: they may hold within the line alone."""
        placed = self._placed(batch, row)
        if not any(each.is_listed for each in placed):
            self._unlisted.add(batch.pc)
            return
        for each in placed:
            is_small = 0 < each.size <= SMALL
            if each.is_listed and not each.is_absent and (each.begins_here or is_small):
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
        lanes = LaneSet.product(b.array([int(batch.waves[row])], 64), b.array(range(batch.lanes), 64))
        return [PlacedVariable.of(each, memory=memory_of(each, lanes)) for each in self._variables(batch, row)]

    def _variables(self, batch: WaveBatch, row: int) -> Sequence[Variable]:
        with suppress(DwarfGpuError):
            return self._wave(batch, row).frame(0).variables()
        return ()

    def _wave(self, batch: WaveBatch, row: int) -> Wave:
        """Return a wave with the registers that it has now."""
        machine = self.running.machine
        if self._as_of != (self.executed, batch.pc, machine.changes):  # others write registers, too
            machine.device.written(batch)
            self._as_of = self.executed, batch.pc, machine.changes
        return self.running.attached[int(batch.waves[row])]

    def _note(self, batch: WaveBatch, row: int, lane: int, placed: PlacedVariable, *, is_hidden: bool) -> None:
        """Take note of a variable if its value is another one, as a text."""
        die, frame = placed.die, self._frame
        bits, unset = self._bits(placed, batch, row, lane)
        is_argument = placed.is_parameter and die not in frame.texts
        if (placed.is_absent and not is_argument) or placed.is_shared:
            return
        is_text = placed.is_text_of_bits or placed.is_vector
        if bits is not None and not is_text:  # what a pointer leads to is not its own
            if frame.pointers.get(die) == bits:
                return
            frame.pointers[die] = bits
        may_be_stale = placed.memory is not None and not (placed.is_listed or placed.is_parameter)
        written = frame.written if may_be_stale and self.lane is not None else None
        if placed.is_vector and not (
            unset and not any(unset) and (written is None or written.issuperset(placed.addresses))
        ):
            bits = None  # only parts of it may be set
        if self._is_unset(unset) and not placed.is_vector:
            text: str | None = UNSET
        else:
            is_text = is_text and bits is not None
            key = 0 if is_text else batch.pc, die
            before, text = self._texts.get(key, (None, None))
            if bits is None or bits != before:
                if bits is not None and is_text:
                    text = self._text(Object(placed.type, ObjectPlace(Bytes(bits))))
                else:
                    text = self._value_of(batch, row, lane, die, written, is_argument=is_argument)
                self._texts[key] = bits, text
        if may_be_stale and not placed.is_in(frame.written) and frame.stale.setdefault(die, text) == text:
            return
        if is_argument:
            frame.texts[die] = ""  # the launch is asked once
        known = frame.texts.get(die, UNSET)
        if text is not None and known.removesuffix(AT_LAUNCH) != text:
            frame.texts[die] = text
            self._changes[die] = f"{placed.name}{' (shadowed)' * is_hidden}", text

    def _bits(self, placed: PlacedVariable, batch: WaveBatch, row: int, lane: int) -> tuple[bytes | None, bytes]:
        """Return the bytes of a variable in a lane, and of private memory their undefined bits.

        The bytes are None where only the frame can tell them.
        """
        column, memory, at = placed.column, self.running.machine.device.memory, None
        if isinstance(column, PrivateColumn):
            at = column.address, column.size
        elif placed.is_vector:
            at = placed.addresses.start, placed.size
        if at is not None:
            unset = memory.undefined_bytes(batch, row, lane, PRIVATE, *at)
            is_aligned = placed.is_vector or not at[0] % min(at[1], 4)
            return (memory.private_bytes(int(batch.waves[row]), lane, *at) if is_aligned else b"") or None, unset
        with suppress(Unplaced):
            numbers = None if column is None else column(batch)
            if numbers is not None:
                own = numbers[row if numbers.shape[0] > 1 else 0, lane if numbers.shape[1] > 1 else 0]
                return bytes(own.tobytes()), b""
        return None, b""

    def _values(self, batch: WaveBatch, row: int, lane: int, names: list[str]) -> Iterator[tuple[str, str]]:
        for name in names:
            answer = self._answer(batch, row, lane, methodcaller("expression", name))
            text = None if answer is None or answer.value is None else self._text(answer.value)
            if text is not None:
                yield name, text

    def _value_of(
        self, batch: WaveBatch, row: int, lane: int, die: Die, written: set[int] | None, *, is_argument: bool
    ) -> str | None:
        """Return the text of a variable as only the frame can tell it, or of the argument of the launch.

        written are the only private addresses that can be set, if that is known.
        """

        def variable(frame: Frame) -> Quantity:
            return next(each for each in frame.variables() if each.die == die)

        answer = self._answer(batch, row, lane, variable)
        launched = None if answer is None or answer.reason is None else answer.reason.launched
        if is_argument and launched is not None and (argument := launched()) is not None:
            return f"{self._text(argument)}{AT_LAUNCH}"
        return (
            None if answer is None or answer.value is None else self._set_text(batch, row, lane, answer.value, written)
        )

    def _answer(self, batch: WaveBatch, row: int, lane: int, find: Callable[[Frame], Quantity]) -> LaneAnswer | None:
        """Return what is found in the innermost frame of a wave; None where a name means nothing."""
        try:
            return find(self._wave(batch, row).frame(0)).values([lane]).of(lane)
        except DwarfGpuError:
            return None

    def _set_text(self, batch: WaveBatch, row: int, lane: int, value: Object, written: set[int] | None) -> str | None:
        """Return the text of an object, of which parts may not be set yet."""
        address, size, device = value.address, known_size(value.type), self.running.machine.device
        space = None if address is None or address.space is None else device.machine.target.space(address.space)
        if address is None or space is None or not size or size > MAX_OBJECT or kind_of(space) not in (PRIVATE, LOCAL):
            return self._text(value)
        number = int(np.asarray(address.value).flat[0])
        unset = device.memory.undefined_bytes(batch, row, lane, kind_of(space), number, size)
        if written is not None and kind_of(space) == PRIVATE:
            known = zip(range(number, number + size), unset or bytes(size), strict=True)
            unset = bytes(byte if at in written else 0xFF for at, byte in known)
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
        with suppress(DwarfGpuError):
            return self._show(value)
        return None
