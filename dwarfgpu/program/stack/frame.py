"""Frames as a user sees them: one for each function that stands there, those that were inlined too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.locations import is_undefined
from dwarfgpu.lanes import LaneSet
from dwarfgpu.objfile.info.scopes import qualified_name
from dwarfgpu.program.code import scopes
from dwarfgpu.program.code.code_lookup import CallFrame
from dwarfgpu.program.code.loaded import FileUnit
from dwarfgpu.program.stack.execution import FileFrame
from dwarfgpu.program.stack.selectors import no_lanes
from dwarfgpu.program.values.storage import ObjectSurroundings
from dwarfgpu.program.variables.variable import Variable, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.backends.protocol import Backend
    from dwarfgpu.expr.evaluation import Trace
    from dwarfgpu.objfile.info.dies import Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.loaded import LoadedCode
    from dwarfgpu.program.code.scopes import FunctionScope
    from dwarfgpu.program.language.expression import SourceExpression
    from dwarfgpu.program.stack.call_stack import StackFrame as PhysicalFrame
    from dwarfgpu.program.stack.execution import Execution
    from dwarfgpu.program.stack.lane_state import Simt
    from dwarfgpu.program.stack.wave import Wave
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.variables.answers import Values
    from dwarfgpu.program.variables.quantity import Quantity
    from dwarfgpu.targets.target import Target, TargetRegister


class Frame:
    """A function that stands at a place of the program, and the variables that can be seen there.

    Without a machine it is a place alone: locations and constants are known, and what the sections of the file hold.
    """

    def __init__(
        self,
        state: Execution,
        code: LoadedCode | None,
        place: int | None,
        *,
        number: int = 0,
        scope: FunctionScope | None = None,
        depth: int = 0,
        physical: PhysicalFrame | None = None,
        wave: Wave | None = None,
    ) -> None:
        self.state = state
        self.wave = wave
        """The wave whose frame it is; None without a machine."""
        self.code = code
        """The file whose code it is."""
        self.place = place
        """The current program location: in a caller an address in the call. None is no place at all."""
        self.number = number
        """0 for the innermost one; inlined functions count."""
        self.scope = scope
        self.physical = physical
        """The call frame of the machine, which functions that were inlined into each other share."""
        self.trace: Trace | None = None
        """Is told every operation that is evaluated for a question about this frame."""
        self._depth = depth
        self._units: dict[tuple[Unit, int], FileUnit] = {}
        self._contexts: dict[Any, Context] = {}
        self._around: dict[Any, ObjectSurroundings] = {}
        self._lanes: dict[int | None, LaneSet] = {}
        self.all_lanes: LaneSet | None = None
        """All lanes of the wave, once somebody has asked for them together."""
        self.selected_lane: int | None = None
        """The lane that a question without one is about, where somebody has selected one."""
        self._is_one = physical is None or isinstance(physical.stack.wave, int)
        """Whether it is the frame of one wave: contexts of the slots of many are not worth keeping."""
        self._every: tuple[int, ...] = tuple(range(state.target.lane_count))
        self._mask: int | None = None
        self.mask_error: DwarfGpuError | None = None
        """Why it is not known which lanes are active, once somebody has asked."""
        self._mask_of = -1
        """How many writes there had been when the mask was found."""
        self._variables: tuple[Variable, ...] | None = None
        self._named: dict[str, Quantity] = {}
        self.repaired: dict[str, Variable] = {}
        """The variables that have been asked for and are read as their producer means, by name."""
        self._base: Context | None = None

    def __repr__(self) -> str:
        return f"Frame({self.number}, {self.name or '??'})"

    # --- What it is -----------------------------------------------------------------------------------------------

    @property
    def target(self) -> Target:
        return self.state.target

    @property
    def backend(self) -> Backend:
        return self.state.backend

    @property
    def place_in_file(self) -> int:
        """The place as an address of the file; 0 where there is none."""
        return 0 if self.code is None or self.place is None else self.code.in_file(self.place)

    @property
    def pc(self) -> int | None:
        """Where execution stands, or goes on when the callee returns."""
        return self.place if self.physical is None else self.physical.pc

    @property
    def function(self) -> Die | None:
        """The entry of the function, or of the inlined call."""
        return None if self.scope is None else self.scope.die

    @property
    def is_inlined(self) -> bool:
        return self.scope is not None and self.scope.is_inlined

    @property
    def is_innermost(self) -> bool:
        """Whether it is the innermost of the functions that share a call frame."""
        return self._depth == 0

    @property
    def name(self) -> str | None:
        """The function's name with its scopes; of code without debugging information that of the symbol."""
        if self.function is not None:
            return qualified_name(self.function)
        return self.call.function if self.place is not None else None

    @property
    def names(self) -> tuple[str, ...]:
        """The names that expressions may call it by: that of the function, and those of its entry points."""
        own = () if self.name is None else (self.name,)
        function = None if self.scope is None else self.scope.die
        if function is None:
            return own
        return own + tuple(each.name for each in scopes.entry_points(function) if each.name is not None)

    @property
    def call(self) -> CallFrame:
        """The function and the line of the source."""
        nothing = CallFrame(None, None, None, inlined=False, offset=None)
        if self.code is None or self.place is None:
            return nothing
        calls = self.state.calls_at(self.code, self.place)
        return calls[self._depth] if self._depth < len(calls) else nothing

    @property
    def unit(self) -> Unit | None:
        """The compilation unit of the function; without one, the first of the file."""
        if self.function is not None:
            return self.function.unit
        return None

    def follow(self, trace: Trace | None) -> None:
        """Tell somebody of every operation that a question about this frame evaluates, in calls and frames too."""
        self.trace = trace
        if self.physical is not None:
            self.physical.activation.thread.trace = trace

    # --- Lanes ----------------------------------------------------------------------------------------------------

    @property
    def has_lanes(self) -> bool:
        """Whether a question can be about one lane of several."""
        return self.target.lane_count > 1

    def lane(self, number: int | None) -> LaneSet:
        """One lane; with None the one that is selected, or no lane in particular."""
        if number is None:
            number = self.selected_lane
        found = self._lanes.get(number)
        if found is None:
            count = self.target.lane_count
            if number is not None and not 0 <= number < count:
                lanes = f"{count} lanes, no lane {number}" if self.has_lanes else "no lanes"
                raise UsageError(f"{self.target.name} has {lanes}", kind="no_lane")
            wave = 0 if self.physical is None else self.physical.stack.wave
            lane = number if self.has_lanes else None
            found = self._lanes[number] = LaneSet(1, wave, lane)
        return found

    def lane_numbers(self, lanes: Iterable[int] | str | None) -> tuple[int | None, ...]:
        """The lanes that are meant: all for None and ``all``, those that execute for ``active``."""
        if not self.has_lanes:
            if lanes is not None and not isinstance(lanes, str) and any(lanes):
                raise no_lanes(self.target)
            return (None,)
        if self.physical is None and lanes is None:
            return (None,)
        every = self._every
        if lanes is None or (isinstance(lanes, str) and lanes == "all"):
            return every
        if isinstance(lanes, str):
            if lanes != "active":
                raise UsageError(f"{lanes!r} names no lanes", hint="give numbers, active, or all")
            mask = self.active_mask
            return tuple(each for each in every if mask is None or mask >> each & 1)
        return tuple(dict.fromkeys(lanes))

    def lane_set(self, numbers: tuple[int | None, ...]) -> LaneSet:
        """Some lanes together."""
        if len(numbers) == 1:
            return self.lane(numbers[0])
        count = self.target.lane_count
        wave = 0 if self.physical is None else self.physical.stack.wave
        if numbers is self._every or numbers == self._every:
            if self.all_lanes is None:
                self.all_lanes = LaneSet.of(range(count), wave)
            return self.all_lanes
        known = [self.lane(each).lane for each in numbers]
        return LaneSet.of(known, wave) if known else LaneSet(0, wave, None)  # type: ignore[arg-type]

    def lane_sets(self, numbers: tuple[int | None, ...]) -> list[tuple[tuple[int | None, ...], LaneSet]]:
        """Some lanes as sets that can be asked: all together, or each alone where there is no numpy."""
        if not numbers:
            return []
        if len(numbers) == 1 or b.has_arrays():
            return [(numbers, self.lane_set(numbers))]
        return [((number,), self.lane(number)) for number in numbers]

    @property
    def active_mask(self) -> int | None:
        """The lanes that are active where it stands (A.3.3.5 (6)); None where that is not known."""
        changes = self.state.backend.changes
        if self._mask_of != changes:
            self._mask_of = changes
            self._mask, self.mask_error = self._find_mask()
        return self._mask

    def _find_mask(self) -> tuple[int | None, DwarfGpuError | None]:
        if self.physical is None or not self.has_lanes:
            return None, None
        try:
            found = self.simt(self.physical).active_mask()
        except DwarfGpuError as error:
            return None, error
        return found if isinstance(found, int) else None, None

    def simt(self, physical: PhysicalFrame) -> Simt:
        """How the function uses the lanes of its thread: calls that are inlined into it do not count."""
        from dwarfgpu.program.stack.lane_state import Simt

        calls = () if self.code is None or self.place is None else self.state.calls_at(self.code, self.place)
        return Simt(physical, max(0, len(calls) - 1 - self._depth))

    # --- Contexts of evaluations ----------------------------------------------------------------------------------

    def unit_info(self, unit: Unit, code: LoadedCode) -> FileUnit:
        """A unit as expressions ask for it at this place."""
        key = (unit, id(code))
        found = self._units.get(key)
        if found is None:
            found = self._units[key] = FileUnit(unit, code, self.place)
        return found

    def code_of(self, unit: Unit) -> LoadedCode:
        """The loaded file that a unit belongs to."""
        return self.state.code_of(unit, self.code)

    def key_of(self, lanes: LaneSet) -> tuple[Any, ...] | None:
        """Under what an answer for some lanes is kept: for all of a wave, and for one; for others it is not."""
        if lanes is self.all_lanes:
            return ()
        wave, lane = lanes.wave, lanes.lane
        if self._is_one and lanes.count == 1 and type(wave) is int and (lane is None or type(lane) is int):
            return wave, lane
        return None

    def context(self, lanes: LaneSet, unit: FileUnit | None = None) -> Context:
        """The context of an evaluation that finds a location."""
        owner = self.key_of(lanes)
        key = owner, unit
        found = None if owner is None else self._contexts.get(key)
        if found is None:
            base = self._base
            if base is None:
                base = self._base = self._base_context()
            found = evolve(base, lanes=lanes, unit=base.unit if unit is None else unit)
            if owner is not None:
                self._contexts[key] = found
        return found

    def _base_context(self) -> Context:
        function = self.function
        unit = None
        if function is not None and self.code is not None:
            unit = self.unit_info(function.unit, self.code)
        if self.physical is not None:
            return evolve(self.physical.context(), unit=unit, result_kind="location")
        state = self.state
        return Context(
            state.target,
            state.rules,
            state.backend,
            frame=FileFrame(state.target),
            unit=unit,
            pc=self.place,
            result_kind="location",
        )

    def around(self, lanes: LaneSet, code: LoadedCode | None = None) -> ObjectSurroundings:
        """What values are read in; ``code`` is the file that their types are from."""
        code = code or self.code or self.state.loaded.codes[0]
        owner = self.key_of(lanes)
        key = owner, id(code)
        found = None if owner is None else self._around.get(key)
        if found is None:
            found = ObjectSurroundings(evolve(self.context(lanes), result_kind=None), code)
            if owner is not None:
                self._around[key] = found
        return found

    # --- Variables ------------------------------------------------------------------------------------------------

    @property
    def blocks(self) -> tuple[Die, ...]:
        """The blocks of the function that hold the place, innermost first; the function itself is the last."""
        return () if self.scope is None else self.scope.blocks

    def variables(self) -> tuple[Variable, ...]:
        """Parameters and local variables, those of inner blocks first, in the order of the source."""
        if self._variables is None:
            found: list[Variable] = []
            seen: set[str] = set()
            for block in self.blocks:
                names = set()
                for die in scopes.declared_in(block, self.place_in_file):
                    try:
                        name = die.name
                    except DwarfGpuError as error:  # what is broken hides nothing beside it
                        die.unit.dwarf.note(error)
                        continue
                    if name is None:
                        continue
                    code = self.code_of(die.unit)
                    found.append(Variable(self, die, code, kind_of(die), is_shadowed=name in seen))
                    names.add(name)
                seen |= names
            self._variables = tuple(found)
        return self._variables

    def statics(self) -> Iterator[Variable]:
        """The variables of the unit that belong to no function."""
        unit = self.unit
        if unit is None:
            return
        yield from self.state.names.statics(self, unit)

    def __getitem__(self, name: str) -> Quantity:
        """What a name means here: a variable, or another quantity such as a member of ``this``.

        Names are looked up from the inside out: blocks, function, class, namespaces, unit, program. ``fn::x``,
        ``ns::x``, ``::x`` and ``file.c::x`` say where.
        """
        found = self._named.get(name)
        if found is None:
            variable = next((each for each in self.variables() if each.name == name), None)
            found = self._named[name] = self.expression(name) if variable is None else variable
        return found

    def variable(self, name: str) -> Quantity:
        """The same as ``frame[name]``."""
        return self[name]

    def __contains__(self, name: str) -> bool:
        try:
            return self[name] is not None
        except UsageError:
            return False

    # --- Expressions ----------------------------------------------------------------------------------------------

    def expression(self, text: str) -> SourceExpression:
        """An expression of the source language, read once and evaluated as often as it is asked."""
        from dwarfgpu.program.language.expression import SourceExpression

        return SourceExpression(self, text)

    def eval(self, text: str, lanes: Iterable[int] | int | str | None = None) -> Values:
        """Evaluate an expression in some lanes. Without lanes: in all of them."""
        chosen: Any = (lanes,) if isinstance(lanes, int) else lanes
        return self.expression(text).values(chosen)

    def assign(self, target: Quantity, text: str, lanes: Iterable[int] | str | None = None) -> None:
        """Write the value of an expression to where something is, in some lanes; in the active ones by default."""
        from dwarfgpu.program.language.expression import assign

        assign(self, target, text, "active" if lanes is None and self.has_lanes else lanes)

    def type(self, name: str) -> Type:
        """The type with a name, as it is written in an expression."""
        from dwarfgpu.program.language.expression import type_named

        return type_named(self, name)


