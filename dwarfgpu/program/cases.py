"""Cases: a question to the evaluator as one JSON object, and the answer as an object of the library.

What is wrong with the *form* of a case is a `NotACase`. What is wrong with the expression that it holds, or has no answer
in the context that it describes, is part of the answer. `dwarfgpu.render.cases` writes answers as JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import DwarfGpuError, EvaluationError, IllFormed, UsageError
from dwarfgpu.expr import convert
from dwarfgpu.expr.access import Accessor
from dwarfgpu.expr.context import Limits
from dwarfgpu.expr.locations import Location
from dwarfgpu.expr.machine import Evaluation, evaluate
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.expr.values import Value
from dwarfgpu.program.case_context import ExpressionReader, Setting, context_of, narrowed
from dwarfgpu.program.json_node import Node, NotACase
from dwarfgpu.program.json_types import DescribedType, type_of
from dwarfgpu.records import record, replace

if TYPE_CHECKING:
    from dwarfgpu.expr.context import Context
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.expr.instruction import Expression
    from dwarfgpu.expr.locations import Entry
    from dwarfgpu.expr.rules import Rules
    from dwarfgpu.expr.types import BaseType
    from dwarfgpu.targets.target import Target

KEYS = (
    *("id", "expr", "ops", "target", "dialect", "rules", "address_size", "byte_order", "offset_size", "dwarf_version"),
    *("want", "lanes", "read", "write", "stack", "limits", "context"),
)


# --- What is asked, and what is answered --------------------------------------------------------------------------


@record
class Read:
    """What to read of the location that an evaluation gives: some bytes, or a value of a type."""

    byte_size: int | None
    type: BaseType | None
    byte_offset: int = 0


@record
class Case:
    """A question: an expression, its context, and what to do with the result."""

    id: Any
    expression: Expression
    context: Context
    """With more than one lane where an answer for each is asked."""
    lanes: tuple[int, ...] | None = None
    """The lanes that are asked for; None asks once."""
    read: Read | None = None
    write: bytes | None = None
    stack: bool = False
    problem: DwarfGpuError | None = None
    """Why nothing can be evaluated: an expression that is not one, or a type that is none."""

    @property
    def dialect(self) -> Dialect:
        return self.expression.dialect

    @property
    def rules(self) -> Rules:
        return self.context.rules


@record
class ReadBits:
    """Bits that were read from a location, in memory order."""

    bit_size: int
    byte_order: str
    bits: int
    """A number whose bits stand in storage order, as `expr.access` has it."""
    undefined: int
    """The bits that have no value."""
    type: BaseType | None = None

    @property
    def value(self) -> Value | None:
        """The value, where a type was asked for and every bit is known."""
        return None if self.type is None or self.undefined else Value(self.type, self.bits)

    def data(self) -> bytes:
        return in_memory_order(self.bits, self.bit_size, self.byte_order)

    def undefined_mask(self) -> bytes:
        return in_memory_order(self.undefined, self.bit_size, self.byte_order)


@record
class Outcome:
    """What came out for one lane, or without lanes: an error, or a result and what was asked about it."""

    error: DwarfGpuError | None = None
    result: Entry | None = None
    stack: tuple[Entry, ...] | None = None
    reading: ReadBits | None = None


@record
class Answer:
    """The answer to a case: one outcome, or one for each lane that it asks for."""

    case: Case
    outcome: Outcome | None = None
    by_lane: dict[int, Outcome] | None = None


def in_memory_order(bits: int, bit_size: int, byte_order: str) -> bytes:
    """The bytes of a stream of bits; what is missing in the last one is 0."""
    size = -(-bit_size // 8)
    if byte_order == "little":
        return bits.to_bytes(size, "little")
    return (bits << (8 * size - bit_size)).to_bytes(size, "big")


# --- Reading a case -----------------------------------------------------------------------------------------------


def parse_case(value: object, line: int) -> Case:
    """The case that a JSON value is; `NotACase` where it is none."""
    try:
        return _parse(Node(value), line)
    except RecursionError:
        raise NotACase("", "it is nested too deeply") from None


def _parse(node: Node, line: int) -> Case:
    fields = node.fields((), KEYS)
    if ("expr" in fields) == ("ops" in fields):
        raise NotACase("", "exactly one of `expr` and `ops` is needed")
    setting = _setting(fields)
    expressions = ExpressionReader(setting)
    if "expr" in fields:
        expression = expressions.decoded(fields["expr"])
    else:
        expression = expressions.assembled(fields["ops"])
    context, lanes = context_of(fields.get("context"), setting, fields.get("lanes"), expressions)
    return Case(
        id=fields["id"].value if "id" in fields else line,
        expression=expression,
        context=context,
        lanes=lanes,
        read=_read(fields["read"], setting, expressions) if "read" in fields else None,
        write=fields["write"].bytes() if "write" in fields else None,
        stack=fields["stack"].boolean() if "stack" in fields else False,
        problem=expressions.problem,
    )


def _setting(fields: dict[str, Node]) -> Setting:
    target = _target(fields)
    dialect_name = fields["dialect"].string() if "dialect" in fields else target.default_dialect
    rules_name = fields["rules"].choice(PRESETS) if "rules" in fields else target.default_rules
    offset_size = fields["offset_size"].unsigned(4) if "offset_size" in fields else 4
    if offset_size not in (4, 8):
        raise fields["offset_size"].fail(f"an offset has 4 or 8 bytes, not {offset_size}")
    version = fields["dwarf_version"].unsigned(4) if "dwarf_version" in fields else 5
    if not 2 <= version <= 6:
        raise fields["dwarf_version"].fail(f"DWARF {version} is not supported; 2 to 6 are")
    order = "little" if target.byte_order == "little" else "big"
    want = fields["want"].choice(("value", "location")) if "want" in fields else None
    return Setting(
        target,
        _dialect(fields.get("dialect"), dialect_name),
        PRESETS[rules_name],
        Format(target.address_size, offset_size, order, version),
        _limits(fields.get("limits")),
        None if want is None else "value" if want == "value" else "location",
    )


def _target(fields: dict[str, Node]) -> Target:
    from dwarfgpu.targets.resolve import resolve

    size = fields["address_size"].unsigned(8) if "address_size" in fields else None
    order = fields["byte_order"].choice(("little", "big")) if "byte_order" in fields else None
    name = fields["target"].string() if "target" in fields else "generic"
    try:
        return resolve(name, byte_order=order, address_size=size)
    except UsageError as error:
        key = "target" if "target" in fields else "address_size"
        raise fields[key].fail(error.message, hint=error.hint) from error


def _dialect(node: Node | None, name: str) -> Dialect:
    from dwarfgpu import dialects

    try:
        return dialects.get(name)
    except UsageError as error:
        raise NotACase("dialect" if node is None else node.path, error.message, hint=error.hint) from error


def _limits(node: Node | None) -> Limits:
    limits = Limits()
    if node is None:
        return limits
    fields = node.fields((), ("steps", "stack", "nesting"))
    return replace(limits, **{name: field.unsigned(63) for name, field in fields.items()})


def _read(node: Node, setting: Setting, expressions: ExpressionReader) -> Read:
    fields = node.fields((), ("bytes", "type", "offset"))
    if ("bytes" in fields) == ("type" in fields):
        raise node.fail("exactly one of `bytes` and `type` is needed")
    offset = fields["offset"].signed(64) if "offset" in fields else 0
    if "bytes" in fields:
        return Read(fields["bytes"].unsigned(63), None, offset)
    described: DescribedType = type_of(fields["type"], setting.target)
    try:
        return Read(None, described.make(), offset)
    except NotACase:
        raise
    except DwarfGpuError as error:  # an ill-formed type
        expressions.problem = expressions.problem or error
        return Read(0, None)


# --- Answering it -------------------------------------------------------------------------------------------------


def answer_case(case: Case) -> Answer:
    """Evaluate the expression of a case, write and read as it asks."""
    if case.problem is not None:
        return Answer(case, Outcome(case.problem))
    if case.lanes is None:
        return Answer(case, _accessed(case, [case.context], [_evaluated(case, case.context)])[0])
    count = len(case.lanes)
    if count == 0:
        return Answer(case, by_lane={})
    contexts = [case.context] if count == 1 else [narrowed(case.context, slot) for slot in range(count)]
    if count == 1 or case.stack or _differs_by_lane(case.context):
        outcomes = [_evaluated(case, context) for context in contexts]
    else:
        outcomes = _evaluated_together(case)
    return Answer(case, by_lane=dict(zip(case.lanes, _accessed(case, contexts, outcomes), strict=True)))


def _differs_by_lane(context: Context) -> bool:
    """Whether the call frame gives the lanes different registers, which one evaluation for all cannot follow yet."""
    return getattr(context.frame, "differs_by_lane", False)


def _evaluated(case: Case, context: Context) -> Outcome:
    """The outcome for one lane, evaluated alone."""
    stack: list[tuple[Entry, ...]] = [tuple(context.initial_stack)]
    trace = None
    if case.stack:

        def trace(_ev: Evaluation, _step: Any, _before: Any, after: tuple[Entry, ...]) -> None:
            stack[0] = after

    try:
        found = evaluate(case.expression, context, trace).of(0)
    except RecursionError:
        found = _too_deep()
    if isinstance(found, DwarfGpuError):
        return Outcome(found)
    return Outcome(None, found, stack[0] if case.stack else None)


def _evaluated_together(case: Case) -> list[Outcome]:
    """The outcomes of all lanes, evaluated at once."""
    try:
        found = list(evaluate(case.expression, case.context))
    except RecursionError:
        found = [_too_deep()] * len(case.lanes or ())
    return [Outcome(one) if isinstance(one, DwarfGpuError) else Outcome(None, one) for one in found]


def _too_deep() -> EvaluationError:
    return EvaluationError("limit_exceeded", "the evaluation is nested too deeply", hint="lower the limit `nesting`")


def _accessed(case: Case, contexts: list[Context], outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes after writing to all results, then reading each."""
    if case.write is not None:
        outcomes = [_attempt(_write, *pair, case) for pair in zip(contexts, outcomes, strict=True)]
    if case.read is not None:
        outcomes = [_attempt(_read_result, *pair, case) for pair in zip(contexts, outcomes, strict=True)]
    return outcomes


