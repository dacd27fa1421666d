"""The line at the bottom: which wave, lane and frame is looked at, and where that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.render.layout import shown
from dwarfgpu.repl.runner import errors_are_ours

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.commands.debugger import Debugger

SEPARATOR = " | "


def toolbar(debugger: Debugger, width: int) -> str:
    """One line that fits into a width."""
    parts: list[str] = []
    try:
        with errors_are_ours():
            for part in _parts(debugger):
                parts.append(part)  # noqa: PERF402 (those before an error are shown)
    except DwarfGpuError as error:
        parts.append(error.what)
    text = f" {SEPARATOR.join(parts)} "
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _parts(debugger: Debugger) -> Iterator[str]:
    if debugger.program is None:
        yield "no file"
        return
    if debugger.attached is None:
        yield shown(debugger.program.file.name).rpartition("/")[2]
        yield "no machine"
        return
    noun = "wave" if debugger.attached.has_waves else "thread"
    number = 0 if debugger.wave_number is None else debugger.wave_number
    yield f"{noun} {number + 1} of {len(debugger.attached)} ({shown(debugger.wave.id)})"
    if debugger.lane is not None:
        yield f"lane {debugger.lane}"
    frame = debugger.frame
    yield f"frame {debugger.frame_number}"
    source = frame.call.source
    where = shown(frame.name or "??")
    if source is not None and source.file is not None:
        where += f" at {shown(source.file).rpartition('/')[2]}:{source.line}"
    yield where
