"""Values that were kept: the history that ``$1`` means, and convenience variables such as ``$foo``.

What is kept is what was there, not where: it stays the same when the machine changes. A value that was asked for in
several lanes is kept for each of them, and means that of the lane in which it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, EvaluationError, UsageError
from dwarfgpu.expr import locations
from dwarfgpu.expr.storages import Implicit, Part
from dwarfgpu.immutable import frozen
from dwarfgpu.lanes import uniform
from dwarfgpu.program.frames import registers
from dwarfgpu.program.language import syntax as s
from dwarfgpu.program.language.operands import ScalarOperand
from dwarfgpu.program.language.syntax import StringLiteral
from dwarfgpu.program.types.model import VOID, Array, Dimension, Function, Lazy, Void
from dwarfgpu.program.types.sizes import byte_size, hidden, known_size, resolved
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import Located, ObjectSurroundings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.expr.locations import Location
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.program.frames.answers import Values
    from dwarfgpu.program.frames.evaluator import Evaluator
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.values.storage import Reading


MAX_KEPT = 1 << 16
"""Of a value with more bytes no copy is kept."""


@frozen
class Frozen:
    """A value as it was: its bits are in an implicit location, apart from those that never change."""

    type: Type
    location: Location
    bit_size: int | None = None

    @property
    def pattern(self) -> int | None:
        """All bits as a number; None where some are not kept by themselves."""
        place, size = self.location.single, known_size(self.type)
        if place is None or type(place.storage) is not Implicit or self.bit_size is not None or size is None:
            return None
        return int(place.storage.data) >> int(place.bit_offset) & (1 << 8 * size) - 1


@frozen
class Kept:
    """A value that was kept, for each lane in which it was asked for; under None that of all lanes.

    `Values` reads from the machine as it is; what is kept here is what was there, so it belongs to no frame.
    """

    lanes: dict[int | None, Frozen | DwarfGpuError]
    """In lanes without a value, or where it cannot be kept, the error that says why."""

    def of(self, evaluator: Evaluator) -> Object:
        """Return the value in the lanes of an evaluation; raise `lanes.Diverge` where they have different ones."""
        kept = self._in(evaluator.lanes)
        if isinstance(kept, DwarfGpuError):
            raise kept.with_traceback(None)
        return Object(kept.type, evaluator.around.located(kept.location), kept.bit_size)

    def _in(self, lanes: LaneSet) -> Frozen | DwarfGpuError:
        if None in self.lanes:
            return self.lanes[None]
        numbers = lanes.lane
        if numbers is None:
            raise UsageError("the value differs between lanes", kind="no_lane", hint="choose a lane")
        if isinstance(numbers, int):
            return self.lanes.get(numbers) or _not_kept(numbers)
        known: list[Frozen | DwarfGpuError] = []
        keys = []
        for lane in numbers.tolist():
            value = self.lanes.get(lane) or _not_kept(lane)
            if value not in known:
                known.append(value)
            keys.append(known.index(value))
        return known[uniform(b.array(keys, 64))]


def _not_kept(lane: int) -> DwarfGpuError:
    return EvaluationError("not_kept", f"the value was not asked for in lane {lane}")


def number(type: Type, value: int) -> Kept:
    """Return a number of a type as a value to keep."""
    size = 8 * byte_size(type)
    return Kept({None: Frozen(type, locations.at(Implicit(value & (1 << size) - 1, size)))})


def kept_pieces(pieces: Iterable[tuple[LaneSet, Object]]) -> Kept:
    """Return what a value is in some lanes as a value to keep; what one lane alone has is the same for all."""
    whole = list(pieces)
    if sum(lanes.count for lanes, _value in whole) == 1:
        return Kept({None: frozen_copy(whole[0][1])})
    by_lane: dict[int | None, Frozen | DwarfGpuError] = {}
    for lanes, value in whole:
        for position in range(lanes.count):
            lane = lanes.select(position)
            assert lane.lane is None or isinstance(lane.lane, int)  # noqa: S101 (it is one slot)
            by_lane[lane.lane] = frozen_copy(value if lanes.count == 1 else _slot(value, position))
    return Kept(by_lane)


def _slot(value: Object, position: int) -> Object:
    """Return the object of one slot; what it is read in does not matter, as it is only read."""
    storage = value.described.storage
    assert isinstance(storage, Located)  # noqa: S101 (what expressions give is in locations)
    context = storage.around.context
    around = ObjectSurroundings(evolve(context, lanes=context.lanes.select(position)), storage.around.code)
    location = storage.moved(value.described.bit_offset).select(position)
    return Object(value.type, around.located(location), value.bit_size)


def computed(evaluator: Evaluator, value: str | int) -> Object | ScalarOperand:
    """Return a variable that says what is selected as a value."""
    if isinstance(value, str):
        return evaluator.object(StringLiteral(value, "", 0))
    return ScalarOperand(evaluator.compute.model.base("int"), value)


def nothing(evaluator: Evaluator) -> Object:
    """Return the value that a variable has before it is set."""
    return Object(VOID, evaluator.around.located(locations.at(Implicit(0, 8))))


# --- Keeping ------------------------------------------------------------------------------------------------------


def kept(values: Values, *, in_each_lane: bool) -> Kept:
    """Return an answer as a value to keep."""
    lanes: dict[int | None, Frozen | DwarfGpuError] = {}
    for answer in values.by_lane:
        if answer.value is not None:
            value: Frozen | DwarfGpuError = tried(answer.value)
        else:
            message = "there was no value" if answer.reason is None else answer.reason.message
            value = EvaluationError("not_kept", message)
        lanes[answer.lane if in_each_lane else None] = value
    return Kept(lanes)


def tried(value: Object) -> Frozen | DwarfGpuError:
    """Return a copy of a value, or why no copy of it can be kept."""
    try:
        return frozen_copy(value)
    except DwarfGpuError as error:
        return error


def frozen_copy(value: Object) -> Frozen:
    """Return a copy of a value. What is never written keeps its place: code, and what only a description leads to."""
    inner = resolved(value.type)
    storage = value.place.storage
    if not isinstance(storage, Located):
        raise UsageError("a value that is in no location cannot be kept")
    if isinstance(inner, (Function, Void)) and value.bit_size is None:
        return Frozen(value.type, storage.moved(value.place.bit_offset))
    kind, place, size = (value.type if hidden(value.type) is None else inner), value.place, value.bit_size
    if size is None:
        if known_size(kind) is None and isinstance(inner, Array):  # its bounds are those that it has now
            elements = value.array()
            dimension = Dimension(elements.lower, count=elements.length)
            kind = Array(Lazy.known(elements.element), (dimension,), is_vector=elements.is_vector)
            place = elements.place
        size = 8 * byte_size(kind)
    if size > 8 * MAX_KEPT:
        message = f"a value of {size // 8} bytes was not kept: {MAX_KEPT} are kept at most"
        raise UsageError(message, kind="too_large")
    location = storage.moved(place.bit_offset) if place.storage is storage else None
    if location is not None and locations.may_hold_pointer(location):
        return Frozen(kind, location, value.bit_size)
    if not size:
        return Frozen(kind, locations.at(Implicit(0, 8)), value.bit_size)
    return Frozen(kind, _copied(place.read(size), size, storage.byte_order), value.bit_size)


def _copied(reading: Reading, size: int, byte_order: str) -> Location:
    """Return the bits of a reading; those without a value stay without."""
    bits, undefined = int(reading.bits), int(reading.undefined)
    if not undefined:
        return locations.at(Implicit(bits, size))
    parts = []
    start = 0
    while start < size:
        is_missing = _bit(undefined, start, size, byte_order)
        end = start + 1
        while end < size and _bit(undefined, end, size, byte_order) == is_missing:
            end += 1
        shift = start if byte_order == "little" else size - end
        data = Implicit(bits >> shift & (1 << end - start) - 1, end - start)
        parts.append(Part(locations.UNDEFINED if is_missing else locations.at(data), end - start))
        start = end
    return locations.at(locations.extended(locations.EMPTY, tuple(parts)))


def _bit(mask: int, position: int, size: int, byte_order: str) -> bool:
    return bool(mask >> (position if byte_order == "little" else size - 1 - position) & 1)


# --- Expressions with a dollar ------------------------------------------------------------------------------------


def value(evaluator: Evaluator, node: s.RegisterName) -> Any:
    """Return what a name means: in this order a value of the history, a register, a convenience variable."""
    remembered = evaluator.frame.state.remembered
    operand: Any = None if remembered is None else remembered.of_history(evaluator, node.name)
    if operand is None:
        operand = registers.named(evaluator, node.name)
    if operand is None and remembered is not None:
        operand = remembered.variable(evaluator, node.name)
    if operand is None:
        hint = "registers are named as the target names them, such as $pc, $exec or $v4"
        message = f"there is no register ${node.name[:80]}"
        raise evaluator.error(node, message, hint=hint, kind="no_register")
    return operand


def may_set(evaluator: Evaluator, name: str) -> bool:
    """Return whether a convenience variable has or can get this name."""
    remembered = evaluator.frame.state.remembered
    return remembered is not None and remembered.may_set(name) and not registers.knows(evaluator, name)


def note(evaluator: Evaluator, node: s.Assignment, name: str) -> Object:
    """Note that a convenience variable is to be set, to a value of any type."""
    if node.operator:
        result = evaluator.object(s.Binary(node.operator, node.target, node.value, node.position))
    else:
        result = evaluator.object(node.value).target()
    evaluator.notes.append((name, result))
    return evaluator.object(node.target) if node.is_postfix else result
