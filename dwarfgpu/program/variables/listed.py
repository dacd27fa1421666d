"""Values in many lanes without numpy: a list with an element a lane, found lane by lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError
from dwarfgpu.program.types.model import Array, Base, Struct
from dwarfgpu.program.types.sizes import resolved
from dwarfgpu.program.variables.columns import ACTIVE, INACTIVE_STATE, python_value
from dwarfgpu.program.variables.reasons import Reason, Unavailable, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.variables.quantity import Quantity

MAX_ELEMENTS = 1 << 12
"""Arrays with more elements are kept as objects."""
MAX_DEPTH = 16


class ListedValues:
    """What something is in some lanes, as `columns.Values` says it, with lists in place of arrays.

    ``array`` has one element a lane: a number for a scalar, a list for an array, a dictionary for a structure. An
    element without a value is 0.
    """

    def __init__(self, quantity: Quantity, lanes: tuple[int | None, ...]) -> None:
        self.lanes = lanes
        frame = quantity.frame
        self.byte_order = frame.target.byte_order
        self.active = frame.active_mask
        self.reasons: dict[int | None, Reason] = {}
        self.type: Type | None = None
        self.array: list[Any] = []
        for lane in lanes:
            try:
                found = quantity.object(lane)
                value = listed(found)
                self.type = self.type or found.type
            except (UsageError, MalformedFile):
                raise
            except DwarfGpuError as error:
                self.reasons[lane] = reason_of(error)
                value = 0
            self.array.append(value)

    @property
    def states(self) -> list[str]:
        active = self.active
        return [
            self.reasons[lane].state
            if lane in self.reasons
            else ACTIVE
            if active is None or lane is None or active >> lane & 1
            else INACTIVE_STATE
            for lane in self.lanes
        ]

    def __len__(self) -> int:
        return len(self.lanes)

    def __iter__(self) -> Iterator[int | None]:
        return iter(self.lanes)

    def __getitem__(self, lane: int | None) -> Any:
        if lane not in self.lanes:
            raise UsageError(f"lane {lane} was not asked for", kind="no_lane")
        if lane in self.reasons:
            raise Unavailable(self.reasons[lane])
        return self.array[self.lanes.index(lane)]


def listed(found: Object, depth: int = 0) -> Any:
    """An object as lists, dictionaries and numbers; what is too large or too deep stays an object."""
    found = found.target()
    inner = resolved(found.type)
    if depth > MAX_DEPTH:
        return found
    if isinstance(inner, Struct):
        members = list(found.members())
        if all(each.name is not None for each in members):
            return {each.name: listed(found.field(each), depth + 1) for each in members}
        return found
    if isinstance(inner, Array) or (isinstance(inner, Base) and inner.vector_size is not None):
        elements = found.array()
        if elements.is_open or elements.length > MAX_ELEMENTS:
            return found
        return [listed(elements.at(index), depth + 1) for index in range(elements.length)]
    return python_value(found)
