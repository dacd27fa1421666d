"""What parameters were when their function was called (DWARF 5, 3.4; A.3.4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.context import DieReference
from dwarfgpu.program.source.operands import Operand
from dwarfgpu.program.types.sizes import byte_size
from dwarfgpu.program.variables.reasons import MISSING, OPTIMIZED_OUT, Unavailable, reason_of, unavailable

if TYPE_CHECKING:
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.program.variables.variable import Variable


def at_entry(variable: Variable, lanes: LaneSet) -> Operand:
    """The value that the call site gives a parameter. `Unavailable` where it says nothing."""
    physical = variable.frame.physical
    if physical is None:
        raise unavailable(MISSING, "what was passed is known to the caller alone, and there is none")
    if variable.frame.is_inlined:
        raise unavailable(OPTIMIZED_OUT, "the function is inlined: nothing was passed")
    die = variable.die
    try:
        found = physical.entry_parameter(DieReference("unit", die.offset), lanes)
    except DwarfGpuError as error:
        raise Unavailable(reason_of(error)) from error
    size = 8 * byte_size(variable.type)
    bits = found.bits
    from dwarfgpu import bits as b

    return Operand(variable.type, b.resized(bits, size))
