"""Literal operations (A.2.5.4.3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu.errors import IllFormed
from dwarfgpu.expr.table import operation
from dwarfgpu.expr.values import Value
from dwarfgpu.lanes import refuse

if TYPE_CHECKING:
    from dwarfgpu.bits import Bits
    from dwarfgpu.expr.evaluation import Evaluation


@operation("DW_OP_lit{N}", "-- V:value", "A.2.5.4.3.1 (1)", family=range(32))
def lit(ev: Evaluation, number: int) -> Value:
    """Push a small number with the generic type."""
    return Value(ev.generic, number & ev.generic.mask)


def constant(ev: Evaluation, number: int) -> Value:
    """Push the operand with the generic type, truncated to its size."""
    return Value(ev.generic, number & ev.generic.mask)


operation("DW_OP_const1u", "-- V:value", "A.2.5.4.3.1 (2)", operands="U:u1")(constant)
operation("DW_OP_const2u", "-- V:value", "A.2.5.4.3.1 (2)", operands="U:u2")(constant)
operation("DW_OP_const4u", "-- V:value", "A.2.5.4.3.1 (2)", operands="U:u4")(constant)
operation("DW_OP_const8u", "-- V:value", "A.2.5.4.3.1 (2)", operands="U:u8")(constant)
operation("DW_OP_const1s", "-- V:value", "A.2.5.4.3.1 (3)", operands="S:s1")(constant)
operation("DW_OP_const2s", "-- V:value", "A.2.5.4.3.1 (3)", operands="S:s2")(constant)
operation("DW_OP_const4s", "-- V:value", "A.2.5.4.3.1 (3)", operands="S:s4")(constant)
operation("DW_OP_const8s", "-- V:value", "A.2.5.4.3.1 (3)", operands="S:s8")(constant)
operation("DW_OP_constu", "-- V:value", "A.2.5.4.3.1 (4)", operands="N:uleb")(constant)
operation("DW_OP_consts", "-- V:value", "A.2.5.4.3.1 (5)", operands="N:sleb")(constant)


@operation(
    "DW_OP_constx",
    "-- V:value",
    "A.2.5.4.3.1 (6)",
    operands="I:uleb",
    since="5",
    needs=("unit",),
    aliases=("DW_OP_GNU_const_index",),
)
def constx(ev: Evaluation, index: int) -> Value:
    """Push entry I of .debug_addr with the generic type, as a plain constant."""
    return Value(ev.generic, ev.need("unit").address(index) & ev.generic.mask)


@operation(
    "DW_OP_const_type",
    "-- V:value",
    "A.2.5.4.3.1 (7)",
    operands="DR:uleb B:block1",
    since="5",
    needs=("unit",),
    aliases=("DW_OP_GNU_const_type",),
)
def const_type(ev: Evaluation, offset: int, block: bytes) -> Value:
    """Push the value of the base type at DR whose bytes are B."""
    kind = ev.base_type(offset)
    if len(block) != kind.byte_size:
        message = f"the block has {len(block)} bytes, the type {kind} has {kind.byte_size}"
        raise IllFormed("bad_size", message, spec="A.2.5.4.3.1 (7)")
    return Value(kind, int.from_bytes(block, kind.byte_order or ev.target.byte_order) & kind.mask)


def _bounded(number: Bits, count: int, what: str, attribute: str, spec: str) -> None:
    def error_at(position: int) -> IllFormed:
        message = f"the current {what} {b.select(number, position)} is not below {count}, the value of {attribute}"
        return IllFormed("bad_operand", message, spec=spec)

    if type(number) is int or number.max() >= count:  # type: ignore[union-attr]
        refuse(number >= count, error_at)


@operation(
    "DW_OP_LLVM_push_lane",
    "-- V:value",
    "A.2.5.4.3.1 (8)",
    since="LLVM",
    needs=("lane",),
    aliases=("DW_OP_push_lane",),
)
def push_lane(ev: Evaluation) -> Value:
    """Push the current lane with the generic type."""
    lane: Bits = ev.lanes.lane  # type: ignore[assignment]
    if type(lane) is not int or lane >= ev.lane_count:
        _bounded(lane, ev.lane_count, "lane", "DW_AT_LLVM_lanes", "A.2.5.4.3.1 (8)")
    return Value(ev.generic, lane)


@operation(
    "DW_OP_LLVM_push_iteration",
    "-- V:value",
    "A.2.5.4.3.1 (9)",
    since="LLVM",
    needs=("iteration",),
    aliases=("DW_OP_push_iteration",),
)
def push_iteration(ev: Evaluation) -> Value:
    """Push the current iteration with the generic type."""
    iteration: Bits = ev.need("iteration")
    _bounded(iteration, ev.context.iteration_count, "iteration", "DW_AT_LLVM_iterations", "A.2.5.4.3.1 (9)")
    return Value(ev.generic, iteration)
