"""What begins with a dollar in an expression: values of the history, registers, convenience variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.program.source import syntax as s
from dwarfgpu.program.variables import registers

if TYPE_CHECKING:
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.program.variables.evaluator import Evaluator


def value(evaluator: Evaluator, node: s.RegisterName) -> Any:
    """What a name is: in this order a value of the history, a register, a convenience variable."""
    remembered = evaluator.frame.state.remembered
    found: Any = None if remembered is None else remembered.of_history(evaluator, node.name)
    if found is None:
        found = registers.named(evaluator, node.name)
    if found is None and remembered is not None:
        found = remembered.variable(evaluator, node.name)
    if found is None:
        hint = "registers are named as the target names them, such as $pc, $exec or $v4"
        message = f"there is no register ${node.name[:80]}"
        raise evaluator.error(node, message, hint=hint, kind="no_register")
    return found


def may_set(evaluator: Evaluator, name: str) -> bool:
    """Whether a name is that of a convenience variable, or may become one."""
    remembered = evaluator.frame.state.remembered
    return remembered is not None and remembered.may_set(name) and not registers.knows(evaluator, name)


def note(evaluator: Evaluator, node: s.Assignment, name: str) -> Object:
    """Note that a convenience variable is to be set, to a value of any type."""
    if node.operator:
        found = evaluator.object(s.Binary(node.operator, node.target, node.value, node.position))
    else:
        found = evaluator.object(node.value).target()
    evaluator.notes.append((name, found))
    return evaluator.object(node.target) if node.is_postfix else found
