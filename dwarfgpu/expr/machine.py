"""The evaluator: runs an expression for every slot of a lane set at once (A.2.5.4).

It begins with one state for all slots. Where an operation needs one answer and the slots differ, the state is split;
where some of them fail, these end with their error and the others continue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu import bits as b
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.convert import result_of
from dwarfgpu.expr.evaluation import Evaluation, Finished
from dwarfgpu.lanes import Diverge, Group, LaneFault, LaneResults

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.expr.context import Context
    from dwarfgpu.expr.evaluation import Return, Trace
    from dwarfgpu.expr.instruction import Expression


def evaluate(
    expression: Expression,
    context: Context,
    trace: Trace | None = None,
    finish: Callable[[Evaluation], Any] = result_of,
) -> LaneResults[Any]:
    """Evaluate an expression in a context, for every slot of its lane set.

    ``trace`` is called after each operation with the stack before and after it. ``finish`` makes the result of the
    final state; whatever it gives has a method ``select``, as entries have.
    """
    groups: list[Group[Any]] = []
    work = [Evaluation(expression, context, trace)]
    while work:
        current = work.pop()
        try:
            try:
                current.run()
            except Finished:
                groups.append(Group(current.positions, finish(current), None))
        except Diverge as split:
            work.extend(current.part(positions) for positions in reversed(split.parts))
        except LaneFault as fault:
            groups.append(_fault_group(current, fault))
            rest = b.complement(fault.positions, current.lanes.count)
            if len(rest):
                work.append(current.part(rest))
        except DwarfGpuError as error:
            located(current, error)
            groups.append(Group(current.positions, None, lambda _i, error=error: error))  # type: ignore[misc]
    return LaneResults(context.lanes.count, groups)


def result_for(results: LaneResults[Any]) -> Any:
    """Return the result of a nested evaluation; raise `Diverge` if it differs from slot to slot."""
    if results.count == 1:
        group = results.groups[0]
        return results.one() if group.failed else group.result  # which holds plain ints: nothing to select
    for group in results.groups:
        if group.failed:
            positions = b.arange(results.count) if group.positions is None else group.positions
            index = {int(position): i for i, position in enumerate(positions)}
            raise LaneFault(positions, lambda at, group=group, index=index: group.outcome(index[at]))  # type: ignore[misc]
    if len(results.groups) > 1:
        raise Diverge([group.positions for group in results.groups if group.positions is not None])
    return results.groups[0].result


def _fault_group(current: Evaluation, fault: LaneFault) -> Group[Any]:
    positions = fault.positions
    expression, index, callers = current.expression, current.index, current.callers

    def error_at(index_in_group: int) -> DwarfGpuError:
        return _locate(fault.error_at(int(positions[index_in_group])), expression, index, callers)

    whole = positions if current.positions is None else current.positions[positions]
    return Group(whole, None, error_at)


def located(current: Evaluation, error: DwarfGpuError) -> DwarfGpuError:
    """Add the current operation to an error, unless the error already has one."""
    return _locate(error, current.expression, current.index, current.callers)


def _locate(
    error: DwarfGpuError, expression: Expression, index: int, callers: Return | None
) -> DwarfGpuError:
    if error.where.operation is not None or error.where.offset is not None:
        return error
    instruction = expression.code[index].instruction
    name = None if instruction.name == "(end)" else instruction.name
    error.at(section=expression.section, offset=expression.offset + instruction.offset, operation=name)
    trail = []
    while callers is not None:
        trail.append(callers.expression.code[callers.index - 1].instruction.name)
        callers = callers.outer
    error.where.trail = tuple(trail)
    return error
