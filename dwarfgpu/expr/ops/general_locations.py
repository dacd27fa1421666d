"""General location description operations (A.2.5.4.4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu.expr.convert import moved
from dwarfgpu.expr.locations import union
from dwarfgpu.expr.table import equivalent, operation

if TYPE_CHECKING:
    from dwarfgpu.expr.evaluation import Evaluation
    from dwarfgpu.expr.locations import Location
    from dwarfgpu.expr.values import Value


@operation(
    "DW_OP_LLVM_offset",
    "L:location B:integral -- L:location",
    "A.2.5.4.4.1 (1)",
    since="LLVM",
    aliases=("DW_OP_offset",),
)
def offset(ev: Evaluation, location: Location, displacement: Value) -> Location:
    """Move every place of L by B bytes."""
    return moved(ev, location, b.scaled(displacement.displacement(), 8))


equivalent(
    "DW_OP_LLVM_offset_uconst",
    "DW_OP_constu {B}; DW_OP_LLVM_offset",
    "L:location -- L:location",
    "A.2.5.4.4.1 (2)",
    operands="B:uleb",
    since="LLVM",
    aliases=("DW_OP_LLVM_offset_constu", "DW_OP_offset_uconst"),
)


@operation(
    "DW_OP_LLVM_bit_offset",
    "L:location B:integral -- L:location",
    "A.2.5.4.4.1 (3)",
    since="LLVM",
    aliases=("DW_OP_bit_offset",),
)
def bit_offset(ev: Evaluation, location: Location, displacement: Value) -> Location:
    """Move every place of L by B bits."""
    return moved(ev, location, b.scaled(displacement.displacement(), 1), "A.2.5.4.4.1 (3)")


@operation(
    "DW_OP_push_object_address",
    "-- L:location",
    "A.2.5.4.4.1 (4)",
    since="3",
    needs=("object",),
    aliases=("DW_OP_push_object_location",),
)
def push_object_address(ev: Evaluation) -> Location:
    """Push the location of the current object."""
    location: Location = ev.need("object")
    return location


@operation(
    "DW_OP_LLVM_call_frame_entry_reg",
    "-- L:location",
    "A.2.5.4.4.1 (5)",
    operands="R:uleb",
    since="LLVM",
    needs=("frame",),
    aliases=("DW_OP_call_frame_entry_reg",),
)
def call_frame_entry_reg(ev: Evaluation, number: int) -> Location:
    """Push the location that holds the value register R had on entry to the subprogram."""
    return ev.frame.entry_register(number, ev.lanes)


@operation("DW_OP_multiloc", "A:location B:location -- L:location", "DWARF 6 (260227.1)", since="6")
def multiloc(ev: Evaluation, first: Location, second: Location) -> Location:
    """Push a location that is in the places of both A and B.

    OPEN: the proposal makes a storage of its own, with an offset of 0, and lets a consumer flatten it. Here it is flat:
    an offset moves each place within its own storage.
    """
    return union((first, second), ev.lanes.count)
