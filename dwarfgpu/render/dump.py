"""The sections of debugging information as text and as JSON: entries, tables, call frame information."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, groupby, islice
from operator import attrgetter, getitem
from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.audits.dump.entries import MAX_KNOWN, Lists, Reference, ShownAttribute, ShownEntry, ShownUnit
from dwarfgpu.dwarf_constants import DW_EH_PE_omit
from dwarfgpu.encoding import dwarf_format
from dwarfgpu.immutable import evolve
from dwarfgpu.program.code.dumped_expressions import DumpedExpression
from dwarfgpu.program.code.frame_rows import (
    Cie,
    DecodedFrameEntry,
    DecodedInstruction,
    ExpressionBytes,
    Fde,
    FrameAt,
    Frames,
    Instructions,
    Rule,
    UnwindRules,
    encoding_text,
    rule_json,
)
from dwarfgpu.render.layout import (
    Record,
    aligned,
    beside,
    counted,
    cut,
    error_json,
    fact,
    hexadecimal,
    labels,
    nested,
    plain,
    room,
    shown,
    style,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.audits.dump.lists import DumpedListEntry
    from dwarfgpu.audits.dump.parts import Kind, SectionPart, Table


OFFSET_WIDTH = 12
DEEPEST = 10
"""The depth from which entries are not indented further, so that text fits a terminal."""
INDENT = 4
NARROWEST_ENTRY = 34
"""The least width of values, even if that exceeds the terminal."""
NARROWEST = 24
MAX_BYTES = 64
MAX_ENTRIES = 512
"""How many entries of a list are shown."""
SAMPLE = 256
"""How many rows decide the widths of columns: the others have not been read yet."""
_RIGHT = ("number", "rare", "address")
"""The kinds of cells that are right-aligned in their column."""


_name_of = attrgetter("name")

# --- Entries as text ----------------------------------------------------------------------------------------------


def unit_text(unit: ShownUnit) -> list[str]:
    """Return the header of a unit as lines."""
    size = dwarf_format(unit.offset_size)
    lines = [
        style("kind", f"{unit.section}+{unit.offset:#x}")
        + f"  {unit.kind} unit, version {unit.version}, {size}, {unit.address_size}-byte addresses"
    ]
    pairs = [("name", unit.name), ("file", unit.file)]
    for label, number in (("signature", unit.signature), ("split unit ID", unit.dwo_id)):
        pairs.append((label, None if number is None else f"{number:#018x}"))
    pairs += [
        ("attributes", f"{unit.attributes} ({unit.reason})"),
        ("augmentation", unit.augmentation),
        ("expressions", f"{unit.expressions}, registers of {unit.target}"),
    ]
    return lines + labels(pairs, indent=2)


class EntryTexts:
    """Texts of the entries of a unit, indented by their depth. Attributes that look the same are written once."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[str, list[_AttributeTexts]]] = {}

    def text(self, entry: ShownEntry) -> str:
        """Return an entry and its attributes, with ends of lines between them."""
        depth, names = min(entry.depth, DEEPEST), tuple(map(_name_of, entry.attributes))
        known = self._known.get((depth, entry.tag, names))
        if known is None:
            indent, label = 2 * depth, max(map(len, names), default=0)
            head = f"{style('number', '%#010x')}  {' ' * indent}{style('name', entry.tag)}"
            known = head, [_AttributeTexts(indent, name, label) for name in names]
            self._known[depth, entry.tag, names] = known
        head, columns = known
        return "\n".join([head % entry.offset, *map(getitem, columns, entry.attributes)])


class _AttributeTexts(dict[ShownAttribute, str]):
    """The lines of an attribute, behind a margin; they are laid out when they are looked up first."""

    __slots__ = ("head", "margin", "width")

    def __init__(self, indent: int, name: str, label: int) -> None:
        self.head = f"{' ' * (OFFSET_WIDTH + indent + 2)}{name:{label}}  "
        self.margin = f"\n{' ' * len(self.head)}"
        self.width = max(NARROWEST_ENTRY, room(len(self.head)))

    def __missing__(self, attribute: ShownAttribute) -> str:
        first, *rest = attribute_text(attribute, self.width) or [""]
        if attribute.error is not None:
            rest += [style("error", line) for line in wrapped(attribute.error.message, self.width)]
        text = (self.head + first).rstrip()
        if rest:
            text = self.margin.join([text, *rest])
        if not isinstance(attribute.detail, Lists):
            if len(self) >= MAX_KNOWN:
                self.clear()
            self[attribute] = text
        return text


