"""Objects of some lanes among those of many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.program.values.located import Located
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import Place

if TYPE_CHECKING:
    from dwarfgpu.bits import Positions
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.program.variables.frame import Frame


def selected(found: Object, positions: Positions, frame: Frame, lanes: LaneSet) -> Object:
    """The object of some lanes, which stand at some positions among those of an object."""
    storage = found.place.storage
    if not isinstance(storage, Located):
        return found
    container = None if found.container is None else selected(found.container, positions, frame, lanes)
    location = storage.moved(found.place.bit_offset).select(positions)
    return Object(found.type, Place(Located(frame.around(lanes), location)), found.bit_size, container)
