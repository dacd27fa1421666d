"""Undefined location description operations (A.2.5.4.4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.expr.locations import UNDEFINED
from dwarfgpu.expr.table import operation

if TYPE_CHECKING:
    from dwarfgpu.expr.evaluation import Evaluation
    from dwarfgpu.expr.locations import Location


@operation("DW_OP_LLVM_undefined", "-- L:location", "A.2.5.4.4.2 (1)", since="LLVM", aliases=("DW_OP_undefined",))
def undefined(_ev: Evaluation) -> Location:
    """Push the undefined location."""
    return UNDEFINED
