"""What parameters were when their function was called (DWARF 5, 3.4; A.3.4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError, MissingContext
from dwarfgpu.expr.context import DieReference
from dwarfgpu.program.source.operands import Operand
from dwarfgpu.program.types.sizes import byte_size
from dwarfgpu.program.variables.reasons import (
    MISSING,
    NOT_PASSED,
    OPTIMIZED_OUT,
    Unavailable,
    reason_of,
    unavailable,
)

if TYPE_CHECKING:
    from dwarfgpu.expr.values import Value
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.program.machines.stack import Frame as PhysicalFrame
    from dwarfgpu.program.variables.variable import Variable


def at_entry(variable: Variable, lanes: LaneSet) -> Operand:
    """The value that the call site gives a parameter. `Unavailable` where it says nothing."""
    physical = variable.frame.physical
    if physical is None:
        raise unavailable(MISSING, "what was passed is known to the caller alone, and there is none")
    if variable.frame.is_inlined:
        raise unavailable(OPTIMIZED_OUT, "the function is inlined: nothing was passed")
    try:
        found = _passed(variable, physical, lanes)
    except MissingContext as error:
        raise unavailable(NOT_PASSED, error.message, error=error) from error
    except DwarfGpuError as error:
        raise Unavailable(reason_of(error)) from error
    return Operand(variable.type, b.resized(found.bits, 8 * byte_size(variable.type)))


def _passed(variable: Variable, physical: PhysicalFrame, lanes: LaneSet) -> Value:
    """By where the parameter is when the function begins, else by the entry that the call site names."""
    function = variable.frame.function
    ranges = [] if function is None else function.ranges()
    for each in variable.expressions_at(ranges[0][0]) if ranges else ():
        found = physical.entry_value(each, lanes)
        if found is not None:
            return found
    return physical.entry_parameter(DieReference("unit", variable.die.offset), lanes)
