"""Variables, parameters and constants: from the entry that declares one to its value in a frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.cfi.activation import Parted
from dwarfgpu.errors import DwarfGpuError, MissingContext, noting
from dwarfgpu.expr import locations
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.context import Context, DieReference
from dwarfgpu.expr.convert import with_undefined_rest
from dwarfgpu.expr.evaluation import evaluate, result_for
from dwarfgpu.expr.locations import Composite, Memory
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.lanes import Diverge, LaneFault, LaneSet
from dwarfgpu.machines.protocol import not_set_yet
from dwarfgpu.objfile.info.scopes import enclosing_function, is_local, qualified_name
from dwarfgpu.program.code import scopes
from dwarfgpu.program.code.loaded import FileUnit, LoadedCode, location_list
from dwarfgpu.program.code.repairs import (
    UNWRITTEN,
    Repair,
    as_written,
    at_local,
    is_allowed,
    possible_repairs,
    repairs_of,
    uses_frame_base,
)
from dwarfgpu.program.frames import reasons
from dwarfgpu.program.frames.answers import Quantity
from dwarfgpu.program.frames.reasons import Unavailable
from dwarfgpu.program.types.model import Array, Type, byte_size, known_size, resolved
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.values.storage import MAX_OBJECT, Located, NotSet, ObjectPlace, constant_place, definition_of
from dwarfgpu.targets.target import Scope

if TYPE_CHECKING:
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.types import Value
    from dwarfgpu.expr.verify import Finding
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.language.arithmetic import ScalarOperand
    from dwarfgpu.program.values.storage import ObjectSurroundings
    from dwarfgpu.program.values.tensors import Kind


PARAMETER, LOCAL, STATIC, CONSTANT = "parameter", "local", "static", "constant"


_NEVER_SET = "the lane has not come to what sets it; `info lanes` shows which lanes are active"

_FIXED_NUMBERS = ("DW_OP_lit", "DW_OP_const1", "DW_OP_const2", "DW_OP_const4", "DW_OP_const8", "DW_OP_LLVM_offset")
_FIXED = frozenset(
    ("DW_OP_regx", "DW_OP_LLVM_push_lane", "DW_OP_constu", "DW_OP_consts", "DW_OP_shl", "DW_OP_mul", "DW_OP_plus",
     "DW_OP_plus_uconst", "DW_OP_piece", "DW_OP_bit_piece", "DW_OP_LLVM_piece_end", "DW_OP_LLVM_form_aspace_address",
     "DW_OP_addr", "DW_OP_addrx", "DW_OP_LLVM_undefined", "(end)")
)  # fmt: skip
"""Operations that read neither memory nor what registers hold."""


@frozen
class Described:
    """One location that a variable is said to have: where it is valid, and the operations."""

    operations: str
    """The operations as the file has them."""
    range: tuple[int, int] | None = None
    """Addresses of the running program; None: wherever the variable is in scope."""
    is_default: bool = False
    """Whether it is valid wherever no other of the list is."""
    expression: Expression | None = None
    """The expression that is evaluated: with the repairs that it needs."""
    repaired: str | None = None
    """The operations that are evaluated in place of those in the file; None where these are not repaired."""

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What it went through to be what the producer means."""
        return () if self.expression is None else repairs_of(self.expression)

    @property
    def possible_repairs(self) -> tuple[Repair, ...]:
        """What it has the shape of, and was not repaired."""
        return () if self.expression is None else possible_repairs(self.expression)

    @property
    def written(self) -> Expression | None:
        """The expression as the file has it."""
        return None if self.expression is None else as_written(self.expression)


@frozen
class _Plan:
    """Where a variable is at one program location, decoded."""

    unit: FileUnit
    expressions: tuple[Expression, ...] = ()
    constant: Attribute | None = None
    is_fixed: bool = False
    """Whether the expressions read nothing that can change: they name registers, lanes and constants alone."""
    after_call: Attribute | None = None
    """The location, if the place is a call in a caller, and the expressions hold where it returns, too."""


