"""The lanes of a wave: whether each is active, its place in the code, and its work-item."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, UsageError, noting
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.program.frames.frame import Frame, Stack, negative_frame
from dwarfgpu.program.frames.lane_state import Simt
from dwarfgpu.program.frames.wave_positions import InDispatch, place_of, waves_of

if TYPE_CHECKING:
    from dwarfgpu.machines.protocol import WaveStop
    from dwarfgpu.program.code.scopes import SourceCall
    from dwarfgpu.states.stopped import Stopped

ACTIVE, INACTIVE, UNUSED, UNKNOWN = "active", "inactive", "unused", "unknown"
"""The states of a lane: it executes; it waits; it has no work-item, because its work-group is partial; not known."""


@frozen
class LaneStatus:
    """One lane of a wave."""

    number: int
    state: str
    """`ACTIVE`, `INACTIVE`, `UNUSED` or `UNKNOWN`."""
    work_item: tuple[int, int, int] | None = None
    """The position of its work-item in the work-group, if the dispatch is known."""
    pc: int | None = None
    """Its program counter; None if the lane was never active, or if its place is not known."""
    frame: int | None = None
    """The number of its frame: an outer frame if the lane was not active when the inner functions were called, or is
    not in the inlined call."""
    call: SourceCall | None = None
    """The function, and the position in it."""
    error: DwarfGpuError | None = None
    """Why its place is not known."""

    @property
    def place(self) -> tuple[object, ...]:
        """A key that is equal for lanes in the same state at the same place."""
        return self.state, self.pc, self.frame, None if self.error is None else str(self.error)


@frozen
class Lanes:
    """The lanes of a wave, seen from one of its frames."""

    wave: str
    where: InDispatch
    frame: int
    """The number of the frame as users count it, inlined calls included."""
    pc: int
    call: SourceCall
    lane_count: int
    mask: int | None
    """The active lanes."""
    iterations: int
    by_attribute: bool
    """Whether DW_AT_LLVM_lane_pc gives the places of lanes; else all are at the place of the wave (A.3.3.5 (5))."""
    lanes: tuple[LaneStatus, ...]
    problems: tuple[DwarfGpuError, ...] = ()
    """The errors that left something unknown."""
    stop: WaveStop | None = None
    """Why the wave has stopped; None if the machine does not know."""

    def has_place(self, lane: LaneStatus) -> bool:
        """Return whether the place of a lane is known: that of an inactive one only by DW_AT_LLVM_lane_pc."""
        return self.by_attribute or lane.state in (ACTIVE, UNKNOWN)


def lanes_of_wave(stopped: Stopped, wave: int, frame: int = 0) -> Lanes:
    """Return the lanes of a wave and their places; ``frame`` is the number of a frame in the backtrace."""
    machine = waves_of(stopped)
    stack = stopped.stack(wave)
    seen_from = _frame_numbered(stack, frame, machine.ids[wave])
    simt = Simt(seen_from)
    where = place_of(machine, wave)
    problems = [*where.problems]
    count = simt.lane_count
    mask = None
    try:
        mask = int(simt.active_mask())
    except DwarfGpuError as error:
        problems.append(error)
    iterations = 1
    with noting(problems.append):
        iterations = simt.iterations()
    places = _places(stack, seen_from, simt, mask, problems)
    lanes = []
    for lane in range(count):
        state = UNKNOWN if mask is None else ACTIVE if mask >> lane & 1 else INACTIVE
        if where.used is not None and lane >= where.used:
            lanes.append(LaneStatus(lane, UNUSED))
        else:
            lanes.append(evolve(places[lane], state=state, work_item=where.item(lane)))
    return Lanes(
        machine.ids[wave],
        where,
        frame,
        simt.pc,
        seen_from.call,
        count,
        mask,
        iterations,
        simt.says_places,
        tuple(lanes),
        tuple(problems),
        stop=machine.stop_of(wave),
    )


def _frame_numbered(stack: Stack, number: int, wave: str) -> Frame:
    if number < 0:
        raise negative_frame(number)
    frame = stack.frame(number)
    if frame is not None:
        return frame
    message = f"there is no frame {number}: wave {wave} has {stack.count}"
    raise UsageError(message, hint=f"{stack.end.message}; `dwarfgpu bt` shows all")


def _places(
    stack: Stack, seen_from: Frame, simt: Simt, mask: int | None, problems: list[DwarfGpuError]
) -> list[LaneStatus]:
    """Return the place of each lane, in the frame or in a caller; None for a lane that was never active."""
    count = simt.lane_count
    places = [LaneStatus(lane, UNKNOWN) for lane in range(count)]
    left = set(range(count))
    level = seen_from.level
    while left and (frames := stack.call(level)):
        is_first = frames[-1] is seen_from.outer
        pcs, error = (simt if is_first else Simt(frames[0])).known_places(mask if is_first else None)
        if error is not None:
            problems.append(error)
            if not is_first or mask is None:
                break
        for lane in sorted(left):
            if lane >= len(pcs):
                continue
            at = pcs[lane]
            if at.pc is not None:
                frame = seen_from if is_first else frames[0]
                with suppress(DwarfGpuError):  # without it, only outer functions may know the lane
                    frame = frame.in_lane(lane)
                places[lane] = evolve(places[lane], pc=at.pc, frame=frame.number, call=frame.call)
            elif at.error is not None:
                places[lane] = evolve(places[lane], error=at.error)
            else:
                continue
            left.discard(lane)
        level += 1
    return places
