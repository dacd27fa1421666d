"""A frame by itself: its registers are known, but nothing that an unwinder or a call site would tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from dwarfgpu.errors import IllFormed, MissingContext

if TYPE_CHECKING:
    from dwarfgpu.expr.context import DieReference, FrameInfo, UnitInfo
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.expr.values import Value
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.targets.target import Target, TargetRegister


class LoneFrame:
    """A `FrameInfo` whose subclasses locate registers; everything else is missing context."""

    __slots__ = ()
    why = ""
    """Why no more is known, as the end of a message."""
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