def frames_at(
    state: Execution,
    code: LoadedCode | None,
    place: int,
    number: int = 0,
    physical: PhysicalFrame | None = None,
    wave: Wave | None = None,
) -> list[Frame]:
    """The frames of the functions that stand at an address, innermost first."""
    function = None if code is None else code.function_at(place)
    if code is None or function is None:
        return [Frame(state, code, place, number=number, physical=physical, wave=wave)]
    found = state.functions_at(code, function, place)
    return [
        Frame(
            state, code, place, number=number + depth, scope=scope, depth=depth, physical=physical, wave=wave
        )
        for depth, scope in enumerate(found)
    ]


# --- What the registers of a frame hold ---------------------------------------------------------------

NOT_SAVED, UNAVAILABLE = "not saved", "unavailable"


@frozen
class RegisterContents:
    """What a register holds, as a pattern; ``undefined`` has the bits of which nothing is known."""

    register: TargetRegister
    bits: int = 0
    undefined: int = 0
    missing: str = ""
    """Why nothing is known: ``not saved``, ``unavailable``, or what went wrong."""

    def elements(self) -> list[int | None]:
        """Of a vector register what each lane has, None where that is not known; of any other the whole."""
        size = self.register.lane_bits or self.register.bit_size
        mask = (1 << size) - 1
        return [
            None if self.missing or self.undefined >> shift & mask else self.bits >> shift & mask
            for shift in range(0, self.register.bit_size, size)
        ]


