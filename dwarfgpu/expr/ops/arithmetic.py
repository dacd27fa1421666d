"""Arithmetic and logical operations (A.2.5.4.3.2; DWARF 5 section 2.5.1.4).

Both operands of an operation have the same type, and so has the result. `dwarfgpu.expr.arithmetic` computes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu.expr.arithmetic import computable
from dwarfgpu.expr.table import operation
from dwarfgpu.expr.values import Value

if TYPE_CHECKING:
    from dwarfgpu.expr.evaluation import Evaluation


@operation("DW_OP_abs", "A:value -- R:value", "DWARF 5, 2.5.1.4 (1)")
def abs_(_ev: Evaluation, value: Value) -> Value:
    """Push the absolute value of A; the generic type is read as signed."""
    return Value(value.type, computable(value, value).abs(value.bits))


@operation("DW_OP_and", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (2)")
def and_(_ev: Evaluation, left: Value, right: Value) -> Value:
    """Push the bitwise and."""
    computable(left, right)
    return Value(left.type, left.bits & right.bits)


@operation("DW_OP_div", "A:value B:value -- R:value", "DWARF 5, 2.5.1.4 (3)")
def div(_ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A / B; the generic type is read as signed."""
    return Value(left.type, computable(left, right).div(left.bits, right.bits))


@operation("DW_OP_minus", "A:value B:value -- R:value", "DWARF 5, 2.5.1.4 (4)")
def minus(_ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A - B."""
    return Value(left.type, computable(left, right).sub(left.bits, right.bits))


@operation("DW_OP_mod", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (5)")
def mod(_ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A modulo B; the generic type is unsigned here."""
    return Value(left.type, computable(left, right).mod(left.bits, right.bits))


@operation("DW_OP_mul", "A:value B:value -- R:value", "DWARF 5, 2.5.1.4 (6)")
def mul(_ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A * B."""
    return Value(left.type, computable(left, right).mul(left.bits, right.bits))


@operation("DW_OP_neg", "A:value -- R:value", "DWARF 5, 2.5.1.4 (7)")
def neg(_ev: Evaluation, value: Value) -> Value:
    """Push -A."""
    return Value(value.type, computable(value, value).neg(value.bits))


@operation("DW_OP_not", "A:integral -- R:integral", "DWARF 5, 2.5.1.4 (8)")
def not_(_ev: Evaluation, value: Value) -> Value:
    """Push the bitwise complement."""
    return Value(value.type, b.invert(value.bits, value.type.mask))


@operation("DW_OP_or", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (9)")
def or_(_ev: Evaluation, left: Value, right: Value) -> Value:
    """Push the bitwise or."""
    computable(left, right)
    return Value(left.type, left.bits | right.bits)


@operation("DW_OP_plus", "A:value B:value -- R:value", "DWARF 5, 2.5.1.4 (10)")
def plus(_ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A + B."""
    return Value(left.type, computable(left, right).add(left.bits, right.bits))


@operation("DW_OP_plus_uconst", "A:integral -- R:integral", "DWARF 5, 2.5.1.4 (11)", operands="N:uleb")
def plus_uconst(_ev: Evaluation, value: Value, number: int) -> Value:
    """Push A + N, where N has the type of A."""
    numbers = computable(value, value)
    return Value(value.type, numbers.add(value.bits, number & value.type.mask))


@operation("DW_OP_shl", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (12)")
def shl(_ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A shifted left by B bits."""
    return Value(left.type, b.shl(left.bits, right.bits, computable(left, right).width))


@operation("DW_OP_shr", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (13)")
def shr(_ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A shifted right by B bits, filling with zeros."""
    return Value(left.type, b.shr(left.bits, right.bits, computable(left, right).width))


@operation("DW_OP_shra", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (14)")
def shra(_ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A shifted right by B bits, filling with its sign."""
    return Value(left.type, b.sar(left.bits, right.bits, computable(left, right).width))


@operation("DW_OP_xor", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (15)")
def xor(_ev: Evaluation, left: Value, right: Value) -> Value:
    """Push the bitwise exclusive or."""
    computable(left, right)
    return Value(left.type, left.bits ^ right.bits)
