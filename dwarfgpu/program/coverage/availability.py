"""Where the variables of a file can be seen: a record of each, made in one walk over the entries.

The scope of a variable is the code of the innermost function or block around it; one without code of its own belongs to
what is around it. Each byte of the scope has a location of some kind, or a reason why it has none. What `extern` only
declares is left out, and a variable outside of functions has no scope, but may have a location.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.immutable import frozen, immutable
from dwarfgpu.objfile.info import forms
from dwarfgpu.objfile.info.dies import Die
from dwarfgpu.objfile.info.forms import class_of
from dwarfgpu.objfile.info.pc_ranges import between, is_dead, listed
from dwarfgpu.objfile.info.scopes import qualified_name
from dwarfgpu.objfile.lists.location_lists import read_location_list
from dwarfgpu.objfile.lists.quick_lists import quick_locations, quick_ranges
from dwarfgpu.program.code.repairs import AUTO
from dwarfgpu.program.coverage.code_scope import FUNCTIONS, CodeScope, merged
from dwarfgpu.program.coverage.kinds import (
    CONSTANT_MEANING,
    EMPTY,
    ILL_FORMED,
    NO_LOCATION,
    SEVERAL,
    UNDEFINED,
    KindReader,
    Meaning,
)
from dwarfgpu.progress import counted

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from dwarfgpu.objfile.info.abbrevs import Abbreviation
    from dwarfgpu.objfile.info.dies import Attribute
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.objfile.lists.list_encoding import ListContext
    from dwarfgpu.program.code.code_object import CodeObject
    from dwarfgpu.program.code.repairs import Policy

PARAMETER, LOCAL, STATIC, CONSTANT = "parameter", "local", "static", "constant"

NO_ATTRIBUTE = "no location"
LEFT_OUT = "not in this copy"
EMPTY_LIST = "list without entries"
ELSEWHERE = "list has other addresses"
BEFORE, AFTER, BETWEEN = "before its first entry", "after its last entry", "between its entries"
UNREADABLE = "list is broken"
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

_VARIABLES = {
    dw.DW_TAG_formal_parameter: PARAMETER,
    dw.DW_TAG_variable: LOCAL,
    dw.DW_TAG_constant: CONSTANT,
}
_SCOPES = FUNCTIONS | {
    dw.DW_TAG_lexical_block,
    dw.DW_TAG_with_stmt,
    dw.DW_TAG_catch_block,
    dw.DW_TAG_try_block,
    dw.DW_TAG_entry_point,
}
_SKIPPED = frozenset((
    *(dw.DW_TAG_subroutine_type, dw.DW_TAG_enumeration_type, dw.DW_TAG_array_type),
    *(dw.DW_TAG_call_site, dw.DW_TAG_GNU_call_site),
))  # fmt: skip
"""Entries with no variable below them."""
_ADDRESS_INDEX = frozenset((
    *(dw.DW_FORM_addrx, dw.DW_FORM_addrx1, dw.DW_FORM_addrx2, dw.DW_FORM_addrx3, dw.DW_FORM_addrx4),
))  # fmt: skip
_BASELESS = ("is_baseless_kernel",)
"""What most repairs ask first of the function."""


RawEntries = tuple[tuple[int, int, Meaning], ...]
"""The fields of what a location list says: `Listed`."""
Counts = tuple[tuple[str, int], ...]
Row = tuple[
    "Unit", int, str, "CodeScope | None", Counts, Counts, Counts, RawEntries, "str | None", "int | None"
]  # fmt: skip
"""The fields of a record: `VariableAvailability`. Who sums up a file needs no more."""
_CONSTANT: RawEntries = ((0, -1, CONSTANT_MEANING),)


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
        unit, offset, kind, scope, written, repaired, missing, entries, reason, start = row
        listed_entries = tuple([Listed(*entry) for entry in entries])
        return cls(unit, offset, kind, scope, written, repaired, missing, listed_entries, reason, start)

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
            return
        bounded = sorted((entry for entry in self.entries if entry.high >= 0), key=_beginning)
        others = [entry for entry in self.entries if entry.high < 0]
        first = min((entry.low for entry in bounded), default=0)
        last = max((entry.high for entry in bounded), default=0)
        for beginning, high in self.scope.spans:
            low = beginning if self.start is None else max(beginning, self.start)
            if low >= high:
                continue
            inside = [entry for entry in bounded if entry.low < high and entry.high > low]
            edges = {low, high, *(edge for entry in inside for edge in (entry.low, entry.high) if low < edge < high)}
            edges |= {edge for edge in (first, last) if low < edge < high}
            ordered = sorted(edges)
            active: list[Listed] = []
            waiting = inside[::-1]
            for begin, end in pairwise(ordered):
                active = [entry for entry in active if entry.high > begin]
                while waiting and waiting[-1].low <= begin:
                    entry = waiting.pop()
                    if entry.high > begin:
                        active.append(entry)
                yield self._span(begin, end, active or others, first, last)

    def _span(self, low: int, high: int, entries: Sequence[Listed], first: int, last: int) -> CoveredSpan:
        if not entries:
            reason = self.reason or (BEFORE if low < first else AFTER if low >= last else BETWEEN)
            return CoveredSpan(low, high, None, None, reason)
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


class EntryPlan:
    """What to do with the entries of one abbreviation."""

    __slots__ = ("constant", "expression", "frame_base", "has_children", "has_code", "high", "is_abstract", "is_bare",
                 "is_declared", "is_global", "is_scope", "is_skipped", "is_variable", "kind", "list_form", "list_value",
                 "location", "low", "low_index", "origin", "ranges", "size", "start", "tag", "target",
                 "type")  # fmt: skip

    def __init__(self, abbreviation: Abbreviation, version: int) -> None:
        attributes = abbreviation.attributes
        self.tag = tag = abbreviation.tag
        self.kind = _VARIABLES.get(tag)
        self.has_children = abbreviation.has_children
        self.is_scope = tag in _SCOPES
        self.is_skipped = tag in _SKIPPED
        self.is_declared = dw.DW_AT_declaration in attributes
        self.is_abstract = tag == dw.DW_TAG_subprogram and dw.DW_AT_inline in attributes
        self.location = abbreviation.index_of(dw.DW_AT_location)
        self.constant = abbreviation.index_of(dw.DW_AT_const_value)
        self.origin = _reference(abbreviation, dw.DW_AT_abstract_origin)
        self.type = abbreviation.index_of(dw.DW_AT_type)
        self.start = abbreviation.index_of(dw.DW_AT_start_scope)
        self.frame_base = abbreviation.index_of(dw.DW_AT_frame_base)
        slots = abbreviation.layout.slots
        self.expression = -1
        """The value that is the expression of the location; -1 where that is no expression."""
        self.list_value = -1
        """The value that says where the list of locations is; -1 where that is not plain."""
        self.list_form = 0
        if self.location >= 0:
            form = abbreviation.forms[self.location]
            if form == dw.DW_FORM_exprloc:
                self.expression = slots[self.location]
            elif version >= 5 and form in (dw.DW_FORM_loclistx, dw.DW_FORM_sec_offset):
                self.list_value, self.list_form = slots[self.location], form
        self.is_variable = self.kind is not None and (not self.is_declared or self.location >= 0)
        self.target = -1 if self.origin < 0 else slots[self.origin]
        """The value that is the reference to the abstract origin; -1 without one."""
        self.is_global = self.origin >= 0 and abbreviation.forms[self.origin] == dw.DW_FORM_ref_addr
        """Whether that counts in the section, and not in the unit."""
        self.low = abbreviation.index_of(dw.DW_AT_low_pc)
        self.high = abbreviation.index_of(dw.DW_AT_high_pc)
        self.ranges = abbreviation.index_of(dw.DW_AT_ranges)
        self.is_bare = not {
            *(dw.DW_AT_location, dw.DW_AT_const_value, dw.DW_AT_specification, dw.DW_AT_abstract_origin)
        }.intersection(attributes)
        self.has_code = self.ranges >= 0 or (self.low >= 0 and self.high >= 0)
        self.low_index = self.size = -1
        """The values that are the index of the address of the code and its size; -1 where they are not so."""
        if (
            self.ranges < 0
            and self.has_code
            and abbreviation.forms[self.low] in _ADDRESS_INDEX
            and abbreviation.forms[self.high] == dw.DW_FORM_data4
        ):
            self.low_index, self.size = slots[self.low], slots[self.high]


def _reference(abbreviation: Abbreviation, attribute: int) -> int:
    """Return the index of a reference to an entry of ``.debug_info``; -1 if there is none that is so."""
    index = abbreviation.index_of(attribute)
    wanted = (*forms.REF_UNIT, dw.DW_FORM_ref_addr)
    return index if index >= 0 and abbreviation.forms[index] in wanted else -1


class _AbstractVariables:
    """The variables of an abstract instance: their offsets in the unit, and their kinds."""

    __slots__ = ("kinds", "offsets", "unit")

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.offsets: list[int] = []
        self.kinds: list[str] = []


class _Copy:
    """A function that is a copy of an abstract instance, and which of its variables it has."""

    __slots__ = ("origin", "scope", "seen")

    def __init__(self, origin: tuple[str, int], scope: CodeScope) -> None:
        self.origin = origin
        self.scope = scope
        self.seen: set[int] = set()
        """The offsets in the section of what its variables complete."""


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
        self.abstract: dict[tuple[str, int], _AbstractVariables] = {}
        """The variables of abstract instances, by section and offset of the function."""
        self._waiting: list[_Copy] = []
        sections = (".debug_info", ".debug_types", ".debug_loclists", ".debug_loc", ".debug_rnglists", ".debug_ranges")
        self._left = FREE + sum(len(self.dwarf.source.data(name)) for name in sections)

    def __iter__(self) -> Iterator[VariableAvailability]:
        return map(VariableAvailability.of_row, self.rows())

    def rows(self) -> Iterator[Row]:
        """Yield the fields of the records: sums of a whole file need no more."""
        for unit in counted(tuple(self.dwarf.compile_units()), "units"):
            if unit.header.is_type_unit:
                continue
            walk = _UnitWalk(self, unit)
            try:
                yield from walk.variables()
            except DwarfGpuError as error:
                self.dwarf.note(error)
            unit.release()
        waiting, self._waiting = self._waiting, []
        try:
            yield from self.left_out(waiting, is_last=True)
        except DwarfGpuError as error:
            self.dwarf.note(error)

    def spend(self, count: int) -> None:
        """Count what has been read of lists; an error when entries share far more of them than a compiler writes."""
        self._left -= count
        if self._left < 0:
            message = "entries share location lists, ranges or abstract instances more often than can be followed"
            raise MalformedFile("limit_exceeded", message, spec="DWARF 5, 2.6.2")

    def left_out(self, copies: list[_Copy], *, is_last: bool = False) -> Iterator[Row]:
        """Yield the variables that only the abstract instance has."""
        for copy in copies:
            variables = self.abstract.get(copy.origin)
            if variables is None:
                if not is_last:
                    self._waiting.append(copy)
                continue
            self.spend(len(variables.offsets))
            missing = ((LEFT_OUT, copy.scope.size),)
            unit, seen, scope = variables.unit, copy.seen, copy.scope
            start = unit.offset
            for offset, kind in zip(variables.offsets, variables.kinds, strict=True):
                if start + offset not in seen:
                    yield unit, offset, kind, scope, (), (), missing, (), LEFT_OUT, None


class _VariableSite:
    """The place of the location of a variable."""

    __slots__ = ("_die", "_family", "_plan", "_walk", "producer", "scope")

    def __init__(self, walk: _UnitWalk, die: Die, plan: EntryPlan, scope: CodeScope | None) -> None:
        self._walk = walk
        self._die = die
        self._plan = plan
        self._family: dict[Hashable, Any] | None = None
        self.producer = walk.producer
        self.scope = scope

    @property
    def attribute(self) -> Attribute:
        # of a location that another entry has, nothing but the entry counts
        return self._die._attribute(max(self._plan.location, 0))  # noqa: SLF001 (by its index, without a name)

    @property
    def family(self) -> dict[Hashable, Any]:
        if self._family is None:
            self._family = self._walk.family(self._die, self._plan)
        return self._family


class _UnitWalk:
    """The walk over the entries of a unit."""

    def __init__(self, whole: FileAvailability, unit: Unit) -> None:
        self.whole = whole
        self.unit = unit
        self.kinds = whole.kinds
        self.nodes: dict[bytes, Any] = {}
        """For expressions: their meaning, or the first question that it depends on, with what follows."""
        self.context: ListContext | None = None
        self.addresses: Sequence[int] = ()
        self.families: dict[Hashable, dict[Hashable, Any]] = {}
        """What is known of all variables of a type."""
        self.scopes: list[CodeScope | None] = [None] * 64
        """The scope of the entries at each depth."""
        self.copies: list[_Copy | None] = [None] * 64
        """The copy of an abstract instance that they are in."""
        self.made: list[_Copy] = []
        """All copies of the unit."""
        self.abstract = _AbstractVariables(unit)
        """The variables of the abstract instance that the walk is in."""
        self.types: dict[int, Hashable] = {}
        """The types of the variables of abstract instances, by form and value."""
        self.bare: set[int] = set()
        """The variables of abstract instances that have neither a location nor complete another entry."""
        self.origins: dict[int, Attribute | None] = {}
        """The location of entries that others complete."""
        try:
            self.producer = unit.producer
        except DwarfGpuError as error:
            unit.dwarf.note(error)
            self.producer = None
        try:
            self.context = unit.list_context
            self.addresses = unit.tables.addresses
        except DwarfGpuError:  # of a unit that needs none
            pass

    def variables(self) -> Iterator[Row]:  # noqa: C901, PLR0912 (one loop over all entries)
        """Yield the variables of the unit; of copies that lack some, those as well if the abstract instance is here."""
        unit, scopes, copies, start = self.unit, self.scopes, self.copies, self.unit.offset
        plans: dict[Abbreviation, EntryPlan] = {}
        skipped = abstract = -1  # the depth of what is skipped, and of an abstract instance
        for offset, depth, abbreviation, values in unit.entries():
            if skipped >= 0:
                if depth > skipped:
                    continue
                skipped = -1
            plan = plans.get(abbreviation)
            if plan is None:
                plan = plans[abbreviation] = EntryPlan(abbreviation, unit.version)
            if abstract >= 0:
                if depth > abstract and not (plan.has_code and plan.is_scope):
                    if not self._is_in_abstract(plan, offset, abbreviation, values):
                        skipped = depth
                    continue
                if depth > abstract:  # code in an abstract instance is of nothing around it
                    while depth >= len(scopes):
                        self._make_room()
                    scopes[depth] = copies[depth] = None
                abstract = -1
            if plan.is_scope:
                if plan.is_abstract and not plan.has_code:
                    abstract = depth
                    self.abstract = _AbstractVariables(unit)
                    self.whole.abstract[unit.section, start + offset] = self.abstract
                elif plan.is_declared and plan.tag == dw.DW_TAG_subprogram:
                    skipped = depth
                else:
                    if depth >= len(scopes) - 1:
                        self._make_room()
                    self._enter(Die(unit, offset, abbreviation, values), plan, depth)
                continue
            if plan.is_variable:
                copy = copies[depth]
                if copy is not None and plan.origin >= 0:
                    copy.seen.add(values[plan.target] if plan.is_global else start + values[plan.target])
                row = self._variable(Die(unit, offset, abbreviation, values), plan, scopes[depth])
                if row is not None:
                    yield row
            if plan.is_skipped:
                skipped = depth
            elif plan.has_children:
                if depth >= len(scopes) - 1:
                    self._make_room()
                scopes[depth + 1], copies[depth + 1] = scopes[depth], copies[depth]
        yield from self.whole.left_out(self.made)

    def _make_room(self) -> None:
        """Prepare for entries that are deeper."""
        self.scopes.extend([None] * len(self.scopes))
        self.copies.extend([None] * len(self.copies))

    def _is_in_abstract(
        self, plan: EntryPlan, offset: int, abbreviation: Abbreviation, values: tuple[Any, ...]
    ) -> bool:
        """Note an entry of an abstract instance; return whether what it owns belongs to the instance, too."""
        if plan.kind is None or plan.is_declared:
            return plan.tag == dw.DW_TAG_lexical_block
        place = self.unit.offset + offset
        self.abstract.offsets.append(offset)
        self.abstract.kinds.append(plan.kind)
        if plan.is_bare:
            self.bare.add(place)
        if plan.type >= 0:
            self.types[place] = abbreviation.forms[plan.type], abbreviation.value(plan.type, values)
        return True

    def _enter(self, die: Die, plan: EntryPlan, depth: int) -> None:
        """Note the scope of what an entry owns."""
        scope = self._scope(die, plan, self.scopes[depth])
        copy = self.copies[depth]
        if plan.tag in FUNCTIONS:
            copy = None
            if not scope.size:
                self.whole.scopes_without_code += 1
            elif plan.origin >= 0:
                copy = _Copy(self._target(die, plan), scope)
                self.made.append(copy)
        self.scopes[depth + 1], self.copies[depth + 1] = scope, copy

    def _target(self, die: Die, plan: EntryPlan) -> tuple[str, int]:
        """Return the section and the offset of the abstract origin; that an entry begins there is not checked."""
        value: int = die.values[plan.target]
        return self.unit.section, value if plan.is_global else self.unit.offset + value

    # --- Scopes ---------------------------------------------------------------------------------------------------

    def _scope(self, die: Die, plan: EntryPlan, parent: CodeScope | None) -> CodeScope:
        unit = self.unit
        if not plan.has_code:
            is_block = plan.tag not in FUNCTIONS and parent is not None
            spans = parent.spans if is_block and parent is not None else []
            scope = CodeScope(unit, die.offset, plan.tag, parent, spans, is_own=False)
        else:
            try:
                spans = self._spans(die, plan)
            except DwarfGpuError as error:
                self._note(error, die)
                spans = []
            scope = CodeScope(unit, die.offset, plan.tag, parent, spans)
        if scope.function is scope and plan.frame_base >= 0:
            base = die._attribute(plan.frame_base)  # noqa: SLF001 (by its index, without a name)
            if type(base.value) is bytes:
                scope.frame_base = base.value, unit.format
        return scope

    def _spans(self, die: Die, plan: EntryPlan) -> list[tuple[int, int]]:
        unit, abbreviation, values = self.unit, die.abbreviation, die.values
        if plan.low_index >= 0 and values[plan.low_index] < len(self.addresses):
            low = self.addresses[values[plan.low_index]]
            size = values[plan.size]
            return [] if not size or is_dead(low, unit.address_size) else [(low, low + size)]
        if plan.ranges < 0:
            form = abbreviation.forms[plan.low]
            value = abbreviation.value(plan.low, values)
            low = value if form == dw.DW_FORM_addr else die._attribute(plan.low).address()  # noqa: SLF001
            form = abbreviation.forms[plan.high]
            if form == dw.DW_FORM_data4:
                high = low + abbreviation.value(plan.high, values)
                return [] if is_dead(low, unit.address_size) or low >= high else [(low, high)]
            attribute = die._attribute(plan.high)  # noqa: SLF001
            return between(unit, low, attribute.form, attribute.value)
        form, value = abbreviation.forms[plan.ranges], abbreviation.value(plan.ranges, values)
        if form in (dw.DW_FORM_rnglistx, dw.DW_FORM_sec_offset):
            section, offset = unit.tables.list_offset(form, value, "rnglist")
        else:
            section, offset = die._attribute(plan.ranges).list_place()  # noqa: SLF001
        spans = None
        if section.startswith(".debug_rnglists") and self.context is not None:
            spans = quick_ranges(unit.tables.list_data(section), offset, self.context, self.addresses)
        if spans is None:
            spans = listed(unit, section, offset)
        self.whole.spend(len(spans))
        return merged(spans)

    # --- Variables ------------------------------------------------------------------------------------------------

    def _variable(self, die: Die, plan: EntryPlan, scope: CodeScope | None) -> Row | None:
        if scope is not None and not scope.size:
            return None  # of a function without code
        kind = plan.kind if scope is not None or plan.kind == CONSTANT else STATIC
        assert kind is not None  # noqa: S101 (it is a variable)
        entries: RawEntries
        try:
            entries, reason = self._entries(die, plan, scope)
            start = None if plan.start < 0 or scope is None else self._start(die, plan, scope)
        except DwarfGpuError as error:
            self._note(error, die)
            entries, reason, start = (), UNREADABLE, None
        if scope is None:
            return self._outside(die, kind, entries, reason)
        size = scope.size if start is None else scope.size - scope.before(start)
        if not entries:
            missing = ((reason or NO_ATTRIBUTE, size),)
            return self.unit, die.offset, kind, scope, (), (), missing, (), reason, start
        if len(entries) > 1 or entries[0][1] >= 0:
            return self._summed(die, kind, scope, size, entries, start)
        meaning = entries[0][2]
        written: Counts = ((meaning.written, size),)
        repaired: Counts = written
        if meaning.repaired in NO_LOCATION:
            repaired = ()
        elif meaning.repaired != meaning.written:
            repaired = ((meaning.repaired, size),)
        if meaning.written in NO_LOCATION:
            return self.unit, die.offset, kind, scope, (), repaired, written, entries, None, start
        return self.unit, die.offset, kind, scope, written, repaired, (), entries, None, start

    def _outside(self, die: Die, kind: str, entries: RawEntries, reason: str | None) -> Row:
        """Return the row of a variable outside of functions, which is everywhere or nowhere."""
        meaning = together([entry[2] for entry in entries]) if entries else None
        if meaning is None or meaning.written in NO_LOCATION:
            reason = reason or (None if meaning is None else meaning.written)
        written = ((meaning.written, 0),) if meaning is not None and meaning.written not in NO_LOCATION else ()
        repaired = ((meaning.repaired, 0),) if meaning is not None and meaning.repaired not in NO_LOCATION else ()
        return self.unit, die.offset, kind, None, written, repaired, (), entries, reason, None

    def _summed(self, die: Die, kind: str, scope: CodeScope, size: int, entries: RawEntries, start: int | None) -> Row:
        """Return the row of a variable with several entries."""
        written: dict[str, int] = {}
        repaired: dict[str, int] = {}
        missing: dict[str, int] = {}
        before, is_plain = scope.before, start is None
        covered = below_end = below_first = 0
        end = -1
        default: list[Meaning] = []
        for low, high, meaning in entries:
            if high < 0:
                default.append(meaning)
                continue
            if low < end:
                is_plain = False
            below = below_end if low == end else before(low)  # most entries begin where the last one ends
            if end < 0:
                below_first = below
            end = high
            below_end = before(high)
            count = below_end - below
            if count:
                covered += count
                _count(meaning, count, written, repaired, missing)
        reason = None
        if not is_plain:
            row = self.unit, die.offset, kind, scope, (), (), (), entries, None, start
            written, repaired, missing = _sums_of(VariableAvailability.of_row(row))
            covered = size
        elif default:
            _count(default[0] if len(default) == 1 else together(default), size - covered,
                   written, repaired, missing)  # fmt: skip
        elif not covered:
            missing = {ELSEWHERE: size}
            reason = ELSEWHERE
        elif covered < size:
            above = size - below_end
            for name, count in ((BEFORE, below_first), (AFTER, above), (BETWEEN, size - covered - below_first - above)):
                if count:
                    missing[name] = missing.get(name, 0) + count
        return (
            *(self.unit, die.offset, kind, scope),
            *(tuple(written.items()), tuple(repaired.items()), tuple(missing.items())),
            *(entries, reason, start),
        )  # fmt: skip

    def _start(self, die: Die, plan: EntryPlan, scope: CodeScope) -> int | None:
        """Return where the scope of a declaration begins later than its block (DWARF 5, 3.9)."""
        start = die._attribute(plan.start)  # noqa: SLF001
        if start.value_class == "rnglist":
            spans = listed(self.unit, *start.list_place())
            return min((low for low, _high in spans), default=None)
        return scope.spans[0][0] + start.unsigned()

    def _entries(self, die: Die, plan: EntryPlan, scope: CodeScope | None) -> tuple[RawEntries, str | None]:
        """Return what is said of the location of a variable, or why nothing is."""
        if plan.expression >= 0:
            return ((0, -1, self._meaning(die.values[plan.expression], _VariableSite(self, die, plan, scope))),), None
        if plan.list_value >= 0:
            site = _VariableSite(self, die, plan, scope)
            return self._of_list(plan.list_form, die.values[plan.list_value], self.unit, site)
        if plan.location >= 0:
            return self._of_attribute(die._attribute(plan.location), die, plan, scope)  # noqa: SLF001
        if plan.constant >= 0:
            return _CONSTANT, None
        if plan.origin < 0 and dw.DW_AT_specification not in die.abbreviation.attributes:
            return (), NO_ATTRIBUTE
        inherited = self._inherited(die, plan)
        if inherited is None:
            return (), NO_ATTRIBUTE
        if inherited.number == dw.DW_AT_const_value:
            return _CONSTANT, None
        return self._of_attribute(inherited, die, plan, scope)

    def _inherited(self, die: Die, plan: EntryPlan) -> Attribute | None:
        """Return the location or the constant of the entry that another one completes."""
        if plan.origin >= 0:
            key = self._target(die, plan)[1]
            if key in self.bare:
                return None
            if key not in self.origins:
                self.origins[key] = die.find_number(dw.DW_AT_location) or die.find_number(dw.DW_AT_const_value)
            return self.origins[key]
        return die.find_number(dw.DW_AT_location) or die.find_number(dw.DW_AT_const_value)

    def _of_attribute(
        self, attribute: Attribute, die: Die, plan: EntryPlan, scope: CodeScope | None
    ) -> tuple[RawEntries, str | None]:
        unit = attribute.die.unit
        site = _VariableSite(self, die, plan, scope)
        kind = class_of(attribute.form, dw.DW_AT_location, unit.version)
        if kind not in ("block", "exprloc", "loclist"):
            raise MalformedFile("bad_class", f"DW_AT_location is no location ({attribute.form_name})")
        if kind != "loclist":
            return ((0, -1, self._meaning(attribute.block().data, site)),), None
        return self._of_list(attribute.form, attribute.value, unit, site)

    def _of_list(self, form: int, value: Any, unit: Unit, site: _VariableSite) -> tuple[RawEntries, str | None]:
        """Return the entries of the list that an attribute names."""
        section, offset = unit.tables.list_offset(form, value, "loclist")
        data = unit.tables.list_data(section)
        entries: RawEntries
        quick = None
        if unit is self.unit and self.context is not None and section.startswith(".debug_loclists"):
            quick = quick_locations(data, offset, self.context, self.addresses)
        meaning = self._meaning
        if quick is None:
            listed_entries = read_location_list(data, offset, section=section, context=unit.list_context)
            if listed_entries.error is not None:
                raise listed_entries.error.again()
            self.whole.spend(len(listed_entries.entries))
            entries = tuple([
                (entry.start, -1 if entry.default else entry.end, meaning(entry.expression, site))
                for entry in listed_entries.entries
            ])  # fmt: skip
        else:
            self.whole.spend(len(quick))
            entries = tuple([(low, high, meaning(data[begin:end], site)) for low, high, begin, end in quick])
        return entries, None if entries else EMPTY_LIST

    def _meaning(self, data: bytes, site: _VariableSite) -> Meaning:
        node = self.nodes.get(data)
        if node.__class__ is Meaning:
            return node
        scope = site.scope
        if node is not None and node[0] == _BASELESS and scope is not None:
            node = node[1].get(scope.facts.get(_BASELESS))
            if node.__class__ is Meaning:
                return node
        known = self.kinds.known(data, self.unit.format)
        meaning = known.meaning or self.kinds.meaning(known, site)
        if not known.has_base:
            self.nodes[data] = known.meaning or known.answers.get((self.producer, ""))
        return meaning

    def family(self, die: Die, plan: EntryPlan) -> dict[Hashable, Any]:
        """Return what is known of all variables that have the type of an entry."""
        key: Hashable = None
        if plan.type >= 0:
            key = die.abbreviation.forms[plan.type], die.abbreviation.value(plan.type, die.values)
        elif plan.origin >= 0:
            target = self._target(die, plan)
            key = self.types.get(target[1], target)
        return {} if key is None else self.families.setdefault(key, {})

    def _note(self, error: DwarfGpuError, die: Die) -> None:
        self.unit.dwarf.note(self.unit.error(error, die.offset))


def _count(
    meaning: Meaning, count: int, written: dict[str, int], repaired: dict[str, int], missing: dict[str, int]
) -> None:
    """Add bytes to those of the kinds of an expression."""
    where = missing if meaning.written in NO_LOCATION else written
    where[meaning.written] = where.get(meaning.written, 0) + count
    if meaning.repaired not in NO_LOCATION:
        repaired[meaning.repaired] = repaired.get(meaning.repaired, 0) + count


def _sums_of(record: VariableAvailability) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Return the bytes of each kind and of each reason, where entries overlap or the scope begins later."""
    written: dict[str, int] = {}
    repaired: dict[str, int] = {}
    missing: dict[str, int] = {}
    for span in record.spans():
        count = span.high - span.low
        for kind, sums in ((span.written, written), (span.repaired, repaired), (span.reason, missing)):
            if kind is not None:
                sums[kind] = sums.get(kind, 0) + count
    return written, repaired, missing
