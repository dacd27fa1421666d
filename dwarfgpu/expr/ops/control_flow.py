"""Stack operations, the vendor extension prefix, and control flow operations (A.2.5.4.0 to A.2.5.4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu.errors import IllFormed, Unsupported
from dwarfgpu.expr import convert, locations
from dwarfgpu.expr.arithmetic import computable
from dwarfgpu.expr.context import DieReference
from dwarfgpu.expr.instruction import TAKEN
from dwarfgpu.expr.locations import Entry, IncompleteComposite
from dwarfgpu.expr.storages import Implicit
from dwarfgpu.expr.table import comparison, equivalent, operation, section
from dwarfgpu.expr.types import Value
from dwarfgpu.lanes import uniform_flag

if TYPE_CHECKING:
    from dwarfgpu.expr.evaluation import Evaluation

section("Stack operations (A.2.5.4.1).")


@operation("DW_OP_dup", "A:any -- A:any A:any", "A.2.5.4.1 (1)")
def dup(_ev: Evaluation, entry: Entry) -> tuple[Entry, Entry]:
    """Duplicate the top entry."""
    return entry, entry


@operation("DW_OP_drop", "A:any --", "A.2.5.4.1 (2)")
def drop(_ev: Evaluation, _entry: Entry) -> None:
    """Discard the top entry."""


@operation("DW_OP_pick", "*", "A.2.5.4.1 (3)", "I:u1")
def pick(ev: Evaluation, index: int) -> None:
    """Push a copy of the entry with index I, counted from the top, which has index 0."""
    if index >= len(ev.stack):
        message = f"the stack has {len(ev.stack)} entries, none with index {index}"
        raise IllFormed("stack_underflow", message, spec="A.2.5.4.1 (3)")
    entry = ev.stack[-1 - index]
    if type(entry) is IncompleteComposite:
        raise IllFormed("incomplete_composite", "a composite cannot be copied before it is complete", spec="A.2.5.4.1")
    ev.stack.append(entry)


equivalent("DW_OP_over", "DW_OP_pick 1", "*", "A.2.5.4.1 (4)")


@operation("DW_OP_swap", "A:any B:any -- B:any A:any", "A.2.5.4.1 (5)")
def swap(_ev: Evaluation, second: Entry, top: Entry) -> tuple[Entry, Entry]:
    """Swap the top two entries."""
    return top, second


@operation("DW_OP_rot", "A:any B:any C:any -- C:any A:any B:any", "A.2.5.4.1 (6)")
def rot(_ev: Evaluation, third: Entry, second: Entry, top: Entry) -> tuple[Entry, Entry, Entry]:
    """Rotate the top three entries: the top becomes the third, the second the top, the third the second."""
    return top, third, second


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
