"""Call frames of a thread that stands still, with what debugging information says about each: a whole `FrameInfo`.

The registers come from `cfi.activation`; the function, its frame base and what its parameters were at the call from
the files that are loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from dwarfgpu.cfi.activation import Parted, Thread
from dwarfgpu.cfi.unwind import MAX_FRAMES, CallStack
from dwarfgpu.errors import DwarfGpuError, IllFormed, MissingContext, UsageError
from dwarfgpu.expr import locations
from dwarfgpu.expr.context import Context
from dwarfgpu.expr.instruction import Expression, Instruction
from dwarfgpu.expr.locations import is_undefined
from dwarfgpu.expr.machine import evaluate, result_for
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.expr.table import find as find_operation
from dwarfgpu.program.code.loaded import FileUnit
from dwarfgpu.program.code.repairs import as_written, repairs_of
from dwarfgpu.program.code.thread_storage import ThreadStorage
from dwarfgpu.program.stack import call_sites

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.bits import Bits
    from dwarfgpu.cfi.activation import Activation
    from dwarfgpu.cfi.unwind import End
    from dwarfgpu.expr.context import DieReference, UnitInfo
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.expr.rules import Rules
    from dwarfgpu.expr.values import Value
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.program.code.loaded import Loaded, LoadedCode
    from dwarfgpu.program.code.repairs import Repair
    from dwarfgpu.program.stack.stopped import Machine


class Stack:
    """The frames of one thread (wave) of a machine, found as somebody asks for them.

    Of several that stand at one place, given by an ascending array, it is the innermost frame of all of them. What
    depends on a caller is `Parted` then: each has its own.
    """

    def __init__(
        self,
        machine: Machine,
        loaded: Loaded,
        wave: Bits = 0,
        *,
        rules: Rules | None = None,
        max_frames: int = MAX_FRAMES,
    ) -> None:
        self.machine = machine
        self.loaded = loaded
        self.wave: Any = wave
        """Its index, or an array of them."""
        self.rules = rules or PRESETS[machine.target.default_rules]
        thread = Thread(machine.target, self.rules, machine, loaded, wave, register=machine.register)
        self._calls = CallStack(thread, _place_of(machine, wave), max_frames)
        self._frames: list[StackFrame] = []
        self._changes = machine.changes
        """Up to which write they hold."""

    @property
    def top(self) -> StackFrame:
        """The innermost frame."""
        return next(iter(self))

    def at(self, level: int) -> StackFrame | None:
        """The frame of a level, 0 for the innermost one; None when the stack ends before."""
        if level and not isinstance(self.wave, int):
            raise Parted
        if self._changes != self.machine.changes:
            self._begin_again()
        while level >= len(self._frames):
            activation = self._calls.at(len(self._frames))
            if activation is None:
                return None
            self._frames.append(StackFrame(self, activation))
        return self._frames[level]

    def _begin_again(self) -> None:
        """Something was written, and what called what is found again."""
        calls = self._calls
        self._calls = CallStack(calls.thread, _place_of(self.machine, self.wave), calls.max_frames)
        self._frames.clear()
        self._changes = self.machine.changes

    def __iter__(self) -> Iterator[StackFrame]:
        level = 0
        while (frame := self.at(level)) is not None:
            yield frame
            level += 1

    @property
    def end(self) -> End:
        """Why there are no further frames. All are found then."""
        while self.at(len(self._frames)) is not None:
            pass
        if self._calls.end is None:  # it has one when there is no next frame
            raise AssertionError(self)
        return self._calls.end


def negative_frame(number: int) -> UsageError:
    """The error of a frame with a negative number, whether inlined calls count or not."""
    return UsageError(
        f"there is no frame {number}", kind="no_frame", hint="frames count from 0, the innermost"
    )


def _place_of(machine: Machine, wave: Any) -> int:
    """Where a wave stands, or several that stand at one place."""
    first = wave if isinstance(wave, int) else int(wave[0])
    pc = machine.program_counter(first)
    if pc is None:
        message = f"where wave {machine.ids[first]} stands is not known: it has no program counter"
        raise MissingContext("pc", message)
    return pc


class StackFrame:
    """A call frame of a thread."""

    def __init__(self, stack: Stack, activation: Activation) -> None:
        self.stack = stack
        self.activation = activation
        self.level = activation.level
        self.pc = activation.pc
        """Where execution stands, or goes on when the callee returns."""
        self.place = activation.place
        """The current program location: in a caller an address in the call."""
        self.code: LoadedCode | None = stack.loaded.at(activation.place)
        self._unit: FileUnit | None = None
        self._repairs = True
        """Whether the frame base is what its producer means, if that is known."""
        self._site: Die | None = None
        self._knows_site = False

    def __repr__(self) -> str:
        return f"Frame({self.level}, {self.pc:#x})"

    # --- The function ---------------------------------------------------------------------------------------------

    @property
    def function(self) -> Die | None:
        """The entry of the function whose code it executes, if the debugging information knows one."""
        return None if self.code is None else self.code.function_at(self.place)

    @property
    def unit(self) -> FileUnit | None:
        """The compilation unit of the function."""
        function = self.function
        if self._unit is None and function is not None and self.code is not None:
            self._unit = FileUnit(function.unit, self.code, self.place)
        return self._unit

    @property
    def lane_count(self) -> int | None:
        """DW_AT_LLVM_lanes of the function, if it says so (A.3.3.5 (4))."""
        found = None if self.function is None else self.function.find("DW_AT_LLVM_lanes")
        if found is None:
            return None
        count = found.unsigned()
        if not count:
            raise IllFormed("bad_operand", "DW_AT_LLVM_lanes is 0", spec="A.3.3.5 (4)")
        return count

    def context(self, lanes: LaneSet | None = None, **changes: Any) -> Context:
        """The context of an evaluation in this frame (A.2.5.1)."""
        stack = self.stack
        elements: dict[str, Any] = {"unit": self.unit, "pc": self.place, "lane_count": self.lane_count}
        elements.update(changes)
        return Context(
            stack.machine.target,
            stack.rules,
            stack.machine,
            self.activation.thread.lanes if lanes is None else lanes,
            frame=self,
            **elements,
        )

    @property
    def is_signal_frame(self) -> bool:
        """Whether the kernel made the frame to call the handler of a signal."""
        try:
            return self.activation.information.is_signal_frame
        except DwarfGpuError:
            return False

    # --- Registers ------------------------------------------------------------------------------------------------

    def register(self, number: int, lanes: LaneSet) -> Location:
        return self.activation.register(number, lanes)

    def entry_register(self, number: int, lanes: LaneSet) -> Location:
        return self.activation.entry_register(number, lanes)

    def cfa(self, lanes: LaneSet) -> Location:
        return self.activation.cfa(lanes)

    def active_lanes(self) -> int | None:
        """The execution mask on entry: the lanes that the frame is one of. None where it has no value.

        A target without one has a single lane, which is active.
        """
        number = self.stack.machine.target.execution_mask
        if number is None:
            return 1
        thread = self.activation.thread
        try:
            location = self.activation.entry_register(number, thread.lanes)
            if is_undefined(location):
                return None
            reading = thread.accessor.read(location, thread.known_register(number).bit_size)
        except DwarfGpuError:
            return None
        return None if reading.undefined else int(reading.bits)

    # --- The frame base (A.3.3.5) ---------------------------------------------------------------------------------

    def as_written(self) -> StackFrame:
        """The same frame, with the frame base that the text alone gives it, without repairs."""
        found = StackFrame(self.stack, self.activation)
        found._repairs = False
        return found

    @property
    def base_repairs(self) -> tuple[Repair, ...]:
        """What the frame base went through to be what the producer means."""
        try:
            return tuple(repair for base in self._bases()[1] for repair in repairs_of(base))
        except DwarfGpuError:
            return ()

    def _bases(self) -> tuple[FileUnit, tuple[Expression, ...]]:
        """The expressions of DW_AT_frame_base, and their unit."""
        unit, attribute = self.unit, None
        if self.function is not None:
            attribute = self.function.find("DW_AT_frame_base")
        if unit is None or attribute is None:
            what = "the function has no DW_AT_frame_base" if unit is not None else "the function is not known"
            raise MissingContext("frame", f"the frame base is not known: {what}")
        found = unit.expressions(attribute)
        bases = found if isinstance(found, tuple) else (found,)
        if not bases:
            message = f"DW_AT_frame_base says nothing about the address {self.place:#x}"
            raise MissingContext("frame", message, spec="A.3.3.5 (2)")
        for base in bases:
            if any(each.operation.name == "DW_OP_fbreg" for each in base.instructions):
                message = "DW_AT_frame_base must not use DW_OP_fbreg"
                raise IllFormed("bad_operand", message, spec="A.3.3.5 (2)")
        return unit, bases if self._repairs else tuple(map(as_written, bases))

    def frame_base(self, lanes: LaneSet) -> Location:
        unit, bases = self._bases()
        context = self.context(lanes, unit=unit, result_kind="location")
        trace = self.activation.thread.trace
        results = [result_for(evaluate(_based(base), context, trace)) for base in bases]
        return results[0] if len(results) == 1 else locations.union(results, lanes.count)

    # --- The caller -----------------------------------------------------------------------------------------------

    def caller(self) -> StackFrame:
        found = self.stack.at(self.level + 1)
        if found is None:
            raise MissingContext("frame", f"there is no calling frame: {self.stack.end.message}")
        return found

    @property
    def call_site(self) -> Die | None:
        """The entry of the call in the caller that called this one, if it says so."""
        if not self._knows_site:
            self._knows_site = True
            self._site = self._find_site()
        return self._site

    def _find_site(self) -> Die | None:
        caller = self.stack.at(self.level + 1)
        function = None if caller is None else caller.function
        if caller is None or caller.code is None or function is None or caller.place == caller.pc:
            return None
        site = call_sites.call_site_at(function, caller.code.in_file(caller.pc))
        if site is None or not call_sites.is_call_of(site, self.function):
            return None
        if self.function is not None and call_sites.may_call_itself(self.function):
            return None
        return site

    def entry_value(self, expression: bytes, lanes: LaneSet) -> Value | None:
        site = self.call_site
        parameter = None if site is None else call_sites.parameter_at(site, expression)
        value = None if parameter is None else call_sites.value_of(parameter)
        return None if value is None else self._at_call(value, lanes)

    def entry_parameter(self, die: DieReference, lanes: LaneSet) -> Value:
        unit, site = self.unit, self.call_site
        if unit is None or site is None:
            self._no_parameter(die, "no call site says what was passed")
        formal = unit.unit.die_at(die.offset) if die.base == "unit" else unit.unit.dwarf.die_at(die.offset)
        parameter = call_sites.parameter_of(site, formal)
        value = None if parameter is None else call_sites.value_of(parameter)
        if value is None:
            self._no_parameter(die, "the call site does not say what was passed")
        return self._at_call(value, lanes)

    def _no_parameter(self, die: DieReference, why: str) -> NoReturn:
        raise MissingContext("frame", f"the value of the parameter at {die} is not known: {why}")

    def _at_call(self, value: Attribute, lanes: LaneSet) -> Value:
        """DW_AT_call_value, evaluated in the calling frame (A.3.4.2 (2))."""
        caller = self.caller()
        unit = caller.unit
        if unit is None:  # the attribute is one of its entries
            raise AssertionError(value)
        expression = unit.expressions(value)
        if isinstance(expression, tuple):
            raise IllFormed("bad_operand", "DW_AT_call_value is a location list", spec="A.3.4.2 (2)")
        context = caller.context(lanes, unit=unit, result_kind="value")
        return result_for(evaluate(expression, context, self.activation.thread.trace))  # type: ignore[no-any-return]

    # --- Thread-local storage -------------------------------------------------------------------------------------

    def thread_local(self, offset: int, lanes: LaneSet, unit: UnitInfo | None) -> Location:
        stack = self.stack
        if not isinstance(stack.wave, int):
            raise Parted
        code = unit.code if isinstance(unit, FileUnit) else self.code
        return ThreadStorage(stack.machine, stack.loaded, stack.wave).location(offset, code)


def _based(base: Expression) -> Expression:
    """The expression of a frame base; one that names a register means the address in it (A.3.3.5 (2)).

    That holds in a caller too, where the register may be saved in memory: the address is not that of the memory.
    """
    row = find_operation("DW_OP_bregx")
    if len(base.instructions) != 1 or base.code[0].operation.name != "DW_OP_regx" or row is None:
        return base
    named = base.instructions[0]
    instruction = Instruction(row, "DW_OP_bregx", (base.code[0].operands[-1], 0), named.offset, named.end)
    return Expression(
        base.data, (instruction,), base.form, base.dialect, section=base.section, offset=base.offset
    )