def _attempt(access: Any, context: Context, outcome: Outcome, case: Case) -> Outcome:
    """An outcome after an access to its result; the error of the access is the outcome then."""
    if outcome.error is not None:
        return outcome
    ev = Evaluation(case.expression, context, None)
    try:
        location = convert.to_location(ev, outcome.result)  # type: ignore[arg-type]
        if location is None:
            message = f"only a location can be accessed, the result is {convert.describe(outcome.result)}"  # type: ignore[arg-type]
            raise IllFormed("wrong_kind", message, spec="A.2.5.4.4.3")
        return access(ev, location, outcome, case)  # type: ignore[no-any-return]
    except DwarfGpuError as error:
        return Outcome(error)
    except RecursionError:
        return Outcome(_too_deep())


def _write(ev: Evaluation, location: Location, outcome: Outcome, case: Case) -> Outcome:
    data = case.write or b""
    _accessor(ev).write(location, 8 * len(data), convert.block_stream(ev, data))
    return outcome


def _read_result(ev: Evaluation, location: Location, outcome: Outcome, case: Case) -> Outcome:
    wanted: Any = case.read
    size = 8 * wanted.byte_size if wanted.type is None else wanted.type.bit_size
    if wanted.byte_offset:
        location = convert.moved(ev, location, 8 * wanted.byte_offset)
    found = _accessor(ev).read(location, size)
    reading = ReadBits(size, ev.target.byte_order, int(found.bits), int(found.undefined), wanted.type)
    return Outcome(None, outcome.result, outcome.stack, reading)


def _accessor(ev: Evaluation) -> Accessor:
    order: Any = ev.target.byte_order
    return Accessor(ev.context.backend, order, 1, ev.context.limits.block * 8)
