"""Implicit location description operations (A.2.5.4.4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import EvaluationError, IllFormed
from dwarfgpu.expr import convert, locations
from dwarfgpu.expr.context import DieReference
from dwarfgpu.expr.ops.memory import space_of
from dwarfgpu.expr.storages import Implicit, ImplicitPointer
from dwarfgpu.expr.table import operation
from dwarfgpu.expr.values import ImplicitPointerValue, Value

if TYPE_CHECKING:
    from dwarfgpu.expr.evaluation import Evaluation
    from dwarfgpu.expr.locations import Entry, Location
    from dwarfgpu.targets.target import AddressSpace


@operation(
    "DW_OP_implicit_value",
    "-- L:location",
    "A.2.5.4.4.5 (1)",
    operands="V:block",
    since="4",
    ends_location=True,
)
def implicit_value(ev: Evaluation, block: bytes) -> Location:
    """Push an implicit location that holds the bytes V."""
    limit = ev.context.limits.block
    if len(block) > limit:
        message = f"an implicit value of {len(block)} bytes is larger than the limit of {limit}"
        raise EvaluationError("limit_exceeded", message, hint="raise the limit `block`")
    return locations.at(Implicit(convert.block_stream(ev, block), 8 * len(block)))


@operation("DW_OP_stack_value", "*", "A.2.5.4.4.5 (2)", since="4", ends_location=True)
def stack_value(ev: Evaluation) -> None:
    """Push an implicit location that holds the value popped; of an implicit pointer value, the pointer's location."""
    if not ev.stack:
        raise IllFormed("stack_underflow", "the stack is empty, a value is needed", spec="A.2.5.4.4.5 (2)")
    entry: Entry = ev.stack[-1]
    if type(entry) is ImplicitPointerValue:
        ev.stack[-1] = locations.at(entry.pointer)
        return
    value = convert.to_value(ev, entry)
    if value is None:
        kind = "incomplete_composite" if type(entry) is locations.IncompleteComposite else "wrong_kind"
        convert.refuse_entry(
            ev,
            entry,
            lambda description: IllFormed(kind, f"a value is needed, found {description}", spec="A.2.5.4.4.5 (2)"),
        )
    ev.stack[-1] = convert.implicit(ev, value)


def _pointer(ev: Evaluation, offset: int, displacement: int, space: AddressSpace) -> Location:
    pointer = ImplicitPointer(DieReference("info", offset), displacement, space, ev.unit, space.address_bits)
    if ev.rules.implicit_pointer == "eager":
        convert.pointed_to(ev, pointer)
    return locations.at(pointer)


@operation(
    "DW_OP_implicit_pointer",
    "-- L:location",
    "A.2.5.4.4.5 (3)",
    operands="DR:ref B:sleb",
    since="5",
    needs=("unit",),
    ends_location=True,
    aliases=("DW_OP_GNU_implicit_pointer",),
)
def implicit_pointer(ev: Evaluation, offset: int, displacement: int) -> Location:
    """Push a pointer that was optimised away, to B bytes into the object of the entry at DR in .debug_info."""
    return _pointer(ev, offset, displacement, ev.target.default_space)


@operation(
    "DW_OP_LLVM_aspace_implicit_pointer",
    "AS:integral -- L:location",
    "A.2.5.4.4.5 (4)",
    operands="DR:ref B:sleb",
    since="LLVM",
    needs=("unit",),
    aliases=("DW_OP_aspace_implicit_pointer",),
)
def aspace_implicit_pointer(ev: Evaluation, identifier: Value, offset: int, displacement: int) -> Location:
    """Push a pointer into the address space AS that was optimised away, as DW_OP_implicit_pointer does."""
    return _pointer(ev, offset, displacement, space_of(ev, identifier, "A.2.5.4.4.5 (4)"))
