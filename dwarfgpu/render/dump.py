"""Debug sections as text and as JSON: the entries of a unit with their attributes, and parts of sections."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.audits.dump.entries import Lists, Reference, ShownAttribute, ShownEntry, ShownUnit
from dwarfgpu.encoding.operands import dwarf_format
from dwarfgpu.program.code.dumped_expressions import DumpedExpression
from dwarfgpu.render.layout import aligned, beside, counted, cut, error_json, labels, plain, room, shown, style, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def entry_text(entry: ShownEntry) -> list[str]:
    """Return an entry and its attributes as lines, indented by its depth."""
    indent = 2 * min(entry.depth, DEEPEST)
    lines = [f"{style('number', f'{entry.offset:#010x}')}  {' ' * indent}{style('name', entry.tag)}"]
    label = max((len(attribute.name) for attribute in entry.attributes), default=0)
    start = OFFSET_WIDTH + indent + 2
    for attribute in entry.attributes:
        values = attribute_text(attribute, max(NARROWEST_ENTRY, room(start + label + 2))) or [""]
        lines += beside(f"{' ' * start}{attribute.name:{label}}  ", values, start + label + 2)
        if attribute.error is not None:
            error = wrapped(attribute.error.message, max(NARROWEST_ENTRY, room(start + label + 2)))
            lines += [f"{' ' * (start + label + 2)}{style('error', line)}" for line in error]
    return lines


def attribute_text(attribute: ShownAttribute, width: int) -> list[str]:
    """Return the value of an attribute in lines of a width."""
    detail = attribute.detail
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
    text = f"{detail.section}+{detail.offset:#x}" if isinstance(detail, Reference) else _value(attribute)
    return wrapped(text if attribute.note is None else f"{text} ({cut(attribute.note)})", width)


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


def code_text(code: DumpedExpression, width: int) -> list[str]:
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
    return lines


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
        lines = code_text(value, max(NARROWEST, room(before)))
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