def attribute_text(attribute: ShownAttribute, width: int) -> Sequence[str]:
    """Return the value of an attribute in lines of a width."""
    detail = attribute.detail
    if detail is None:
        text = _value(attribute)
        text = text if attribute.note is None else f"{text} ({cut(attribute.note)})"
        return [text] if len(text) <= width and text.isprintable() else wrapped(text, width)
    if isinstance(detail, DumpedExpression):
        return code_text(detail, width)
    if isinstance(detail, Lists):
        lines = [f"{detail.section}+{detail.offset:#x}"]
        if detail.pc is not None:
            lines[0] += f" at {detail.pc:#x}"
        if detail.shown_with is not None:
            lines[0] += f", shown with {detail.shown_with:#x}"
        elif detail.pc is not None and not detail.entries:
            lines[0] += ": nowhere"
        lines += [line for entry in detail.entries[:MAX_ENTRIES] for line in _entry(entry, width)]
        if len(detail.entries) > MAX_ENTRIES:
            lines.append(f"and {len(detail.entries) - MAX_ENTRIES} more, which --json has")
        return lines
    return wrapped(f"{detail.section}+{detail.offset:#x}", width)


def _value(attribute: ShownAttribute) -> str:
    value = attribute.value
    if isinstance(value, str):
        return f'"{cut(value)}"'
    if isinstance(value, (bytes, bytearray)):
        return bytes(value[:MAX_BYTES]).hex() + ("..." if len(value) > MAX_BYTES else "") or "(no bytes)"
    if attribute.kind == "reference" and isinstance(value, int):
        return f"{value:#010x}"
    if attribute.kind in ("address", "unknown") and isinstance(value, int):
        return f"{value:#x}"
    return _plain_text(value)


def _entry(entry: DumpedListEntry, width: int) -> list[str]:
    """Return the addresses of a list entry, with its expression below them if both do not fit on a line."""
    if entry.is_default:
        where = "default"
    elif entry.start is not None and entry.end is not None:
        where = f"{entry.start:#x} to {entry.end:#x}"
    else:
        where = " ".join((entry.kind or "base address", ", ".join(map(hex, entry.operands))))
    if entry.views is not None:
        where += f" (views {entry.views[0]} to {entry.views[1]})"
    if entry.code is None:
        return [where]
    code = code_text(entry.code, width - 2)
    if len(code) == 1 and len(where) + 2 + len(code[0]) <= width:
        return [f"{where}: {code[0]}"]
    return [f"{where}:", *(f"  {line}" for line in code)]


@lru_cache(maxsize=1024)
def code_text(code: DumpedExpression, width: int) -> Sequence[str]:
    """Return an expression in lines that the assembler reads; comments say what operands mean."""
    words = [*(f"{operation};" for operation in code.operations[:-1]), *code.operations[-1:]] or ["(no operations)"]
    lines = _filled(words, width)
    if code.notes:
        notes = ", ".join(code.notes)
        if len(lines[-1]) + 3 + len(notes) <= width:
            lines[-1] += f"  # {notes}"
        else:
            lines += [f"# {line}" for line in wrapped(notes, width - 2)]
    if code.error is not None:
        lines += [f"# {line}" for line in wrapped(code.error.message, width - 2)]
    return tuple(lines)


def _filled(words: Iterable[str], width: int) -> list[str]:
    lines: list[str] = []
    for word in map(shown, words):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


# --- JSON ---------------------------------------------------------------------------------------------------------


def entry_json(entry: ShownEntry) -> dict[str, Any]:
    """Return an entry and its attributes as a JSON object."""
    return {
        "section": entry.section,
        "offset": entry.offset,
        "parent": entry.parent,
        "depth": entry.depth,
        "tag": entry.tag,
        "attributes": [attribute_json(attribute) for attribute in entry.attributes],
    }


