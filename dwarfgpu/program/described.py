"""A compilation unit and a call frame that somebody describes, for expressions without a file and without a machine.

What is not described is missing context (A.2.5.1), and the error says which table would have held it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from dwarfgpu.errors import EvaluationError, IllFormed, MissingContext
from dwarfgpu.expr import locations
from dwarfgpu.expr.context import Die
from dwarfgpu.expr.locations import UNDEFINED
from dwarfgpu.expr.storages import Implicit, Memory, Register
from dwarfgpu.targets.target import Unspecified

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dwarfgpu.backends.described import DescribedMachine
    from dwarfgpu.bits import Bits, Positions
    from dwarfgpu.expr.context import DieReference, FrameInfo
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.expr.types import BaseType
    from dwarfgpu.expr.values import Value
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.records import record
    from dwarfgpu.targets.target import Register as TargetRegister
else:
    from dwarfgpu.records import record


@record
class DescribedDie:
    """What is said of one debugging information entry."""

    location: Expression | tuple[Expression, ...] | None = None
    const_value: bytes | None = None


class DescribedUnit:
    """A compilation unit of which some tables are known; None is a table that is not described."""

    __slots__ = ("base_types", "debug_addr", "dies", "reference_size")

    def __init__(
        self,
        reference_size: int = 4,
        *,
        base_types: Mapping[int, Callable[[], BaseType]] | None = None,
        debug_addr: Mapping[int, int] | None = None,
        dies: Mapping[DieReference, DescribedDie] | None = None,
    ) -> None:
        self.reference_size = reference_size
        self.base_types = base_types
        """Base types by unit offset: functions, because a type may be ill-formed, which concerns only who uses it."""
        self.debug_addr = debug_addr
        self.dies = dies

    def base_type(self, offset: int) -> BaseType:
        if self.base_types is None:
            _no_table("base types", "base_types")
        make = self.base_types.get(offset)
        if make is None:
            message = f"there is no DW_TAG_base_type at offset {offset:#x} of the unit"
            raise IllFormed("bad_type", message, spec="A.2.5.4.3.1 (7)")
        return make()

    def address(self, index: int) -> int:
        if self.debug_addr is None:
            _no_table("entries of .debug_addr", "debug_addr")
        found = self.debug_addr.get(index)
        if found is None:
            message = f".debug_addr has no entry {index}"
            raise IllFormed("bad_operand", message, spec="A.2.5.4.4.3 (2)")
        return found

    def relocated(self, address: int) -> int:
        return address

    def die(self, reference: DieReference) -> Die:
        if self.dies is None:
            _no_table("debugging information entries", "dies")
        found = self.dies.get(reference)
        if found is None:
            message = f"there is no debugging information entry at {reference}"
            spec = "A.2.5.4.2 (5)" if reference.base == "unit" else "A.2.5.4.4.5 (3)"
            raise IllFormed("bad_operand", message, spec=spec)
        return Die(self, found.location, found.const_value)


def _no_table(what: str, name: str) -> NoReturn:
    message = f"the compilation unit of the context has no {what}"
    raise MissingContext("unit", message, hint=f"describe them as `{name}`")


class DescribedFrame:
    """A call frame: the top one of a described machine, with what is known about its caller."""

    __slots__ = ("_cfa", "_entry_registers", "_frame_base", "entry_values", "lanes", "machine", "tls")

    def __init__(  # noqa: PLR0913 (what can be known of a frame)
        self,
        machine: DescribedMachine,
        lanes: LaneSet,
        *,
        cfa: Location | None = None,
        frame_base: Location | Expression | None = None,
        entry_registers: Mapping[int, Location] | None = None,
        entry_values: Mapping[bytes, Value] | None = None,
        tls: Mapping[int, int] | None = None,
    ) -> None:
        self.machine = machine
        self.lanes = lanes
        self.entry_values = entry_values or {}
        self.tls = tls
        self._cfa = cfa
        self._frame_base = frame_base
        self._entry_registers = entry_registers or {}

    def select(self, positions: Positions) -> DescribedFrame:
        """The frame for some of the slots it is for."""
        base = self._frame_base
        return DescribedFrame(
            self.machine,
            self.lanes.select(positions),
            cfa=None if self._cfa is None else self._cfa.select(positions),
            frame_base=base.select(positions) if isinstance(base, locations.Location) else base,
            entry_registers={number: held.select(positions) for number, held in self._entry_registers.items()},
            entry_values=self.entry_values,
            tls=self.tls,
        )

    # --- Registers ------------------------------------------------------------------------------------------------

    def register(self, number: int) -> Location:
        return register_location(self.machine, self._register(number), self.lanes)

    def _register(self, number: int) -> TargetRegister:
        register = self.machine.register(number)
        if register is None:
            message = f"{self.machine.target.name} has no register with the DWARF number {number}"
            raise IllFormed("bad_operand", message, spec="A.2.5.4.4.4 (2)")
        return register

    def entry_register(self, number: int) -> Location:
        register = self._register(number)
        known = self._entry_registers.get(number)
        if known is not None:
            return known
        rule = self.machine.target.unspecified_rule(number)
        if rule == Unspecified.SAME_VALUE:
            return register_location(self.machine, register, self.lanes)
        return self._stack_pointer(register) if rule == Unspecified.CFA else UNDEFINED

    def _stack_pointer(self, register: TargetRegister) -> Location:
        """What the stack pointer was at the call site: the address of the CFA is by definition that value."""
        place = self.cfa().single
        if place is None or type(place.storage) is not Memory or not isinstance(place.bit_offset, int):
            message = f"the previous value of {register.name} is the address of the CFA, which is not in memory"
            raise IllFormed("wrong_kind", message, spec="A.6.4.1")
        value = place.bit_offset // 8 // self.machine.target.stack_scale
        return locations.at(Implicit(value & ((1 << register.bit_size) - 1), register.bit_size))

    # --- Memory ---------------------------------------------------------------------------------------------------

    def cfa(self) -> Location:
        if self._cfa is None:
            raise MissingContext("frame", "the Canonical Frame Address is not known", hint="describe it as `cfa`")
        return self._cfa

    def frame_base(self) -> Location | Expression:
        if self._frame_base is None:
            message = "the frame base of the subprogram is not known"
            raise MissingContext("frame", message, hint="describe it as `frame_base`")
        return self._frame_base

    def thread_local(self, offset: Bits) -> Location:
        if self.tls is None:
            message = "the thread has no thread-local storage"
            raise MissingContext("thread", message, hint="describe it as `tls`")
        found = self.tls.get(offset) if isinstance(offset, int) else None
        if found is None:
            message = f"no address is known for the thread-local storage at {offset}"
            raise EvaluationError("memory_unavailable", message, spec="A.2.5.4.4.3 (4)")
        return locations.at(Memory(self.machine.target.default_space), 8 * found)

    # --- The caller -----------------------------------------------------------------------------------------------

    def caller(self) -> FrameInfo:
        message = "the frame that called this one is not known"
        raise MissingContext("frame", message, hint="describe the value as one of `entry_values`")

    def entry_value(self, expression: bytes) -> Value | None:
        return self.entry_values.get(expression)

    def entry_parameter(self, die: DieReference) -> Value:
        message = f"the value of the parameter at {die} at the call site is not known"
        raise MissingContext("frame", message)


def register_location(machine: DescribedMachine, register: TargetRegister, lanes: LaneSet) -> Location:
    """Where a register of the current thread is; of one that each lane has, that of the current lane."""
    lane = None
    if machine.lane_owned(register):
        lane = lanes.lane
        if lane is None:
            message = f"each lane has its own register {register.name}, and there is no current lane"
            raise MissingContext("lane", message)
    return locations.at(Register(register, lanes.wave, lane))
