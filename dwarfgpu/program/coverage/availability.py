"""Where the variables of a file can be seen: a record of each, made in one walk over the entries.

The scope of a variable is the code of the innermost function or block around it; one without code of its own belongs to
what is around it. Each byte of the scope has a location of some kind, or a reason why it has none. What `extern` only
declares is left out, and a variable outside of functions has no scope, but may have a location.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.objfile.info.scopes import qualified_name
from dwarfgpu.program.code.repairs import AUTO
from dwarfgpu.program.coverage.kinds import (
    EMPTY,
    ILL_FORMED,
    NO_LOCATION,
    SEVERAL,
    UNDEFINED,
    KindReader,
    Meaning,
    meaning_of,
)
from dwarfgpu.program.coverage.unit_walk import EMPTY_LIST, LEFT_OUT, NO_ATTRIBUTE, UNREADABLE, FunctionCopy, UnitWalk
from dwarfgpu.progress import counted

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.code.repairs import Policy
    from dwarfgpu.program.coverage.code_scope import CodeScope
    from dwarfgpu.program.coverage.unit_walk import AbstractVariables, EntryPlan, Row, Said

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
FREE = 1 << 20
"""So much is read of lists whatever the size of the file; then no more than the sections have bytes."""

Bytes: TypeAlias = "dict[Meaning | str, int]"
"""Bytes of code by what is said of a variable there, or by the reason why nothing is."""
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
class CoveredSpan:
    """Addresses of a scope at which a variable has the same kind of location."""

    low: int
    high: int
    written: str | None
    """The kind as the file has it; None where there is no location."""
    repaired: str | None
    """The kind with the repairs."""
    reason: str | None
    """Why there is no location, as the file has it."""


@immutable
class VariableAvailability:
    """Where one variable can be seen."""

    unit: Unit
    offset: int
    """The offset of its entry in the unit; of the entry in the abstract instance where a copy has none."""
    kind: str
    """``parameter``, ``local``, ``constant``, or ``static`` outside of functions."""
    scope: CodeScope | None
    """Where it is declared; None outside of functions."""
    said: tuple[tuple[Meaning | str, int], ...]
    """What is said of how many bytes of the scope, or why nothing is."""
    entries: tuple[Listed, ...]
    """What its location list, or its one location, says."""
    reason: str | None
    """Why there is no location where no entry holds, if that is the same everywhere."""
    start: int | None = None
    """Where its scope begins, if that is later than the block that it is in (DW_AT_start_scope)."""

    @classmethod
    def of_row(cls, row: Row) -> VariableAvailability:
        """Return the record of what the walk has told of a variable."""
        unit, offset, kind, scope, said, start = row
        counts: Bytes = {}
        if isinstance(said, str):
            entries: tuple[Listed, ...] = ()
            reason: str | None = said
        else:
            every = ((0, -1, said),) if isinstance(said, Meaning) else said
            entries = tuple([Listed(*entry) for entry in every])
            reason = None
        if scope is not None:
            count_bytes(scope, said, start, counts)
            if isinstance(said, list) and list(counts) == [ELSEWHERE]:
                reason = ELSEWHERE
        elif entries:
            meaning = together(tuple([entry.meaning for entry in entries]))
            counts[meaning] = 0
            if not meaning.is_located:
                reason = meaning.written
        return cls(unit, offset, kind, scope, tuple(counts.items()), entries, reason, start)

    @property
    def written(self) -> Counts:
        """How many bytes of the scope have a location of which kind, as the file has it."""
        return by_kind(self.said)[0]

    @property
    def repaired(self) -> Counts:
        """The same with the repairs."""
        return by_kind(self.said)[1]

    @property
    def missing(self) -> Counts:
        """How many bytes have none for which reason."""
        return () if self.scope is None else by_kind(self.said)[2]

    @property
    def size(self) -> int:
        """How many bytes of code its scope has."""
        return sum([count for _said, count in self.said])

    @property
    def located(self) -> int:
        """How many of them have a location, as the file has it."""
        return sum([count for said, count in self.said if isinstance(said, Meaning) and said.is_located])

    @property
    def repairs(self) -> tuple[str, ...]:
        """The repairs that tell what the file means."""
        if not any(entry.meaning.repairs for entry in self.entries):
            return ()
        return tuple(dict.fromkeys(name for entry in self.entries for name in entry.meaning.repairs))

    # --- What it is called ----------------------------------------------------------------------------------------

    @property
    def die(self) -> Die:
        return self.unit.die_known_at(self.offset)

    @property
    def name(self) -> str:
        """The name; with its scopes outside of functions."""
        try:
            name = qualified_name(self.die) if self.scope is None else self.die.name
        except DwarfGpuError as error:
            self.unit.dwarf.note(error)
            return "(unreadable)"
        return name or "(unnamed)"

    @property
    def calls(self) -> tuple[str, ...]:
        """The functions it is in: the one that has the code, then the calls that are inlined."""
        if self.scope is None:
            return ()
        return tuple(scope.name for scope in self.scope.calls())[::-1]

    @property
    def line(self) -> int | None:
        """The line of its declaration."""
        try:
            line = self.die.find_number(dw.DW_AT_decl_line)
            return None if line is None else line.unsigned()
        except DwarfGpuError as error:
            self.unit.dwarf.note(error)
            return None

    @property
    def type_name(self) -> str:
        """The name of its type."""
        from dwarfgpu.program.code.dumped_expressions import type_name

        try:
            return type_name(self.die.type())
        except DwarfGpuError as error:
            self.unit.dwarf.note(error)
            return "(unreadable)"

    # --- Where it is ----------------------------------------------------------------------------------------------

    def spans(self) -> Iterator[CoveredSpan]:
        """Yield its scope in parts that differ in the kind of location, by address."""
        if self.scope is None:
            return
        for low, high, said in _stretches(self.scope, self.entries, self.reason, self.start):
            if isinstance(said, str):
                yield CoveredSpan(low, high, None, None, said)
                continue
            written = said.written if said.is_located else None
            repaired = None if said.repaired in NO_LOCATION else said.repaired
            yield CoveredSpan(low, high, written, repaired, None if said.is_located else said.written)


def _stretches(
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
        tuple(dict.fromkeys(name for meaning in meanings for name in meaning.repairs)),
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


def count_bytes(scope: CodeScope, said: Said, start: int | None, counts: Bytes) -> tuple[bool, bool]:
    """Add the bytes of a variable's scope; return whether some have a location, and whether some have none."""
    if isinstance(said, list):
        here = _count_list(scope, said) if start is None else None
        if here is None:
            here = _count_spans(scope, said, start)
        is_located = is_missing = False
        for key, count in here:
            counts[key] = counts.get(key, 0) + count
            if key.__class__ is Meaning and key.is_located:
                is_located = True
            else:
                is_missing = True
        return is_located, is_missing
    size = scope.size if start is None else scope.size - scope.before(start)
    counts[said] = counts.get(said, 0) + size
    is_located = isinstance(said, Meaning) and said.is_located
    return is_located, not is_located


