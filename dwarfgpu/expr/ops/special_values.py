"""Special value operations (A.2.5.4.3.4): values read from registers and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu.errors import IllFormed
from dwarfgpu.expr import types
from dwarfgpu.expr.context import DieReference
from dwarfgpu.expr.convert import block_stream, evaluate_location
from dwarfgpu.expr.instruction import decode
from dwarfgpu.expr.locations import Location
from dwarfgpu.expr.storages import pointer_misuse
from dwarfgpu.expr.table import equivalent, operation
from dwarfgpu.expr.values import ImplicitPointerValue, Value

if TYPE_CHECKING:
    from dwarfgpu.expr.evaluation import Evaluation
    from dwarfgpu.expr.instruction import Step
    from dwarfgpu.expr.types import BaseType
    from dwarfgpu.targets.target import TargetRegister

equivalent(
    "DW_OP_regval_type",
    "DW_OP_regx {R}; DW_OP_deref_type * {DR}",
    "-- V:value",
    "A.2.5.4.3.4 (1)",
    operands="R:uleb DR:uleb",
    since="5",
    needs=("thread", "frame", "unit"),
    aliases=("DW_OP_GNU_regval_type",),
)


def dereference(
    ev: Evaluation, location: Location, kind: BaseType, bit_size: int | None = None
) -> Value | ImplicitPointerValue:
    """Return the value of a type at a location; of some of its low bits only, the others are 0."""
    size = kind.bit_size if bit_size is None else bit_size
    bits = ev.accessor.read_plain(location, size)
    if bits is None:
        pointer = ev.accessor.pointer_at(location, size)
        if pointer is not None:
            if ev.rules.implicit_pointer == "eager":
                raise pointer_misuse("it cannot be dereferenced")
            default = pointer.space.number == ev.target.default_space.number
            return ImplicitPointerValue(ev.generic if default else types.unsigned(pointer.bit_size), pointer)
        bits = ev.read(location, size)
    if kind.byte_order is not None and kind.byte_order != ev.target.byte_order:
        bits = b.byte_swapped(bits, kind.byte_size)
    return Value(kind, bits)


@operation("DW_OP_deref", "L:location -- V:value", "A.2.5.4.3.4 (2)")
def deref(ev: Evaluation, location: Location) -> Value | ImplicitPointerValue:
    """Push the value of the generic type at L."""
    return dereference(ev, location, ev.generic)


@operation("DW_OP_deref_size", "L:location -- V:value", "A.2.5.4.3.4 (3)", operands="S:u1")
def deref_size(ev: Evaluation, location: Location, size: int) -> Value | ImplicitPointerValue:
    """Push the S bytes at L, zero-extended to the generic type."""
    width = size * 8
    if width >= ev.generic.bit_size:
        if width > ev.generic.bit_size and ev.rules.wide_dereference == "ill_formed":
            message = f"the size {size} is larger than the generic type of {ev.generic.byte_size} bytes"
            raise IllFormed("bad_size", message, spec="DWARF 5, 2.5.1.3 (8)")
        return dereference(ev, location, ev.generic)
    if size == 0:
        raise IllFormed("bad_size", "a value of 0 bytes has no type", spec="A.2.5.4.3.4 (3)")
    return dereference(ev, location, ev.generic, width)


@operation(
    "DW_OP_deref_type",
    "L:location -- V:value",
    "A.2.5.4.3.4 (4)",
    operands="S:u1 DR:uleb",
    since="5",
    needs=("unit",),
    aliases=("DW_OP_GNU_deref_type",),
)
def deref_type(ev: Evaluation, location: Location, size: int | None, offset: int) -> Value | ImplicitPointerValue:
    """Push the value at L of the base type at DR, which has S bytes."""
    kind = ev.base_type(offset)
    if size is not None and size != kind.byte_size:
        message = f"the size {size} is not that of the type {kind}, {kind.byte_size} bytes"
        raise IllFormed("bad_size", message, spec="A.2.5.4.3.4 (4)")
    return dereference(ev, location, kind)


_XDEREF = "DW_OP_swap; DW_OP_LLVM_form_aspace_address; "

equivalent(
    "DW_OP_xderef",
    _XDEREF + "DW_OP_deref",
    "AS:integral A:integral -- V:value",
    "A.2.5.4.3.4 (5)",
    deprecated=True,
    aliases=("DW_OP_aspace_deref",),
)
equivalent(
    "DW_OP_xderef_size",
    _XDEREF + "DW_OP_deref_size {S}",
    "AS:integral A:integral -- V:value",
    "A.2.5.4.3.4 (6)",
    operands="S:u1",
    deprecated=True,
    aliases=("DW_OP_aspace_deref_size",),
)
equivalent(
    "DW_OP_xderef_type",
    _XDEREF + "DW_OP_deref_type {S} {DR}",
    "AS:integral A:integral -- V:value",
    "A.2.5.4.3.4 (7)",
    operands="S:u1 DR:uleb",
    since="5",
    needs=("unit",),
    deprecated=True,
    aliases=("DW_OP_aspace_deref_type",),
)


@operation(
    "DW_OP_entry_value",
    "-- V:value",
    "A.2.5.4.3.4 (8)",
    operands="E:expression",
    since="5",
    needs=("frame",),
    circular=True,
    deprecated=True,
    aliases=("DW_OP_GNU_entry_value",),
)
def entry_value(ev: Evaluation, block: bytes) -> Value:
    """Push the value that the expression E had on entry to the subprogram, in the calling frame."""
    frame = ev.frame
    known = frame.entry_value(block, ev.lanes)
    if known is not None:
        return known
    expression = decode(block, ev.expression.dialect, ev.expression.form, section=ev.expression.section)
    caller = frame.caller()
    last: list[Step] = []

    def remember(_ev: Evaluation, _expression: object, step: Step, *_stacks: object) -> None:
        last[:] = [step]

    changes = {"frame": caller, "object": None, "initial_stack": (), "result_kind": None}
    result = ev.evaluate(expression, remember, pc=getattr(caller, "place", None), **changes)
    if type(result) is Value:
        return result
    if type(result) is Location and last and last[0].operation.name == "DW_OP_regx":
        register = _register_of(ev, last[0].operands[-1])
        return Value(register, ev.read(result, register.bit_size))
    message = "the expression of an entry value must give a value, or end with the name of a register"
    raise IllFormed("bad_result_kind", message, spec="A.2.5.4.3.4 (8)")


def _register_of(ev: Evaluation, number: int) -> BaseType:
    """Return the base type of a register: generic if it fits, else unsigned; of a register with lanes, a vector."""
    register: TargetRegister | None = ev.target.register(number)
    if register is None or register.bit_size == ev.generic.bit_size:
        return ev.generic
    if register.lane_bits:
        return types.BaseType("unsigned", register.lane_bits, vector_size=register.bit_size // register.lane_bits)
    return types.unsigned(register.bit_size)


@operation(
    "DW_OP_GNU_parameter_ref",
    "-- V:value",
    "GCC, DW_OP_GNU_parameter_ref",
    operands="DR:u4",
    since="GNU",
    needs=("frame", "unit"),
    circular=True,
)
def parameter_ref(ev: Evaluation, offset: int) -> Value:
    """Push the value that the formal parameter at DR had on entry, as the call site describes it."""
    return ev.frame.entry_parameter(DieReference("unit", offset), ev.lanes)


@operation(
    "DW_OP_GNU_variable_value",
    "-- V:value",
    "GCC, DW_OP_GNU_variable_value",
    operands="DR:ref",
    since="GNU",
    needs=("unit",),
)
def variable_value(ev: Evaluation, offset: int) -> Value | ImplicitPointerValue:
    """Push the value of the variable at DR in .debug_info, with the generic type."""
    die = ev.need("unit").die(DieReference("info", offset))
    if die.location is not None:
        return dereference(ev, evaluate_location(ev, die), ev.generic)
    if die.const_value is not None:
        return Value(ev.generic, block_stream(ev, die.const_value) & ev.generic.mask)
    message = "the variable has neither a location nor a constant value"
    raise IllFormed("bad_operand", message, spec="GCC, DW_OP_GNU_variable_value")
