"""Where the variables of a file can be seen: a record of each, made in one walk over the entries.

The scope of a variable is the code of the innermost function or block around it; one without code of its own belongs to
what is around it. Each byte of the scope has a location of some kind, or a reason why it has none. What `extern` only
declares is left out, and a variable outside of functions has no scope, but may have a location.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.objfile.info.scopes import qualified_name
from dwarfgpu.program.code.repairs import AUTO
from dwarfgpu.program.coverage.kinds import EMPTY, ILL_FORMED, NO_LOCATION, SEVERAL, UNDEFINED, KindReader, Meaning
from dwarfgpu.program.coverage.unit_walk import EMPTY_LIST, LEFT_OUT, NO_ATTRIBUTE, UNREADABLE, FunctionCopy, UnitWalk
from dwarfgpu.progress import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.code.repairs import Policy
    from dwarfgpu.program.coverage.code_scope import CodeScope
    from dwarfgpu.program.coverage.unit_walk import AbstractVariables, Row, Said

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

Counts: TypeAlias = "dict[str, int]"
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
    written: tuple[tuple[str, int], ...]
    """How many bytes of the scope have a location of which kind, as the file has it."""
    repaired: tuple[tuple[str, int], ...]
    """The same with the repairs."""
    missing: tuple[tuple[str, int], ...]
    """How many bytes have none for which reason."""
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
        written: Counts = {}
        repaired: Counts = {}
        missing: Counts = {}
        if isinstance(said, str):
            entries: tuple[Listed, ...] = ()
            reason: str | None = said
        else:
            every = ((0, -1, said),) if isinstance(said, Meaning) else said
            entries = tuple([Listed(*entry) for entry in every])
            reason = None
        if scope is not None:
            count_bytes(scope, said, start, written, repaired, missing)
            if isinstance(said, tuple) and list(missing) == [ELSEWHERE]:
                reason = ELSEWHERE
        elif entries:
            meaning = together([entry.meaning for entry in entries])
            if meaning.written in NO_LOCATION:
                reason = meaning.written
            else:
                written = {meaning.written: 0}
            if meaning.repaired not in NO_LOCATION:
                repaired = {meaning.repaired: 0}
        sums = (tuple(counts.items()) for counts in (written, repaired, missing))
        return cls(unit, offset, kind, scope, *sums, entries, reason, start)

    @property
    def size(self) -> int:
        """How many bytes of code its scope has."""
        return sum([count for _kind, count in self.written]) + sum([count for _reason, count in self.missing])

    @property
    def located(self) -> int:
        """How many of them have a location, as the file has it."""
        return sum([count for _kind, count in self.written])

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
            return iter(())
        return _spans_of(self.scope, self.entries, self.reason, self.start)


def _spans_of(
    scope: CodeScope, entries: Sequence[Listed], reason: str | None, start: int | None
) -> Iterator[CoveredSpan]:
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
                yield _located_span(begin, end, active or others)
            else:
                why = reason or (BEFORE if begin < first else AFTER if begin >= last else BETWEEN)
                yield CoveredSpan(begin, end, None, None, why)


def _located_span(low: int, high: int, entries: Sequence[Listed]) -> CoveredSpan:
    meaning = entries[0].meaning if len(entries) == 1 else together([entry.meaning for entry in entries])
    is_missing = meaning.written in NO_LOCATION
    return CoveredSpan(
        low,
        high,
        None if is_missing else meaning.written,
        None if meaning.repaired in NO_LOCATION else meaning.repaired,
        meaning.written if is_missing else None,
    )


def _beginning(entry: Listed) -> int:
    return entry.low


def together(meanings: Sequence[Meaning]) -> Meaning:
    """Return the kind of several locations at a time; what says nothing does not count beside one that does."""
    repairs = tuple(dict.fromkeys(name for meaning in meanings for name in meaning.repairs))
    return Meaning(
        _together([meaning.written for meaning in meanings]),
        _together([meaning.repaired for meaning in meanings]),
        repairs,
        any(meaning.is_entry_value for meaning in meanings),
    )


def _together(kinds: list[str]) -> str:
    if ILL_FORMED in kinds:  # an evaluation of the list fails
        return ILL_FORMED
    located = [kind for kind in kinds if kind not in NO_LOCATION]
    if not located:
        return kinds[0]
    return located[0] if len(set(located)) == 1 else SEVERAL


def count_bytes(
    scope: CodeScope, said: Said, start: int | None, written: Counts, repaired: Counts, missing: Counts
) -> tuple[bool, bool]:
    """Add the bytes of a variable's scope to the sums; return whether some have a location, and whether some have none.

    ``written`` and ``repaired`` are those with a location, as the file has it and with the repairs, by kind, and
    ``missing`` are those without one as the file has it, by reason.
    """
    if isinstance(said, tuple):
        if start is None:
            is_located, is_missing, is_plain = _count_list(scope, said, written, repaired, missing)
            if is_plain:
                return is_located, is_missing
        return _count_spans(scope, said, start, written, repaired, missing)
    size = scope.size if start is None else scope.size - scope.before(start)
    if isinstance(said, str):
        missing[said] = missing.get(said, 0) + size
        return False, True
    return _count(said, size, written, repaired, missing)


def _count(meaning: Meaning, count: int, written: Counts, repaired: Counts, missing: Counts) -> tuple[bool, bool]:
    """Add bytes of which an expression tells the place."""
    kind = meaning.repaired
    if kind not in NO_LOCATION:
        repaired[kind] = repaired.get(kind, 0) + count
    kind = meaning.written
    is_missing = kind in NO_LOCATION
    where = missing if is_missing else written
    where[kind] = where.get(kind, 0) + count
    return not is_missing, is_missing


def _count_list(
    scope: CodeScope, entries: Sequence[tuple[int, int, Meaning]], written: Counts, repaired: Counts, missing: Counts
) -> tuple[bool, bool, bool]:
    """Add the bytes of a list; return whether some have a location, whether some have none, and whether it was done.

    Nothing is added for a list whose entries overlap or are in another order than the addresses.
    """
    base, lows, highs, below_parts = scope.edges
    counted_entries: list[tuple[Meaning, int]] = []
    default: list[Meaning] = []
    covered = below = below_first = 0
    end = -1
    for low, high, meaning in entries:
        if high < 0:
            default.append(meaning)
            continue
        if low != end:  # most entries begin where the last one ends
            if low < end:
                return False, False, False
            place = low - base  # as in `CodeScope.before`
            part = bisect_right(lows, place) - 1
            below = 0 if part < 0 else below_parts[part] + min(place, highs[part])
            if end < 0:
                below_first = below
        end = high
        place = high - base
        part = bisect_right(lows, place) - 1
        above = 0 if part < 0 else below_parts[part] + min(place, highs[part])
        if above != below:
            covered += above - below
            counted_entries.append((meaning, above - below))
            below = above
    size = scope.size
    if default:
        counted_entries.append((default[0] if len(default) == 1 else together(default), size - covered))
        covered = size
    is_located = False
    is_missing = covered < size
    for meaning, count in counted_entries:
        has_location, has_none = _count(meaning, count, written, repaired, missing)
        is_located |= has_location
        is_missing |= has_none
    if not counted_entries:
        missing[ELSEWHERE] = missing.get(ELSEWHERE, 0) + size
    elif covered < size:
        after = size - below
        between = size - covered - below_first - after
        for reason, count in ((BEFORE, below_first), (AFTER, after), (BETWEEN, between)):
            if count:
                missing[reason] = missing.get(reason, 0) + count
    return is_located, is_missing, True


def _count_spans(
    scope: CodeScope,
    entries: Sequence[tuple[int, int, Meaning]],
    start: int | None,
    written: Counts,
    repaired: Counts,
    missing: Counts,
) -> tuple[bool, bool]:
    """Add the bytes of a list whose entries overlap, or of a variable whose scope begins later than its block."""
    is_located = is_missing = False
    for span in _spans_of(scope, [Listed(*entry) for entry in entries], None, start):
        count = span.high - span.low
        for kind, sums in ((span.written, written), (span.repaired, repaired), (span.reason, missing)):
            if kind is not None:
                sums[kind] = sums.get(kind, 0) + count
        is_located |= span.written is not None
        is_missing |= span.reason is not None
    return is_located, is_missing


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
        self.abstract: dict[tuple[str, int], AbstractVariables] = {}
        """The variables of abstract instances, by section and offset of the function."""
        sections = (".debug_info", ".debug_types", ".debug_loclists", ".debug_loc", ".debug_rnglists", ".debug_ranges")
        self._left = FREE + sum(len(self.dwarf.source.data(name)) for name in sections)

    def __iter__(self) -> Iterator[VariableAvailability]:
        for row in self.rows():
            if isinstance(row, FunctionCopy):
                yield from map(VariableAvailability.of_row, row.rows())
            else:
                yield VariableAvailability.of_row(row)

    def rows(self) -> Iterator[Row | FunctionCopy]:
        """Yield what the walk tells of the variables, and what copies leave out: sums of a file need no records."""
        waiting: list[FunctionCopy] = []
        for unit in counted(tuple(self.dwarf.compile_units()), "units"):
            if unit.header.is_type_unit:
                continue
            walk = UnitWalk(unit, self.kinds, self.abstract, self.spend)
            try:
                yield from walk.rows()
                for copy in walk.copies:
                    if self._complete(copy):
                        yield copy
                    else:
                        waiting.append(copy)
            except DwarfGpuError as error:
                self.dwarf.note(error)
            self.scopes_without_code += walk.scopes_without_code
            unit.release()
        try:
            for copy in waiting:
                if self._complete(copy):
                    yield copy
        except DwarfGpuError as error:
            self.dwarf.note(error)

    def _complete(self, copy: FunctionCopy) -> bool:
        """Tell a copy which variables the abstract instance has; return whether that is known."""
        copy.variables = self.abstract.get(copy.origin)
        if copy.variables is None:
            return False
        self.spend(len(copy.variables.offsets))
        return True

    def spend(self, count: int) -> None:
        """Count what has been read of lists; an error when entries share far more of them than a compiler writes."""
        self._left -= count
        if self._left < 0:
            message = "entries share location lists, ranges or abstract instances more often than can be followed"
            raise MalformedFile("limit_exceeded", message, spec="DWARF 5, 2.6.2")
