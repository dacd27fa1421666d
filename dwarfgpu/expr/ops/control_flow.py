"""Vendor extension prefix and control flow operations (A.2.5.4.0, A.2.5.4.2; DWARF 5 section 2.5.1.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu.errors import Unsupported
from dwarfgpu.expr import convert, locations
from dwarfgpu.expr.arithmetic import computable
from dwarfgpu.expr.context import DieReference
from dwarfgpu.expr.instruction import TAKEN
from dwarfgpu.expr.storages import Implicit
from dwarfgpu.expr.table import comparison, operation, section
from dwarfgpu.expr.types import Value
from dwarfgpu.lanes import uniform_flag

if TYPE_CHECKING:
    from dwarfgpu.expr.evaluation import Evaluation

section("Vendor extension prefix and control flow operations (A.2.5.4.0, A.2.5.4.2; DWARF 5 section 2.5.1.5).")


@operation("DW_OP_LLVM_NVIDIA_mux", "*", "LLVM Dwarf.def", "T:tail", since="NVIDIA")
def nvidia_mux(_ev: Evaluation, _tail: bytes) -> None:
    """Refuse a prefix whose operands are not documented; the rest of the expression cannot be decoded."""
    message = "the operands of DW_OP_LLVM_NVIDIA_mux are not documented"
    raise Unsupported("DW_OP_LLVM_NVIDIA_mux", message, spec="LLVM Dwarf.def")


@operation("DW_OP_nop", "--", "A.2.5.4.2 (1)", since="3", aliases="LLVM_nop")
def nop(_ev: Evaluation) -> None:
    """Do nothing."""


_SIGNED = "B, else 0; the generic type is compared as signed."
comparison("DW_OP_le", f"<= {_SIGNED}", lambda kind, x, y: b.either(kind.less(x, y), kind.equal(x, y)))
comparison("DW_OP_ge", f">= {_SIGNED}", lambda kind, x, y: b.either(kind.less(y, x), kind.equal(x, y)))
comparison("DW_OP_eq", "= B, else 0.", lambda kind, x, y: kind.equal(x, y))
comparison("DW_OP_lt", f"< {_SIGNED}", lambda kind, x, y: kind.less(x, y))
comparison("DW_OP_gt", f"> {_SIGNED}", lambda kind, x, y: kind.less(y, x))
comparison("DW_OP_ne", "differs from B, else 0.", lambda kind, x, y: kind.equal(x, y) ^ True)


@operation("DW_OP_skip", "--", "A.2.5.4.2 (3)", "D:branch")
def skip(_ev: Evaluation, _displacement: int) -> object:
    """Go D bytes forward or backward, counted from the next operation."""
    return TAKEN


@operation("DW_OP_bra", "A:value --", "A.2.5.4.2 (4)", "D:branch")
def bra(_ev: Evaluation, condition: Value, _displacement: int) -> object:
    """Go D bytes forward or backward, counted from the next operation, if A is not 0."""
    return TAKEN if uniform_flag(computable(condition).is_true(condition.bits)) else None


def _call(ev: Evaluation, reference: DieReference) -> object:
    """Perform the location of an entry on the same stack; an entry with a constant pushes where its bytes are."""
    die = ev.need("unit").die(reference)
    location = die.location
    if isinstance(location, tuple):
        if ev.rules.call_of_list == "fresh_stack" or len(location) != 1:
            ev.stack.append(convert.evaluate_location(ev, die))
            return None
        location = location[0]
    if location is not None:
        return ev.call(location, die.unit)
    if die.const_value is not None:
        stream = convert.block_stream(ev, die.const_value)
        ev.stack.append(locations.at(Implicit(stream, 8 * len(die.const_value))))
    return None


@operation("DW_OP_call2", "*", "A.2.5.4.2 (5)", "DR:u2", since="3", needs="unit")
def call2(ev: Evaluation, offset: int) -> object:
    """Call the expression of the entry at DR in the current unit, on the same stack."""
    return _call(ev, DieReference("unit", offset))


@operation("DW_OP_call4", "*", "A.2.5.4.2 (5)", "DR:u4", since="3", needs="unit")
def call4(ev: Evaluation, offset: int) -> object:
    """Call the expression of the entry at DR in the current unit, on the same stack."""
    return _call(ev, DieReference("unit", offset))


@operation("DW_OP_call_ref", "*", "A.2.5.4.2 (5)", "DR:ref", since="3", needs="unit")
def call_ref(ev: Evaluation, offset: int) -> object:
    """Call the expression of the entry at DR in .debug_info, on the same stack."""
    return _call(ev, DieReference("info", offset))
