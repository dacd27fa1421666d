"""Values of variables while a kernel runs, kept so that those of two builds can be compared by their types.

A value is a row of leaves: scalars, each with its path in the value (``.position.x``, ``[3]``). What is between the
members of a structure is in no leaf. Two values are the same if the leaves that both have are: floating-point numbers
but for rounding, integers as numbers, pointers by what they point to, as buffers and code are elsewhere in another
build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dwarfgpu import bits as b
from dwarfgpu.audits.judge.rounding import differ_by_rounding
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.locations import Memory
from dwarfgpu.immutable import frozen
from dwarfgpu.lanes import Diverge, Group, LaneFault, LaneSet
from dwarfgpu.program.frames.answers import in_parts
from dwarfgpu.program.frames.reasons import reason_of
from dwarfgpu.program.types.model import Array, Base, Struct, Type, hidden, known_size, resolved
from dwarfgpu.program.values.scalars import Scalar, scalar_of
from dwarfgpu.program.values.storage import Located
from dwarfgpu.targets.amdgpu import GENERIC, PRIVATE_LANE, PRIVATE_WAVE
from dwarfgpu.targets.amdgpu.address_spaces import SIZE, Apertures

if TYPE_CHECKING:
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.variable import Variable
    from dwarfgpu.program.values.objects import Elements, Object

T = TypeVar("T")
INTEGER, FLOAT, POINTER, BYTES = "integer", "float", "pointer", "bytes"
MAX_LEAVES = 64
"""The leaves of a value that are kept, the first ones."""
MAX_BYTES = 64
"""The bytes of a union that are kept."""
MAX_NESTING = 12
MAX_SHOWN = 4
"""The leaves of a value that messages show, the first ones."""
NULL, BUFFER, SYMBOL = "null", "buffer", "symbol"
LOCAL_MEMORY, PRIVATE_MEMORY, ELSEWHERE = "local", "private", "elsewhere"
NARROW_POINTER = 32
"""The bits of a pointer that counts from the start of local or private memory, which each build lays out for itself."""


@frozen
class Leaf:
    """A scalar in a value: where it is, and how its bits are read."""

    path: str
    kind: str
    bits: int
    is_signed: bool = False


@frozen
class RecordedValue:
    """What a variable was in one lane. A leaf without a value has None for its bits."""

    leaves: tuple[Leaf, ...]
    patterns: tuple[int | None, ...]
    elsewhere: tuple[RecordedValue, ...] = ()
    """What it was in its other places, where entries of its location list overlap."""


@frozen
class NoValue:
    """Why a variable had no value in a lane."""

    reason: str


Recorded = RecordedValue | NoValue
OPTIMIZED_OUT = NoValue("it is optimized out")
UNUSED = 0xA5
"""What private memory is filled with before anything is written to it, so that a variable without a value shows."""


@cache
def _unused(size: int) -> int:
    return int.from_bytes(bytes([UNUSED]) * (size // 8), "little")


def is_unused(bits: int, size: int) -> bool:
    """Return whether bits are those that private memory begins with; fewer than 16 can be anything."""
    return size >= 16 and bits == _unused(size)


# --- Reading ----------------------------------------------------------------------------------------------------------


def recorded_everywhere(frame: Frame, variable: Variable, lanes: tuple[int | None, ...]) -> list[Recorded]:
    """Return what a variable is in some lanes, with what it is in each place where entries of its list overlap."""
    first, *others = (recorded(frame, each, lanes) for each in variable.in_each_place())
    return [_joined(values) for values in zip(first, *others, strict=True)] if others else first


def _joined(places: tuple[Recorded, ...]) -> Recorded:
    """Return what a variable is in several places; a place without any value leaves it to the others (A.2.5.3)."""
    places = tuple(each for each in places if each != OPTIMIZED_OUT)
    failed = next((each for each in places if isinstance(each, NoValue)), None)
    values = [each for each in places if isinstance(each, RecordedValue)]
    if failed is not None or not values:
        return failed or OPTIMIZED_OUT
    by_leaf = zip(*(each.patterns for each in values), strict=True)
    patterns = tuple(next((bits for bits in of_leaf if bits is not None), None) for of_leaf in by_leaf)
    return RecordedValue(values[0].leaves, patterns, tuple(values))


def recorded(frame: Frame, variable: Variable, lanes: tuple[int | None, ...]) -> list[Recorded]:
    """Return what a variable is in some lanes."""
    lane_set = frame.lane_set(lanes)
    try:
        groups = variable.groups(lane_set)
    except DwarfGpuError as error:
        return [_no_value(error)] * lane_set.count
    return _by_lane(
        groups, lane_set, lambda value, part: _by_lane(in_parts(value, part, frame, _leaves_of), part, _values)
    )


def is_shared(frame: Frame, variable: Variable, lane: int | None) -> bool:
    """Return whether a variable is in memory that other work-items have, too, and can change."""
    place = _memory_place(frame, variable, lane)
    return place is not None and not _is_private(place)


def is_private(frame: Frame, variable: Variable, lane: int | None) -> bool:
    """Return whether a variable is in memory of one work-item."""
    place = _memory_place(frame, variable, lane)
    return place is not None and _is_private(place)


def _memory_place(frame: Frame, variable: Variable, lane: int | None) -> Any:
    try:
        value = variable.find(frame.lane(lane))
        storage = value.place.storage
        place = storage.moved(value.place.bit_offset).single if isinstance(storage, Located) else None
    except DwarfGpuError:
        return None
    return place if place is not None and isinstance(place.storage, Memory) else None


def _is_private(place: Any) -> bool:
    space = place.storage.space
    if space.number in (PRIVATE_LANE, PRIVATE_WAVE):
        return True
    alias: Any = space.alias if space.number == GENERIC else None
    apertures: Apertures | None = None if alias is None else alias.apertures
    return apertures is not None and bool(apertures.is_private(int(place.bit_offset) // 8))


def _no_value(error: Any) -> NoValue:
    return NoValue(reason_of(error).message)


def _by_lane(
    groups: Iterable[Group[T]], lanes: LaneSet, values_of: Callable[[T, LaneSet], list[Recorded]]
) -> list[Recorded]:
    """Return what the groups of some lanes have come to, lane by lane."""
    rows: list[Recorded] = [NoValue("it was not asked for")] * lanes.count
    for group in groups:
        positions = group.slots(lanes.count)
        if group.result is None:
            values: list[Recorded] = [_no_value(group.outcome(index)) for index in range(len(positions))]
        else:
            values = values_of(group.result, lanes if group.positions is None else lanes.select(group.positions))
        for position, value in zip(positions, values, strict=True):
            rows[position] = value
    return rows


def _values(found: tuple[tuple[Leaf, ...], list[tuple[Any, Any]]], lanes: LaneSet) -> list[Recorded]:
    """Return the leaves of an object in each of its lanes."""
    leaves, columns = found
    if not leaves:
        return [NoValue("it was not asked for")] * lanes.count
    is_one = all(type(bits) is type(undefined) is int for bits, undefined in columns)
    count = 1 if is_one else lanes.count
    by_lane = zip(*(_column(bits, undefined, count) for bits, undefined in columns), strict=True)
    values: list[Recorded] = [
        RecordedValue(leaves, patterns) if any(each is not None for each in patterns) else OPTIMIZED_OUT
        for patterns in by_lane
    ]
    return values * lanes.count if is_one else values


def _column(bits: Any, undefined: Any, count: int) -> list[int | None]:
    if type(undefined) is int and type(bits) is int:
        return [None if undefined else bits] * count
    missing = [undefined] * count if type(undefined) is int else undefined.tolist()
    patterns = [bits] * count if type(bits) is int else bits.tolist()
    return [None if flag else int(pattern) for flag, pattern in zip(missing, patterns, strict=True)]


def _leaves_of(value: Object) -> tuple[tuple[Leaf, ...], list[tuple[Any, Any]]]:
    leaves: list[Leaf] = []
    columns: list[tuple[Any, Any]] = []
    for leaf, bits, undefined in _walk(value, "", 0):
        leaves.append(leaf)
        columns.append((bits, undefined))
        if len(leaves) >= MAX_LEAVES:
            break
    return tuple(leaves), columns


def _walk(value: Object, path: str, depth: int) -> Iterator[tuple[Leaf, Any, Any]]:
    """Yield the leaves of an object with their bits, and with those that have no value."""
    if depth > MAX_NESTING:
        return
    try:
        scalar = value.scalar
    except DwarfGpuError:
        scalar = None
    inner = resolved(value.type)
    if scalar is not None:
        leaf = _leaf(path, scalar)
        try:
            reading = value.pattern()
        except DwarfGpuError:
            if not path:
                raise
            yield leaf, 0, 1
            return
        yield leaf, reading.bits, reading.undefined
    elif isinstance(inner, Struct) and inner.kind != "union":
        for base in inner.body.bases:
            if not base.is_virtual:
                yield from _walk(value.base(base), path, depth + 1)
        for member in value.members():
            name = path if member.name is None else f"{path}.{member.name}"
            yield from _walk(value.field(member), name, depth + 1)
    elif isinstance(inner, Array) or (isinstance(inner, Base) and inner.vector_size is not None):
        yield from _walk_elements(value.array(), path, depth)
    else:
        size = known_size(value.type) or 0
        if 0 < size <= MAX_BYTES and not _has_pointers(value, depth):
            for first in range(0, size, 8):
                length = min(8, size - first)
                reading = value.place.moved(8 * first).read(8 * length)
                yield Leaf(f"{path}<{first}>", BYTES, 8 * length), reading.bits, reading.undefined


def _walk_elements(elements: Elements, path: str, depth: int) -> Iterator[tuple[Leaf, Any, Any]]:
    """Yield the leaves of the first elements of an array."""
    count = 0 if elements.is_open else min(elements.length, MAX_LEAVES)
    together = _read_together(elements, count) if depth < MAX_NESTING else None
    if together is None:
        for index in range(count):
            yield from _walk(elements.at(index), f"{path}[{index}]", depth + 1)
    else:
        scalar, patterns = together
        yield from ((_leaf(f"{path}[{index}]", scalar), bits, 0) for index, bits in enumerate(patterns))


def _read_together(elements: Elements, count: int) -> tuple[Scalar, list[int]] | None:
    """Return scalars that follow each other, if they are in one place for all lanes and all have a value."""
    storage, scalar = elements.place.storage, scalar_of(elements.element)
    if scalar is None or not elements.stride == scalar.storage_bits == scalar.bits or hidden(elements.element):
        return None
    if not count or elements.state or not isinstance(storage, Located) or storage.byte_order != "little":
        return None
    try:
        place = storage.moved(elements.place.bit_offset).single
        if place is None or type(place.bit_offset) is not int or type(place.storage) is not Memory:
            return None
        reading = elements.place.read(count * scalar.bits)
    except (DwarfGpuError, Diverge, LaneFault):
        return None
    if type(reading.bits) is not int or type(reading.undefined) is not int or reading.undefined:
        return None
    patterns = (reading.bits >> index * scalar.bits & (1 << scalar.bits) - 1 for index in range(count))
    return scalar, [scalar.pattern(bits, "little") for bits in patterns]  # type: ignore[misc]


def _leaf(path: str, scalar: Scalar) -> Leaf:
    kind = scalar.kind if scalar.kind in (FLOAT, POINTER, BYTES) else INTEGER
    return Leaf(path, kind, scalar.bits, scalar.is_signed)


def scalar_leaf(kind: Type) -> Leaf | None:
    """Return how the bits of a scalar of a type are read; None for any other type."""
    scalar = scalar_of(kind)
    return None if scalar is None else _leaf("", scalar)


def _has_pointers(value: Object, depth: int) -> bool:
    """Return whether a union has a pointer in it, whose bits say nothing in another build."""
    inner = resolved(value.type)
    if not isinstance(inner, Struct) or depth > MAX_NESTING:
        return False
    for member in inner.body.members:
        scalar = scalar_of(member.type)
        if (scalar is not None and scalar.kind == POINTER) or _has_pointers(value.field(member), depth + 1):
            return True
    return False


# --- What pointers point to -------------------------------------------------------------------------------------------


@frozen
class PointedRange:
    """Addresses that pointers mean by what is there."""

    start: int
    size: int
    label: tuple[Any, ...]
    """Without the distance from the start, which is added where the builds agree on it."""
    is_placed: bool = True
    name: str = ""
    """Of the argument."""


class PointerNames:
    """What the pointers of one build point to, in words that another build shares."""

    def __init__(self, ranges: Sequence[PointedRange], symbol_at: Any = None) -> None:
        self.ranges = tuple(ranges)
        self._symbol_at = symbol_at
        self.labels = cache(lambda address: frozenset(self._find(address)))
        """What an address may be; the end of a buffer may be the start of the next."""

    @staticmethod
    def of(running: Running) -> PointerNames:
        """Return those of a kernel that runs."""
        plan, machine = running.launched.plan, running.machine
        ranges = [
            PointedRange(buffer.address, buffer.size, (BUFFER, buffer.name), name=buffer.name)
            for buffer in plan.buffers
        ]
        apertures = machine.device.apertures
        ranges.append(PointedRange(apertures.shared, SIZE, (LOCAL_MEMORY,), is_placed=False))
        ranges.append(PointedRange(apertures.private, 1 << apertures.private_bits, (PRIVATE_MEMORY,), is_placed=False))
        return PointerNames(ranges, running.attached.state.symbol_at)

    def _find(self, address: int) -> Iterator[tuple[Any, ...]]:
        if not address:
            yield (NULL,)
            return
        is_known = False
        for each in self.ranges:
            if each.start <= address < each.start + each.size + each.is_placed:
                is_known = True
                yield (*each.label, address - each.start) if each.is_placed else each.label
        if not is_known:
            symbol = None if self._symbol_at is None else self._symbol_at(address)
            yield (ELSEWHERE,) if symbol is None else (SYMBOL, symbol)

    def text(self, address: int) -> str:
        """Return what an address is, as a message says it."""
        buffers = [each for each in self.ranges if each.name and each.start <= address <= each.start + each.size]
        if buffers:
            buffer = max(buffers, key=lambda each: each.start)
            offset = address - buffer.start
            return f"buffer {buffer.name}+{offset:#x}" if offset else f"buffer {buffer.name}"
        symbols = [str(label[1]) for label in self.labels(address) if label[0] == SYMBOL]
        return symbols[0] if symbols else f"{address:#x}"


# --- Comparing --------------------------------------------------------------------------------------------------------


@frozen
class ValueDifference:
    """The first leaf in which two values differ."""

    path: str
    text: str
    other: str


class ValueComparison:
    """Compares values of a build with those of another one."""

    def __init__(self, names: PointerNames, others: PointerNames) -> None:
        self.names = names
        self.others = others
        self._known: dict[Any, tuple[ValueDifference | None, Any]] = {}
        """By what they are, with the leaves: as long as these are kept, no others have their identities."""

    def difference(
        self,
        value: RecordedValue,
        other: RecordedValue,
        unknown: frozenset[str] = frozenset(),
        scale: float | None = 0.0,
    ) -> ValueDifference | None:
        """Return where values differ; None if they are the same. Leaves in ``unknown`` are not compared.

        ``scale`` is the size of the terms whose roundings do not count; None where nothing is rounded in two ways.
        """
        if value.elsewhere:
            each_place = (self.difference(each, other, unknown, scale) for each in value.elsewhere)
            return next((found for found in each_place if found is not None), None)
        if (
            value.patterns == other.patterns
            and value.leaves is other.leaves
            and not any(leaf.kind == POINTER for leaf in value.leaves)
        ):
            return None
        leaves = value.leaves, other.leaves
        key = id(leaves[0]), id(leaves[1]), value.patterns, other.patterns, unknown, scale
        known = self._known.get(key)
        if known is None:
            if len(self._known) > 1 << 16:
                self._known.clear()
            known = self._known[key] = self._difference(value, other, unknown, scale), leaves
        return known[0]

    def _difference(
        self, value: RecordedValue, other: RecordedValue, unknown: frozenset[str], scale: float | None
    ) -> ValueDifference | None:
        leaves = {leaf.path: (leaf, bits) for leaf, bits in zip(other.leaves, other.patterns, strict=True)}
        for leaf, bits in zip(value.leaves, value.patterns, strict=True):
            there = leaves.get(leaf.path)
            if there is None or bits is None or there[1] is None or leaf.path in unknown:
                continue
            if not self._is_same(leaf, bits, there[0], there[1], scale):
                return ValueDifference(
                    leaf.path, leaf_text(leaf, bits, self.names), leaf_text(there[0], there[1], self.others)
                )
        return None

    def _is_same(self, leaf: Leaf, bits: int, other: Leaf, there: int, scale: float | None) -> bool:
        if POINTER in (leaf.kind, other.kind):
            return self._is_same_pointer(leaf, bits, other, there)
        if leaf.bits == other.bits and bits == there:
            return True
        if FLOAT in (leaf.kind, other.kind) or BYTES in (leaf.kind, other.kind):
            if leaf.kind != other.kind or leaf.bits != other.bits:
                return True  # of other types: nothing can be said
            own, theirs = float_of(leaf, bits), float_of(other, there)
            if own is None or scale is None:
                return own is not None and (own == theirs or bool(np.isnan(own) and np.isnan(theirs)))
            return bool(differ_by_rounding(own, theirs, scale))
        return number_of(leaf, bits) == number_of(other, there) or (
            leaf.bits == other.bits == 64
            and any(label[0] in (BUFFER, SYMBOL) for label in self.names.labels(bits) & self.others.labels(there))
        )

    def _is_same_pointer(self, leaf: Leaf, bits: int, other: Leaf, there: int) -> bool:
        if NARROW_POINTER in (leaf.bits, other.bits) or leaf.kind != other.kind:
            return True
        labels, others = self.names.labels(bits), self.others.labels(there)
        if labels & others:
            return True
        kinds = {label[0] for label in labels}, {label[0] for label in others}
        return any({mine, theirs} == {LOCAL_MEMORY, SYMBOL} for mine in kinds[0] for theirs in kinds[1])


_FLOATS = {16: "<f2", 32: "<f4", 64: "<f8"}


def float_of(leaf: Leaf, bits: int | None) -> Any:
    """Return the number that a float is; None for other leaves, and for floats that no processor computes with."""
    form = _FLOATS.get(leaf.bits) if leaf.kind == FLOAT else None
    return None if form is None or bits is None else np.frombuffer(bits.to_bytes(leaf.bits // 8, "little"), form)[0]


def largest_float(value: RecordedValue) -> float | None:
    """Return the largest size of the floats of a value; None if it has none that is a finite number."""
    floats = (float_of(leaf, bits) for leaf, bits in zip(value.leaves, value.patterns, strict=True))
    return max((abs(float(each)) for each in floats if each is not None and np.isfinite(each)), default=None)


def number_of(leaf: Leaf, bits: int) -> int:
    """Return the number that an integer is."""
    return int(b.signed(bits, leaf.bits)) if leaf.is_signed and leaf.bits else bits


def leaf_text(leaf: Leaf, bits: int, names: PointerNames) -> str:
    """Return a leaf as a message shows it."""
    if leaf.kind == POINTER:
        return names.text(bits)
    if leaf.kind == FLOAT:
        from dwarfgpu.expr.floats import float_format

        name = {16: "half", 32: "float", 64: "double"}.get(leaf.bits, "long double")
        layout = float_format(name, leaf.bits)
        if layout is None:
            return f"{bits:#x}"
        number = float(layout.decode(bits))
        return f"nan ({bits:#x})" if number != number else f"{number:.9g}"  # noqa: PLR0124 (a NaN)
    return f"{bits:#x}" if leaf.kind == BYTES else str(number_of(leaf, bits))


def recorded_text(value: Recorded | None, names: PointerNames) -> str:
    """Return a value as messages show it; nothing without one."""
    return value_text(value, names) if isinstance(value, RecordedValue) else ""


def value_text(value: RecordedValue, names: PointerNames) -> str:
    """Return a value as text: a scalar, or its first leaves by their paths."""
    pairs = zip(value.leaves, value.patterns, strict=True)
    parts = [
        f"{leaf.path and leaf.path + ' = '}{'?' if bits is None else leaf_text(leaf, bits, names)}"
        for leaf, bits in pairs
    ]
    if len(parts) == 1 and not value.leaves[0].path:
        return parts[0]
    return "{" + ", ".join(parts[:MAX_SHOWN]) + (", ..." if len(parts) > MAX_SHOWN else "") + "}"
