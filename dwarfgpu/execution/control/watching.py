"""Watchpoints: memory or a variable of a lane, looked at after each instruction that may change or read it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.errors import UsageError
from dwarfgpu.execution import halts
from dwarfgpu.execution.access_shapes import BUFFER, FLAT, GLOBAL, LOCAL, SCRATCH
from dwarfgpu.execution.batch import NOTHING, UNSET, WaveBatch
from dwarfgpu.execution.breakpoints import ACCESS_WATCH, READ_WATCH, WATCH, Breakpoint
from dwarfgpu.execution.control.stepping import CodeMap, change_of_depth
from dwarfgpu.execution.halts import ValueChange, WatchHit
from dwarfgpu.expr.locations import Composite, Register
from dwarfgpu.immutable import frozen
from dwarfgpu.objfile.info.scopes import covers
from dwarfgpu.program.types.model import Type, byte_size

if TYPE_CHECKING:
    from dwarfgpu.execution.device import Device
    from dwarfgpu.execution.forms.watched_forms import WatchedMemory
    from dwarfgpu.execution.gpu import Gpu
    from dwarfgpu.execution.launch.dispatch import PlannedDispatch
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.machines.machine import Machine
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.values.storage import Address
    from dwarfgpu.targets.target import AddressSpace

    Registers = tuple[tuple[str, int], ...]
    """Registers by the letter and the number of their names."""

PRIVATE = "private"
_KINDS = {"private_lane": PRIVATE, "local": LOCAL, "group": LOCAL, "generic": FLAT, "flat": FLAT}
"""The spaces that lanes or work-groups have of their own, or that may lead there; other memory is one for all."""
MAX_BYTES = 1 << 20
"""The size of what can be watched."""
_REGISTER = re.compile(r"([vas])(\d+)$")
STACK_POINTER = 32
"""The number of the scalar register that has the end of the stack."""


def kind_of(space: AddressSpace) -> str:
    """Return what an address space leads to: ``private``, ``ds``, ``flat`` or ``global``; empty for none of these."""
    return _KINDS.get(space.name, "" if space.name.startswith("private") else GLOBAL)


@frozen(eq=False)
class WatchedCall:
    """The lane and the call of a function in which a watchpoint was set."""

    plan: PlannedDispatch
    """The launch."""
    wave: int
    lane: int
    function: Die | str | None
    name: str
    """That of the function."""
    ranges: tuple[tuple[int, int], ...]
    """The addresses of the function."""
    stack: int
    """The stack pointer there, which tells apart the calls of a function."""
    is_outermost: bool
    """Whether the function is the kernel."""
    variables: tuple[int, ...]
    """The offsets of the entries of the variables that the expression names."""
    shown: Callable[[Object, Frame], str]
    """Makes the text of a value."""
    process: object = None
    """That of the launch, in a whole program."""

    def can_be_in(self, plan: PlannedDispatch) -> bool:
        """Return whether a launch has the same code and memory at the same addresses."""
        return self.plan.file.image is plan.file.image and _addresses(self.plan) == _addresses(plan)

    def is_at(self, batch: WaveBatch, reader: CodeMap) -> bool:
        """Return whether the wave executes the function in a call with the same stack, behind the prologue."""
        if self.wave not in batch.waves or not covers(self.ranges, batch.pc) or reader.at(batch.pc).is_prologue:
            return False
        return self.is_outermost or stack_in(batch, self.wave) in (None, self.stack)


def _addresses(plan: PlannedDispatch) -> tuple[Any, ...]:
    buffers = tuple((buffer.address, buffer.size) for buffer in plan.buffers)
    return plan.kernel.name, plan.geometry, plan.load_address, plan.places.kernarg, buffers


class Watched:
    """What a watchpoint watches: bytes of memory, or else the text of a value."""

    def __init__(self, call: WatchedCall, value: Callable[[], str], holds: Callable[[str, WaveBatch], bool]) -> None:
        self.call = call
        self.wave, self.lane = call.wave, call.lane
        self.value = value
        """Gives the value as a text."""
        self.holds = holds
        """Tells whether a condition is true in the lane, given the batch that has the wave."""
        self.space = ""
        """``global``, ``ds`` or ``private``; empty for what is in registers."""
        self.address = 0
        self.size = 0
        self.type: Type | None = None
        """The type of what is in memory; None of what is in registers."""
        self.place: Address | None = None
        """The address as the program has it."""
        self.data: Callable[[], bytes] | None = None
        """Gives the bytes of the memory."""
        self.is_tensor = False
        """Whether it is of a tensor: stores of each wave of the program change it, and it keeps its value meanwhile."""
        self.is_pending = False
        """Whether it waits, in a new launch, for the call of the function whose variable it is."""
        self.function: tuple[tuple[int, int], ...] = ()
        """The addresses of the function whose variable it is; none if it outlives all functions."""
        self.stack = 0
        """The stack pointer there, which tells apart the calls of a function that calls itself."""
        self.text = ""
        """The value when it was last looked at."""
        self.bytes = b""

    def look(self) -> None:
        """Remember what is there now."""
        if self.data is not None:
            self.bytes = self.data()
        self.text = self.value()

    def has_changed(self) -> bool:
        """Return whether the value is another one. One that is absent for another reason, now remembered, is not."""
        now = self.value()
        if now[:1] == self.text[:1] == "<":
            self.text = now
        return now != self.text

    def is_in_function(self, pc: int) -> bool:
        """Return whether an address is in the function whose variable it is."""
        return covers(self.function, pc)

    @property
    def is_there_at_launch(self) -> bool:
        """Whether it is memory that does not depend on a call."""
        return bool(self.space) and not self.function

    @property
    def is_of_program(self) -> bool:
        """Whether it is memory that all launches of a program share."""
        return self.space == GLOBAL and self.is_there_at_launch

    def wait(self) -> None:
        """Wait for the call, and let go of the machine before."""
        self.is_pending, self.value, self.data = True, str, None

    def locate(self, machine: Gpu, kind: Type, place: Address) -> None:
        """Say what memory is watched: a type, and an address with its space."""
        size = byte_size(kind) or 0
        if not 0 < size <= MAX_BYTES:
            raise UsageError(f"{size} bytes cannot be watched", kind="no_address", hint=f"they are 1 to {MAX_BYTES}")
        target = machine.target
        space = target.default_space if place.space is None else target.space(place.space)
        if space is None:
            raise UsageError("the address has no memory", kind="no_address")
        start = address = int(place.value)
        leads = kind_of(space)
        if leads == FLAT:
            apertures = machine.device.apertures
            leads = PRIVATE if apertures.is_private(address) else LOCAL if apertures.is_local(address) else GLOBAL
            address = address if leads == GLOBAL else address & 0xFFFFFFFF
        self.space, self.address, self.size = leads, address, size
        self.type, self.place = kind, place
        self.data = lambda: machine.read_memory(space, start, size, self.wave, self.lane)
        self.data()  # an error if there is no memory


class Watcher:
    """Looks at watchpoints while a machine runs, and tells of what they see."""

    def __init__(
        self,
        device: Device,
        points: list[Breakpoint],
        reader: CodeMap,
        tell: Callable[[WatchHit], bool],
        tell_same: Callable[[WatchHit], object] | None = None,
    ) -> None:
        self._device = device
        self._points = points
        self._reader = reader
        self._tell, self._tell_same = tell, tell_same
        """The second is told of stores to what is watched that have changed nothing."""
        self._groups = device.machine.groups()
        self._before: tuple[WaveBatch, int, int] | None = None
        """The batch that executes an instruction, the time before it, and its address."""
        self._accessed: dict[int, tuple[set[str], dict[int, int]]] = {}
        self._has_stored = False
        for point in points:
            point.watched.look()

    def add(self, point: Breakpoint) -> None:
        """Look at one more, from the instruction on that executes now."""
        self._points.append(point)

    def start(self) -> None:
        """Be told of accesses."""
        self._device.memory.watch, self._device.memory.watch_waves = self.access, self.access_of_waves

    @cached_property
    def compiled_part(self) -> WatchedMemory | None:
        """What compiled code does meanwhile; None if Python has to look at each instruction."""
        from dwarfgpu.execution.forms.watched_forms import WatchedMemory

        watched = WatchedMemory(self._device.machine.wave_count)
        return watched if all(self._is_left(point, watched) for point in self._points) else None

    def _is_left(self, point: Breakpoint, watched: WatchedMemory) -> bool:
        """Return whether only stores change what a watchpoint watches; then let compiled code refuse these."""
        from dwarfgpu.execution.forms.layout import WatchedRange

        own, memory = point.watched, self._device.memory
        if point.kind != WATCH or own.data is None or own.is_tensor or self._tell_same is not None:
            return False
        if own.function and not own.call.is_outermost:
            watched.see_returns(own.wave)
        every = slice(None)
        if own.space == GLOBAL:
            watched.add(every, WatchedRange.GLOBAL, own.address, own.size)
        elif own.space == LOCAL:
            rows = self._groups == self._groups[own.wave]
            watched.add(rows, WatchedRange.LOCAL, own.address, own.size)
            watched.add(rows, WatchedRange.FLAT_LOCAL, memory.shared_aperture + own.address, own.size)
        elif own.space == PRIVATE:
            row, begin, end = 4 * memory.lanes, own.address // 4, (own.address + own.size + 3) // 4
            start = memory.scratch_base + own.wave * memory.scratch_size
            watched.add(every, WatchedRange.WINDOW, start + begin * row, (end - begin) * row)
            watched.add([own.wave], WatchedRange.PRIVATE, own.address, own.size)
            watched.add([own.wave], WatchedRange.FLAT_PRIVATE, memory.private_aperture + own.address, own.size)
        return own.space in (GLOBAL, LOCAL, PRIVATE)

    def stop(self) -> None:
        """Be told of none any more."""
        self._device.memory.watch = self._device.memory.watch_waves = None

    # --- Accesses -------------------------------------------------------------------------------------------------

    def access(self, space: str, address: Any, mask: Any, size: int) -> None:
        """Take note of an access of lanes."""
        if self._before is None:
            return
        batch = self._before[0]
        action, extent = self._device.memory.moving
        flags = halts.executing(batch)
        self._note(space, address, flags if mask is None else flags & mask, max(size, extent), action)

    def access_of_waves(self, space: str, address: Any, size: int, action: str) -> None:
        """Take note of an access of whole waves, which all their lanes share."""
        if self._before is None:
            return
        batch = self._before[0]
        numbers = np.asarray(address).astype(np.uint64).reshape(-1, 1) & ~np.uint64(3)
        flags = halts.executing(batch)
        if not flags.any(axis=1).all():  # such an instruction is executed without lanes, too
            flags = flags | ~flags.any(axis=1)[:, None]
        self._note(space, numbers, flags, size, action)

    def _note(self, space: str, address: Any, executing: Any, size: int, action: str) -> None:
        assert self._before is not None  # noqa: S101 (the callers have looked)
        batch = self._before[0]
        self._has_stored |= action != "load"
        for point in self._points:
            watched = point.watched
            flags = self._reaching(watched, space, address, size) if watched.space and point.is_enabled else None
            if flags is None:
                continue
            flags = np.broadcast_to(flags, executing.shape) & executing
            if watched.space == PRIVATE:
                own = np.zeros_like(flags)
                own[batch.waves == watched.wave, watched.lane] = True
                flags = flags & own
                if space not in (SCRATCH, LOCAL):  # private memory is somewhere in global memory, too
                    flags = flags | (self._reaching_scratch(watched, address, size) & executing)
            elif watched.space == LOCAL:
                flags = flags & (self._groups[batch.waves] == self._groups[watched.wave])[:, None]
            masks = halts.lane_masks(batch.waves, flags)
            if masks:
                actions, known = self._accessed.setdefault(point.number, (set(), {}))
                actions.add(action)
                for wave, mask in masks.items():
                    known[wave] = known.get(wave, 0) | mask

    def _reaching(self, watched: Watched, space: str, address: Any, size: int) -> Any:
        """Return which addresses are in what is watched; None if none can be."""
        memory = self._device.memory
        base = 0
        if watched.space == PRIVATE and space in (GLOBAL, BUFFER):
            return np.zeros((1, 1), bool)  # `_reaching_scratch` looks at these
        if watched.space == GLOBAL:
            if space not in (GLOBAL, BUFFER, FLAT):
                return None
        elif space == FLAT:
            base = memory.private_aperture if watched.space == PRIVATE else memory.shared_aperture
        elif space != (SCRATCH if watched.space == PRIVATE else LOCAL):
            return None
        numbers = np.asarray(address).astype(np.uint64)
        first = np.uint64(watched.address + base)
        last = np.uint64(watched.address + base + watched.size - 1)
        return (numbers <= last) & (numbers + np.uint64(size - 1) >= first)

    def _reaching_scratch(self, watched: Watched, address: Any, size: int) -> Any:
        """Return which global addresses are of private memory that is watched: dwords of lanes take turns there."""
        memory = self._device.memory
        line = 4 * memory.lanes
        start = memory.scratch_base + watched.wave * memory.scratch_size
        place = (np.asarray(address).astype(np.uint64) - np.uint64(start)).view(np.int64)
        offset = place // line * 4 + place % 4
        is_inside = (place >= 0) & (place < memory.scratch_size) & (place % line // 4 == watched.lane)
        last = watched.address + watched.size - 1
        return is_inside & (offset <= last) & (offset + min(size, 4) - 1 >= watched.address)

    # --- What was seen --------------------------------------------------------------------------------------------

    def __call__(self, batch: WaveBatch) -> bool:
        """Look before an instruction at what the one before it has done; return whether waves stop."""
        stops = self.settle()
        self._before = None if stops else (batch, self._device.executed, batch.pc)
        return stops

    def settle(self) -> bool:
        """Look at what the last instruction has done; return whether waves stop."""
        if self._before is None:
            return False
        before, time, pc = self._before
        self._before = None
        stops = False
        for point in self._points:
            watched = point.watched
            actions, lanes = self._accessed.get(point.number, (set(), _lanes_now(watched, before)))
            text, data = watched.text, watched.bytes
            has_left = bool(watched.function) and self._has_left(watched, before, pc)
            if not has_left and not (point.is_enabled and self._triggers(point, actions, before)):
                if self._tell_same is not None and actions & {"store", "atomic"}:
                    change = ValueChange(text, text)
                    self._tell_same(WatchHit(point, time, pc, lanes, change, self._is_inside(watched, before, pc)))
                continue
            if not has_left:
                watched.look()
                if point.kind == WATCH and text == watched.text and data == watched.bytes:
                    continue
                if point.condition is not None and not watched.holds(point.condition, before):
                    continue
            different = (at for at, (old, new) in enumerate(zip(data, watched.bytes, strict=False)) if old != new)
            change = ValueChange(text, watched.text, next(different, None))
            is_inside = self._is_inside(watched, before, pc)
            stops |= self._tell(WatchHit(point, time, pc, lanes, change, is_inside, has_left))
        self._accessed.clear()
        self._has_stored = False
        return stops

    def _is_inside(self, watched: Watched, before: WaveBatch, pc: int) -> bool:
        if not watched.function or watched.is_in_function(pc):
            return True
        self._device.write_wave(watched.wave, before)
        return stack_pointer(self._device.machine, watched.wave) > watched.stack

    def _has_left(self, watched: Watched, before: WaveBatch, pc: int) -> bool:
        """Return whether an instruction was the return from the function whose variable is watched."""
        if not self._reader.at(pc).is_jump or watched.wave not in before.waves or not watched.is_in_function(pc):
            return False
        self._device.write_wave(watched.wave, before)
        machine = self._device.machine
        following = machine.program_counter(watched.wave)
        if following is None or change_of_depth(self._reader, pc, following) != -1:
            return False
        stack = stack_pointer(machine, watched.wave)
        return stack < watched.stack or (stack == watched.stack and not watched.is_in_function(following))

    def _triggers(self, point: Breakpoint, actions: set[str], before: WaveBatch) -> bool:
        watched = point.watched
        if point.kind == READ_WATCH:
            return bool(actions & {"load", "atomic"})
        if point.kind == ACCESS_WATCH and actions:
            return True
        if watched.data is not None:
            return self._has_stored and watched.data() != watched.bytes
        if watched.is_tensor:
            if not self._has_stored:
                return False
            for batch, _reason in self._device.every_batch():
                self._device.written(batch)
            self._device.written(before)
            return bool(watched.has_changed())
        if watched.wave not in before.waves:
            return False
        self._device.write_wave(watched.wave, before)
        return bool(watched.has_changed())


def _lanes_now(watched: Watched, before: WaveBatch) -> dict[int, int]:
    """Return the lane of a watchpoint; where its wave did not execute the instruction, the lanes of one that did."""
    if not watched.is_tensor or watched.wave in before.waves:
        return {watched.wave: 1 << watched.lane}
    return halts.lane_masks(before.waves[:1], halts.executing(before)[:1])


def stack_pointer(machine: Machine, wave: int) -> int:
    """Return where the stack of a wave ends; 0 where that is not known. It grows upwards."""
    try:
        return int(machine.column("s32")[wave])
    except UsageError:  # the kernel uses no register of that number
        return 0


def stack_in(batch: WaveBatch, wave: int) -> int | None:
    """Return the same of a wave in a batch; None where it is not known."""
    value = batch.scalar[STACK_POINTER]
    return None if value is UNSET else int(np.broadcast_to(value, (batch.count, 1))[batch.waves == wave][0, 0])


# --- Registers ----------------------------------------------------------------------------------------------------


@frozen
class RegisterWrite:
    """An instruction that has changed registers."""

    pc: int
    old: tuple[int | None, ...]
    """What each register had before; None of one that was not set."""
    new: tuple[int | None, ...]


class RegisterRecorder:
    """Looks at registers of a lane after each instruction of its wave."""

    def __init__(self, device: Device, registers: Registers, wave: int, lane: int, until: float) -> None:
        self._device, self._registers, self._wave, self._lane, self._until = device, registers, wave, lane, until
        self._before: tuple[WaveBatch, int, tuple[int | None, ...]] | None = None
        """The batch that executes an instruction, its address, and what the registers have."""
        self.last: RegisterWrite | None = None

    def observe(self, batch: WaveBatch) -> bool:
        """Look before an instruction at what the one before it has done."""
        if process_time() > self._until:
            raise TimeoutError
        if self._wave in batch.waves:
            self.settle()
            self._before = batch, batch.pc, self._values(batch)
        return False

    def settle(self) -> None:
        """Look at what the last instruction has done."""
        if self._before is None:
            return
        batch, pc, old = self._before
        self._before = None
        new = self._values(self._device.batch_of(self._wave, batch))
        if old != new:
            self.last = RegisterWrite(pc, old, new)

    def _values(self, batch: WaveBatch) -> tuple[int | None, ...]:
        row = 0 if batch.count == 1 else int(np.nonzero(batch.waves == self._wave)[0][0])
        return tuple(self._value(batch, row, kind, index) for kind, index in self._registers)

    def _value(self, batch: WaveBatch, row: int, kind: str, index: int) -> int | None:
        column = {"v": batch.vector, "a": batch.accumulation, "s": batch.scalar}[kind]
        known = column[index] if index < len(column) else UNSET
        if known is UNSET or known is NOTHING:
            return None
        if isinstance(known, int):
            return known
        whole = np.broadcast_to(known, (batch.count, known.shape[1]))
        return int(whole[row, self._lane if kind != "s" and known.shape[1] > 1 else 0])


def registers_of(location: Location) -> Registers:
    """Return the registers that a location is in, if it is in vector and scalar registers alone; else none."""
    place = location.single
    found: list[tuple[str, int]] = []
    for part in place.storage.parts if place is not None and isinstance(place.storage, Composite) else ():
        found += registers_of(part.location)
    if place is not None and isinstance(place.storage, Register):
        match = _REGISTER.match(place.storage.register.name)
        found += [] if match is None else [(match[1], int(match[2]))]
    return tuple(dict.fromkeys(found))