class Variable(Quantity):
    """A variable in a frame, or a static one.

    >>> import dwarfgpu as dg
    >>> even = dg.open("lane-pc.co").attach("variables.json")[0].frame(0)["even"]
    >>> even.kind, str(even.type), even.value(lane=4)
    ('local', 'int', 18)
    >>> print(even.why(3))
    `even` is not in scope at line 12, where the lane is
    """

    def __init__(self, frame: Frame, die: Die, code: LoadedCode, kind: str, *, is_shadowed: bool = False) -> None:
        self.frame = frame
        self.die = die
        self.text = self.name
        self.code = code
        self.kind = kind
        """``parameter``, ``local``, ``static`` or ``constant``."""
        self.is_shadowed = is_shadowed
        """Whether a variable of an inner block has the same name."""
        self._is_written = False
        """Whether it is read as the text alone says, without repairs."""
        self._plan: _Plan | Unavailable | None = None
        self._objects: dict[Any, Object] = {}
        """What it is in the lanes that have asked, if it stays where it is until something is written."""
        self._changes = -1
        """Up to which write that holds."""
        self._kept: tuple[str, ...] = ()
        """The registers that count as kept across the call."""

    def __repr__(self) -> str:
        return f"Variable({self.name!r})"

    def __str__(self) -> str:
        """Return the name and the value, in all lanes if there are several."""
        try:
            values = self.values()
            return f"{self.name} = {self.value() if values.lanes == (None,) else values}"
        except DwarfGpuError as error:
            return f"{self.name}: {error}"

    @cached_property
    def name(self) -> str:
        """The name, without scopes."""
        return self.die.name or "(unnamed)"

    @property
    def qualified_name(self) -> str:
        """The name with its namespaces and classes."""
        return qualified_name(self.die) or self.name

    @property
    def is_artificial(self) -> bool:
        """Whether the compiler made it up, as it does ``this``."""
        attribute = self.die.find_number(dw.DW_AT_artificial)
        return attribute is not None and bool(attribute.value)

    @cached_property
    def type(self) -> Type:
        """The type of the program."""
        return self.frame.state.types.type_of(self.die)

    @property
    def depends_on_place(self) -> bool:
        return self.kind != STATIC

    def in_frame(self, frame: Frame) -> Quantity:
        known = [variable for variable in frame.variables() if variable.name == self.name]
        # what hides others is what the name means there; one that is hidden was asked for by itself
        named = [variable for variable in known if not self.is_shadowed or variable.die == self.die]
        if not named:
            source = frame.call.source
            where = f"in {frame.name or '??'}" if source is None else f"at line {source.line}"
            raise reasons.unavailable(reasons.NOT_IN_SCOPE, f"`{self.name}` is not in scope {where}, where the lane is")
        return named[0].as_written() if self._is_written else named[0]

    # --- Its location ---------------------------------------------------------------------------------------------

    def find(self, lanes: LaneSet) -> Object:
        """Return the variable as an object, for some lanes."""
        plan = self._plan_here()
        if isinstance(plan, Unavailable):
            raise plan.with_traceback(None)
        if self.repairs:
            self.frame.repaired[self.name] = self
        for repair in self.possible_repairs:
            self.frame.possible_repairs[repair.name] = repair
        key = self.frame.key_of(lanes)
        if plan.after_call is not None:
            after_call = self._found(plan, lanes)
            if self._kept:
                self.frame.kept[self.name] = self._kept
            return after_call
        if key is None or not plan.is_fixed or self.frame.trace is not None:
            return self._found(plan, lanes)
        # a location of registers, lanes and constants alone stays the same, unless the registers of a caller
        # have moved since
        changes = self.frame.state.backend.changes
        if self._changes != changes:
            self._changes = changes
            self._objects.clear()
        value = self._objects.get(key)
        if value is None:
            value = self._objects[key] = self._found(plan, lanes)
        return value

    def _found(self, plan: _Plan, lanes: LaneSet) -> Object:
        around = self.frame.around(lanes, self.code)
        if plan.constant is not None:
            return Object(self.type, constant_place(around, plan.constant))
        location = self._located(plan, lanes)
        if any(type(place.storage) is Composite for place in location.places):
            # OPEN: A.2.5.4.3.4 (4) has reading past the storage be an error, but compilers leave out
            # unknown pieces at the end. What is there is read under any rules
            # (`Rules.object_beyond_composite`), the rest is undefined.
            size = known_size(self.type)
            location = location if size is None or size > MAX_OBJECT else with_undefined_rest(location, 8 * size)
        if self.frame.state.backend.is_launched and any(
            type(place.storage) is Memory and _is_of_lane(place.storage) for place in location.places
        ):
            around = evolve(around, unset=self._not_set(around, location))
        place = ObjectPlace(Located(around, location))
        if around.context.target.byte_order == "big":
            place = place.of_object(known_size(self.type))
        return Object(self.type, place)

    @property
    def is_before_declaration(self) -> bool:
        """Whether the frame is where the declaration of a local variable has not been executed."""
        if self.kind != LOCAL or self.frame.place is None or self._location is None or self.is_listed:
            return False
        end = self.frame.state.sources.end_of_declaration(self.code, self.die)
        return end is not None and self.frame.place_in_file < end and not self._is_shared

    @property
    def _is_shared(self) -> bool:
        """Whether it is in memory that is there before the function runs, as that of a work-group is."""
        with suppress(DwarfGpuError, Diverge, LaneFault):
            plan = self._plan_here()
            if not isinstance(plan, Unavailable):
                places = self._located(plan, self.frame.lane(None)).places
                return all(type(each.storage) is Memory and not _is_of_lane(each.storage) for each in places)
        return False

    def _not_set(self, around: ObjectSurroundings, location: locations.Location) -> NotSet | None:
        """Return where the variable has no value: before its declaration, and where no store has ever been."""
        if self.is_before_declaration:
            line = self.die.find_number(dw.DW_AT_decl_line)
            message = f"line {0 if line is None else line.unsigned()}, which declares {self.name}, is still ahead"
            return NotSet(not_set_yet(message, hint="go past that line with `next` or `advance LINE`"))
        size, backend = known_size(self.type), self.frame.state.backend
        if not size or size > MAX_OBJECT or not backend.knows_unwritten:
            return None
        accessor = Accessor(around.context.backend, around.context.target.byte_order, around.context.lanes.count)

        def bits() -> b.Bits:
            return accessor.read(location, 8 * size).bits

        try:
            is_zero = b.is_zero(bits())
            if b.all_of(b.negated(is_zero)):
                return None
            with backend.showing_unwritten() as is_known:
                flags = b.equal(bits(), (1 << 8 * size) - 1) if is_known else False
        except (DwarfGpuError, Diverge, LaneFault):
            return None
        if b.all_of(b.negated(flags)):
            return None
        error = not_set_yet(f"the lane has never set {self.name}", hint=_NEVER_SET)
        return NotSet(error, None if isinstance(flags, bool) or flags.all() else flags)

    def _located(self, plan: _Plan, lanes: LaneSet) -> locations.Location:
        frame = self.frame
        context = frame.context(lanes, plan.unit)
        if plan.after_call is None:
            results = self._results(plan, context)
        else:
            with frame.keeping(plan.after_call, self.code) as kept:
                results = self._results(plan, context)
            self._kept = tuple(sorted(kept))
        return results[0] if len(results) == 1 else locations.union(results, lanes.count)

    def _results(self, plan: _Plan, context: Context) -> list[locations.Location]:
        return [result_for(evaluate(expression, context, self.frame.trace)) for expression in plan.expressions]

    def _plan_here(self) -> _Plan | Unavailable:
        """Return where it is at the place of the frame; an error is remembered as well."""
        if self._plan is None:
            try:
                plan = self._read_plan()
                self._plan = evolve(plan, is_fixed=all(map(_is_fixed, plan.expressions)))
            except Unavailable as error:
                self._plan = error
        return self._plan

    def _read_plan(self) -> _Plan:
        frame, location = self.frame, self._location
        if location is None:
            constant = self.definition.find_number(dw.DW_AT_const_value)
            if constant is not None:
                return _Plan(frame.unit_info(constant.die.unit, self.code), (), constant)
            unwritten = self._unwritten_place()
            if unwritten is None:
                raise self._without_location()
            return _Plan(frame.unit_info(self.die.unit, self.code), (unwritten,))
        unit = frame.unit_info(location.die.unit, self.code)
        if frame.place is None and location.value_class == "loclist":
            raise reasons.unavailable(reasons.MISSING, "its location list can be read only at a program location")
        expressions = _tuple(unit.expressions(location))
        if not expressions and frame.place is not None:
            bias, entries = self.code.in_program, location_list(location).entries
            raise reasons.not_listed(frame.place, [(bias(entry.start), bias(entry.end)) for entry in entries])
        return _Plan(unit, expressions, after_call=location if frame.holds_after_call(location, self.code) else None)

    def _without_location(self) -> Unavailable:
        from dwarfgpu.program.code.local_layout import is_unwritten

        if not is_unwritten(self.code, self.die, self.frame.state.types):
            return reasons.unavailable(reasons.OPTIMIZED_OUT, "it has neither a location nor a constant value")
        count = len(self.code.file.kernels.kernels)
        why = f"{count} kernels may each place it elsewhere" if count > 1 else "its order among the others is open"
        message = f"the compiler gives no location to variables in local memory, and {why}"
        advice = "compile it with one kernel, or look at `x/64dw local#0`" if count > 1 else "look at `x/64dw local#0`"
        return reasons.unavailable(reasons.OPTIMIZED_OUT, f"{message}: {advice}")

    def _unwritten_place(self) -> Expression | None:
        """Return where a variable is that has no location in the file, if something else tells."""
        from dwarfgpu.program.code.local_layout import unwritten_place

        if not is_allowed(UNWRITTEN, self.die.unit.producer, self.code.repair):
            return None
        address = unwritten_place(self.code, self.die, self.frame.state.types)
        if address is None:
            return None
        return at_local(self.code.expression(b"", self.die.unit.format, ".debug_info", self.die.offset), address)

    def at_entry(self, lanes: LaneSet) -> ScalarOperand:
        """Return the value that the call site gives a parameter; raise `Unavailable` where it says nothing."""
        from dwarfgpu.program.language.arithmetic import ScalarOperand

        if self.frame.activation is None:
            what = "what was passed is known to the caller alone, and there is no caller"
            raise reasons.unavailable(reasons.MISSING, what)
        if self.frame.is_inlined:
            raise reasons.unavailable(reasons.OPTIMIZED_OUT, "the function is inlined: nothing was passed")
        try:
            value = self._passed(lanes)
        except MissingContext as error:
            raise reasons.unavailable(reasons.NOT_PASSED, error.message, error=error) from error
        except DwarfGpuError as error:
            raise Unavailable(reasons.reason_of(error)) from error
        return ScalarOperand(self.type, b.resized(value.bits, 8 * byte_size(self.type)))

    def _passed(self, lanes: LaneSet) -> Value:
        """Find what was passed by where the parameter is when the function begins, else by its entry at the call."""
        ranges = [] if self.frame.function is None else self.frame.function.ranges()
        for expression in self.expressions_at(ranges[0][0]) if ranges else ():
            value = self.frame.entry_value(expression, lanes)
            if value is not None:
                return value
        return self.frame.entry_parameter(DieReference("unit", self.die.offset), lanes)

    @property
    def definition(self) -> Die:
        """The entry that defines what an entry may only declare: ``extern int x;``, or a static member."""
        return definition_of(self.die)

    @property
    def _location(self) -> Attribute | None:
        return self.definition.find_number(dw.DW_AT_location)

    # --- Repairs --------------------------------------------------------------------------------------------------

    @cached_property
    def repairs(self) -> tuple[Repair, ...]:
        """What its location went through to be what the producer means, with what the frame base did."""
        return self._repairs(repairs_of)

    @cached_property
    def possible_repairs(self) -> tuple[Repair, ...]:
        """What its location, or the frame base that it counts from, has the shape of, and was not repaired."""
        return self._repairs(possible_repairs)

    def _repairs(self, read: Callable[[Expression], tuple[Repair, ...]]) -> tuple[Repair, ...]:
        plan = self._plan_here()
        if isinstance(plan, Unavailable):
            return ()
        repairs = [repair for expression in plan.expressions for repair in read(expression)]
        if self.frame.activation is not None and any(map(uses_frame_base, plan.expressions)):
            repairs += self.frame.outer.base_repairs(read)
        return tuple(dict.fromkeys(repairs))

    def __dir__(self) -> list[str]:
        """Return what scripts ask of a variable."""
        return ["explain", "location", "locations", "name", "type", "value", "values", "why", "write"]

    def as_written(self) -> Variable:
        """Return the same variable without repairs."""
        plan = self._plan_here()
        if isinstance(plan, _Plan):
            plan = _Plan(plan.unit, tuple(map(as_written, plan.expressions)), plan.constant)
        return self._planned(self.frame.as_written(), plan, is_written=True)

    def _planned(self, frame: Frame, plan: _Plan | Unavailable, *, is_written: bool) -> Variable:
        variable = Variable(frame, self.die, self.code, self.kind, is_shadowed=self.is_shadowed)
        variable._plan, variable._is_written = plan, is_written
        return variable

    def in_each_place(self) -> tuple[Variable, ...]:
        """Return the variable once for each entry of its list that is valid here: where entries overlap, several."""
        plan = self._plan_here()
        if isinstance(plan, Unavailable) or len(plan.expressions) < 2:
            return (self,)
        alone = (evolve(plan, expressions=(expression,)) for expression in plan.expressions)
        return tuple(self._planned(self.frame, each, is_written=self._is_written) for each in alone)

    def locations(self) -> tuple[Described, ...]:
        """Return every location that the file gives it, with the addresses where each is valid. Needs no state."""
        location = self._location
        if location is None:
            unwritten = None if self.is_constant() else self._unwritten_place()
            return () if unwritten is None else (self._described(unwritten),)
        unit = self.frame.unit_info(location.die.unit, self.code)
        if location.value_class != "loclist":
            return tuple(map(self._described, _tuple(unit.expressions(location))))
        listed = location_list(location)
        if listed.error is not None:
            raise listed.error
        bias = self.code.in_program
        described = []
        for entry in listed.entries:
            expression = unit.decoded(location, entry.expression, listed.section, entry.expression_offset)
            where = None if entry.default else (bias(entry.start), bias(entry.end))
            described.append(self._described(expression, where, is_default=entry.default))
        return tuple(described)

    def _described(
        self, expression: Expression, where: tuple[int, int] | None = None, *, is_default: bool = False
    ) -> Described:
        from dwarfgpu.expr.listing import text as listing

        target, written = self.frame.target, as_written(expression)
        repaired = listing(expression, target) if repairs_of(expression) else None
        return Described(listing(written, target), where, is_default, expression, repaired)

    def expressions_at(self, address: int) -> tuple[bytes, ...]:
        """Return the expressions, as bytes, that say where it is at an address of the file."""
        location = self._location
        if location is None:
            return ()
        if location.value_class != "loclist":
            return (location.block().data,)
        return tuple(entry.expression for entry in location_list(location).matching(address))

    def is_constant(self) -> bool:
        """Return whether the file gives it a value instead of a location."""
        return self._location is None and self.definition.find_number(dw.DW_AT_const_value) is not None

    def byte_size(self) -> int | None:
        """Return how many bytes it has; None where its type does not tell."""
        return known_size(self.type)

    @property
    def is_listed(self) -> bool:
        """Whether the file has a list of locations for it, which need not have one for every address."""
        return self._location is not None and self._location.value_class == "loclist"

    @property
    def begins_here(self) -> bool:
        """Whether an entry of its list of locations begins at the place of the frame."""
        location, place = self._location, self.frame.place_in_file
        matching = () if location is None or not self.is_listed else location_list(location).matching(place)
        return any(entry.start == place for entry in matching)

    def locations_here(self) -> tuple[Described, ...]:
        """Return those of its locations that are valid at the place of the frame; all of them where there is none."""
        place, locations = self.frame.place, self.locations()
        if place is None or not self.is_listed:
            return locations
        valid = [one for one in locations if one.range is not None and one.range[0] <= place < one.range[1]]
        return tuple(valid or (one for one in locations if one.is_default))

    def is_here(self) -> bool:
        """Return whether the file gives it a location or a constant value at the place of the frame."""
        return isinstance(self._plan_here(), _Plan)

    def explain(self, lanes: LaneSet) -> Unavailable | None:
        """Return why nothing of it is there, as its expressions and the inner frames tell."""
        plan = self._plan
        if not isinstance(plan, _Plan):
            return None
        with suppress(DwarfGpuError):
            return reasons.why_undefined(plan.expressions, self.frame.activation, lanes)
        return None

    @property
    def launched(self) -> Callable[[], Object | None] | None:
        return self._launched if self.kind == PARAMETER and self.frame.has_lanes and self.frame.wave else None

    def _launched(self) -> Object | None:
        """Return the argument of the launch, if the frame is that of the kernel that was launched."""
        frame = self.frame
        record = None if frame.wave is None else frame.wave.launch
        if record is None or not record.is_of(frame.function, frame.call.linkage_name):
            return None
        argument = record.argument(self.name)
        return None if argument is None else argument.object_in(frame.around(frame.lane(None)))


