"""Commands that show waves, lanes and work-groups as tables, and the map of a wave."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.program.waves.lanes import Lane, Lanes


def lanes_here(debugger: Debugger) -> Lanes:
    """The lanes of the wave, seen from the frame that is looked at."""
    from dwarfgpu.program.waves.lanes import lanes_of_wave

    wave = debugger.wave
    return lanes_of_wave(wave.stopped, wave.index, debugger.frame_number)


def target_id(here: Lanes, lane: Lane) -> str:
    """What ROCgdb calls a lane: ``AMDGPU Lane 1:2:1:1/5 (0,0,0)[5,0,0]``."""
    group = here.where.work_group
    item = lane.work_item
    return (
        f"AMDGPU Lane {here.wave}/{lane.number}"
        f"{'' if group is None else ' ({},{},{})'.format(*group)}{'' if item is None else '[{},{},{}]'.format(*item)}"
    )


def positions(debugger: Debugger) -> dict[str, str]:
    """Where the wave and the lane are, by the names of ROCgdb's convenience variables; what is not known is left out.

    ``_dispatch_pos`` is ``(2,1,3)/0``, ``_thread_workgroup_pos`` ``0`` and ``_lane_workgroup_pos`` ``[7,3,1]``.
    """
    if debugger.attached is None or debugger.wave_number is None or not debugger.attached.has_waves:
        return {}
    found = {}
    where, lane = lanes_here(debugger).where, debugger.lane
    item = None if lane is None else where.item(lane)
    if where.wave_in_group is not None:
        found["_thread_workgroup_pos"] = str(where.wave_in_group)
        if where.work_group is not None:
            found["_dispatch_pos"] = f"({','.join(map(str, where.work_group))})/{where.wave_in_group}"
    if item is not None:
        found["_lane_workgroup_pos"] = f"[{','.join(map(str, item))}]"
    return found


def titles(debugger: Debugger) -> Iterator[tuple[int, str]]:
    """What `wave find` searches of each wave, with its number from 1."""
    yield from enumerate(debugger.machine.stopped.machine.ids, 1)
