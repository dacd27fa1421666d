"""What waves were launched with, as text and as JSON: the dispatch, and the arguments of the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dwarfgpu.immutable import frozen
from dwarfgpu.program.frames.launch_record import IN_SEGMENT
from dwarfgpu.program.frames.wave_positions import group_text
from dwarfgpu.render.lanes import global_id
from dwarfgpu.render.layout import counted, cut, labels, room, style, table, wrapped
from dwarfgpu.render.records import Record, fact, hexadecimal, nested
from dwarfgpu.render.value_json import value_json
from dwarfgpu.render.values import Look, ValueWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.frames.launch_record import LaunchArgument, LaunchRecord
    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.program.values.objects import Object

    Json = dict[str, Any]


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
        where += f", wave {place.wave_in_group} of it"
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
