"""Entries as text and as JSON: the tree of a unit, each attribute with what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.program.dump.code import Code
from dwarfgpu.program.dump.values import Lists, Place
from dwarfgpu.render.layout import (
    WIDTH,
    beside,
    cut,
    labelled,
    plain,
    plain_style,
    problem_json,
    shown,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.program.dump.entries import ShownEntry, ShownUnit
    from dwarfgpu.program.dump.listed import ListedEntry
    from dwarfgpu.program.dump.values import ShownAttribute
    from dwarfgpu.render.layout import Style

OFFSET_WIDTH = 12
DEEPEST = 10
"""Entries that are deeper are not indented further: text must stay in the width of a terminal."""
NARROWEST = 34
"""Values have at least this width, also where that leaves the terminal."""
MAX_BYTES = 64
MAX_ENTRIES = 512
"""How many entries of a list are shown."""


# --- Text ---------------------------------------------------------------------------------------------------------


def unit_text(unit: ShownUnit, style: Style = plain_style) -> list[str]:
    """The header of a unit."""
    size = "DWARF64" if unit.offset_size == 8 else "DWARF32"
    lines = [
        style("kind", f"{unit.section}+{unit.offset:#x}")
        + f"  {unit.kind} unit, version {unit.version}, {size}, {unit.address_size}-byte addresses"
    ]
    pairs = [("name", unit.name), ("file", unit.file)]
    if unit.signature is not None:
        pairs.append(("signature", f"{unit.signature:#018x}"))
    if unit.dwo_id is not None:
        pairs.append(("split unit ID", f"{unit.dwo_id:#018x}"))
    pairs += [
        ("attributes", f"{unit.attributes} ({unit.reason})"),
        ("augmentation", unit.augmentation),
        ("expressions", f"{unit.expressions}, registers of {unit.target}"),
    ]
    for label, text in pairs:
        if text is not None:
            lines += labelled(label, text, style, indent=2)
    return lines


def entry_text(entry: ShownEntry, style: Style = plain_style) -> list[str]:
    """An entry and its attributes, indented by its depth."""
    indent = 2 * min(entry.depth, DEEPEST)
    lines = [f"{style('number', f'{entry.offset:#010x}')}  {' ' * indent}{style('name', entry.tag)}"]
    label = max((len(each.name) for each in entry.attributes), default=0)
    start = OFFSET_WIDTH + indent + 2
    for each in entry.attributes:
        values = attribute_text(each, max(NARROWEST, WIDTH - start - label - 2)) or [""]
        lines += beside(f"{' ' * start}{each.name:{label}}  ", values, start + label + 2)
        if each.error is not None:
            error = wrapped(each.error.message, max(NARROWEST, WIDTH - start - label - 2))
            lines += [f"{' ' * (start + label + 2)}{style('error', line)}" for line in error]
    return lines


def attribute_text(attribute: ShownAttribute, width: int) -> list[str]:
    """The value of an attribute in lines of a width."""
    detail = attribute.detail
    if isinstance(detail, Code):
        return code_text(detail, width)
    if isinstance(detail, Lists):
        lines = [f"{detail.section}+{detail.offset:#x}"]
        if detail.pc is not None:
            lines[0] += f" at {detail.pc:#x}" + ("" if detail.entries else ": nowhere")
        lines += [line for each in detail.entries[:MAX_ENTRIES] for line in _entry(each, width)]
        if len(detail.entries) > MAX_ENTRIES:
            lines.append(f"and {len(detail.entries) - MAX_ENTRIES} more, which --json has")
        return lines
    text = f"{detail.section}+{detail.offset:#x}" if isinstance(detail, Place) else _value(attribute)
    return wrapped(text if attribute.note is None else f"{text} ({cut(attribute.note)})", width)


def _value(attribute: ShownAttribute) -> str:
    value = attribute.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{cut(value)}"'
    if isinstance(value, (bytes, bytearray)):
        return bytes(value[:MAX_BYTES]).hex() + ("..." if len(value) > MAX_BYTES else "") or "(no bytes)"
    if attribute.kind == "reference" and isinstance(value, int):
        return f"{value:#010x}"
    if attribute.kind in ("address", "unknown") and isinstance(value, int):
        return f"{value:#x}"
    return str(value)


def _entry(entry: ListedEntry, width: int) -> list[str]:
    """The addresses of an entry of a list, and its expression below them if both do not fit in a line."""
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


def code_text(code: Code, width: int) -> list[str]:
    """An expression in lines that the assembler reads; what operands mean stands behind it as a comment."""
    words = [*(f"{each};" for each in code.operations[:-1]), *code.operations[-1:]] or ["(no operations)"]
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
    """Words in lines, none of them broken."""
    lines: list[str] = []
    for word in map(shown, words):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


# --- JSON ---------------------------------------------------------------------------------------------------------


def unit_json(unit: ShownUnit) -> dict[str, Any]:
    """The header of a unit."""
    document: dict[str, Any] = plain(unit)
    return document


def entry_json(entry: ShownEntry) -> dict[str, Any]:
    """An entry and its attributes."""
    return {
        "section": entry.section,
        "offset": entry.offset,
        "parent": entry.parent,
        "depth": entry.depth,
        "tag": entry.tag,
        "attributes": [attribute_json(each) for each in entry.attributes],
    }


def attribute_json(attribute: ShownAttribute) -> dict[str, Any]:
    """An attribute: its value as it is encoded, and what that means."""
    detail = attribute.detail
    document: dict[str, Any] = {
        "name": attribute.name,
        "form": attribute.form,
        "class": attribute.kind,
        "value": plain(attribute.value),
    }
    if attribute.note is not None:
        document["note"] = attribute.note
    if isinstance(detail, Code):
        document["expression"] = code_json(detail)
    elif isinstance(detail, Lists):
        document["place"] = {"section": detail.section, "offset": detail.offset}
        document["entries"] = [_entry_json(each) for each in detail.entries]
    elif isinstance(detail, Place):
        document["place"] = plain(detail)
    if attribute.error is not None:
        document["error"] = problem_json(attribute.error)
    return document


def _entry_json(entry: ListedEntry) -> dict[str, Any]:
    document: dict[str, Any] = plain(evolve(entry, code=None))
    del document["code"]
    return document if entry.code is None else {**document, "expression": code_json(entry.code)}


def code_json(code: Code) -> dict[str, Any]:
    """An expression."""
    document: dict[str, Any] = {"bytes": code.data.hex(), "text": code.text, "notes": list(code.notes)}
    if code.error is not None:
        document["error"] = problem_json(code.error)
    return document
