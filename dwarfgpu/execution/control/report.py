"""What a run has come to: where waves stopped and why, what was counted, and the first elements of buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.immutable import frozen
from dwarfgpu.program.frames.wave_positions import place_of

if TYPE_CHECKING:
    from dwarfgpu.execution.control.profile import ProfiledLine
    from dwarfgpu.execution.control.running import CodePosition, Running
    from dwarfgpu.execution.halts import Halt
    from dwarfgpu.machines.machine import Machine
    from dwarfgpu.program.frames.wave_positions import Triple

FIRST_ELEMENTS = 8
"""The elements of a buffer that are shown."""
WATCHED = frozenset(("fault", "trap", "stuck"))
"""The kinds of halts after which a kernel cannot go on as it should."""


@frozen
class StoppedWave:
    """A wave that a halt concerns."""

    id: str
    work_group: tuple[int, int, int]
    lanes: int
    """As a mask."""
    work_items: tuple[Triple, Triple] | None = None
    """The positions of the first and the last lane in the work-group; None if a lane has none."""


@frozen
class BufferPreview:
    """The beginning of a buffer."""

    name: str
    type: str
    shape: tuple[int, ...]
    first: tuple[Any, ...]
    path: str | None = None
    """The file that it was written to."""


@frozen(eq=False)
class RunReport:
    """What a run has come to."""

    kernel: str
    grid: tuple[int, int, int]
    work_group: tuple[int, int, int]
    halt: Halt
    position: CodePosition | None
    waves: tuple[StoppedWave, ...]
    wave_count: int
    waves_ended: int
    instructions: int
    buffers: tuple[BufferPreview, ...] = ()
    profile: tuple[ProfiledLine, ...] | None = None
    notices: tuple[str, ...] = ()
    snapshot: str | None = None

    @property
    def has_failed(self) -> bool:
        """Whether the kernel cannot go on as it should."""
        return self.halt.kind in WATCHED


def report(
    running: Running,
    halt: Halt,
    *,
    buffers: tuple[BufferPreview, ...] = (),
    profile: tuple[ProfiledLine, ...] | None = None,
    snapshot: str | None = None,
) -> RunReport:
    """Return what a run has come to at a halt."""
    from dwarfgpu.execution.launch.kernarg import absent_parts

    machine, plan = running.machine, running.launched.plan
    waves = [
        StoppedWave(machine.ids[wave], machine.place_of(wave)[1], mask, _work_items(machine, wave, mask))
        for wave, mask in (halt.lanes or {}).items()
    ]
    notices = [*plan.problems, *plan.notes, *absent_parts(plan.kernel)]
    if running.condition_problem is not None and halt.breakpoint is not None:
        notices.append(f"the condition has no value, so the waves stopped: {running.condition_problem.text}")
    return RunReport(
        plan.kernel.name,
        plan.geometry.grid,
        plan.geometry.work_group,
        halt,
        None if halt.pc is None else running.position(halt.pc),
        tuple(waves),
        plan.geometry.wave_count,
        machine.device.waves_ended,
        machine.device.executed,
        buffers,
        profile,
        tuple(notices),
        snapshot,
    )


def _work_items(machine: Machine, wave: int, mask: int) -> tuple[Triple, Triple] | None:
    where = place_of(machine, wave)
    first, last = (where.item(lane) for lane in ((mask & -mask).bit_length() - 1, mask.bit_length() - 1))
    return None if not mask or first is None or last is None else (first, last)


def preview(running: Running, name: str, path: str | None = None) -> BufferPreview:
    """Return the beginning of a buffer."""
    array = running.buffer(name)
    first = tuple(array.reshape(-1)[:FIRST_ELEMENTS].tolist())
    return BufferPreview(name, array.dtype.name, tuple(array.shape), first, path)
