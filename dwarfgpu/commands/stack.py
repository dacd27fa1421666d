"""Commands about call frames: ``backtrace``, ``frame``, ``up``, ``down``, ``info frame``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import UsageError
from dwarfgpu.render.variables import frame_text

if TYPE_CHECKING:
    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.commands.words import Arguments


def show_frame(debugger: Debugger) -> None:
    """The frame that is looked at, on one line, and its line of the source."""
    debugger.output.line(frame_text(debugger.frame, debugger.output.style))


def frame(debugger: Debugger, arguments: Arguments) -> None:
    """Frames are numbered from 0, the innermost one; functions that were inlined have frames of their own.
    `frame function NAME` looks at the nearest frame of that function.
    """
    words = arguments.words
    if not words:
        show_frame(debugger)
        return
    if words[0] in ("function", "level") and len(words) > 1:
        words = words[1:]
        if arguments.words[0] == "function":
            found = next((each for each in debugger.wave if each.name == words[0]), None)
            if found is None:
                raise UsageError(f"no frame is of a function {words[0][:60]}", kind="no_frame")
            words = [str(found.number)]
    if not words[0].isdecimal():
        raise arguments.wrong(f"takes a number, and {words[0][:40]!r} is none")
    debugger.select_frame(int(words[0]))
    show_frame(debugger)


def up(debugger: Debugger, arguments: Arguments) -> None:
    """Or N frames outwards."""
    _move(debugger, arguments.integer(), 1)


def down(debugger: Debugger, arguments: Arguments) -> None:
    """Or N frames inwards."""
    _move(debugger, arguments.integer(), -1)


def _move(debugger: Debugger, count: int | None, direction: int) -> None:
    last = len(debugger.wave.frames()) - 1
    wanted = debugger.frame_number + direction * (1 if count is None else count)
    found = max(0, min(last, wanted))
    if found == debugger.frame_number and wanted != found:
        which = ("Bottom (innermost)", "Initial (outermost)")[wanted > 0]
        raise UsageError(
            f"{which} frame selected; you cannot go {'up' if wanted > 0 else 'down'}.", kind="no_frame"
        )
    debugger.select_frame(found)
    show_frame(debugger)
