"""The innermost frame of the waves of a machine: its registers are those of the waves themselves.

What an unwinder or a file would have to say is missing context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from dwarfgpu.errors import IllFormed, MissingContext
from dwarfgpu.expr import locations
from dwarfgpu.expr.storages import Register

if TYPE_CHECKING:
    from dwarfgpu.backends.machine import Machine
    from dwarfgpu.expr.context import DieReference, FrameInfo
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.expr.values import Value
    from dwarfgpu.lanes import LaneSet


class TopFrame:
    """A frame of which nothing but its registers is known."""

    __slots__ = ("machine",)

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def register(self, number: int, lanes: LaneSet) -> Location:
        register = self.machine.register(number)
        if register is None:
            message = f"{self.machine.target.name} has no register with the DWARF number {number}"
            raise IllFormed("bad_operand", message, spec="A.2.5.4.4.4 (2)")
        if lanes.wave is None:
            message = f"register {register.name} belongs to a wave, and there is no current thread"
            raise MissingContext("thread", message)
        return locations.at(Register(register, lanes.wave))

    def entry_register(self, number: int, lanes: LaneSet) -> Location:
        _unknown("the value that a register had on entry")

    def cfa(self, lanes: LaneSet) -> Location:
        _unknown("the Canonical Frame Address")

    def frame_base(self, lanes: LaneSet) -> Location:
        _unknown("the frame base of the subprogram")

    def caller(self) -> FrameInfo:
        _unknown("the frame that called this one")

    def entry_value(self, expression: bytes, lanes: LaneSet) -> Value | None:
        return None

    def entry_parameter(self, die: DieReference, lanes: LaneSet) -> Value:
        _unknown("the value of a parameter at the call site")

    def thread_local(self, offset: int, lanes: LaneSet) -> Location:
        message = "a wave has no thread-local storage"
        raise MissingContext("thread", message)


def _unknown(what: str) -> NoReturn:
    message = f"{what} is not known"
    raise MissingContext(
        "frame", message, hint="a snapshot by itself has registers and memory, but no call frames"
    )
