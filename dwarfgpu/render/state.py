"""The initial state of a wave, and structures in memory, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.render.layout import WIDTH, counted, labelled, plain_style, shown, table, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.launch.dispatch import PlannedDispatch, RegisterState
    from dwarfgpu.program.launch.structures import ObjectInMemory, ShownField
    from dwarfgpu.render.layout import Style
    from dwarfgpu.targets.amdgpu.geometry import WavePosition

COLUMN = 18
"""Where the text behind a register begins."""
BITS_COLUMN = 12
"""Where the bits of a field begin."""
WORD_BITS = 32


def _triple(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


# --- The initial state --------------------------------------------------------------------------------------------


def state_text(
    dispatch: PlannedDispatch,
    place: WavePosition,
    registers: tuple[RegisterState, ...],
    style: Style = plain_style,
) -> list[str]:
    """Every register of a wave that the documents speak of."""
    lines = [style("kind", shown(dispatch.kernel.name))]
    for label, text in _summary(dispatch, place):
        lines += labelled(label, text, style, indent=2)
    lines.append(f"  {style('name', 'registers')}")
    for each in registers:
        lines += _register(each, style)
    lines += [style("error", f"  {line}") for each in dispatch.problems for line in wrapped(each, WIDTH - 2)]
    return [*lines, *_arguments(dispatch, style)]


def _summary(dispatch: PlannedDispatch, place: WavePosition) -> list[tuple[str, str]]:
    shape, start = dispatch.geometry, dispatch.start
    size = shape.size_of(place.group)
    group = (
        f"{_triple(place.group)} (partial, {_triple(size)})"
        if size != shape.work_group
        else _triple(place.group)
    )
    wave = f"{place.number + 1} of {shape.wave_count}: wave {place.wave} of {shape.waves_of(place.group)} in work-group"
    code = f"code object at {dispatch.load_address:#x}"
    local = f"{counted(start.group_segment_size, 'byte')} of local memory"
    scratch = f"{counted(start.scratch.wave_bytes, 'byte')} of scratch memory a wave"
    return [
        ("target", dispatch.target.name),
        (
            "grid",
            f"{_triple(shape.grid)} work-items: {_triple(shape.groups)} work-groups of {_triple(shape.work_group)}",
        ),
        ("wave", f"{wave} {group}, {shape.lanes_of(place)} of {shape.wave_size} lanes"),
        ("memory", f"{code}, {local}, {scratch}"),
    ]


def _register(each: RegisterState, style: Style) -> list[str]:
    """One row of the state: registers, name and value, then who sets them and why."""
    row, rule = each.row, each.row.rule
    value = f"  {style('number', _number(each))}" if row.is_set and row.kind != "v" else ""
    label = style("name", row.registers) + " " * max(1, COLUMN - 4 - len(row.registers))
    lines = [f"    {label}{rule.name}{value}"]
    text = [f"set by {rule.by}: {rule.meaning}" if row.is_set else f"not set: {rule.meaning}"]
    text += [", ".join(f"{name} {number:#x}" for name, number in each.parts)] if each.parts else []
    text += _lanes(each) if row.kind == "v" else []
    text += [f"[{rule.enable}; {rule.clause}]" if rule.enable else f"[{rule.clause}]"]
    lines += [" " * COLUMN + line for one in text for line in wrapped(one, WIDTH - COLUMN)]
    return lines


def _number(each: RegisterState) -> str:
    if each.row.rule.is_number:
        return f"{sum(word << WORD_BITS * at for at, word in enumerate(each.words)):#x}"
    return " ".join(f"{word:#x}" for word in each.words)


def _lanes(each: RegisterState) -> list[str]:
    found = []
    for first, last, value, step in _runs(each.words):
        lanes = f"lane {first}:" if first == last else f"lanes {first}-{last}:"
        found.append(f"{lanes} {value:#x}" + (f" to {value + step * (last - first):#x}" if step else ""))
    return found


def _runs(words: tuple[int, ...]) -> Iterator[tuple[int, int, int, int]]:
    """Lanes whose words are equally far apart: first and last lane, the first word, the difference."""
    at = 0
    while at < len(words):
        step = words[at + 1] - words[at] if at + 1 < len(words) else 0
        end = at
        while end + 1 < len(words) and words[end + 1] - words[end] == step and step >= 0:
            end += 1
        yield at, end, words[at], step if end > at else 0
        at = end + 1


def _arguments(dispatch: PlannedDispatch, style: Style) -> list[str]:
    if not dispatch.arguments:
        return []
    head = f"  {style('name', 'arguments')}   at {dispatch.places.kernarg:#x}"
    rows = [("offset", "size", "what", "value")]
    rows += [
        (str(each.offset), str(each.size), each.name, _argument(each.value, is_given=each.is_given))
        for each in dispatch.arguments
    ]
    return [head, *table(rows, "rrll", indent=4)]


def _argument(value: bytes, *, is_given: bool) -> str:
    if not is_given:
        return "0 (not given)"
    if len(value) > 8:
        return f"{value[:16].hex(' ', 4)}{' ...' if len(value) > 16 else ''}"
    return f"{int.from_bytes(value, 'little'):#x}"


def state_json(
    dispatch: PlannedDispatch, place: WavePosition, registers: tuple[RegisterState, ...]
) -> dict[str, Any]:
    """The same as JSON. Words are 32 bits, the lowest first; null where nobody sets them."""
    shape = dispatch.geometry
    return {
        "file": dispatch.file.name,
        "kernel": dispatch.kernel.name,
        "target": dispatch.target.name,
        "grid": list(shape.grid),
        "work_group": list(shape.work_group),
        "work_groups": list(shape.groups),
        "waves": shape.wave_count,
        "wave": {
            "number": place.number + 1,
            "work_group": list(place.group),
            "wave_in_group": place.wave,
            "lanes": shape.lanes_of(place),
        },
        "registers": [_register_json(each) for each in registers],
        "kernarg": {
            "address": f"{dispatch.places.kernarg:#x}",
            "arguments": [
                {"offset": each.offset, "name": each.name, "bytes": each.value.hex(), "given": each.is_given}
                for each in dispatch.arguments
            ],
        },
        "problems": list(dispatch.problems),
        "memory": [
            {"what": each.name, "address": f"{each.address:#x}", "size": len(each.data)}
            for each in dispatch.blocks
        ],
    }


def _register_json(each: RegisterState) -> dict[str, Any]:
    rule = each.row.rule
    document: dict[str, Any] = {
        "registers": each.row.registers,
        "name": rule.name,
        "set_by": rule.by if each.row.is_set else None,
        "asked_by": rule.enable or None,
        "meaning": rule.meaning,
        "spec": rule.clause,
    }
    if each.row.kind == "v":
        document["lanes"] = list(each.words)
    else:
        document["words"] = list(each.words) if each.row.is_set else None
    if each.parts:
        document["parts"] = dict(each.parts)
    return document


# --- Structures in memory -----------------------------------------------------------------------------------------


def object_text(found: ObjectInMemory, style: Style = plain_style) -> list[str]:
    """A structure with all its fields."""
    lines = [f"{style('kind', found.name)} at {found.address:#x}, {counted(found.size, 'byte')}"]
    lines += [f"  {style('dim', line)}" for line in wrapped(f"[{found.clause}]", 78)]
    parts = [part for part in found.parts if part.kind != "reserved" or part.value]
    rows = [
        (str(part.offset), str(part.size), part.name or "(reserved)", _part_value(part)) for part in parts
    ]
    head, *fields = table([("offset", "size", "name", "value"), *rows], "rrll")
    lines.append(head)
    for line, part in zip(fields, parts, strict=True):
        inner = [
            (bits.name, _bits_value(bits)) for bits in part.bits if bits.value or bits.name != "reserved"
        ]
        lines += [line, *table(inner or _words(part), "ll", indent=BITS_COLUMN)]
    for each in found.violations:
        lines += [style("error", f"  {line}") for line in wrapped(each, 78)]
    return lines


def _part_value(part: ShownField) -> str:
    if part.kind in ("words", "reserved"):
        return "" if _words(part) else "0"
    is_hex = part.kind == "address" or part.bits or part.value >> WORD_BITS not in (0, -1)
    text = f"{part.value:#x}" if is_hex else str(part.value)
    return f"{text} ({part.meaning})" if part.meaning else text


def _words(part: ShownField) -> list[tuple[str, str]]:
    """The 32-bit words of a field that is no number, where they are not all 0."""
    if part.kind not in ("words", "reserved") or not part.value:
        return []
    data = part.value.to_bytes(part.size, "little")
    starts = range(0, part.size, WORD_BITS // 8)
    return [(f"+{at}", f"{int.from_bytes(data[at : at + WORD_BITS // 8], 'little'):#010x}") for at in starts]


def _bits_value(bits: Any) -> str:
    return f"{bits.value} ({bits.meaning})" if bits.meaning else str(bits.value)


def object_json(found: ObjectInMemory) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "name": found.name,
        "address": f"{found.address:#x}",
        "size": found.size,
        "spec": found.clause,
        "fields": [_part_json(part) for part in found.parts],
        "problems": list(found.violations),
    }


def _part_json(part: ShownField) -> dict[str, Any]:
    value: Any = f"{part.value:#x}" if part.kind == "address" else part.value
    if part.kind in ("words", "reserved"):
        value = part.value.to_bytes(part.size, "little").hex()
    document: dict[str, Any] = {"offset": part.offset, "size": part.size, "name": part.name or None}
    document |= {"value": value, "meaning": part.meaning, "what": part.text, "spec": part.clause}
    if part.bits:
        document["bits"] = [
            {
                "name": each.name,
                "shift": each.shift,
                "width": each.width,
                "value": each.value,
                "meaning": each.meaning,
            }
            for each in part.bits
        ]
    return document
