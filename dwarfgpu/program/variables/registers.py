"""Registers in source expressions: ``$pc``, ``$v4``, ``$exec``, and what a lane knows of itself: ``$lane``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.program.source.operands import Operand
from dwarfgpu.program.types.model import VOID, Array, Dimension, Function, Lazy
from dwarfgpu.program.values.objects import Object
from dwarfgpu.program.variables import x86_registers
from dwarfgpu.program.variables.reasons import UNDEFINED_RULE, lost_register, unavailable

if TYPE_CHECKING:
    from dwarfgpu.program.types.model import Type
    from dwarfgpu.program.variables.evaluator import Evaluator
    from dwarfgpu.program.variables.reasons import Unavailable
    from dwarfgpu.targets.target import Register

_INTEGERS = {8: "signed char", 16: "short", 32: "int", 64: "long", 128: "unsigned __int128"}
_STACK = ("sp", "fp", "rsp", "rbp")
_LANE = ("lane", "_lane")
_WAVE = ("wave", "_wave")


def named(evaluator: Evaluator, name: str) -> Any:
    """What ``$name`` is: a register as an object, or a number; None if there is nothing of that name."""
    frame, lanes = evaluator.frame, evaluator.lanes
    model = evaluator.compute.model
    if name in _LANE and frame.has_lanes:
        if lanes.lane is None:
            raise UsageError(
                "$lane needs a lane", hint="choose lanes, on the command line with --lane", kind="no_lane"
            )
        return Operand(model.base("int"), lanes.lane)
    if name in _WAVE and frame.physical is not None:
        return Operand(model.base("int"), frame.physical.stack.wave)
    register = _register(evaluator, name)
    part = x86_registers.part_of(frame.target, name) if register is None else None
    if part is not None:
        register = _register(evaluator, part[0])
    counter = frame.target.program_counter
    if frame.pc is not None and (name == "pc" or (register is not None and register.number == counter)):
        code = Function(Lazy.known(VOID), Lazy.known(()), is_prototyped=model.is_cplus)
        return Operand(model.pointer_to(code), frame.pc)
    if register is None:
        return None
    info = evaluator.around.context.frame
    if info is None:
        raise UsageError("there is no frame whose registers are meant", kind="no_frame")
    location = info.register(register.number, lanes)
    kind = _type(evaluator, register)
    if not frame.has_lanes and name in _STACK:
        kind = model.pointer_to(VOID)
    place = evaluator.around.located(location)
    if part is not None:
        return Object(part[1], place.moved(part[2]))
    if kind is None:
        raise unavailable(UNDEFINED_RULE, f"{register.name} has {register.bit_size} bits, which no type has")
    return Object(kind, place)


def knows(evaluator: Evaluator, name: str) -> bool:
    """Whether ``$name`` is a register of the target, or something of the state."""
    is_part = x86_registers.part_of(evaluator.frame.target, name) is not None
    return is_part or name in (*_LANE, *_WAVE, "pc") or _register(evaluator, name) is not None


def explain(evaluator: Evaluator, name: str) -> Unavailable | None:
    """Why a register has no value in a frame, if that is because its callee did not keep it."""
    register, frame = _register(evaluator, name), evaluator.frame.physical
    if register is None or frame is None:
        return None
    return lost_register(frame, register.number, evaluator.lanes)


def _register(evaluator: Evaluator, name: str) -> Register | None:
    target = evaluator.frame.target
    machine: Any = evaluator.frame.backend
    find = getattr(machine, "register_named", None) or target.register_named
    lower = name.lower()
    found: Register | None = find(lower)
    if found is None and lower in ("sp", "fp") and target.stack_pointer is not None:
        numbers = {"sp": target.stack_pointer, "fp": 6 if target.name.startswith("x86") else None}
        number = numbers[lower]
        found = None if number is None else target.register(number)
    return found if found is not None and found.number >= 0 else None


def _type(evaluator: Evaluator, register: Register) -> Type | None:
    """The type of a register: a signed number of its size, of a vector register an array of them."""
    model = evaluator.compute.model
    found = x86_registers.type_of(evaluator.frame.target, register.name)
    if found is not None:
        return found
    unit = register.lane_bits or register.bit_size
    element: Type | None = None
    if unit in _INTEGERS:
        element = model.base(_INTEGERS[unit])
    elif unit % 8 == 0:
        element = Array(Lazy.known(model.base("unsigned char")), (Dimension(0, count=unit // 8),))
    if element is None or not register.lane_bits:
        return element
    count = register.bit_size // register.lane_bits
    return Array(Lazy.known(element), (Dimension(0, count=count),))
