"""Variables of one build compared with those of another one of the same source, statement by statement.

The other build is taken for the truth where a variable has a value in it: from its initialization on, or from its first
change. A variable that has none here is missing only while it is alive: if a statement that names it comes before the
next one that assigns it.

A loop that one build has unrolled, or whose instructions it has moved from one round to another, has rounds that are
not certain: there a value is wrong only if no round has it, and right only if every round has it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from functools import cache, cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from dwarfgpu.audits.judge.buffer_accesses import judge_lines
from dwarfgpu.audits.judge.recorded_values import (
    NoValue,
    RecordedValue,
    ValueComparison,
    is_unused,
    largest_float,
    value_text,
)
from dwarfgpu.audits.judge.rounding import may_be_rounded, size_of_terms
from dwarfgpu.audits.judge.sightings import Sighting, Subject
from dwarfgpu.audits.judge.statement_record import BETWEEN_LANES, caller_in
from dwarfgpu.audits.verify.findings import ERROR, NOTE, WARNING, CheckRule, rules
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence

    from dwarfgpu.audits.judge.recorded_values import Recorded
    from dwarfgpu.audits.judge.same_code import SameCode
    from dwarfgpu.audits.judge.sightings import Sightings
    from dwarfgpu.audits.judge.statement_record import (
        Context,
        DeclarationKey,
        StatementHistory,
        StatementStop,
        WorkItem,
    )

RULES: dict[str, CheckRule] = rules(
    "against",
    ("wrong", ERROR, "A.4.1 (1)", "A variable has the value at a statement that it has there in another build.",
     "let the location say what the variable is in the source, or end its range"),
    ("missing", WARNING, "A.4.1 (1)", "A variable has a value at a statement as long as the source needs it.",
     "let the location, or the list, say where the value is at the statement that is named"),
    ("between", ERROR, "A.4.1 (1)", "Between statements a variable has a value that another build has around them.",
     "end the range of the location where the register gets another value, or begin it where it has its own"),
    ("together", ERROR, "A.4.1 (1)", "Variables have values that they have at the same time in another build.",
     "begin and end the ranges of the locations in the order of the assignments"),
    ("row", WARNING, "DWARF 5, 6.2.2", "An instruction has the line that it has in another build with the same code.",
     "give the instruction the line of the statement that it was made from"),
    ("access", WARNING, "DWARF 5, 6.2.2", "An instruction accesses what its line accesses in another build.",
     "give the instruction the line of the statement that it was made from"),
    ("line", NOTE, "DWARF 5, 6.2.2", "A line that another build executes has a statement that is executed, too.",
     "keep the line with an instruction of it, and is_stmt in its row"),
    ("result", ERROR, "C11, 5.1.2.3 (6)", "A kernel leaves in its buffers what another build leaves there.",
     "look for a miscompilation, a race, or a value that nothing has written"),
    ("rounding", NOTE, "C11, 6.5 (8)", "Floats, in buffers and where terms cancel, are rounded as in another build.",
     "compile both builds with -ffp-contract=off, and without -ffast-math, to see whether they still differ"),
)  # fmt: skip

COUNTED = RIGHT, WRONG, MISSING, UNCERTAIN = "right", "wrong", "missing", "uncertain"
MAX_TRUTHS = 256
"""The stops of the other build that a stop is compared with; one that could be more is not compared."""
MAX_NAMED = 3
"""The values of the other build that a finding names."""
MAX_ALIGNED = 2048
"""The visits of a sequence that are aligned, the first ones."""
_BARRIER = re.compile(r"barrier\s*\(")
_CHANGE = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)|<<=|>>=")


@frozen
class ComparedValue:
    """What a variable is at a stop of one work-item, and what it is in the other build."""

    result: str
    """``right``, ``wrong``, ``missing`` or ``uncertain``."""
    value: str = ""
    """What it is where it is wrong, or why it has no value."""
    other: str = ""
    """What it is in the other build; empty where it is right."""
    path: str = ""
    """The part of it that is wrong."""


StopNumber = tuple[int, int]
"""A stop of a work-item: the address, and how often the work-item had come there before."""


@frozen
class DifferentValue:
    """Where a variable is wrong, or missing, first."""

    name: str
    """The variable, with the path of the part that differs."""
    file: str
    line: int
    pc: int
    wave: str
    lane: int
    visit: int
    value: str
    """What it is, or why it has no value."""
    other: str
    """What it is in the other build."""


@frozen
class ComparedVariable:
    """How often a variable was right, wrong, missing while it was alive, and not certain, in all lanes."""

    function: str
    file: str
    name: str
    line: int
    right: int = 0
    wrong: int = 0
    missing: int = 0
    uncertain: int = 0
    first_wrong: DifferentValue | None = None
    first_missing: DifferentValue | None = None


@frozen
class ComparedPart:
    """The sums of a function, or of a file."""

    name: str
    right: int
    wrong: int
    missing: int
    uncertain: int = 0
    """The values that some rounds of a loop have in the other build; which round this is, is not certain."""

    @property
    def availability(self) -> float | None:
        """The share of what is needed that has a value, of what is certain."""
        available = self.right + self.wrong
        return available / (available + self.missing) if available + self.missing else None

    @property
    def share_right(self) -> float | None:
        """The share of what is needed that is right, of what is certain."""
        count = self.right + self.wrong + self.missing
        return self.right / count if count else None

    @property
    def correctness(self) -> float | None:
        """The share of the values that are right."""
        count = self.right + self.wrong
        return self.right / count if count else None


@frozen
class BuildJudgement:
    """What comparing a build with another one has shown."""

    other: str
    variables: tuple[ComparedVariable, ...]
    stops: int
    """The statements that lanes came to, each counted for each lane."""
    aligned: int
    """Those of them that are known to be a statement of the other build, and were compared."""
    is_cut: bool
    """Whether only the first stops were recorded."""
    between: ComparedPart
    """The values at instructions at which no statement begins, of some lanes."""
    depends_on_order: bool = False
    """Whether the order of atomic operations may change the buffers at the end, which are not compared then."""

    def functions(self) -> tuple[ComparedPart, ...]:
        """Return the sums of the functions."""
        return self._sums(lambda variable: variable.function)

    def files(self) -> tuple[ComparedPart, ...]:
        """Return the sums of the source files."""
        return self._sums(lambda variable: variable.file)

    def total(self) -> ComparedPart:
        """Return the sum of everything."""
        return next(iter(self._sums(lambda _variable: "")), ComparedPart("", 0, 0, 0))

    def _sums(self, name_of: Callable[[ComparedVariable], str]) -> tuple[ComparedPart, ...]:
        sums: dict[str, list[int]] = {}
        for variable in self.variables:
            counts = sums.setdefault(name_of(variable), [0, 0, 0, 0])
            for index, result in enumerate(COUNTED):
                counts[index] += getattr(variable, result)
        return tuple(ComparedPart(name, *counts) for name, counts in sums.items())


def together(parts: Sequence[BuildJudgement]) -> BuildJudgement:
    """Return what comparing several kernels with another build has shown; a function that several call is one."""
    variables: dict[tuple[Hashable, ...], list[ComparedVariable]] = {}
    for part in parts:
        for each in part.variables:
            variables.setdefault((each.function, each.file, each.name, each.line), []).append(each)
    return BuildJudgement(
        parts[0].other,
        tuple(map(_one_variable, variables.values())),
        sum(part.stops for part in parts),
        sum(part.aligned for part in parts),
        any(part.is_cut for part in parts),
        sum_of_compared([part.between for part in parts], parts[0].between.name),
        any(part.depends_on_order for part in parts),
    )


def _one_variable(of_kernels: Sequence[ComparedVariable]) -> ComparedVariable:
    counts = {key: sum(getattr(each, key) for each in of_kernels) for key in COUNTED}
    wrong, missing = (
        next((first for each in of_kernels if (first := getattr(each, key)) is not None), None)
        for key in ("first_wrong", "first_missing")
    )
    return evolve(of_kernels[0], first_wrong=wrong, first_missing=missing, **counts)


def sum_of_compared(parts: Sequence[ComparedPart], name: str) -> ComparedPart:
    """Return the sum of some parts, under a name."""
    return ComparedPart(name, *(sum(getattr(each, key) for each in parts) for key in COUNTED))


# --- One sequence -----------------------------------------------------------------------------------------------------


@frozen(eq=False)
class LineVisit:
    """Stops on one line that follow each other. A loop on one line is one visit, of several rounds."""

    line: tuple[str, int]
    stops: tuple[StatementStop, ...]
    first: int
    """The number of its first stop in the sequence."""
    rounds: tuple[int, ...]
    """For each stop how often one of the visit had been reached again before."""


def visits_of(stops: Iterable[StatementStop]) -> list[LineVisit]:
    """Return the visits of lines that stops of one context are."""
    visits: list[LineVisit] = []
    first = 0
    for place, group in groupby(stops, lambda stop: stop.place):
        of_line = tuple(group)
        rounds: list[int] = []
        reached: set[int] = set()
        number = 0
        for stop in of_line:
            if stop.pc in reached:
                number += 1
                reached.clear()
            reached.add(stop.pc)
            rounds.append(number)
        visits.append(LineVisit(place, of_line, first, tuple(rounds)))
        first += len(of_line)
    return visits


# --- Two sequences ------------------------------------------------------------------------------------------------


@frozen
class Counterparts:
    """The visits of the other build that a visit can be."""

    is_certain: bool
    """Whether every longest common subsequence has it."""
    visits: Sequence[int]


def align(lines: Sequence[Hashable], others: Sequence[Hashable]) -> list[Counterparts | None]:
    """Return for each visit of a line which of the others it can be; None for one that is not aligned.

    The stops of a work-item in one context are two sequences of lines. What both have in the same order is a longest
    common subsequence, and often there are several of these: a loop that one build has unrolled, a statement that is
    split. A visit of a line that is in all of them is *certain*; it can still be more than one visit of the other
    build, all of which are kept. A visit that is only in some of them can be any place between its certain neighbours.
    A visit that is in none, such as a piece of a statement that was moved before another, is not aligned.
    """
    lines, others = lines[:MAX_ALIGNED], others[:MAX_ALIGNED]
    if lines == others:
        return [Counterparts(True, (index,)) for index in range(len(lines))]
    if not lines or not others:
        return [None] * len(lines)
    numbers = {line: number for number, line in enumerate(dict.fromkeys([*lines, *others]))}
    left = np.array([numbers[line] for line in lines])
    right = np.array([numbers[line] for line in others])
    before = _lengths(left, right)
    behind = _lengths(left[::-1], right[::-1])[::-1, ::-1]
    length = int(before[-1, -1])
    aligned: list[Counterparts | None] = []
    for index in range(len(left)):
        through = (left[index] == right) & (before[index, :-1] + behind[index + 1, 1:] + 1 == length)
        visits = np.nonzero(through)[0]
        if not len(visits):
            aligned.append(None)
            continue
        is_certain = int((before[index] + behind[index + 1]).max()) < length
        aligned.append(Counterparts(is_certain, tuple(visits.tolist())))
    _widen(aligned, len(right))
    return aligned


def align_visits(
    visits: Sequence[LineVisit],
    others: Sequence[LineVisit],
    is_ordered: Callable[[tuple[str, int]], bool] = lambda _line: False,
) -> list[Counterparts | None]:
    """Align visits by their lines. Where the round of a loop is not certain, neither is a visit of it.

    The rounds of a line are certain if there are as many in the other build, and if it begins at the same instruction
    in each that begins at one instruction there: the compiler has left the loop as it is. Else the instructions of any
    round can be at any place of the loop, and the order of lines does not tell them apart, unless ``is_ordered`` says
    that the rounds of a line stay in their order: those of other lines can still have been moved across them.
    """
    aligned = align([visit.line for visit in visits], [visit.line for visit in others])
    rounds, other_rounds = _rounds_of(visits), _rounds_of(others)
    crossed: set[int] = set()
    for line, own in rounds.items():
        there = other_rounds.get(line, [])
        if len(there) < 2:
            continue
        is_alike = len(own) == len(there)
        is_kept = is_alike and _is_kept([visits[number] for number in own], [others[number] for number in there])
        is_certain = is_kept or (is_alike and is_ordered(line))
        for number, index in enumerate(own[: bisect_left(own, len(aligned))]):
            each = aligned[index]
            if each is not None and each.is_certain and not (is_certain and tuple(each.visits) == (there[number],)):
                aligned[index] = Counterparts(False, each.visits)
            elif not is_kept:
                crossed.add(index)
    _widen(aligned, len(others[:MAX_ALIGNED]), crossed)
    return aligned


def _is_kept(visits: Sequence[LineVisit], others: Sequence[LineVisit]) -> bool:
    """Whether the rounds of a line have the instructions of a loop that was not unrolled."""
    pairs = {(other.stops[0].pc, visit.stops[0].pc) for visit, other in zip(visits, others, strict=True)}
    return len({own for _other, own in pairs}) == 1 or len({other for other, _own in pairs}) == len(pairs) < len(visits)


def _rounds_of(visits: Sequence[LineVisit]) -> dict[tuple[str, int], list[int]]:
    """Return the numbers of the visits of each line."""
    rounds: dict[tuple[str, int], list[int]] = {}
    for number, visit in enumerate(visits):
        rounds.setdefault(visit.line, []).append(number)
    return rounds


def _widen(aligned: list[Counterparts | None], count: int, crossed: Container[int] = ()) -> None:
    """Let visits that are not certain be any place between their certain neighbours, but for those that are crossed."""
    following = [count - 1] * len(aligned)
    last = count - 1
    for index in range(len(aligned) - 1, -1, -1):
        following[index] = last
        each = aligned[index]
        if each is not None and each.is_certain and index not in crossed:
            last = each.visits[-1]
    first = 0
    for index, each in enumerate(aligned):
        if each is None:
            continue
        if each.is_certain and index not in crossed:
            first = each.visits[0]
        elif not each.is_certain:
            aligned[index] = Counterparts(False, range(first, following[index] + 1))


def _lengths(left: Any, right: Any) -> Any:
    """Return the length of the longest common subsequence of every two beginnings."""
    table = np.zeros((len(left) + 1, len(right) + 1), np.int16)
    for index, line in enumerate(left, 1):
        above = table[index - 1]
        row = above.copy()
        row[1:] = np.maximum(row[1:], above[:-1] + (right == line))
        np.maximum.accumulate(row, out=table[index])
    return table


# --- What statements need -----------------------------------------------------------------------------------------


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
        self._scopes: dict[DeclarationKey, list[list[int]]] = {}
        self._unknown: dict[tuple[DeclarationKey, WorkItem], dict[int, frozenset[str]]] = {}
        self._alive = cache(self._find_alive)
        self.terms = cache(self._find_terms)
        self.is_rounded = cache(self._find_rounded)
        self.last_value = cache(self._find_last_value)

    def is_ordered(self, line: tuple[str, int]) -> bool:
        """Return whether a line has a barrier: no compiler exchanges two of them."""
        text = self._uses.text(self._source, line[1])
        return text is not None and _BARRIER.search(text) is not None

    def changes(self, line: int) -> bool:
        """Return whether the statement of a line may change a variable behind its stop, as ``return x++;`` does."""
        text = self._uses.text(self._source, line)
        return text is None or _CHANGE.search(text) is not None

    def unknown(self, key: DeclarationKey, item: WorkItem, number: int) -> frozenset[str] | None:
        """Return the leaves of a variable that have had no value yet at a stop; None if none has one."""
        if self._is_exact:
            return frozenset()
        unknown = self._unknown.get((key, item))
        if unknown is None:
            unknown = self._unknown[key, item] = {}
            for numbers in self._scopes_of(key):
                unknown.update(self._unknown_in(key, item, numbers))
        return unknown.get(number)

    def _scopes_of(self, key: DeclarationKey) -> list[list[int]]:
        """Return the stops while a variable is in scope, each time that its block is entered anew."""
        scopes = self._scopes.get(key)
        if scopes is None:
            scopes, is_open = self._scopes.setdefault(key, []), False
            for number, stop in enumerate(self.stops):
                is_visible = stop.values is None or key in stop.values
                if is_visible and not is_open:
                    scopes.append([])
                if is_visible:
                    scopes[-1].append(number)
                is_open = is_visible
        return scopes

    def _unknown_in(
        self, key: DeclarationKey, item: WorkItem, numbers: list[int]
    ) -> Iterator[tuple[int, frozenset[str]]]:
        """Yield what is not known at the stops while a variable is in scope."""
        last = max((number for number in numbers if self.stops[number].line == key.line), default=len(self.stops))
        beginning: dict[str, int | None] = {}
        changed: set[str] = set()
        for number in numbers:
            value = self.stops[number].value(key, item)
            if not isinstance(value, RecordedValue):
                continue
            is_initialized = key.is_parameter or number > last
            unknown = set()
            for leaf, bits in zip(value.leaves, value.patterns, strict=True):
                if beginning.setdefault(leaf.path, bits) != bits:
                    changed.add(leaf.path)
                if bits is None or not (is_initialized or leaf.path in changed) or is_unused(bits, leaf.bits):
                    unknown.add(leaf.path)
            if len(unknown) < len(value.leaves):
                yield number, frozenset(unknown)

    def _find_last_value(
        self, key: DeclarationKey, item: WorkItem, before: int
    ) -> list[tuple[RecordedValue, frozenset[str]]]:
        """Return the value that a variable had when its block was left last, before a stop; none without one."""
        return next(filter(None, (_values_at(key, item, self, (number,)) for number in range(before - 1, -1, -1))), [])

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

    def is_alive(self, key: DeclarationKey, number: int, *, is_first: bool) -> bool:
        """Return whether the source needs a variable: at the first stop of a visit its own statement counts."""
        visit = bisect_right(self._starts, number) - 1
        return self._alive(key)[visit][0 if is_first else 1]

    def _find_alive(self, key: DeclarationKey) -> list[tuple[bool, bool]]:
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
        return alive[::-1]


# --- The comparison ---------------------------------------------------------------------------------------------------


class StatementComparison:
    """Compares the statements of a build that is judged with those of another one."""

    def __init__(
        self,
        history: StatementHistory,
        other: StatementHistory,
        name: str,
        uses: StatementUses,
        sightings: Sightings,
        same: SameCode | None = None,
    ) -> None:
        self.history = history
        self.other = other
        self.name = name
        self.uses = uses
        self.sightings = sightings
        self.same = same
        """The other build, if its code is the same: then its history has the same stops."""
        self.values = ValueComparison(history.names, other.names, is_exact=same is not None)
        self._variables: dict[tuple[str, str, DeclarationKey], ComparedVariable] = {}
        self._alignments: dict[Hashable, list[Counterparts | None]] = {}
        self._order = {id(stop): number for number, stop in enumerate(history.stops)}
        self._seen: dict[tuple[str, str, DeclarationKey, int], tuple[tuple[int, int], DifferentValue]] = {}
        self._lanes: defaultdict[tuple[str, str, DeclarationKey, int], Counter[str]] = defaultdict(Counter)
        """The lanes of each wave with such a value, as masks."""

    def run(self) -> BuildJudgement:
        """Compare everything, and report what differs."""
        aligned = 0
        for stop, items, reference, truths, is_first in self._each(self.history.by_item):
            aligned += len(items)
            self.sightings.note(RULES["wrong"], stop.pc)
            self.sightings.note(RULES["missing"], stop.pc)
            for item, key, compared in self._compared(items, stop, reference, truths, is_first=is_first):
                self._count(item, stop, key, compared)
            if not truths.is_certain:
                for item in items[:: max(1, len(items) // BETWEEN_LANES)]:
                    self._judge_together(item, stop, reference, truths.stops)
        self._report()
        between = self._compare_between() if self.same is None else self._compare_everywhere(self.same)
        self._compare_lines()
        if self.history.accesses is not None and self.other.accesses is not None and self.same is None:
            judge_lines(self.history.accesses, self.other.accesses, self.name, RULES["access"], self.sightings)
        return BuildJudgement(
            self.name,
            tuple(self._variables.values()),
            sum(map(len, self.history.by_item.values())),
            aligned,
            self.history.is_cut or self.other.is_cut,
            between,
        )

    # --- Between statements ---------------------------------------------------------------------------------------

    def _compare_between(self) -> ComparedPart:
        """Compare what variables are at instructions at which no statement begins; return how many are right."""
        counts = {RIGHT: 0, WRONG: 0, UNCERTAIN: 0}
        references: dict[tuple[int, ...], ReferenceStops] = {}
        for item, between in self.history.between.items():
            others = _by_context(self.other.by_item.get(item, []))
            own = self.history.by_item[item]
            numbers: dict[Context, list[int]] = {}
            calls = self.other.self_calls.get(item, set())
            for number, stop in enumerate(own):
                numbers.setdefault(stop.context, []).append(number)
            for behind, stop in between:
                there = others.get(stop.context)
                count = bisect_left(numbers.get(stop.context, []), behind)
                if there is None or not count or not stop.values:
                    continue
                if any(caller_in(call) == stop.context for call in calls):
                    continue  # the activations of the other build are rounds here
                here = [own[number] for number in numbers[stop.context]]
                key = tuple(map(id, there))
                reference = references.get(key)
                if reference is None:
                    reference = references[key] = ReferenceStops(there, self.uses, here[0].file)
                truths = self._around(here, count - 1, reference, stop)
                if not 0 < len(truths) <= MAX_TRUTHS or any(there[number].values is None for number in truths):
                    continue
                self.sightings.note(RULES["between"], stop.pc)
                self._judge_together(item, stop, reference, truths)
                for name in stop.values:
                    compared = self._compare_near(item, name, stop, reference, truths)
                    if compared is not None:
                        counts[compared.result] += 1
                    if compared is not None and compared.result == WRONG:
                        message = f"{name.name}{compared.path} is {compared.value} between statements, and around them"
                        message += f" other values in {self.name}, such as {compared.other}"
                        self._add_between(name, item, stop, message)
        return ComparedPart("between statements", counts[RIGHT], counts[WRONG], 0, counts[UNCERTAIN])

    # --- Variables together ---------------------------------------------------------------------------------------

    def _judge_together(
        self, item: WorkItem, stop: StatementStop, reference: ReferenceStops, truths: Sequence[int]
    ) -> None:
        """Report variables that have their values in the other build, but never at the same moment.

        Between two stops a variable has the value of the one or of the other.
        """
        self.sightings.note(RULES["together"], stop.pc)
        moments: dict[DeclarationKey, set[int]] = {}
        texts: dict[DeclarationKey, str] = {}
        for key in stop.values or ():
            value = stop.value(key, item)
            if key not in self.other.shared | self.other.listed and isinstance(value, RecordedValue):
                found = self._moments(item, key, value, reference, truths)
                moments[key] = {each for number in found for each in (number - 1, number)}
                texts[key] = f"{key.name} is {value_text(value, self.history.names)}"
        known = [key for key, found in moments.items() if found]
        apart = {key: [each for each in known if moments[key].isdisjoint(moments[each])] for key in known}
        while any(apart.values()):
            key = max(apart, key=lambda each: len(apart[each]))
            others = apart.pop(key)
            message = f"{texts[key]} while {' and '.join(map(texts.__getitem__, others[:MAX_NAMED]))}, which never"
            message += f" happens in {self.name}"
            lane = stop.lanes[stop.positions[item]]
            self.sightings.add(
                Subject(RULES["together"], key.name, key), stop.pc, Sighting(message, stop.wave, lane, stop.visit)
            )
            apart = {each: [other for other in of if other != key] for each, of in apart.items()}

    def _moments(
        self,
        item: WorkItem,
        key: DeclarationKey,
        value: RecordedValue,
        reference: ReferenceStops,
        truths: Sequence[int],
    ) -> set[int]:
        """Return the stops of the other build at which a variable may have a value.

        Out of its scope it keeps its last value, and before it has any it may have the first one.
        """
        scale = 0.0 if reference.is_rounded(key) else None
        found: set[int] = set()
        early: list[int] = []
        last = reference.last_value(key, item, truths[0])
        for number in truths:
            is_any = isinstance(reference.stops[number].value(key, item), NoValue)
            values = last if is_any else _values_at(key, item, reference, (number,)) or last
            early.append(number)
            if values or is_any:
                if is_any or any(self.values.difference(value, *each, scale) is None for each in values):
                    found.update(early)
                early, last = [], values
        return found

    def _compare_everywhere(self, same: SameCode) -> ComparedPart:
        """Compare lines, and variables where no statement begins, with those of the same code."""
        right, wrong = sum(same.alike.values()), 0
        for pc in same.alike:
            self.sightings.note(RULES["between"], pc)
        for item, between in self.history.between.items():
            for (_behind, stop), (_other, there) in zip(between, self.other.between[item], strict=True):
                for key in stop.values or ():
                    value = there.value(key, item)
                    others = [(value, frozenset[str]())] if isinstance(value, RecordedValue) else []
                    compared = self._compare_value(stop.value(key, item), others, is_alive=False, is_certain=True)
                    right += compared is not None and compared.result == RIGHT
                    if compared is not None and compared.result == WRONG:
                        wrong += 1
                        message = f"{key.name}{compared.path} is {compared.value}, and {compared.other} in {self.name}"
                        self._add_between(key, item, stop, message)
        for pc, line, other in same.different_lines():
            message = f"the instruction belongs to line {line}, and to line {other} in {self.name}"
            self.sightings.add(Subject(RULES["row"], f"{line}"), pc, Sighting(message, self.history.stops[0].wave))
        return ComparedPart("between statements", right, wrong, 0)

    def _add_between(self, key: DeclarationKey, item: WorkItem, stop: StatementStop, message: str) -> None:
        lane = stop.lanes[stop.positions[item]]
        subject = Subject(RULES["between"], key.name, key)
        self.sightings.add(subject, stop.pc, Sighting(message, stop.wave, lane, stop.visit))

    def _compare_near(
        self, item: WorkItem, key: DeclarationKey, stop: StatementStop, reference: ReferenceStops, truths: Sequence[int]
    ) -> ComparedValue | None:
        """Return what comparing a value with those around it gives, where the variable has one; None without any."""
        value = stop.value(key, item)
        if key in self.other.shared | self.other.listed or not isinstance(value, RecordedValue):
            return None
        others = _values_at(key, item, reference, truths)
        if any(key not in (reference.stops[number].values or ()) for number in truths):
            others += reference.last_value(key, item, truths[0])
        compared = self._compare_value(
            value, others, is_alive=False, is_certain=True, is_rounded=reference.is_rounded(key)
        )
        if compared is None or compared.result == MISSING:
            return None
        return self._weighed(item, key, stop, compared, others, reference, truths)

    def _around(
        self, stops: list[StatementStop], number: int, reference: ReferenceStops, piece: StatementStop
    ) -> Sequence[int]:
        """Return the stops of the other build between the certain neighbours of what follows a stop.

        A piece of another line than that of the statement was moved, or the statement was: it belongs to its own line.
        """
        visits = visits_of(stops)
        alignment = self._alignment(visits, reference)
        at = next(index for index, visit in reversed(list(enumerate(visits))) if visit.first <= number)
        certain = [(index, each) for index, each in enumerate(alignment) if each is not None and each.is_certain]
        before = [each for index, each in certain if index <= at]
        behind = next((each for index, each in certain if index > at), None)
        if not (before and behind) and (self.history.is_cut or self.other.is_cut):
            return ()  # where one build may have come further than the other
        first, end, around = before[-1].visits[0] if before else 0, len(reference.stops), alignment[at]
        moved = [] if around is None else [around.visits[0], around.visits[-1]]
        if piece.place != visits[at].line:
            moved += [index for index, visit in enumerate(reference.visits) if visit.line == piece.place]
        if behind is not None:
            last = reference.visits[max([behind.visits[-1], *moved])]
            end = min(last.first + len(last.stops) + 1, end)
        elif reference.changes(reference.stops[-1].line):
            return ()
        return range(reference.visits[min([first, *moved])].first, end)

    def _alignment(self, visits: list[LineVisit], reference: ReferenceStops) -> list[Counterparts | None]:
        lines = tuple((visit.line, visit.stops[0].pc) for visit in visits)
        key = lines, tuple(visit.line for visit in reference.visits)
        alignment = self._alignments.get(key)
        if alignment is None:
            alignment = self._alignments[key] = align_visits(visits, reference.visits, reference.is_ordered)
        return alignment

    def _compare_lines(self) -> None:
        """Report the lines that work-items come to in the other build alone."""
        seen = {stop.place for stop in self.history.stops}
        for item, stops in self.history.by_item.items():
            own = {stop.context: stop for stop in reversed(stops)}
            for other in self.other.by_item.get(item, ()):
                first = own.get(other.context)
                if first is not None and other.place not in seen:
                    seen.add(other.place)
                    message = f"line {other.line} is executed in {self.name}, and no statement of it here"
                    lane = first.lanes[first.positions[item]]
                    subject = Subject(RULES["line"], f"{other.place}", limit="line-dropped")
                    self.sightings.add(subject, first.pc, Sighting(message, first.wave, lane))

    # --- Statements -----------------------------------------------------------------------------------------------

    def of_item(self, item: WorkItem) -> dict[StopNumber, dict[DeclarationKey, ComparedValue]]:
        """Return what comparing the variables of one work-item gives at each of its stops that is aligned."""
        numbers: dict[int, StopNumber] = {}
        counts: dict[int, int] = {}
        for stop in self.history.by_item.get(item, ()):
            number = counts.get(stop.pc, 0)
            numbers[id(stop)] = stop.pc, number
            counts[stop.pc] = number + 1
        results: dict[StopNumber, dict[DeclarationKey, ComparedValue]] = {}
        for stop, items, reference, truths, is_first in self._each([item]):
            found = self._compared(items, stop, reference, truths, is_first=is_first)
            results.setdefault(numbers[id(stop)], {}).update((key, compared) for _item, key, compared in found)
        return results

    def _each(
        self, items: Iterable[WorkItem]
    ) -> Iterator[tuple[StatementStop, list[WorkItem], ReferenceStops, Truths, bool]]:
        """Yield the stops of work-items that are compared, with those that come to them, and what they can be."""
        for stops, others, alike in self._sequences(items):
            calls = _first_in_calls(self.other.by_item[alike[0]], others[0].context)
            is_exact = self.same is not None
            reference = ReferenceStops(others, self.uses, stops[0].file, is_exact=is_exact, calls=calls)
            for stop, truths, is_first in self._aligned(stops, reference):
                yield stop, alike, reference, truths, is_first

    def _sequences(
        self, items: Iterable[WorkItem]
    ) -> Iterable[tuple[list[StatementStop], list[StatementStop], list[WorkItem]]]:
        """Return the stops of work-items in one context of both builds, with those that come to exactly these.

        A function that calls itself in the other build and is a loop in this one is left out: its activation is
        those of the source, one after the other.
        """
        sequences: dict[Any, tuple[list[StatementStop], list[StatementStop], list[WorkItem]]] = {}
        for item in items:
            contexts = _by_context(self.history.by_item.get(item, []))
            others = _by_context(self.other.by_item.get(item, []))
            calls = self.other.self_calls.get(item, set())
            for context, here in contexts.items():
                if context in others and not any(caller_in(call) == context for call in calls - contexts.keys()):
                    there = others[context]
                    key = tuple(map(id, here)), tuple(map(id, there))
                    sequences.setdefault(key, (here, there, []))[2].append(item)
        return sequences.values()

    def _aligned(
        self, stops: list[StatementStop], reference: ReferenceStops
    ) -> Iterator[tuple[StatementStop, Truths, bool]]:
        """Yield the stops that are compared: with what, and whether each is the first of its visit."""
        if self.same is not None:
            firsts = {visit.first for visit in reference.visits}
            for number, stop in enumerate(stops):
                if stop.values is not None:
                    yield stop, Truths((number,), 1, is_certain=True), number in firsts
            return
        visits = visits_of(stops)
        for visit, counterparts in zip(visits, self._alignment(visits, reference), strict=False):
            if counterparts is None:
                continue
            for index, stop in enumerate(visit.stops):
                truths = _truths(visit, index, reference, counterparts)
                if stop.values is None or not 0 < len(truths.stops) <= MAX_TRUTHS:
                    continue
                if any(reference.stops[number].values is None for number in truths.stops):
                    continue
                yield stop, truths, stop is visit.stops[0]

    def _compared(
        self, items: list[WorkItem], stop: StatementStop, reference: ReferenceStops, truths: Truths, *, is_first: bool
    ) -> Iterator[tuple[WorkItem, DeclarationKey, ComparedValue]]:
        """Yield what the variables of work-items are at a stop, of those that have a value in the other build."""
        keys = dict.fromkeys(key for number in truths.stops for key in reference.stops[number].values or ())
        for key in keys:
            if key in self.other.shared:
                continue
            statement = truths.stops[: truths.count]
            is_alive = all(reference.is_alive(key, number, is_first=is_first) for number in statement)
            for item in items:
                others = _values_at(key, item, reference, truths.stops)
                is_known = len(_values_at(key, item, reference, statement)) == len(statement)
                if not others or (truths.is_certain and not is_known):
                    continue
                compared = self._compare_value(
                    stop.value(key, item),
                    others,
                    is_alive=is_alive and is_known,
                    is_certain=truths.is_certain,
                    is_rounded=reference.is_rounded(key),
                )
                if compared is None:
                    continue
                leaves = truths.is_certain and len(others) < len(truths.stops)
                if leaves and compared.result == WRONG and reference.changes(stop.line):
                    continue  # it may have the value with which it leaves its scope
                yield item, key, self._weighed(item, key, stop, compared, others, reference, truths.stops)

    def _compare_value(
        self,
        value: Recorded | None,
        others: list[tuple[RecordedValue, frozenset[str]]],
        *,
        is_alive: bool,
        is_certain: bool,
        is_rounded: bool = False,
    ) -> ComparedValue | None:
        """Return what comparing a value gives; None for one that is missing where the source does not need it."""
        if not others:
            return None
        truth, unknown = others[0]
        if not isinstance(value, RecordedValue):
            reason = "it is not visible" if value is None else value.reason
            return ComparedValue(MISSING, reason, value_text(truth, self.other.names)) if is_alive else None
        scale = 0.0 if is_rounded else None
        differences = [self.values.difference(value, other, leaves, scale) for other, leaves in dict.fromkeys(others)]
        first = next((difference for difference in differences if difference is not None), None)
        if first is not None and None not in differences:
            texts = list(dict.fromkeys(each.other for each in differences if each and each.path == first.path))
            named = " or ".join([*texts[:MAX_NAMED], *(["another one"] if len(texts) > MAX_NAMED else [])])
            return ComparedValue(WRONG, first.text, named, first.path)
        if first is not None and not is_certain:
            return ComparedValue(UNCERTAIN, first.text, first.other, first.path)
        lacking = [
            leaf.path
            for leaf, bits in zip(value.leaves, value.patterns, strict=True)
            if bits is None and leaf.path not in unknown
        ]
        if not lacking:
            return ComparedValue(RIGHT)
        if not is_alive:
            return None
        return ComparedValue(MISSING, f"{lacking[0]} has no value", value_text(truth, self.other.names))

    def _may_be_early(
        self, key: DeclarationKey, item: WorkItem, value: Any, reference: ReferenceStops, truths: Sequence[int]
    ) -> bool:
        """Return whether the other build can have a value before the variable is known to be initialized.

        A variable in memory has anything there, and the counter of a loop on one line has its first value.
        """
        stops = [reference.stops[number] for number in truths if reference.unknown(key, item, number) is None]
        early = [there for stop in stops if (there := stop.value(key, item)) is not None]
        if key not in self.history.listed:
            return bool(early)
        return any(isinstance(each, RecordedValue) and not self.values.difference(value, each) for each in early)

    def _weighed(
        self,
        item: WorkItem,
        key: DeclarationKey,
        stop: StatementStop,
        compared: ComparedValue,
        others: list[tuple[RecordedValue, frozenset[str]]],
        reference: ReferenceStops,
        truths: Sequence[int],
    ) -> ComparedValue:
        """Return what a comparison gives where a wrong value may be early, or roundings of its terms made it."""
        value = stop.value(key, item)
        if compared.result == WRONG and self._may_be_early(key, item, value, reference, truths):
            return evolve(compared, result=UNCERTAIN)
        is_wrong = compared.result == WRONG and reference.is_rounded(key)
        if not is_wrong or not isinstance(value, RecordedValue) or largest_float(value) is None:
            return compared
        scale = max(reference.terms(key, item, number) for number in truths)
        if all(self.values.difference(value, other, leaves, scale) for other, leaves in others):
            return compared
        message = f"{key.name}{compared.path} is {compared.value}, and {compared.other} in {self.name}, which roundings"
        message += " of its terms can make"
        sighting = Sighting(message, stop.wave, stop.lanes[stop.positions[item]], stop.visit)
        self.sightings.add(Subject(RULES["rounding"], key.name, key), stop.pc, sighting)
        return evolve(compared, result=UNCERTAIN)

    def _count(self, item: WorkItem, stop: StatementStop, key: DeclarationKey, compared: ComparedValue) -> None:
        where = str(stop.context[0]), stop.file, key
        variable = self._variables.get(where)
        if variable is None:
            variable = ComparedVariable(where[0], stop.file, key.name, key.line)
        result = compared.result
        counts: dict[str, int] = {result: getattr(variable, result) + 1}
        self._variables[where] = evolve(variable, **counts)  # type: ignore[arg-type]
        if result in (RIGHT, UNCERTAIN):
            return
        lane = stop.lanes[stop.positions[item]]
        order = self._order[id(stop)], lane
        place = result, where[0], key, stop.pc
        self._lanes[place][stop.wave] |= 1 << lane
        seen = self._seen.get(place)
        if seen is not None and seen[0] <= order:
            return
        different = DifferentValue(
            f"{key.name}{compared.path}", stop.file, stop.line, stop.pc, stop.wave, lane, stop.visit, compared.value,
            compared.other,
        )  # fmt: skip
        self._seen[place] = order, different

    def _report(self) -> None:
        """Report the first place of each address, and keep the first of each variable."""
        firsts: dict[tuple[str, str, DeclarationKey], DifferentValue] = {}
        for place, (_order, different) in sorted(self._seen.items(), key=lambda pair: pair[1][0]):
            result, function, key, pc = place
            firsts.setdefault((result, function, key), different)
            if result == WRONG:
                message = f"{different.name} is {different.value}, and {different.other} in {self.name}"
            else:
                message = f"{key.name} has no value, and is {different.other} in {self.name}: {different.value}"
            sighting = Sighting(message, different.wave, different.lane, different.visit)
            limit = "value-dropped" if result == MISSING and self.same is None else None
            for each in (sighting, *(Sighting("", wave, lanes=mask) for wave, mask in self._lanes[place].items())):
                self.sightings.add(Subject(RULES[result], key.name, key, limit), pc, each)
        for where, variable in self._variables.items():
            wrong, missing = (firsts.get((result, where[0], where[2])) for result in (WRONG, MISSING))
            self._variables[where] = evolve(variable, first_wrong=wrong, first_missing=missing)


def _by_context(stops: Iterable[StatementStop]) -> dict[Context, list[StatementStop]]:
    contexts: dict[Context, list[StatementStop]] = {}
    for stop in stops:
        contexts.setdefault(stop.context, []).append(stop)
    return contexts


def _first_in_calls(stops: Iterable[StatementStop], context: Context) -> set[int]:
    """Return the stops of a context, by identity, between which and the one before a caller has come to a statement."""
    firsts: set[int] = set()
    is_called = True
    for stop in stops:
        if stop.context == context:
            firsts.update([id(stop)] * is_called)
            is_called = False
        else:
            is_called |= len(context) > 1 and stop.context == (context[1][0], *context[2:])
    return firsts


def _values_at(
    key: DeclarationKey, item: WorkItem, reference: ReferenceStops, places: Sequence[int]
) -> list[tuple[RecordedValue, frozenset[str]]]:
    """Return the values of a variable at stops of the other build, with the leaves that are not known."""
    values: list[tuple[RecordedValue, frozenset[str]]] = []
    for number in places:
        value, unknown = reference.stops[number].value(key, item), reference.unknown(key, item, number)
        if isinstance(value, RecordedValue) and unknown is not None:
            values.append((value, unknown))
    return values


@frozen
class Truths:
    """The stops of the other build that a stop can be."""

    stops: Sequence[int]
    count: int
    """How many of them are of the statement itself; the one behind, if there is one, is of the next."""
    is_certain: bool
    """Whether they are one round of a loop; else the stop may be any of them."""


def _truths(visit: LineVisit, index: int, reference: ReferenceStops, counterparts: Counterparts) -> Truths:
    """Return the stops of the other build that a stop can be.

    In a certain visit they are those of the same round, if it has as many, and of the same column. Without one they
    are all of them, and the one behind: the statement may have done its work.
    """
    stop, round_ = visit.stops[index], visit.rounds[index]
    last = reference.visits[counterparts.visits[-1]]
    behind = last.first + len(last.stops)
    end = min(behind + 1, len(reference.stops))
    if not counterparts.is_certain or len(counterparts.visits) > 1 or visit.rounds[-1] != last.rounds[-1]:
        start = reference.visits[counterparts.visits[0]].first
        return Truths(range(start, end), behind - start, is_certain=False)
    numbered = [number for number, each in enumerate(last.rounds, last.first) if each == round_]
    same = [number for number in numbered if reference.stops[number].column == stop.column]
    stops = same or [*numbered, *range(numbered[-1] + 1, min(numbered[-1] + 2, end))]
    return Truths(tuple(stops), len(same or numbered), is_certain=True)
