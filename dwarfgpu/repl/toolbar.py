"""The line at the bottom: which wave, lane and frame is looked at, and where that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.render.layout import shown

if TYPE_CHECKING:
    from dwarfgpu.commands.debugger import Debugger

SEPARATOR = " | "


def toolbar(debugger: Debugger, width: int) -> str:
    """One line that fits into a width."""
    text = f" {SEPARATOR.join(_parts(debugger))} "
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _parts(debugger: Debugger) -> list[str]:
    if debugger.program is None:
        return ["no file"]
    file = shown(debugger.program.file.name).rpartition("/")[2]
    if debugger.attached is None:
        return [file, "no machine"]
    parts = []
    try:
        noun = "wave" if debugger.attached.has_waves else "thread"
        number = 0 if debugger.wave_number is None else debugger.wave_number
        parts.append(f"{noun} {number + 1} of {len(debugger.attached)} ({shown(debugger.wave.id)})")
        if debugger.lane is not None:
            parts.append(f"lane {debugger.lane}")
        frame = debugger.frame
        parts.append(f"frame {debugger.frame_number}")
        source = frame.call.source
        where = shown(frame.name or "??")
        if source is not None and source.file is not None:
            where += f" at {shown(source.file).rpartition('/')[2]}:{source.line}"
        parts.append(where)
    except DwarfGpuError as error:
        parts.append(error.what)
    return parts
