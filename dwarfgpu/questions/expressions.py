"""Questions about expressions of DWARF by themselves: their operations, their bytes, and what is wrong with them."""

from __future__ import annotations

from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dwarfgpu.dialects import encoding_in
from dwarfgpu.errors import DwarfGpuError, Unsupported, UsageError
from dwarfgpu.expr.evaluation import evaluate
from dwarfgpu.expr.location_json import JsonWriter
from dwarfgpu.expr.location_text import TextRenderer
from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.immutable import evolve
from dwarfgpu.program.code import encoding_context
from dwarfgpu.program.code.repairs import CONDITIONS
from dwarfgpu.questions.document import NO_ANSWER, Document, Output, listing
from dwarfgpu.render.layout import (
    Record,
    TableLine,
    columns,
    fact,
    folded,
    lane_masks,
    lanes_text,
    nested,
    paragraphs,
    plain,
    problem_json,
    room,
    style,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dwarfgpu.dialects.operation_reference import OperationReference
    from dwarfgpu.expr.listing import Line
    from dwarfgpu.expr.rules import Point
    from dwarfgpu.expr.verify import Finding
    from dwarfgpu.program.code.encoding_context import EncodingContext
    from dwarfgpu.program.code.instruction_reference import EncodingReference, InstructionReference, OperandReference
    from dwarfgpu.program.code.repairs import Repair
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
        raise UsageError(f"{text.strip()[:60]!r} is not bytes: an even number of hex digits is needed") from None


def disassemble(selection: Selection, arguments: Arguments) -> Document:
    context = encoding_of(selection, arguments)
    expression = context.decoded(bytes_of(_needed(arguments, "some bytes in hex")))
    lines = context.lines(expression)
    fault = expression.fault
    status = {"status": "ok"} if fault is None else {"status": "error", "kind": fault.kind}
    document = Document(
        {"dialect": context.dialect.name, **status, "operations": map(LINE.json, lines)},
        lambda _output: lines_text(lines),
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
    text = partial(_each, paragraph) if names else overview
    return listing("operations", document, rows, text)


def _each(paragraph: Callable[[Any], Iterable[str]], rows: Iterable[Any]) -> Iterator[str]:
    return paragraphs(map(paragraph, rows))


def _instructions(names: Sequence[str]) -> Document:
    """Return instructions of GPUs: all of each, or the meanings where there are more than a few."""
    from dwarfgpu.program.code import instruction_reference

    rows = [row for name in names for row in instruction_reference.find(name)]
    if not names:
        rows = list(map(instruction_reference.reference_of, instruction_reference.names()))
    is_full = len(rows) <= MOST_INSTRUCTIONS
    document = partial(instruction_document, is_full=is_full)
    text = partial(_each, instruction_paragraph) if is_full else partial(map, instruction_line)
    return listing("instructions", document, rows, text)


def _rules(names: Sequence[str]) -> Document:
    """Return the points on which rule sets differ, as a table, or those that are named with the texts they cite."""
    from dwarfgpu.expr.rules import PRESETS, points

    rows = _named(points(), names, "a rule")
    text = partial(_each, rule_paragraph) if names else partial(rule_table, presets=tuple(PRESETS))
    return listing("rules", RULE, rows, text)


def _repairs(names: Sequence[str]) -> Document:
    """Return the repairs of compiler mistakes, or those that are named in full."""
    from dwarfgpu.program.code.repairs import REPAIRS

    rows = _named(REPAIRS, names, "a repair")
    text = partial(_each, repair_paragraph) if names else repair_lines
    return listing("repairs", repair_json, rows, text)


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


# --- Operations as text and JSON --------------------------------------------------------------------------------------


BYTES = 8
"""How many bytes of an operation are shown."""
WIDEST = 40
"""The widest column of operations, after which notes begin."""


# --- Operations ---------------------------------------------------------------------------------------------------


def overview(operations: Iterable[OperationReference]) -> Iterator[str]:
    """Yield a line for each operation, below the section of the text that defines it."""
    sections = groupby(operations, lambda row: row.section)
    yield from paragraphs([style("name", name), *(f"  {line(row)}" for row in rows)] for name, rows in sections)


def line(operation: OperationReference, width: int = 0) -> str:
    """Return an operation on one line: name, operands, effect."""
    name = " ".join((operation.name, *operation.operands))
    return f"{name:{width}}  ( {operation.effect.strip()} )  [{operation.spec}]"


def paragraph(operation: OperationReference) -> list[str]:
    """Return the full description of an operation as lines."""
    by_path: dict[str, list[str]] = {}
    for name, path in operation.encodings:
        by_path.setdefault(path, []).append(name)
    encodings = ", ".join(f"{path} ({', '.join(names)})" for path, names in by_path.items())
    facts = {
        "stack": f"( {operation.effect.strip()} )",
        "clause": f"{operation.spec}, {operation.section}",
        "since": f"{operation.since}{', deprecated' if operation.deprecated else ''}",
        "also": ", ".join(operation.aliases),
        "needs": ", ".join(operation.needs),
        "in CFI": f"no: {operation.cfi_obstacle}" if operation.cfi_obstacle else "yes",
        "encoded": encodings or "no dialect has a number for it",
    }
    head = [style("name", " ".join((operation.name, *operation.operands))), f"  {operation.meaning}"]
    return [*head, *(f"  {label:7}  {text}" for label, text in facts.items() if text)]


def document(operation: OperationReference) -> dict[str, Any]:
    """Return an operation of the reference as a JSON object."""
    operands = [dict(zip(("name", "kind"), operand.split(":"), strict=True)) for operand in operation.operands]
    encodings = [{"dialect": name, "path": path} for name, path in operation.encodings]
    return {**plain(operation), "operands": operands, "encodings": encodings}


# --- Instructions of GPUs -----------------------------------------------------------------------------------------


def instruction_line(instruction: InstructionReference) -> str:
    """Return an instruction on one line: name, types, formula."""
    formula = instruction.formula
    if formula is None:
        return instruction.name
    return f"{instruction.name}  {formula.types}  {formula.text}{instruction.note and f' ({instruction.note})'}"


def instruction_paragraph(instruction: InstructionReference) -> list[str]:
    """Return the full description of an instruction as lines."""
    lines = [style("name", instruction.name)]
    formula = instruction.formula
    if formula is None:
        lines.append("  meaning    more than a formula of its operands")
    else:
        text = f"{formula.text}; SCC = D != 0" if "nonzero" in formula.results else formula.text
        first, *others = text.split("; ")
        lines += [f"  meaning    {first}", *(f"             {statement}" for statement in others)]
        if instruction.note:
            lines.append(f"  note       {instruction.note}")
        for function in formula.functions:
            what = f"{function.body}, {function.text}" if function.body else function.text
            lines.append(f"  {function.name:9}  {what}")
        lines.append(f"  types      {formula.types}")
        if formula.flags:
            lines.append(f"  flags      {', '.join(sorted(formula.flags))}")
    lines.append(f"  operands   {', '.join(map(_operand_text, instruction.plain.operands)) or 'none'}")
    if modifiers := dict.fromkeys(key for each in instruction.encodings for key in each.modifiers):
        lines.append(f"  modifiers  {' '.join(modifiers)}")
    encoded: dict[int, list[str]] = {}
    for each in instruction.encodings:
        variant = f" {each.variant}" if each.variant else ""
        where = f" ({' '.join(each.processors)})" if each.processors else ""
        encoded.setdefault(each.generation, []).append(f"{each.format}{variant} {each.opcode:#x}{where}")
    lines += _by_generation("encoded", {major: ", ".join(texts) for major, texts in encoded.items()})
    actions = {each.generation: _action_text(each) for each in instruction.encodings}
    if any(actions.values()):
        lines += _by_generation("memory", actions)
    lines.append(f"  documents  {instruction.documents}")
    return [part for line in lines for part in folded(line, room(), 13)]


def _by_generation(title: str, texts: dict[int, str]) -> Iterator[str]:
    """Yield what holds for generations, those with the same text together."""
    alike: dict[str, list[str]] = {}
    for major, text in texts.items():
        alike.setdefault(text, []).append(f"GFX{major}")
    for text, generations in alike.items():
        yield f"  {title:9}  {' '.join(generations)}: {text}"
        title = ""


def _operand_text(operand: OperandReference) -> str:
    role = {"dst": "written", "dst+src": "read and written"}.get(operand.role.value)
    size = operand.type or (f"{operand.bits} bits" if operand.bits else "")
    return f"{operand.name} ({', '.join(filter(None, (size, role)))})" if size or role else operand.name


_ACTIONS = {"rmw": "read and write", "rmw-return": "read and write, with the old value as a result,"}


def _action_text(encoding: EncodingReference) -> str:
    action = encoding.action
    operation = _ACTIONS.get(action.operation, action.operation)
    texts = [" ".join(filter(None, (operation, action.space and f"of {action.space} memory")))]
    texts.append(f"counts in {' and '.join(action.counters)}" if action.counters else "")
    texts.append("in any order" if action.counters and not action.is_ordered else "")
    texts += [action.write_back and "writes caches back", action.invalidate and "invalidates caches"]
    return ", ".join(filter(None, texts))


FORMULA = Record(
    "formula=text sources results",
    fact("flags", value=lambda formula: sorted(formula.flags)),
    nested("functions", Record("name body text")),
)
ACTION = Record("operation space counters is_ordered write_back invalidate")
"""What a document says about the memory action of an encoding."""


def instruction_document(instruction: InstructionReference, *, is_full: bool = True) -> dict[str, Any]:
    """Return an instruction as a JSON object, in short only its name and meaning."""
    encodings = [
        {
            **plain(each),
            "operands": [{**plain(operand), "role": operand.role.value} for operand in each.operands],
            "action": ACTION.json(each.action),
        }
        for each in (instruction.encodings if is_full else ())
    ]
    return {
        "name": instruction.name,
        "meaning": instruction.formula and FORMULA.json(instruction.formula),
        "note": instruction.note or None,
        "encodings": encodings or None,
        "documents": instruction.documents if is_full else None,
    }


# --- Rule sets and repairs ----------------------------------------------------------------------------------------

RULE = Record("name", fact("choices", value=lambda point: dict(zip(PRESETS, point.choices, strict=True))), "text")


def rule_table(points: Iterable[Point], presets: Sequence[str]) -> Iterator[str]:
    """Yield a line for each point, with what each rule set says."""
    rows = [TableLine((point.name, *map(_choice, point.choices))) for point in points]
    yield from columns(("", *presets), rows)


def rule_paragraph(point: Point) -> list[str]:
    """Return a point with what each rule set says, and the texts."""
    said = "; ".join(f"{name}: {_choice(choice)}" for name, choice in zip(PRESETS, point.choices, strict=True))
    texts = (" ".join(text.split()) for text in point.text.split("\n\n"))
    lines = [part for text in texts for part in folded(f"  {text}", room(), 2)]
    return [style("name", point.name), f"  {said}", *lines]


def _choice(choice: object) -> str:
    return ("yes" if choice else "no") if isinstance(choice, bool) else str(choice).replace("_", " ")


def repair_lines(repairs: Iterable[Repair]) -> Iterator[str]:
    """Yield a line for each repair."""
    for repair in repairs:
        yield from folded(f"{style('name', repair.name)}  {repair.meaning}", room(), 4)


def repair_paragraph(repair: Repair) -> list[str]:
    """Return a repair in full, as lines."""
    facts = {
        "written": repair.pattern.replace("|", " or "),
        "in": "any attribute" if repair.attribute == "any" else repair.attribute,
        "where": "; ".join(CONDITIONS[name][0] for name in repair.conditions),
        "becomes": repair.becomes.replace("{", "").replace("}", ""),
        "known by": repair.source,
        "seen in": repair.seen,
    }
    lines = [part for label, text in facts.items() if text for part in folded(f"  {label:8}  {text}", room(), 12)]
    return [style("name", repair.name), *folded(f"  {repair.meaning}", room(), 2), *lines]


def repair_json(repair: Repair) -> dict[str, Any]:
    """Return a repair as a JSON object."""
    return {
        **{name: getattr(repair, name) for name in ("name", "attribute", "meaning", "pattern", "becomes")},
        "conditions": [CONDITIONS[name][0] for name in repair.conditions],
        "source": repair.source,
        "seen": repair.seen,
    }


# --- Listings of expressions --------------------------------------------------------------------------------------


def bytes_text(line: Line) -> str:
    """Return the first bytes of an operation."""
    return line.bytes[:BYTES].hex(" ") + (" .." if len(line.bytes) > BYTES else "")


def lines_text(lines: Sequence[Line]) -> Iterator[str]:
    """Yield a line for each operation: offset, bytes, operation, note."""
    width = min(max((len(line.text) for line in lines), default=0), WIDEST)
    for line in lines:
        name = style("name", line.name)
        text = f"{name} {line.operands}" if line.operands else name
        note = " " * (width - len(line.text)) + "  " + style("dim", f"# {line.note}") if line.note else ""
        yield f"{line.offset:#06x}  {bytes_text(line):26}  {text}{note}".rstrip()


LINE = Record("offset bytes operation=name operands note")


# --- Findings -----------------------------------------------------------------------------------------------------


def findings_text(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a line for each finding."""
    for finding in findings:
        severity = style(finding.severity, f"{finding.severity}:")
        clause = f" [{finding.spec}]" if finding.spec else ""
        yield f"{finding.offset:#06x}  {severity} {finding.message}{clause}"
    if not findings:
        yield "no findings"