def attribute_json(attribute: ShownAttribute) -> dict[str, Any]:
    """Return an attribute as a JSON object: its value as encoded, and what that means."""
    detail = attribute.detail
    document: dict[str, Any] = {
        "name": attribute.name,
        "form": attribute.form,
        "class": attribute.kind,
        "value": plain(attribute.value),
    }
    if attribute.note is not None:
        document["note"] = attribute.note
    if isinstance(detail, DumpedExpression):
        document["expression"] = code_json(detail)
    elif isinstance(detail, Lists):
        document["place"] = {"section": detail.section, "offset": detail.offset}
        if detail.shown_with is None:
            document["entries"] = [_entry_json(entry) for entry in detail.entries]
        else:
            document["entries_with"] = detail.shown_with
    elif isinstance(detail, Reference):
        document["place"] = plain(detail)
    return document | error_json(attribute.error)


def _entry_json(entry: DumpedListEntry) -> dict[str, Any]:
    document: dict[str, Any] = plain(evolve(entry, code=None))
    del document["code"]
    return document if entry.code is None else {**document, "expression": code_json(entry.code)}


def code_json(code: DumpedExpression) -> dict[str, Any]:
    """Return an expression as a JSON object."""
    return {"bytes": code.data.hex(), "text": code.text, "notes": list(code.notes), **error_json(code.error)}


# --- Parts of sections as text ------------------------------------------------------------------------------------


def part_text(part: SectionPart) -> Iterator[str]:
    """Yield the lines of a part of a section."""
    yield style("kind", f"{part.section}+{part.offset:#x}") + f"  {part.title}"
    facts = [(name, value) for name, value in part.facts.items() if value is not None]
    label = max((len(name) for name, _ in facts), default=0)
    for name, value in facts:
        text = ", ".join(map(str, value)) if isinstance(value, list) else _plain_text(value)
        head = f"  {style('name', name)}{' ' * (label - len(name))}  "
        yield from beside(head, wrapped(text, max(NARROWEST, room(label + 4))), label + 4)
    for table in part.tables:
        yield from _table_text(table)


def _plain_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _table_text(table: Table) -> Iterator[str]:
    """Yield a table, without empty columns if all rows are known when the first one is written."""
    rows = iter(table.rows)
    sample = list(islice(rows, SAMPLE))
    cells = [[_cell(kind, value) for (_, kind), value in zip(table.columns, row, strict=True)] for row in sample]
    nothing = [("", "0") if kind == "rare" else ("",) for _, kind in table.columns]
    used = [i for i, empty in enumerate(nothing) if any(row[i] not in empty for row in cells)]
    if len(sample) == SAMPLE:
        used = list(range(len(table.columns)))
    yield f"  {style('name', table.name)}"
    if not used:
        return
    heads = [name for name, _ in table.columns]
    widths = [max(len(heads[i]), *(len(row[i]) for row in cells)) for i in used]
    sides = "".join("r" if table.columns[i][1] in _RIGHT else "l" for i in used)
    yield " " * INDENT + style("dim", aligned([heads[i] for i in used], widths, sides).rstrip())
    kinds = [table.columns[i][1] for i in used]
    template = _row_template(kinds, widths, [[row[i] for i in used] for row in sample])
    width = max(NARROWEST, room(INDENT + sum(width + 2 for width in widths[:-1])))
    are_all = len(used) == len(table.columns)
    for row in chain(sample, rows):
        values = row if are_all else [row[i] for i in used]
        text = values[-1]
        if template is not None and type(text) is str and len(text) <= width and text.isprintable():
            try:
                yield (template % (*values[:-1],) + text).rstrip()
            except TypeError:  # a cell without a value
                pass
            else:
                continue
        yield from _row_text(list(zip(kinds, values, strict=True)), widths, sides)


