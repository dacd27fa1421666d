"""What a launch sets up, as text and as JSON: the initial state of a wave, and structures in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.render.kernels import kernel_head
from dwarfgpu.render.layout import counted, labels, room, style, table, wrapped
from dwarfgpu.render.records import Record, fact, nested

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.execution.launch.dispatch import PlannedDispatch, RegisterState
    from dwarfgpu.execution.launch.structures import ObjectInMemory, ShownField
    from dwarfgpu.targets.amdgpu.geometry import GridPosition

COLUMN = 18
"""The column where the text of a register begins."""
BITS_COLUMN = 12
"""The column where the bits of a field begin."""
WORD_BITS = 32
WORDS = "words", "unknown", "reserved"
"""The kinds of fields that are shown as 32-bit words."""


def _triple(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


# --- The initial state --------------------------------------------------------------------------------------------


def state_text(dispatch: PlannedDispatch, place: GridPosition, registers: tuple[RegisterState, ...]) -> list[str]:
    """Return the initial registers of a wave as lines."""
    lines = [kernel_head(dispatch.kernel), *labels(_summary(dispatch, place), indent=2)]
    lines.append(f"  {style('name', 'registers')}")
    for register in registers:
        lines += _register(register)
    lines += [style("error", f"  {line}") for problem in dispatch.problems for line in wrapped(problem, room(2))]
    return [*lines, *_arguments(dispatch)]


def _summary(dispatch: PlannedDispatch, place: GridPosition) -> list[tuple[str, str]]:
    shape, start = dispatch.geometry, dispatch.start
    size = shape.size_of(place.group)
    partial = f" (partial, {_triple(size)})" if size != shape.work_group else ""
    group = _triple(place.group) + partial
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


def _register(register: RegisterState) -> list[str]:
    row, rule = register.row, register.row.rule
    value = f"  {style('number', _number(register))}" if row.is_set and row.kind != "v" else ""
    label = style("name", row.registers) + " " * max(1, COLUMN - 4 - len(row.registers))
    lines = [f"    {label}{rule.name}{value}"]
    text = [f"set by {rule.by}: {rule.meaning}" if row.is_set else f"not set: {rule.meaning}"]
    text += [", ".join(f"{name} {number:#x}" for name, number in register.parts)] if register.parts else []
    text += _lanes(register) if row.kind == "v" else []
    text += [f"[{rule.enable}; {rule.clause}]" if rule.enable else f"[{rule.clause}]"]
    lines += [" " * COLUMN + line for part in text for line in wrapped(part, room(COLUMN))]
    return lines


def _number(register: RegisterState) -> str:
    if register.row.rule.is_number:
        return f"{sum(word << WORD_BITS * at for at, word in enumerate(register.words)):#x}"
    return " ".join(f"{word:#x}" for word in register.words)


def _lanes(register: RegisterState) -> list[str]:
    texts = []
    for first, last, value, step in _runs(register.words):
        lanes = f"lane {first}:" if first == last else f"lanes {first}-{last}:"
        texts.append(f"{lanes} {value:#x}" + (f" to {value + step * (last - first):#x}" if step else ""))
    return texts


def _runs(words: tuple[int, ...]) -> Iterator[tuple[int, int, int, int]]:
    """Yield lanes whose words differ by one step: first and last lane, the first word, the step."""
    at = 0
    while at < len(words):
        step = words[at + 1] - words[at] if at + 1 < len(words) else 0
        end = at
        while end + 1 < len(words) and words[end + 1] - words[end] == step and step >= 0:
            end += 1
        yield at, end, words[at], step if end > at else 0
        at = end + 1


def _arguments(dispatch: PlannedDispatch) -> list[str]:
    if not dispatch.arguments:
        return []
    head = f"  {style('name', 'arguments')}   at {dispatch.places.kernarg:#x}"
    rows = [("offset", "size", "what", "value")]
    for argument in dispatch.arguments:
        value = _argument(argument.value, is_given=argument.is_given)
        rows.append((str(argument.offset), str(argument.size), argument.name, value))
    return [head, *table(rows, "rrll", indent=4)]


def _argument(value: bytes, *, is_given: bool) -> str:
    if not is_given:
        return "0 (not given)"
    if len(value) > 8:
        return f"{value[:16].hex(' ', 4)}{' ...' if len(value) > 16 else ''}"
    return f"{int.from_bytes(value, 'little'):#x}"


def state_json(dispatch: PlannedDispatch, place: GridPosition, registers: tuple[RegisterState, ...]) -> dict[str, Any]:
    """Return the state as a JSON object; words are 32 bits, the lowest first, and null if not set."""
    return {
        **DISPATCH.json(dispatch),
        "wave": {
            "number": place.number + 1,
            "work_group": list(place.group),
            "wave_in_group": place.wave,
            "lanes": dispatch.geometry.lanes_of(place),
        },
        "registers": [*map(_register_json, registers)],
        "kernarg": {"address": f"{dispatch.places.kernarg:#x}", "arguments": [*map(ARGUMENT.json, dispatch.arguments)]},
        "problems": list(dispatch.problems),
        "memory": [*map(BLOCK.json, dispatch.blocks)],
    }


DISPATCH = Record(
    "file=file.name kernel=kernel.name target=target.name grid=geometry.grid work_group=geometry.work_group "
    "work_groups=geometry.groups waves=geometry.wave_count"
)
ARGUMENT = Record("offset name bytes=value given=is_given")
BLOCK = Record("what=name address#", fact("size", value=lambda block: len(block.data)))
REGISTER = Record(
    "registers=row.registers name=row.rule.name",
    fact("set_by", value=lambda register: register.row.rule.by if register.row.is_set else None),
    "asked_by=row.rule.enable? meaning=row.rule.meaning spec=row.rule.clause",
)


def _register_json(register: RegisterState) -> dict[str, Any]:
    words = list(register.words) if register.row.is_set or register.row.kind == "v" else None
    parts = {"parts": dict(register.parts)} if register.parts else {}
    return {**REGISTER.json(register), "lanes" if register.row.kind == "v" else "words": words, **parts}


# --- Structures in memory -----------------------------------------------------------------------------------------


def object_text(structure: ObjectInMemory) -> list[str]:
    """Return a structure with all its fields as lines."""
    lines = [f"{style('kind', structure.name)} at {structure.address:#x}, {counted(structure.size, 'byte')}"]
    lines += [f"  {style('dim', line)}" for line in wrapped(f"[{structure.clause}]", 78)]
    parts = [part for part in structure.parts if part.kind != "reserved" or part.value]
    rows = [(str(part.offset), str(part.size), part.name or "(reserved)", _part_value(part)) for part in parts]
    head, *fields = table([("offset", "size", "name", "value"), *rows], "rrll")
    lines.append(head)
    for line, part in zip(fields, parts, strict=True):
        inner = [
            (bits.name, f"{bits.value} ({bits.meaning})" if bits.meaning else str(bits.value))
            for bits in part.bits
            if bits.value or bits.name != "reserved"
        ]
        lines += [line, *table(inner or _words(part), "ll", indent=BITS_COLUMN)]
    for violation in structure.violations:
        lines += [style("error", f"  {line}") for line in wrapped(violation, 78)]
    return lines


def _part_value(part: ShownField) -> str:
    if part.kind == "unknown":
        return "unknown: no text gives the fields of these words"
    if part.kind in WORDS:
        return "" if _words(part) else "0"
    is_hex = part.kind == "address" or part.bits or part.value >> WORD_BITS not in (0, -1)
    text = f"{part.value:#x}" if is_hex else str(part.value)
    return f"{text} ({part.meaning})" if part.meaning else text


def _words(part: ShownField) -> list[tuple[str, str]]:
    """Return the 32-bit words of a field that is not a number; known ones that are all 0 are left out."""
    if part.kind not in WORDS or not (part.value or part.kind == "unknown"):
        return []
    data = part.value.to_bytes(part.size, "little")
    starts = range(0, part.size, WORD_BITS // 8)
    return [(f"+{at}", f"{int.from_bytes(data[at : at + WORD_BITS // 8], 'little'):#010x}") for at in starts]


def _value(part: ShownField) -> Any:
    if part.kind in WORDS:
        return part.value.to_bytes(part.size, "little")
    return f"{part.value:#x}" if part.kind == "address" else part.value


PART = Record(
    "offset size name?",
    fact("value", value=_value),
    "meaning what=text spec=clause",
    fact("bits*", value=lambda part: part.bits or None),
)
OBJECT = Record("name address# size spec=clause", nested("fields=parts", PART), "problems=violations")