def registers_of(frame: Frame) -> Iterator[TargetRegister]:
    """The registers of the target, by number; behind them those without a DWARF number."""
    yield from frame.target.registers()
    for family in frame.target.unnumbered:
        yield from (family.register(family.first + position) for position in range(family.count))


def contents(frame: Frame, register: TargetRegister) -> RegisterContents:
    """What a register holds in a frame."""
    physical = frame.physical
    if physical is None:
        raise UsageError("The program has no registers now.", kind="no_machine")
    if register.number == frame.target.program_counter:
        return RegisterContents(register, physical.pc)
    thread = physical.activation.thread
    order = frame.target.byte_order
    try:
        if register.number < 0:  # no call frame information can name it
            data = thread.backend.read_register(register, physical.stack.wave, None)
            if physical.level:
                return RegisterContents(register, missing=NOT_SAVED)
            return RegisterContents(register, int.from_bytes(data, order))
        location = physical.register(register.number, thread.lanes)
        if is_undefined(location):
            return RegisterContents(register, missing=NOT_SAVED)
        reading = thread.accessor.read(location, register.bit_size)
    except DwarfGpuError as error:
        is_known = error.kind in ("register_unavailable", "memory_unavailable")
        return RegisterContents(register, missing=UNAVAILABLE if is_known else f"error: {error.message}")
    undefined = int(reading.undefined)
    if undefined == (1 << register.bit_size) - 1:
        return RegisterContents(register, missing=NOT_SAVED)
    return RegisterContents(register, int(reading.bits), undefined)
