"""What has a value in each lane, and can be asked for it: a variable, or an expression of the source language."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, Handle, MalformedFile, UsageError
from dwarfgpu.expr.access import Accessor
from dwarfgpu.lanes import each_part
from dwarfgpu.program.frames import reasons
from dwarfgpu.program.frames.answers import values_of
from dwarfgpu.program.frames.columns import python_value
from dwarfgpu.program.frames.reasons import Reason, Unavailable, ValueSource
from dwarfgpu.program.types.sizes import known_size
from dwarfgpu.program.values.storage import Located

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.expr.locations import Location
    from dwarfgpu.lanes import Group, LaneSet
    from dwarfgpu.program.frames.answers import Values
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.objects import Object


class Quantity(Handle, ABC):
    """Something with a value in each lane of a frame."""

    frame: Frame
    text: str
    """What it is called: the name of a variable, the text of an expression."""

    @property
    @abstractmethod
    def type(self) -> Type:
        """The type of the program."""

    @abstractmethod
    def find(self, lanes: LaneSet) -> Object:
        """Return the value as one object for some lanes; raise `lanes.Diverge` where they need different ones."""

    @property
    @abstractmethod
    def depends_on_place(self) -> bool:
        """Whether it names something that can mean another thing, or nothing, at another place of the function."""

    @abstractmethod
    def in_frame(self, frame: Frame) -> Quantity:
        """Return what it is in another frame of the same call, where some lanes are; `Unavailable` if it is not there.

        A name means what it means at that place.
        """

    # --- One lane -------------------------------------------------------------------------------------------------

    def in_lane(self, lane: int | None) -> Quantity:
        """Return what it is where a lane is (A.2.5.1 current program location)."""
        if not self.depends_on_place:
            return self
        frame = self.frame.in_lane(self.frame.selected_lane if lane is None else lane)
        return self if frame is self.frame else self.in_frame(frame)

    def object(self, lane: int | None = None) -> Object:
        """Return the value as an object, with members and elements; raise `Unavailable` where there is none."""
        try:
            return self.in_lane(lane).find(self.frame.lane(lane))
        except (Unavailable, UsageError, MalformedFile):
            raise
        except DwarfGpuError as error:
            raise self._unavailable(error) from error

    def value(self, lane: int | None = None) -> Any:
        """Return the value as Python has it: the number of a scalar, the object itself of anything else.

        ``lane`` may be left out where there is one, or where the value does not depend on it. An absent value raises
        `Unavailable`, whose `reason` says why.
        """
        try:
            return python_value(self.in_lane(lane).find(self.frame.lane(lane)))
        except (Unavailable, UsageError, MalformedFile):
            raise
        except DwarfGpuError as error:
            raise self._unavailable(error, lane) from error

    def location(self, lane: int | None = None) -> Location:
        """Return where the value is. A value that was computed is in an implicit location."""
        return location_of(self.object(lane))

    def provenance(self, lane: int | None = None) -> tuple[ValueSource, ...]:
        """Return the register, lane and bit, or the address, that each part of the value comes from."""
        value = self.object(lane)
        return reasons.sources(location_of(value), value.bits())

    def why(self, lane: int | None = None) -> Reason | None:
        """Return why there is no value in a lane; None where there is one."""
        try:
            value = self.object(lane).target()
            size = known_size(value.type)
            if value.scalar is not None:
                python_value(value)
            elif size and value.is_undefined():
                from dwarfgpu.program.values.objects import optimized_out

                return self._explained(reasons.reason_of(optimized_out()), lane)
        except UsageError:
            raise
        except DwarfGpuError as error:
            return self._unavailable(error, lane).reason
        return None

    def explain(self, lanes: LaneSet) -> Unavailable | None:
        """Return why nothing of the value is there, as far as its description tells."""
        return None

    # --- Many lanes -----------------------------------------------------------------------------------------------

    def groups(self, lanes: LaneSet) -> list[Group[Object]]:
        """Return the value in some lanes, as few objects as they have in common."""
        return each_part(lanes, self.find)

    def values(self, lanes: Iterable[int] | int | str | None = None) -> Values:
        """Return the value in many lanes: an array, and a state for each lane. An unknown name is an error.

        ``lanes`` are numbers, ``active``, or ``all``. By default all lanes have a state, and the values of those that
        do not execute the code are masked. Without numpy the array is a list.
        """
        values = values_of(self, self.text, lanes)
        values.raise_misuse()
        values.read()
        values.reasons  # noqa: B018 (what is written to the machine later does not change them)
        return values

    # --- Writing --------------------------------------------------------------------------------------------------

    def write(self, value: Any, lanes: Iterable[int] | int | str | None = None) -> None:
        """Assign a value, as ``=`` of the source language does: a number, or an expression that is evaluated.

        It is written in the lane or lanes that are named; by default in the active ones.
        """
        text = value if isinstance(value, str) else repr(value)
        self.frame.assign(self, text, lanes)

    # --- Parts ----------------------------------------------------------------------------------------------------

    def _unavailable(self, error: DwarfGpuError, lane: int | None = None) -> Unavailable:
        return Unavailable(self._explained(reasons.reason_of(error), lane))

    def _explained(self, reason: Reason, lane: int | None) -> Reason:
        """Return a reason, with what is known beyond the bits that are missing."""
        if reason.kind != "undefined":
            return reason
        explained = self.in_lane(lane).explain(self.frame.lane(lane))
        return reason if explained is None else explained.reason


def location_of(value: Object) -> Location:
    """Return where an object is; raise `Unavailable` for one that is in no location."""
    storage = value.place.storage
    if not isinstance(storage, Located):
        raise reasons.unavailable("no_location", "the value is in no location")
    return storage.moved(value.place.bit_offset)


def store(value: Object, pattern: Any, bit_size: int, frame: Frame, lanes: LaneSet) -> None:
    """Write the bits of a value to where an object is, lane after lane."""
    location = location_of(value)
    accessor = Accessor(frame.backend, frame.target.byte_order)
    for position in range(lanes.count):
        place = location if lanes.count == 1 else location.select(position)
        accessor.write(place, bit_size, int(b.select(pattern, position)))
