"""Where scripts get their program from: a debugger that has one stopped, or whoever has attached one.

A script that asks the host for the selected frame runs in GDB, in another debugger and on a snapshot unchanged.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from dwarfgpu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dwarfgpu.program.program import Attached
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.stack.wave import Wave


class Host(Protocol):
    """What a script asks. Each may raise `UsageError`, which says what to do first."""

    def attached(self) -> Attached:
        """The program with its machine."""

    def waves(self) -> Sequence[Wave]:
        """All waves; of a program without any all its threads."""

    def wave(self) -> Wave:
        """The wave or thread that is selected."""

    def frame(self) -> Frame:
        """The frame that is selected, whose `selected_lane` is the lane that is."""


class Chosen:
    """A program with its machine, and what is selected of it: a host for whoever has no debugger."""

    def __init__(
        self, attached: Attached, *, wave: int | str = 0, frame: int = 0, lane: int | None = None
    ) -> None:
        self._attached = attached
        self._wave: int | str = wave
        self._frame = frame
        self._lane = lane

    def select(
        self, *, wave: int | str | None = None, frame: int | None = None, lane: int | None = None
    ) -> None:
        """Select another wave, frame or lane. Another wave is seen from its innermost frame, in its first lane."""
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
    """A frame with the lane that is selected: without one the first that is active."""
    if not frame.has_lanes:
        return frame
    if lane is None:
        mask = frame.active_mask or 1
        lane = (mask & -mask).bit_length() - 1
    frame.lane(lane)  # which there must be
    frame.selected_lane = lane
    return frame


_current: list[Host] = []


def use(host: Host | None) -> None:
    """Say which host scripts ask; None takes the last one away."""
    _current[:] = [] if host is None else [host]


@contextmanager
def using(host: Host) -> Iterator[None]:
    """Let scripts ask a host for a while."""
    before = list(_current)
    use(host)
    try:
        yield
    finally:
        _current[:] = before


def is_set() -> bool:
    """Whether somebody has."""
    return bool(_current)


def current() -> Host:
    """The host that somebody has set."""
    if not _current:
        raise UsageError(
            "there is no program to ask about",
            kind="no_host",
            hint="run the script in GDB, or attach a snapshot or a core file: "
            "dwarfgpu.gdb.use(dwarfgpu.open(FILE).attach(STATE))",
        )
    return _current[0]
