"""The evaluator: runs an expression for every slot of a lane set at once (A.2.5.4).

It begins with one state for all slots. Where an operation needs one answer and the slots differ, the state is split;
where some of them fail, these end with their error and the others continue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu import budget
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.expr.convert import result_of
from dwarfgpu.expr.evaluation import ENDED, Evaluation
from dwarfgpu.lanes import LaneFault, LaneResults, LaneSet, lane_number, run_in_parts, shared_result

if TYPE_CHECKING:
    from dwarfgpu.expr.context import Context
    from dwarfgpu.expr.evaluation import Return, Trace
    from dwarfgpu.expr.instruction import Expression


FREE = 256
"""So many operations of an evaluation cost nothing; those beyond are paid from the budget of the question."""


def evaluate(
    expression: Expression,
    context: Context,
    trace: Trace | None = None,
    finish: Callable[[Evaluation], Any] = result_of,
) -> LaneResults[Any]:
    """Evaluate an expression in a context, for every slot of its lane set.

    ``trace`` is called after each operation with the stack before and after it. ``finish`` makes the result of the
    final state; whatever it gives has a method ``select``, as entries have.

    >>> import dwarfgpu as dg
    >>> expression = dg.parse("DW_OP_LLVM_push_lane; DW_OP_lit4; DW_OP_mul", dg.dialect("llvm-user"), dg.Format())
    >>> results = dg.evaluate(expression, dg.Context(dg.target("gfx90a"), lanes=dg.LaneSet.of([0, 63])))
    >>> [result.bits for result in results]
    [0, 252]
    """
    lane: Any = context.lanes.lane
    if (type(lane) is not int or lane < 0) and lane is not None and context.lanes.count == 1:
        context = evolve(context, lanes=LaneSet(1, context.lanes.wave, lane_number(lane)))
    whole = Evaluation(expression, context, trace, finish)
    groups = run_in_parts(context.lanes.count, whole, _finished, Evaluation.part)
    return LaneResults(context.lanes.count, groups)


def _finished(current: Evaluation) -> Any:
    """Run an evaluation to its end and return its result; every error names the operation."""
    budget.check()
    before = current.budget
    try:
        try:
            while current.run_on() is not ENDED:
                pass
            return current.finish(current)
        finally:
            spent = before - current.budget
            if spent > FREE:
                budget.spend(spent - FREE)
    except LaneFault as fault:
        error_at, expression, index, callers = (fault.error_at, current.expression, current.index, current.callers)
        fault.error_at = lambda position: _locate(error_at(position), expression, index, callers)
        raise
    except DwarfGpuError as error:
        _locate(error, current.expression, current.index, current.callers)
        raise


def result_for(results: LaneResults[Any]) -> Any:
    """Return the result of a nested evaluation; raise `Diverge` if it differs from slot to slot."""
    return shared_result(results.groups, results.count)


def _locate(error: DwarfGpuError, expression: Expression, index: int, callers: Return | None) -> DwarfGpuError:
    """Add an operation to an error, unless the error already has one."""
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
