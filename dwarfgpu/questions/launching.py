"""Questions about launches: what a wave starts with, and the structures of its queue in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.execution.launch import planning
from dwarfgpu.execution.launch.dispatch import initial_state
from dwarfgpu.execution.launch.options import LaunchOptions
from dwarfgpu.execution.launch.options import number as number_of
from dwarfgpu.execution.launch.structures import read_object
from dwarfgpu.immutable import frozen
from dwarfgpu.program.code.code_object import check_has_kernels
from dwarfgpu.program.frames.launch_record import IN_SEGMENT
from dwarfgpu.program.frames.wave_positions import group_text, waves_of
from dwarfgpu.questions.document import Document
from dwarfgpu.questions.table import STRUCTURES
from dwarfgpu.render.kernels import kernel_head
from dwarfgpu.render.lanes import global_id
from dwarfgpu.render.layout import Record, counted, cut, fact, hexadecimal, labels, nested, room, style, table, wrapped
from dwarfgpu.render.values import Look, ValueWriter, value_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.execution.launch.dispatch import PlannedDispatch, RegisterState
    from dwarfgpu.execution.launch.structures import ObjectInMemory, ShownField
    from dwarfgpu.program.frames.launch_record import LaunchArgument, LaunchRecord
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.targets.amdgpu.geometry import GridPosition

    Json = dict[str, Any]
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection


def launch_state(selection: Selection, arguments: Arguments) -> Document:
    words = arguments.words
    if len(words) != 1:
        raise arguments.wrong("needs the name of one kernel")
    if not arguments.has("grid"):
        raise arguments.wrong("needs -grid")
    file = selection.opened.file
    check_has_kernels(file)
    args = planning.arguments(arguments.many("arg"), "--arg") or None
    dispatch = planning.plan(file, words[0], LaunchOptions.read(arguments.get), args)
    number, count = number_of(arguments.get("wave") or "1", "--wave"), dispatch.geometry.wave_count
    if not 1 <= number <= count:
        raise UsageError(f"Unknown wave {number}.", kind="no_wave", hint=f"they are 1 to {count}")
    place = dispatch.geometry.place(number - 1)
    registers = initial_state(dispatch, place)
    return Document(state_json(dispatch, place, registers), lambda _output: state_text(dispatch, place, registers))


def _launched_wave(selection: Selection) -> Wave:
    """Return the wave that is selected; where all waves are of one dispatch and none is, the first."""
    machine = selection.machine
    if selection.wave_number is None and machine.has_waves and len(machine):
        waves = waves_of(machine.stopped)
        if len({waves.place_of(wave)[0] for wave in range(waves.wave_count)}) == 1:
            return machine[0]
    return selection.wave


def _arguments(selection: Selection, wave: Wave) -> list[ShownArgument]:
    frame = wave.frame(0)
    around, look = frame.around(frame.lane(None)), selection.renderer(frame=frame).look
    return [ShownArgument(each, each.object_in(around), look) for each in wave.launch.arguments]


def info_dispatch(selection: Selection, arguments: Arguments) -> Document:
    wave = selection.wave
    record, values = wave.launch, _arguments(selection, wave)
    items = work_items(record, wave.state.target.lane_count)
    place = {"work_group": record.place.work_group, "wave_in_group": record.place.wave_in_group}
    data = {"wave": wave.id, **launch_json(record, values), **place}
    data["work_items"] = [*map(WORK_ITEM.json, items)]
    return Document(data, lambda _output: dispatch_text(record, wave, values))


def info_kernel_args(selection: Selection, arguments: Arguments) -> Document:
    wave = _launched_wave(selection)
    record, values = wave.launch, _arguments(selection, wave)
    return Document(
        {"wave": wave.id, **launch_json(record, values)},
        lambda _output: arguments_text(record, values),
        rows="arguments",
    )


def structure(selection: Selection, arguments: Arguments) -> Document:
    words = arguments.words
    if len(words) != 2 or words[0] not in STRUCTURES:
        raise arguments.wrong(f"needs one of {', '.join(STRUCTURES)}, and an address")
    machine = selection.memory
    address = number_of(words[1].removeprefix("global#"), "ADDR")
    found = read_object(machine, machine.target, words[0], address)
    return Document(OBJECT.json(found), lambda _output: object_text(found), has_failed=bool(found.violations))


# --- Launches as text and JSON ----------------------------------------------------------------------------------------


@frozen
class ShownArgument:
    """An argument of a launch, with its value as an object."""

    argument: LaunchArgument
    value: Object | None
    look: Look

    @property
    def text(self) -> str:
        """The value on one line, or why there is none, and the memory that it points to."""
        argument = self.argument
        if self.value is None:
            return "<unknown>" if argument.why is None else f"<error: {argument.why.message}>"
        text = cut(ValueWriter(self.look, is_cplus=False).text(self.value, 0))
        if argument.memory is not None:
            text += f"  ({self._memory_text()})"
        return text if argument.written is None else f"{text}  (written since: {argument.written.hex()})"

    def _memory_text(self) -> str:
        memory, address = self.argument.memory, self.argument.number
        assert memory is not None and address is not None  # noqa: S101, PT018 (only a pointer has memory)
        if not memory.is_buffer:
            return f"{counted(memory.address + memory.size - address, 'byte')} known from there"
        into = f", {counted(address - memory.address, 'byte')} into it" if address > memory.address else ""
        return f"a buffer of {counted(memory.size, 'byte')}{into}"

    @property
    def json(self) -> Any:
        """The number, or the parts of what has parts, as JSON; None where the bytes are not known."""
        if self.value is None:
            return None
        found = value_json(self.value, self.look)
        del found["type"]
        return found.get("value", found)


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


ARGUMENT = Record(
    "position=argument.position",
    fact("", "Offset", lambda row: hexadecimal(row.argument.offset), side="r"),
    "type=argument.type_name:Type name=argument.name:Name hidden=argument.is_hidden kind=argument.kind",
    fact("", "Value", lambda row: row.text),
    "offset=argument.offset size=argument.size",
    fact("bytes", value=lambda row: _hex(row.argument.data)),
    "value=json origin=argument.origin",
    fact("written*", value=lambda row: _hex(row.argument.written)),
    nested("memory=argument.memory", Record("address size allocated=is_buffer")),
)
WORK_ITEM = Record("lane work_item global_id")


@frozen
class WorkItem:
    """The work-item of a lane."""

    lane: int
    work_item: tuple[int, int, int]
    """Its position in the work-group."""
    global_id: tuple[int, int, int]
    """Its position in the grid."""


def work_items(record: LaunchRecord, lane_count: int) -> list[WorkItem]:
    """Return the work-item of each lane that has one."""
    place, found = record.place, []
    for lane in range(lane_count):
        item = place.item(lane)
        if item is not None and place.origin is not None:
            found.append(WorkItem(lane, item, global_id(place.origin, item)))
    return found


LAUNCH = Record(
    fact("kernel", value=lambda record: record.place.dispatch and record.place.dispatch.kernel),
    fact("kernel_name", value=lambda record: record.kernel and record.kernel.source_name),
    fact("file", value=lambda record: record.code and record.code.file.name),
    "dispatch=place.dispatch kernarg found problems",
)


def launch_json(record: LaunchRecord, arguments: list[ShownArgument]) -> Json:
    """Return what a wave was launched with, with the arguments."""
    return {**LAUNCH.json(record), "arguments": [*map(ARGUMENT.json, arguments)]}


def _name(record: LaunchRecord) -> str:
    if record.kernel is not None:
        return record.kernel.source_name
    dispatch = record.place.dispatch
    return (dispatch and dispatch.kernel) or "??"


def arguments_text(record: LaunchRecord, arguments: list[ShownArgument]) -> Iterator[str]:
    """Yield the arguments of a kernel, one a line, after where they are from."""
    if record.kernarg is not None:
        now = any(each.argument.origin == IN_SEGMENT for each in arguments)
        told = f"{_name(record)}: arguments at {record.kernarg:#x}, {'as in memory now' if now else 'as launched'}"
        yield from wrapped(f"{told}; the address is from {record.found}" if now else told)
    for hidden in (False, True):
        chosen = [each for each in arguments if each.argument.is_hidden == hidden]
        if chosen:
            yield from ["", "from the runtime"] if hidden else []
            rows = [ARGUMENT.head, *map(ARGUMENT.cells, chosen)]
            yield from table(rows, ARGUMENT.sides, indent=2, width=room(), is_headed=True)
    if not arguments and record.kernel is not None and record.kernel.metadata is not None:
        yield f"{_name(record)} takes no arguments."
    yield from problem_lines(record)


def problem_lines(record: LaunchRecord) -> Iterator[str]:
    """Yield what is not known of a launch."""
    for problem in record.problems:
        yield from (style("error", line) for line in wrapped(problem))


def _sizes(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes))


def dispatch_text(record: LaunchRecord, wave: Wave, arguments: list[ShownArgument]) -> Iterator[str]:
    """Yield the dispatch of a wave, the place of the wave in it, and the arguments in short."""
    place, dispatch = record.place, record.place.dispatch
    items = work_items(record, wave.state.target.lane_count)
    pairs: list[tuple[str, str | None]] = [
        ("kernel", _name(record)),
        ("file", None if record.code is None else record.code.file.name),
    ]
    if dispatch is not None:
        grid = None
        if dispatch.grid is not None and dispatch.work_group is not None:
            grid = f"{_sizes(dispatch.grid)} work-items, work-groups of {_sizes(dispatch.work_group)}"
            grid += "" if place.grid is None else f": {_sizes(place.grid.groups)} work-groups"
        pairs += [
            ("dispatch", f"{dispatch.id}"),
            ("grid", grid),
            ("queue", hexadecimal(dispatch.queue)),
            ("packet", hexadecimal(dispatch.packet)),
        ]
    if record.kernarg is not None:
        pairs.append(("arguments", f"at {record.kernarg:#x}; the address is from {record.found}"))
    group = place.work_group
    where = None if group is None else f"work-group {group_text(group)}"
    if where is not None and place.wave_in_group is not None:
        where += f", wave {place.wave_in_group + 1} of it"
    pairs.append(("wave", wave.id if where is None else f"{wave.id}: {where}"))
    if items:
        first, last = items[0], items[-1]
        ends = [group_text(at) for at in (first.global_id, last.global_id)]
        pairs.append(("work-items", f"lanes {first.lane} to {last.lane} are {ends[0]} to {ends[1]} of the grid"))
    yield from labels(pairs)
    explicit = [each for each in arguments if not each.argument.is_hidden]
    if explicit:
        yield ""
        width = max(len(each.argument.name) for each in explicit)
        for each in explicit:
            yield from wrapped(f"  {each.argument.name.ljust(width)} = {each.text}")
    yield from problem_lines(record)


# --- The first instruction, and structures, as text and JSON ----------------------------------------------------------


COLUMN = 18
"""The column where the text of a register begins."""
BITS_COLUMN = 12
"""The column where the bits of a field begin."""
WORD_BITS = 32
WORDS = "words", "reserved"
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
    return [*lines, *_planned_arguments(dispatch)]


def _summary(dispatch: PlannedDispatch, place: GridPosition) -> list[tuple[str, str]]:
    shape, start = dispatch.geometry, dispatch.start
    size = shape.size_of(place.group)
    partial = f" (partial, {_triple(size)})" if size != shape.work_group else ""
    wave = f"wave {place.wave + 1} of {shape.waves_of(place.group)} in work-group {_triple(place.group)}{partial}"
    grid = f"{_triple(shape.grid)} work-items: {_triple(shape.groups)} work-groups of {_triple(shape.work_group)}"
    code = f"code object at {dispatch.load_address:#x}"
    local = f"{counted(start.group_segment_size, 'byte')} of local memory"
    scratch = f"{counted(start.scratch.wave_bytes, 'byte')} of scratch memory a wave"
    return [
        ("target", dispatch.target.name),
        ("grid", grid),
        (
            "wave",
            f"{place.number + 1} of {shape.wave_count}: {wave}, {shape.lanes_of(place)} of {shape.wave_size} lanes",
        ),
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


def _planned_arguments(dispatch: PlannedDispatch) -> list[str]:
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
        "kernarg": {"address": f"{dispatch.places.kernarg:#x}", "arguments": [*map(PLANNED.json, dispatch.arguments)]},
        "problems": list(dispatch.problems),
        "memory": [*map(BLOCK.json, dispatch.blocks)],
    }


DISPATCH = Record(
    "file=file.name kernel=kernel.name target=target.name grid=geometry.grid work_group=geometry.work_group "
    "work_groups=geometry.groups waves=geometry.wave_count"
)
PLANNED = Record("offset name bytes=value given=is_given")
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
    if part.kind in WORDS:
        return "" if _words(part) else "0"
    is_hex = part.kind == "address" or part.bits or part.value >> WORD_BITS not in (0, -1)
    text = f"{part.value:#x}" if is_hex else str(part.value)
    return f"{text} ({part.meaning})" if part.meaning else text


def _words(part: ShownField) -> list[tuple[str, str]]:
    """Return the 32-bit words of a field that is not a number; known ones that are all 0 are left out."""
    if part.kind not in WORDS or not part.value:
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
