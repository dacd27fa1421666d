"""Answers, lane by lane: a value as an object, or the reason why there is none. What faces show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.errors import DwarfGpuError, MalformedFile, UsageError
from dwarfgpu.program.types.model import Array
from dwarfgpu.program.types.sizes import known_size, resolved
from dwarfgpu.program.values.arrays import MAX_READ
from dwarfgpu.program.values.objects import Object, optimized_out
from dwarfgpu.program.values.storage import Located, ObjectPlace
from dwarfgpu.program.variables.reasons import NO_MEMORY, NO_REGISTER, UNDEFINED, Reason, reason_of, sources

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.bits import Positions
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.program.code.repairs import Repair
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.variables.quantity import Quantity
    from dwarfgpu.program.variables.reasons import ValueSource


@frozen
class LaneAnswer:
    """What something is in one lane."""

    lane: int | None
    is_active: bool
    value: Object | None = None
    reason: Reason | None = None
    """Why there is no value, or why it is only a part of one."""

    @property
    def state(self) -> str:
        """``active`` and ``inactive`` lanes have a value; ``absent``, ``undefined`` and ``error`` lanes a reason."""
        if self.value is None and self.reason is not None:
            return self.reason.state
        return "active" if self.is_active else "inactive"

    @property
    def location(self) -> Location | None:
        """Where the value is."""
        found = None if self.value is None else self.value.place
        if found is None or not isinstance(found.storage, Located):
            return None
        return found.storage.moved(found.bit_offset)

    def sources(self) -> tuple[ValueSource, ...]:
        """The registers and addresses that the parts of the value come from."""
        location = self.location
        if location is None or self.value is None:
            return ()
        size = known_size(self.value.type) if self.value.bit_size is None else 0
        return () if size is None else sources(location, self.value.bits())


@frozen
class AsWritten:
    """A variable that was read as its producer means, and what the text alone says of it."""

    name: str
    repairs: tuple[Repair, ...]
    answer: Answer


@frozen
class Answer:
    """What something is in some lanes."""

    text: str
    """How it was asked for."""
    type: Type | None
    lanes: tuple[LaneAnswer, ...]
    repaired: tuple[AsWritten, ...] = ()
    """The variables in it that were read as their producer means."""

    @property
    def has_failed(self) -> bool:
        """Whether some lane that executes the code has no value."""
        return any(each.value is None and each.is_active for each in self.lanes)


def answer(quantity: Quantity, text: str, lanes: Iterable[int] | str | None = None) -> Answer:
    """Ask for something in some lanes. What is wrong with the question or the file is raised."""
    frame = quantity.frame
    frame.repaired.clear()
    numbers = frame.lane_numbers(lanes)
    mask = frame.active_mask
    found: list[LaneAnswer] = []
    for some, lane_set in frame.lane_sets(numbers):
        found += _answers(quantity, some, lane_set, mask)
    kind = next((each.value.type for each in found if each.value is not None), None)
    same = [lane for lane in numbers if lane is not None] or None
    repaired = tuple(
        AsWritten(name, each.repairs, answer(each.as_written(), name, same))
        for name, each in list(frame.repaired.items())
    )
    return Answer(text, kind or _type_of(quantity), tuple(found), repaired)


def _answers(
    quantity: Quantity, numbers: tuple[int | None, ...], lanes: LaneSet, mask: int | None
) -> list[LaneAnswer]:
    """What something is in lanes that are asked together."""
    frame = quantity.frame
    found: list[Any] = [None] * len(numbers)
    for group in quantity.groups(lanes):
        for index, position in enumerate(group.slots(len(numbers))):
            lane = numbers[position]
            is_active = mask is None or lane is None or bool(mask >> lane & 1)
            if group.result is not None:
                value = group.result
                if len(numbers) > 1:
                    value = selected(value, index, frame, frame.lane(lane))
                found[position] = checked(value, lane, is_active=is_active, quantity=quantity)
                continue
            error = group.outcome(index)
            if isinstance(error, (UsageError, MalformedFile)):
                raise error
            found[position] = LaneAnswer(lane, is_active, None, _reason(quantity, error, lane))
    return found


def _type_of(quantity: Quantity) -> Type | None:
    try:
        return quantity.type
    except DwarfGpuError:
        return None


def checked(
    value: Object, lane: int | None, *, is_active: bool, quantity: Quantity | None = None
) -> LaneAnswer:
    """A value that was found, unless nothing of it can be read; ``quantity`` tells why."""
    try:
        target = value.target()
        if known_size(target.type) is None and isinstance(resolved(target.type), Array):
            target.array()  # what its bounds and its place are computed from must be there
        elif target.scalar is not None:
            if target.implied() is None and target.pattern().undefined:
                raise optimized_out()
        elif (known_size(target.type) or 0) > MAX_READ:
            target.place.read(8)  # what is too large to be read as a whole must begin somewhere
        elif known_size(target.type) and target.is_undefined():
            raise optimized_out()
    except UsageError:
        raise
    except DwarfGpuError as error:
        if not _is_in_part(value, error):
            return LaneAnswer(lane, is_active, None, _reason(quantity, error, lane))
    return LaneAnswer(lane, is_active, value)


def _is_in_part(value: Object, error: DwarfGpuError) -> bool:
    """Whether something of a structure or an array is there, though not all: its beginning, or its end."""
    if error.kind not in (NO_MEMORY, NO_REGISTER):
        return False
    try:
        target = value.target()
        bits = target.bits()
    except DwarfGpuError:
        return False
    if target.scalar is not None or bits < 8:
        return False
    for position in (0, bits - 8):
        try:
            if not target.place.moved(position).read(8).undefined:
                return True
        except DwarfGpuError:
            continue
    return False


def _reason(quantity: Quantity | None, error: Any, lane: int | None) -> Reason:
    reason = reason_of(error)
    if reason.kind != UNDEFINED or quantity is None:
        return reason
    explained = quantity.explain(quantity.frame.lane(lane))
    return reason if explained is None else explained.reason


# --- Objects of some lanes among those of many --------------------------------------------------------


def selected(found: Object, positions: Positions, frame: Frame, lanes: LaneSet) -> Object:
    """The object of some lanes, which stand at some positions among those of an object."""
    storage = found.place.storage
    if not isinstance(storage, Located):
        return found
    container = None if found.container is None else selected(found.container, positions, frame, lanes)
    location = storage.moved(found.place.bit_offset).select(positions)
    return Object(found.type, ObjectPlace(Located(frame.around(lanes), location)), found.bit_size, container)
