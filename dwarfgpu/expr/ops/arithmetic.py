"""Arithmetic and logical operations (A.2.5.4.3.2; DWARF 5 section 2.5.1.4).

Both operands of an operation have the same type, and so has the result. `dwarfgpu.expr.arithmetic` computes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu.expr.arithmetic import computable, with_one_type
from dwarfgpu.expr.table import operation
from dwarfgpu.expr.values import Value

if TYPE_CHECKING:
    from dwarfgpu.expr.evaluation import Evaluation


@operation("DW_OP_abs", "A:value -- R:value", "DWARF 5, 2.5.1.4 (1)")
def abs_(_ev: Evaluation, value: Value) -> Value:
    """Push the absolute value of A; the generic type is read as signed."""
    return Value(value.type, computable(value).abs(value.bits))


@operation("DW_OP_and", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (2)")
def and_(ev: Evaluation, left: Value, right: Value) -> Value:
    """Push the bitwise and."""
    if left.type is not right.type:
        left, right = with_one_type(left, right, ev.rules)
    computable(left)
    return Value(left.type, left.bits & right.bits)


@operation("DW_OP_div", "A:value B:value -- R:value", "DWARF 5, 2.5.1.4 (3)")
def div(ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A / B; the generic type is read as signed."""
    if left.type is not right.type:
        left, right = with_one_type(left, right, ev.rules)
    return Value(left.type, computable(left).div(left.bits, right.bits))


@operation("DW_OP_minus", "A:value B:value -- R:value", "DWARF 5, 2.5.1.4 (4)")
def minus(ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A - B."""
    if left.type is not right.type:
        left, right = with_one_type(left, right, ev.rules)
    kind = left.type
    return Value(kind, (kind.arithmetic or computable(left)).sub(left.bits, right.bits))


@operation("DW_OP_mod", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (5)")
def mod(ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A modulo B; the generic type is unsigned here."""
    if left.type is not right.type:
        left, right = with_one_type(left, right, ev.rules)
    return Value(left.type, computable(left).mod(left.bits, right.bits))


@operation("DW_OP_mul", "A:value B:value -- R:value", "DWARF 5, 2.5.1.4 (6)")
def mul(ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A * B."""
    if left.type is not right.type:
        left, right = with_one_type(left, right, ev.rules)
    kind = left.type
    return Value(kind, (kind.arithmetic or computable(left)).mul(left.bits, right.bits))


@operation("DW_OP_neg", "A:value -- R:value", "DWARF 5, 2.5.1.4 (7)")
def neg(_ev: Evaluation, value: Value) -> Value:
    """Push -A."""
    return Value(value.type, computable(value).neg(value.bits))


@operation("DW_OP_not", "A:integral -- R:integral", "DWARF 5, 2.5.1.4 (8)")
def not_(_ev: Evaluation, value: Value) -> Value:
    """Push the bitwise complement."""
    return Value(value.type, b.invert(value.bits, value.type.mask))


@operation("DW_OP_or", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (9)")
def or_(ev: Evaluation, left: Value, right: Value) -> Value:
    """Push the bitwise or."""
    if left.type is not right.type:
        left, right = with_one_type(left, right, ev.rules)
    computable(left)
    return Value(left.type, left.bits | right.bits)


@operation("DW_OP_plus", "A:value B:value -- R:value", "DWARF 5, 2.5.1.4 (10)")
def plus(ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A + B."""
    if left.type is not right.type:
        left, right = with_one_type(left, right, ev.rules)
    kind = left.type
    return Value(kind, (kind.arithmetic or computable(left)).add(left.bits, right.bits))


@operation("DW_OP_plus_uconst", "A:integral -- R:integral", "DWARF 5, 2.5.1.4 (11)", operands="N:uleb")
def plus_uconst(_ev: Evaluation, value: Value, number: int) -> Value:
    """Push A + N, where N has the type of A."""
    numbers = computable(value)
    return Value(value.type, numbers.add(value.bits, number & value.type.mask))


@operation("DW_OP_shl", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (12)")
def shl(ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A shifted left by B bits."""
    if left.type is not right.type:
        left, right = with_one_type(left, right, ev.rules)
    return Value(left.type, b.shl(left.bits, right.bits, computable(left).width))


@operation("DW_OP_shr", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (13)")
def shr(ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A shifted right by B bits, filling with zeros."""
    if left.type is not right.type:
        left, right = with_one_type(left, right, ev.rules)
    return Value(left.type, b.shr(left.bits, right.bits, computable(left).width))


@operation("DW_OP_shra", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (14)")
def shra(ev: Evaluation, left: Value, right: Value) -> Value:
    """Push A shifted right by B bits, filling with its sign."""
    if left.type is not right.type:
        left, right = with_one_type(left, right, ev.rules)
    return Value(left.type, b.sar(left.bits, right.bits, computable(left).width))


@operation("DW_OP_xor", "A:integral B:integral -- R:integral", "DWARF 5, 2.5.1.4 (15)")
def xor(ev: Evaluation, left: Value, right: Value) -> Value:
    """Push the bitwise exclusive or."""
    if left.type is not right.type:
        left, right = with_one_type(left, right, ev.rules)
    computable(left)
    return Value(left.type, left.bits ^ right.bits)
