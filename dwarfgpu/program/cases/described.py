"""A compilation unit and a call frame that somebody describes, for expressions without a file and without a machine.

What is not described is missing context (A.2.5.1), and the error says which table would have held it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from attrs import frozen

from dwarfgpu.errors import EvaluationError, IllFormed, MissingContext
from dwarfgpu.expr import locations
from dwarfgpu.expr.binding import bound
from dwarfgpu.expr.context import Die
from dwarfgpu.expr.locations import UNDEFINED, Location
from dwarfgpu.expr.lone_frame import LoneFrame, known_register
from dwarfgpu.expr.storages import Implicit, Memory, Register
from dwarfgpu.targets.target import Unspecified

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dwarfgpu.backends.described import DescribedMachine
    from dwarfgpu.expr.context import DieReference, FrameInfo, UnitInfo
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.types import BaseType
    from dwarfgpu.expr.values import Value
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.targets.target import Register as TargetRegister


@frozen
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
    """A call frame: the top one of a described machine, with what is known about its caller.

    A location may leave open whose memory or register it is (``lane`` None): then it is that of the lane that asks.
    """

    __slots__ = ("_cfa", "_entry_registers", "_frame_base", "_own", "entry_values", "machine", "tls")

    def __init__(
        self,
        machine: DescribedMachine,
        *,
        cfa: Location | None = None,
        frame_base: Location | None = None,
        entry_registers: Mapping[int, Location] | None = None,
        entry_values: Mapping[bytes, Value] | None = None,
        tls: Mapping[int, int] | None = None,
    ) -> None:
        self.machine = machine
        self.entry_values = entry_values or {}
        self.tls = tls
        self._cfa = cfa
        self._frame_base = frame_base
        self._entry_registers = entry_registers
        self._own: dict[int, Location] = {}
        """Locations of registers that are the same for all lanes, once somebody has asked."""

    # --- Registers ------------------------------------------------------------------------------------------------

    def register(self, number: int, lanes: LaneSet) -> Location:
        found = self._own.get(number)
        if found is None:
            register = self._register(number)
            found = self._of_register(register, lanes)
            if not self.machine.lane_owned(register):
                self._own[number] = found
        return found

    def _of_register(self, register: TargetRegister, lanes: LaneSet) -> Location:
        return bound(locations.at(Register(register)), self.machine, lanes)

    def _register(self, number: int) -> TargetRegister:
        return known_register(self.machine.target, self.machine.register(number), number)

    def entry_register(self, number: int, lanes: LaneSet) -> Location:
        register = self._register(number)
        known = (self._entry_registers or {}).get(number)
        if known is not None:
            return bound(known, self.machine, lanes)
        rule = self.machine.target.unspecified_rule(number)
        if rule == Unspecified.SAME_VALUE:
            return self._of_register(register, lanes)
        return self._stack_pointer(register, lanes) if rule == Unspecified.CFA else UNDEFINED

    def _stack_pointer(self, register: TargetRegister, lanes: LaneSet) -> Location:
        """What the stack pointer was at the call site: by definition that is the address of the CFA."""
        place = self.cfa(lanes).single
        if place is None or type(place.storage) is not Memory or not isinstance(place.bit_offset, int):
            message = (
                f"the previous value of {register.name} is the address of the CFA, which is not in memory"
            )
            raise IllFormed("wrong_kind", message, spec="A.6.4.1")
        value = place.bit_offset // 8 // self.machine.target.stack_scale
        return locations.at(Implicit(value & ((1 << register.bit_size) - 1), register.bit_size))

    # --- Memory ---------------------------------------------------------------------------------------------------

    def cfa(self, lanes: LaneSet) -> Location:
        if self._cfa is None:
            raise MissingContext(
                "frame", "the Canonical Frame Address is not known", hint="describe it as `cfa`"
            )
        return bound(self._cfa, self.machine, lanes)

    def frame_base(self, lanes: LaneSet) -> Location:
        if self._frame_base is None:
            message = "the frame base of the subprogram is not known"
            raise MissingContext("frame", message, hint="describe it as `frame_base`")
        return bound(self._frame_base, self.machine, lanes)

    def thread_local(self, offset: int, lanes: LaneSet, unit: UnitInfo | None) -> Location:
        if self.tls is None:
            message = "the thread has no thread-local storage"
            raise MissingContext("thread", message, hint="describe it as `tls`")
        found = self.tls.get(offset)
        if found is None:
            message = f"no address is known for the thread-local storage at {offset:#x}"
            raise EvaluationError("memory_unavailable", message, spec="A.2.5.4.4.3 (4)")
        return locations.at(Memory(self.machine.target.default_space), 8 * found)

    # --- The caller -----------------------------------------------------------------------------------------------

    def caller(self) -> FrameInfo:
        if self._entry_registers is None:
            message = "the frame that called this one is not known"
            hint = "describe the value as one of `entry_values`, or the registers as `entry_registers`"
            raise MissingContext("frame", message, hint=hint)
        return CallingFrame(self)

    def entry_value(self, expression: bytes, lanes: LaneSet) -> Value | None:
        return self.entry_values.get(expression)

    def entry_parameter(self, die: DieReference, lanes: LaneSet) -> Value:
        message = f"the value of the parameter at {die} at the call site is not known"
        raise MissingContext("frame", message)


class CallingFrame(LoneFrame):
    """The frame that called a described one, of which nothing is known but the registers at the call."""

    __slots__ = ("callee",)

    def __init__(self, callee: DescribedFrame) -> None:
        self.callee = callee

    def register(self, number: int, lanes: LaneSet) -> Location:
        return self.callee.entry_register(number, lanes)

    def thread_local(self, offset: int, lanes: LaneSet, unit: UnitInfo | None) -> Location:
        return self.callee.thread_local(offset, lanes, unit)

    def _unknown(self, what: str) -> NoReturn:
        raise MissingContext("frame", "nothing but its registers is known of the frame that called this one")


# --- Whose storage a location means -------------------------------------------------------------------------------
