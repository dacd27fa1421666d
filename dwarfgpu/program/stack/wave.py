"""Waves of a stopped machine (threads of a host program): their lanes and their frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.notebooks import ShownInNotebooks
from dwarfgpu.program.stack.call_stack import Stack, negative_frame
from dwarfgpu.program.stack.selectors import lane_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cfi.activation import End
    from dwarfgpu.program.stack.execution import Execution
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.stack.stopped import Stopped


@frozen
class Lane:
    """One lane of a wave."""

    number: int
    is_active: bool | None
    """Whether it executes the code at the place of the wave; None where that is not known."""


class Wave(ShownInNotebooks):
    """One wave, or one thread of a host program."""

    def __init__(self, state: Execution, stopped: Stopped, index: int) -> None:
        self.state = state
        self.stopped = stopped
        self.index = index
        self._stack: Stack | None = None

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
    def stop_reason(self) -> str | None:
        """Why it has stopped, in the words of ROCgdb's library; None where the machine does not know."""
        return self.stopped.machine.stop_text(self.index)

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """Its lanes, active or not."""
        mask = self.frame(0).active_mask
        return tuple(
            Lane(number, None if mask is None else bool(mask >> number & 1))
            for number in range(self.state.target.lane_count)
        )

    # --- Frames ---------------------------------------------------------------------------------------------------

    def seen_by(self, lane: int | None) -> Wave:
        """Return the wave with the frames that a lane sees, which are at the places of the lane (A.2.5.1)."""
        if lane is None:
            return self
        view = Wave(self.state, self.stopped, self.index)
        view._stack = self.stack.of_lane(lane_in(self.state.target, lane))
        return view

    @property
    def stack(self) -> Stack:
        """Its calls."""
        if self._stack is None:
            self._stack = Stack(self.stopped, self.index, max_frames=self.state.max_frames, owner=self)
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
        raise UsageError(message, kind="no_frame", hint=f"the last one ends because: {self.end.message}")

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
