"""A case: one question to the evaluator, as a JSON object describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from dwarfgpu.encoding.operands import Format
from dwarfgpu.errors import UsageError
from dwarfgpu.expr.context import Limits
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.json_node import Node, NotACase
from dwarfgpu.program.cases.context import ExpressionReader, context_of
from dwarfgpu.program.cases.json_types import type_of
from dwarfgpu.program.setting import Setting

if TYPE_CHECKING:
    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.expr.context import Context
    from dwarfgpu.expr.dialect import Dialect
    from dwarfgpu.expr.instruction import Expression
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
    """What the wave is called, in a machine that has several."""
    problem: DwarfGpuError | None = None
    """Why nothing can be evaluated: an expression that is none, or an ill-formed type."""

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
    """The case that a JSON value is; `NotACase` where it is none."""
    try:
        return _parse(Node(value), line)
    except RecursionError:
        raise NotACase("", "it is nested too deeply") from None


def _parse(node: Node, line: int) -> Case:
    fields = node.fields((), KEYS)
    if ("expr" in fields) == ("ops" in fields):
        raise NotACase("", "exactly one of `expr` and `ops` is needed")
    expressions = ExpressionReader(_setting(fields))
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


def _setting(fields: dict[str, Node]) -> Setting:
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
    return Setting(target, _dialect(fields.get("dialect"), dialect_name), form, PRESETS[rules_name])


def _target(fields: dict[str, Node]) -> Target:
    from dwarfgpu.targets.resolve import resolve

    size = fields["address_size"].unsigned() if "address_size" in fields else None
    order: Any = fields["byte_order"].choice(("little", "big")) if "byte_order" in fields else None
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
    return evolve(limits, **{name: field.unsigned(63) for name, field in fields.items()})


def _read(node: Node, expressions: ExpressionReader) -> Read:
    fields = node.fields((), ("bytes", "type", "offset"))
    if ("bytes" in fields) == ("type" in fields):
        raise node.fail("exactly one of `bytes` and `type` is needed")
    offset = fields["offset"].signed(64) if "offset" in fields else 0
    if "bytes" in fields:
        return Read(fields["bytes"].unsigned(63), None, offset)
    described = type_of(fields["type"], expressions.setting.target)
    with expressions.noting():  # an ill-formed type
        return Read(0, described.make(), offset)
    return Read()
