"""Sets of slots, how they split, and results that differ from slot to slot.

A slot is a (wave, lane) pair: one program thread of the source language. An evaluation runs over a set of slots; one
lane is a set of one. While all slots do the same, there is one state for all of them. When an operation needs one
answer but the slots differ, it raises `Diverge`, and the evaluator runs that operation again in each part. When it
has no answer in some slots it raises `LaneFault`, and only those slots end with the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, UsageError, shown
from dwarfgpu.immutable import field, immutable

if TYPE_CHECKING:
    from dwarfgpu.bits import Array, Bits, Flags, Positions

S = TypeVar("S")
T = TypeVar("T")


MAX_LANE = 1 << 31
"""More lanes than any wave has."""


def lane_number(lane: Any, count: int = MAX_LANE, owner: str | None = None) -> int:
    """Return a lane as an int; raise `UsageError` for what is no lane, or none of the ``count`` lanes of an owner."""
    from operator import index

    try:
        number = index(lane)
    except TypeError:
        raise UsageError(f"a lane is an integer, found {repr(lane)[:40]}", kind="no_lane") from None
    if 0 <= number < count:
        return number
    message = f"{shown(number)} is not a lane: lanes are numbered from 0"
    if owner is not None:
        message = f"{owner} has {f'{count} lanes, no lane {shown(number)}' if count > 1 else 'no lanes'}"
    raise UsageError(message, kind="no_lane")


def first_lane(mask: int) -> int:
    """Return the lowest lane of a mask; -1 if it has none."""
    return (mask & -mask).bit_length() - 1


def lanes_in(mask: int) -> list[int]:
    """Return the lanes of a mask, in order."""
    return [lane for lane in range(mask.bit_length()) if mask >> lane & 1]


def mask_of(lanes: Iterable[int]) -> int:
    """Return the mask of some lanes."""
    return sum(1 << lane for lane in set(lanes))


def outer_of(lanes: list[int]) -> list[int]:
    """Return the first and the last of some lanes; none if there are none."""
    return [lanes[0], lanes[-1]] if lanes else []


@immutable
class LaneSet:
    """The slots an evaluation runs over: the wave and the lane of each.

    >>> import dwarfgpu as dg
    >>> dg.LaneSet.of([0, 2, 4]).count, dg.LaneSet.grid(10_000, 64).count
    (3, 640000)
    """

    count: int
    wave: Bits | None = field(default=0, eq=b.comparable)
    """Index of the wave in the machine, or None when there is no current thread."""
    lane: Bits | None = field(default=None, eq=b.comparable)
    """Lane number, or None when there is no current lane."""

    @staticmethod
    def one(lane: int | None = None, wave: int = 0) -> LaneSet:
        """Return one lane of a wave, or no lane in particular; raise `UsageError` for what is no lane."""
        return LaneSet(1, wave, None if lane is None else lane_number(lane))

    @staticmethod
    def of(lanes: Sequence[int], wave: int = 0) -> LaneSet:
        """Return some lanes of one wave, in the order given; raise `UsageError` for what is no lane, and for none."""
        numbers = [lane_number(lane) for lane in lanes]
        if not numbers:
            raise UsageError("a lane set has one lane or more", kind="no_lane")
        if len(numbers) == 1:
            return LaneSet(1, wave, numbers[0])
        return LaneSet(len(numbers), wave, b.array(numbers, 64))

    @staticmethod
    def grid(wave_count: int, lane_count: int) -> LaneSet:
        """Return every lane of waves 0 to ``wave_count - 1``, wave by wave."""
        if wave_count * lane_count == 1:
            return LaneSet(1, 0, 0)
        import numpy as np

        wave = np.repeat(np.arange(wave_count, dtype=np.uint64), lane_count)
        lane = np.tile(np.arange(lane_count, dtype=np.uint64), wave_count)
        return LaneSet(wave_count * lane_count, wave if wave_count > 1 else 0, lane if lane_count > 1 else 0)

    @staticmethod
    def product(waves: Bits, lanes: Bits) -> LaneSet:
        """Return some lanes of some waves, wave by wave: arrays, or one of either."""
        if isinstance(waves, int) and isinstance(lanes, int):
            return LaneSet(1, waves, lanes)
        import numpy as np

        wave, lane = (np.atleast_1d(np.asarray(numbers, dtype=np.uint64)) for numbers in (waves, lanes))
        count = len(wave) * len(lane)
        if count == 1:
            return LaneSet(1, int(wave[0]), int(lane[0]))
        return LaneSet(
            count,
            int(wave[0]) if len(wave) == 1 else np.repeat(wave, len(lane)),
            int(lane[0]) if len(lane) == 1 else np.tile(lane, len(wave)),
        )

    def select(self, positions: Positions) -> LaneSet:
        """Return the set that holds some of the slots."""
        count = 1 if type(positions) is int else len(positions)  # type: ignore[arg-type]
        if count == 1 and type(positions) is not int:  # a set of one holds plain ints
            positions = int(positions[0])  # type: ignore[index]
        wave = None if self.wave is None else b.select(self.wave, positions)
        lane = None if self.lane is None else b.select(self.lane, positions)
        return LaneSet(count, wave, lane)


class Diverge(Exception):
    """An operation needs one answer for all slots, but they differ: run it again in each part."""

    def __init__(self, parts: list[Array]) -> None:
        Exception.__init__(self)
        self.parts = parts


class LaneFault(Exception):
    """The operation has no answer in some slots: they end with an error, the others run it again."""

    def __init__(self, positions: Array, error_at: Callable[[int], DwarfGpuError]) -> None:
        Exception.__init__(self)
        self.positions = positions
        self.error_at = error_at
        """Makes the error of the slot at a position, when it is needed."""

    def error_of(self, index: int) -> DwarfGpuError:
        """Return the error of the slot with a number among those that fail."""
        return self.error_at(int(self.positions[index]))


def uniform(bits: Bits) -> int:
    """Return the pattern that all slots share; raise `Diverge` when there are several."""
    if type(bits) is int:
        return bits
    first = int(bits[0])  # type: ignore[index]
    if b.all_of(bits == first):
        return first
    raise Diverge(b.groups(bits))  # type: ignore[arg-type]


def uniform_under(bits: Bits, mask: int) -> int:
    """Return those bits of a mask that all slots share; raise `Diverge` when there are several."""
    if not b.set_in_any(bits) & mask:  # the usual ones, in one pass
        return 0
    return uniform(bits & mask)


def uniform_flag(flags: Flags) -> bool:
    """Return whether a condition holds in all slots or in none; raise `Diverge` when it holds in some."""
    if isinstance(flags, bool):
        return flags
    if flags.all():
        return True
    if not flags.any():
        return False
    raise Diverge([b.positions_of(flags), b.positions_of(~flags)])


def refuse(bad: Flags, error_at: Callable[[int], DwarfGpuError]) -> None:
    """End the slots in which ``bad`` holds with an error, which ``error_at(position)`` makes for each of them."""
    if isinstance(bad, bool):
        if bad:
            raise error_at(0)
    elif bad.any():
        raise LaneFault(b.positions_of(bad), error_at)


class Group(Generic[T]):
    """Slots that ended the same way: with one result (whose parts may be arrays over the slots), or with errors."""

    __slots__ = ("_error_at", "positions", "result")

    def __init__(
        self, positions: Array | None, result: T | None, error_at: Callable[[int], DwarfGpuError] | None
    ) -> None:
        self.positions = positions
        """Positions in the set that was evaluated, ascending; None when the group is the whole set."""
        self.result = result
        self._error_at = error_at

    @property
    def failed(self) -> bool:
        return self._error_at is not None

    def slots(self, count: int) -> Sequence[int]:
        """Return the numbers of the slots of the group in a set of ``count`` slots."""
        return range(count) if self.positions is None else self.positions.tolist()

    def outcome(self, index: int) -> T | DwarfGpuError:
        """Return the result or the error of slot ``index`` of this group."""
        if self._error_at is not None:
            return self._error_at(index)
        result: Any = self.result
        return result.select(index)  # type: ignore[no-any-return]


class LaneResults(Generic[T]):
    """The result or the error of every slot of an evaluation, kept as a few groups.

    >>> import dwarfgpu as dg
    >>> expression = dg.parse("DW_OP_lit8; DW_OP_LLVM_push_lane; DW_OP_div", dg.dialect("llvm-user"), dg.Format())
    >>> results = dg.evaluate(expression, dg.Context(dg.target("gfx90a"), lanes=dg.LaneSet.of(range(3))))
    >>> results.of(2).bits, results.of(0)
    (4, EvaluationError('the divisor is 0'))
    """

    __slots__ = ("_places", "count", "groups")

    def __init__(self, count: int, groups: list[Group[T]]) -> None:
        self.count = count
        self.groups = groups
        self._places: list[tuple[Group[T], int]] | None = None
        """The group of each slot and its number there, made at the first use."""

    def __repr__(self) -> str:
        return f"<LaneResults of {self.count}: {self.groups[0].outcome(0)}{', ...' if self.count > 1 else ''}>"

    def of(self, position: int) -> T | DwarfGpuError:
        """Return the result or the error of one slot."""
        if len(self.groups) == 1 and self.groups[0].positions is None:
            return self.groups[0].outcome(position)
        if self._places is None:
            self._places = self._find_places()
        group, index = self._places[position]
        return group.outcome(index)

    def _find_places(self) -> list[tuple[Group[T], int]]:
        places: list[Any] = [None] * self.count
        for group in self.groups:
            for index, slot in enumerate(group.slots(self.count)):
                places[slot] = (group, index)
        return places

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, position: int) -> T | DwarfGpuError:
        return self.of(range(self.count)[position])

    def __iter__(self) -> Iterator[T | DwarfGpuError]:
        return (self.of(position) for position in range(self.count))

    def one(self) -> T:
        """Return the result of the only slot, or raise its error."""
        outcome = self.of(0)
        if isinstance(outcome, DwarfGpuError):
            raise outcome
        return outcome


def run_in_parts(count: int, whole: S, run: Callable[[S], T], part: Callable[[S, Array], S]) -> list[Group[T]]:
    """Run for ``count`` slots together, and where they differ for each part of them by itself.

    ``whole`` is what ``run`` is given for all slots, and ``part`` chooses from it what some of the slots need. ``run``
    changes nothing before it has succeeded, so it can run again for the parts of a set that it could not do as a whole.
    Slots that fail end with their error, and the others run again without them.
    """
    groups: list[Group[T]] = []
    work: list[tuple[Any, int, S]] = [(None, count, whole)]
    while work:
        positions, count, state = work.pop()
        try:
            groups.append(Group(positions, run(state), None))
        except Diverge as split:
            work.extend((_within(positions, inner), len(inner), part(state, inner)) for inner in reversed(split.parts))
        except LaneFault as fault:
            groups.append(Group(_within(positions, fault.positions), None, fault.error_of))
            rest = b.complement(fault.positions, count)
            if len(rest):
                work.append((_within(positions, rest), len(rest), part(state, rest)))
        except DwarfGpuError as error:
            groups.append(Group(positions, None, lambda _index, error=error: error))  # type: ignore[misc]
    return groups


def each_part(lanes: LaneSet, run: Callable[[LaneSet], T]) -> list[Group[T]]:
    """Run for a set of lanes, and where they need different answers for each part of the set."""
    return run_in_parts(lanes.count, lanes, run, LaneSet.select)


def _within(positions: Any, inner: Any) -> Any:
    """Return the positions in the whole set of slots that are numbered within a part of it."""
    return inner if positions is None else positions[inner]


def shared_result(groups: list[Group[T]], count: int) -> T:
    """Return the result that all slots share; raise `LaneFault` or `Diverge` where they do not."""
    for group in groups:
        if group.failed:
            if count == 1:
                raise group.outcome(0)  # type: ignore[misc]
            positions = b.arange(count) if group.positions is None else group.positions
            index = {int(position): number for number, position in enumerate(positions)}
            raise LaneFault(positions, lambda at, group=group, index=index: group.outcome(index[at]))  # type: ignore[misc]
    if len(groups) > 1:
        raise Diverge([group.positions for group in groups if group.positions is not None])
    return groups[0].result  # type: ignore[return-value]
