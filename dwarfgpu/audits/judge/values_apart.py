"""Values of variables that another build never has at the same time, and which location explains them.

One wrong location contradicts those of many variables, at many instructions. So the locations are chosen that explain
all contradictions, those with most of them first; of two, that which is known to be wrong. Each is one finding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from dwarfgpu.audits.judge.recorded_values import recorded_text
from dwarfgpu.audits.judge.sightings import Sighting, Sightings, Subject
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.buffer_accesses import WorkItem
    from dwarfgpu.audits.judge.located_variables import LocatedVariable
    from dwarfgpu.audits.judge.statement_record import DeclarationKey, StatementHistory, StatementStop
    from dwarfgpu.audits.verify.findings import CheckRule

    Contradictions = Mapping[DeclarationKey, Sequence[DeclarationKey]]

MOST_VALUES = 3
"""The other variables that a finding shows with their values."""


@frozen
class VariablePlace:
    """A variable of a function with its location at some instructions."""

    function: str
    key: DeclarationKey
    location: LocatedVariable | None


@frozen(eq=False)
class _Moment:
    """A work-item at an instruction, and by variable those that contradict it there."""

    item: WorkItem
    stop: StatementStop
    apart: Contradictions


class ValuesApart:
    """Gathers the variables that contradict each other, and reports one finding for each location that explains it."""

    def __init__(self, history: StatementHistory, name: str, rule: CheckRule, sightings: Sightings) -> None:
        self._names, self._name, self._rule, self._sightings = history.names, name, rule, sightings
        self._moments: list[_Moment] = []
        self._place = cache(
            lambda key, pc: VariablePlace(sightings.function(pc)[0], key, sightings.entries(key.name, pc))
        )

    def add(self, item: WorkItem, stop: StatementStop, apart: Contradictions) -> None:
        """Add what contradicts each other at an instruction."""
        self._moments.append(_Moment(item, stop, apart))

    def report(self) -> None:
        """Report the locations that explain everything."""
        explained = self._explained()
        self._moments.sort(key=lambda moment: moment.stop.pc)
        seen: defaultdict[VariablePlace, list[tuple[_Moment, list[DeclarationKey]]]] = defaultdict(list)
        for moment in self._moments:
            for key, others in moment.apart.items():
                place = self._place(key, moment.stop.pc)
                pairs = explained.get(place, ())
                found = [each for each in others if (moment.stop.pc, self._place(each, moment.stop.pc)) in pairs]
                if found:
                    seen[place].append((moment, found))
        for place, moments in seen.items():
            message = self._message(place.key, moments)
            for moment, _others in moments:
                stop, lane = moment.stop, moment.stop.lanes[moment.stop.positions[moment.item]]
                subject = Subject(self._rule, place.key.name, place, is_one=True)
                self._sightings.add(subject, stop.pc, Sighting(message, stop.wave, lane, stop.visit))

    def _explained(self) -> dict[VariablePlace, set[tuple[int, VariablePlace]]]:
        """Return the locations that explain all contradictions, each with those that it explains, and where."""
        left: defaultdict[VariablePlace, set[tuple[int, VariablePlace]]] = defaultdict(set)
        for moment in self._moments:
            pc = moment.stop.pc
            for key, others in moment.apart.items():
                left[self._place(key, pc)].update((pc, self._place(other, pc)) for other in others)
        wrong, explained = self._known_as_wrong(left), {}
        while any(left.values()):
            place = max(filter(left.get, left), key=lambda each: (len(left[each]), each in wrong))
            explained[place] = left.pop(place)
            for pc, other in explained[place]:
                left[other].discard((pc, place))
        return explained

    def _known_as_wrong(self, places: Iterable[VariablePlace]) -> set[VariablePlace]:
        """Return which locations have been found to be wrong by other rules."""
        of_name = {(place.function, place.key.name): place.key for place in places}
        wrong = {
            (key, pc)
            for name, pc in self._sightings.wrong_values()
            if (key := of_name.get((self._sightings.function(pc)[0], name))) is not None
        }
        return {self._place(*each) for each in wrong}

    def _message(self, key: DeclarationKey, moments: Sequence[tuple[_Moment, list[DeclarationKey]]]) -> str:
        """Return the values of the first moment, and the other variables that are contradicted at any."""
        (first, others), *_later = moments
        shown = others[:MOST_VALUES]
        values_of = {each: first.stop.value(each, first.item) for each in (key, *shown)}
        own, *values = (f"{each.name} is {recorded_text(value, self._names)}" for each, value in values_of.items())
        more = sorted({each.name for _moment, found in moments for each in found} - {each.name for each in shown})
        message = f"{own} while {' and '.join(values)}, which never happens in {self._name}"
        return message + (f"; it also contradicts {len(more)} more: {', '.join(more)}" if more else "")
