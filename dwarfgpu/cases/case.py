"""A case: one question to the evaluator, as a JSON object describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu import dialects
from dwarfgpu.cases.context import KEYS as CONTEXT_KEYS
from dwarfgpu.cases.context import CaseExpressions, context_of, narrowed
from dwarfgpu.cases.json_types import type_of
from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, EvaluationError, IllFormed, UsageError
from dwarfgpu.expr import convert
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.context import Limits
from dwarfgpu.expr.evaluation import Evaluation
from dwarfgpu.expr.location_json import JsonWriter, Outcome, ReadBits, error_json
from dwarfgpu.expr.machine import evaluate
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.encoding_context import EncodingContext
from dwarfgpu.strict_json import Node, NotACase, parse
from dwarfgpu.targets.resolve import resolve, with_spaces

if TYPE_CHECKING:
    from dwarfgpu.bits import Positions
    from dwarfgpu.expr.context import Context
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.expr.evaluation import Trace
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.locations import Entry, Location
    from dwarfgpu.expr.rules import Rules
    from dwarfgpu.expr.types import BaseType
    from dwarfgpu.targets.target import Target


KEYS = (
    *("id", "expr", "ops", "target", "dialect", "rules", "address_size", "byte_order", "offset_size"),
    *("dwarf_version", "want", "lanes", "read", "write", "stack", "limits", "context"),
)


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
class Case:
    """A question: an expression, its context, and what to do with the result."""

    id: Any
    expression: Expression
    context: Context
    """With several lanes where an answer for each of them is asked."""
    lanes: tuple[int, ...] | None = None
    """The lanes that are asked for; None asks once."""
    read: Read | None = None
    write: bytes | None = None
    stack: bool = False
    wave: str | None = None
    """The name of the wave, in a machine that has several."""
    problem: DwarfGpuError | None = None
    """Why nothing can be evaluated: an invalid expression, or an ill-formed type."""

    @property
    def dialect(self) -> Dialect:
        return self.expression.dialect

    @property
    def rules(self) -> Rules:
        return self.context.rules

    @property
    def target(self) -> Target:
        return self.context.target


def parse_case(value: object, line: int) -> Case:
    """Parse the case in a JSON value; raise `NotACase` if it is no case.

    >>> import dwarfgpu as dg
    >>> dg.parse_case({"ops": "DW_OP_lit1", "target": "gfx90a"}, 1).dialect
    Dialect(llvm-user)
    """
    try:
        return _parse(Node(value), line)
    except RecursionError:
        raise NotACase("", "it is nested too deeply") from None


def _parse(node: Node, line: int) -> Case:
    fields = node.fields((), KEYS)
    if ("expr" in fields) == ("ops" in fields):
        raise NotACase("", "exactly one of `expr` and `ops` is needed")
    expressions = CaseExpressions(_setting(fields))
    limits = _limits(fields.get("limits"))
    want: Any = fields["want"].choice(("any", "value", "location")) if "want" in fields else "any"
    has_bytes = "expr" in fields
    expression = expressions.decoded(fields["expr"]) if has_bytes else expressions.assembled(fields["ops"])
    read = _read(fields["read"], expressions) if "read" in fields else None
    context, lanes = context_of(fields.get("context"), fields.get("lanes"), expressions)
    context = evolve(context, limits=limits, result_kind=None if want == "any" else want)
    return Case(
        id=fields["id"].value if "id" in fields else line,
        expression=expression,
        context=context,
        lanes=lanes,
        read=read,
        write=fields["write"].bytes() if "write" in fields else None,
        stack=fields["stack"].boolean() if "stack" in fields else False,
        problem=expressions.problem,
    )


def _setting(fields: dict[str, Node]) -> EncodingContext:
    target = _target(fields)
    dialect_name = fields["dialect"].string() if "dialect" in fields else target.default_dialect
    rules_name = fields["rules"].choice(PRESETS) if "rules" in fields else target.default_rules
    offset_size = fields["offset_size"].unsigned() if "offset_size" in fields else 4
    if offset_size not in (4, 8):
        raise fields["offset_size"].fail(f"an offset has 4 or 8 bytes, not {offset_size}")
    version = fields["dwarf_version"].unsigned() if "dwarf_version" in fields else 5
    if not 2 <= version <= 6:
        raise fields["dwarf_version"].fail(f"there is no DWARF {version} here, only 2 to 6")
    form = Format(target.address_size, offset_size, target.byte_order, version)
    return EncodingContext(target, _dialect(fields.get("dialect"), dialect_name), form, PRESETS[rules_name])


def _target(fields: dict[str, Node]) -> Target:
    size = fields["address_size"].unsigned() if "address_size" in fields else None
    order: Any = fields["byte_order"].choice(("little", "big")) if "byte_order" in fields else None
    name = fields["target"].string() if "target" in fields else "generic"
    try:
        target = resolve(name, byte_order=order, address_size=size)
    except UsageError as error:
        key = "target" if "target" in fields else "address_size"
        raise fields[key].fail(error.message, hint=error.hint) from error
    spaces = fields["context"].fields((), CONTEXT_KEYS).get("spaces") if "context" in fields else None
    return target if spaces is None else with_spaces(target, spaces)


def _dialect(node: Node | None, name: str) -> Dialect:
    try:
        return dialects.get(name)
    except UsageError as error:
        raise NotACase("dialect" if node is None else node.path, error.message, hint=error.hint) from error


def _limits(node: Node | None) -> Limits:
    limits = Limits()
    if node is None:
        return limits
    fields = node.fields((), ("steps", "stack", "nesting"))
    return evolve(limits, **{name: field.unsigned(63) for name, field in fields.items()})


def _read(node: Node, expressions: CaseExpressions) -> Read:
    fields = node.fields((), ("bytes", "type", "offset"))
    if ("bytes" in fields) == ("type" in fields):
        raise node.fail("exactly one of `bytes` and `type` is needed")
    offset = fields["offset"].signed(64) if "offset" in fields else 0
    if "bytes" in fields:
        return Read(fields["bytes"].unsigned(63), None, offset)
    make = type_of(fields["type"], expressions.setting.target)
    with expressions.noting():  # an ill-formed type
        return Read(0, make(), offset)
    return Read()


# --- Cases in -----------------------------------------------------------------------------------------------------
# What is wrong with the *form* of a case is a `NotACase`. What is wrong with the expression that it holds,
# or what has no answer in the context that it describes, is part of the answer.


def parse_line(line: str, number: int) -> object:
    """Parse the JSON value in a line; raise `NotACase` if there is none."""
    try:
        return parse(line)
    except NotACase as error:
        raise error.in_line(number) from None


def run_case(value: object, line: int) -> dict[str, Any]:
    """Return the answer to one case. ``line`` is its number, which it has as ``id`` if it names none.

    >>> import dwarfgpu as dg
    >>> dg.run_case({"ops": "DW_OP_lit1", "target": "gfx90a"}, 1)["result"]
    {'kind': 'value', 'type': 'generic', 'value': 1}
    """
    try:
        case = parse_case(value, line)
    except NotACase as error:
        raise error.in_line(line) from None
    return answer_json(answer_case(case))


def answer_json(answer: CaseAnswer) -> dict[str, Any]:
    """Return the answer to a case as a JSON object."""
    case = answer.case
    names: dict[str, Any] = {"dialect": case.dialect.name, "rules": case.rules.name}
    if case.wave is not None:
        names["wave"] = case.wave
        lane = case.context.lanes.lane
        if isinstance(lane, int) and answer.by_lane is None:
            names["lane"] = lane
    if answer.by_lane is not None:
        lanes = {str(lane): _outcome_json(outcome, case, {}) for lane, outcome in answer.by_lane.items()}
        return {"id": case.id, **names, "lanes": lanes}
    return {"id": case.id, **_outcome_json(answer.outcome or Outcome(), case, names)}


def _outcome_json(outcome: Outcome, case: Case, names: dict[str, Any]) -> dict[str, Any]:
    """Return an outcome as JSON: ``status``, and the result or the error."""
    writer = JsonWriter(case.target.byte_order)
    try:
        if outcome.error is not None or outcome.result is None:
            raise outcome.error or AssertionError(outcome)
        result: dict[str, Any] = {"status": "ok", **names, "result": writer.entry(outcome.result)}
        if case.stack:
            result["stack"] = [writer.entry(entry) for entry in outcome.stack]
        if outcome.reading is not None:
            result["read"] = writer.reading(outcome.reading)
    except DwarfGpuError as error:  # also a result that cannot be written down
        slot: dict[str, Any] = {key: names[key] for key in ("wave", "lane") if key in names}
        return {"status": "error", **slot, "error": error_json(error)}
    return result


# --- Answering cases ----------------------------------------------------------------------------------------------


@frozen
class CaseAnswer:
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


def answer_case(case: Case, trace: Trace | None = None) -> CaseAnswer:
    """Evaluate, write and read as a case asks, in all its lanes at once; ``trace`` is called after each operation.

    >>> import dwarfgpu as dg
    >>> answer = dg.answer_case(dg.parse_case({"ops": "DW_OP_lit1", "target": "gfx90a"}, 1))
    >>> answer.outcome.result
    Value(type=BaseType(generic), bits=1)
    """
    if case.problem is not None:
        return CaseAnswer(case, Outcome(case.problem))
    outcomes = [] if case.lanes == () else _evaluated(case, trace)
    if case.write is not None or case.read is not None:
        outcomes = _accessed(case, outcomes)
    if case.lanes is None:
        return CaseAnswer(case, outcomes[0])
    return CaseAnswer(case, by_lane=dict(zip(case.lanes, outcomes, strict=True)))


def _evaluated(case: Case, trace: Trace | None) -> list[Outcome]:
    def final(ev: Evaluation) -> _Final:
        return _Final(convert.result_of(ev), tuple(ev.stack) if case.stack else ())

    try:
        results = list(evaluate(case.expression, case.context, trace, final))
    except RecursionError:
        results = [_too_deep()] * case.context.lanes.count
    return [
        Outcome(result) if isinstance(result, DwarfGpuError) else Outcome(None, result.result, result.stack)
        for result in results
    ]


def _too_deep() -> EvaluationError:
    message = "the evaluation is nested too deeply"
    return EvaluationError("limit_exceeded", message, spec="A.2.5.4", hint="lower the limit `nesting`")


# --- Access to the result -----------------------------------------------------------------------------------------


def _accessed(case: Case, outcomes: list[Outcome]) -> list[Outcome]:
    """Return the outcomes after writing to all results and then reading each."""
    context = case.context
    several = context.lanes.count > 1
    contexts = [narrowed(context, slot) if several else context for slot in range(len(outcomes))]
    if case.write is not None:
        # OPEN: the lanes share one machine, so that each then reads what all of them have written.
        outcomes = [_attempt(_write, case, *slot) for slot in zip(contexts, outcomes, strict=True)]
    if case.read is not None:
        outcomes = [_attempt(_read_location, case, *slot) for slot in zip(contexts, outcomes, strict=True)]
    return outcomes


def _attempt(access: Any, case: Case, context: Context, outcome: Outcome) -> Outcome:
    """Return an outcome after an access to its result; an error of the access replaces it."""
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
    size = 8 * len(data)
    location = convert.object_location(location, size, ev.rules, accessor.byte_order)
    accessor.write(location, size, convert.block_stream(ev, data))
    return outcome


def _read_location(case: Case, ev: Evaluation, accessor: Accessor, location: Location, outcome: Outcome) -> Outcome:
    wanted: Read = case.read  # type: ignore[assignment]
    size = 8 * wanted.byte_offset + wanted.bit_size
    location = convert.object_location(location, size, ev.rules, accessor.byte_order)
    if wanted.byte_offset:
        location = convert.moved(ev, location, 8 * wanted.byte_offset)
    read = accessor.read(location, wanted.bit_size)
    bits, undefined = int(read.bits), int(read.undefined)
    reading = ReadBits(wanted.bit_size, case.target.byte_order, bits, undefined, wanted.type)
    return Outcome(None, outcome.result, outcome.stack, reading)