def _row_template(kinds: list[Kind], widths: list[int], sample: list[list[Any]]) -> str | None:
    """Return a format of the columns before the last one, which costs less than `_row_text`, if all are numbers."""
    *numbers, last = kinds
    if last != "text" or not all(kind in _RIGHT for kind in numbers):
        return None
    if not all(type(value) is int for row in sample for value in row[:-1]):
        return None
    cells = zip(numbers, widths, strict=False)
    return " " * INDENT + "".join(f"%{'#' if kind == 'address' else ''}{width}{'x' if kind == 'address' else 'd'}  "
                                  for kind, width in cells)  # fmt: skip


def _row_text(row: list[tuple[Kind, Any]], widths: list[int], sides: str) -> Iterator[str]:
    """Yield the lines of a row; an expression that does not fit is below its row."""
    *others, (kind, value) = row
    before = INDENT + sum(width + 2 for width in widths[:-1])
    head = " " * INDENT + aligned([*(_cell(*cell) for cell in others), ""], [*widths[:-1], 0], sides)
    if isinstance(value, DumpedExpression):
        lines: Sequence[str] = code_text(value, max(NARROWEST, room(before)))
        if len(lines) > 1:
            yield head.rstrip()
            yield from (" " * (INDENT + 2) + line for line in code_text(value, room(INDENT + 2)))
            return
    elif sides[-1] == "r":
        lines = [_cell(kind, value).rjust(widths[-1])]
    else:
        lines = wrapped(_cell(kind, value), max(NARROWEST, room(before)))
    yield from beside(head, lines, before)


def _cell(kind: Kind, value: Any) -> str:
    if value is None:
        return ""
    if kind == "address":
        return f"{value:#x}"
    if kind == "bytes":
        return bytes(value).hex()
    if kind == "source":
        return f"embedded, {counted(len(value.splitlines()), 'line')}"
    if kind == "code":
        return "expression"
    return str(value) if isinstance(value, int) else shown(cut(str(value)))


# --- JSON ---------------------------------------------------------------------------------------------------------


def part_json(part: SectionPart) -> dict[str, Any]:
    """Return a part of a section as a JSON object: its facts, and its tables with named columns."""
    return {
        "section": part.section,
        "offset": part.offset,
        "title": part.title,
        "facts": {name.replace(" ", "_"): plain(value) for name, value in part.facts.items()},
        "tables": [{"name": table.name, "rows": _rows_json(table)} for table in part.tables],
    }


def _rows_json(table: Table) -> list[dict[str, Any]]:
    names = [name for name, _ in table.columns]
    return [
        {
            name: value
            if type(value) is int
            else code_json(value)
            if isinstance(value, DumpedExpression)
            else plain(value)
            for name, value in zip(names, row, strict=True)
        }
        for row in table.rows
    ]


# --- Call frame information -------------------------------------------------------------------------------------------


NO_INFORMATION = "no unwind information"
_LABEL = 12
"""The width of the column of registers, after which rules begin."""


# --- Text ---------------------------------------------------------------------------------------------------------


def listed_text(listed: DecodedFrameEntry, frames: Frames, *, name: str = "") -> list[str]:
    """Return an entry as lines: its header, instructions and the changes of rows; ``name`` is that of its code."""
    entry = listed.entry
    head = f"{entry.section}+{entry.offset:#x}"
    if isinstance(entry, Cie):
        lines = [style("kind", f"{head}  CIE"), *_cie_header(entry, frames)]
    elif isinstance(entry, Fde):
        cie, segment = f"{entry.cie.offset:#x}", hexadecimal(entry.segment)
        pairs = ("CIE", cie), ("segment", segment), ("LSDA", _pointer(entry.lsda))
        lines = [_fde_head(entry, name), *labels(pairs, indent=2)]
    else:
        return [style("kind", f"{head}  terminator")]
    lines += instructions_text(listed.instructions, entry, frames)
    before: UnwindRules | None = None
    for row in listed.rows:
        lines += [f"  {style('name', 'rows')}"] if before is None else []
        lines += row_text(row, frames, entry=entry, before=before)
        before = row
    if listed.initial.cfa is not None or listed.initial.registers:
        rules = _rules(listed.initial.cfa, listed.initial.registers, entry, frames)
        lines += [f"  {style('name', 'rules')}", *rules]
    if listed.error is not None:
        first, *rest = wrapped(f"error: {listed.error}", room(2))
        lines += [f"  {style('error', first)}", *(f"  {line}" for line in rest)]
    return lines