class TensorVariable(Variable):
    """A variable of a Triton kernel: a tensor or a number, which is the same for all lanes of a program."""

    def __init__(self, frame: Frame, die: Die, code: LoadedCode, kind: str, *, is_shadowed: bool = False) -> None:
        super().__init__(frame, die, code, kind, is_shadowed=is_shadowed)
        self._known: Object | DwarfGpuError | None = None
        self._known_at = -1
        """Up to which write it is known."""

    @property
    def depends_on_place(self) -> bool:
        return False

    def in_frame(self, frame: Frame) -> Quantity:
        return self

    @cached_property
    def repairs(self) -> tuple[Repair, ...]:
        """None: what its location means is certain, since dwarfgpu has asked LLVM for that memory."""
        return ()

    @cached_property
    def possible_repairs(self) -> tuple[Repair, ...]:
        """None, either."""
        return ()

    @cached_property
    def _kinds(self) -> tuple[Kind, ...]:
        from dwarfgpu.program.values.tensors import kinds_of

        return kinds_of(self.frame.state.types.type_of(self.die))

    @property
    def type(self) -> Type:
        """The type that it has where the wave is; the first of its types where that is not known."""
        from dwarfgpu.program.values.tensors import state_of

        with suppress(DwarfGpuError, Diverge, LaneFault):
            return self._kinds[state_of(self._memory(self.frame.outer))[1]].type
        return self._kinds[0].type

    @property
    def is_unassigned(self) -> bool:
        """Whether the program has not assigned it where the wave is."""
        from dwarfgpu.program.values.tensors import ENDED, state_of

        return state_of(self._memory(self.frame.outer))[0] in (0, ENDED)

    def find(self, lanes: LaneSet) -> Object:
        """Return the whole tensor, whatever lane asks."""
        changes = self.frame.state.backend.changes
        if self._known is None or self._known_at != changes:
            self._known_at = changes
            try:
                self._known = self._whole()
            except DwarfGpuError as error:
                self._known = error
            except LaneFault as fault:  # which is about the lanes of the memory, not those that ask
                self._known = fault.error_of(0)
        if isinstance(self._known, DwarfGpuError):
            raise self._known.with_traceback(None)
        return self._known

    def values(self, lanes: Iterable[int] | int | str | None = None) -> Any:
        """Return a tensor as a masked array of numpy in its shape; with lanes, and for a number, what each lane has."""
        found = self.object()
        inner = resolved(found.type)
        if lanes is not None or not isinstance(inner, Array):
            return super().values(lanes)
        from dwarfgpu.program.frames.columns import masked_array

        storage: Any = found.place.storage
        shape = [dimension.length or 0 for dimension in inner.dimensions]
        return masked_array(inner.element, shape, storage.data, storage.undefined)

    def _memory(self, frame: Frame) -> Object:
        """Return the structure that a wave has, in all lanes."""
        if frame.stack is None:
            raise MissingContext("machine", f"the elements of {self.name} are in the memory of waves")
        if frame.wave is None:
            raise Parted  # each wave has assigned it as often as it has
        found = Variable(frame, self.die, self.code, self.kind).find(frame.lane_set(frame.lane_numbers("all")))
        frame.repaired.pop(self.name, None)
        return found.as_it_is()

    def _whole(self) -> Object:
        from dwarfgpu.program.values.tensors import ENDED, GatheredTensor, SharedLayout, shared_tensor, state_of

        memory = self._memory(self.frame.outer)
        state = state_of(memory)
        if not state[0]:
            raise not_set_yet(f"the program has not assigned {self.name}", hint="it has a value after the assignment")
        if state[0] == ENDED:
            hint = "it has a value up to the last line that uses it"
            raise not_set_yet(f"the shared memory of {self.name} is that of another buffer from here on", hint=hint)
        kind = self._kinds[state[1]]
        if isinstance(kind.layout, SharedLayout):
            around = self.frame.around(self.frame.lane(0))
            return shared_tensor(kind, kind.layout, state, memory, around.memory)
        tensor = GatheredTensor(kind, kind.layout, state)
        for warp, other in self._of_program(memory):
            with suppress(DwarfGpuError, Diverge, LaneFault):
                tensor.add(warp, other)
        return tensor.object()

    def _of_program(self, own: Object) -> Iterator[tuple[int, Object]]:
        """Yield the memory of each wave of the program with its number there; where others are not known, its own."""
        wave = self.frame.wave
        assert wave is not None  # noqa: S101 (its memory was read)
        machine: Any = wave.stopped.machine
        numbers = machine.group_numbers
        mine = numbers[wave.index]
        for index, number in enumerate(numbers):
            if index == wave.index:
                yield machine.place_of(index)[2], own
            elif number == mine and number >= 0:
                with suppress(DwarfGpuError, Diverge, LaneFault):
                    frames = wave.beside(index).call(self.frame.level)
                    if frames and frames[-1].function == self.frame.outer.function:
                        yield machine.place_of(index)[2], self._memory(frames[-1])


