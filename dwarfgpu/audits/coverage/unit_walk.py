"""The walk over the entries of a unit that finds its variables, the scope of each, and its location."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.coverage.code_scope import FUNCTIONS, CodeScope
from dwarfgpu.audits.coverage.kinds import CONSTANT_MEANING, NO_ATTRIBUTE, VariableSite
from dwarfgpu.audits.coverage.tally import EMPTY_LIST, LEFT_OUT, UNREADABLE, Location
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.info import forms
from dwarfgpu.objfile.info.dies import Die
from dwarfgpu.objfile.info.forms import class_of
from dwarfgpu.objfile.info.readers import FAILURES
from dwarfgpu.objfile.info.scopes import AddressSpans, listed, ranges_of
from dwarfgpu.objfile.info.tree import after_children
from dwarfgpu.objfile.list_encoding import read_list
from dwarfgpu.objfile.quick_lists import quick_locations, quick_ranges

if TYPE_CHECKING:
    from dwarfgpu.audits.coverage.kinds import Answers, LocationKinds
    from dwarfgpu.objfile.info.abbrevs import Abbreviation
    from dwarfgpu.objfile.info.dies import Attribute
    from dwarfgpu.objfile.info.unit import Unit

T = TypeVar("T")
PARAMETER, LOCAL, STATIC, CONSTANT = "parameter", "local", "static", "constant"

Row: TypeAlias = "tuple[Unit, int, str, CodeScope | None, Location, int | None]"
"""A variable: unit, offset of its entry in the unit, kind, scope, location, and where its scope begins if that is later
than the block that it is in (DW_AT_start_scope)."""

_VARIABLES = {dw.DW_TAG_formal_parameter: PARAMETER, dw.DW_TAG_variable: LOCAL, dw.DW_TAG_constant: CONSTANT}
_SCOPES = FUNCTIONS | {
    dw.DW_TAG_lexical_block,
    dw.DW_TAG_with_stmt,
    dw.DW_TAG_catch_block,
    dw.DW_TAG_try_block,
    dw.DW_TAG_entry_point,
}
_CLOSED = frozenset((
    *(dw.DW_TAG_subroutine_type, dw.DW_TAG_enumeration_type, dw.DW_TAG_array_type),
    *(dw.DW_TAG_call_site, dw.DW_TAG_GNU_call_site),
))  # fmt: skip
"""Entries with no variable below them."""
_REFERENCES = frozenset((*forms.REF_UNIT, dw.DW_FORM_ref_addr))
"""The forms of references to entries of `.debug_info`."""
PASSED, SKIPPED, VARIABLE, SCOPE, ABSTRACT = range(5)
"""What an entry is to the walk: nothing, but it may own variables; nothing with all it owns; a variable; a scope; an
abstract instance of a function."""


class EntryRole:
    """What the entries of one abbreviation are to the walk."""

    def __init__(self, abbreviation: Abbreviation) -> None:
        attributes, tag = abbreviation.attributes, abbreviation.tag
        is_declared = dw.DW_AT_declaration in attributes
        has_pair = dw.DW_AT_low_pc in attributes and dw.DW_AT_high_pc in attributes
        self.kind = _VARIABLES.get(tag)
        self.is_code = tag in _SCOPES and (dw.DW_AT_ranges in attributes or has_pair)
        self.role = PASSED
        if tag == dw.DW_TAG_subprogram and dw.DW_AT_inline in attributes and not self.is_code:
            self.role = ABSTRACT
        elif tag in _CLOSED or (tag == dw.DW_TAG_subprogram and is_declared):
            self.role = SKIPPED
        elif tag in _SCOPES:
            self.role = SCOPE
        elif self.kind is not None and (not is_declared or dw.DW_AT_location in attributes):
            self.role = VARIABLE
        self.in_instance = PASSED if tag == dw.DW_TAG_lexical_block else SKIPPED
        """What an entry without code is within an abstract instance."""
        if self.kind is not None and not is_declared:
            self.in_instance = VARIABLE
        self._abbreviation, self._origin = abbreviation, abbreviation.index_of(dw.DW_AT_abstract_origin)
        self._form = abbreviation.forms[self._origin] if self._origin >= 0 else 0

    def target(self, unit: Unit, values: tuple[Any, ...]) -> int:
        """Return the offset in the section of the abstract origin of an entry; -1 if it has none there."""
        if self._form not in _REFERENCES:
            return -1
        offset: int = self._abbreviation.value(self._origin, values)
        return offset if self._form == dw.DW_FORM_ref_addr else offset + unit.offset


class AbstractVariables(dict[int, str]):
    """The variables of an abstract instance: their kinds by their offsets in the section."""

    __slots__ = ("is_open", "unit")

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.is_open = True
        """Whether there may be more of them."""


class FunctionCopy:
    """A function that is a copy of an abstract instance, and which of its variables it has."""

    __slots__ = ("_instances", "_origin", "is_ended", "scope", "seen")

    def __init__(self, instances: dict[int, AbstractVariables], origin: int, scope: CodeScope) -> None:
        self._instances = instances
        self._origin = origin
        self.scope = scope
        self.seen: set[int] = set()
        """The offsets in the section of what its variables complete."""
        self.is_ended = False
        """Whether the walk is past it."""

    def abstract(self, file: FileWalk) -> AbstractVariables | None:
        """Return the variables of the abstract instance, once all of them are known."""
        variables = self._instances.get(self._origin)
        if variables is None or variables.is_open:
            return None
        file.spend(len(variables))
        return variables

    def rows(self, variables: AbstractVariables) -> Iterator[Row]:
        """Yield those of the variables that it does not have."""
        unit = variables.unit
        for place, kind in variables.items():
            if place not in self.seen:
                yield unit, place - unit.offset, kind, self.scope, LEFT_OUT, None


class FileWalk:
    """What the walks over the units of a file share. They may read ``left`` parts of lists."""

    def __init__(self, kinds: LocationKinds, left: int) -> None:
        self.kinds = kinds
        self.instances: dict[str, dict[int, AbstractVariables]] = {}
        """The variables of abstract instances, by the section and the offset there of the function."""
        self._left = left

    def spend(self, count: int) -> None:
        """Count what has been read of lists; an error when entries share far more of them than a compiler writes."""
        self._left -= count
        if self._left < 0:
            message = "entries share location lists, ranges or abstract instances more often than can be followed"
            raise MalformedFile("limit_exceeded", message, spec="DWARF 5, 2.6.2")


class UnitWalk:
    """The walk over the entries of a unit."""

    def __init__(self, unit: Unit, file: FileWalk) -> None:
        self.unit = unit
        self.file = file
        self.copies: list[FunctionCopy] = []
        self.functions: list[CodeScope] = []
        """The functions with code of their own, without inlined calls."""
        self.scopes_without_code = 0
        self._types: dict[Hashable, Answers] = {}
        """What repairs have asked about types."""
        self._origins: dict[int, Attribute | None] = {}
        """The location or the constant of entries that others complete, by their offset in the section."""
        try:
            self.producer = unit.producer
        except DwarfGpuError as error:
            unit.dwarf.note(error)
            self.producer = None

    def rows(self) -> Iterator[Row]:
        """Yield the variables."""
        owners: list[_Around] = []
        """What is around the entries that each entry owns: of those around the entry at hand, and of that itself."""
        try:
            yield from self._rows(owners)
        except DwarfGpuError:
            while owners and self._is_whole(owners[-1][0]):
                _leave(owners, len(owners) - 1)
            raise
        _leave(owners, 0)

    def _is_whole(self, offset: int) -> bool:
        """Return whether an entry and all that it owns can be read."""
        unit = self.unit
        try:
            abbreviation, _values, end = unit.entry(offset)
            return not abbreviation.has_children or after_children(unit.data, end, unit.table) > 0
        except (DwarfGpuError, *FAILURES):
            return False

    def _rows(self, owners: list[_Around]) -> Iterator[Row]:
        unit, roles = self.unit, dict[Any, EntryRole]()
        closed = -1
        """The depth of an entry that is skipped with all it owns."""
        for offset, depth, abbreviation, values in unit.entries():
            if len(owners) > depth:
                _leave(owners, depth)
                closed = -1 if closed >= depth else closed
            around = owners[-1] if owners else _NOTHING
            owners.append((offset, *around[1:]))
            if closed >= 0:
                continue
            role = roles.get(abbreviation)
            if role is None:
                role = roles[abbreviation] = EntryRole(abbreviation)
            _owner, scope, copy, instance = around
            if instance is not None and not role.is_code:
                if role.in_instance == VARIABLE:
                    instance[unit.offset + offset] = role.kind or LOCAL
                elif role.in_instance == SKIPPED:
                    closed = depth
            elif role.role == SKIPPED:
                closed = depth
            elif role.role == ABSTRACT:
                instance = AbstractVariables(unit)
                self.file.instances.setdefault(unit.section, {})[unit.offset + offset] = instance
                owners[-1] = offset, scope, copy, instance
            elif role.role == VARIABLE:
                die = Die(unit, offset, abbreviation, values)
                target = role.target(unit, values)
                if copy is not None and target >= 0:
                    copy.seen.add(target)
                if scope is None or scope.size:
                    yield self._variable(die, role.kind or LOCAL, target, scope)
            elif role.role == SCOPE:
                die, target = Die(unit, offset, abbreviation, values), role.target(unit, values)
                owners[-1] = self._entered(die, target, around, is_code=role.is_code)

    # --- Scopes ---------------------------------------------------------------------------------------------------

    def _entered(self, die: Die, target: int, around: _Around, *, is_code: bool) -> _Around:
        """Return what is around the entries that a function, an inlined call or a block owns."""
        _owner, parent, copy, instance = around
        if instance is not None:  # code in an abstract instance is of nothing around it
            parent = copy = None
        spans: Sequence[tuple[int, int]] = ()
        if is_code:
            try:
                spans = self._code(die)
            except DwarfGpuError as error:
                self._note(error, die.offset)
        elif die.tag not in FUNCTIONS and parent is not None:
            spans = parent.spans
        scope = CodeScope(self.unit, die.offset, die.tag, parent, spans)
        if scope.function is scope:
            self.functions.append(scope)
            base = die.number(dw.DW_AT_frame_base)
            scope.frame_base = base.value if base is not None and isinstance(base.value, bytes) else None
        if die.tag in FUNCTIONS:
            copy = None
            if not scope.size:
                self.scopes_without_code += 1
            elif target >= 0:
                copy = FunctionCopy(self.file.instances.setdefault(self.unit.section, {}), target, scope)
                self.copies.append(copy)
        return die.offset, scope, copy, None

    def _code(self, die: Die) -> list[tuple[int, int]]:
        """Return the addresses of the code of an entry, in order and apart from each other."""
        ranges = die.number(dw.DW_AT_ranges)
        if ranges is None:
            return ranges_of(die)
        found = self._quick(quick_ranges, self.unit, *ranges.list_place())
        spans = ranges_of(die) if found is None else list(zip(*found, strict=True))
        self.file.spend(len(spans))
        return [*AddressSpans(spans)]

    # --- Variables ------------------------------------------------------------------------------------------------

    def _variable(self, die: Die, kind: str, target: int, scope: CodeScope | None) -> Row:
        site, start = VariableSite(die, target, self.producer, scope, self._types), None
        location: Location
        try:
            location = self._location(die, target, site)
            first = die.number(dw.DW_AT_start_scope)
            if first is not None and scope is not None:
                start = self._start(first, scope)
        except DwarfGpuError as error:
            self._note(error, die.offset)
            location = UNREADABLE
        if scope is None:
            return self.unit, die.offset, CONSTANT if kind == CONSTANT else STATIC, None, location, None
        if location is NO_ATTRIBUTE and self.file.kinds.has_local_memory:
            location = self.file.kinds.without_location(site)
        return self.unit, die.offset, kind, scope, location, start

    def _start(self, first: Attribute, scope: CodeScope) -> int | None:
        """Return where the scope of a declaration begins later than its block (DWARF 5, 3.9)."""
        if first.value_class == "rnglist":
            return min((low for low, _high in listed(self.unit, *first.list_place())), default=None)
        return scope.spans[0][0] + first.unsigned()

    def _location(self, die: Die, target: int, site: VariableSite) -> Location:
        """Return the location of a variable, or of the entry that it completes, where it has none itself."""
        location = die.number(dw.DW_AT_location)
        if location is None and die.number(dw.DW_AT_const_value) is not None:
            return CONSTANT_MEANING
        if location is None:
            location = self._inherited(die, target)
        if location is None:
            return NO_ATTRIBUTE
        if location.number == dw.DW_AT_const_value:
            return CONSTANT_MEANING
        unit, meaning = location.die.unit, self.file.kinds.meaning
        kind = class_of(location.form, dw.DW_AT_location, unit.version)
        if kind in ("block", "exprloc"):
            return meaning(location.value, site)
        if kind != "loclist":
            raise MalformedFile("bad_class", f"DW_AT_location is not a location ({location.form_name})")
        section, place = unit.tables.list_offset(location.form, location.value, "loclist")
        rows = self._quick(quick_locations, unit, section, place)
        if rows is None:
            found = read_list(unit.tables.list_data(section), place, section=section, context=unit.list_context)
            if found.error is not None:
                raise found.error.again()
            rows = [(each.start, -1 if each.default else each.end, each.expression) for each in found.entries]
        entries = [(low, high, meaning(data, site)) for low, high, data in rows]
        self.file.spend(len(entries))
        return entries or EMPTY_LIST

    def _quick(self, read: Callable[..., T | None], unit: Unit, section: str, place: int) -> T | None:
        """Read a list of version 5 as compilers write them; None for any other."""
        if unit.version < 5:
            return None
        try:
            addresses: Sequence[int] = unit.tables.addresses
        except DwarfGpuError:  # of a unit that needs none
            addresses = ()
        return read(unit.tables.list_data(section), place, unit.list_context, addresses)

    def _inherited(self, die: Die, target: int) -> Attribute | None:
        """Return the location or the constant of the entry that another one completes."""
        if target < 0 or target not in self._origins:
            location = die.find_number(dw.DW_AT_location) or die.find_number(dw.DW_AT_const_value)
            if target < 0:
                return location
            self._origins[target] = location
        return self._origins[target]

    def _note(self, error: DwarfGpuError, offset: int) -> None:
        self.unit.dwarf.note(self.unit.error(error, offset))


_Around: TypeAlias = "tuple[int, CodeScope | None, FunctionCopy | None, AbstractVariables | None]"
"""The offset of the entry that owns entries, and the scope, the copy and the abstract instance that they are in."""
_NOTHING: _Around = 0, None, None, None


def _leave(owners: list[_Around], depth: int) -> None:
    """Go out of entries: now it is known what is in an abstract instance or a copy."""
    while len(owners) > depth:
        _owner, _scope, copy, instance = owners.pop()
        _owner, _scope, outer_copy, outer_instance = owners[-1] if owners else _NOTHING
        if instance is not None and instance is not outer_instance:
            instance.is_open = False
        if copy is not None and copy is not outer_copy:
            copy.is_ended = True
