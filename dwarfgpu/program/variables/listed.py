"""Values in many lanes without numpy: a list with an element a lane, found lane by lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError
from dwarfgpu.program.types.model import Array, Base, Struct
from dwarfgpu.program.types.sizes import resolved
from dwarfgpu.program.variables.columns import Values, python_value
from dwarfgpu.program.variables.reasons import Reason, reason_of

if TYPE_CHECKING:
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.variables.quantity import Quantity

MAX_ELEMENTS = 1 << 12
"""Arrays with more elements are kept as objects."""
MAX_DEPTH = 16


class ListedValues(Values):
    """What something is in some lanes, with lists in place of arrays.

    ``array`` has one element a lane: a number for a scalar, a list for an array, a dictionary for a structure. An
    element without a value is 0.
    """

    def __init__(self, quantity: Quantity, lanes: tuple[int | None, ...]) -> None:
        frame = quantity.frame
        self.lanes = lanes
        self.byte_order = frame.target.byte_order
        self.active = frame.active_mask
        self.reasons: dict[int | None, Reason] = {}
        self._type: Type | None = None
        self._array: list[Any] = [self._value(quantity, lane) for lane in lanes]

    def _value(self, quantity: Quantity, lane: int | None) -> Any:
        try:
            found = quantity.object(lane)
            value = listed(found)
        except (UsageError, MalformedFile):
            raise
        except DwarfGpuError as error:
            self.reasons[lane] = reason_of(error)
            return 0
        self._type = self._type or found.type
        return value

    @property
    def type(self) -> Type | None:
        return self._type

    def _element(self, position: int) -> Any:
        return self._array[position]


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
