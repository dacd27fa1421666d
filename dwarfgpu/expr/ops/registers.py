"""Register location description operations (A.2.5.4.4.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.expr.table import equivalent, operation

if TYPE_CHECKING:
    from dwarfgpu.expr.evaluation import Evaluation
    from dwarfgpu.expr.locations import Location


@operation(
    "DW_OP_regx",
    "-- L:location",
    "A.2.5.4.4.4 (2)",
    operands="R:uleb",
    since="3",
    needs=("thread", "frame"),
    ends_location=True,
)
def regx(ev: Evaluation, number: int) -> Location:
    """Push the location that holds register R in the current call frame."""
    return ev.frame.register(number, ev.lanes)


equivalent(
    "DW_OP_reg{N}",
    "DW_OP_regx {N}",
    "-- L:location",
    "A.2.5.4.4.4 (1)",
    needs=("thread", "frame"),
    ends_location=True,
    family=range(32),
)


@operation("DW_OP_GNU_uninit", "--", "GCC, DW_OP_GNU_uninit", since="GNU", follows_location=True)
def uninit(_ev: Evaluation) -> None:
    """Mark the variable as not initialised yet; where it lives does not change."""
