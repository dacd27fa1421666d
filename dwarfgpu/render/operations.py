"""DWARF operations as text and as JSON: their reference, the listings of expressions, and findings."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from dwarfgpu.expr.rules import PRESETS
from dwarfgpu.program.code.repairs import CONDITIONS
from dwarfgpu.render.layout import TableLine, columns, folded, paragraphs, plain, room, style
from dwarfgpu.render.records import Record, fact, nested

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.dialects.operation_reference import OperationReference
    from dwarfgpu.expr.listing import Line
    from dwarfgpu.expr.rules import Point
    from dwarfgpu.expr.verify import Finding
    from dwarfgpu.program.code.instruction_reference import EncodingReference, InstructionReference, OperandReference
    from dwarfgpu.program.code.repairs import Repair


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
        encoded.setdefault(each.generation, []).append(_encoding_text(each))
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


def _encoding_text(encoding: EncodingReference) -> str:
    variant = f" {encoding.variant}" if encoding.variant else ""
    where = f" ({' '.join(encoding.processors)})" if encoding.processors else ""
    return f"{encoding.format}{variant} {encoding.opcode:#x}{where}"


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
