"""The innermost frame of the waves of a machine: its registers are those of the waves themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import MissingContext
from dwarfgpu.expr import locations
from dwarfgpu.expr.lone_frame import LoneFrame, known_register
from dwarfgpu.expr.storages import Register

if TYPE_CHECKING:
    from dwarfgpu.backends.machine import Machine
    from dwarfgpu.expr.context import UnitInfo
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.lanes import LaneSet


class TopFrame(LoneFrame):
    """A frame of which nothing but its registers is known."""

    __slots__ = ("machine",)
    hint = "a snapshot by itself has registers and memory, but no call frames"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def register(self, number: int, lanes: LaneSet) -> Location:
        register = known_register(self.machine.target, self.machine.register(number), number)
        if lanes.wave is None:
            message = f"register {register.name} belongs to a wave, and there is no current thread"
            raise MissingContext("thread", message)
        return locations.at(Register(register, lanes.wave))

    def thread_local(self, offset: int, lanes: LaneSet, unit: UnitInfo | None) -> Location:
        message = "a wave has no thread-local storage"
        raise MissingContext("thread", message)
