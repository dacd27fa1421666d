"""A wave without its code, or no wave at all: what an expression is evaluated in where no program is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import MissingContext, UsageError
from dwarfgpu.expr import locations
from dwarfgpu.expr.context import Context, LoneFrame, UnitInfo, known_register
from dwarfgpu.expr.locations import Register
from dwarfgpu.lanes import LaneSet

if TYPE_CHECKING:
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.machines.machine import Machine
    from dwarfgpu.program.code.encoding_context import EncodingContext


def context_of(
    encoding: EncodingContext, machine: Machine | None, wave: int, lanes: Sequence[int], kind: Any
) -> Context:
    """Return the context of an expression in lanes of a wave; without a machine nothing has a value.

    ``kind`` is the kind that the result must have.
    """
    slots = LaneSet.of(lanes, wave) if lanes else LaneSet.one(None, wave)
    if machine is None:
        from dwarfgpu.machines.described import DescribedMachine

        machine, pc = DescribedMachine(encoding.target), None
    else:
        pc, count = machine.program_counter(wave), machine.target.lane_count
        if max(lanes, default=0) >= count:
            raise UsageError(f"a wave of {machine.target.name} has {count} lanes, no lane {max(lanes)}")
    return Context(machine.target, encoding.rules, machine, slots, frame=TopFrame(machine), pc=pc, result_kind=kind)


class TopFrame(LoneFrame):
    """A frame that has registers and nothing else."""

    __slots__ = ("machine",)
    hint = "name FILE too: a machine state by itself has registers and memory, but no call frames"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def register(self, number: int, lanes: LaneSet) -> Location:
        register = known_register(self.machine.target, self.machine.register(number), number)
        if lanes.wave is None:
            message = f"register {register.name} belongs to a wave, and there is no current thread"
            raise MissingContext("thread", message)
        return locations.at(Register(register, lanes.wave))

    def thread_local(self, offset: int, lanes: LaneSet, unit: UnitInfo | None) -> Location:
        raise MissingContext("thread", "a wave has no thread-local storage")
