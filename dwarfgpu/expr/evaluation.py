"""The evaluator: runs an expression for every slot of a lane set at once (A.2.5.4).

It begins with one state for all slots. Where an operation needs one answer and the slots differ, the state is split;
where some of them fail, these end with their error and the others continue.

The state of some slots is a stack of immutable entries and a position. An operation reads its operands from the stack,
and only when it has succeeded are they replaced by its results. So when it raises `Diverge` or `LaneFault`, the state
is as it was before the operation, and each part of the slots can go on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from dwarfgpu import bits as b
from dwarfgpu import budget
from dwarfgpu.errors import DwarfGpuError, EvaluationError, IllFormed, MissingContext
from dwarfgpu.expr import types
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.convert import check_integral, coerce, result_of
from dwarfgpu.expr.instruction import (
    END,
    MANY,
    STEP_BINARY,
    STEP_END,
    STEP_OTHER,
    STEP_PUSH,
    STEP_RAW,
    STEP_UNARY,
    TAKEN,
)
from dwarfgpu.immutable import evolve, frozen
from dwarfgpu.lanes import LaneFault, LaneResults, LaneSet, lane_number, refuse, run_in_parts, shared_result

if TYPE_CHECKING:
    from dwarfgpu.bits import Array, Bits, Positions
    from dwarfgpu.expr.context import Context, FrameInfo, UnitInfo
    from dwarfgpu.expr.instruction import Expression, Step
    from dwarfgpu.expr.locations import Entry, Location, Memory
    from dwarfgpu.expr.types import ImplicitPointerValue, Value

    Result: TypeAlias = Value | Location | ImplicitPointerValue
    """The kinds of results of an evaluation."""
    Trace: TypeAlias = Callable[["Evaluation", Expression, Step, tuple[Entry, ...], tuple[Entry, ...]], None]


FREE = 256
"""So many operations of an evaluation cost nothing; those beyond are paid from the budget of the question."""
KEEPING = (STEP_UNARY, STEP_BINARY)
"""The forms of steps after which the stack is never higher than before."""
ENDED, FAILED = -1, -2
"""In place of the step to go to: the evaluation has ended, or an operation has failed."""


@frozen
class Return:
    """The position at which evaluation continues when a called expression ends (A.2.5.4.2 (5))."""

    expression: Expression
    index: int
    unit: UnitInfo | None
    outer: Return | None
    depth: int


class Evaluation:
    """An evaluation in progress: the state of the slots that run now, and what operations may use."""

    __slots__ = (
        "accessor", "budget", "callers", "context", "expression", "finish", "frame", "generic", "index", "lane",
        "lanes", "memory", "rules", "spent", "stack", "start", "steps", "target", "trace", "unit",
    )  # fmt: skip

    def __init__(
        self,
        expression: Expression,
        context: Context,
        trace: Trace | None,
        finish: Callable[[Evaluation], Any] = result_of,
    ) -> None:
        self.context = context
        self.rules = context.rules
        self.target = context.target
        self.generic = types.generic(context.target.address_size)
        self.memory: Memory | None = None
        """That of the default address space, once it is used."""
        self.lane: Value | None = None
        """The current lane, once it is used."""
        self.trace = trace
        self.finish = finish
        """Makes the result of the final state."""
        self.lanes: LaneSet = context.lanes
        if self.lanes.lane is None and self.rules.lane_without_simt == "zero" and self.lane_count == 1:
            self.lanes = evolve(self.lanes, lane=0)
        self.accessor = Accessor(
            context.backend, context.target.byte_order, context.lanes.count, context.limits.block * 8
        )
        self.stack: list[Entry] = list(context.initial_stack)
        self.expression = expression
        self.index = 0
        self.start = 0
        """The step before which `budget` was right; the steps from there on are not in it."""
        self.steps: Any = iter(expression.code)
        """The iterator over the steps, which knows how many are left."""
        self.unit: UnitInfo | None = context.unit
        self.callers: Return | None = None
        self.frame: FrameInfo = context.frame  # type: ignore[assignment]
        """Operations that use it need it, so it is there when they run."""
        self.budget = context.limits.steps
        self.spent = 0
        """Operations that evaluations nested in this one have executed; they share its budget."""

    # --- Running --------------------------------------------------------------------------------------------------

    def run_on(self) -> int:
        """Run until control goes elsewhere, by a branch, a call or a return; return the step to go to, or `ENDED`.

        An exception leaves the state before the operation that raised it. What is counted, the position and the
        operations that were executed, is what the iterator over the steps knows, so it costs nothing while it is not
        asked for.
        """
        expression = self.expression
        start = self.start = self.index
        following = FAILED
        try:
            following = self._run_steps()
        finally:
            position = len(expression.code) - self.steps.__length_hint__()
            self.budget -= position - start
            self.start = position
            self.index = position - 1 if following < 0 else following
        return following

    def _run_steps(self) -> int:
        """Run the following steps, with those checks that are needed; return the step to go to, or `ENDED`."""
        expression = self.expression
        size = len(expression.code) - self.start
        self.steps = iter(expression.code)
        if self.start:
            self.steps.__setstate__(self.start)
        needs = self.expression.needs
        absent = frozenset([name for name in needs if self._element(name) is None]) if needs else needs
        if (
            absent
            or self.budget < size
            or self.trace is not None
            or self.context.in_cfi
            or self.rules.location_ends_expression
            or len(self.stack) + size > self.context.limits.stack  # a step adds one entry at most
        ):
            return self._run_with_checks(absent)
        return self._run_plainly()

    def _run_plainly(self) -> int:  # noqa: C901, PLR0912 (one loop, with the common forms spelled out for speed)
        """Run steps that need no checks; return the step to go to, or `ENDED`."""
        stack = self.stack
        step: Step
        for step in self.steps:
            form = step.form
            if form is STEP_PUSH:
                if step.operand is not MANY:
                    stack.append(step.run(self, step.operand))
                else:
                    stack.append(step.run(self, *step.operands))
            elif form is STEP_BINARY:
                try:
                    left = stack[-2]
                except IndexError:
                    raise self._underflow(step) from None
                right = stack[-1]
                fits_left, fits_right = step.fits
                if left.__class__ is not fits_left:
                    left = coerce(self, left, step.kinds[0], step)
                if right.__class__ is not fits_right:
                    right = coerce(self, right, step.kinds[1], step)
                if step.integral:
                    check_integral(step, (left, right))
                result = step.run(self, left, right)
                del stack[-1]
                stack[-1] = result
            elif form is STEP_UNARY:
                if not stack:
                    raise self._underflow(step)
                top = stack[-1]
                if top.__class__ is not step.fits[0]:
                    top = coerce(self, top, step.kinds[0], step)
                if step.integral:
                    check_integral(step, (top,))
                if step.operand is not MANY:
                    stack[-1] = step.run(self, top, step.operand)
                else:
                    stack[-1] = step.run(self, top, *step.operands)
            elif form is STEP_RAW:
                if step.run(self, *step.operands) is TAKEN:
                    return self.index
            else:
                following = self.run_step(step)
                if following is not None:
                    return following
        raise AssertionError(self.expression)  # the last step ends it

    def _run_with_checks(self, absent: frozenset[str]) -> int:
        """Run steps with all that there may be to check and to report; return the step to go to, or `ENDED`."""
        stack = self.stack
        trace = self.trace
        limit = self.context.limits.stack
        expression = self.expression
        ends_location = self.rules.location_ends_expression
        step: Step
        for step in self.steps:
            if self._left() < 0:
                self._exhausted(step)
            if self.context.in_cfi:
                obstacle = step.instruction.operation.cfi_obstacle
                if obstacle is not None:
                    message = f"{step.instruction.name} is not allowed in call frame information: {obstacle}"
                    raise IllFormed("not_allowed_in_cfi", message, spec="A.6.4.2")
            if not absent.isdisjoint(step.needs):
                self.need(min(absent & step.needs))
            before = tuple(stack) if trace is not None else ()
            following = self.run_step(step)
            is_taken = step.form is STEP_OTHER and following is not None
            if len(stack) > limit and not is_taken and step.form not in KEEPING and following is not ENDED:
                message = f"the stack holds more than {limit} entries"
                raise EvaluationError("limit_exceeded", message, hint="raise the limit `stack`")
            if trace is not None and step.operation is not END:
                trace(self, expression, step, before, tuple(stack))
            if ends_location and step.ends_location:
                self._check_after_location(expression.code[self.position])
            if following is not None:
                return following
        raise AssertionError(expression)  # the last step ends it

    @property
    def position(self) -> int:
        """Return the index of the step after the one that is executed."""
        return len(self.expression.code) - int(self.steps.__length_hint__())

    def _left(self) -> int:
        """Return how many operations may be executed after the one that is executed."""
        return self.budget - (self.position - self.start)

    def run_step(self, step: Step) -> int | None:
        """Run one step, of any form; return the step to go to, `ENDED`, or None if the next one follows."""
        stack = self.stack
        if step.form is STEP_RAW:
            return self.index if step.run(self, *step.operands) is TAKEN else None
        if step.form is STEP_END:
            if self.callers is None:
                return ENDED
            self.return_from_call()
            return self.index
        count = step.arity
        rest = len(stack) - count
        if rest < 0:
            raise self._underflow(step)
        entries: list[Any] = []
        if count:
            entries = [
                operand if operand.__class__ is fits else coerce(self, operand, kind, step)
                for operand, kind, fits in zip(stack[rest:], step.kinds, step.fits, strict=True)
            ]
            if step.integral:
                check_integral(step, entries)
        result = step.run(self, *entries, *step.operands)
        del stack[rest:]
        if step.outputs == 1:
            stack.append(result)
        elif step.outputs:
            stack.extend(result)
        elif result is TAKEN:
            if isinstance(step.target, int):
                return step.target
            raise step.target or AssertionError(step)
        return None

    def call(self, expression: Expression, unit: UnitInfo) -> object:
        """Continue with a called expression on the same stack (A.2.5.4.2 (5))."""
        depth = 1 if self.callers is None else self.callers.depth + 1
        self.check_nesting(depth)
        self.callers = Return(self.expression, self.position, self.unit, self.callers, depth)
        self.expression = expression
        self.index = 0
        self.unit = unit
        return TAKEN

    def return_from_call(self) -> None:
        """Continue after the call of the expression."""
        caller: Return = self.callers  # type: ignore[assignment]
        self.expression = caller.expression
        self.index = caller.index
        self.unit = caller.unit
        self.callers = caller.outer

    # --- What operations use --------------------------------------------------------------------------------------

    def need(self, element: str) -> Any:
        """Return an element of the context, or raise the error that it is missing (A.2.5.1)."""
        value = self._element(element)
        if value is None:
            name = {"frame": "call frame", "unit": "compilation unit", "pc": "program location"}.get(element, element)
            raise MissingContext(element, f"the evaluation needs a current {name}, which the context does not have")
        return value

    def _element(self, name: str) -> Any:
        if name == "lane":
            return self.lanes.lane
        if name == "thread":
            return self.lanes.wave
        if name == "unit":
            return self.unit
        return getattr(self.context, name)

    @property
    def lane_count(self) -> int:
        """The DW_AT_LLVM_lanes of the subprogram.

        OPEN: the text gives the attribute the default 1 (A.3.3.5 (4)). A context without it does not say that it is
        absent, only that it was not read, so the lanes of the target are allowed then.
        """
        count = self.context.lane_count
        return self.target.lane_count if count is None else count

    def base_type(self, offset: int) -> types.BaseType:
        """Return the type of the DW_TAG_base_type at an offset in the current unit."""
        unit: UnitInfo = self.need("unit")
        return unit.base_type(offset)

    def read(self, location: Location, bit_size: int) -> Bits:
        """Read bits that must all have a value (A.2.5.4.3.4 (4))."""
        bits = self.accessor.read_plain(location, bit_size)
        if bits is not None:
            return bits
        reading = self.accessor.read(location, bit_size)
        if type(reading.undefined) is not int or reading.undefined:
            refuse(reading.undefined != 0, _undefined_read)
        return reading.bits

    def evaluate(self, expression: Expression, trace: Trace | None = None, **changes: Any) -> Any:
        """Evaluate another expression for the slots that run now, in a context with some elements changed.

        When its result differs from slot to slot in more than data, the operation runs again in each part.
        """
        nesting = self.context.nesting + 1 + (self.callers.depth if self.callers is not None else 0)
        self.check_nesting(nesting)
        changes.setdefault("unit", self.unit)
        inner = evolve(self.context, lanes=self.lanes, nesting=nesting, **changes)
        key = (expression.instructions, inner.unit, inner.frame)
        if key in self.context.active:  # the same evaluation in the same context never comes to an end
            raise EvaluationError("cycle", "the evaluation of a location needs its own result", spec="A.2.5.4")
        limits = evolve(inner.limits, steps=max(0, self._left() - self.spent))
        inner = evolve(inner, active=(*self.context.active, key), limits=limits)
        results = evaluate(expression, inner, trace, _Nested.of)
        nested: _Nested = shared_result(results.groups, results.count)
        self.spent += limits.steps - nested.left
        return nested.result

    def check_nesting(self, depth: int) -> None:
        limit = self.context.limits.nesting
        if depth > limit:
            message = f"calls and nested evaluations are {depth} deep, the limit is {limit}"
            raise EvaluationError("limit_exceeded", message, hint="raise the limit `nesting`")

    def _check_after_location(self, following: Step) -> None:
        if following.instruction.operation.follows_location:
            return
        error = IllFormed(
            "after_location",
            "a register, implicit value or implicit pointer is a whole location; only a piece may follow",
            spec="DWARF 5, 2.6.1",
            hint="locations on the stack need the rules `amd` or `dwarf6`",
        )
        raise error.at(
            offset=self.expression.offset + following.instruction.offset, operation=following.instruction.name
        )

    def _underflow(self, step: Step) -> IllFormed:
        message = f"the operation needs {step.arity} stack entries, there are {len(self.stack)}"
        return IllFormed("stack_underflow", message, spec=step.operation.spec)

    def _exhausted(self, step: Step) -> None:
        if step.operation is END:  # reaching the end is not an operation
            return
        limit = self.context.limits.steps
        message = f"more than {limit} operations were executed"
        if self.context.nesting:
            message = "nested evaluations execute more operations than the limit allows"
        raise EvaluationError("limit_exceeded", message, hint="raise the limit `steps`")

    # --- Splitting ------------------------------------------------------------------------------------------------

    def part(self, positions: Array) -> Evaluation:
        """Return the same state for some of the slots."""
        other = Evaluation.__new__(Evaluation)
        for name in Evaluation.__slots__:
            setattr(other, name, getattr(self, name))
        chosen: Positions = positions
        other.lanes = self.lanes.select(positions)
        other.lane = None
        other.budget = self.budget + 1  # the operation that made the slots part is executed again
        if len(positions) == 1:  # a set of one holds plain ints
            chosen = int(positions[0])
        other.stack = [entry.select(chosen) for entry in self.stack]
        context = self.context
        changes: dict[str, Any] = {}
        if context.iteration is not None and type(context.iteration) is not int:
            changes["iteration"] = b.select(context.iteration, chosen)
        if context.object is not None:
            changes["object"] = context.object.select(chosen)
        other.context = evolve(context, **changes) if changes else context
        other.accessor = evolve(self.accessor, count=len(positions))
        return other


@frozen
class _Nested:
    """The result of a nested evaluation, and the number of operations it had left."""

    result: Result
    left: int

    @staticmethod
    def of(ev: Evaluation) -> _Nested:
        return _Nested(result_of(ev), ev.budget - ev.spent)

    def select(self, positions: Positions) -> _Nested:
        return _Nested(self.result.select(positions), self.left)


def _undefined_read(_position: int) -> EvaluationError:
    return EvaluationError("undefined_read", "bits without a value were read (optimized out)", spec="A.2.5.4.3.4 (4)")


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
