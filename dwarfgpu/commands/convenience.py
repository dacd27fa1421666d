"""The convenience variables of the debugger: those that users set, and those that say what is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.program.variables.remembered import READ_ONLY, Remembered

if TYPE_CHECKING:
    from dwarfgpu.commands.debugger import Debugger


def remembered(debugger: Debugger) -> Remembered:
    """The values that a debugger remembers."""
    found = debugger.state_of(Remembered)
    found.computed = lambda: looked_at(debugger)
    return found


def looked_at(debugger: Debugger) -> dict[str, str | int]:
    """``$_thread``, ``$_wave_id``, ``$_lane_count``, ROCgdb's positions; and ``$_shell_exitcode``."""
    found: dict[str, str | int] = {}
    if debugger.shell_status is not None:
        found["_shell_exitcode"] = debugger.shell_status
    if debugger.attached is None or debugger.wave_number is None:
        return found
    from dwarfgpu.commands.waves import positions

    has_lanes = debugger.attached.has_waves
    return found | {
        "_thread": debugger.wave_number + 1,
        "_wave_id": debugger.wave.id,
        "_lane_count": debugger.attached.state.target.lane_count if has_lanes else 0,
        **positions(debugger),
    }


def names(debugger: Debugger) -> list[str]:
    """The names of all that there are, in order."""
    return sorted({*READ_ONLY, *debugger.state_of(Remembered).variables})
