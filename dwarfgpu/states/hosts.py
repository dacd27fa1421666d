"""The hosts of scripts, which tell them what is selected: a program, a wave, a frame and a lane.

A host is a debugger, or a program with an attached machine, so that a script runs unchanged in GDB, in another
debugger and on a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

from dwarfgpu.errors import MissingContext, UsageError
from dwarfgpu.lanes import first_lane
from dwarfgpu.program.frames.reasons import Unavailable

if TYPE_CHECKING:
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.states.program import Attached


class Host(Protocol):
    """The provider of the selection. Each method may raise `UsageError`, which says what to do first."""

    def attached(self) -> Attached:
        """Return the program with its machine."""

    def waves(self) -> Sequence[Wave]:
        """Return all waves, or all threads of a program without waves."""

    def wave(self) -> Wave:
        """Return the selected wave or thread."""

    def frame(self) -> Frame:
        """Return the selected frame, whose `selected_lane` is the selected lane."""


class Chosen:
    """A program with its machine and a selection: the host of scripts that run without a debugger."""

    def __init__(self, attached: Attached, *, wave: int | str = 0, frame: int = 0, lane: int | None = None) -> None:
        self._attached = attached
        self._wave: int | str = wave
        self._frame = frame
        self._lane = lane

    def select(self, *, wave: int | str | None = None, frame: int | None = None, lane: int | None = None) -> None:
        """Select another wave, frame or lane. Selecting a wave selects its innermost frame and first active lane."""
        if wave is not None:
            self._wave, self._frame, self._lane = wave, 0, None
        self._frame = self._frame if frame is None else frame
        self._lane = self._lane if lane is None else lane

    def attached(self) -> Attached:
        return self._attached

    def waves(self) -> Sequence[Wave]:
        return list(self._attached)

    def wave(self) -> Wave:
        return self._attached[self._wave]

    def frame(self) -> Frame:
        return in_lane(self.wave().frame(self._frame), self._lane)


def in_lane(frame: Frame, lane: int | None) -> Frame:
    """Return a frame as its selected lane sees it, by default the first active one.

    A lane that was not active when the function was called sees it as the wave does.
    """
    if not frame.has_lanes:
        return frame
    if lane is None:
        mask = frame.active_mask or 1
        lane = first_lane(mask)
    frame.lane(lane)  # which raises an error for a lane that does not exist
    with suppress(Unavailable, MissingContext):
        frame = frame.in_lane(lane)
    frame.selected_lane = lane
    return frame


_current: list[Host] = []


def use(host: Host | None) -> None:
    """Set the host of scripts; None removes it."""
    _current[:] = [] if host is None else [host]


@contextmanager
def using(host: Host) -> Iterator[None]:
    """Set the host of scripts for the duration of a ``with`` block."""
    before = list(_current)
    use(host)
    try:
        yield
    finally:
        _current[:] = before


def is_set() -> bool:
    """Return whether a host is set."""
    return bool(_current)


def current() -> Host:
    """Return the host that is set; raise an error if there is none."""
    if not _current:
        raise UsageError(
            "no program is selected",
            kind="no_host",
            hint="run the script in GDB, or attach a snapshot or a core file: "
            "dwarfgpu.gdb.use(dwarfgpu.open(FILE).attach(STATE))",
        )
    return _current[0]