def _count_list(
    scope: CodeScope, entries: Sequence[tuple[int, int, Meaning]]
) -> list[tuple[Meaning | str, int]] | None:
    """Return the bytes of a list; None if its entries overlap, or are in another order than the addresses."""
    counts: list[tuple[Meaning | str, int]] = []
    base, lows, highs, sums = scope.edges
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
            part = bisect_right(lows, place) - 1
            below = 0
            if part >= 0:
                below = sums[part]
                if place < highs[part]:
                    below -= highs[part] - place
            if end < 0:
                below_first = below
        end = high
        place = high - base
        part = bisect_right(lows, place) - 1
        if part >= 0:
            above = sums[part]
            if place < highs[part]:
                above -= highs[part] - place
            if above != below:
                covered += above - below
                counts.append((meaning, above - below))
                below = above
    rest = scope.size - covered
    if default:
        counts.append((together(tuple(default)), rest))
    elif not covered:
        counts.append((ELSEWHERE, rest))
    elif rest:
        after = scope.size - below
        reasons = ((BEFORE, below_first), (AFTER, after), (BETWEEN, rest - below_first - after))
        counts += [(reason, count) for reason, count in reasons if count]
    return counts


def _count_spans(
    scope: CodeScope, entries: Sequence[tuple[int, int, Meaning]], start: int | None
) -> list[tuple[Meaning | str, int]]:
    """Return the bytes of a list whose entries overlap, or of a variable whose scope begins later than its block."""
    stretches = _stretches(scope, [Listed(*entry) for entry in entries], None, start)
    return [(key, high - low) for low, high, key in stretches]


