"""Call sites, and what parameters were at the time of a call (DWARF 5, 3.4; A.3.4.2; before version 5 those of GNU)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu import bits as b
from dwarfgpu import dwarf_constants as dw
from dwarfgpu.dialects.dwarf5 import DWARF5, GNU
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, MissingContext
from dwarfgpu.expr.context import DieReference
from dwarfgpu.expr.instruction import decode
from dwarfgpu.program.language.operands import ScalarOperand
from dwarfgpu.program.types.sizes import byte_size
from dwarfgpu.program.variables import reasons

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.expr.values import Value
    from dwarfgpu.lanes import LaneSet
    from dwarfgpu.objfile.info.dies import Attribute, Die
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.variables.variable import Variable


DEREF = DWARF5.by_name["DW_OP_deref"].opcode
"""DW_OP_deref."""


def call_site_at(function: Die, return_address: int) -> Die | None:
    """Return the call in a function that returns to an address of the file."""
    try:
        for die, _depth in function.walk():
            if die.tag == dw.DW_TAG_subprogram and die != function:
                continue
            if die.tag == dw.DW_TAG_call_site:
                attribute = die.get("DW_AT_call_return_pc")
            elif die.tag == dw.DW_TAG_GNU_call_site:
                attribute = die.get("DW_AT_low_pc")
            else:
                continue
            if attribute is not None and attribute.address() == return_address:
                return die
    except DwarfGpuError as error:
        function.unit.dwarf.note(error)
    return None


def is_call_of(site: Die, callee: Die | None) -> bool:
    """Return whether a call site may be the one that called a function: it does not name another function.

    A call that names another function reached this one through tail calls, and its parameters are those of the other.
    """
    named = site.get("DW_AT_call_origin") or site.get("DW_AT_abstract_origin")
    if named is None or callee is None:
        return True
    target = named.reference()
    if target.tag == dw.DW_TAG_entry_point:
        target = next(iter(target.ancestors()), target)
    return bool({*target.origins()} & {*callee.origins()}) or _names(target) == _names(callee)


def _names(die: Die) -> tuple[str | None, str | None]:
    return die.name, die.linkage_name


def parameters(site: Die) -> Iterator[Die]:
    """Yield the parameters that a call site describes."""
    return (
        die for die in site.children() if die.tag in (dw.DW_TAG_call_site_parameter, dw.DW_TAG_GNU_call_site_parameter)
    )


def value_of(parameter: Die) -> Attribute | None:
    """Return the attribute with the value of a parameter at the call."""
    return parameter.get("DW_AT_call_value") or parameter.get("DW_AT_GNU_call_site_value")


def data_of(parameter: Die) -> tuple[Attribute | None, Attribute | None]:
    """Return the attributes with the place and the value of what a parameter refers to."""
    value = parameter.get("DW_AT_call_data_value") or parameter.get("DW_AT_GNU_call_site_data_value")
    return parameter.get("DW_AT_call_data_location"), value


def parameter_at(site: Die, expression: bytes) -> Die | None:
    """Return the parameter that was where the operand of a DW_OP_entry_value says.

    The operand is the location of the parameter, or the contents of it: the location, then DW_OP_deref. A register is
    the same however it is written: DW_OP_reg17, or DW_OP_regval_type of it.
    """
    register = _register(expression)
    for parameter in parameters(site):
        location = parameter.get("DW_AT_location")
        if location is not None and location.value_class in ("block", "exprloc"):
            data = location.block().data
            if expression in (data, data + DEREF) or (register is not None and register == _register(data)):
                return parameter
    return None


def _register(expression: bytes) -> int | None:
    """Return the register that an expression is: its location, or its contents; None if it is anything else."""
    decoded = decode(expression, GNU, Format())
    if decoded.fault is not None or len(decoded.instructions) != 1:
        return None
    (instruction,) = decoded.instructions
    name = instruction.operation.name
    if name in ("DW_OP_regx", "DW_OP_regval_type", "DW_OP_GNU_regval_type"):
        return int(instruction.operands[0])
    return int(name.removeprefix("DW_OP_reg")) if name.startswith("DW_OP_reg") else None


def parameter_of(site: Die, formal: Die) -> Die | None:
    """Return the call site's entry for a formal parameter."""
    wanted = {*formal.origins()}
    for parameter in parameters(site):
        named = parameter.get("DW_AT_call_parameter") or parameter.get("DW_AT_abstract_origin")
        if named is not None and wanted & {*named.reference().origins()}:
            return parameter
    return None


# --- Tail calls ---------------------------------------------------------------------------------------------------

MAX_TAIL_CALLS = 64
"""The limit of functions that are followed; beyond it, the calls are assumed to be able to lead back."""


def may_call_itself(function: Die) -> bool:
    """Return whether a function may have been called again by a tail call of its own, or of those it calls so.

    Then the call site in the caller's frame says nothing about what it was called with: the frame is the same.
    """
    first = {*function.origins()}
    waiting = [function]
    seen: set[Die] = set()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for target in _tail_calls(current):
            if target is None or first & {*target.origins()} or len(seen) > MAX_TAIL_CALLS:
                return True
            waiting.append(_with_code(target))
    return False


def _tail_calls(function: Die) -> Iterator[Die | None]:
    """Yield the functions that a function calls last, so that its frame is gone by then; None for unnamed ones."""
    for die, _depth in function.walk():
        if die.tag not in (dw.DW_TAG_call_site, dw.DW_TAG_GNU_call_site):
            continue
        flag = die.get("DW_AT_call_tail_call") or die.get("DW_AT_GNU_tail_call")
        if flag is None or not flag.value:
            continue
        named = die.get("DW_AT_call_origin") or die.get("DW_AT_abstract_origin")
        yield None if named is None else named.reference()


def _with_code(die: Die) -> Die:
    """Return the entry of a function that has its code and its calls."""
    if die.ranges() or die.name is None:
        return die
    wanted = {*die.origins()}
    for entry in die.unit.dwarf.index.find(die.linkage_name or die.name):
        if entry.kind == "function" and wanted & {*entry.die.origins()} and entry.die.ranges():
            return entry.die
    return die


# --- Parameters at the call of their function ---------------------------------------------------------------------


def at_entry(frame: Frame, variable: Variable, lanes: LaneSet) -> ScalarOperand:
    """Return the value that the call site gives a parameter of a frame; raise `Unavailable` where it says nothing."""
    if frame.activation is None:
        raise reasons.unavailable(
            reasons.MISSING, "what was passed is known to the caller alone, and there is no caller"
        )
    if frame.is_inlined:
        raise reasons.unavailable(reasons.OPTIMIZED_OUT, "the function is inlined: nothing was passed")
    try:
        value = _passed(frame, variable, lanes)
    except MissingContext as error:
        raise reasons.unavailable(reasons.NOT_PASSED, error.message, error=error) from error
    except DwarfGpuError as error:
        raise reasons.Unavailable(reasons.reason_of(error)) from error
    return ScalarOperand(variable.type, b.resized(value.bits, 8 * byte_size(variable.type)))


def _passed(frame: Frame, variable: Variable, lanes: LaneSet) -> Value:
    """Find what was passed by where the parameter is when the function begins, else by the entry at the call site."""
    function = frame.function
    ranges = [] if function is None else function.ranges()
    for expression in variable.expressions_at(ranges[0][0]) if ranges else ():
        value = frame.entry_value(expression, lanes)
        if value is not None:
            return value
    return frame.entry_parameter(DieReference("unit", variable.die.offset), lanes)
