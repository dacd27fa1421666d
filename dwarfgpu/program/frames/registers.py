"""Names with a dollar in source expressions: registers, ``$lane`` and ``$wave``, and what a debugger remembers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dwarfgpu.dwarf_constants import DW_ATE_float, DW_ATE_signed, DW_ATE_unsigned
from dwarfgpu.errors import UsageError
from dwarfgpu.expr import locations
from dwarfgpu.expr.storages import Register
from dwarfgpu.program.frames.history import NOTHING, READ_ONLY, Remembered
from dwarfgpu.program.frames.reasons import UNDEFINED_RULE, Unavailable, lost_register, unavailable
from dwarfgpu.program.language import syntax as s
from dwarfgpu.program.language.operands import ScalarOperand
from dwarfgpu.program.types import model as t
from dwarfgpu.program.values.objects import Object

if TYPE_CHECKING:
    from dwarfgpu.program.frames.evaluator import Evaluator
    from dwarfgpu.targets.target import Target, TargetRegister


_INTEGERS = {8: "signed char", 16: "short", 32: "int", 64: "long", 128: "unsigned __int128"}
_STACK = ("sp", "fp", "rsp", "rbp")
_NUMBERED = re.compile(r"(?:s|ttmp)\d+")
"""General registers; what the others of a wave hold are bits and addresses, and no signed numbers."""
_LANE = ("lane", "_lane")
_WAVE = ("wave", "_wave")


def named(evaluator: Evaluator, name: str) -> Any:
    """Return the value of ``$name``: a register as an object, or a number; None if nothing has that name."""
    frame, lanes = evaluator.frame, evaluator.lanes
    model = evaluator.compute.model
    if name in _LANE and frame.has_lanes:
        if lanes.lane is None:
            raise UsageError(
                "$lane needs a lane", hint="select a lane, on the command line with --lane", kind="no_lane"
            )
        return ScalarOperand(model.base("int"), lanes.lane)
    if name in _WAVE and frame.stack is not None:
        return ScalarOperand(model.base("int"), frame.stack.wave + 1)  # as users number waves
    register = _register(evaluator, name)
    part = part_of(frame.target, name) if register is None else None
    if part is not None:
        register = _register(evaluator, part[0])
    counter = frame.target.program_counter
    if frame.pc is not None and (name == "pc" or (register is not None and register.number == counter)):
        code = t.Function(t.Lazy.known(t.VOID), t.Lazy.known(()), is_prototyped=model.is_cplus)
        return ScalarOperand(model.pointer_to(code), frame.pc)
    if register is None:
        return None
    location = _location(evaluator, register)
    kind = _type(evaluator, register)
    if not frame.has_lanes and name in _STACK:
        kind = model.pointer_to(t.VOID)
    place = evaluator.around.located(location)
    if part is not None:
        return Object(part[1], place.moved(part[2]))
    if kind is None:
        raise unavailable(UNDEFINED_RULE, f"{register.name} has {register.bit_size} bits, and no type has that size")
    return Object(kind, place)


def _location(evaluator: Evaluator, register: TargetRegister) -> locations.Location:
    """Return where a register of the frame is; one without a DWARF number is known of the innermost frame alone."""
    lanes, activation = evaluator.lanes, evaluator.frame.activation
    info = evaluator.around.context.frame
    if info is not None and register.number >= 0:
        return info.register(register.number, lanes)
    if info is None or activation is None:
        raise UsageError("no frame is selected, so there are no registers", kind="no_frame")
    if activation.level:
        message = f"{register.name} has no DWARF number, so call frame information does not keep it for a caller"
        raise unavailable(UNDEFINED_RULE, message)
    return locations.at(Register(register, activation.thread.wave if lanes.wave is None else lanes.wave))


def counter_place(evaluator: Evaluator, name: str) -> Object | None:
    """Return the program counter as an object that can be assigned to; None if a name is of something else."""
    frame, counter = evaluator.frame, evaluator.frame.target.program_counter
    register = _register(evaluator, "pc" if name == "pc" and counter is None else name)
    if name == "pc" and counter is not None:
        register = frame.target.register(counter)
    if register is None or register.number != counter or frame.pc is None:
        return None
    model = evaluator.compute.model
    kind = model.base("unsigned long" if register.bit_size == 64 else "unsigned int")
    return Object(kind, evaluator.around.located(_location(evaluator, register)))


def knows(evaluator: Evaluator, name: str) -> bool:
    """Return whether ``$name`` is a register of the target, or a number such as ``$lane``."""
    is_part = part_of(evaluator.frame.target, name) is not None
    return is_part or name in (*_LANE, *_WAVE, "pc") or _register(evaluator, name) is not None


def explain(evaluator: Evaluator, name: str) -> Unavailable | None:
    """Return why a register has no value in a frame, if its callee did not keep it."""
    register, activation = _register(evaluator, name), evaluator.frame.activation
    if register is None or activation is None:
        return None
    return lost_register(activation, register.number, evaluator.lanes)


def _register(evaluator: Evaluator, name: str) -> TargetRegister | None:
    target = evaluator.frame.target
    machine: Any = evaluator.frame.backend
    find = getattr(machine, "register_named", None) or target.register_named
    lower = name.lower()
    register: TargetRegister | None = find(lower)
    if register is None and lower in ("sp", "fp") and target.stack_pointer is not None:
        numbers = {"sp": target.stack_pointer, "fp": 6 if target.name.startswith("x86") else None}
        number = numbers[lower]
        register = None if number is None else target.register(number)
    return register or target.unnumbered_register(lower)


def _type(evaluator: Evaluator, register: TargetRegister) -> t.Type | None:
    model = evaluator.compute.model
    known = type_of(evaluator.frame.target, register.name)
    if known is not None:
        return known
    if evaluator.frame.has_lanes and not register.lane_bits and not _NUMBERED.fullmatch(register.name):
        return model.base({32: "unsigned int", 64: "unsigned long"}.get(register.bit_size, "unsigned int"))
    unit = register.lane_bits or register.bit_size
    element: t.Type | None = None
    if unit in _INTEGERS:
        element = model.base(_INTEGERS[unit])
    elif unit % 8 == 0:
        element = t.Array(t.Lazy.known(model.base("unsigned char")), (t.Dimension(0, count=unit // 8),))
    if element is None or not register.lane_bits:
        return element
    count = register.bit_size // register.lane_bits
    return t.Array(t.Lazy.known(element), (t.Dimension(0, count=count),))


# --- Expressions with a dollar ------------------------------------------------------------------------------------


def value(evaluator: Evaluator, node: s.RegisterName) -> Any:
    """Return what a name means: in this order a value of the history, a register, a convenience variable."""
    remembered = evaluator.frame.state.remembered
    kept = None if remembered is None else remembered.of_history(node.name, evaluator)
    operand = named(evaluator, node.name) if kept is None else kept.of(evaluator.around)
    if operand is None and remembered is not None:
        operand = _variable(evaluator, remembered, node.name)
    if operand is None:
        hint = "registers are named as the target names them, such as $pc, $exec or $v4"
        message = f"there is no register ${node.name[:80]}"
        raise evaluator.error(node, message, hint=hint, kind="no_register")
    return operand


def may_set(evaluator: Evaluator, name: str) -> bool:
    """Return whether a convenience variable has or can get this name."""
    remembered = evaluator.frame.state.remembered
    return remembered is not None and remembered.may_set(name) and not knows(evaluator, name)


def note(evaluator: Evaluator, node: s.Assignment, name: str) -> Object:
    """Note that a convenience variable is to be set, to a value of any type."""
    if node.operator:
        result = evaluator.object(s.Binary(node.position, node.operator, node.target, node.value))
    else:
        result = evaluator.object(node.value).target()
    evaluator.notes.append((name, result))
    return evaluator.object(node.target) if node.is_postfix else result


def _variable(evaluator: Evaluator, remembered: Remembered, name: str) -> Object | ScalarOperand:
    """Return what ``$foo`` is, without the dollar; a variable that has not been set is void."""
    kept = remembered.variable(name, evaluator)
    if kept is not None:
        return kept.of(evaluator.around)
    selected = remembered.computed().get(name) if name in READ_ONLY else None
    if isinstance(selected, str):
        return evaluator.object(s.StringLiteral(0, selected, ""))
    if selected is not None:
        return ScalarOperand(evaluator.compute.model.base("int"), selected)
    return NOTHING.of(evaluator.around)


# --- Types of x86-64 registers ------------------------------------------------------------------------------------

# Intel 64, volume 1, figures 3-8 (EFLAGS) and 10-3 (MXCSR)
_EFLAGS = {
    "CF": 0, "": 1, "PF": 2, "AF": 4, "ZF": 6, "SF": 7, "TF": 8, "IF": 9, "DF": 10, "OF": 11, "NT": 14, "RF": 16,
    "VM": 17, "AC": 18, "VIF": 19, "VIP": 20, "ID": 21,
}  # fmt: skip
_MXCSR = {
    "IE": 0, "DE": 1, "ZE": 2, "OE": 3, "UE": 4, "PE": 5, "DAZ": 6, "IM": 7, "DM": 8, "ZM": 9, "OM": 10, "UM": 11,
    "PM": 12, "FZ": 15,
}  # fmt: skip
_VECTORS = (
    ("v8_bfloat16", "v8bf16", "bfloat16", DW_ATE_float, 2),
    ("v8_half", "v8h", "half", DW_ATE_float, 2),
    ("v4_float", "v4f", "float", DW_ATE_float, 4),
    ("v2_double", "v2d", "double", DW_ATE_float, 8),
    ("v16_int8", "v16i8", "int8_t", DW_ATE_signed, 1),
    ("v8_int16", "v8i16", "int16_t", DW_ATE_signed, 2),
    ("v4_int32", "v4i32", "int32_t", DW_ATE_signed, 4),
    ("v2_int64", "v2i64", "int64_t", DW_ATE_signed, 8),
)
"""The views of an ``xmm`` register: the member of the union, the name of its type, and its elements."""
_VECTOR_SIZE = 16

_LETTERED = re.compile(r"e([a-d]x|[sd]i|[bs]p)|([a-d]x|[sd]i|bp)|([a-d])([lh])|([sd]i|[bs]p)l|r(\d+)([dwl])")


def type_of(target: Target, name: str) -> t.Type | None:
    """Return the type of a register; None where its size determines it."""
    if target.name != "x86_64":
        return None
    if name == "rflags":
        return t.Base("i386_eflags", DW_ATE_unsigned, 4, flags=tuple(_EFLAGS.items()))
    if name == "mxcsr":
        return t.Base("i386_mxcsr", DW_ATE_unsigned, 4, flags=tuple(_MXCSR.items()))
    if name.startswith("xmm"):
        return _vector()
    if name.startswith("st"):
        return t.Base("i387_ext", DW_ATE_float, 10)
    return None


def _vector() -> t.Type:
    members = []
    for name, kind, element, encoding, size in _VECTORS:
        dimension = t.Dimension(0, count=_VECTOR_SIZE // size)
        array = t.Array(t.Lazy.known(t.Base(element, encoding, size)), (dimension,), is_vector=True)
        members.append(t.Member(name, t.Lazy.known(t.Typedef(kind, t.Lazy.known(array))), 0))
    members.append(t.Member("uint128", t.Lazy.known(t.Base("uint128_t", DW_ATE_unsigned, _VECTOR_SIZE)), 0))
    body = t.Body(members=tuple(members), order=tuple(range(len(members))))
    return t.Struct("union", "vec128", _VECTOR_SIZE, t.Lazy.known(body))


def part_of(target: Target, name: str) -> tuple[str, t.Type, int] | None:
    """Return the whole of ``eax``, ``ax``, ``ah`` or ``r8d``, the type of the part, and its first bit."""
    match = None if target.name != "x86_64" else _LETTERED.fullmatch(name)
    if match is None:
        return None
    wide, half, letter, which, byte, number, suffix = match.groups()
    size = 4 if wide else 2 if half else 1
    whole = f"r{wide or half or byte or f'{letter}x'}"
    if number:
        size, whole = {"d": 4, "w": 2, "l": 1}[suffix], f"r{number}"
        if not 8 <= int(number) <= 15:
            return None
    return whole, t.Base(f"int{8 * size}_t", DW_ATE_signed, size), 8 if which == "h" else 0
