"""What a place of a program can see, whether anything executes there or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.dwarf_constants import DW_AT_frame_base, DW_TAG_subprogram
from dwarfgpu.program.variables.frame import frames_at

if TYPE_CHECKING:
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.program.variables.frame import Frame
    from dwarfgpu.program.variables.variable import Variable


def scope_at(frame: Frame, address: int) -> tuple[Variable, ...]:
    """The variables of the function at an address and of the blocks that hold it, the inner ones first."""
    state = frame.state
    code = state.loaded.at(address)
    if code is None:
        return ()
    return frames_at(state, code, address)[0].variables()


def frame_base_of(variable: Variable) -> Expression | None:
    """The frame base of the function that a variable belongs to, where it is one expression."""
    for owner in variable.die.ancestors():
        if owner.tag == DW_TAG_subprogram:
            base = owner.find_number(DW_AT_frame_base)
            if base is None or base.value_class == "loclist":
                return None
            found = variable.frame.unit_info(base.die.unit, variable.code).expressions(base)
            return None if isinstance(found, tuple) else found
    return None
