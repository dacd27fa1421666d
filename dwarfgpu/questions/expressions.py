"""Questions about expressions of DWARF by themselves: their operations, their bytes, and what is wrong with them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from attrs import evolve

from dwarfgpu.dialects import encoding_in
from dwarfgpu.errors import DwarfGpuError, Unsupported, UsageError
from dwarfgpu.expr.location_json import JsonWriter
from dwarfgpu.expr.location_text import TextRenderer
from dwarfgpu.expr.machine import evaluate
from dwarfgpu.program.code import encoding_context
from dwarfgpu.questions.document import NO_ANSWER, Document, Output, listing
from dwarfgpu.render import operations as render
from dwarfgpu.render.layout import lane_masks, lanes_text, paragraphs, problem_json, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dwarfgpu.program.code.encoding_context import EncodingContext
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.variable import Variable
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection


class HasName(Protocol):
    """What has a name."""

    @property
    def name(self) -> str: ...


Named = TypeVar("Named", bound=HasName)
MOST_INSTRUCTIONS = 5
"""How many instructions are shown in full; of more only the names and meanings."""
MAX_FOUND = 50
"""How many variables with one name are shown."""


def encoding_of(selection: Selection, arguments: Arguments) -> EncodingContext:
    """Return what an expression is read for: what the options say, or the frame that is selected."""
    keys = ("address-size", "byte-order", "offset-size", "dwarf-version")
    names = ("target", "dialect", "rules", *keys)
    if selection.program is not None and not any(map(arguments.has, names)):
        return selection.frame.encoding
    sizes: dict[str, Any] = {key.replace("-", "_"): arguments.get(key) for key in keys if arguments.has(key)}
    target = arguments.get("target") or "generic"
    return encoding_context.setting(target, arguments.get("dialect"), arguments.get("rules"), **sizes)


def bytes_of(text: str) -> bytes:
    """Return the bytes that hex digits are, which may be apart and begin with 0x."""
    digits = "".join(text.split()).removeprefix("0x")
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise UsageError(f"{text[:60]!r} is not bytes: an even number of hex digits is needed") from None


def disassemble(selection: Selection, arguments: Arguments) -> Document:
    context = encoding_of(selection, arguments)
    expression = context.decoded(bytes_of(_needed(arguments, "some bytes in hex")))
    lines = context.lines(expression)
    fault = expression.fault
    status = {"status": "ok"} if fault is None else {"status": "error", "kind": fault.kind}
    document = Document(
        {"dialect": context.dialect.name, **status, "operations": map(render.LINE.json, lines)},
        lambda _output: render.lines_text(lines),
        rows="operations",
        problems=() if fault is None else (fault,),
    )
    if fault is not None:
        document.status = NO_ANSWER
    return document


def assemble(selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.expr import asm

    context = encoding_of(selection, arguments)
    try:
        data = asm.assemble(
            _needed(arguments, "an expression as text"), context.dialect, context.form, target=context.target
        )
    except Unsupported as error:
        names = encoding_in(error.where.operation or "") if error.kind == "no_encoding" else ()
        if names:
            error.hint = f"it has a number in: {', '.join(names)}; the option `dialect` chooses one"
        raise
    document = {"dialect": context.dialect.name, "bytes": data.hex(), "size": len(data)}
    return Document(document, [data.hex()])


def _needed(arguments: Arguments, what: str) -> str:
    if not arguments.text.strip():
        raise UsageError(f"{what} must be given", hint="at the shell `-` reads it from standard input")
    return arguments.text


def operations(_selection: Selection, arguments: Arguments) -> Document:
    from dwarfgpu.dialects import operation_reference

    names = arguments.words
    if arguments.has("isa"):
        return _instructions(names)
    if arguments.has("rules"):
        return _rules(names)
    if arguments.has("repairs"):
        return _repairs(names)
    if names:
        rows = [row for name in names for row in operation_reference.find(name)]
    else:
        known = operation_reference.references()
        rows = [row for row in known if not operation_reference.is_repeated(row.name)]
    text = partial(_each, render.paragraph) if names else render.overview
    return listing("operations", render.document, rows, text)


def _each(paragraph: Callable[[Any], Iterable[str]], rows: Iterable[Any]) -> Iterator[str]:
    return paragraphs(map(paragraph, rows))


def _instructions(names: Sequence[str]) -> Document:
    """Return instructions of GPUs: all of each, or the meanings where there are more than a few."""
    from dwarfgpu.program.code import instruction_reference

    rows = [row for name in names for row in instruction_reference.find(name)]
    if not names:
        rows = list(map(instruction_reference.reference_of, instruction_reference.names()))
    is_full = len(rows) <= MOST_INSTRUCTIONS
    document = partial(render.instruction_document, is_full=is_full)
    text = partial(_each, render.instruction_paragraph) if is_full else partial(map, render.instruction_line)
    return listing("instructions", document, rows, text)


def _rules(names: Sequence[str]) -> Document:
    """Return the points on which rule sets differ, as a table, or those that are named with the texts they cite."""
    from dwarfgpu.expr.rules import PRESETS, points

    rows = _named(points(), names, "a rule")
    text = partial(_each, render.rule_paragraph) if names else partial(render.rule_table, presets=tuple(PRESETS))
    return listing("rules", render.RULE, rows, text)


def _repairs(names: Sequence[str]) -> Document:
    """Return the repairs of compiler mistakes, or those that are named in full."""
    from dwarfgpu.program.code.repairs import REPAIRS

    rows = _named(REPAIRS, names, "a repair")
    text = partial(_each, render.repair_paragraph) if names else render.repair_lines
    return listing("repairs", render.repair_json, rows, text)


def _named(rows: Sequence[Named], names: Sequence[str], kind: str) -> list[Named]:
    """Return the rows with some names, or whose names contain one of some words; all rows without words."""
    found = [row for row in rows if row.name in names]
    found = found or [row for row in rows if not names or any(name in row.name for name in names)]
    if not found:
        known = ", ".join(row.name for row in rows)
        raise UsageError(f"{' '.join(names)[:60]!r} is not {kind}, nor part of one", hint=f"these exist: {known}")
    return found


def evaluate_operations(
    selection: Selection, arguments: Arguments, frame: Frame, wave: str | None, lanes: Any
) -> Document:
    """Evaluate the operations, or the bytes, in lanes of a frame; lanes with one result are shown together."""
    from dwarfgpu.render.trace import Tracer

    if arguments.has("ops") and arguments.has("hex"):
        raise arguments.wrong("takes -ops or -hex, not both")
    if arguments.operands:
        name = "--ops" if arguments.has("ops") else "--hex"
        message = f"{name} does not go with expressions of the source language"
        raise UsageError(message, hint="leave out the option or the expressions")
    where = frame.encoding
    text = f"{arguments.get('ops') or arguments.get('hex')} {arguments.text}"
    expression = where.decoded(bytes_of(text)) if arguments.has("hex") else where.parsed(text)
    numbers = frame.lane_numbers(lanes)
    tracer = Tracer(frame.target)
    if arguments.has("trace"):
        frame.follow(tracer.record)
    try:
        context = evolve(frame.context(frame.lane_set(numbers)), result_kind=None)
        results: Any = evaluate(expression, context, frame.trace)
    finally:
        frame.follow(None)
    outcomes = list(zip(numbers, results, strict=True))
    writer = TextRenderer(frame.target.byte_order)

    def lane_json(outcome: Any) -> dict[str, Any]:
        if isinstance(outcome, DwarfGpuError):
            return {"status": "error", "error": problem_json(outcome)}
        return {"status": "ok", "result": JsonWriter(frame.target.byte_order).entry(outcome)}

    def text_lines(output: Output) -> Iterator[str]:
        yield from tracer.lines(output.width)
        if len(outcomes) == 1:
            yield writer.entry(results.one())
            return
        texts = (
            (lane, (True, str(each)) if isinstance(each, DwarfGpuError) else (False, writer.entry(each)))
            for lane, each in outcomes
        )
        for (is_error, shown_text), mask in lane_masks(texts).items():
            first, *rest = wrapped(f"{lanes_text(mask)}: {shown_text}", output.width - 4)
            yield output.style("error", first) if is_error else first
            yield from (f"    {output.style('error', line) if is_error else line}" for line in rest)

    head: dict[str, Any] = {"dialect": where.dialect.name, "rules": where.rules.name}
    if wave is not None:
        head["wave"] = wave
    if arguments.has("trace"):
        head["trace"] = tracer.documents()
    data = dict(head)
    if numbers == (None,):
        data |= lane_json(outcomes[0][1])
    else:
        data["lanes"] = {str(lane): lane_json(outcome) for lane, outcome in outcomes}
    return Document(
        data,
        text_lines,
        rows=lambda: ({"lane": lane, **head, **lane_json(outcome)} for lane, outcome in outcomes),
        has_failed=any(isinstance(outcome, DwarfGpuError) for _lane, outcome in outcomes),
    )


def variables_called(selection: Selection, name: str) -> list[Variable]:
    """Return the variables with a name that the frame sees; that there are none is an error."""
    from dwarfgpu.program.frames.names import variables_named

    variables = variables_named(selection.frame, name)
    if not variables:
        hint = "`info variables` and `info scope FUNCTION` list what there is"
        raise UsageError(f'No symbol "{name[:80]}" in current context.', kind="no_name", hint=hint)
    return variables[:MAX_FOUND]
