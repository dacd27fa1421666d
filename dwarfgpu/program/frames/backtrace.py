"""Backtraces: what is shown of the frames of waves and threads, and waves with equal stacks as one group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dwarfgpu.cfi import rules
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.locations import Implicit, Location, Memory, Register, Storage, is_undefined
from dwarfgpu.expr.pieces import stretches_of
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.program.frames.selectors import no_lanes
from dwarfgpu.progress import counted

if TYPE_CHECKING:
    from dwarfgpu.cfi.activation import Activation, End
    from dwarfgpu.program.code.scopes import SourceCall
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.states.stopped import Stopped
    from dwarfgpu.targets.target import TargetRegister


@frozen
class RegisterSpan:
    """Neighbouring bits of a register that are in one place: of a vector register some of its lanes."""

    first: int
    """The first lane, or bit where there are no lanes."""
    last: int
    location: Location
    """Where the first one is; the others follow it."""


@frozen
class Saved:
    """Where a register of a frame is."""

    register: TargetRegister
    spans: tuple[RegisterSpan, ...]
    """What has no value in the frame is in none of them."""
    is_undefined: bool = False
    """Whether a rule says that it has no value."""
    error: DwarfGpuError | None = None
    """What is wrong with its rule."""


@frozen
class ShownFrame:
    """What a backtrace shows of a frame, which need not be kept for it."""

    number: int
    pc: int
    file: str | None
    """The file whose code it is."""
    call: SourceCall
    is_signal_handler: bool = False
    """Whether it is the frame from which the kernel has called the handler of a signal."""
    found: str = ""
    """How it was found, where no call frame information leads to it."""
    is_tail_call: bool = False
    """Whether its last act was the call of the next inner one, so that only debugging information shows it."""
    cfa: Location | None = None
    cfa_error: DwarfGpuError | None = None
    lanes: int | None = None
    """The lanes that were active on entry, as a mask."""
    saved: tuple[Saved, ...] | None = None
    """Registers that are elsewhere than in themselves; None where they were not asked for."""


@frozen
class Backtrace:
    """The frames of some threads that have the same ones."""

    waves: tuple[str, ...]
    frames: tuple[ShownFrame, ...]
    skipped: int
    """How many frames were left out because the lane was not active in them."""
    end: End | None
    error: DwarfGpuError | None = None
    """Why nothing is known about the threads."""
    left_out: int = 0
    """How many frames are not shown, because only some are asked for."""


def backtraces(
    stopped: Stopped, waves: Iterable[int], *, lane: int | None = None, registers: bool = False
) -> Iterator[Backtrace]:
    """Yield the frames of threads, each stack once with all its threads. With ``lane``, the frames it was active in."""
    count = stopped.machine.target.lane_count
    if lane and count == 1:
        raise no_lanes(stopped.machine.target)
    if lane is not None:
        lane = stopped.machine.target.lane(lane)
    groups: dict[Any, tuple[Backtrace, list[str]]] = {}
    for wave in counted(waves, "waves"):
        try:
            backtrace = _backtrace(stopped, wave, lane, registers=registers)
        except DwarfGpuError as error:
            backtrace = Backtrace((), (), 0, None, error)
        _first, names = groups.setdefault(_key(backtrace), (backtrace, []))
        names.append(stopped.machine.ids[wave])
    for backtrace, names in groups.values():
        yield evolve(backtrace, waves=tuple(names))


def _key(backtrace: Backtrace) -> Any:
    """Return a key that is equal for equal stacks, where locations in two waves may differ in the wave."""
    frames = tuple(
        (
            frame.number,
            frame.pc,
            _where(frame.cfa),
            str(frame.cfa_error),
            frame.lanes,
            tuple(
                (
                    saved.register.number,
                    str(saved.error),
                    tuple((s.first, s.last, _where(s.location)) for s in saved.spans),
                )
                for saved in frame.saved or ()
            ),
        )
        for frame in backtrace.frames
    )
    end = backtrace.end
    return frames, backtrace.skipped, end and (end.kind, end.message), str(backtrace.error)


def _where(location: Location | None) -> Any:
    if location is None:
        return None
    return tuple((_kind_of(place.storage), place.bit_offset) for place in location.places)


def _kind_of(storage: Storage) -> Any:
    """Return what is equal for storages of two waves that are alike."""
    if isinstance(storage, Memory):
        return storage.space
    if isinstance(storage, Register):
        return storage.register
    return type(storage), storage.data if isinstance(storage, Implicit) else None


def _backtrace(stopped: Stopped, wave: int, lane: int | None, *, registers: bool) -> Backtrace:
    """Return the frames of a thread: those that are inlined, then the function itself with what belongs to it."""
    stack, rules_of_callees = stopped.wave(wave).seen_by(lane).stack, InnerRules()
    shown: list[ShownFrame] = []
    skipped = 0
    for activation in stack.activations:
        *inlined, function = stack.call(activation.level)
        mask, callees = function.active_lanes(), rules_of_callees.of(activation)
        if lane is not None and mask is not None and not mask >> lane & 1:
            skipped += 1
            continue
        file, pc = None if function.code is None else function.code.file.name, _pc_of(function, activation)
        shown += (ShownFrame(frame.number, pc, file, frame.call, lanes=mask) for frame in inlined)
        saved = tuple(saved_registers(activation, callees)) if registers else None
        shown.append(shown_frame(function, activation, mask, saved))
    end = stack.end
    stopped.wave(wave).forget()
    return Backtrace((), tuple(shown), skipped, end)


def shown_frame(
    frame: Frame, activation: Activation, mask: int | None, saved: tuple[Saved, ...] | None = None
) -> ShownFrame:
    """Return what is shown of a frame, with the CFA of its activation."""
    cfa = error = None
    try:
        cfa = activation.cfa(activation.thread.lanes)
    except DwarfGpuError as missing:
        error = missing
    file = None if frame.code is None else frame.code.file.name
    pc = _pc_of(frame, activation)
    is_gone = frame.is_tail_call
    found, is_signal = activation.found, frame.is_signal_frame
    return ShownFrame(frame.number, pc, file, frame.call, is_signal, found, is_gone, cfa, error, mask, saved)


def _pc_of(frame: Frame, activation: Activation) -> int:
    """Return the program counter of a frame: that of its wave, or of the lane that sees it."""
    return activation.pc if frame.pc is None else frame.pc


def saved_registers(activation: Activation, explicit: set[int] | None = None) -> Iterator[Saved]:
    """Yield the registers of an activation that are elsewhere than in themselves.

    ``explicit`` are those that the rules of inner activations are about, where they are known already.
    """
    if explicit is None:
        explicit = InnerRules().of(activation)
    thread = activation.thread
    for number in sorted(explicit):
        register = thread.register(number)
        if register is None:
            continue
        try:
            location = activation.register(number, thread.lanes)
        except DwarfGpuError as error:
            yield Saved(register, (), error=error)
            continue
        if is_undefined(location):
            yield Saved(register, (), is_undefined=True)
        elif not _is_itself(location, register):
            yield Saved(register, tuple(_spans(location, register)))


def saved_by(frame: Frame) -> Iterator[Saved]:
    """Yield where a frame has put registers of its caller."""
    if frame.stack is None or frame.activation is None:
        return
    caller = None if frame.is_tail_call else frame.stack.activations.returns_to(frame.level)
    if caller is not None:
        yield from saved_registers(caller, set(_with_rules(frame.activation)))


class InnerRules:
    """The registers that the rules of inner activations are about, collected on the way outwards."""

    def __init__(self) -> None:
        self._registers: set[int] = set()
        self._last: Activation | None = None
        """The activation whose inner ones have been collected."""

    def of(self, activation: Activation) -> set[int]:
        """Return the registers for an activation, which is mostly the caller of the last one."""
        inner = []
        callee = activation.callee
        while callee is not None:
            inner.append(callee)
            if callee is self._last:
                break
            callee = callee.callee
        else:
            self._registers = set()
        for activation_within in inner:
            self._registers.update(_with_rules(activation_within))
        self._last = activation
        return self._registers


def _with_rules(activation: Activation) -> Iterator[int]:
    """Yield the registers that a caller finds by a rule, and the stack pointer, which it finds by the CFA."""
    try:
        information = activation.information
    except DwarfGpuError:
        return
    pointer = activation.thread.target.stack_pointer
    if pointer is not None:
        yield pointer
    for number, rule in information.row.registers.items():
        if not isinstance(rule, rules.SameValue):
            yield number


def _is_itself(location: Location, register: TargetRegister) -> bool:
    place = location.single
    return (
        place is not None
        and isinstance(place.storage, Register)
        and place.storage.register.number == register.number
        and place.bit_offset == 0
    )


def _spans(location: Location, register: TargetRegister) -> Iterator[RegisterSpan]:
    """Yield the stretches of a location: by lanes, where all of them begin and end with a lane, else by bits."""
    stretches = list(stretches_of(location, register.bit_size))
    unit = register.lane_bits or 1
    position = 0
    for _location, size in stretches:
        if position % unit or size % unit:
            unit = 1
        position += size
    position = 0
    for part, size in stretches:
        if not is_undefined(part):
            yield RegisterSpan(position // unit, (position + size) // unit - 1, part)
        position += size
