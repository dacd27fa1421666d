"""Waves of a machine that stands still (threads of a host program): their lanes and their frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.errors import UsageError
from dwarfgpu.program.stack.call_stack import negative_frame
from dwarfgpu.program.stack.frame import Frame, frames_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.cfi.unwind import End
    from dwarfgpu.program.stack.execution import Execution
    from dwarfgpu.program.stack.stopped import Stopped

MAX_FRAMES = 10_000


@frozen
class Lane:
    """One lane of a wave."""

    number: int
    is_active: bool | None
    """Whether it executes the code where the wave stands; None where that is not known."""


class Wave:
    """One wave, or one thread of a host program."""

    def __init__(self, state: Execution, stopped: Stopped, index: int) -> None:
        self.state = state
        self.stopped = stopped
        self.index = index
        self._frames: list[Frame] = []
        self._starts: list[int] = []
        """Of each call that was found the number of its first frame."""
        self._changes = stopped.machine.changes
        """Up to which write the frames hold."""

    def __repr__(self) -> str:
        return f"Wave({self.id!r})"

    @property
    def id(self) -> str:
        """What the machine calls it."""
        return self.stopped.machine.ids[self.index]

    @property
    def pc(self) -> int | None:
        """Where it stands."""
        return self.stopped.machine.program_counter(self.index)

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """Its lanes, active or not."""
        mask = self.frame(0).active_mask
        return tuple(
            Lane(number, None if mask is None else bool(mask >> number & 1))
            for number in range(self.state.target.lane_count)
        )

    # --- Frames ---------------------------------------------------------------------------------------------------

    def frames(self) -> tuple[Frame, ...]:
        """Its frames, innermost first; functions that were inlined have frames of their own."""
        return tuple(self)

    def frame(self, number: int = 0) -> Frame:
        """The frame with a number, 0 for the innermost one."""
        if number < 0:
            raise negative_frame(number)
        found = self._at(number)
        if found is not None:
            return found
        count = len(self._frames)
        message = f"{self.id} has {count} frame{'' if count == 1 else 's'}, no frame {number}"
        raise UsageError(message, kind="no_frame", hint=f"the last one ends because: {self.end.message}")

    def __iter__(self) -> Iterator[Frame]:
        index = 0
        while (found := self._at(index)) is not None:
            yield found
            index += 1

    def _at(self, index: int) -> Frame | None:
        """The frame with a number."""
        self._refresh()
        while index >= len(self._frames):
            if not self._find():
                return None
        return self._frames[index]

    def call(self, level: int) -> tuple[Frame, ...]:
        """The frames of a call, 0 for the innermost one: those of functions inlined into it first; none without it."""
        self._refresh()
        while level >= len(self._starts):
            if not self._find():
                return ()
        end = self._starts[level + 1] if level + 1 < len(self._starts) else None
        return tuple(self._frames[self._starts[level] : end])

    def _refresh(self) -> None:
        """Find all frames again when something has been written since."""
        if self._changes != self.stopped.machine.changes:
            self._changes = self.stopped.machine.changes
            self._frames.clear()
            self._starts.clear()

    def _find(self) -> bool:
        """Find the frames of one more call; whether there was one."""
        physical = self.stopped.stack(self.index, self.state.rules).at(len(self._starts))
        if physical is None:
            return False
        self._starts.append(len(self._frames))
        self._frames += frames_at(
            self.state, physical.code, physical.place, len(self._frames), physical, self
        )
        return True

    @property
    def end(self) -> End:
        """Why there are no further frames."""
        return self.stopped.stack(self.index, self.state.rules).end

    def forget(self) -> None:
        """Give back the frames, which are found again when somebody asks."""
        self._frames.clear()
        self._starts.clear()
        self.stopped.forget(self.index)