def at_text(frame_at: FrameAt, frames: Frames, *, name: str = "") -> list[str]:
    """Return the row of one address as lines."""
    lines = [_fde_head(frame_at.fde, name)]
    return lines if frame_at.row is None else lines + row_text(frame_at.row, frames, entry=frame_at.fde)


def _fde_head(fde: Fde, name: str) -> str:
    head = f"{fde.section}+{fde.offset:#x}  FDE {fde.low:#x} to {fde.high:#x}"
    return style("kind", f"{head}  {shown(name)}".rstrip())


def _cie_header(cie: Cie, frames: Frames) -> list[str]:
    pairs: list[tuple[str, str | None]] = [
        ("version", f"{cie.version}{', DWARF64' if cie.offset_size == 8 else ''}"),
        ("augmentation", f'"{cie.augmentation}"' if cie.augmentation else None),
    ]
    how = cie.format
    if how is not None:
        segment = f", segment selectors of {how.segment_size}" if how.segment_size else ""
        pairs += [
            ("addresses", f"{how.form.address_size} bytes{segment}"),
            ("alignment", f"code {how.code_alignment}, data {how.data_alignment}"),
            ("returns to", frames.register_name(cie.return_address or 0)),
            ("locations", encoding_text(how.pointers) if how.pointers else None),
        ]
    pairs += [
        ("LSDA", encoding_text(cie.lsda_encoding) if cie.lsda_encoding != DW_EH_PE_omit else None),
        ("personality", _pointer(cie.personality)),
        ("frames", "of signals" if cie.is_signal_frame else None),
    ]
    return labels(pairs, indent=2)


def _pointer(pointer: Any) -> str | None:
    if pointer is None:
        return None
    return f"the address at {pointer.address:#x}" if pointer.indirect else f"{pointer.address:#x}"


def instructions_text(listed: Instructions, entry: Cie | Fde, frames: Frames) -> list[str]:
    """Return a line for each instruction, with its expression below; repeated nops are counted."""
    lines = [f"  {style('name', 'instructions')}"] if listed.instructions else []
    location = entry.low if isinstance(entry, Fde) else None
    nops = 0
    for instruction in listed.instructions:
        if instruction.name == "DW_CFA_nop":
            nops += 1
            if nops > 1:
                lines.pop()
            times = f" ({nops} times)" if nops > 1 else ""
            lines.append(f"    {instruction.offset - nops + 1:#06x}  {instruction.name}{times}")
            continue
        nops = 0
        words, location = _words(instruction, location, frames)
        lines.append(f"    {instruction.offset:#06x}  {style('name', instruction.name)} {words}".rstrip())
        for operand, value in instruction.pairs():
            if operand.role == "expression":
                lines += [f"{' ' * 12}{line}" for line in code_text(frames.code(value, entry), room(12))]
    return lines


def _words(instruction: DecodedInstruction, location: int | None, frames: Frames) -> tuple[str, int | None]:
    """Return the operands of an instruction except expressions, and the location after it."""
    words = []
    for operand, value in instruction.pairs():
        role = operand.role
        if role == "register":
            words.append(frames.register_name(value))
        elif role == "space":
            words.append(frames.space_name(value))
        elif role == "offset":
            words.append(f"{value:+d}")
        elif role == "delta":
            location = None if location is None else location + value
            words.append(f"{value}" + ("" if location is None else f" -> {location:#x}"))
        elif role == "address":
            location = value
            words.append(f"{value:#x}")
        elif role != "expression":
            words.append(str(value))
    return " ".join(words), location