def variable_of(frame: Frame, die: Die, code: LoadedCode, kind: str, *, is_shadowed: bool) -> Variable:
    """Return a variable of a function."""
    found = Variable
    if die.unit.producer == "triton":
        from dwarfgpu.program.values.tensors import kinds_of

        with suppress(DwarfGpuError):
            found = TensorVariable if kinds_of(frame.state.types.type_of(die)) else Variable
    return found(frame, die, code, kind, is_shadowed=is_shadowed)


def kind_of(die: Die) -> str:
    """Return what kind of variable an entry in a function declares."""
    if die.tag == dw.DW_TAG_formal_parameter:
        return PARAMETER
    return CONSTANT if die.tag == dw.DW_TAG_constant else LOCAL


def _is_fixed(expression: Expression) -> bool:
    """Return whether an expression names registers, lanes and constants alone."""
    names = (step.operation.name for step in expression.code)
    return all(name in _FIXED or name.startswith(_FIXED_NUMBERS) for name in names)


def _is_of_lane(memory: Memory) -> bool:
    return memory.space.scope in (Scope.WAVE, Scope.LANE)


def _tuple(expressions: Any) -> tuple[Expression, ...]:
    return expressions if isinstance(expressions, tuple) else (expressions,)


# --- Variables as a file declares them ----------------------------------------------------------------------------


@frozen
class Checked:
    """One location of a variable, and what is wrong with it."""

    variable: Variable
    place: Described
    findings: tuple[Finding, ...]


def all_variables(frame: Frame) -> Iterator[Variable]:
    """Yield every variable, parameter and constant of the program."""
    for code, unit in frame.state.loaded.compile_units():
        yield from variables_of(frame, code, unit)


def variables_of(frame: Frame, code: LoadedCode, unit: Unit) -> Iterator[Variable]:
    """Yield the variables of a unit, those of functions too."""
    with noting(unit.dwarf.note):
        for die, _depth in unit.root.walk():
            if die.tag in scopes.DECLARED and die.name:
                yield Variable(frame, die, code, kind_of(die) if is_local(die) else STATIC)


def owner_of(variable: Variable) -> str | None:
    """Return the name of the function that a variable belongs to."""
    function = enclosing_function(variable.die)
    return None if function is None else qualified_name(function)


def checked(variable: Variable) -> list[Checked]:
    """Return what is wrong with the locations of a variable, without evaluating them."""
    context = variable.frame.encoding
    return [
        Checked(variable, location, tuple(context.findings(location.written, in_cfi=False, depth=0, want="location")))
        for location in variable.locations()
        if location.written is not None
    ]
