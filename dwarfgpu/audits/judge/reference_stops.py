"""What is known of the variables at the stops of another build, which is taken for the truth.

A variable has a value there from its initialization on, or from its first change. It keeps most values over many stops:
they are kept as runs, so that a question about a range of stops is one about few values.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from dwarfgpu.audits.judge.alignment import visits_of
from dwarfgpu.audits.judge.recorded_values import NoValue, Recorded, RecordedValue, is_unused, largest_float
from dwarfgpu.audits.judge.rounding import may_be_rounded, size_of_terms

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.buffer_accesses import WorkItem
    from dwarfgpu.audits.judge.statement_record import DeclarationKey, StatementStop

KnownValue = tuple[RecordedValue, frozenset[str]]
"""A value of a variable, with the paths of its leaves that are not known."""
HIDDEN, EARLY, LACKING = "hidden", "early", "lacking"
"""Why a variable has no value at a stop: it is not visible, not known to be initialized, or the build has none."""
Stretch = tuple[int, int]
"""The numbers of stops that follow each other: the first, and the one behind the last."""

_BARRIER = re.compile(r"barrier\s*\(")
_CHANGE = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)|<<=|>>=")


def stretches_of(numbers: Sequence[int]) -> list[Stretch]:
    """Return ascending numbers of stops as stretches."""
    if isinstance(numbers, range):
        return [(numbers.start, numbers.stop)] if numbers else []
    stretches: list[Stretch] = []
    for number in numbers:
        if stretches and stretches[-1][1] == number:
            stretches[-1] = stretches[-1][0], number + 1
        else:
            stretches.append((number, number + 1))
    return stretches


class KnownValues:
    """What is known of a variable of one work-item at each stop, as runs of stops at which it is the same."""

    def __init__(self, states: list[KnownValue | str]) -> None:
        self.starts: list[int] = []
        self.states: list[KnownValue | str] = []
        """What is known in each run: the value, or why there is none."""
        for number, state in enumerate(states):
            if not self.states or self.states[-1] is not state:
                self.starts.append(number)
                self.states.append(state)
        self._counts = [0, *accumulate(not isinstance(state, str) for state in states)]

    def runs(self, stretches: Iterable[Stretch]) -> Iterator[tuple[KnownValue | str, int, int]]:
        """Yield what is known in some stretches, with the first stop of each run in them, and the one behind it."""
        for start, stop in stretches:
            first, last = bisect_right(self.starts, start) - 1, bisect_left(self.starts, stop)
            for index in range(first, last):
                end = self.starts[index + 1] if index + 1 < last else stop
                yield self.states[index], max(start, self.starts[index]), end

    def values(self, stretches: Iterable[Stretch]) -> list[KnownValue]:
        """Return the values that are known in some stretches, one for each run."""
        return [state for state, _start, _stop in self.runs(stretches) if not isinstance(state, str)]

    def count(self, stretches: Iterable[Stretch]) -> int:
        """Return at how many stops of some stretches the value is known."""
        return sum(self._counts[stop] - self._counts[start] for start, stop in stretches)

    def last_before(self, number: int) -> KnownValue | None:
        """Return the last value that is known before a stop; None without one."""
        for index in range(bisect_left(self.starts, number) - 1, -1, -1):
            state = self.states[index]
            if not isinstance(state, str):
                return state
        return None


class StatementUses:
    """Tells whether statements of the source need a variable, or only assign it."""

    def __init__(self, text_of: Callable[[str, int], str | None]) -> None:
        self.text = text_of
        """Returns the statement that a line of a file belongs to; None where the text is not known."""
        self._known: dict[tuple[str, str, int], bool | None] = {}

    def of(self, name: str, file: str, line: int) -> bool | None:
        """Return whether the statement of a line needs a variable, or assigns it; None if it does not name it.

        Without the text every statement counts as one that needs it.
        """
        key = name, file, line
        if key not in self._known:
            text = self.text(file, line)
            word = re.escape(name)
            count = 2 if text is None else len(re.findall(rf"\b{word}\b", text))
            is_assigned = count == 1 and re.search(rf"(?<![.>])\b{word}\s*=(?!=)", text or "") is not None
            self._known[key] = not is_assigned if count else None
        return self._known[key]


class ReferenceStops:
    """The stops of work-items in one context of the other build, with what is known of variables there."""

    def __init__(
        self, stops: list[StatementStop], uses: StatementUses, source: str, *, calls: Container[int] = ()
    ) -> None:
        self.stops = stops
        self.calls = calls
        """The stops, by identity, that are the first in a call of the function: it needs nothing of the call before."""
        self.visits = visits_of(stops)
        self.starts = [visit.first for visit in self.visits]
        self._uses = uses
        self._source = source
        """The file of the statements as the build that is judged calls it."""
        self._unread = [0, *accumulate(stop.values is None for stop in stops)]
        self._variables: dict[DeclarationKey, ReferenceVariable] = {}
        self.positions: Callable[[WorkItem], list[int]] = cache(lambda item: [stop.positions[item] for stop in stops])
        """Where the values of a work-item are in the rows of each stop."""

    def is_ordered(self, line: tuple[str, int]) -> bool:
        """Return whether a line has a barrier: no compiler exchanges two of them."""
        text = self._uses.text(self._source, line[1])
        return text is not None and _BARRIER.search(text) is not None

    def changes(self, line: int) -> bool:
        """Return whether the statement of a line may change a variable behind its stop, as ``return x++;`` does."""
        text = self._uses.text(self._source, line)
        return text is None or _CHANGE.search(text) is not None

    def is_read(self, stretches: Iterable[Stretch]) -> bool:
        """Return whether variables were read at all of some stops."""
        return all(self._unread[start] == self._unread[stop] for start, stop in stretches)

    def variable(self, key: DeclarationKey) -> ReferenceVariable:
        """Return what is known of a variable."""
        variable = self._variables.get(key)
        if variable is None:
            variable = self._variables[key] = ReferenceVariable(key, self)
        return variable

    def visible(self, stretches: list[Stretch]) -> Iterable[ReferenceVariable]:
        """Return the variables that are visible at any of some stops, in the order in which they become so."""
        starts, visible = self._visible
        found: list[list[ReferenceVariable]] = []
        for start, stop in stretches:
            found += visible[bisect_right(starts, start) - 1 : bisect_left(starts, stop)]
        return found[0] if len(found) == 1 else {each: None for variables in found for each in variables}

    @cached_property
    def _visible(self) -> tuple[list[int], list[list[ReferenceVariable]]]:
        """The variables that are visible, each time that they change, and from which stop on."""
        starts: list[int] = []
        visible: list[list[ReferenceVariable]] = []
        last: tuple[DeclarationKey, ...] | None = None
        for number, stop in enumerate(self.stops):
            keys = tuple(stop.values or ())
            if keys != last:
                starts.append(number)
                visible.append([*map(self.variable, keys)])
                last = keys
        return starts, visible

    def use(self, name: str, line: int) -> bool | None:
        """Return whether the statement of a line needs a variable, or assigns it; None if it does not name it."""
        return self._uses.of(name, self._source, line)

    @cached_property
    def texts(self) -> list[str]:
        """The statements that are executed."""
        texts = (self._uses.text(self._source, line) for line in dict.fromkeys(stop.line for stop in self.stops))
        return [text for text in texts if text is not None]


class ReferenceVariable:
    """What is known of a variable at the stops of work-items."""

    def __init__(self, key: DeclarationKey, reference: ReferenceStops) -> None:
        self.key = key
        self.count = len(reference.stops)
        self._reference = reference
        self._rows = [None if stop.values is None else stop.values.get(key) for stop in reference.stops]
        """What it is at each stop, for all work-items; None where it is not visible."""
        self._is_hidden = [
            row is None and stop.values is not None for row, stop in zip(self._rows, reference.stops, strict=True)
        ]
        self.known = cache(self._find_known)
        self.terms = cache(self._find_terms)
        self.all_values = cache(self._find_all_values)

    def value(self, item: WorkItem, number: int) -> Recorded | None:
        """Return what it is for a work-item at a stop; None where it is not visible."""
        row = self._rows[number]
        return None if row is None else row[self._reference.positions(item)[number]]

    def _find_known(self, item: WorkItem) -> KnownValues:
        """Return what is known at each stop."""
        positions = self._reference.positions(item)
        values = [None if row is None else row[at] for row, at in zip(self._rows, positions, strict=True)]
        states: list[KnownValue | str] = [
            HIDDEN if value is None else LACKING if isinstance(value, NoValue) else EARLY for value in values
        ]
        pairs: dict[tuple[int, frozenset[str]], KnownValue] = {}
        for numbers in self._scopes:
            for number, value, unknown in self._known_in(values, numbers):
                states[number] = pairs.setdefault((id(value), unknown), (value, unknown))
        return KnownValues(states)

    def _find_all_values(self, item: WorkItem) -> list[KnownValue]:
        """Return the values that it ever has; none if these may not be all."""
        everything = [(0, self.count)]
        runs = [state for state, _start, _stop in self.known(item).runs(everything)]
        if self._may_leave_changed or LACKING in runs or not self._reference.is_read(everything):
            return []
        values = [state for state in runs if not isinstance(state, str)]
        return [] if any(unknown for _value, unknown in values) else values

    @cached_property
    def _may_leave_changed(self) -> bool:
        """Whether the last statement of its block, or of its function, may give it a value that no stop shows."""
        stops, name = self._reference.stops, self.key.name
        before = (number - 1 for number in self._beginnings if number)
        lasts = {self.count - 1, *before, *(numbers[-1] for numbers in self._scopes)}
        lines = {stops[number].line for number in lasts}
        return any(self._reference.changes(line) and self._reference.use(name, line) is not None for line in lines)

    @cached_property
    def _scopes(self) -> list[list[int]]:
        """The stops while it is in scope, each time that its block is entered anew."""
        numbered = groupby(enumerate(self._is_hidden), lambda each: each[1])
        return [[number for number, _hidden in group] for is_hidden, group in numbered if not is_hidden]

    def is_one_life(self, first: int, last: int) -> bool:
        """Return whether it does not begin anew behind a stop and up to another: no block, and no call, does."""
        return bisect_right(self._beginnings, first) == bisect_right(self._beginnings, last)

    @cached_property
    def _beginnings(self) -> list[int]:
        """The stops at which its block is entered, or its function called."""
        stops, calls = self._reference.stops, self._reference.calls
        called = {number for number, stop in enumerate(stops) if id(stop) in calls}
        return sorted(called.union(numbers[0] for numbers in self._scopes))

    def _known_in(
        self, values: list[Recorded | None], numbers: list[int]
    ) -> Iterator[tuple[int, RecordedValue, frozenset[str]]]:
        """Yield the stops while it is in scope at which it has a value, with the leaves that have none yet."""
        stops, key = self._reference.stops, self.key
        last = max((number for number in numbers if stops[number].line == key.line), default=len(stops))
        beginning: dict[str, int | None] = {}
        changed: set[str] = set()
        before: RecordedValue | None = None
        was_initialized = False
        unknown: frozenset[str] = frozenset()
        for number in numbers:
            value = values[number]
            if not isinstance(value, RecordedValue):
                continue
            is_initialized = key.is_parameter or number > last
            if value is not before or is_initialized != was_initialized:
                lacking = set()
                for leaf, bits in zip(value.leaves, value.patterns, strict=True):
                    if beginning.setdefault(leaf.path, bits) != bits:
                        changed.add(leaf.path)
                    if bits is None or not (is_initialized or leaf.path in changed) or is_unused(bits, leaf.bits):
                        lacking.add(leaf.path)
                unknown, before, was_initialized = frozenset(lacking), value, is_initialized
            if len(unknown) < len(value.leaves):
                yield number, value, unknown

    def _find_terms(self, item: WorkItem, number: int) -> float:
        """Return how large the terms are that it is made of at a stop."""
        values: dict[str, float] = {}
        stop = self._reference.stops[number]
        for other in stop.values or ():
            value = stop.value(other, item)
            if isinstance(value, RecordedValue):
                values.update({other.name: largest} if (largest := largest_float(value)) is not None else {})
        return size_of_terms(self.key.name, self._reference.texts, values)

    @cached_property
    def is_rounded(self) -> bool:
        """Whether builds may round it in different ways."""
        return self.key.is_parameter or may_be_rounded(self.key.name, self._reference.texts)

    def is_alive(self, stretches: Iterable[Stretch], *, is_first: bool) -> bool:
        """Return whether the source needs it at all of some stops.

        At the first stop of a visit its own statement counts.
        """
        counts, starts = self._not_alive[0 if is_first else 1], self._reference.starts
        return all(
            counts[bisect_right(starts, start) - 1] == counts[bisect_left(starts, stop)] for start, stop in stretches
        )

    @cached_property
    def _not_alive(self) -> tuple[list[int], list[int]]:
        """In front of how many visits, and behind how many, of the first ones it is not needed."""
        first: list[bool] = []
        behind: list[bool] = []
        uses: dict[int, bool | None] = {}
        needed = False
        for visit in reversed(self._reference.visits):
            behind.append(not needed)
            if all(self._is_hidden[visit.first : visit.first + len(visit.stops)]):
                needed = False
            else:
                line = visit.line[1]
                if line not in uses:
                    uses[line] = self._reference.use(self.key.name, line)
                use = uses[line]
                needed = needed if use is None else use
            first.append(not needed)
            needed = needed and id(visit.stops[0]) not in self._reference.calls
        return [0, *accumulate(reversed(first))], [0, *accumulate(reversed(behind))]
