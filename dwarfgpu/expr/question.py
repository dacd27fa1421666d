"""A question to the evaluator: an expression, its context, and what to do with the result; with its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, EvaluationError, IllFormed
from dwarfgpu.expr import convert
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.evaluation import Evaluation, evaluate
from dwarfgpu.expr.location_json import JsonWriter, Outcome, ReadBits, error_json
from dwarfgpu.immutable import evolve, frozen

if TYPE_CHECKING:
    from dwarfgpu.bits import Positions
    from dwarfgpu.expr.context import Context
    from dwarfgpu.expr.evaluation import Trace
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.locations import Entry, Location
    from dwarfgpu.expr.types import BaseType


@frozen
class Read:
    """What to read of the location that an evaluation gives: some bytes, or a value of a type."""

    byte_size: int = 0
    type: BaseType | None = None
    byte_offset: int = 0

    @property
    def bit_size(self) -> int:
        return 8 * self.byte_size if self.type is None else self.type.bit_size


@frozen
class ExpressionQuestion:
    """An expression, its context, and what to do with the result."""

    expression: Expression
    context: Context
    """With several lanes where an answer for each of them is asked."""
    lanes: tuple[int, ...] | None = None
    """The lanes that are asked for; None asks once."""
    read: Read | None = None
    write: bytes | None = None
    stack: bool = False
    """Whether the answer has the whole final stack."""
    problem: DwarfGpuError | None = None
    """Why nothing can be evaluated: an invalid expression, or an ill-formed type."""

    def answer(self, trace: Trace | None = None) -> list[Outcome]:
        """Evaluate, write and read in all lanes at once, and return an outcome for each.

        ``trace`` is called after each operation. A problem of the question is the only outcome.
        """
        if self.problem is not None:
            return [Outcome(self.problem)]
        outcomes = [] if self.lanes == () else _evaluated(self, trace)
        if self.write is not None or self.read is not None:
            outcomes = _accessed(self, outcomes)
        return outcomes

    def json(self, outcomes: list[Outcome], names: dict[str, Any]) -> dict[str, Any]:
        """Return the answer as a JSON object; ``names`` are the wave, and the only lane."""
        known = {"dialect": self.expression.dialect.name, "rules": self.context.rules.name, **names}
        if self.lanes is None or self.problem is not None:
            return self._outcome_json(outcomes[0], known, names)
        texts = (self._outcome_json(outcome, {}, {}) for outcome in outcomes)
        return {**known, "lanes": dict(zip(map(str, self.lanes), texts, strict=True))}

    def _outcome_json(self, outcome: Outcome, known: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
        """Return an outcome as JSON: ``status``, and the result or the error."""
        writer = JsonWriter(self.context.target.byte_order)
        try:
            if outcome.error is not None or outcome.result is None:
                raise outcome.error or AssertionError(outcome)
            result: dict[str, Any] = {"status": "ok", **known, "result": writer.entry(outcome.result)}
            if self.stack:
                result["stack"] = [writer.entry(entry) for entry in outcome.stack]
            if outcome.reading is not None:
                result["read"] = writer.reading(outcome.reading)
        except DwarfGpuError as error:  # also a result that cannot be written down
            return {"status": "error", **names, "error": error_json(error)}
        return result


@frozen
class _Final:
    """The end of an evaluation, for some slots."""

    result: Entry
    stack: tuple[Entry, ...]

    def select(self, positions: Positions) -> _Final:
        return _Final(self.result.select(positions), tuple([entry.select(positions) for entry in self.stack]))


def _evaluated(asked: ExpressionQuestion, trace: Trace | None) -> list[Outcome]:
    def final(ev: Evaluation) -> _Final:
        return _Final(convert.result_of(ev), tuple(ev.stack) if asked.stack else ())

    try:
        results = list(evaluate(asked.expression, asked.context, trace, final))
    except RecursionError:
        results = [_too_deep()] * asked.context.lanes.count
    return [
        Outcome(result) if isinstance(result, DwarfGpuError) else Outcome(None, result.result, result.stack)
        for result in results
    ]


def _too_deep() -> EvaluationError:
    message = "the evaluation is nested too deeply"
    return EvaluationError("limit_exceeded", message, spec="A.2.5.4", hint="lower the limit `nesting`")


# --- Access to the result -----------------------------------------------------------------------------------------


def _accessed(asked: ExpressionQuestion, outcomes: list[Outcome]) -> list[Outcome]:
    """Return the outcomes after writing to all results and then reading each."""
    context = asked.context
    several = context.lanes.count > 1
    contexts = [_narrowed(context, slot) if several else context for slot in range(len(outcomes))]
    if asked.write is not None:
        # OPEN: the lanes share one machine, so that each then reads what all of them have written.
        outcomes = [_attempt(_write, asked, *slot) for slot in zip(contexts, outcomes, strict=True)]
    if asked.read is not None:
        outcomes = [_attempt(_read, asked, *slot) for slot in zip(contexts, outcomes, strict=True)]
    return outcomes


def _narrowed(context: Context, positions: Positions) -> Context:
    return evolve(
        context,
        lanes=context.lanes.select(positions),
        object=None if context.object is None else context.object.select(positions),
        initial_stack=tuple(entry.select(positions) for entry in context.initial_stack),
    )


def _attempt(access: Any, asked: ExpressionQuestion, context: Context, outcome: Outcome) -> Outcome:
    """Return an outcome after an access to its result; an error of the access replaces it."""
    result = outcome.result
    if outcome.error is not None or result is None:
        return outcome
    ev = Evaluation(asked.expression, context, None)
    try:
        location = convert.to_location(ev, result)
        if location is None:
            message = f"only a location can be accessed, the result is {convert.describe(result)}"
            raise IllFormed("wrong_kind", message, spec="A.2.5.4.4.3")
        accessor = Accessor(context.backend, ev.accessor.byte_order, 1, context.limits.block * 8)
        return access(asked, ev, accessor, location, outcome)  # type: ignore[no-any-return]
    except DwarfGpuError as error:
        return Outcome(error)
    except RecursionError:
        return Outcome(_too_deep())


def _write(
    asked: ExpressionQuestion, ev: Evaluation, accessor: Accessor, location: Location, outcome: Outcome
) -> Outcome:
    data = asked.write or b""
    size = 8 * len(data)
    location = convert.object_location(location, size, ev.rules, accessor.byte_order)
    accessor.write(location, size, convert.block_stream(ev, data))
    return outcome


def _read(
    asked: ExpressionQuestion, ev: Evaluation, accessor: Accessor, location: Location, outcome: Outcome
) -> Outcome:
    wanted: Read = asked.read  # type: ignore[assignment]
    size = 8 * wanted.byte_offset + wanted.bit_size
    location = convert.object_location(location, size, ev.rules, accessor.byte_order)
    if wanted.byte_offset:
        location = convert.moved(ev, location, 8 * wanted.byte_offset)
    read = accessor.read(location, wanted.bit_size)
    bits, undefined = int(read.bits), int(read.undefined)
    reading = ReadBits(wanted.bit_size, asked.context.target.byte_order, bits, undefined, wanted.type)
    return Outcome(None, outcome.result, outcome.stack, reading)
