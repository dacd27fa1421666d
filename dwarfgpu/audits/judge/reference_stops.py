"""What is known of the variables at the stops of another build, which is taken for the truth.

A variable has a value there from its initialization on, or from its first change. It keeps most values over many stops:
they are kept as runs, so that a question about a range of stops is one about few values.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cache, cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from dwarfgpu.audits.judge.alignment import visits_of
from dwarfgpu.audits.judge.recorded_values import NoValue, RecordedValue, is_unused, largest_float
from dwarfgpu.audits.judge.rounding import may_be_rounded, size_of_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from dwarfgpu.audits.judge.recorded_values import Recorded
    from dwarfgpu.audits.judge.statement_record import DeclarationKey, StatementStop, WorkItem

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
            self._known[key] = True if text is None else _use_in(text, re.escape(name))
        return self._known[key]


def _use_in(text: str, word: str) -> bool | None:
    count = len(re.findall(rf"\b{word}\b", text))
    if not count:
        return None
    return count > 1 or not re.search(rf"(?<![.>])\b{word}\s*=(?!=)", text)


class ReferenceStops:
    """The stops of work-items in one context of the other build, with what is known of variables there."""

    def __init__(
        self,
        stops: list[StatementStop],
        uses: StatementUses,
        source: str,
        *,
        is_exact: bool = False,
        calls: Container[int] = (),
    ) -> None:
        self.stops = stops
        self._calls = calls
        """The stops, by identity, that are the first in a call of the function: it needs nothing of the call before."""
        self._is_exact = is_exact
        """Whether a variable counts wherever it has a value, not only from its initialization on."""
        self.visits = visits_of(stops)
        self._starts = [visit.first for visit in self.visits]
        self._uses = uses
        self._source = source
        """The file of the statements as the build that is judged calls it."""
        self._unread = [0, *accumulate(stop.values is None for stop in stops)]
        self._scopes = cache(self._find_scopes)
        self._not_alive = cache(self._find_not_alive)
        self.known = cache(self._find_known)
        self.terms = cache(self._find_terms)
        self.is_rounded = cache(self._find_rounded)

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

    def keys(self, stretches: Iterable[Stretch]) -> Iterable[DeclarationKey]:
        """Return the variables that are visible at any of some stops, in the order in which they become so."""
        starts, visible = self._visible
        keys: dict[DeclarationKey, None] = {}
        for start, stop in stretches:
            for index in range(bisect_right(starts, start) - 1, bisect_left(starts, stop)):
                keys.update(visible[index])
        return keys

    @cached_property
    def _visible(self) -> tuple[list[int], list[dict[DeclarationKey, None]]]:
        """The variables that are visible, each time that they change, and from which stop on."""
        starts: list[int] = []
        visible: list[dict[DeclarationKey, None]] = []
        last: tuple[DeclarationKey, ...] | None = None
        for number, stop in enumerate(self.stops):
            keys = tuple(stop.values or ())
            if keys != last:
                starts.append(number)
                visible.append(dict.fromkeys(keys))
                last = keys
        return starts, visible

    def _find_known(self, key: DeclarationKey, item: WorkItem) -> KnownValues:
        """Return what is known of a variable at each stop."""
        values = [stop.value(key, item) for stop in self.stops]
        states: list[KnownValue | str] = [
            HIDDEN if value is None else LACKING if isinstance(value, NoValue) else EARLY for value in values
        ]
        pairs: dict[tuple[int, frozenset[str]], KnownValue] = {}
        if self._is_exact:
            found: Iterable[tuple[int, frozenset[str]]] = (
                (number, frozenset()) for number, value in enumerate(values) if isinstance(value, RecordedValue)
            )
        else:
            found = (each for numbers in self._scopes(key) for each in self._known_in(key, values, numbers))
        for number, unknown in found:
            value = values[number]
            assert isinstance(value, RecordedValue)  # noqa: S101 (no other is known)
            states[number] = pairs.setdefault((id(value), unknown), (value, unknown))
        return KnownValues(states)

    def _find_scopes(self, key: DeclarationKey) -> list[list[int]]:
        """Return the stops while a variable is in scope, each time that its block is entered anew."""
        scopes: list[list[int]] = []
        is_open = False
        for number, stop in enumerate(self.stops):
            is_visible = stop.values is None or key in stop.values
            if is_visible and not is_open:
                scopes.append([])
            if is_visible:
                scopes[-1].append(number)
            is_open = is_visible
        return scopes

    def _known_in(
        self, key: DeclarationKey, values: list[Recorded | None], numbers: list[int]
    ) -> Iterator[tuple[int, frozenset[str]]]:
        """Yield the stops while a variable is in scope at which it has a value, with the leaves that have none yet."""
        last = max((number for number in numbers if self.stops[number].line == key.line), default=len(self.stops))
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
                yield number, unknown

    def _find_terms(self, key: DeclarationKey, item: WorkItem, number: int) -> float:
        """Return how large the terms are that a variable is made of at a stop."""
        values: dict[str, float] = {}
        for other in self.stops[number].values or ():
            value = self.stops[number].value(other, item)
            if isinstance(value, RecordedValue):
                values.update({other.name: largest} if (largest := largest_float(value)) is not None else {})
        return size_of_terms(key.name, self._texts, values)

    def _find_rounded(self, key: DeclarationKey) -> bool:
        """Return whether builds may round a variable in different ways."""
        return not self._is_exact and (key.is_parameter or may_be_rounded(key.name, self._texts))

    @cached_property
    def _texts(self) -> list[str]:
        """The statements that are executed."""
        texts = (self._uses.text(self._source, line) for line in dict.fromkeys(stop.line for stop in self.stops))
        return [text for text in texts if text is not None]

    def is_alive(self, key: DeclarationKey, stretches: Iterable[Stretch], *, is_first: bool) -> bool:
        """Return whether the source needs a variable at all of some stops.

        At the first stop of a visit its own statement counts.
        """
        counts = self._not_alive(key)[0 if is_first else 1]
        return all(
            counts[bisect_right(self._starts, start) - 1] == counts[bisect_left(self._starts, stop)]
            for start, stop in stretches
        )

    def _find_not_alive(self, key: DeclarationKey) -> tuple[list[int], list[int]]:
        """Return in front of how many visits, and behind how many, of the first ones a variable is not needed."""
        alive: list[tuple[bool, bool]] = []
        needed = False
        for visit in reversed(self.visits):
            later = needed
            if all(stop.values is not None and key not in stop.values for stop in visit.stops):
                needed = False
            else:
                use = self._uses.of(key.name, self._source, visit.line[1])
                needed = use if use is not None else later
            alive.append((needed, later))
            needed = needed and id(visit.stops[0]) not in self._calls
        first, behind = ([0, *accumulate(not each[index] for each in reversed(alive))] for index in range(2))
        return first, behind
