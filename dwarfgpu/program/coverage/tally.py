"""What is said of variables, counted in bytes of the code of their scopes."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.program.coverage.kinds import (
    EMPTY,
    ILL_FORMED,
    KINDS,
    NO_LOCATION,
    SEVERAL,
    UNDEFINED,
    Meaning,
    meaning_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.program.coverage.availability import VariableAvailability
    from dwarfgpu.program.coverage.code_scope import CodeScope

NO_ATTRIBUTE = "no location"
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
Entries: TypeAlias = "Sequence[tuple[int, int, Meaning]]"
"""The entries of a location list: where each begins, the first address behind it (-1 for one that is valid wherever no
other is), and what the expression says."""
Said: TypeAlias = "Meaning | str | list[tuple[int, int, Meaning]]"
"""What is said of the place of a variable: what holds wherever it is, why nothing is said, or what its list says."""
Counts: TypeAlias = "tuple[tuple[str, int], ...]"
"""Bytes by the kind of location, or by the reason why there is none."""


@immutable
class Listed:
    """One entry of a location list, as far as it says where a variable is."""

    low: int
    high: int
    """The first address behind it; -1 for an entry that is valid wherever no other is."""
    meaning: Meaning


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


ONE_BYTE = 1 << 32
"""What a byte is in a number whose lower bits count variables."""


class Tally(dict["Meaning | str", int]):
    """The sum over some variables, while it is made.

    It has what is said of how many bytes, times `ONE_BYTE`, and everywhere in their scopes of how many variables: their
    number is in the lower bits, so that one addition counts a variable with its bytes.
    """

    __slots__ = ("_nowhere", "_variables", "_whole", "statics", "statics_located")

    def __init__(self) -> None:
        self._variables = self._whole = self._nowhere = 0
        """The others: all, those with a location everywhere, and those with none."""
        self.statics = self.statics_located = 0

    def add(self, record: VariableAvailability) -> None:
        """Add a variable."""
        if record.scope is None:
            self.statics += 1
            self.statics_located += bool(record.written)
        else:
            self._add(record.said)

    def add_alike(self, said: Meaning | str, weight: int) -> None:
        """Add variables of which the same is said everywhere in their scopes, with the bytes of these."""
        self[said] = self.get(said, 0) + weight

    def add_said(self, scope: CodeScope, said: Said, start: int | None) -> None:
        """Add a variable with what is said of it; its scope may begin later than the block that it is in."""
        self._add(bytes_of(scope, said, start))

    def _add(self, counts: Iterable[tuple[Meaning | str, int]]) -> None:
        is_located = is_missing = False
        for said, count in counts:
            self[said] = self.get(said, 0) + count * ONE_BYTE
            if type(said) is Meaning and said.is_located:
                is_located = True
            else:
                is_missing = True
        self._variables += 1
        if not is_located:
            self._nowhere += 1
        elif not is_missing:
            self._whole += 1

    def merge(self, other: Tally) -> None:
        """Add what another tally has."""
        for said, counts in other.items():
            self[said] = self.get(said, 0) + counts
        self._variables += other._variables
        self._whole += other._whole
        self._nowhere += other._nowhere
        self.statics += other.statics
        self.statics_located += other.statics_located

    def missing(self) -> int:
        """Return how many bytes have no location, as the file has it."""
        missing = 0
        for said, counts in self.items():
            if type(said) is not Meaning or not said.is_located:
                missing += counts
        return missing // ONE_BYTE

    def sum(self) -> CoverageSum:
        """Return the sum as it is now."""
        written, repaired, missing = by_kind([(said, counts // ONE_BYTE) for said, counts in self.items()])
        located = sum([count for _kind, count in written])
        whole = nowhere = 0
        for said, counts in self.items():
            if type(said) is Meaning and said.is_located:
                whole += counts % ONE_BYTE
            else:
                nowhere += counts % ONE_BYTE
        return CoverageSum(
            self._variables + whole + nowhere,
            self._whole + whole,
            self._nowhere + nowhere,
            located + sum([count for _reason, count in missing]),
            located,
            sum([count for _kind, count in repaired]),
            _ordered(written, KINDS),
            _ordered(repaired, KINDS),
            _ordered(missing, tuple(REASONS)),
            self.statics,
            self.statics_located,
        )


def _ordered(counts: Counts, names: tuple[str, ...]) -> Counts:
    """Return counts in the order of the names; of several memories by their spaces."""

    def place(item: tuple[str, int]) -> tuple[int, str]:
        first = item[0] if item[0] in names else item[0].partition(" ")[0]
        return (names.index(first) if first in names else len(names)), item[0]

    return tuple(sorted(((name, count) for name, count in counts if count), key=place))


def stretches(
    scope: CodeScope, entries: Sequence[Listed], reason: str | None, start: int | None
) -> Iterator[tuple[int, int, Meaning | str]]:
    """Yield the parts of a scope, where each begins and ends, with what is said there or why nothing is."""
    bounded = sorted((entry for entry in entries if entry.high >= 0), key=_beginning)
    others = [entry for entry in entries if entry.high < 0]
    first = min((entry.low for entry in bounded), default=0)
    last = max((entry.high for entry in bounded), default=0)
    for beginning, high in scope.spans:
        low = beginning if start is None else max(beginning, start)
        if low >= high:
            continue
        inside = [entry for entry in bounded if entry.low < high and entry.high > low]
        edges = {low, high, *(edge for entry in inside for edge in (entry.low, entry.high) if low < edge < high)}
        edges |= {edge for edge in (first, last) if low < edge < high}
        active: list[Listed] = []
        waiting = inside[::-1]
        for begin, end in pairwise(sorted(edges)):
            active = [entry for entry in active if entry.high > begin]
            while waiting and waiting[-1].low <= begin:
                entry = waiting.pop()
                if entry.high > begin:
                    active.append(entry)
            if active or others:
                yield begin, end, together(tuple([entry.meaning for entry in active or others]))
            else:
                yield begin, end, reason or (BEFORE if begin < first else AFTER if begin >= last else BETWEEN)


def _beginning(entry: Listed) -> int:
    return entry.low


@lru_cache(maxsize=4096)
def together(meanings: tuple[Meaning, ...]) -> Meaning:
    """Return the kind of several locations at a time; what says nothing does not count beside one that does."""
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


def by_kind(said: Iterable[tuple[Meaning | str, int]]) -> tuple[Counts, Counts, Counts]:
    """Return bytes with a location by kind, as the file has it and with the repairs, and those without by reason."""
    written: dict[str, int] = {}
    repaired: dict[str, int] = {}
    missing: dict[str, int] = {}
    for meaning, count in said:
        if isinstance(meaning, str):
            missing[meaning] = missing.get(meaning, 0) + count
            continue
        where = written if meaning.is_located else missing
        where[meaning.written] = where.get(meaning.written, 0) + count
        if meaning.repaired not in NO_LOCATION:
            repaired[meaning.repaired] = repaired.get(meaning.repaired, 0) + count
    return tuple(written.items()), tuple(repaired.items()), tuple(missing.items())


def entries_of(said: Said) -> Entries:
    """Return what is said of a variable as a list says it: what holds everywhere as the entry for the rest."""
    if isinstance(said, list):
        return said
    return [(0, -1, said)] if isinstance(said, Meaning) else []


def repair_names(meanings: Iterable[Meaning]) -> tuple[str, ...]:
    """Return the names of the repairs that tell what is meant, each once."""
    names: tuple[str, ...] = ()
    for meaning in meanings:
        repairs = meaning.repairs
        if repairs and repairs is not names:
            names = tuple(dict.fromkeys((*names, *repairs))) if names and names != repairs else repairs
    return names


def bytes_of(scope: CodeScope, said: Said, start: int | None) -> list[tuple[Meaning | str, int]]:
    """Return how many bytes of a variable's scope, which may begin later than the block, what is said of."""
    if not isinstance(said, list):
        return [(said, scope.size if start is None else scope.size - scope.before(start))]
    counts = _count_list(scope, said) if start is None else None
    return _count_spans(scope, said, start) if counts is None else counts


