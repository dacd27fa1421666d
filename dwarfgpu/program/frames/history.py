"""Values that were kept: the history that ``$1`` means, and convenience variables such as ``$foo``.

What is kept is what was there, not where: it stays the same when the machine changes. A value that was asked for in
several lanes is kept for each of them, and means that of the lane in which it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, EvaluationError, UsageError
from dwarfgpu.expr import locations
from dwarfgpu.expr.locations import Implicit, Part
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.lanes import LaneSet, uniform
from dwarfgpu.program.types import model as t
from dwarfgpu.program.types.model import byte_size, hidden, known_size, resolved
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import Located, ObjectSurroundings, Reading

MAX_KEPT = 1 << 16
"""Of a value with more bytes no copy is kept."""


@frozen
class Frozen:
    """A value as it was: its bits are in an implicit location, apart from those that never change."""

    type: t.Type
    location: locations.Location
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

    def of(self, around: ObjectSurroundings) -> Object:
        """Return the value in the lanes of an evaluation; raise `lanes.Diverge` where they have different ones."""
        kept = self._in(around.context.lanes)
        if isinstance(kept, DwarfGpuError):
            raise kept.with_traceback(None)
        return Object(kept.type, around.located(kept.location), kept.bit_size)

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


NOTHING = Kept({None: Frozen(t.VOID, locations.at(Implicit(0, 8)))})
"""What a convenience variable is before it is set."""


def _not_kept(lane: int) -> DwarfGpuError:
    return EvaluationError("not_kept", f"the value was not read in lane {lane}")


def number(type: t.Type, value: int) -> Kept:
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


# --- Keeping ------------------------------------------------------------------------------------------------------


def kept(answers: Iterable[tuple[int | None, Object | None, str]]) -> Kept:
    """Return an answer as a value to keep: for each lane its value, or why it has none."""
    return Kept(
        {lane: EvaluationError("not_kept", why) if value is None else tried(value) for lane, value, why in answers}
    )


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
    if isinstance(inner, (t.Function, t.Void)) and value.bit_size is None:
        return Frozen(value.type, storage.moved(value.place.bit_offset))
    kind, place, size = (value.type if hidden(value.type) is None else inner), value.place, value.bit_size
    if size is None:
        if known_size(kind) is None and isinstance(inner, t.Array):  # its bounds are those that it has now
            elements = value.array()
            dimension = t.Dimension(elements.lower, count=elements.length)
            kind = t.Array(t.Lazy.known(elements.element), (dimension,), is_vector=elements.is_vector)
            place = elements.place
        size = 8 * byte_size(kind)
    if size > 8 * MAX_KEPT:
        raise UsageError(f"a value of {size // 8} bytes was not kept: {MAX_KEPT} are kept at most", kind="too_large")
    location = storage.moved(place.bit_offset) if place.storage is storage else None
    if location is not None and locations.may_hold_pointer(location):
        return Frozen(kind, location, value.bit_size)
    if not size:
        return Frozen(kind, locations.at(Implicit(0, 8)), value.bit_size)
    return Frozen(kind, _copied(place.read(size), size, storage.byte_order), value.bit_size)


def _copied(reading: Reading, size: int, byte_order: str) -> locations.Location:
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


# --- The history, and convenience variables -----------------------------------------------------------------------

READ_ONLY = frozenset(
    ("_thread", "_wave_id", "_lane_count", "_shell_exitcode", "_dispatch_pos", "_thread_workgroup_pos",
     "_lane_workgroup_pos")
)  # fmt: skip
"""What ROCgdb says of the selected wave and lane, and `_wave_id` and `_lane_count`."""


class Remembered:
    """The history of values, and the convenience variables."""

    def __init__(self) -> None:
        self.history: list[Kept] = []
        self.variables: dict[str, Kept] = {}
        self.macros: dict[str, str] = {}
        """The definitions of macros that the user has given, by name."""
        self.computed: Callable[[], Mapping[str, str | int]] = dict
        """Returns the variables that say what is selected, which cannot be set."""

    def add(self, value: Kept) -> int:
        """Put a value into the history; return its number."""
        self.history.append(value)
        return len(self.history)

    def last(self, back: int = 0) -> Kept:
        """Return a value of the history, counted from the last one back."""
        if not self.history and not back:
            raise UsageError("The history is empty", kind="no_value")
        if back >= len(self.history):
            raise UsageError(f"History does not go back to $${back}", kind="no_value")
        return self.history[-1 - back]

    def numbered(self, number: int) -> Kept:
        """Return the value with a number, counted from 1."""
        if not 1 <= number <= len(self.history):
            raise UsageError(f"History has not yet reached ${number}", kind="no_value")
        return self.history[number - 1]

    def of_history(self, name: str, _evaluator: Any) -> Kept | None:
        """Return what ``$``, ``$$``, ``$3`` and ``$$3`` are, without the first dollar; None for any other name."""
        number = name.removeprefix("$")
        if number and not (number.isdecimal() and number.isascii() and len(number) < 10):
            return None
        if name.startswith("$"):
            return self.last(int(number or 1))
        return self.numbered(int(number)) if number else self.last()

    def variable(self, name: str, _evaluator: Any) -> Kept | None:
        """Return what ``$foo`` is, without the dollar; None for a variable that has not been set."""
        return self.variables.get(name)

    def may_set(self, name: str) -> bool:
        """Return whether a variable of this name can be set."""
        return name[:1].isalpha() or (name[:1] == "_" and name not in READ_ONLY)

    def set(self, name: str, pieces: Iterable[tuple[LaneSet, Object]]) -> None:
        """Set a variable to what it is in some lanes; what one lane alone sets is the same for all."""
        self.variables[name] = kept_pieces(pieces)
