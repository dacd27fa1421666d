"""GDB as the host of scripts: the process, the thread, the frame and the lane that are selected in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gdb

from dwarfgpu.backends.gdb.process import is_wave, selected_frame, threads_of
from dwarfgpu.errors import UsageError
from dwarfgpu.gdbplugin.processes import Processes
from dwarfgpu.program.host import in_lane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.program.program import Attached
    from dwarfgpu.program.variables.frame import Frame
    from dwarfgpu.program.variables.wave import Wave

_LANE = "_lane"
"""The convenience variable that says which lane is selected (ROCgdb manual); elsewhere the user may set it."""
_INNER = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)
"""Frames that GDB shows beside those of calls: of inlined functions, and made-up ones of calls that were jumps."""


class GdbHost:
    """GDB, as a `program.host.Host`."""

    def __init__(self) -> None:
        self.processes = Processes()
        self._last: tuple[Wave, int, Any, int] | None = None
        """The call that was asked for last: its wave, at how many writes, GDB's frame of it, and its level."""

    def attached(self) -> Attached:
        return self.processes.of(_thread())

    def waves(self) -> Sequence[Wave]:
        thread = _thread()
        if not is_wave(thread):
            thread = next((each for each in threads_of(thread.inferior) if is_wave(each)), thread)
        return list(self.processes.of(thread))

    def wave(self) -> Wave:
        thread = _thread()
        attached = self.processes.of(thread)
        machine: Any = attached.stopped.machine
        return attached[machine.process.threads.index(thread)]

    def frame(self) -> Frame:
        return self.frame_of(None)

    def frame_of(self, chosen: Any) -> Frame:
        """The frame of the library that a frame of GDB is; None is the selected one."""
        wave = self.wave()
        try:
            chosen = selected_frame() if chosen is None else chosen
            outside = _outside(chosen)
            level = self._level(wave, chosen)
            found = _numbered(wave, level, outside, chosen.pc())
        except gdb.error as error:
            raise UsageError(f"GDB has no frame: {error}", kind="no_frame") from None
        return in_lane(found, selected_lane())

    def _level(self, wave: Wave, frame: Any) -> int:
        """Which call a frame of GDB belongs to, 0 for the innermost one.

        Frames are not counted by their level: GDB also shows calls that were jumps, and does not show inlined functions
        at their first instruction. The count goes on from the frame that was asked for last if it passes there, so that
        whoever asks for one after the other does not wait ever longer.
        """
        changes = wave.stopped.machine.changes
        last = self._last if self._last is not None and self._last[:2] == (wave, changes) else None
        level = 0
        inner = frame.newer()
        while inner is not None:
            level += inner.type() not in _INNER
            if last is not None and inner == last[2]:
                level += last[3]
                break
            inner = inner.newer()
        self._last = wave, changes, frame, level
        return level


def gdb_host() -> GdbHost:
    """The host of this GDB."""
    if not _host:
        _host.append(GdbHost())
    return _host[0]


_host: list[GdbHost] = []


def selected_lane() -> int | None:
    """The lane that GDB has selected, if it knows lanes or somebody has said one."""
    found = gdb.convenience_variable(_LANE)
    try:
        return None if found is None else int(found)
    except (gdb.error, TypeError):  # it is void, or no number
        return None


def _thread() -> Any:
    found = gdb.selected_thread()
    if found is None:
        raise no_process()
    return found


def no_process() -> UsageError:
    """GDB has nothing that stands still."""
    return UsageError(
        "GDB has no process that could be asked",
        kind="no_process",
        hint="start the program, attach to one, or open a core file",
    )


# --- Frames -------------------------------------------------------------------------------------------------------


def _outside(frame: Any) -> int:
    """How many functions a frame of GDB is inlined into."""
    if frame.type() == gdb.TAILCALL_FRAME:
        name = frame.name() or "this function"
        raise UsageError(
            f"the frame of {name} is not there any more: it ended with a jump to its callee",
            kind="no_frame",
            hint="select another frame",
        )
    outside = 0
    while frame is not None and frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
        outside += 1
    return outside


def _numbered(wave: Wave, level: int, outside: int, pc: int) -> Frame:
    """The frame of the library: the innermost of a call first, so that what is around counts from the last."""
    found = wave.call(level)
    if not found:
        message = f"GDB's frame is call {level} of {wave.id}, and dwarfgpu finds no such call"
        raise UsageError(message, kind="no_frame", hint=f"the last one ends because: {wave.end.message}")
    if found[0].pc != pc:
        message = f"GDB's frame is at {pc:#x}, and call {level} of {wave.id} at {found[0].pc or 0:#x}"
        raise UsageError(message, kind="no_frame", hint="GDB and dwarfgpu unwind this stack differently")
    return found[max(0, len(found) - 1 - outside)]