def _count_list(  # noqa: C901, PLR0912 (one loop over all entries)
    scope: CodeScope, entries: Entries
) -> list[tuple[Meaning | str, int]] | None:
    """Return the bytes of a list; None if its entries overlap, or are in another order than the addresses."""
    counts: list[tuple[Meaning | str, int]] = []
    base, lows, highs, sums = scope.edges()
    default: list[Meaning] = []
    below = below_first = 0
    covered = 0
    end = -1
    for low, high, meaning in entries:
        if high < 0:
            default.append(meaning)
            continue
        if low != end:  # most entries begin where the last one ends
            if low < end:
                return None
            place = low - base  # as in `CodeScope.before`
            part = bisect_right(lows, place)
            below = 0
            if part:
                below = sums[part - 1]
                if place < highs[part - 1]:
                    below -= highs[part - 1] - place
            if end < 0:
                below_first = below
        end = high
        place = high - base
        part = bisect_right(lows, place)
        if part:
            above = sums[part - 1]
            if place < highs[part - 1]:
                above -= highs[part - 1] - place
            size = above - below
            if size:
                covered += size
                counts.append((meaning, size))
                below = above
    rest = scope.size - covered
    if default:
        counts.append((together(tuple(default)), rest))
    elif not covered:
        counts.append((ELSEWHERE, rest))
    elif rest:
        after = scope.size - below
        if below_first:
            counts.append((BEFORE, below_first))
        if after:
            counts.append((AFTER, after))
        if rest > below_first + after:
            counts.append((BETWEEN, rest - below_first - after))
    return counts


def _count_spans(scope: CodeScope, entries: Entries, start: int | None) -> list[tuple[Meaning | str, int]]:
    """Return the bytes of a list whose entries overlap, or of a variable whose scope begins later than its block."""
    listed = [Listed(*entry) for entry in entries]
    return [(key, high - low) for low, high, key in stretches(scope, listed, None, start)]
