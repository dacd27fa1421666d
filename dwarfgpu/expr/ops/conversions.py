"""Type conversion operations (A.2.5.4.3.3; DWARF 5 section 2.5.1.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu.errors import IllFormed
from dwarfgpu.expr.convert import value_stream
from dwarfgpu.expr.table import operation
from dwarfgpu.expr.values import Value

if TYPE_CHECKING:
    from dwarfgpu.expr.evaluation import Evaluation
    from dwarfgpu.expr.types import BaseType


def _target(ev: Evaluation, offset: int) -> BaseType:
    return ev.base_type(offset) if offset else ev.generic


@operation(
    "DW_OP_convert",
    "A:value -- R:value",
    "DWARF 5, 2.5.1.6 (1)",
    operands="DR:uleb",
    since="5",
    needs=("unit",),
    aliases=("DW_OP_GNU_convert",),
)
def convert(ev: Evaluation, value: Value, offset: int) -> Value:
    """Convert A to the base type at DR, or to the generic type where DR is 0."""
    kind = _target(ev, offset)
    if kind == value.type:
        return value
    if value.type.arithmetic is None or kind.arithmetic is None:
        message = f"the standard defines no conversion from {value.type} to {kind}"
        raise IllFormed("unsupported_type_operation", message, spec="DWARF 5, 2.5.1.6 (1)")
    return Value(kind, value.type.arithmetic.convert_to(kind.arithmetic, value.bits))


@operation(
    "DW_OP_reinterpret",
    "A:value -- R:value",
    "DWARF 5, 2.5.1.6 (2)",
    operands="DR:uleb",
    since="5",
    needs=("unit",),
    aliases=("DW_OP_GNU_reinterpret",),
)
def reinterpret(ev: Evaluation, value: Value, offset: int) -> Value:
    """Read the bits of A as a value of the base type at DR, or of the generic type where DR is 0."""
    kind = _target(ev, offset)
    if kind.bit_size != value.type.bit_size:
        message = f"the type {value.type} has {value.type.bit_size} bits, the type {kind} has {kind.bit_size}"
        raise IllFormed("bad_size", message, spec="DWARF 5, 2.5.1.6 (2)")
    bits = value_stream(ev, value)
    if kind.byte_order not in (None, ev.target.byte_order):
        bits = b.byte_swapped(bits, kind.byte_size)
    return Value(kind, bits)
