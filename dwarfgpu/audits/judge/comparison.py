"""Variables of one build compared with those of another one of the same source, statement by statement.

The other build is taken for the truth where a variable has a value in it: from its initialization on, or from its first
change. A variable that has none here is missing only while it is alive: if a statement that names it comes before the
next one that assigns it.

Where the round of a loop is not certain, a value is wrong only if no round has it, and right only if all have it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dwarfgpu.audits.judge.alignment import Counterparts, LineVisit, align_visits, visits_of
from dwarfgpu.audits.judge.buffer_accesses import judge_lines
from dwarfgpu.audits.judge.recorded_values import (
    RecordedValue,
    ValueComparison,
    largest_float,
    recorded_text,
    value_text,
)
from dwarfgpu.audits.judge.reference_stops import EARLY, HIDDEN, LACKING, ReferenceStops, stretches_of
from dwarfgpu.audits.judge.sightings import Sighting, Sightings, Subject
from dwarfgpu.audits.judge.statement_record import caller_in
from dwarfgpu.audits.judge.values_apart import ValuesApart
from dwarfgpu.audits.verify.findings import ERROR, NOTE, WARNING, CheckRule, rules
from dwarfgpu.immutable import evolve, frozen

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.buffer_accesses import WorkItem
    from dwarfgpu.audits.judge.recorded_values import Recorded
    from dwarfgpu.audits.judge.reference_stops import KnownValue, ReferenceVariable, StatementUses, Stretch
    from dwarfgpu.audits.judge.statement_record import Context, DeclarationKey, StatementHistory, StatementStop

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
    ("order", ERROR, "A.4.1 (1)", "A variable has its values in the order in which it has them in another build.",
     "begin and end the ranges of the locations in the order of the assignments"),
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


_RIGHT = ComparedValue(RIGHT)


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
        return self._sums(lambda variable: variable.function)

    def files(self) -> tuple[ComparedPart, ...]:
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


# --- The comparison ---------------------------------------------------------------------------------------------------


class StatementComparison:
    """Compares the statements of a build that is judged with those of another one."""

    def __init__(
        self, history: StatementHistory, other: StatementHistory, name: str, uses: StatementUses, sightings: Sightings
    ) -> None:
        self.history = history
        self.other = other
        self.name = name
        self.uses = uses
        self.sightings = sightings
        self.values = ValueComparison(history.names, other.names)
        self._apart = ValuesApart(history, name, RULES["together"], sightings)
        self._counts: defaultdict[tuple[str, str, DeclarationKey], Counter[str]] = defaultdict(Counter)
        self._alignments: dict[Hashable, list[Counterparts | None]] = {}
        self._references: dict[tuple[int, ...], ReferenceStops] = {}
        self._pairs: dict[tuple[tuple[int, ...], tuple[int, ...]], AlignedStops] = {}
        """By the identities of the stops of a context in both builds."""
        self._uncertain = other.shared | other.listed
        """The variables whose values at single instructions of the other build are not certain."""
        self._order = {id(stop): number for number, stop in enumerate(history.stops)}
        self._seen: dict[tuple[str, str, DeclarationKey, int], tuple[tuple[int, int], DifferentValue]] = {}
        self._lanes: defaultdict[tuple[str, str, DeclarationKey, int], Counter[str]] = defaultdict(Counter)
        """The lanes of each wave with such a value, as masks."""

    def run(self) -> BuildJudgement:
        """Compare everything, and report what differs."""
        aligned = 0
        for stop, items, reference, truths, is_first in self._each():
            aligned += len(items)
            self.sightings.note(RULES["wrong"], stop.pc)
            self.sightings.note(RULES["missing"], stop.pc)
            for item, key, compared in self._compared(items, stop, reference, truths, is_first=is_first):
                self._count(item, stop, key, compared)
        variables = self._report()
        between = self._compare_between()
        self._compare_lines()
        if self.history.accesses is not None and self.other.accesses is not None:
            judge_lines(self.history.accesses, self.other.accesses, self.name, RULES["access"], self.sightings)
        return BuildJudgement(
            self.name,
            variables,
            sum(map(len, self.history.by_item.values())),
            aligned,
            self.history.is_cut or self.other.is_cut,
            between,
        )

    # --- Between statements ---------------------------------------------------------------------------------------

    def _compare_between(self) -> ComparedPart:
        """Compare what variables are at instructions at which no statement begins; return how many are right."""
        counts = {RIGHT: 0, WRONG: 0, UNCERTAIN: 0}
        for item in self.history.between:
            for of_context, places in self._executed(item):
                latest: dict[DeclarationKey, LatestStop] = {}
                for behind, stop in places:
                    if not stop.values:
                        continue
                    aligned, stretches = self._stretches_at(item, of_context, behind, stop)
                    sources = self._sources(item, stop, aligned.reference, stretches) if stretches else {}
                    for key in self._judge_together(item, stop, sources):
                        del sources[key]  # one of them is wrong
                    self._judge_order(item, stop, aligned.reference, sources, latest)
                    if id(stop) not in self._order:
                        self.sightings.note(RULES["between"], stop.pc)
                        self._judge_between(item, stop, aligned.reference, stretches, counts)
        self._apart.report()
        return ComparedPart("between statements", counts[RIGHT], counts[WRONG], 0, counts[UNCERTAIN])

    def _executed(self, item: WorkItem) -> Iterator[tuple[StopsOfContext, list[tuple[int, StatementStop]]]]:
        """Yield what a work-item executes in each context of both builds, in this order, behind how many stops."""
        contexts = self._contexts_of(item)
        places: dict[Context, list[tuple[int, StatementStop]]] = {context: [] for context in contexts}
        every = (*enumerate(self.history.by_item.get(item, ()), 1), *self.history.between[item])
        for behind, stop in sorted(every, key=lambda pair: pair[0]):
            if stop.context in places:
                places[stop.context].append((behind, stop))
        yield from ((contexts[context], found) for context, found in places.items())

    def _contexts_of(self, item: WorkItem) -> dict[Context, StopsOfContext]:
        """Return the stops of a work-item in each context of both builds, with their numbers among all that it has.

        A function that calls itself in the other build is left out: its activations are rounds here.
        """
        calls = {caller_in(call) for call in self.other.self_calls.get(item, ())}
        numbers: dict[Context, list[int]] = {}
        for number, stop in enumerate(self.history.by_item.get(item, [])):
            numbers.setdefault(stop.context, []).append(number)
        aligned = self._aligned_stops(item)
        return {context: (stops, numbers[context]) for context, stops in aligned if context not in calls}

    def _aligned_stops(self, item: WorkItem) -> Iterator[tuple[Context, AlignedStops]]:
        """Yield the stops of a work-item in each context of both builds."""
        others = _by_context(self.other.by_item.get(item, []))
        for context, here in _by_context(self.history.by_item.get(item, [])).items():
            there = others.get(context)
            if there is None:
                continue
            key = tuple(map(id, here)), tuple(map(id, there))
            if key not in self._pairs:
                reference = self._references.get(key[1])
                if reference is None:
                    firsts = _first_in_calls(self.other.by_item[item], context)
                    reference = ReferenceStops(there, self.uses, here[0].file, calls=firsts)
                    self._references[key[1]] = reference
                visits = visits_of(here)
                self._pairs[key] = AlignedStops(visits, self._alignment(visits, reference), reference)
            yield context, self._pairs[key]

    def _stretches_at(
        self, item: WorkItem, of_context: StopsOfContext, behind: int, stop: StatementStop
    ) -> tuple[AlignedStops, list[Stretch]]:
        """Return the stops of the other build around an instruction behind so many stops, if they are known."""
        aligned, numbers = of_context
        count = bisect_left(numbers, behind)

        def is_in_call(at: int) -> bool:
            return 0 <= at < len(numbers) and self.history.by_item[item][numbers[at]].call == stop.call

        truths: Sequence[int] = ()
        if is_in_call(count - 1):
            truths = self._around(aligned, count - 1, stop)
        elif is_in_call(count):
            truths = aligned.before(count)
        stretches = stretches_of(truths)
        is_known = 0 < len(truths) <= MAX_TRUTHS and aligned.reference.is_read(stretches)
        return aligned, stretches if is_known else []

    def _judge_between(
        self,
        item: WorkItem,
        stop: StatementStop,
        reference: ReferenceStops,
        stretches: list[Stretch],
        counts: dict[str, int],
    ) -> None:
        """Judge what variables are at one instruction at which no statement begins."""
        for key in stop.values or ():
            variable = reference.variable(key)
            compared = self._compare_near(item, variable, stop, stretches)
            where = f"between statements, and around them other values in {self.name}, such as"
            if compared is None:
                compared = self._compare_with_all(item, variable, stop)
                where = f"here, which it never is in {self.name}: it is"
            if compared is not None:
                counts[compared.result] += 1
            if compared is not None and compared.result == WRONG:
                message = f"{key.name}{compared.path} is {compared.value} {where} {compared.other}"
                self._add("between", key, item, stop, message)

    # --- Where values come from -----------------------------------------------------------------------------------

    def _sources(
        self, item: WorkItem, stop: StatementStop, reference: ReferenceStops, stretches: list[Stretch]
    ) -> dict[DeclarationKey, int]:
        """Return at which stops of the other build variables may have the values that they have at a stop."""
        sources: dict[DeclarationKey, int] = {}
        for key in stop.values or ():
            value = stop.value(key, item)
            if key not in self._uncertain and isinstance(value, RecordedValue):
                found = self._stops_with(item, reference.variable(key), value, stretches)
                if found:
                    sources[key] = found
        return sources

    def _stops_with(
        self, item: WorkItem, variable: ReferenceVariable, value: RecordedValue, stretches: list[Stretch]
    ) -> int:
        """Return at which stops of the other build a variable may have a value, as the bits of a number.

        Out of its scope it keeps its last value, and before it has any it may have the first one.
        """
        scale = 0.0 if variable.is_rounded else None
        known = variable.known(item)
        found = early = 0
        last = known.last_before(stretches[0][0])
        for state, start, stop in known.runs(stretches):
            early |= (1 << stop) - (1 << start)
            last = last if isinstance(state, str) else state
            if state is LACKING or last is not None:
                if state is LACKING or (last is not None and self._is_same(value, last, scale)):
                    found |= early
                early = 0
        return found

    def _judge_together(
        self, item: WorkItem, stop: StatementStop, sources: dict[DeclarationKey, int]
    ) -> list[DeclarationKey]:
        """Return variables that have their values in the other build, but never at the same moment.

        Between two stops a variable has the value of the one or of the other.
        """
        moments = {key: found | found << 1 for key, found in sources.items()}
        apart = {key: [each for each in moments if not found & moments[each]] for key, found in moments.items()}
        apart = {key: others for key, others in apart.items() if others}
        if apart:
            self._apart.add(item, stop, apart)
        return [*apart]

    def _judge_order(
        self,
        item: WorkItem,
        stop: StatementStop,
        reference: ReferenceStops,
        sources: dict[DeclarationKey, int],
        latest: dict[DeclarationKey, LatestStop],
    ) -> None:
        """Report variables that have an earlier value of the other build behind a later one.

        If a variable begins anew between the two, it may have either: the code of two rounds can be mixed.
        """
        self.sightings.note(RULES["order"], stop.pc)
        for key, found in sources.items():
            if key not in self.history.listed:
                continue  # its place has anything before it is initialized
            last = latest.get(key)
            later = found if last is None else found >> last.number << last.number
            if last is not None and not later and reference.variable(key).is_one_life(_first(found), last.number):
                after, before = (
                    recorded_text(each.value(key, item), self.history.names) for each in (last.shown, stop)
                )
                message = f"{key.name} is {after} at +{self.sightings.function(last.shown.pc)[1]:#x} and then {before};"
                self._add("order", key, item, stop, f"{message} in {self.name}, {after} comes after {before}")
            latest[key] = LatestStop(_first(later or found), stop)

    def _is_same(self, value: RecordedValue, known: KnownValue, scale: float | None) -> bool:
        return self.values.difference(value, *known, scale) is None

    def _add(self, rule: str, key: DeclarationKey, item: WorkItem, stop: StatementStop, message: str) -> None:
        lane = stop.lanes[stop.positions[item]]
        subject = Subject(RULES[rule], key.name, key)
        self.sightings.add(subject, stop.pc, Sighting(message, stop.wave, lane, stop.visit))

    def _compare_near(
        self, item: WorkItem, variable: ReferenceVariable, stop: StatementStop, stretches: list[Stretch]
    ) -> ComparedValue | None:
        """Return what comparing a value with those around it gives, where the variable has one; None without any."""
        value = stop.value(variable.key, item)
        if variable.key in self._uncertain or not isinstance(value, RecordedValue):
            return None
        known = variable.known(item)
        others = known.values(stretches)
        if any(state is HIDDEN for state, _start, _stop in known.runs(stretches)):
            last = known.last_before(stretches[0][0])
            others += [] if last is None else [last]
        return self._compare_with(others, stretches, item, variable, stop)

    def _compare_with_all(
        self, item: WorkItem, variable: ReferenceVariable, stop: StatementStop
    ) -> ComparedValue | None:
        """Return what comparing a value with all that the variable ever has gives, where it is none of them.

        This is for places of which nothing is known: code can compute a value of any statement in advance.
        """
        key, value = variable.key, stop.value(variable.key, item)
        is_cut = self.history.is_cut or self.other.is_cut
        if is_cut or key in self._uncertain or key not in self.history.listed or not isinstance(value, RecordedValue):
            return None
        compared = self._compare_with(variable.all_values(item), [(0, variable.count)], item, variable, stop)
        return None if compared is None or compared.result == RIGHT else compared

    def _compare_with(
        self,
        others: list[KnownValue],
        stretches: list[Stretch],
        item: WorkItem,
        variable: ReferenceVariable,
        stop: StatementStop,
    ) -> ComparedValue | None:
        """Return what comparing a value with those of some stops gives; None if nothing is known there."""
        value, is_rounded = stop.value(variable.key, item), variable.is_rounded
        compared = self._compare_value(value, others, is_alive=False, is_certain=True, is_rounded=is_rounded)
        if compared is None or compared.result == MISSING:
            return None
        return self._weighed(item, variable, stop, compared, others, stretches)

    def _around(self, stops: AlignedStops, number: int, piece: StatementStop) -> Sequence[int]:
        """Return the stops of the other build between the certain neighbours of what follows a stop.

        A piece of another line than that of the statement was moved, or the statement was: it belongs to its own line.
        """
        visits, reference = stops.visits, stops.reference
        at = stops.visit_of(number)
        place = bisect_right(stops.certain, at)
        before, behind = stops.certain[:place][-1:], stops.certain[place : place + 1]
        if at >= len(stops.counterparts) or (not (before and behind) and (self.history.is_cut or self.other.is_cut)):
            return ()  # where more is executed than is aligned, or one build may have come further than the other
        first, end, around = 0, len(reference.stops), stops.counterparts[at]
        moved = [] if around is None else [around.visits[0], around.visits[-1]]
        if piece.place != visits[at].line:
            moved += [index for index, visit in enumerate(reference.visits) if visit.line == piece.place]
        if before:
            first = stops.visits_of(before[0])[0]
        if behind:
            last = reference.visits[max([stops.visits_of(behind[0])[-1], *moved])]
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

    def _each(self) -> Iterator[tuple[StatementStop, list[WorkItem], ReferenceStops, Truths, bool]]:
        """Yield the stops that are compared, with the work-items that come to exactly these, and what they can be.

        A function that calls itself in the other build and is a loop in this one is left out: its activation is
        those of the source, one after the other.
        """
        items: dict[AlignedStops, list[WorkItem]] = {}
        for item, stops in self.history.by_item.items():
            calls = self.other.self_calls.get(item, set()) - {stop.context for stop in stops}
            loops = {caller_in(call) for call in calls}
            for context, aligned in self._aligned_stops(item):
                if context not in loops:
                    items.setdefault(aligned, []).append(item)
        for aligned, alike in items.items():
            reference = aligned.reference
            for visit, counterparts in zip(aligned.visits, aligned.counterparts, strict=False):
                if counterparts is None:
                    continue
                for index, stop in enumerate(visit.stops):
                    truths = _truths(visit, index, reference, counterparts)
                    is_known = stop.values is not None and 0 < len(truths.stops) <= MAX_TRUTHS
                    if is_known and reference.is_read(truths.stretches):
                        yield stop, alike, reference, truths, stop is visit.stops[0]

    def _compared(
        self, items: list[WorkItem], stop: StatementStop, reference: ReferenceStops, truths: Truths, *, is_first: bool
    ) -> Iterator[tuple[WorkItem, DeclarationKey, ComparedValue]]:
        """Yield what the variables of work-items are at a stop, of those that have a value in the other build."""
        statement = stretches_of(truths.stops[: truths.count])
        for variable in reference.visible(truths.stretches):
            key = variable.key
            if key in self.other.shared:
                continue
            is_alive = variable.is_alive(statement, is_first=is_first)
            for item in items:
                known = variable.known(item)
                others = known.values(truths.stretches)
                is_known = known.count(statement) == truths.count
                if not others or (truths.is_certain and not is_known):
                    continue
                compared = self._compare_value(
                    stop.value(key, item),
                    others,
                    is_alive=is_alive and is_known,
                    is_certain=truths.is_certain,
                    is_rounded=variable.is_rounded,
                )
                if compared is None:
                    continue
                if compared.result == WRONG:
                    leaves = truths.is_certain and known.count(truths.stretches) < len(truths.stops)
                    if leaves and reference.changes(stop.line):
                        continue  # it may have the value with which it leaves its scope
                    compared = self._weighed(item, variable, stop, compared, others, truths.stretches)
                yield item, key, compared

    def _compare_value(
        self, value: Recorded | None, others: list[KnownValue], *, is_alive: bool, is_certain: bool, is_rounded: bool
    ) -> ComparedValue | None:
        """Return what comparing a value gives; None for one that is missing where the source does not need it."""
        if not others:
            return None
        truth, unknown = others[0]
        if not isinstance(value, RecordedValue):
            reason = "it is not visible" if value is None else value.reason
            return ComparedValue(MISSING, reason, value_text(truth, self.other.names)) if is_alive else None
        scale = 0.0 if is_rounded else None
        differences = [self.values.difference(value, other, leaves, scale) for other, leaves in others]
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
            return _RIGHT
        if not is_alive:
            return None
        return ComparedValue(MISSING, f"{lacking[0]} has no value", value_text(truth, self.other.names))

    def _may_be_early(self, item: WorkItem, variable: ReferenceVariable, value: Any, stretches: list[Stretch]) -> bool:
        """Return whether the other build can have a value before the variable is known to be initialized.

        A variable in memory has anything there, and the counter of a loop on one line has its first value.
        """
        runs = [each for each in variable.known(item).runs(stretches) if each[0] in (EARLY, LACKING)]
        if variable.key not in self.history.listed:
            return bool(runs)
        early = (variable.value(item, number) for _state, start, stop in runs for number in range(start, stop))
        return any(isinstance(each, RecordedValue) and not self.values.difference(value, each) for each in early)

    def _weighed(
        self,
        item: WorkItem,
        variable: ReferenceVariable,
        stop: StatementStop,
        compared: ComparedValue,
        others: list[KnownValue],
        stretches: list[Stretch],
    ) -> ComparedValue:
        """Return what a comparison gives where a wrong value may be early, or roundings of its terms made it."""
        key = variable.key
        value = stop.value(key, item)
        if compared.result == WRONG and self._may_be_early(item, variable, value, stretches):
            return evolve(compared, result=UNCERTAIN)
        is_wrong = compared.result == WRONG and variable.is_rounded
        if not is_wrong or not isinstance(value, RecordedValue) or largest_float(value) is None:
            return compared
        scale = max(variable.terms(item, number) for start, end in stretches for number in range(start, end))
        if not any(self._is_same(value, each, scale) for each in others):
            return compared
        message = f"{key.name}{compared.path} is {compared.value}, and {compared.other} in {self.name}, which roundings"
        message += " of its terms can make"
        sighting = Sighting(message, stop.wave, stop.lanes[stop.positions[item]], stop.visit)
        self.sightings.add(Subject(RULES["rounding"], key.name, key), stop.pc, sighting)
        return evolve(compared, result=UNCERTAIN)

    def _count(self, item: WorkItem, stop: StatementStop, key: DeclarationKey, compared: ComparedValue) -> None:
        where = str(stop.context[0]), stop.file, key
        result = compared.result
        self._counts[where][result] += 1
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

    def _report(self) -> tuple[ComparedVariable, ...]:
        """Report the first place of each address; return the variables with their first places."""
        firsts: dict[tuple[str, str, DeclarationKey], DifferentValue] = {}
        for place, (_order, different) in sorted(self._seen.items(), key=lambda pair: pair[1][0]):
            result, function, key, pc = place
            firsts.setdefault((result, function, key), different)
            if result == WRONG:
                message = f"{different.name} is {different.value}, and {different.other} in {self.name}"
            else:
                message = f"{key.name} has no value, and is {different.other} in {self.name}: {different.value}"
            sighting = Sighting(message, different.wave, different.lane, different.visit)
            limit = "value-dropped" if result == MISSING else None
            for each in (sighting, *(Sighting("", wave, lanes=mask) for wave, mask in self._lanes[place].items())):
                self.sightings.add(Subject(RULES[result], key.name, key, limit), pc, each)
        variables = []
        for (function, file, key), counts in self._counts.items():
            right, wrong, missing, uncertain = (counts[result] for result in COUNTED)
            first = (firsts.get((result, function, key)) for result in (WRONG, MISSING))
            variable = ComparedVariable(function, file, key.name, key.line, right, wrong, missing, uncertain, *first)
            variables.append(variable)
        return tuple(variables)


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


@frozen
class Truths:
    """The stops of the other build that a stop can be."""

    stops: Sequence[int]
    count: int
    """How many of them are of the statement itself; the one behind, if there is one, is of the next."""
    is_certain: bool
    """Whether they are one round of a loop; else the stop may be any of them."""

    @cached_property
    def stretches(self) -> list[Stretch]:
        """The stops as stretches of such that follow each other."""
        return stretches_of(self.stops)


@frozen(eq=False)
class AlignedStops:
    """The stops of a work-item in one context, with the visits of the other build that theirs can be."""

    visits: list[LineVisit]
    counterparts: list[Counterparts | None]
    reference: ReferenceStops

    @cached_property
    def certain(self) -> list[int]:
        """The visits that are certain, by their numbers."""
        return [index for index, each in enumerate(self.counterparts) if each is not None and each.is_certain]

    def visits_of(self, index: int) -> Sequence[int]:
        """Return the visits of the other build that a visit can be."""
        counterparts = self.counterparts[index]
        return () if counterparts is None else counterparts.visits

    def visit_of(self, number: int) -> int:
        return bisect_right(self.visits, number, key=lambda visit: visit.first) - 1

    def before(self, number: int) -> Sequence[int]:
        """Return the stops of the other build from the beginning of a call to its first statement, which is a stop."""
        at = self.visit_of(number)
        if at not in self.certain:
            return ()
        reference, visits = self.reference, self.visits_of(at)
        first, last = reference.visits[visits[0]].first, reference.visits[visits[-1]]
        start = next(each for each in range(first, -1, -1) if id(reference.stops[each]) in reference.calls)
        return range(start, min(last.first + len(last.stops) + 1, len(reference.stops)))


StopsOfContext = tuple[AlignedStops, list[int]]
"""The stops of a work-item in one context, with their numbers among all that it has."""


@frozen
class LatestStop:
    """How far a variable has come: the first stop of the other build that its value can be of."""

    number: int
    shown: StatementStop
    """Where it has this value."""


def _first(stops: int) -> int:
    """Return the first stop, of those that are the bits of a number."""
    return (stops & -stops).bit_length() - 1


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
