"""The built-in variables of HIP and functions of OpenCL C that tell a lane its work-item, from where its wave is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dwarfgpu import bits as b
from dwarfgpu.errors import MissingContext, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.lanes import LaneSet, uniform
from dwarfgpu.program.frames.wave_positions import InDispatch, Stoppable, place_of, waves_of
from dwarfgpu.targets.amdgpu.geometry import AXES

if TYPE_CHECKING:
    from dwarfgpu.program.frames.launch_record import LaunchRecord

    class HasLaunch(Protocol):
        """A wave, of which its launch is asked."""

        @property
        def launch(self) -> LaunchRecord: ...

    class Stopped(Stoppable, Protocol):
        """A state with waves that have been launched."""

        def wave(self, index: int) -> HasLaunch: ...

    Numbers = Callable[[InDispatch, Any], Sequence[Any]]


_OF_GROUPS: dict[str, Numbers] = {
    "id": lambda place, lanes: place.items(lanes),
    "group": lambda place, _lanes: place.work_group or (),
    "size": lambda place, _lanes: () if place.grid is None else place.grid.size_of(place.work_group or (0, 0, 0)),
    "groups": lambda place, _lanes: () if place.grid is None else place.grid.groups,
}
VARIABLES = dict(zip(("threadIdx", "blockIdx", "blockDim", "gridDim"), _OF_GROUPS.values(), strict=True))
"""Those of HIP, each with `x`, `y` and `z`."""
FUNCTIONS: dict[str, Numbers] = {
    **dict(zip(("get_local_id", "get_group_id", "get_local_size", "get_num_groups"), _OF_GROUPS.values(), strict=True)),
    "get_global_id": lambda place, lanes: place.global_ids(lanes),
    "get_global_size": lambda place, _lanes: () if place.grid is None else place.grid.grid,
}
"""Those of OpenCL C 3.0, 6.15.1, whose argument is the number of the axis."""


@frozen
class WorkItemNumbers:
    """What a name in a kernel means that no debugging information describes: three numbers."""

    name: str

    @property
    def width(self) -> int:
        """The size of a number in bits: HIP's are unsigned int, those of OpenCL C are size_t."""
        return 32 if self.name in VARIABLES else 64

    def along(self, axis: int, stopped: Stopped | None, lanes: LaneSet) -> b.Bits:
        """Return the number of an axis in some lanes."""
        if axis >= len(AXES):
            return int(self.name.endswith(("_size", "_groups")))
        if stopped is None or lanes.wave is None or lanes.lane is None:
            raise MissingContext("lane", f"{self.name} needs a wave and a lane", hint="attach a state, select a lane")
        wave = uniform(lanes.wave)
        place = place_of(waves_of(stopped), wave)
        if place.grid is None or place.work_group is None:
            raise UsageError(f"{self.name} is not known: the state does not have the dispatch of the wave")
        numbers = lanes.lane if isinstance(lanes.lane, int) else lanes.lane.astype("i8")
        found = (VARIABLES.get(self.name) or FUNCTIONS[self.name])(place, numbers)[axis]
        if self.name == "get_global_id":
            argument = stopped.wave(wave).launch.argument(f"hidden_global_offset_{AXES[axis]}")
            if argument is not None and argument.number is None:
                raise UsageError(f"{self.name} is not known: the state does not have the offset of the launch")
            found = found + (0 if argument is None else argument.number or 0)
        return found if isinstance(found, int) else b.array(found.tolist(), self.width)
