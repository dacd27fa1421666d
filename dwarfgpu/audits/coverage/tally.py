"""Sums over variables: the bytes of the code of their scopes, by the kind of location or by the reason for none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu.audits.coverage.kinds import (
    EMPTY,
    ILL_FORMED,
    KINDS,
    NO_ATTRIBUTE,
    NO_LOCATION,
    SEVERAL,
    UNDEFINED,
    Meaning,
    meaning_of,
)
from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.audits.coverage.availability import VariableAvailability
    from dwarfgpu.audits.coverage.code_scope import CodeScope

EMPTY_LIST = "list without entries"
UNREADABLE = "list is broken"
LEFT_OUT = "not in this copy"
ELSEWHERE = "list has other addresses"
BEFORE, AFTER, BETWEEN = "before its first entry", "after its last entry", "between its entries"
REASONS = {
    NO_ATTRIBUTE: "the entry has neither DW_AT_location nor DW_AT_const_value",
    LEFT_OUT: "only the abstract instance of the function has it (DWARF 5, 3.3.8.1)",
    EMPTY_LIST: "the location list ends at once",
    ELSEWHERE: "no entry of the location list is for an address of the scope",
    BEFORE: "the location list begins later: mostly the code before the variable has a value",
    AFTER: "the location list ends before: mostly the code after the last use",
    BETWEEN: "the location list has a gap: mostly a register that something else needs",
    UNREADABLE: "the location list, or the attribute, cannot be read",
    UNDEFINED: "the expression says that the value is not known",
    EMPTY: "the expression has no operation: the value is not known (A.2.5.4.4.2)",
    ILL_FORMED: "the expression breaks the rules, so that no evaluation gives a location",
}
"""Why an address has no location."""
_GAPS = frozenset((BEFORE, AFTER, BETWEEN))
Entries: TypeAlias = "Sequence[tuple[int, int, Meaning]]"
"""The entries of a location list: where each begins, the first address behind it (-1 for one that is valid wherever no
other is), and the meaning of its expression."""
Location: TypeAlias = "Meaning | str | list[tuple[int, int, Meaning]]"
"""Where a variable is: the same everywhere in its scope, nowhere for a reason, or the entries of its list."""
Counts: TypeAlias = "tuple[tuple[str, int], ...]"
"""Bytes by the kind of location, or by the reason why there is none."""


@frozen
class CoverageSum:
    """How much of the scopes of some variables has a location. Bytes are those of code, once for each variable."""

    variables: int = 0
    """How many variables have a scope: parameters, local variables and constants."""
    whole: int = 0
    """How many of them have a location everywhere in it."""
    nowhere: int = 0
    """How many have none."""
    size: int = 0
    """The bytes of all scopes."""
    located: int = 0
    """The bytes with a location, as the file has it."""
    located_repaired: int = 0
    """The bytes with a location, with the repairs."""
    written: tuple[tuple[str, int], ...] = ()
    """The bytes of each kind, as the file has it."""
    repaired: tuple[tuple[str, int], ...] = ()
    """The bytes of each kind, with the repairs."""
    missing: tuple[tuple[str, int], ...] = ()
    """The bytes without a location, by reason."""
    statics: int = 0
    """How many variables are outside of functions."""
    statics_located: int = 0
    """How many of them have a location."""

    @property
    def share(self) -> float | None:
        """The part of the bytes with a location; None without any."""
        return self.located / self.size if self.size else None

    @property
    def share_repaired(self) -> float | None:
        """The same with the repairs."""
        return self.located_repaired / self.size if self.size else None


class Tally(dict["Meaning | str", int]):
    """The sum over some variables, while it is made: bytes by location, or by the reason why there is none."""

    __slots__ = ("nowhere", "statics", "statics_located", "variables", "whole")

    def __init__(self) -> None:
        self.variables = self.whole = self.nowhere = 0
        """The variables of functions: all, those with a location everywhere, and those with none."""
        self.statics = self.statics_located = 0

    def add(self, record: VariableAvailability) -> None:
        if record.scope is None:
            self.statics += 1
            self.statics_located += bool(record.written)
            return
        counts = record.counts
        located = [isinstance(location, Meaning) and location.is_located for location in counts]
        for location, count in counts.items():
            self[location] = self.get(location, 0) + count
        self.variables += 1
        self.nowhere += not any(located)
        self.whole += any(located) and all(located)

    def merge(self, other: Tally) -> None:
        """Add what another tally has."""
        for location, count in other.items():
            self[location] = self.get(location, 0) + count
        self.variables += other.variables
        self.whole += other.whole
        self.nowhere += other.nowhere
        self.statics += other.statics
        self.statics_located += other.statics_located

    def missing(self) -> int:
        """Return how many bytes have no location, as the file has it."""
        return sum(
            [count for location, count in self.items() if type(location) is not Meaning or not location.is_located]
        )

    def sum(self) -> CoverageSum:
        """Return the sum as it is now."""
        written, repaired, missing = by_kind(self.items())
        located = sum([count for _kind, count in written])
        size, located_repaired = located + sum([count for _, count in missing]), sum([count for _, count in repaired])
        counts = _ordered(written, KINDS), _ordered(repaired, KINDS), _ordered(missing, tuple(REASONS))
        variables, statics = (self.variables, self.whole, self.nowhere), (self.statics, self.statics_located)
        return CoverageSum(*variables, size, located, located_repaired, *counts, *statics)


def _ordered(counts: Counts, names: tuple[str, ...]) -> Counts:
    """Return counts in the order of the names; of several memories by their spaces."""

    def place(item: tuple[str, int]) -> tuple[int, str]:
        first = item[0] if item[0] in names else item[0].partition(" ")[0]
        return (names.index(first) if first in names else len(names)), item[0]

    return tuple(sorted(((name, count) for name, count in counts if count), key=place))


def stretches(
    scope: CodeScope, entries: Entries, reason: str | None, start: int | None
) -> Iterator[tuple[int, int, Meaning | str]]:
    """Yield the parts of a scope, where each begins and ends, with what is location there or why nothing is."""
    bounded = sorted([entry for entry in entries if entry[1] >= 0], key=itemgetter(0))
    others = [meaning for _low, end, meaning in entries if end < 0]
    first = bounded[0][0] if bounded else 0
    last = max([end for _low, end, _meaning in bounded], default=0)
    for beginning, high in scope.spans:
        low = beginning if start is None else max(beginning, start)
        if low >= high:
            continue
        inside = [entry for entry in bounded if entry[0] < high and entry[1] > low]
        edges = {low, high, *[edge for entry in inside for edge in entry[:2] if low < edge < high]}
        edges |= {edge for edge in (first, last) if low < edge < high}
        active: list[tuple[int, int, Meaning]] = []
        waiting = inside[::-1]
        for begin, end in pairwise(sorted(edges)):
            active = [entry for entry in active if entry[1] > begin]
            while waiting and waiting[-1][0] <= begin:
                entry = waiting.pop()
                if entry[1] > begin:
                    active.append(entry)
            if active or others:
                yield begin, end, together(tuple([entry[2] for entry in active]) or tuple(others))
            else:
                yield begin, end, reason or (BEFORE if begin < first else AFTER if begin >= last else BETWEEN)


@lru_cache(maxsize=4096)
def together(meanings: tuple[Meaning, ...]) -> Meaning:
    """Return the kind of several locations at a time; those without a location count only if no other has one."""
    if len(meanings) == 1:
        return meanings[0]
    return meaning_of(
        _together([meaning.written for meaning in meanings]),
        _together([meaning.repaired for meaning in meanings]),
        repair_names(meanings),
        any(meaning.is_entry_value for meaning in meanings),
    )


def _together(kinds: list[str]) -> str:
    if ILL_FORMED in kinds:  # an evaluation of the list fails
        return ILL_FORMED
    located = [kind for kind in kinds if kind not in NO_LOCATION]
    if not located:
        return kinds[0]
    return located[0] if len(set(located)) == 1 else SEVERAL


def by_kind(location: Iterable[tuple[Meaning | str, int]]) -> tuple[Counts, Counts, Counts]:
    """Return bytes with a location by kind, as the file has it and with the repairs, and those without by reason."""
    written: dict[str, int] = {}
    repaired: dict[str, int] = {}
    missing: dict[str, int] = {}
    for meaning, count in location:
        if isinstance(meaning, str):
            missing[meaning] = missing.get(meaning, 0) + count
            continue
        where = written if meaning.is_located else missing
        where[meaning.written] = where.get(meaning.written, 0) + count
        if meaning.repaired not in NO_LOCATION:
            repaired[meaning.repaired] = repaired.get(meaning.repaired, 0) + count
    return tuple(written.items()), tuple(repaired.items()), tuple(missing.items())


def entries_of(location: Location) -> Entries:
    """Return the location of a variable as entries of a list; the same location everywhere is a default entry."""
    if isinstance(location, list):
        return location
    return [(0, -1, location)] if isinstance(location, Meaning) else []


def repair_names(meanings: Iterable[Meaning]) -> tuple[str, ...]:
    """Return the names of the repairs that tell what is meant, each once."""
    names: tuple[str, ...] = ()
    for meaning in meanings:
        repairs = meaning.repairs
        if repairs and repairs is not names:
            names = tuple(dict.fromkeys((*names, *repairs))) if names and names != repairs else repairs
    return names


def bytes_of(scope: CodeScope, location: Location, start: int | None) -> dict[Meaning | str, int]:
    """Return the bytes of a variable's scope by location, from an address on if it begins later than its block."""
    if not isinstance(location, list):
        return {location: scope.size if start is None else scope.size - scope.before(start)}
    counts: dict[Meaning | str, int] = {}
    for low, high, key in stretches(scope, location, None, start):
        counts[key] = counts.get(key, 0) + high - low
    if start is None and _GAPS.issuperset(counts):
        return {ELSEWHERE: scope.size}
    gaps = {reason: counts.pop(reason) for reason in REASONS if reason in counts}
    return counts | gaps
