"""The context of an evaluation (A.2.5.1): every element is explicit, and a missing one has its own error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, TypeAlias

from dwarfgpu.bits import comparable
from dwarfgpu.errors import IllFormed, MissingContext
from dwarfgpu.expr.rules import AMD, Rules
from dwarfgpu.immutable import field, frozen, immutable
from dwarfgpu.lanes import LaneSet
from dwarfgpu.machines.protocol import Backend

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.locations import Entry, Location
    from dwarfgpu.expr.types import BaseType, Value
    from dwarfgpu.targets.target import Target

    ResultKind: TypeAlias = Literal["value", "location"]
    from dwarfgpu.targets.target import TargetRegister


@frozen
class DieReference:
    """A debugging information entry: an offset in its unit, or in ``.debug_info``."""

    base: Literal["unit", "info"]
    offset: int

    def __str__(self) -> str:
        return f"{self.base}:{self.offset:#x}"


@frozen
class DieInfo:
    """The attributes of a debugging information entry that an evaluation needs."""

    unit: UnitInfo
    location: Expression | tuple[Expression, ...] | None = None
    """DW_AT_location: an operation expression, or the entries of a location list that match the program location."""
    const_value: bytes | None = None


class UnitInfo(Protocol):
    """The compilation unit of an expression. Its methods raise `DwarfGpuError`."""

    @property
    def reference_size(self) -> int:
        """The size of a reference to another section: 4 or 8 bytes by DWARF format."""

    def base_type(self, offset: int) -> BaseType:
        """Return the type of the DW_TAG_base_type at a unit offset."""

    def address(self, index: int) -> int:
        """Return an entry of ``.debug_addr``, counted from DW_AT_addr_base, relocated to where the code is loaded."""

    def relocated(self, address: int) -> int:
        """Relocate an address of the code object (operand of DW_OP_addr) to the running program."""

    def die(self, reference: DieReference) -> DieInfo:
        """Return the debugging information entry at a reference; it is ill-formed if there is no entry."""


class FrameInfo(Protocol):
    """The call frame of an expression. Registers of callers are locations, found by unwinding.

    ``lanes`` are the slots of the evaluation: a location that differs between slots has one element for each.
    """

    def register(self, number: int, lanes: LaneSet) -> Location:
        """Return where the register is for this frame (A.2.5.4.4.4 (2))."""

    def entry_register(self, number: int, lanes: LaneSet) -> Location:
        """Return the location of the value that the register had on entry (A.2.5.4.4.1 (5))."""

    def cfa(self, lanes: LaneSet) -> Location:
        """Return the Canonical Frame Address."""

    def frame_base(self, lanes: LaneSet) -> Location | Expression:
        """Return DW_AT_frame_base of the subprogram, evaluated or to be evaluated in this frame."""

    def caller(self) -> FrameInfo:
        """Return the frame that called this one, at its call site."""

    def entry_value(self, expression: bytes, lanes: LaneSet) -> Value | None:
        """Return the value of the call site parameter that matches the operand of DW_OP_entry_value, or None."""

    def entry_parameter(self, die: DieReference, lanes: LaneSet) -> Value:
        """Return the value of a formal parameter at the call site (DW_OP_GNU_parameter_ref)."""

    def thread_local(self, offset: int, lanes: LaneSet, unit: UnitInfo | None) -> Location:
        """Return the location of an offset in the thread-local storage of a unit's file (A.2.5.4.4.3 (4))."""


@frozen
class Limits:
    """Limits on what an expression may use. Each has its own error, and all are on by default.

    >>> import dwarfgpu as dg
    >>> context = dg.Context(dg.target("gfx90a"), limits=dg.Limits(stack=1))
    >>> expression = dg.parse("DW_OP_lit1; DW_OP_dup", dg.dialect("llvm-user"), dg.Format())
    >>> print(dg.evaluate(expression, context)[0])
    limit exceeded at DW_OP_dup, offset 0x1: the stack holds more than 1 entries
    """

    steps: int = 10_000
    stack: int = 4_096
    nesting: int = 48
    composite_parts: int = 65_536
    composite_depth: int = 64
    block: int = 65_536


@immutable
class Context:
    """Everything that an evaluation may depend on. An element that is ``None`` is missing.

    >>> import dwarfgpu as dg
    >>> context = dg.Context(dg.target("gfx90a"), lanes=dg.LaneSet.of(range(4)))
    >>> expression = dg.parse("DW_OP_LLVM_push_lane", dg.dialect("llvm-user"), dg.Format())
    >>> [result.bits for result in dg.evaluate(expression, context)]
    [0, 1, 2, 3]
    """

    target: Target
    rules: Rules = AMD
    backend: Backend = Backend()
    lanes: LaneSet = LaneSet(1)
    """The current thread (wave) and lane; more than one slot evaluates for all of them."""
    lane_count: int | None = None
    """DW_AT_LLVM_lanes of the subprogram; None means all lanes of the target."""
    iteration: Bits | None = field(default=None, eq=comparable)
    iteration_count: int = 1
    """DW_AT_LLVM_iterations of the subprogram."""
    frame: FrameInfo | None = None
    unit: UnitInfo | None = None
    pc: int | None = None
    object: Location | None = None
    result_kind: ResultKind | None = None
    initial_stack: Sequence[Entry] = ()
    in_cfi: bool = False
    """Whether the expression is an operand of a call frame instruction, which restricts it (A.6.4.2)."""
    limits: Limits = Limits()
    nesting: int = 0
    """The number of evaluations around this one."""
    active: tuple[tuple[Any, ...], ...] = ()
    """The evaluations around this one that began with an empty stack: expression, unit and frame of each."""


# --- A frame by itself --------------------------------------------------------------------------------------------


class LoneFrame:
    """A `FrameInfo` whose subclasses locate registers; everything else is missing context."""

    __slots__ = ()
    why = ""
    """The reason why nothing else is known, as the end of a message."""
    hint: str | None = None
    """The hint of the error: what to do."""

    def entry_register(self, number: int, lanes: LaneSet) -> Location:
        self._unknown("the value that a register had on entry")

    def cfa(self, lanes: LaneSet) -> Location:
        self._unknown("the Canonical Frame Address")

    def frame_base(self, lanes: LaneSet) -> Location:
        self._unknown("the frame base of the subprogram")

    def caller(self) -> FrameInfo:
        self._unknown("the frame that called this one")

    def entry_value(self, expression: bytes, lanes: LaneSet) -> Value | None:
        return None

    def entry_parameter(self, die: DieReference, lanes: LaneSet) -> Value:
        self._unknown("the value of a parameter at the call site")

    def thread_local(self, offset: int, lanes: LaneSet, unit: UnitInfo | None) -> Location:
        self._unknown("where the thread has its thread-local storage")

    def _unknown(self, what: str) -> NoReturn:
        raise MissingContext("frame", f"{what} is not known{self.why}", hint=self.hint)


def known_register(target: Target, register: TargetRegister | None, number: int) -> TargetRegister:
    """Return the register with a DWARF number; raise an error if the target does not have it."""
    if register is None:
        message = f"{target.name} has no register with the DWARF number {number}"
        raise IllFormed("bad_operand", message, spec="A.2.5.4.4.4 (2)")
    return register
