"""Waves of a stopped machine (threads of a host program): their lanes, their frames, and where traps stopped them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from dwarfgpu.errors import DwarfGpuError, Handle, UnknownItem
from dwarfgpu.immutable import frozen
from dwarfgpu.lanes import lanes_in
from dwarfgpu.machines.protocol import UNKNOWN_TRAP, TrapMeaning, WaveStop, trap_inputs
from dwarfgpu.program import ShownInNotebooks
from dwarfgpu.program.frames.frame import Frame, Stack, negative_frame
from dwarfgpu.targets.amdgpu.processors import processor_named

if TYPE_CHECKING:
    from dwarfgpu.cfi.activation import End
    from dwarfgpu.program.frames.execution import Execution
    from dwarfgpu.program.frames.launch_record import LaunchRecord
    from dwarfgpu.states.stopped import Stopped


@frozen
class Lane:
    """One lane of a wave."""

    number: int
    is_active: bool | None
    """Whether it executes the code at the place of the wave; None where that is not known."""


class Wave(ShownInNotebooks, Handle):
    """One wave, or one thread of a host program.

    >>> import dwarfgpu as dg
    >>> wave = dg.open_core("blur.core")[1]
    >>> wave.id, wave.stop_reason, [frame.name for frame in wave.frames()]
    ('1:1:1:2', 'MEMORY_VIOLATION', ['blur', 'blur'])
    >>> len(wave.lanes), sum(lane.is_active for lane in wave.lanes)
    (32, 18)
    """

    def __init__(self, state: Execution, stopped: Stopped, index: int) -> None:
        self.state = state
        self.stopped = stopped
        self.index = index
        self._stack: Stack | None = None
        self._launch: tuple[int, LaunchRecord] | None = None

    def __repr__(self) -> str:
        return f"Wave({self.id!r})"

    @property
    def id(self) -> str:
        """The name that the machine gives it."""
        return self.stopped.machine.ids[self.index]

    @property
    def pc(self) -> int | None:
        """Its program counter."""
        return self.stopped.machine.program_counter(self.index)

    @property
    def stop(self) -> WaveStop | None:
        """Why it has stopped; None where the machine does not know."""
        return self.stopped.machine.stop_of(self.index)

    @property
    def stop_reason(self) -> str | None:
        """Why it has stopped, in the words of ROCgdb's library; None where the machine does not know."""
        return self.stopped.machine.stop_text(self.index)

    @property
    def launch(self) -> LaunchRecord:
        """What it was launched with: the kernel, the grid and the arguments, as far as they are certain."""
        from dwarfgpu.program.frames.wave_positions import waves_of

        machine = waves_of(self.stopped)
        if self._launch is None or self._launch[0] != machine.changes:
            from dwarfgpu.program.frames.launch_record import launch_of

            self._launch = machine.changes, launch_of(machine, self.stopped.loaded, self.index)
        return self._launch[1]

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """Its lanes, active or not."""
        mask = self.frame(0).active_mask
        return tuple(
            Lane(number, None if mask is None else bool(mask >> number & 1))
            for number in range(self.state.target.lane_count)
        )

    def beside(self, index: int) -> Wave:
        """Return another wave of the same machine."""
        return Wave(self.state, self.stopped, index)

    # --- Frames ---------------------------------------------------------------------------------------------------

    def seen_by(self, lane: int | None) -> Wave:
        """Return the wave with the frames that a lane sees, which are at the places of the lane (A.2.5.1)."""
        if lane is None:
            return self
        view = Wave(self.state, self.stopped, self.index)
        view._stack = self.stack.of_lane(self.state.target.lane(lane))
        return view

    @property
    def stack(self) -> Stack:
        """Its calls."""
        if self._stack is None:
            self._stack = Stack(self.stopped, self.index, owner=self)
        return self._stack

    def frames(self) -> tuple[Frame, ...]:
        """Return its frames, innermost first; functions that were inlined have frames of their own."""
        return tuple(self)

    def frame(self, number: int = 0) -> Frame:
        """Return the frame with a number, 0 for the innermost one."""
        if number < 0:
            raise negative_frame(number)
        frame = self.stack.frame(number)
        if frame is not None:
            return frame
        count = self.stack.count
        message = f"{self.id} has {count} frame{'' if count == 1 else 's'}, no frame {number}"
        raise UnknownItem(message, kind="no_frame", hint=f"the last one ends because: {self.end.message}")

    def __getitem__(self, name: object) -> NoReturn:
        raise TypeError(f"a wave has frames, and these have variables: frame(0)[{name!r}]")

    def __iter__(self) -> Iterator[Frame]:
        number = 0
        while (frame := self.stack.frame(number)) is not None:
            yield frame
            number += 1

    def call(self, level: int) -> tuple[Frame, ...]:
        """Return the frames of a call, 0 for the innermost one: inlined functions first; none without such a call."""
        return self.stack.call(level)

    @property
    def end(self) -> End:
        """Why there are no further frames."""
        return self.stack.end

    def forget(self) -> None:
        """Give back the memory of the frames, which the next question finds again."""
        self._stack = None


# --- Traps --------------------------------------------------------------------------------------------------------

S_TRAP, S_TRAP_GFX11 = 0xBF920000, 0xBF900000
"""SOPP instructions 18, and from GFX11 on 16, whose low 16 bits are the number of the trap."""
TRAP_SIZE = 4


@frozen
class Trap:
    """A trap instruction at, or just before, the place where a wave has stopped."""

    number: int
    address: int
    meaning: str


def trap_at(frame: Frame) -> Trap | None:
    """Return the trap that the innermost frame of a wave has stopped at; None where there is no such instruction."""
    code, pc = frame.code, frame.pc
    processor = processor_named(frame.target.processor)
    if frame.number or code is None or pc is None or processor is None:
        return None
    encoding = S_TRAP_GFX11 if processor.major >= 11 else S_TRAP
    for address in (pc, pc - TRAP_SIZE):  # a handler may have moved the program counter on
        if not code.holds(address):
            continue
        try:
            word = int.from_bytes(code.file.image.read(code.in_file(address), TRAP_SIZE), "little")
        except DwarfGpuError:
            continue
        if word & 0xFFFF0000 == encoding:
            number = word & 0xFF
            trap = code.file.traps.get(number, UNKNOWN_TRAP)
            return Trap(number, address, ": ".join(filter(None, (trap.meaning, _trap_inputs(trap, frame)))))
    return None


def _trap_inputs(trap: TrapMeaning, frame: Frame) -> str:
    """Return what the handler of a trap is given: v0 of the active lanes, and the queue in s[0:1]; "" for nothing."""
    vector, low, high = (_register(frame, name) for name in ("v0", "s0", "s1"))
    lanes = lanes_in(frame.active_mask or 0)
    values = [] if vector is None else [vector >> 32 * lane & 0xFFFFFFFF for lane in lanes]
    return trap_inputs(trap, values, None if low is None or high is None else high << 32 | low)


def _register(frame: Frame, name: str) -> int | None:
    register, wave = frame.target.register_named(name), frame.wave
    try:
        if register is None or wave is None:
            return None
        return int.from_bytes(frame.backend.read_register(register, wave.index, None), "little")
    except DwarfGpuError:
        return None
