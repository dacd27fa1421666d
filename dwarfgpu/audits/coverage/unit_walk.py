"""The walk over the entries of a unit that finds its variables, the scope of each, and its location.

A whole file has hundreds of thousands of entries, so the walk decodes of each only the values that it needs, and makes
no object for it. Entries that are written in a rare way are decoded as a `Die` instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu import dwarf_constants as dw
from dwarfgpu.audits.coverage.code_scope import FUNCTIONS, CodeScope, merged
from dwarfgpu.audits.coverage.kinds import CONSTANT_MEANING, FIRST, NO_ATTRIBUTE, OF_TYPE, Meaning, TypeFamily
from dwarfgpu.audits.coverage.tally import EMPTY_LIST, LEFT_OUT, UNREADABLE, Location
from dwarfgpu.errors import DwarfGpuError, MalformedFile
from dwarfgpu.objfile.info import forms
from dwarfgpu.objfile.info.forms import class_of
from dwarfgpu.objfile.info.readers import FAILURES, truncated
from dwarfgpu.objfile.info.scopes import dead_from, listed, ranges_of
from dwarfgpu.objfile.lists.list_encoding import ListContext, read_list
from dwarfgpu.objfile.lists.quick_lists import quick_locations, quick_ranges

if TYPE_CHECKING:
    from dwarfgpu.audits.coverage.kinds import LocationKinds
    from dwarfgpu.objfile.info.abbrevs import Abbreviation, AbbreviationTable
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.objfile.info.readers import Pick, Unpack
    from dwarfgpu.objfile.info.unit import Unit

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
_INDEX = frozenset((dw.DW_FORM_loclistx, dw.DW_FORM_rnglistx))
_LIST_FORMS = frozenset((dw.DW_FORM_loclistx, dw.DW_FORM_rnglistx, dw.DW_FORM_sec_offset))
_REFERENCES = frozenset((*forms.REF_UNIT, dw.DW_FORM_ref_addr))
"""The forms of references to entries of `.debug_info`."""
_WHERE = frozenset((dw.DW_AT_location, dw.DW_AT_const_value, dw.DW_AT_specification, dw.DW_AT_abstract_origin))
"""The attributes with the location of a variable, or with the entry that has it."""
_HERE = frozenset((dw.DW_AT_location, dw.DW_AT_const_value, dw.DW_AT_start_scope))
"""The attributes with the location of a variable, or with the beginning of its scope."""
_UNKNOWN = object()

PASSED, SKIPPED, VARIABLE, SCOPE = range(4)
"""What an entry is to the walk: nothing, but it may own variables; nothing with all it owns; a variable; a scope."""
EXPRESSION, ELSEWHERE, UNUSUAL = range(3)
"""How the location of a variable is given: an expression, by another entry if at all, or otherwise."""
NO_CODE, PLAIN, INDEXED, LISTED, ODD = range(5)
"""How the code of an entry is given: an address and a size, the index of an address and a size, a list, or else."""


class EntryPlan:
    """What the walk does with the entries of one abbreviation, and which of their values it reads.

    What ends in ``_at`` is the index of a value among those that are read; -1 where it is not.
    """

    def __init__(self, abbreviation: Abbreviation, version: int) -> None:
        attributes, layout = abbreviation.attributes, abbreviation.layout
        index_of = abbreviation.index_of
        self.abbreviation = abbreviation
        self.tag = tag = abbreviation.tag
        self.has_children = abbreviation.has_children
        is_declared = dw.DW_AT_declaration in attributes
        self.kind = _VARIABLES.get(tag)
        self.location, self.constant = index_of(dw.DW_AT_location), index_of(dw.DW_AT_const_value)
        self.start, self.type = index_of(dw.DW_AT_start_scope), index_of(dw.DW_AT_type)
        has_code = dw.DW_AT_ranges in attributes or (dw.DW_AT_low_pc in attributes and dw.DW_AT_high_pc in attributes)
        self.role = PASSED
        if tag in _SCOPES:
            self.role = SCOPE
        elif self.kind is not None and (not is_declared or self.location >= 0):
            self.role = VARIABLE
        elif tag in _CLOSED:
            self.role = SKIPPED
        self.is_abstract = tag == dw.DW_TAG_subprogram and dw.DW_AT_inline in attributes and not has_code
        if tag == dw.DW_TAG_subprogram and is_declared and not self.is_abstract:
            self.role = SKIPPED
        self.is_code = tag in _SCOPES and has_code
        self.is_variable = self.kind is not None and not is_declared
        """Whether an abstract instance has it as a variable."""
        self.is_variable_leaf = self.is_variable and not self.has_children and layout.size > 0
        self.is_inner = tag == dw.DW_TAG_lexical_block
        """Whether what it owns belongs to an abstract instance, too."""
        self.is_bare = _WHERE.isdisjoint(attributes)
        """Whether neither it nor an entry that it completes has a location."""

        self._type_unpack: Unpack | None = None
        """Reads the reference to the type in an entry of fixed size."""

        self._choose_values(version)
        self.place = UNUSUAL
        if self.start < 0 and self.is_expression:
            self.place = EXPRESSION
        elif _HERE.isdisjoint(attributes):
            self.place = ELSEWHERE
        self.size = layout.size
        self.unpack: Unpack | None = layout.picking_unpack(self._wanted) if layout.size >= 0 else None
        """Reads the values of an entry of fixed size."""
        self.pick: Pick = self._first_pick
        """Reads those of any other, and the next position. It replaces itself, so look it up each time."""

    def _choose_values(self, version: int) -> None:
        """Choose the values that are read: where a variable is, where code is, and which entry this one completes."""
        abbreviation, codes, index_of = self.abbreviation, self.abbreviation.forms, self.abbreviation.index_of
        low, high, ranges = (index_of(number) for number in (dw.DW_AT_low_pc, dw.DW_AT_high_pc, dw.DW_AT_ranges))
        wanted: list[int] = []
        form = codes[self.location] if self.role == VARIABLE and self.location >= 0 else 0
        self.is_expression = form == dw.DW_FORM_exprloc
        self.list_form = form if version >= 5 and form in _LIST_FORMS else 0
        if self.is_expression or self.list_form:
            wanted.append(self.location)
        self.code, self.ranges_form = ODD if self.is_code else NO_CODE, 0
        if self.is_code and ranges >= 0:
            if codes[ranges] in _LIST_FORMS:
                self.code, self.ranges_form = LISTED, codes[ranges]
                wanted.append(ranges)
        elif (
            self.is_code
            and codes[high] in forms.UNSIGNED
            and class_of(codes[high], dw.DW_AT_high_pc, version) == "constant"
        ):
            self.code = (
                PLAIN if codes[low] == dw.DW_FORM_addr else INDEXED if codes[low] in forms.ADDRESS_INDEX else ODD
            )
            wanted += (low, high)
        base = index_of(dw.DW_AT_frame_base) if self.role == SCOPE else -1
        if base >= 0:
            wanted.append(base)
        origin = index_of(dw.DW_AT_abstract_origin)
        is_read = origin >= 0 and codes[origin] in _REFERENCES and (self.role == VARIABLE or self.tag in FUNCTIONS)
        self.is_global = is_read and codes[origin] == dw.DW_FORM_ref_addr
        """Whether the reference to the abstract origin counts in the section, and not in the unit."""
        if is_read:
            wanted.append(origin)
        self._wanted = tuple(sorted({index for index in wanted if abbreviation.layout.slots[index] >= 0}))
        self.location_at, self.ranges_at, self.low_at, self.high_at, self.base_at, self.origin_at = (
            self._wanted.index(index) if index in self._wanted else -1
            for index in (self.location, ranges, low, high, base, origin)
        )

    def type_of(self, data: bytes, begin: int) -> tuple[int, int]:
        """Return the form and the value of the reference to the type of an entry, by the position for its readers."""
        abbreviation = self.abbreviation
        layout, form = abbreviation.layout, abbreviation.forms[self.type]
        if self._type_unpack is not None:
            return form, self._type_unpack(data, begin)[0]
        if layout.size >= 0 and form in _REFERENCES:
            self._type_unpack = layout.picking_unpack((self.type,))
        return form, abbreviation.value(self.type, layout.read(data, begin)[1])

    def _first_pick(self, data: bytes, position: int) -> tuple[Any, ...]:
        self.pick = self.abbreviation.layout.picker(self._wanted)
        return self.pick(data, position)


class EntryPlans:
    """The plans of a table of abbreviations by code."""

    def __init__(self, table: AbbreviationTable, version: int, known: dict[Hashable, EntryPlan]) -> None:
        self.plans: list[EntryPlan | None] = []
        for abbreviation in table.dense:
            plan = None
            if abbreviation is not None:
                layout, implicit = abbreviation.layout, tuple((abbreviation.implicit or {}).items())
                key = version, layout, abbreviation.tag, abbreviation.has_children, abbreviation.attributes, implicit
                plan = known.get(key)
                if plan is None:
                    plan = known[key] = EntryPlan(abbreviation, version)
            self.plans.append(plan)
        self.sizes = [
            plan.size if plan is not None and plan.role <= SKIPPED and not plan.has_children and plan.size > 0 else 0
            for plan in self.plans
        ]
        """The size of entries of which nothing is read, and that own none; 0 for others."""


class AbstractVariables(list[int]):
    """The offsets in the section of the variables of an abstract instance, in their order."""

    __slots__ = ("is_open", "unit", "variable_plans")

    def __init__(self, unit: Unit, variable_plans: dict[int, EntryPlan]) -> None:
        self.unit = unit
        self.variable_plans = variable_plans
        """The plans of these and of all such variables, by the offset."""
        self.is_open = True
        """Whether there may be more of them."""


class FunctionCopy:
    """A function that is a copy of an abstract instance, and which of its variables it has."""

    __slots__ = ("_instances", "_origin", "is_ended", "scope", "seen")

    def __init__(self, instances: dict[int, AbstractVariables], origin: int, scope: CodeScope) -> None:
        self._instances = instances
        self._origin = origin
        self.scope = scope
        self.seen: list[int] = []
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
        unit, variable_plans, seen = variables.unit, variables.variable_plans, set(self.seen)
        for place in variables:
            if place not in seen:
                yield unit, place - unit.offset, variable_plans[place].kind or LOCAL, self.scope, LEFT_OUT, None


class VariableSite:
    """The place of the location of a variable."""

    __slots__ = ("_family", "_plan", "_target", "_walk", "offset", "producer", "scope")

    def __init__(self, walk: UnitWalk, offset: int, plan: EntryPlan, target: int, scope: CodeScope | None) -> None:
        self._walk = walk
        self.offset = offset
        self._plan = plan
        self._target = target
        self._family: TypeFamily | None = None
        self.producer = walk.producer
        self.scope = scope

    @property
    def die(self) -> Die:
        return self._walk.unit.die_known_at(self.offset)

    @property
    def family(self) -> TypeFamily:
        if self._family is None:
            self._family = self._walk.family(self.offset, self._plan, self._target)
        return self._family


class _Lists:
    """The location lists or the range lists of a unit, with the places of those of version 5 that have an index."""

    def __init__(self, unit: Unit, kind: str) -> None:
        self._unit = unit
        self._kind = kind
        self._data = b""
        self._places: list[int] = []
        if unit.version >= 5:
            section, self._places = unit.tables.list_places(kind)
            self._data = unit.tables.list_data(section) if self._places else b""

    def place(self, form: int, value: int) -> tuple[bytes, int]:
        """Return where the list begins that an attribute names: the content of the section, and the offset."""
        if form in _INDEX and value < len(self._places):
            return self._data, self._places[value]
        section, offset = self._unit.tables.list_offset(form, value, self._kind)
        return self._unit.tables.list_data(section), offset


class FileWalk:
    """What the walks over the units of a file share. They may read ``left`` parts of lists."""

    def __init__(self, kinds: LocationKinds, left: int) -> None:
        self.kinds = kinds
        self.instances: dict[str, dict[int, AbstractVariables]] = {}
        """The variables of abstract instances, by the section and the offset there of the function."""
        self.plans: dict[Hashable, EntryPlan] = {}
        """The plans of the entries of all units: their tables of abbreviations have many in common."""
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
        self._known: dict[bytes, Any] = {}
        """The meanings of expressions wherever they are in the unit; or the first question that this depends on, with
        what follows from each answer."""
        self._meanings: defaultdict[Any, dict[bytes, Meaning]] = defaultdict(dict)
        """Their meanings in functions, by the answer to `FIRST`."""
        self._variable_plans: dict[int, EntryPlan] = {}
        """The variables of abstract instances, by their offset in the section."""
        self._families: defaultdict[Hashable, TypeFamily] = defaultdict(TypeFamily)
        """What is known of all variables that have a type, by form and value of the reference to it."""
        self._families_of: dict[int, TypeFamily] = {}
        """The same by the offset in the section of what variables complete."""
        self._origins: dict[int, Attribute | None] = {}
        """The location or the constant of entries that others complete, by their offset in the section."""
        self._context: ListContext | None = None
        """What its lists depend on, if they are those of version 5."""
        self._addresses: Sequence[int] = ()
        self._dead = dead_from(unit.address_size)
        try:
            self.producer = unit.producer
        except DwarfGpuError as error:
            unit.dwarf.note(error)
            self.producer = None
        try:
            context = unit.list_context
            self._addresses = unit.tables.addresses
        except DwarfGpuError:  # of a unit that needs none
            pass
        else:
            if unit.version >= 5:
                self._context = context
        self._range_lists, self._location_lists = _Lists(unit, "rnglist"), _Lists(unit, "loclist")

    def rows(self) -> Iterator[Row]:  # noqa: C901, PLR0912, PLR0915 (one loop)
        """Yield the variables."""
        unit, unit_offset = self.unit, self.unit.offset
        data, table, version = unit.data, unit.table, unit.version
        position, end = unit.first, len(data)
        at = position
        owners: list[tuple[CodeScope | None, FunctionCopy | None, AbstractVariables | None]] = []
        scope: CodeScope | None = None
        copy: FunctionCopy | None = None
        instance: AbstractVariables | None = None
        """The abstract instance that the entry is in."""
        location: Any
        start: int | None
        others: dict[Abbreviation, EntryPlan] = {}
        entry_plans = table.keep(EntryPlans, lambda table: EntryPlans(table, version, self.file.plans))
        variable_plans, instances = self._variable_plans, self.file.instances.setdefault(unit.section, {})
        sizes, plans, wide = entry_plans.sizes, entry_plans.plans, table.rows
        while position < end:
            try:
                code = data[position]
                if code > 127:
                    code = wide[data[position + 1]][code]
                size = sizes[code]
                if size:
                    position += size
                    continue
                if not code:
                    position += 1
                    if len(owners) < 2:
                        break
                    inner_copy, inner_instance = copy, instance
                    scope, copy, instance = owners.pop()
                    if inner_instance is not None and inner_instance is not instance:
                        inner_instance.is_open = False
                    if inner_copy is not None and inner_copy is not copy:
                        inner_copy.is_ended = True
                    continue
                at = begin = position
                plan = plans[code]
                if plan is None:
                    abbreviation, begin = table.at(data, position)
                    plan = others.get(abbreviation)
                    if plan is None:
                        plan = others[abbreviation] = EntryPlan(abbreviation, version)
                if instance is not None and plan.is_variable_leaf:
                    instance.append(unit_offset + at)
                    variable_plans[unit_offset + at] = plan
                    position = begin + plan.size
                    continue
                role = plan.role
                if role <= SKIPPED or (instance is not None and not plan.is_code):
                    position = plan.abbreviation.layout.skip(data, begin)
                    is_open = role == PASSED
                    if instance is not None:
                        is_open = plan.is_inner or plan.is_variable
                        if plan.is_variable:
                            instance.append(unit_offset + at)
                            variable_plans[unit_offset + at] = plan
                    if plan.has_children:
                        if is_open:
                            owners.append((scope, copy, instance))
                        else:
                            position = self._after_children(position)
                    elif not owners:
                        break
                    continue
                unpack = plan.unpack
                if unpack is not None:
                    values = unpack(data, begin)
                    position = begin + plan.size
                else:
                    pick = plan.pick
                    values = pick(data, begin)
                    position = values[-1]
            except DwarfGpuError as error:
                raise unit.error(error, at) from None
            except FAILURES:
                raise truncated(unit_offset + at, unit.section) from None
            if position > end:
                raise truncated(unit_offset + at, unit.section)
            target = -1
            if plan.origin_at >= 0:
                target = values[plan.origin_at]
                if not plan.is_global:
                    target += unit_offset
            if role == VARIABLE:
                if copy is not None and target >= 0:
                    copy.seen.append(target)
                if scope is None:
                    location, _start_of = self._location(at, plan, values, target, None)
                    yield unit, at, CONSTANT if plan.kind == CONSTANT else STATIC, None, location, None
                elif scope.size:
                    location = None  # as `_location` finds it
                    place = plan.place
                    if place == EXPRESSION:
                        location = scope.function.meanings.get(values[plan.location_at])
                    elif place == ELSEWHERE and (
                        plan.is_bare or (target in variable_plans and variable_plans[target].is_bare)
                    ):
                        location = NO_ATTRIBUTE
                    start = None
                    if location is None:
                        location, start = self._location(at, plan, values, target, scope)
                    if location is NO_ATTRIBUTE and self.file.kinds.has_local_memory:
                        location = self.file.kinds.without_location(VariableSite(self, at, plan, target, scope))
                    yield unit, at, plan.kind or LOCAL, scope, location, start
                if plan.has_children:
                    owners.append((scope, copy, instance))
            elif plan.is_abstract:
                if plan.has_children:
                    owners.append((scope, copy, instance))
                    instance = instances[unit_offset + at] = AbstractVariables(unit, variable_plans)
            else:
                is_inside = instance is None  # code in an abstract instance is of nothing around it
                inner = self._scope(at, plan, values, scope if is_inside else None)
                inner_copy = copy if is_inside else None
                if plan.tag in FUNCTIONS:
                    inner_copy = None
                    if not inner.size:
                        self.scopes_without_code += 1
                    elif target >= 0:
                        inner_copy = FunctionCopy(instances, target, inner)
                        inner_copy.is_ended = not plan.has_children
                        self.copies.append(inner_copy)
                if plan.has_children:
                    owners.append((scope, copy, instance))
                    scope, copy, instance = inner, inner_copy, None
            if not owners:
                break
        if position > end:
            raise truncated(unit_offset + at, unit.section)
        for _scope, last_copy, last in (*owners, (scope, copy, instance)):  # null entries may be missing at the end
            if last is not None:
                last.is_open = False
            if last_copy is not None:
                last_copy.is_ended = True

    def _after_children(self, position: int) -> int:
        """Return the position behind the null entry that ends what an entry owns."""
        unit = self.unit
        data, table = unit.data, unit.table
        depth, end = 1, len(data)
        while position < end:
            if not data[position]:
                position += 1
                depth -= 1
                if not depth:
                    break
                continue
            abbreviation, begin = table.at(data, position)
            position = abbreviation.layout.skip(data, begin)
            depth += abbreviation.has_children
        return position

    # --- Scopes ---------------------------------------------------------------------------------------------------

    def _scope(self, offset: int, plan: EntryPlan, values: tuple[Any, ...], parent: CodeScope | None) -> CodeScope:
        """Return the scope of what an entry owns."""
        unit = self.unit
        lows: Sequence[int] = ()
        highs: Sequence[int] = ()
        if plan.code == NO_CODE:
            if plan.tag not in FUNCTIONS and parent is not None:
                lows, highs = parent.lows, parent.highs
        elif plan.code == INDEXED and values[plan.low_at] < len(self._addresses):
            low = self._addresses[values[plan.low_at]]
            if low < self._dead and values[plan.high_at]:
                lows, highs = (low,), (low + values[plan.high_at],)
        else:
            try:
                lows, highs = self._code(offset, plan, values)
            except DwarfGpuError as error:
                self._note(error, offset)
        scope = CodeScope(unit, offset, plan.tag, parent, lows, highs, plan.code != NO_CODE)
        if scope.function is scope:
            self.functions.append(scope)
            base = values[plan.base_at] if plan.base_at >= 0 else None
            if type(base) is bytes:
                scope.frame_base = base
            scope.meanings = self._meanings[_UNKNOWN if scope.frame_base is None else False]
        return scope

    def _code(self, offset: int, plan: EntryPlan, values: tuple[Any, ...]) -> tuple[Sequence[int], Sequence[int]]:
        """Return where the parts of the code of an entry begin, and where they end."""
        unit = self.unit
        if plan.code == PLAIN:
            low, size = values[plan.low_at], values[plan.high_at]
            return ((low,), (low + size,)) if size and low < self._dead else ((), ())
        if plan.code == LISTED:
            form, value = plan.ranges_form, values[plan.ranges_at]
            if self._context is not None:
                quick = quick_ranges(*self._range_lists.place(form, value), self._context, self._addresses)
                if quick is not None:
                    self.file.spend(len(quick[0]))
                    return merged(*quick)
            spans, is_list = listed(unit, *unit.tables.list_offset(form, value, "rnglist")), True
        else:  # also for an index that leads nowhere
            die = unit.die_known_at(offset)
            spans, is_list = ranges_of(die), die.number(dw.DW_AT_ranges) is not None
        if is_list:
            self.file.spend(len(spans))
        return merged([low for low, _high in spans], [high for _low, high in spans])

    # --- Variables ------------------------------------------------------------------------------------------------

    def _location(
        self, offset: int, plan: EntryPlan, values: tuple[Any, ...], target: int, scope: CodeScope | None
    ) -> tuple[Location, int | None]:
        """Return the location of a variable, and where its scope begins if that is later than its block."""
        start = None
        location: Location
        try:
            if plan.is_expression:
                location = self._meaning_at(values[plan.location_at], VariableSite(self, offset, plan, target, scope))
            elif plan.list_form:
                site = VariableSite(self, offset, plan, target, scope)
                location = self._list_location(plan.list_form, values[plan.location_at], self.unit, site)
            else:
                location = self._other_location(offset, plan, target, scope)
            if plan.start >= 0 and scope is not None:
                start = self._start(offset, plan, scope)
        except DwarfGpuError as error:
            self._note(error, offset)
            return UNREADABLE, None
        return location, start

    def _start(self, offset: int, plan: EntryPlan, scope: CodeScope) -> int | None:
        """Return where the scope of a declaration begins later than its block (DWARF 5, 3.9)."""
        start = self.unit.die_known_at(offset)._attribute(plan.start)  # noqa: SLF001 (by its index, without a name)
        if start.value_class == "rnglist":
            spans = listed(self.unit, *start.list_place())
            return min((low for low, _high in spans), default=None)
        return scope.spans[0][0] + start.unsigned()

    def _other_location(self, offset: int, plan: EntryPlan, target: int, scope: CodeScope | None) -> Location:
        """Return the location of a variable that has none of a common form: that of another entry, or none."""
        if plan.location < 0:
            if plan.constant >= 0:
                return CONSTANT_MEANING
            if plan.is_bare:
                return NO_ATTRIBUTE
            completed = self._variable_plans.get(target)
            if completed is not None and completed.is_bare:
                return NO_ATTRIBUTE
        die = self.unit.die_known_at(offset)
        site = VariableSite(self, offset, plan, target, scope)
        if plan.location >= 0:
            return self._attribute_location(die._attribute(plan.location), site)  # noqa: SLF001 (by its index)
        inherited = self._inherited(die, target)
        if inherited is None:
            return NO_ATTRIBUTE
        return (
            CONSTANT_MEANING if inherited.number == dw.DW_AT_const_value else self._attribute_location(inherited, site)
        )

    def _inherited(self, die: Die, target: int) -> Attribute | None:
        """Return the location or the constant of the entry that another one completes."""
        if target < 0 or target not in self._origins:
            location = die.find_number(dw.DW_AT_location) or die.find_number(dw.DW_AT_const_value)
            if target < 0:
                return location
            self._origins[target] = location
        return self._origins[target]

    def _attribute_location(self, attribute: Attribute, site: VariableSite) -> Location:
        unit = attribute.die.unit
        kind = class_of(attribute.form, dw.DW_AT_location, unit.version)
        if kind not in ("block", "exprloc", "loclist"):
            raise MalformedFile("bad_class", f"DW_AT_location is not a location ({attribute.form_name})")
        if kind != "loclist":
            return self._meaning_at(attribute.block().data, site)
        return self._list_location(attribute.form, attribute.value, unit, site)

    def _list_location(self, form: int, value: Any, unit: Unit, site: VariableSite) -> Location:
        """Return the entries of the list that an attribute names."""
        meaning = self._meaning_at
        quick = None
        if unit is self.unit and self._context is not None:
            data, place = self._location_lists.place(form, value)
            quick = quick_locations(data, place, self._context, self._addresses)
        if quick is not None:
            entries = [(low, high, meaning(expression, site)) for low, high, expression in quick]
        else:
            section, place = unit.tables.list_offset(form, value, "loclist")
            data = unit.tables.list_data(section)
            location_list = read_list(data, place, section=section, context=unit.list_context)
            if location_list.error is not None:
                raise location_list.error.again()
            entries = [
                (entry.start, -1 if entry.default else entry.end, meaning(entry.expression, site))
                for entry in location_list.entries
            ]
        self.file.spend(len(entries))
        return entries or EMPTY_LIST

    # --- The meanings of expressions ------------------------------------------------------------------------------

    def _meaning_at(self, data: bytes, site: VariableSite) -> Meaning:
        """Return the meaning of an expression at a place."""
        node: Any = self._known.get(data)
        function = None if site.scope is None else site.scope.function
        is_of_type = False
        while type(node) is tuple:
            question, branches = node
            if question is FIRST and function is not None:
                answer = False if function.frame_base is not None else function.facts.get(FIRST, _UNKNOWN)
                function.meanings = self._meanings[answer]
            elif question[0] in OF_TYPE:
                is_of_type = True
                answer = site.family.answers.get(question, _UNKNOWN)
            else:
                break
            node = branches.get(answer)
        if type(node) is Meaning:
            if not is_of_type and function is not None:
                function.meanings[data] = node
            return node
        known = self.file.kinds.known(data, self.unit.format)
        meaning = known.meaning or self.file.kinds.meaning(known, site)
        if not known.has_base:
            node = known.meaning or known.answers.get((self.producer, ""))
            if node is not None:
                self._known[data] = node
        return meaning

    def family(self, offset: int, plan: EntryPlan, target: int) -> TypeFamily:
        """Return what is known of all variables that have the type of an entry."""
        if plan.type < 0 and target < 0:
            return TypeFamily()
        if plan.type >= 0:
            return self._families[self._type_at(offset, plan)]
        family = self._families_of.get(target)
        if family is None:
            completed = self._variable_plans.get(target)
            key: Hashable = target
            if completed is not None and completed.type >= 0:
                key = self._type_at(target - self.unit.offset, completed)
            family = self._families_of[target] = self._families[key]
        return family

    def _type_at(self, offset: int, plan: EntryPlan) -> tuple[int, int]:
        data = self.unit.data
        return plan.type_of(data, self.unit.table.at(data, offset)[1])

    def _note(self, error: DwarfGpuError, offset: int) -> None:
        self.unit.dwarf.note(self.unit.error(error, offset))
