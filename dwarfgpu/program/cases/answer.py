"""Answering cases: evaluate, write to the result, read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.errors import DwarfGpuError, EvaluationError, IllFormed
from dwarfgpu.expr import convert
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.evaluation import Evaluation
from dwarfgpu.expr.machine import evaluate
from dwarfgpu.expr.values import Value
from dwarfgpu.program.cases.context import narrowed

if TYPE_CHECKING:
    from dwarfgpu.bits import Positions
    from dwarfgpu.expr.context import Context
    from dwarfgpu.expr.evaluation import Trace
    from dwarfgpu.expr.locations import Entry, Location
    from dwarfgpu.expr.types import BaseType
    from dwarfgpu.program.cases.case import Case, Read


@frozen
class ReadBits:
    """Bits that were read from a location."""

    bit_size: int
    byte_order: str
    bits: int
    """A number whose bits stand in storage order, as `expr.access` has it."""
    undefined: int = 0
    """The bits that have no value."""
    type: BaseType | None = None

    @property
    def value(self) -> Value | None:
        """The value, where a type was asked for and every bit is known."""
        return None if self.type is None or self.undefined else Value(self.type, self.bits)

    def data(self) -> bytes:
        """The bytes, in memory order; the bits that the last one has too many are 0."""
        return in_memory_order(self.bits, self.bit_size, self.byte_order)

    def undefined_mask(self) -> bytes:
        """The bits without a value, as `data` has the bits."""
        return in_memory_order(self.undefined, self.bit_size, self.byte_order)


@frozen
class Outcome:
    """What came out for one lane, or without lanes: an error, or a result and what was asked about it."""

    error: DwarfGpuError | None = None
    result: Entry | None = None
    stack: tuple[Entry, ...] = ()
    """All entries at the end, bottom first."""
    reading: ReadBits | None = None


@frozen
class Answer:
    """The answer to a case: one outcome, or one for each lane that it asks for."""

    case: Case
    outcome: Outcome | None = None
    by_lane: dict[int, Outcome] | None = None


@frozen
class _Final:
    """The end of an evaluation, for some slots."""

    result: Entry
    stack: tuple[Entry, ...]

    def select(self, positions: Positions) -> _Final:
        return _Final(self.result.select(positions), tuple([entry.select(positions) for entry in self.stack]))


def in_memory_order(bits: int, bit_size: int, byte_order: str) -> bytes:
    """The bytes of a stream of bits; what is missing in the last one is 0."""
    size = -(-bit_size // 8)
    if byte_order == "little":
        return bits.to_bytes(size, "little")
    return (bits << (8 * size - bit_size)).to_bytes(size, "big")


def answer_case(case: Case, trace: Trace | None = None) -> Answer:
    """Evaluate the expression of a case, for all lanes that it asks for at once; write and read as it asks.

    ``trace`` is called after each operation, as `dwarfgpu.expr.machine.evaluate` does.
    """
    if case.problem is not None:
        return Answer(case, Outcome(case.problem))
    outcomes = [] if case.lanes == () else _evaluated(case, trace)
    if case.write is not None or case.read is not None:
        outcomes = _accessed(case, outcomes)
    if case.lanes is None:
        return Answer(case, outcomes[0])
    return Answer(case, by_lane=dict(zip(case.lanes, outcomes, strict=True)))


def _evaluated(case: Case, trace: Trace | None) -> list[Outcome]:
    def final(ev: Evaluation) -> _Final:
        return _Final(convert.result_of(ev), tuple(ev.stack) if case.stack else ())

    try:
        found = list(evaluate(case.expression, case.context, trace, final))
    except RecursionError:
        found = [_too_deep()] * case.context.lanes.count
    return [
        Outcome(one) if isinstance(one, DwarfGpuError) else Outcome(None, one.result, one.stack)
        for one in found
    ]


def _too_deep() -> EvaluationError:
    message = "the evaluation is nested too deeply"
    return EvaluationError("limit_exceeded", message, spec="A.2.5.4", hint="lower the limit `nesting`")


# --- Access to the result -----------------------------------------------------------------------------------------


def _accessed(case: Case, outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes after writing to all results, then reading each."""
    context = case.context
    several = context.lanes.count > 1
    contexts = [narrowed(context, slot) if several else context for slot in range(len(outcomes))]
    if case.write is not None:
        # OPEN: the lanes share one machine, so that each then reads what all of them have written.
        outcomes = [_attempt(_write, case, *slot) for slot in zip(contexts, outcomes, strict=True)]
    if case.read is not None:
        outcomes = [_attempt(_read, case, *slot) for slot in zip(contexts, outcomes, strict=True)]
    return outcomes


def _attempt(access: Any, case: Case, context: Context, outcome: Outcome) -> Outcome:
    """An outcome after an access to its result; the error of the access is the outcome then."""
    result = outcome.result
    if outcome.error is not None or result is None:
        return outcome
    ev = Evaluation(case.expression, context, None)
    try:
        location = convert.to_location(ev, result)
        if location is None:
            message = f"only a location can be accessed, the result is {convert.describe(result)}"
            raise IllFormed("wrong_kind", message, spec="A.2.5.4.4.3")
        accessor = Accessor(context.backend, ev.accessor.byte_order, 1, context.limits.block * 8)
        return access(case, ev, accessor, location, outcome)  # type: ignore[no-any-return]
    except DwarfGpuError as error:
        return Outcome(error)
    except RecursionError:
        return Outcome(_too_deep())


def _write(case: Case, ev: Evaluation, accessor: Accessor, location: Location, outcome: Outcome) -> Outcome:
    data = case.write or b""
    accessor.write(location, 8 * len(data), convert.block_stream(ev, data))
    return outcome


def _read(case: Case, ev: Evaluation, accessor: Accessor, location: Location, outcome: Outcome) -> Outcome:
    wanted: Read = case.read  # type: ignore[assignment]
    if wanted.byte_offset:
        location = convert.moved(ev, location, 8 * wanted.byte_offset)
    found = accessor.read(location, wanted.bit_size)
    bits, undefined = int(found.bits), int(found.undefined)
    reading = ReadBits(wanted.bit_size, case.target.byte_order, bits, undefined, wanted.type)
    return Outcome(None, outcome.result, outcome.stack, reading)
