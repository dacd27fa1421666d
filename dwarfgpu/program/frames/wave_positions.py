"""Where waves are in their dispatches: the work-group, the kernel, and the work-item of each lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dwarfgpu.errors import DwarfGpuError, EvaluationError, MissingContext, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.targets.amdgpu.geometry import Geometry, GridPosition, geometry

if TYPE_CHECKING:
    from dwarfgpu.machines.machine import Dispatch, Machine
    from dwarfgpu.machines.protocol import WaveBackend

Triple = tuple[int, int, int]


@frozen
class InDispatch:
    """The position of a wave in its dispatch, as far as the machine knows."""

    dispatch: Dispatch | None = None
    work_group: Triple | None = None
    wave_in_group: int | None = None
    grid: Geometry | None = None
    used: int | None = None
    """How many of its lanes have a work-item: its first ones."""
    problems: tuple[DwarfGpuError, ...] = ()
    """What the machine says that cannot be."""

    def item(self, lane: int) -> Triple | None:
        """Return the position of a lane's work-item in its work-group."""
        if self.grid is None or self.work_group is None or self.used is None or lane >= self.used:
            return None
        x, y, z = self.items(lane)
        return x, y, z

    def items(self, lanes: Any) -> Sequence[Any]:
        """Return the positions of the work-items of lanes, an array for each axis; the grid must be known."""
        assert self.grid is not None  # noqa: S101 (the caller knows)
        assert self.work_group is not None  # noqa: S101 (the same)
        return self.grid.item(GridPosition(self.work_group, self.wave_in_group, 0), lanes)

    def global_ids(self, lanes: Any) -> list[Any]:
        """Return the global ids of the same."""
        items = self.items(lanes)
        return [first + item for first, item in zip(self.origin or (), items, strict=True)]

    @property
    def origin(self) -> Triple | None:
        """The global id of the first work-item of the work-group."""
        return None if self.grid is None or self.work_group is None else self.grid.origin(self.work_group)


class Stoppable(Protocol):
    """A state."""

    machine: WaveBackend


def waves_of(stopped: Stoppable) -> Machine:
    """Return the machine of a state, whose threads must be waves."""
    machine: Any = stopped.machine  # a snapshot, or the process of GDB, which has the same columns
    if machine.target.execution_mask is None:
        message = f"threads of {machine.target.name} have no lanes"
        raise UsageError(message, hint="`dwarfgpu bt` shows the frames of threads")
    return machine  # type: ignore[no-any-return]


def unknown_mask(wave: str, error: DwarfGpuError) -> DwarfGpuError:
    """Return the error of a wave whose active lanes are not known; ``error`` says why."""
    message = f"the active lanes of wave {wave} are not known: {error.message}"
    return MissingContext("lanes", message, spec=error.spec or "A.3.3.5 (6)", hint=error.hint)


def place_of(machine: Machine, wave: int) -> InDispatch:
    """Return the place of one wave of a machine."""
    index, position, number = machine.place_of(wave)
    dispatch = machine.dispatches[index] if index >= 0 else None
    group = None if min(position) < 0 else position
    wave_in_group = None if number < 0 else number
    if dispatch is None or dispatch.grid is None or dispatch.work_group is None:
        return InDispatch(dispatch, group, wave_in_group)
    try:
        grid = geometry(dispatch.grid, dispatch.work_group, machine.target.lane_count)
        if group is None or wave_in_group is None:
            return InDispatch(dispatch, group, wave_in_group, grid)
        _check(grid, group, wave_in_group)
    except DwarfGpuError as error:
        return InDispatch(dispatch, group, wave_in_group, problems=(error,))
    return InDispatch(dispatch, group, wave_in_group, grid, int(grid.lanes_of(GridPosition(group, wave_in_group, 0))))


def _check(grid: Geometry, group: Triple, wave: int) -> None:
    if any(at >= count for at, count in zip(group, grid.groups, strict=True)):
        counts = "x".join(map(str, grid.groups))
        message = f"the work-group {group_text(group)} is outside the grid of {counts} work-groups"
        raise EvaluationError("outside_grid", message)
    if wave >= grid.waves_of(group):
        message = f"the work-group {group_text(group)} has {grid.waves_of(group)} waves, and no wave {wave + 1}"
        raise EvaluationError("outside_grid", message)


def group_text(group: Triple) -> str:
    """Format a position as rocgdb does: ``(1,0,0)``."""
    return f"({','.join(map(str, group))})"
