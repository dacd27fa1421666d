"""Frames as a user sees them: one for each function that is executing, inlined ones included; and stacks of them.

The unwinder finds the activations of a thread; the debugging information tells which functions each of them executes.

Frames that are inlined into each other share an activation of the unwinder. The outermost of them, whose code it is,
is the call frame that expressions ask (`FrameInfo`): for its registers, its frame base and its call site.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from dwarfgpu import bits as b
from dwarfgpu import budget
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.cfi.activation import (
    BY_CODE,
    NO_INFORMATION,
    OUTSIDE_CODE,
    Activation,
    CallStack,
    End,
    Parted,
    TailCall,
    Thread,
)
from dwarfgpu.encoding import Format
from dwarfgpu.errors import DwarfGpuError, Handle, IllFormed, MissingContext, UsageError
from dwarfgpu.expr import locations
from dwarfgpu.expr.context import Context, DieReference, LoneFrame, UnitInfo, known_register
from dwarfgpu.expr.evaluation import evaluate, result_for
from dwarfgpu.expr.instruction import Expression, Instruction
from dwarfgpu.expr.locations import Register, is_undefined
from dwarfgpu.expr.table import find as find_operation
from dwarfgpu.expr.types import Value
from dwarfgpu.immutable import evolve
from dwarfgpu.lanes import LaneSet, lane_number
from dwarfgpu.machines.protocol import Backend, not_set_yet
from dwarfgpu.objfile.info.scopes import qualified_name
from dwarfgpu.program.code import scopes
from dwarfgpu.program.code.loaded import FileUnit, LoadedCode, location_list
from dwarfgpu.program.code.repairs import Repair, as_written
from dwarfgpu.program.code.scopes import NOWHERE
from dwarfgpu.program.frames import reasons
from dwarfgpu.program.frames.answers import table_of
from dwarfgpu.program.frames.execution import HINT, NO_STATE, Execution
from dwarfgpu.program.frames.lane_state import LanePc, Simt
from dwarfgpu.program.frames.variable import Variable, kind_of, variable_of
from dwarfgpu.program.values.storage import ObjectSurroundings

if TYPE_CHECKING:
    from dwarfgpu.cfi.activation import Information
    from dwarfgpu.expr.evaluation import Trace
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.objfile.info.unit import Unit
    from dwarfgpu.program.code.encoding_context import EncodingContext
    from dwarfgpu.program.code.frames_by_code import CodeUnwinding
    from dwarfgpu.program.code.loaded import Loaded
    from dwarfgpu.program.frames.answers import Quantity, Values
    from dwarfgpu.program.frames.evaluator import SourceExpression
    from dwarfgpu.program.frames.macros import Definitions
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.states.stopped import Stopped
    from dwarfgpu.targets.target import Target

    Places = list[tuple["Frame | DwarfGpuError", Sequence[int]]]

MOST_PARTS = 16
"""For so many choices of lanes a frame keeps what was found."""
COSTLY = 1000
"""Where a lane in turn costs so much of the budget of the question, the others are evaluated together."""


FOR_USERS = (
    *(
        "name",
        "names",
        "file",
        "line",
        "number",
        "level",
        "pc",
        "function",
        "call",
        "caller",
        "outer",
        "wave",
        "target",
        "state",
    ),
    *("variables", "variable", "statics", "expression", "eval", "assign"),
    *("cfa", "register", "frame_base", "activation"),
    *("active_lanes", "active_mask", "lane_count", "call_site", "type"),
    *("is_inlined", "is_innermost", "is_signal_frame", "is_tail_call"),
)
"""What `dir` of a frame lists, for completion; all other names are for the parts of the library."""


class Frame(Handle):
    """A function at a place with the variables visible there; without a state only what the file says is known.

    >>> import dwarfgpu as dg
    >>> frame = dg.open("lane-pc.co").attach("variables.json")[0].frame(0)
    >>> frame.name, frame.line, [variable.name for variable in frame.variables()][:3]
    ('X', 15, ['even', 'left', 'out'])
    >>> frame.eval("left / 2", lanes=[0, 2, 4]).array.tolist()
    [0, 2, 4]
    """

    _active: tuple[int, tuple[int, ...]] = (0, ())
    """The mask of lanes that was asked for last, and the lanes in it."""
    _pcs: tuple[LanePc, ...] | None = None

    def __dir__(self) -> Iterable[str]:
        return FOR_USERS

    def __init__(  # noqa: PLR0913 (only `frames_at` and a copy make one)
        self,
        state: Execution,
        code: LoadedCode | None,
        place: int | None,
        *,
        number: int = 0,
        scope: scopes.FunctionScope | None = None,
        depth: int = 0,
        inlined_into: Frame | None = None,
        stack: Stack | None = None,
        activation: Activation | None = None,
    ) -> None:
        self.state = state
        self.stack = stack
        """The stack it is a frame of; None without a state."""
        self.activation = activation
        """Its registers, which frames that are inlined into each other share; None without a state."""
        self.inlined_into = inlined_into
        """The next frame of the same activation; None of the function whose code it is."""
        self.code = code
        """The file whose code it is."""
        self.place = place
        """The current program location: in a caller an address in the call. None is no place at all."""
        self.number = number
        """0 for the innermost one; inlined functions count."""
        self.scope = scope
        self.trace: Trace | None = None
        """Receives every operation that is evaluated for a question about this frame."""
        self._depth = depth
        self._units: dict[tuple[Unit, int], FileUnit] = {}
        self._contexts: dict[Any, Context] = {}
        self._around: dict[Any, ObjectSurroundings] = {}
        self._lanes: dict[int | None, LaneSet] = {}
        self.all_lanes: LaneSet | None = None
        """All lanes of the wave, once a question was about them together."""
        self._parts: dict[tuple[int | None, ...], LaneSet] = {}
        """Some of the lanes, once a question was about them together."""
        self._places: dict[tuple[int | None, ...], Places] = {}
        """Where lanes are that have been asked for, as long as `_pcs` are the places of all lanes."""
        self.selected_lane: int | None = None
        """The lane that a question without one is about; None when none is selected."""
        self._is_one = stack is None or isinstance(stack.wave, int)
        """Whether it is the frame of one wave: contexts of the slots of many are not worth keeping."""
        self._every: tuple[int, ...] = tuple(range(state.target.lane_count))
        self._mask: int | None = None
        self.mask_error: DwarfGpuError | None = None
        """Why it is not known which lanes are active, once `active_mask` was asked."""
        self._mask_of = -1
        """How many writes there had been when the mask was found."""
        self._variables: tuple[Variable, ...] | None = None
        self._named: dict[tuple[str, str], Quantity] = {}
        self.repaired: dict[str, Variable] = {}
        """The variables that have been asked for and are read as their producer means, by name."""
        self.possible_repairs: dict[str, Repair] = {}
        """The repairs, by name, whose shape variables that have been asked for have, and that were not applied."""
        self.kept: dict[str, tuple[str, ...]] = {}
        """For variables that have been asked for the registers in them that count as kept across a call."""
        self._kept: set[str] | None = None
        """Receives the registers that count as kept, while a location is evaluated that holds after the call."""
        self._is_repaired = True
        """Whether the frame base is read as its producer means it, where that is known."""

    def __repr__(self) -> str:
        return f"Frame({self.number}, {self.name or '??'})"

    # --- Its place ------------------------------------------------------------------------------------------------

    @property
    def target(self) -> Target:
        return self.state.target

    @property
    def backend(self) -> Backend:
        return self.state.backend

    @property
    def wave(self) -> Wave | None:
        """The wave whose frame it is; None without a state."""
        return None if self.stack is None else self.stack.owner

    @property
    def level(self) -> int:
        """How many calls are inside this one: 0 for the innermost one; inlined functions do not count."""
        return 0 if self.activation is None else self.activation.level

    @property
    def outer(self) -> Frame:
        """The function whose code it is: this frame, or the one that it is inlined into."""
        frame = self
        while frame.inlined_into is not None:
            frame = frame.inlined_into
        return frame

    @property
    def place_in_file(self) -> int:
        """The place as an address of the file; 0 without a place."""
        return 0 if self.code is None or self.place is None else self.code.in_file(self.place)

    @property
    def pc(self) -> int | None:
        """The program counter, or where execution continues when the callee returns; of a lane its own."""
        activation = self.activation
        return self.place if activation is None or self.place != activation.place else activation.pc

    @property
    def function(self) -> Die | None:
        """The entry of the function, or of the inlined call."""
        return None if self.scope is None else self.scope.die

    @property
    def is_inlined(self) -> bool:
        return self.scope is not None and self.scope.is_inlined

    @property
    def is_tail_call(self) -> bool:
        """Whether the frame of the function is gone, because its last act was the call of the next inner one."""
        return isinstance(self.activation, TailCall)

    @property
    def found(self) -> str:
        """How its call was found, where no call frame information leads to it; that is said of the function itself."""
        return "" if self.activation is None or self.is_inlined else self.activation.found

    @property
    def is_found_by_code(self) -> bool:
        """Whether its call was found by reading the code."""
        return self.found == BY_CODE

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
        if self.function is None:
            return own
        return own + tuple(entry.name for entry in scopes.entry_points(self.function) if entry.name is not None)

    @property
    def call(self) -> scopes.SourceCall:
        """The function and the line of the source."""
        if self.code is None or self.place is None:
            return NOWHERE
        return self.code.calls_at(self.place)[self._depth]

    @property
    def file(self) -> str | None:
        """The name of the source; None where no line table has the place."""
        return None if self.call.source is None else self.call.source.file

    @property
    def line(self) -> int | None:
        """The line of the source; None where no line table has the place."""
        return None if self.call.source is None else self.call.source.line or None

    @property
    def nearest_line(self) -> int | None:
        """The line of the source; of code that the compiler has made, and that belongs to no line, the one before."""
        if self.line is not None or self.code is None or self.file is None:
            return self.line
        from dwarfgpu.program.code.code_lookup import line_before

        return line_before(self.code.file, self.place_in_file)

    @property
    def unit(self) -> Unit | None:
        """The compilation unit of the function; without one, the first of the file."""
        return None if self.function is None else self.function.unit

    def follow(self, trace: Trace | None) -> None:
        """Report every operation that a question about this frame evaluates, those of its callers too."""
        self.trace = trace
        if self.activation is not None:
            self.activation.thread.trace = trace

    # --- Lanes ----------------------------------------------------------------------------------------------------

    @property
    def has_lanes(self) -> bool:
        """Whether a question can be about one lane of several."""
        return self.target.lane_count > 1

    def lane(self, number: int | None) -> LaneSet:
        """Return the set of one lane; with None the selected one, or no lane in particular."""
        if number is None:
            number = self.selected_lane
        if number is not None and type(number) is not int:
            number = self.target.lane(number)
        lane_set = self._lanes.get(number)
        if lane_set is None:
            if number is not None:
                number = self.target.lane(number)
            wave = 0 if self.stack is None else self.stack.wave
            lane = number if self.has_lanes else None
            lane_set = self._lanes[number] = LaneSet(1, wave, lane)
        return lane_set

    def lane_numbers(self, lanes: Iterable[int] | int | str | None) -> tuple[int | None, ...]:
        """Return the lanes that are meant: all for None and ``all``, those that execute for ``active``."""
        numbers: tuple[int | None, ...] = ()
        if lanes is not None and not isinstance(lanes, str):
            named: Any = lanes if isinstance(lanes, Iterable) else (lanes,)
            numbers = tuple(dict.fromkeys(None if lane is None else lane_number(lane) for lane in named))
        if not self.has_lanes:
            if any(numbers):
                from dwarfgpu.program.frames.selectors import no_lanes

                raise no_lanes(self.target)
            return (None,)
        if self.activation is None and lanes is None:
            return (None,)
        every = self._every
        if lanes is None or (isinstance(lanes, str) and lanes == "all"):
            return every
        if isinstance(lanes, str):
            if lanes != "active":
                raise UsageError(f"{lanes!r} names no lanes", hint="give numbers, active, or all")
            mask = self.active_mask
            if mask is None:
                return every
            if self._active[0] != mask:
                self._active = mask, tuple(lane for lane in every if mask >> lane & 1)
            return self._active[1]
        return tuple(None if lane is None else self.target.lane(lane) for lane in numbers)

    def in_lane(self, lane: int | None) -> Frame:
        """Return the frame as a lane sees it: at the place of the lane, where a function says that (A.2.5.1).

        The innermost frame is that of the innermost function that the lane is in. Raise `Unavailable` for a lane that
        was not active when the function was called.
        """
        if lane is not None:
            lane = self.target.lane(lane)
        stack = self.stack
        if lane is None or stack is None or not self._is_one:
            return self
        pcs = stack.lane_pcs(self.level)
        if pcs is None or not 0 <= lane < len(pcs):
            return self
        at = pcs[lane]
        if at.pc is None:
            if at.error is not None:
                raise MissingContext("pc", f"the place of the lane is not known: {at.error.message}")
            raise self.not_entered()
        if stack.lane == lane or (stack.lane is None and at.pc == self.pc):
            return self
        return self._among(stack.of_lane(lane).call(self.level))

    def not_entered(self) -> reasons.Unavailable:
        """Return the error of a lane that was not active when the function was called (A.2.5.1 current call frame)."""
        name = self.outer.name or "the function"
        return reasons.unavailable(reasons.NOT_ENTERED, f"the lane was not active when `{name}` was called")

    def _among(self, frames: tuple[Frame, ...]) -> Frame:
        """Return the frame that is this one elsewhere in the function: the innermost, or as many calls inwards."""
        assert self.stack is not None  # noqa: S101 (without a state there are no lanes)
        length = len(self.stack.call(self.level))
        depth = 0 if self.is_innermost else max(0, len(frames) - length + self._depth)
        frame = frames[min(depth, len(frames) - 1)]
        if not self._is_repaired:
            frame = frame.as_written()
        self._lend(frame)
        return frame

    def _lend(self, frame: Frame) -> None:
        """Let a frame report to the one who asks this frame."""
        frame.trace, frame.repaired = self.trace, self.repaired
        frame.possible_repairs, frame.kept = self.possible_repairs, self.kept

    def at_pc(self, pc: int) -> Frame:
        """Return the frame as lanes see it that are at another place of the function."""
        if pc == self.pc:
            return self
        return self._among(frames_at(self.state, self.state.loaded.at(pc), pc, 0, self.stack, self.activation))

    def by_place(self, numbers: tuple[int | None, ...]) -> Places:
        """Return some lanes grouped by where they are: the frame as they see it, or why they have none, and which.

        Lanes are given by their positions among the numbers.
        """
        stack = self.stack
        pcs = None if stack is None or not self._is_one else stack.lane_pcs(self.level)
        if pcs is None:
            return [(self, range(len(numbers)))]
        if self._pcs is not pcs:
            self._pcs, self._places = pcs, {}
        places = self._places.get(numbers)
        if places is None:
            places = self._grouped(pcs, numbers)
            if len(self._places) < MOST_PARTS:
                self._places[numbers] = places
        for place, _positions in places:
            if place is not self and not isinstance(place, DwarfGpuError):
                self._lend(place)
        return places

    def _grouped(self, pcs: tuple[LanePc, ...], numbers: tuple[int | None, ...]) -> Places:
        groups: dict[Any, tuple[Frame | DwarfGpuError, list[int]]] = {}
        for position, lane in enumerate(numbers):
            at = pcs[lane] if lane is not None and 0 <= lane < len(pcs) else None
            key = None if at is None else (at.pc, str(at.error))
            if key not in groups:
                try:
                    groups[key] = self.in_lane(lane), []
                except DwarfGpuError as error:
                    groups[key] = error, []
            groups[key][1].append(position)
        return [*groups.values()]

    def places_of(
        self, numbers: tuple[int | None, ...], quantity: Quantity
    ) -> Iterator[tuple[Frame, tuple[int | None, ...]]]:
        """Yield some lanes grouped by where they are, for what is done in all of them or not at all."""
        places = self.by_place(numbers) if quantity.depends_on_place else [(self, range(len(numbers)))]
        for place, positions in places:
            if isinstance(place, DwarfGpuError):
                error = copy(place)
                error.message += f" (lane {numbers[positions[0]]})"
                raise error
            yield place, tuple(numbers[position] for position in positions)

    def lane_set(self, numbers: tuple[int | None, ...]) -> LaneSet:
        """Return some lanes as one set."""
        if len(numbers) == 1:
            return self.lane(numbers[0])
        wave = 0 if self.stack is None else self.stack.wave
        if numbers is self._every or numbers == self._every:
            if self.all_lanes is None:
                self.all_lanes = LaneSet.of(range(self.target.lane_count), wave)
            return self.all_lanes
        part = self._parts.get(numbers)
        if part is None:
            known = [self.lane(number).lane for number in numbers]
            part = LaneSet.of(known, wave) if known else LaneSet(0, wave, None)  # type: ignore[arg-type]
            if self._is_one and known and len(self._parts) < MOST_PARTS:
                self._parts[numbers] = part
        return part

    def lane_sets(self, numbers: tuple[int | None, ...]) -> Iterator[tuple[tuple[int | None, ...], LaneSet]]:
        """Yield lanes as sets to evaluate: together, or few in turn where no trace is kept, until one is costly."""
        asked, count = budget.asked(), len(numbers)
        is_together = count == 1 or b.arrays_pay(count) or (self.trace is not None and b.has_arrays())
        left = 0 if asked is None else asked.left - COSTLY
        while numbers:
            is_together = is_together or (asked is not None and asked.left < left and b.has_arrays())
            count = len(numbers) if is_together else 1
            chosen, numbers = numbers[:count], numbers[count:]
            yield chosen, self.lane_set(chosen)

    @property
    def active_mask(self) -> int | None:
        """The lanes that are active at its place (A.3.3.5 (6)); None where that is not known."""
        changes = self.state.backend.changes
        if self._mask_of != changes:
            refusals = budget.refusals()
            self._mask, self.mask_error = self._find_mask()
            if budget.refusals() == refusals:
                self._mask_of = changes
        return self._mask

    def _find_mask(self) -> tuple[int | None, DwarfGpuError | None]:
        if self.activation is None or not self.has_lanes:
            return None, None
        stack = self.stack
        if stack is not None and stack.lane is not None:
            frame = stack.wave_stack.call(self.level)[0]
            return frame.active_mask, frame.mask_error
        try:
            mask = Simt(self).active_mask()
        except DwarfGpuError as error:
            return None, error
        return mask if isinstance(mask, int) else None, None

    @property
    def lane_count(self) -> int | None:
        """DW_AT_LLVM_lanes of the function, if it has it (A.3.3.5 (4))."""
        attribute = None if self.function is None else self.function.find("DW_AT_LLVM_lanes")
        if attribute is None:
            return None
        count = attribute.unsigned()
        if not count:
            raise IllFormed("bad_operand", "DW_AT_LLVM_lanes is 0", spec="A.3.3.5 (4)")
        return count

    def active_lanes(self) -> int | None:
        """Return the lanes that made the call, as a mask. None where they are not known.

        They are those with a place in the call, where its functions say where lanes are (A.2.5.1 current call frame),
        else those of the execution mask on entry. A target without one has a single lane, which is active.
        """
        pcs = None if self.stack is None or not self._is_one else self.stack.lane_pcs(self.level)
        if pcs is not None:
            if any(at.error is not None for at in pcs):
                return None
            return sum(1 << lane for lane, at in enumerate(pcs) if at.pc is not None)
        number = self.target.execution_mask
        if number is None:
            return 1
        activation = self._activation
        thread = activation.thread
        try:
            location = activation.entry_register(number, thread.lanes)
            if is_undefined(location):
                return None
            reading = thread.accessor.read(location, thread.known_register(number).bit_size)
        except DwarfGpuError:
            return None
        return None if reading.undefined else int(reading.bits)

    # --- Contexts of evaluations ----------------------------------------------------------------------------------

    def unit_info(self, unit: Unit, code: LoadedCode) -> FileUnit:
        """Return a unit as expressions ask for it at this place."""
        key = (unit, id(code))
        unit_info = self._units.get(key)
        if unit_info is None:
            unit_info = self._units[key] = FileUnit(unit, code, self.place)
        return unit_info

    def code_of(self, unit: Unit) -> LoadedCode:
        """Return the loaded file that a unit belongs to."""
        return self.state.code_of(unit, self.code)

    def key_of(self, lanes: LaneSet) -> tuple[Any, ...] | None:
        """Return the key under which an answer is kept for lanes that are asked often; None for other sets."""
        if lanes is self.all_lanes:
            return ()
        wave, lane = lanes.wave, lanes.lane
        if self._is_one and lanes.count == 1 and type(wave) is int and (lane is None or type(lane) is int):
            return wave, lane
        return next(((numbers,) for numbers, part in self._parts.items() if part is lanes), None)

    def context(self, lanes: LaneSet, unit: FileUnit | None = None) -> Context:
        """Return the context of an evaluation that finds a location (A.2.5.1)."""
        owner = self.key_of(lanes)
        key = owner, unit
        context = None if owner is None else self._contexts.get(key)
        if context is None:
            base = self._base
            context = evolve(base, lanes=lanes, unit=base.unit if unit is None else unit)
            if owner is not None:
                self._contexts[key] = context
        return context

    @property
    def encoding(self) -> EncodingContext:
        """How its code encodes expressions."""
        from dwarfgpu.program.code.encoding_context import EncodingContext

        target = self.target
        form = Format(target.address_size, 4, target.byte_order, 5)
        return EncodingContext(target, (self.code or self.state.loaded.codes[0]).dialect, form, self.state.rules)

    @cached_property
    def _base(self) -> Context:
        function = self.function
        unit = None if function is None or self.code is None else self.unit_info(function.unit, self.code)
        state = self.state
        is_executing = self.activation is not None
        return Context(
            state.target,
            state.rules,
            state.backend,
            frame=self.outer if is_executing else FileFrame(state.target),
            lane_count=self.outer.lane_count if is_executing else None,
            unit=unit,
            pc=self.place,
            result_kind="location",
        )

    def around(self, lanes: LaneSet, code: LoadedCode | None = None) -> ObjectSurroundings:
        """Return what values are read in; ``code`` is the file that their types are from."""
        code = code or self.code or self.state.loaded.codes[0]
        owner = self.key_of(lanes)
        key = owner, id(code)
        surroundings = None if owner is None else self._around.get(key)
        if surroundings is None:
            context = evolve(self.context(lanes), result_kind=None)
            surroundings = ObjectSurroundings(context, code, self.keeping if self.level else None)
            if owner is not None:
                self._around[key] = surroundings
        return surroundings

    # --- The call frame of expressions ----------------------------------------------------------------------------

    @property
    def _activation(self) -> Activation:
        if self.activation is None:
            raise no_registers()
        return self.activation

    @property
    def is_signal_frame(self) -> bool:
        """Whether the kernel made the frame to call the handler of a signal."""
        try:
            return self._activation.information.is_signal_frame
        except DwarfGpuError:
            return False

    def register(self, number: int, lanes: LaneSet) -> locations.Location:
        """Return where a register of the frame is."""
        location = self._activation.register(number, lanes)
        if self._kept is not None and is_undefined(location):
            unchanged = self._activation.unchanged_register(number, lanes)
            if unchanged is not None:
                self._kept.add(self._activation.thread.known_register(number).name)
                return unchanged
        return location

    def holds_after_call(self, location: Attribute, code: LoadedCode) -> bool:
        """Return whether the place is in a call of a host program, and a location holds where it returns, too."""
        if self.activation is None or self.has_lanes or self.pc is None or self.place == self.pc:
            return False
        if location.value_class != "loclist":
            return True
        entries = location_list(location)
        after = [*entries.matching(code.in_file(self.pc))]
        return all(entry in after for entry in entries.matching(code.in_file(self.place or 0)))

    @contextmanager
    def keeping(self, location: Attribute, code: LoadedCode) -> Iterator[set[str]]:
        """Count registers without a rule as kept while a location holds after the call, too; yield their names."""
        frame, names = self.outer, set[str]()
        before = frame._kept  # noqa: SLF001 (a frame of its own class)
        frame._kept = names if self.state.trusts_lists and self.holds_after_call(location, code) else None  # noqa: SLF001
        try:
            yield names
        finally:
            frame._kept = before  # noqa: SLF001

    def entry_register(self, number: int, lanes: LaneSet) -> locations.Location:
        """Return where the value is that a register had on entry."""
        return self._activation.entry_register(number, lanes)

    def cfa(self, lanes: LaneSet) -> locations.Location:
        """Return the Canonical Frame Address."""
        return self._activation.cfa(lanes)

    def caller(self) -> Frame:
        """Return the function with the call that is executing this one."""
        stack = self.stack
        if stack is None:
            raise no_registers()
        caller = stack.at(self.level + 1)
        if caller is None:
            raise MissingContext("frame", f"there is no calling frame: {stack.end.message}")
        return caller

    def as_written(self) -> Frame:
        """Return the same frame with the frame base that the text alone gives it, without repairs."""
        frame = Frame(
            self.state,
            self.code,
            self.place,
            number=self.number,
            scope=self.scope,
            depth=self._depth,
            inlined_into=None if self.inlined_into is None else self.inlined_into.as_written(),
            stack=self.stack,
            activation=self.activation,
        )
        frame._is_repaired = False
        return frame

    def base_repairs(self, read: Callable[[Expression], tuple[Repair, ...]]) -> tuple[Repair, ...]:
        """Return the repairs of the frame base: with `repairs_of` those it went through, or `possible_repairs`."""
        try:
            return tuple(repair for base in self.bases()[1] for repair in read(base))
        except DwarfGpuError:
            return ()

    def bases(self) -> tuple[FileUnit, tuple[Expression, ...]]:
        """Return the expressions of DW_AT_frame_base, and their unit."""
        function = self.function
        attribute = None if function is None else function.find("DW_AT_frame_base")
        if function is None or self.code is None or attribute is None:
            known = "the function is not known" if function is None else "the function has no DW_AT_frame_base"
            raise MissingContext("frame", f"the frame base is not known: {known}")
        unit = self.unit_info(function.unit, self.code)
        expressions = unit.expressions(attribute)
        bases = expressions if isinstance(expressions, tuple) else (expressions,)
        if not bases:
            message = f"DW_AT_frame_base says nothing about the address {self.place:#x}"
            raise MissingContext("frame", message, spec="A.3.3.5 (2)")
        for base in bases:
            if any(step.operation.name == "DW_OP_fbreg" for step in base.instructions):
                raise IllFormed("bad_operand", "DW_AT_frame_base must not use DW_OP_fbreg", spec="A.3.3.5 (2)")
        return unit, bases if self._is_repaired else tuple(map(as_written, bases))

    @cached_property
    def _is_in_prologue(self) -> bool:
        """Whether a function of a GPU is where its frame is still that of its caller, or has no parameters yet."""
        if self.level or not self.has_lanes or self.place is None:
            return False
        prologue = self.state.sources.prologue(self.place)
        return prologue is not None and self.place in prologue

    def frame_base(self, lanes: LaneSet) -> locations.Location:
        """Return what DW_AT_frame_base gives (A.3.3.5 (2))."""
        unit, bases = self.bases()
        if self._is_repaired and self._is_in_prologue:
            error = not_set_yet("the function has not set up its frame yet")
            if self.state.backend.is_launched and self.name is not None:
                way = f"`tbreak {self.name}` and `continue` stop where it has"
                error.hint = f'{way}; until then, $_arg("NAME") is an argument of the launch'
            raise error
        context = self.context(lanes, unit)
        trace = self._activation.thread.trace
        results = [result_for(evaluate(_based(base), context, trace)) for base in bases]
        return results[0] if len(results) == 1 else locations.union(results, lanes.count)

    @cached_property
    def call_site(self) -> Die | None:
        """The entry of the call in the caller that called this one, if the debugging information has it."""
        from dwarfgpu.program.frames import call_sites

        caller = None if self.stack is None else self.stack.at(self.level + 1)
        function = None if caller is None else caller.function
        if caller is None or caller.code is None or function is None:
            return None
        if caller.pc is None or (caller.place == caller.pc and not caller.is_tail_call):
            return None
        site = call_sites.call_site_at(function, caller.code.in_file(caller.pc))
        if site is None or not call_sites.is_call_of(site, self.function):
            return None
        if call_sites.called(site) is None and not self._is_target(call_sites.target_of(site)):
            return None
        is_repeated = self.function is not None and call_sites.may_call_itself(self.function)
        return None if is_repeated else site

    def _is_target(self, target: Attribute | None) -> bool:
        """Return whether a call through a pointer is known to have called this function, without tail calls between.

        The address is that of DW_AT_call_target (DWARF 5, 3.4.1), evaluated in the calling frame.
        """
        ranges = [] if self.function is None else self.function.ranges()
        if target is None or self.code is None or not ranges:
            return False
        with suppress(DwarfGpuError):  # the address was in a register that the callee has changed
            (address,) = self.caller().evaluated(target, self.lane(None), "value")
            return bool(isinstance(address, Value) and address.bits == self.code.in_program(ranges[0][0]))
        return False

    def entry_value(self, expression: bytes, lanes: LaneSet) -> Value | None:
        """Return what the call site gives the parameter at the operand of DW_OP_entry_value; None if it does not."""
        from dwarfgpu.program.frames import call_sites

        site = self.call_site
        parameter = None if site is None else call_sites.parameter_at(site, expression)
        value = None if parameter is None else call_sites.value_of(parameter)
        return None if value is None else self._at_call(value, lanes)

    def entry_parameter(self, die: DieReference, lanes: LaneSet) -> Value:
        """Return what the call site gives a formal parameter."""
        from dwarfgpu.program.frames import call_sites

        function, site = self.function, self.call_site
        if function is None or site is None:
            self._no_parameter(die, "no call site says what was passed")
        unit = function.unit
        formal = unit.die_at(die.offset) if die.base == "unit" else unit.dwarf.die_at(die.offset)
        parameter = call_sites.parameter_of(site, formal)
        value = None if parameter is None else call_sites.value_of(parameter)
        if value is None:
            self._no_parameter(die, "the call site does not say what was passed")
        return self._at_call(value, lanes)

    def _no_parameter(self, die: DieReference, why: str) -> NoReturn:
        raise MissingContext("frame", f"the value of the parameter at {die} is not known: {why}")

    def _at_call(self, value: Attribute, lanes: LaneSet) -> Value:
        """Return DW_AT_call_value, evaluated in the calling frame (A.3.4.2 (2))."""
        if value.value_class == "loclist":
            raise IllFormed("bad_operand", "DW_AT_call_value is a location list", spec="A.3.4.2 (2)")
        return self.caller().evaluated(value, lanes, "value")[0]  # type: ignore[no-any-return]

    def evaluated(self, attribute: Attribute, lanes: LaneSet, kind: Literal["value", "location"]) -> list[Any]:
        """Evaluate the expression of an attribute here, or those of a location list that are valid here."""
        if self.code is None:  # the attribute is one of its entries
            raise AssertionError(attribute)
        unit = self.unit_info(attribute.die.unit, self.code)
        expressions = unit.expressions(attribute)
        context = evolve(self.context(lanes, unit), result_kind=kind)
        trace = self.trace if self.activation is None else self.activation.thread.trace
        chosen = expressions if isinstance(expressions, tuple) else (expressions,)
        return [result_for(evaluate(expression, context, trace)) for expression in chosen]

    def thread_local(self, offset: int, lanes: LaneSet, unit: UnitInfo | None) -> locations.Location:
        """Return the location of an offset in the thread-local storage of the file of a unit (A.2.5.4.4.3 (4))."""
        from dwarfgpu.program.code.thread_storage import ThreadStorage

        stack = self.stack
        if stack is None:
            raise no_registers()
        if not isinstance(stack.wave, int):
            raise Parted
        code = unit.code if isinstance(unit, FileUnit) else self.code
        return ThreadStorage(stack.machine, self.state.loaded, stack.wave).location(offset, code)

    # --- Variables ------------------------------------------------------------------------------------------------

    @property
    def blocks(self) -> tuple[Die, ...]:
        """The blocks of the function that hold the place, innermost first; the function itself is the last."""
        return () if self.scope is None else self.scope.blocks

    def variables(self) -> tuple[Variable, ...]:
        """Return parameters and local variables, those of inner blocks first, in the order of the source."""
        if self._variables is None:
            variables: list[Variable] = []
            seen: set[str] = set()
            for block in self.blocks:
                declared = self.code_of(block.unit).declared_in(block, self.place_in_file)
                for die, name in declared:
                    code = self.code_of(die.unit)
                    variables.append(variable_of(self, die, code, kind_of(die), is_shadowed=name in seen))
                seen.update(name for _die, name in declared)
            self._variables = tuple(variables)
        return self._variables

    def statics(self) -> Iterator[Variable]:
        """Return the variables of the unit that belong to no function."""
        from dwarfgpu.program.frames.names import Names

        return iter(()) if self.unit is None else self.state.part(Names).statics(self, self.unit)

    def __getitem__(self, name: str) -> Quantity:
        """Return what a name means here: a variable, or another quantity such as a member of ``this``.

        Names are looked up from the inside out: blocks, function, class, namespaces, unit, program. ``fn::x``,
        ``ns::x``, ``::x`` and ``file.c::x`` say where. One that means nothing is a `KeyError` and a `UsageError`.
        """
        found = self.quantity(name)
        found.check_name()
        return found

    @cached_property
    def meanings(self) -> dict[tuple[tuple[str, ...], str | None], Any]:
        """What names in expressions mean here, by their parts and the file that they are of."""
        return {}

    def quantity(self, name: str) -> Quantity:
        """Return what a name or another expression means here. Whether the name is known is seen when it is asked."""
        text = self._without_macros(name)
        answer = self._named.get((name, text))
        if answer is None:
            variable = next((candidate for candidate in self.variables() if candidate.name == text), None)
            answer = self._named[name, text] = self._parsed(text, name) if variable is None else variable
        return answer

    def variable(self, name: str) -> Quantity:
        """Return ``frame[name]``."""
        return self[name]

    def __iter__(self) -> Iterator[Variable]:
        return (variable for variable in self.variables() if not variable.is_shadowed)

    def _ipython_key_completions_(self) -> list[str]:
        return [variable.name for variable in self]

    def to_pandas(self) -> Any:
        """Return a table of pandas with a row for each lane, and a column for each variable."""
        from dwarfgpu.program.frames.answers import Quantity

        return table_of({variable.name: Quantity.values(variable) for variable in self})

    def __contains__(self, name: str) -> bool:
        try:
            return self[name] is not None
        except UsageError:
            return False

    # --- Expressions ----------------------------------------------------------------------------------------------

    def expression(self, text: str) -> SourceExpression:
        """Parse an expression of the source language, which can then be evaluated any number of times."""
        return self._parsed(self._without_macros(text), text)

    def _parsed(self, text: str, written: str) -> SourceExpression:
        from dwarfgpu.program.frames.evaluator import SourceExpression

        return SourceExpression(self, text, written)

    @property
    def macros(self) -> Definitions:
        """The macros that are defined at its place, after those of the user."""
        found = self.state.macros.at(self.code, self.unit, None if self.place is None else self.call.source)
        return found if self.state.remembered is None else found.with_written(self.state.remembered.macros)

    @property
    def has_macros(self) -> bool:
        """Whether its file has macros; compilers write them only if they are asked to."""
        numbers = dw.DW_AT_macros, dw.DW_AT_GNU_macros, dw.DW_AT_macro_info
        return self.unit is not None and self.unit.root_value(*numbers) is not None

    def _without_macros(self, text: str) -> str:
        """Return an expression with its macros expanded; where their information is broken, nothing is a macro."""
        unit, remembered = self.unit, self.state.remembered
        has_written = remembered is not None and bool(remembered.macros)
        if not has_written and not self.has_macros:
            return text
        from dwarfgpu.program.frames.macros import expanded

        try:
            macros = self.macros
        except DwarfGpuError as error:
            if unit is not None:
                unit.dwarf.note(error)
            return text
        return expanded(text, macros)

    def eval(self, text: str, lanes: Iterable[int] | int | str | None = None) -> Values:
        """Evaluate an expression in some lanes, as `Quantity.values` does."""
        return self.expression(text).values(lanes)

    def assign(self, target: Quantity, text: str, lanes: Iterable[int] | int | str | None = None) -> None:
        """Write the value of an expression to a quantity in some lanes; in the active ones by default."""
        from dwarfgpu.program.frames.evaluator import assign

        assign(self, target, text, "active" if lanes is None and self.has_lanes else lanes)

    def type(self, name: str) -> Type:
        """Return the type with a name, as an expression writes it."""
        from dwarfgpu.program.frames.evaluator import type_named

        return type_named(self, name)


def frames_at(
    state: Execution,
    code: LoadedCode | None,
    place: int,
    number: int = 0,
    stack: Stack | None = None,
    activation: Activation | None = None,
) -> tuple[Frame, ...]:
    """Return the frames of the functions at an address, innermost first, numbered from ``number``; at least one."""
    functions = () if code is None else code.functions_at(place)
    frames: list[Frame] = []
    for depth, scope in reversed([*enumerate(functions or (None,))]):
        frame = Frame(
            state,
            code,
            place,
            number=number + depth,
            scope=scope,
            depth=depth,
            inlined_into=frames[-1] if frames else None,
            stack=stack,
            activation=activation,
        )
        frames.append(frame)
    return tuple(reversed(frames))


def _based(base: Expression) -> Expression:
    """Return the expression of a frame base; one that names a register means the address in it (A.3.3.5 (2)).

    That holds in a caller too, where the register may be saved in memory: the address is not that of the memory.
    """
    row = find_operation("DW_OP_bregx")
    if len(base.instructions) != 1 or base.code[0].operation.name != "DW_OP_regx" or row is None:
        return base
    named = base.instructions[0]
    instruction = Instruction(row, "DW_OP_bregx", (base.code[0].operands[-1], 0), named.offset, named.end)
    return Expression(base.data, (instruction,), base.form, base.dialect, section=base.section, offset=base.offset)


def no_registers() -> UsageError:
    """Return the error of a question that needs registers where there is no state."""
    return UsageError("The program has no registers now.", kind="no_machine")


class FileFrame(LoneFrame):
    """A frame of which the function is known and nothing else: registers are where they are in an innermost frame."""

    __slots__ = ("target",)
    why = f": {NO_STATE}"
    hint = HINT

    def __init__(self, target: Target) -> None:
        self.target = target

    def register(self, number: int, lanes: LaneSet) -> locations.Location:
        return locations.at(Register(known_register(self.target, self.target.register(number), number)))


# --- The frames of a thread -----------------------------------------------------------------------------------------


def unwinding_of(loaded: Loaded, target: Target) -> LoadedUnwinding:
    """Return the call frame information for waves of a target, which is remembered with the code."""
    found: LoadedUnwinding | None = loaded.unwindings.get(target)
    if found is None:
        found = loaded.unwindings[target] = LoadedUnwinding(loaded, target)
    return found


class LoadedUnwinding:
    """The call frame information of loaded code and, for functions of AMDGPU without it, what reading them finds."""

    def __init__(self, loaded: Loaded, target: Target) -> None:
        self._loaded = loaded
        self._target = target

    def information_at(self, pc: int) -> Information:
        """Return the rules at an address of the running program, or raise an error."""
        try:
            return self._loaded.information_at(pc)
        except DwarfGpuError as error:
            code = self._loaded.at(pc)
            if pc == 0 and error.kind == OUTSIDE_CODE:
                return self._by_code.at_null()
            if error.kind != NO_INFORMATION or code is None or not code.file.is_amdgpu:
                raise
            return self._by_code.information_at(code, pc, error)

    @cached_property
    def _by_code(self) -> CodeUnwinding:
        from dwarfgpu.program.code.frames_by_code import CodeUnwinding

        return CodeUnwinding(self._target, self._loaded.at)


class Stack:
    """The frames of one thread (wave) of a machine, found when they are asked for.

    Given an ascending array of waves at one place, it is the innermost call of all of them. What depends on a caller
    raises `Parted` then, because each has its own.

    A stack that one of the lanes sees has numbers of its own. "If the current lane is specified and the architecture
    program location LPC computed by the DW_AT_LLVM_lane_pc attribute for the current lane is not the undefined location
    description, it must be LPC" (A.2.5.1, current program location). A call that the lane was not active in is shown as
    the wave has it.
    """

    def __init__(
        self,
        stopped: Stopped,
        wave: b.Bits = 0,
        *,
        owner: Wave | None = None,
        lane: int | None = None,
        wave_stack: Stack | None = None,
    ) -> None:
        self.lane = lane
        """The lane whose view it is; None where it is that of the wave."""
        self.wave_stack: Stack = wave_stack or self
        """The frames as the wave has them."""
        self.state = stopped.state
        self.stopped = stopped
        self.machine = stopped.machine
        self.wave: Any = wave
        """Its index, or an array of them."""
        self.owner = owner
        """The wave whose stack it is, where it is one."""
        target, rules, register = self.machine.target, self.state.rules, self.machine.register
        self.thread: Thread = (
            Thread(target, rules, self.machine, unwinding_of(stopped.loaded, target), wave, register=register)
            if wave_stack is None
            else wave_stack.thread
        )
        self._begin()

    def _begin(self) -> None:
        """Forget all frames, which the next question finds again."""
        if self.wave_stack is self:
            first = self.wave if isinstance(self.wave, int) else int(self.wave[0])
            pc = self.machine.program_counter(first)
            if pc is None:
                raise unknown_place(self.machine.ids[first])
            state = self.state
            executed = self.machine.calls_of(self.wave) if isinstance(self.wave, int) else ()
            self._activations = CallStack(
                self.thread,
                pc,
                state.max_frames,
                is_in_call=self.stopped.is_in_call,
                tail_calls=state.tail_calls,
                executed=executed,
            )
        else:
            self._activations = self.wave_stack.activations
        self._calls: list[tuple[Frame, ...]] = []
        self._frames: list[Frame] = []
        self._lane_pcs: dict[int, tuple[LanePc, ...] | None] = {}
        self._of_lanes: dict[int, Stack] = {}
        self._changes = self.machine.changes
        """The number of writes before the frames were found."""

    @property
    def activations(self) -> CallStack:
        """The registers of each call, without asking the debugging information which function it is."""
        self._refresh()
        return self._activations

    def _refresh(self) -> None:
        """Forget the frames when something has been written since, because callers may be others now."""
        if self._changes != self.machine.changes:
            self._begin()

    # --- Frames as users count them -------------------------------------------------------------------------------

    @property
    def top(self) -> Frame:
        """The innermost frame."""
        return self.call(0)[0]

    def frame(self, number: int) -> Frame | None:
        """Return the frame with a number, 0 for the innermost one; None when the stack ends before."""
        self._refresh()
        while number >= len(self._frames):
            if not self.call(len(self._calls)):
                return None
        return self._frames[number]

    @property
    def count(self) -> int:
        """How many frames there are."""
        for _frame in self:
            pass
        return len(self._frames)

    # --- Calls ----------------------------------------------------------------------------------------------------

    def call(self, level: int) -> tuple[Frame, ...]:
        """Return the frames of a call, 0 for the innermost one, inlined functions first; none behind the last call."""
        if level and not isinstance(self.wave, int):
            raise Parted
        activations = self.activations
        while level >= len(self._calls):
            activation = activations.at(len(self._calls))
            if activation is None:
                return ()
            frames = self._frames_of(activation)
            self._calls.append(frames)
            self._frames += frames
        return self._calls[level]

    def _frames_of(self, activation: Activation) -> tuple[Frame, ...]:
        """Return the frames of the next call, which follow those that are known."""
        place, number = activation.place, len(self._frames)
        if self.lane is not None:
            pcs = self.lane_pcs(activation.level)
            at = pcs[self.lane].pc if pcs is not None and 0 <= self.lane < len(pcs) else None
            place = place if at is None or at == activation.pc else at
            same = self.wave_stack.call(activation.level)
            if place == activation.place and same[0].number == number:
                return same
        return frames_at(self.state, self.state.loaded.at(place), place, number, self, activation)

    def at(self, level: int) -> Frame | None:
        """Return the function whose code a call executes, 0 for the innermost one; None when the stack ends before."""
        frames = self.call(level)
        return frames[-1] if frames else None

    # --- Lanes ----------------------------------------------------------------------------------------------------

    def of_lane(self, lane: int) -> Stack:
        """Return the frames as a lane sees them."""
        if self.wave_stack is not self:
            return self.wave_stack.of_lane(lane)
        self._refresh()
        if lane not in self._of_lanes:
            self._of_lanes[lane] = Stack(self.stopped, self.wave, owner=self.owner, lane=lane, wave_stack=self)
        return self._of_lanes[lane]

    def lane_pcs(self, level: int) -> tuple[LanePc, ...] | None:
        """Return where the lanes are in a call; None where no function says so and all are where the wave is."""
        if self.wave_stack is not self:
            return self.wave_stack.lane_pcs(level)
        self._refresh()
        if level not in self._lane_pcs:
            frame = self.call(level)[0]
            simt = Simt(frame)
            self._lane_pcs[level] = simt.known_places(frame.active_mask)[0] if simt.says_places else None
        return self._lane_pcs[level]

    def __iter__(self) -> Iterator[Frame]:
        """Return the functions whose code the calls execute, innermost first."""
        level = 0
        while (frame := self.at(level)) is not None:
            yield frame
            level += 1

    @property
    def end(self) -> End:
        """Why there are no further frames."""
        activations = self.activations
        for _activation in activations:
            pass
        if activations.end is None:  # it has one when there is no next frame
            raise AssertionError(self)
        return activations.end


def negative_frame(number: int) -> UsageError:
    """Return the error of a frame with a negative number."""
    return UsageError(f"there is no frame {number}", kind="no_frame", hint="frames count from 0, the innermost")


def unknown_place(wave: str) -> MissingContext:
    """Return the error of a wave whose place is not known."""
    return MissingContext("pc", f"the place of wave {wave} is not known: it has no program counter")
