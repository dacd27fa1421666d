"""Every lane of a wave: whether it is active, where it stands, and which work-item it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.stack.call_stack import negative_frame
from dwarfgpu.program.stack.lane_state import LanePc, Simt
from dwarfgpu.program.stack.wave_positions import place_of, waves_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.program.code.code_lookup import CallFrame
    from dwarfgpu.program.stack.call_stack import Stack, StackFrame
    from dwarfgpu.program.stack.stopped import Stopped
    from dwarfgpu.program.stack.wave_positions import WavePlace

ACTIVE, INACTIVE, UNUSED, UNKNOWN = "active", "inactive", "unused", "unknown"
"""What a lane is: it executes; it does not now; its work-group is partial and it has no work-item; nobody knows."""


@frozen
class LaneStatus:
    """One lane of a wave."""

    number: int
    state: str
    """`ACTIVE`, `INACTIVE`, `UNUSED` or `UNKNOWN`."""
    work_item: tuple[int, int, int] | None = None
    """Its position in the work-group, if the dispatch is known."""
    pc: int | None = None
    """Where it stands; None if it was never active, or if that is not known."""
    frame: int | None = None
    """The number of the frame in which it stands: an outer one if it was not active when the wave came into the inner
    ones, or is not in a call that is inlined."""
    call: CallFrame | None = None
    """The function, and where in it."""
    error: DwarfGpuError | None = None
    """Why it is not known where it stands."""

    @property
    def place(self) -> tuple[object, ...]:
        """What is equal where lanes are in the same state at the same place."""
        return self.state, self.pc, self.frame, None if self.error is None else str(self.error)


@frozen
class LanePlace:
    """Where a lane stands."""

    pc: int | None = None
    frame: int | None = None
    call: CallFrame | None = None
    error: DwarfGpuError | None = None


@frozen
class Lanes:
    """The lanes of a wave, seen from one of its frames."""

    wave: str
    where: WavePlace
    frame: int
    """The number of the frame, inlined calls counted, as users do."""
    pc: int
    call: CallFrame
    lane_count: int
    mask: int | None
    """The active lanes."""
    iterations: int
    by_attribute: bool
    """Whether DW_AT_LLVM_lane_pc says where lanes stand; else it is where the wave does (A.3.3.5 (5))."""
    lanes: tuple[LaneStatus, ...]
    problems: tuple[DwarfGpuError, ...] = ()
    """What is not known, and why."""


def lanes_of_wave(stopped: Stopped, wave: int, frame: int = 0) -> Lanes:
    """Where the lanes of a wave stand; ``frame`` is a number as backtraces have it."""
    return LaneFinder(stopped).lanes(wave, frame)


class LaneFinder:
    """Finds where lanes of waves stand."""

    def __init__(self, stopped: Stopped) -> None:
        self.stopped = stopped
        self.machine = waves_of(stopped)

    def lanes(self, wave: int, number: int = 0) -> Lanes:
        """The lanes of a wave, seen from a frame."""
        stack = self.stopped.stack(wave)
        frame, depth = self._frame_numbered(stack, number, self.machine.ids[wave])
        chain = self.stopped.loaded.calls_at(frame.place)
        inner = len(chain) - 1 == depth
        simt = Simt(frame, depth)
        problems: list[DwarfGpuError] = []
        where = place_of(self.machine, wave)
        problems += where.problems
        count = simt.lane_count
        mask = None
        try:
            mask = int(simt.active_mask())
        except DwarfGpuError as error:
            problems.append(error)
        iterations = 1
        try:
            iterations = simt.iterations()
        except DwarfGpuError as error:
            problems.append(error)
        finder = _LanePlacer(stack, frame, None if inner else depth, count)
        places = finder.places(simt, mask, problems)
        lanes = []
        for lane in range(count):
            item = where.item(lane)
            state = UNKNOWN if mask is None else ACTIVE if mask >> lane & 1 else INACTIVE
            if where.used is not None and lane >= where.used:
                lanes.append(LaneStatus(lane, UNUSED))
                continue
            at = places[lane]
            lanes.append(LaneStatus(lane, state, item, at.pc, at.frame, at.call, at.error))
        return Lanes(
            self.machine.ids[wave],
            where,
            number,
            frame.pc,
            chain[len(chain) - 1 - depth],
            count,
            mask,
            iterations,
            simt.says_places,
            tuple(lanes),
            tuple(problems),
        )

    def _frame_numbered(self, stack: Stack, number: int, wave: str) -> tuple[StackFrame, int]:
        """The frame that has a number, and which of the calls inlined into it is meant."""
        if number < 0:
            raise negative_frame(number)
        first = 0
        for frame in stack:
            count = len(self.stopped.loaded.calls_at(frame.place))
            if number < first + count:
                return frame, count - 1 - (number - first)
            first += count
        message = f"there is no frame {number}: wave {wave} has {first}"
        raise UsageError(message, hint=f"{stack.end.message}; `dwarfgpu bt` shows all")


class _LanePlacer:
    """Finds where the lanes of one wave stand, in a frame or in those around it."""

    def __init__(self, stack: Stack, frame: StackFrame, depth: int | None, count: int) -> None:
        self.stack = stack
        self.frame = frame
        self.depth = depth
        """Which of the inlined calls is shown; None is the innermost at each place."""
        self.count = count

    def places(self, simt: Simt, mask: int | None, problems: list[DwarfGpuError]) -> list[LanePlace]:
        """Where each lane stands; nowhere where it was never active."""
        found = [LanePlace()] * self.count
        left = set(range(self.count))
        first = sum(len(self._chain(each)) for each in self._inner_frames())
        for frame in self._outwards():
            try:
                pcs = (simt if frame is self.frame else Simt(frame)).lane_pcs()
            except DwarfGpuError as error:
                problems.append(error)
                if frame is not self.frame or mask is None:
                    break
                pcs = tuple(  # an active lane stands where the wave does, whatever else is not known
                    LanePc(frame.pc) if mask >> lane & 1 else LanePc(None, error)
                    for lane in range(self.count)
                )
            for lane in sorted(left):
                if lane >= len(pcs):
                    continue
                one = pcs[lane]
                if one.pc is not None:
                    depth, call = self._call(frame, one.pc)
                    found[lane] = LanePlace(one.pc, first + depth, call)
                elif one.error is not None:
                    found[lane] = LanePlace(error=one.error)
                else:
                    continue
                left.discard(lane)
            if not left:
                break
            first += len(self._chain(frame))
        return found

    def _inner_frames(self) -> Iterator[StackFrame]:
        for frame in self.stack:
            if frame is self.frame:
                return
            yield frame

    def _outwards(self) -> Iterable[StackFrame]:
        """The frame and its callers: those of lanes that were not active when it was called."""
        level = self.frame.level
        while (frame := self.stack.at(level)) is not None:
            yield frame
            level += 1

    def _chain(self, frame: StackFrame) -> tuple[CallFrame, ...]:
        return self.stack.loaded.calls_at(frame.place)

    def _call(self, frame: StackFrame, pc: int) -> tuple[int, CallFrame]:
        """The function that a lane stands in, and which of the calls inlined there that is, 0 for the innermost one.

        A lane need not be in the calls that the wave is in: it counts for the innermost one that both are in. In a
        caller the wave's place is in the call before the address.
        """
        ours = self._chain(frame)
        theirs = self.stack.loaded.calls_at(frame.place if pc == frame.pc else pc)
        shown = len(theirs) - 1
        if self.depth is not None and frame is self.frame:
            shown = min(shown, self.depth)
        shared = 0
        for one, other in zip(reversed(ours), reversed(theirs), strict=False):
            if shared and one.offset != other.offset:
                break
            shared += 1
        return len(ours) - 1 - min(shown, shared - 1), theirs[len(theirs) - 1 - shown]
