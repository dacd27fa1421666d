"""Rounds of a loop that the compiler has unrolled: each value may be of some round, and still not of this one.

A variable has its values in the order of the other build, so what it is at the places of a work-item must be a part of
the sequence that it is there. And variables that change at one instruction belong to one place of the source, so the
other build has their values together. Of locations that begin at different instructions nothing is known: a compiler
moves instructions of different rounds, and what is known of variables with them.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from dwarfgpu.audits.judge.recorded_values import INTEGER, RecordedValue
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from dwarfgpu.audits.judge.recorded_values import ValueComparison
    from dwarfgpu.audits.judge.statement_record import DeclarationKey, StatementStop, WorkItem


@frozen
class Place:
    """An instruction that a work-item comes to, with the stops of the other build that it can be."""

    stop: StatementStop
    truths: Sequence[int]
    is_statement: bool


@frozen
class WrongRound:
    """A value that a variable does not have in this order, or not together with that of another variable."""

    key: DeclarationKey
    value: RecordedValue
    stop: StatementStop
    before: RecordedValue
    """What the variable was before, or what the other one is."""
    other: DeclarationKey | None = None


class RoundOrder:
    """What variables are at the places of a work-item in one context, in their order."""

    def __init__(
        self,
        item: WorkItem,
        places: Sequence[Place],
        stops: Sequence[StatementStop],
        keys: Sequence[DeclarationKey],
        values: ValueComparison,
        wrong: AbstractSet[tuple[str, int]],
    ) -> None:
        self.item = item
        self.places = places
        self._values = values
        self._stops = stops
        """Those of the other build."""
        self._keys = keys
        self._wrong = wrong
        """The variables that are known to be wrong at an instruction, which may have a right value by chance."""
        self._truths = cache(self._find_truths)
        self._matches = cache(self._find_matches)

    def _find_truths(self, key: DeclarationKey) -> list[RecordedValue | None]:
        """Return what a variable is at each stop of the other build; out of its block, what it was there last."""
        last: RecordedValue | None = None
        truths = []
        for stop in self._stops:
            value = stop.value(key, self.item)
            last = value if isinstance(value, RecordedValue) else last
            truths.append(last)
        return truths

    def _find_matches(self, key: DeclarationKey, value: RecordedValue, truths: Sequence[int]) -> list[int]:
        """Return the stops of the other build, of some, at which a variable has a value."""
        known = self._truths(key)
        return [
            number
            for number in truths
            if (truth := known[number]) is not None and self._values.difference(value, truth) is None
        ]

    def _found(self, key: DeclarationKey, place: Place) -> tuple[RecordedValue, list[int]] | None:
        """Return the integer that a variable is at a place, with the stops at which it is the same; None without."""
        value = place.stop.value(key, self.item)
        if (key.name, place.stop.pc) in self._wrong or not isinstance(value, RecordedValue):
            return None
        if len(value.leaves) != 1 or value.leaves[0].kind != INTEGER:
            return None
        matches = self._matches(key, value, place.truths)
        return (value, matches) if matches else None  # a value that is none of them is wrong by another rule

    def back(self) -> Iterator[WrongRound]:
        """Yield where a variable has a value that it has had only before the one that it was already."""
        for key in self._keys:
            at, before = 0, None
            for place in self.places:
                found = self._found(key, place)
                if found is None:
                    continue
                value, matches = found
                following = next((number for number in matches if number >= at), None)
                if following is None and before is not None:
                    yield WrongRound(key, value, place.stop, before)
                at, before = matches[0] if following is None else following, value

    def apart(self, predecessors: Mapping[int, int]) -> Iterator[WrongRound]:
        """Yield where variables change together to values that the other build does not have together.

        ``predecessors`` has the address before each one, of all instructions that were executed.
        """
        for previous, place in zip(self.places, self.places[1:], strict=False):
            if predecessors.get(place.stop.pc) != previous.stop.pc:
                continue
            changed = {
                key: found
                for key in self._keys
                if (before := previous.stop.value(key, self.item)) is not None  # it was in scope
                and (found := self._found(key, place)) is not None
                and found[0] != before
            }
            pairs = [
                (key, other)
                for key, other in combinations(changed, 2)
                if set(changed[key][1]).isdisjoint(changed[other][1])
            ]
            if pairs:
                count = Counter(key for pair in pairs for key in pair)
                key, other = max(pairs, key=lambda pair: max(count[each] for each in pair))
                if count[other] > count[key]:
                    key, other = other, key
                yield WrongRound(key, changed[key][0], place.stop, changed[other][0], other)