def row_text(row: UnwindRules, frames: Frames, *, entry: Cie | Fde, before: UnwindRules | None = None) -> list[str]:
    """Return a row as lines: all of it, or what has changed since the row before."""
    lines = [f"    {style('number', f'{row.start:#x}')} to {row.end:#x}"]
    if row.is_empty:
        return [f"{lines[0]}  {NO_INFORMATION}"]
    if before is None or before.is_empty:
        return lines + _rules(row.cfa, row.registers, entry, frames)
    changed: dict[int, Rule | None] = {}
    if row.registers is not before.registers:  # rows between which no rule changes share them
        changed = {number: rule for number, rule in row.registers.items() if before.registers.get(number) != rule}
        changed |= dict.fromkeys(number for number in before.registers if number not in row.registers)
    same_cfa = row.cfa == before.cfa
    if same_cfa and not changed:
        return [f"{lines[0]}  as before"]
    return lines + _rules(row.cfa, changed, entry, frames, with_cfa=not same_cfa)


def _rules(cfa: Any, registers: Any, entry: Cie | Fde, frames: Frames, *, with_cfa: bool = True) -> list[str]:
    lines = []
    if with_cfa:
        lines += _rule("CFA", _cfa_lines(cfa, entry, frames))
    for numbers, rule in _grouped(registers):
        first, last = frames.register_name(numbers[0]), frames.register_name(numbers[-1])
        name = first if len(numbers) == 1 else f"{first} to {last}"
        lines += _rule(name, _rule_lines(rule, entry, frames))
    return lines


def _rule(name: str, lines: Iterable[str]) -> list[str]:
    return beside(f"      {style('name', name)}{' ' * max(1, _LABEL - len(name))}", lines, 6 + _LABEL)


def _grouped(registers: dict[int, Any]) -> Iterator[tuple[list[int], Any]]:
    """Yield registers with consecutive numbers that have equal rules as one group."""
    places = enumerate(sorted(registers))
    for (_, rule), group in groupby(places, lambda place: (place[1] - place[0], registers[place[1]])):
        yield [number for _, number in group], rule


def _cfa_lines(cfa: Any, entry: Cie | Fde, frames: Frames) -> Sequence[str]:
    if cfa is None:
        return ["not defined"]
    if cfa.word == "expression":
        return code_text(frames.code(cfa.block, entry), room(6 + _LABEL))
    place = frames.register_name(cfa.register) + (f"{cfa.offset:+d}" if cfa.offset else "")
    default = frames.target.default_space.number
    return [place if cfa.space == default else f"{frames.space_name(cfa.space)}#{place}"]


def _rule_lines(rule: Any, entry: Cie | Fde, frames: Frames) -> list[str]:
    """Return a rule: ``at`` says where the register is saved, ``is`` gives its value."""
    if rule is None:
        return ["no rule"]
    word = rule.word
    if word in ("offset", "val_offset"):
        place = f"CFA{rule.offset:+d}" if rule.offset else "CFA"
        return [f"at {place}" if word == "offset" else f"is {place}"]
    if word == "register":
        return [f"in {frames.register_name(rule.register)}"]
    if word in ("expression", "val_expression"):
        code = code_text(frames.code(rule.block, entry), room(9 + _LABEL))
        return beside("at " if word == "expression" else "is ", code, 3)
    return [str(word).replace("_", " ")]


# --- JSON ---------------------------------------------------------------------------------------------------------


def listed_json(listed: DecodedFrameEntry, frames: Frames, *, name: str = "") -> dict[str, Any]:
    """Return an entry as a JSON object with every row complete."""
    entry = listed.entry
    document: dict[str, Any] = {"section": entry.section, "offset": entry.offset, "end": entry.end}
    if isinstance(entry, Cie):
        document = {"kind": "cie", **document, **_cie_json(entry, frames)}
        document |= _rules_json(listed.initial.cfa, listed.initial.registers, frames, entry)
    elif isinstance(entry, Fde):
        document = {"kind": "fde", **document, **_fde_json(entry, name)}
        document["rows"] = list(_unwind_rows_json(listed.rows, frames, entry))
    else:
        return {"kind": "terminator", **document}
    document["instructions"] = [_instruction_json(instruction, entry, frames) for instruction in listed.instructions]
    return document | error_json(listed.error)


FREE_RULES = 1 << 14
"""The rows of an entry have so many rules in full; beyond that a row says that its rules are as before."""