class FileAvailability:
    """The variables of a file. Iterating yields the records of all units, each when it is known.

    ``dialect`` replaces the dialect of the target, and ``repair`` says which repairs tell what expressions mean. What
    cannot be read is among the problems of ``file.dwarf``, and hides nothing else.
    """

    def __init__(self, file: CodeObject, dialect: str | None = None, repair: Policy = AUTO) -> None:
        self.file = file
        self.dwarf = file.dwarf
        self.kinds = KindReader(file, dialect, repair)
        self.scopes_without_code = 0
        """How many functions and inlined calls have no code, so that their variables have no scope."""
        self.functions: list[CodeScope] = []
        """The functions of the units that have been read."""
        self.abstract: dict[tuple[str, int], AbstractVariables] = {}
        """The variables of abstract instances, by section and offset of the function."""
        sections = (".debug_info", ".debug_types", ".debug_loclists", ".debug_loc", ".debug_rnglists", ".debug_ranges")
        self._plans: dict[Hashable, EntryPlan] = {}
        self._left = FREE + sum(len(self.dwarf.source.data(name)) for name in sections)

    def __iter__(self) -> Iterator[VariableAvailability]:
        return map(VariableAvailability.of_row, self.rows())

    def rows(self, *, are_alike_counted: bool = False) -> Iterator[Row]:
        """Yield what the walk tells of the variables.

        Sums of a file need no rows of variables of which the same is said everywhere in their scope: they are only
        counted there (`CodeScope.alike`).
        """
        waiting: list[FunctionCopy] = []
        for unit in counted(tuple(self.dwarf.compile_units()), "units"):
            if unit.header.is_type_unit:
                continue
            walk = UnitWalk(unit, self.kinds, self.abstract, self.spend, self._plans)
            try:
                yield from walk.rows(are_alike_counted=are_alike_counted)
                for copy in walk.copies:
                    if self._complete(copy):
                        yield from copy.rows(are_alike_counted=are_alike_counted)
                    else:
                        waiting.append(copy)
            except DwarfGpuError as error:
                self.dwarf.note(error)
            self.functions += walk.functions
            self.scopes_without_code += walk.scopes_without_code
            unit.release()
        try:
            for copy in waiting:
                if self._complete(copy):
                    yield from copy.rows(are_alike_counted=are_alike_counted)
        except DwarfGpuError as error:
            self.dwarf.note(error)

    def _complete(self, copy: FunctionCopy) -> bool:
        """Tell a copy which variables the abstract instance has; return whether that is known."""
        copy.variables = self.abstract.get(copy.origin)
        if copy.variables is None:
            return False
        self.spend(len(copy.variables.places))
        return True

    def spend(self, count: int) -> None:
        """Count what has been read of lists; an error when entries share far more of them than a compiler writes."""
        self._left -= count
        if self._left < 0:
            message = "entries share location lists, ranges or abstract instances more often than can be followed"
            raise MalformedFile("limit_exceeded", message, spec="DWARF 5, 2.6.2")
