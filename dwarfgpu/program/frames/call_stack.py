"""The frames of a thread that is stopped, numbered once for all who ask.

The unwinder finds the activations; the debugging information tells which functions each of them executes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.cfi.activation import Activation, CallStack, End, Parted, Thread
from dwarfgpu.errors import MissingContext, UsageError
from dwarfgpu.program.frames.frame import Frame, frames_at
from dwarfgpu.program.frames.lane_state import LanePc, Simt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.bits import Bits
    from dwarfgpu.machines.protocol import WaveBackend
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.states.stopped import Stopped


class Stack:
    """The frames of one thread (wave) of a machine, found when they are asked for.

    Given an ascending array of waves at one place, it is the innermost call of all of them. What depends on a caller
    raises `Parted` then, because each has its own.
    """

    def __init__(self, stopped: Stopped, wave: Bits = 0, *, owner: Wave | None = None) -> None:
        self.lane: int | None = None
        """The lane whose view it is; None where it is that of the wave."""
        self.wave_stack: Stack = self
        """The frames as the wave has them."""
        self.state = stopped.state
        self.stopped = stopped
        self.machine = stopped.machine
        self.wave: Any = wave
        """Its index, or an array of them."""
        self.owner = owner
        """The wave whose stack it is, where it is one."""
        self.max_frames = self.state.max_frames
        target = self.machine.target
        register = self.machine.register
        self.thread = Thread(target, self.state.rules, self.machine, stopped.loaded, wave, register=register)
        self._begin()

    def _begin(self) -> None:
        """Forget all frames, which the next question finds again."""
        place, is_in_call = _place_of(self.machine, self.wave), self.stopped.is_in_call
        self._activations = CallStack(
            self.thread, place, self.max_frames, is_in_call=is_in_call, tail_calls=self.state.tail_calls
        )
        self._calls: list[tuple[Frame, ...]] = []
        self._frames: list[Frame] = []
        self._lane_pcs: dict[int, tuple[LanePc, ...] | None] = {}
        self._of_lanes: dict[int, LaneStack] = {}
        self._changes = self.machine.changes
        """The number of writes before the frames were found."""

    @property
    def activations(self) -> CallStack:
        """The registers of each call, without asking the debugging information which function it is."""
        self._refresh()
        return self._activations

    def _refresh(self) -> None:
        """Forget the frames when something has been written since, because callers may be others now."""
        if self._changes != self.machine.changes:
            self._begin()

    # --- Frames as users count them -------------------------------------------------------------------------------

    @property
    def top(self) -> Frame:
        """The innermost frame."""
        return self.call(0)[0]

    def frame(self, number: int) -> Frame | None:
        """Return the frame with a number, 0 for the innermost one; None when the stack ends before."""
        self._refresh()
        while number >= len(self._frames):
            if not self.call(len(self._calls)):
                return None
        return self._frames[number]

    @property
    def count(self) -> int:
        """How many frames there are."""
        for _frame in self:
            pass
        return len(self._frames)

    # --- Calls ----------------------------------------------------------------------------------------------------

    def call(self, level: int) -> tuple[Frame, ...]:
        """Return the frames of a call, 0 for the innermost one; none when the stack ends before.

        The functions that are inlined come first, the function whose code it is last.
        """
        if level and not isinstance(self.wave, int):
            raise Parted
        activations = self.activations
        while level >= len(self._calls):
            activation = activations.at(len(self._calls))
            if activation is None:
                return ()
            frames = self._frames_of(activation)
            self._calls.append(frames)
            self._frames += frames
        return self._calls[level]

    def _frames_of(self, activation: Activation) -> tuple[Frame, ...]:
        """Return the frames of the next call, which follow those that are known."""
        place = activation.place
        return frames_at(self.state, self.state.loaded.at(place), place, len(self._frames), self, activation)

    def at(self, level: int) -> Frame | None:
        """Return the function whose code a call executes, 0 for the innermost one; None when the stack ends before."""
        frames = self.call(level)
        return frames[-1] if frames else None

    # --- Lanes ----------------------------------------------------------------------------------------------------

    def of_lane(self, lane: int) -> Stack:
        """Return the frames as a lane sees them."""
        self._refresh()
        stack = self._of_lanes.get(lane)
        if stack is None:
            stack = self._of_lanes[lane] = LaneStack(self, lane)
        return stack

    def lane_pcs(self, level: int) -> tuple[LanePc, ...] | None:
        """Return where the lanes are in a call; None where no function says so and all are where the wave is."""
        self._refresh()
        if level not in self._lane_pcs:
            frame = self.call(level)[0]
            simt = Simt(frame)
            self._lane_pcs[level] = simt.known_places(frame.active_mask)[0] if simt.says_places else None
        return self._lane_pcs[level]

    def __iter__(self) -> Iterator[Frame]:
        """Return the functions whose code the calls execute, innermost first."""
        level = 0
        while (frame := self.at(level)) is not None:
            yield frame
            level += 1

    @property
    def end(self) -> End:
        """Why there are no further frames."""
        activations = self.activations
        for _activation in activations:
            pass
        if activations.end is None:  # it has one when there is no next frame
            raise AssertionError(self)
        return activations.end


class LaneStack(Stack):
    """The frames of a wave as one of its lanes sees them, with numbers of their own.

    "If the current lane is specified and the architecture program location LPC computed by the DW_AT_LLVM_lane_pc
    attribute for the current lane is not the undefined location description, it must be LPC" (A.2.5.1, current program
    location). A call that the lane was not active in is shown as the wave has it.
    """

    lane: int

    def __init__(self, wave_stack: Stack, lane: int) -> None:  # it shares all else with the wave
        self.wave_stack = wave_stack
        self.lane = lane
        self.stopped, self.state = wave_stack.stopped, wave_stack.state
        self.machine, self.thread = wave_stack.machine, wave_stack.thread
        self.wave, self.owner, self.max_frames = wave_stack.wave, wave_stack.owner, wave_stack.max_frames
        self._begin()

    def _begin(self) -> None:
        super()._begin()
        self._activations = self.wave_stack.activations

    def _frames_of(self, activation: Activation) -> tuple[Frame, ...]:
        same = self.wave_stack.call(activation.level)
        pcs = self.wave_stack.lane_pcs(activation.level)
        at = None if pcs is None or not 0 <= self.lane < len(pcs) else pcs[self.lane].pc
        place = activation.place if at is None or at == activation.pc else at
        if place == activation.place and same[0].number == len(self._frames):
            return same
        return frames_at(self.state, self.state.loaded.at(place), place, len(self._frames), self, activation)

    def of_lane(self, lane: int) -> Stack:
        return self.wave_stack.of_lane(lane)

    def lane_pcs(self, level: int) -> tuple[LanePc, ...] | None:
        return self.wave_stack.lane_pcs(level)


def negative_frame(number: int) -> UsageError:
    """Return the error of a frame with a negative number."""
    return UsageError(f"there is no frame {number}", kind="no_frame", hint="frames count from 0, the innermost")


def _place_of(machine: WaveBackend, wave: Any) -> int:
    """Return the program location of a wave, or of several at one place."""
    first = wave if isinstance(wave, int) else int(wave[0])
    pc = machine.program_counter(first)
    if pc is None:
        raise unknown_place(machine.ids[first])
    return pc


def unknown_place(wave: str) -> MissingContext:
    """Return the error of a wave whose place is not known."""
    return MissingContext("pc", f"the place of wave {wave} is not known: it has no program counter")