def _unwind_rows_json(rows: Iterable[UnwindRules], frames: Frames, entry: Cie | Fde) -> Iterator[dict[str, Any]]:
    """Yield the rows of an entry. Of very many rules those that change are written, and paid from the budget."""
    count = 0
    before: Any = None
    for row in rows:
        count += len(row.registers)
        if count > FREE_RULES and row.registers is before:
            head = {"start": row.start, "end": row.end}
            cfa = None if row.cfa is None else _rule_json(row.cfa, frames, entry)
            yield head | {"cfa": cfa, "registers": None, "as_before": True, "unwind_information": not row.is_empty}
            continue
        if count > FREE_RULES:
            budget.spend(16 * len(row.registers))
        before = row.registers
        yield row_json(row, frames, entry)


def at_json(frame_at: FrameAt, frames: Frames, *, name: str = "") -> dict[str, Any]:
    """Return the row of one address as a JSON object."""
    fde = frame_at.fde
    head = {"address": frame_at.address, "section": fde.section, "offset": fde.offset}
    document = head | _fde_json(fde, name)
    document["row"] = None if frame_at.row is None else row_json(frame_at.row, frames, fde)
    return document | error_json(frame_at.error)


FDE = Record("cie=cie.offset start=low stop=high")
POINTERS = Record("segment", nested("lsda", Record("address indirect")))
CIE = Record("version", fact("format", value=lambda cie: f"DWARF{cie.offset_size * 8}"), "augmentation")
CIE_FORMAT = Record(
    "address_size=format.form.address_size segment_selector_size=format.segment_size "
    "code_alignment_factor=format.code_alignment data_alignment_factor=format.data_alignment "
    "return_address_register=return_address"
)
CIE_POINTERS = Record(
    "pointer_encoding=format.pointers lsda_encoding",
    nested("personality", Record("address indirect")),
    "signal_frame=is_signal_frame augmentation_data",
)


def _fde_json(fde: Fde, name: str) -> dict[str, Any]:
    return {**FDE.json(fde), "symbol": name.strip("<>") or None, **POINTERS.json(fde)}


def _cie_json(cie: Cie, frames: Frames) -> dict[str, Any]:
    if cie.format is None:
        return CIE.json(cie)
    register = {"return_address_register_name": frames.register_name(cie.return_address or 0)}
    return {**CIE.json(cie), **CIE_FORMAT.json(cie), **register, **CIE_POINTERS.json(cie)}


def _instruction_json(instruction: DecodedInstruction, entry: Cie | Fde, frames: Frames) -> dict[str, Any]:
    operands = []
    for operand, value in instruction.pairs():
        document: dict[str, Any] = {"kind": operand.role}
        if operand.role == "expression":
            document |= _code_json(value, entry, frames)
        else:
            document["value"] = value
        if operand.role == "register":
            document["name"] = frames.register_name(value)
        elif operand.role == "space":
            document["name"] = frames.space_name(value)
        operands.append(document)
    return {"offset": instruction.offset, "instruction": instruction.name, "operands": operands}


def row_json(row: UnwindRules, frames: Frames, entry: Cie | Fde) -> dict[str, Any]:
    """Return a row in the form of the case format, with names."""
    rules = _rules_json(row.cfa, row.registers, frames, entry)
    return {"start": row.start, "end": row.end, **rules, "unwind_information": not row.is_empty}


def _rules_json(cfa: Any, registers: Any, frames: Frames, entry: Cie | Fde) -> dict[str, Any]:
    named = {
        str(number): {"name": frames.register_name(number), **_rule_json(registers[number], frames, entry)}
        for number in sorted(registers)
    }
    return {"cfa": None if cfa is None else _rule_json(cfa, frames, entry), "registers": named}


def _rule_json(rule: Any, frames: Frames, entry: Cie | Fde) -> dict[str, Any]:
    document = rule_json(rule)
    if "register" in document:
        document["register_name"] = frames.register_name(document["register"])
    if "space" in document:
        document["space_name"] = frames.space_name(document["space"])
    if "expr" in document:
        document |= _code_json(rule.block, entry, frames)
    return document


def _code_json(block: ExpressionBytes, entry: Cie | Fde, frames: Frames) -> dict[str, Any]:
    document = code_json(frames.code(block, entry))
    return {"expr": document.pop("bytes"), **document}
