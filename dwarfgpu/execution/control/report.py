"""What a run has come to: where waves stopped and why, what was counted, and the first elements of buffers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, UsageError, nearest_hint
from dwarfgpu.execution.halts import FAILURES
from dwarfgpu.execution.launch.argument_values import components, is_text, objects_of
from dwarfgpu.immutable import frozen
from dwarfgpu.lanes import first_lane
from dwarfgpu.program.code.source_files import SourceTexts
from dwarfgpu.program.frames.wave_positions import Triple, place_of
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.types.model import Struct, Type, known_size, resolved

if TYPE_CHECKING:
    from dwarfgpu.execution.control.check_report import CheckReport
    from dwarfgpu.execution.control.profile import ProfiledLine
    from dwarfgpu.execution.control.running import CodePosition, Running
    from dwarfgpu.execution.halts import Halt
    from dwarfgpu.machines.machine import Machine
    from dwarfgpu.program.frames.answers import LaneAnswer
    from dwarfgpu.program.frames.reasons import Reason
    from dwarfgpu.program.values.objects import Object

FIRST_ELEMENTS = 8
"""The elements of a buffer that are shown."""
MOST_ELEMENTS = 32
"""Those of one that may be shown as a whole."""
GOING_ON = "only a debugger can end the loop: `dwarfgpu debug` has `set var` and `jump`; --limit N stops earlier"
_WORD = re.compile(r"[A-Za-z_]\w*")
_SLICE = re.compile(r"(.+)\[(-?\d+)?:(-?\d+)?\]")
_ELEMENTS = re.compile(r"(?:(.+)\[(-?\d+)\]|\*?([^*@\[]+))(?:@(\d+))?")
_MEMBERS = re.compile(r"(.+\])((?:\.\w+)*)")


@frozen
class StoppedWave:
    """A wave that a halt concerns."""

    id: str
    work_group: tuple[int, int, int]
    lanes: int
    """As a mask."""
    work_items: tuple[Triple, Triple] | None = None
    """The positions of the first and the last lane in the work-group; None if a lane has none."""
    origin: Triple | None = None
    """The global id of the first work-item of the work-group."""


@frozen
class BufferPreview:
    """The beginning of a buffer."""

    name: str
    type: str
    shape: tuple[int, ...]
    first: tuple[Any, ...]
    """The first elements; structures are dictionaries."""
    path: str | None = None
    objects: str = ""
    """How many vectors or other objects its numbers are, as text."""
    is_part: bool = False
    """Whether the elements were named."""

    @property
    def is_whole(self) -> bool:
        """Whether the first elements are all of them."""
        return prod(self.shape) <= len(self.first)


@frozen
class EndlessLoop:
    """The loop that waves do not leave."""

    first: CodePosition
    last: CodePosition
    """The first and the last line."""
    end: CodePosition
    """The branch that could leave it, or the instruction before it that has a line."""
    text: str | None
    """The line of the source there."""
    values: tuple[tuple[str, Object], ...]
    """What the names in it are in the first lane."""
    waiting: dict[CodePosition, list[str]]
    """Where other waves wait at a barrier, perhaps for those in the loop."""


@frozen
class StoppedLine:
    """The line of the source where waves have stopped, with what the names in it are in a lane."""

    number: int
    text: str
    wave: int
    lane: int
    values: tuple[tuple[str, Object], ...]
    lacking: dict[str, Reason]
    """The names that have no value, and why."""


@frozen(eq=False)
class RunReport:
    """What a run has come to."""

    kernel: str
    grid: tuple[int, int, int]
    work_group: tuple[int, int, int]
    halt: Halt
    position: CodePosition | None
    waves: tuple[StoppedWave, ...]
    wave_count: int
    waves_ended: int
    instructions: int
    buffers: tuple[BufferPreview, ...] = ()
    profile: tuple[ProfiledLine, ...] | None = None
    notices: tuple[str, ...] = ()
    snapshot: str | None = None
    loop: EndlessLoop | None = None
    line: StoppedLine | None = None
    checked: CheckReport | None = None
    profile_file: str | None = None
    """The file that a profile or a trace was written to."""

    @property
    def has_failed(self) -> bool:
        """Whether the kernel cannot go on as it should."""
        return self.halt.kind in FAILURES


def report(
    running: Running,
    halt: Halt,
    *,
    buffers: tuple[BufferPreview, ...] = (),
    profile: tuple[ProfiledLine, ...] | None = None,
    snapshot: str | None = None,
    checked: CheckReport | None = None,
    profile_file: str | None = None,
) -> RunReport:
    """Return what a run has come to at a halt."""
    from dwarfgpu.execution.launch.kernarg import absent_parts

    machine, plan = running.machine, running.launched.plan
    waves = [_stopped(machine, wave, mask) for wave, mask in (halt.lanes or {}).items()]
    loop = endless_loop(running, halt)
    notices = [*plan.problems, *plan.notes, *absent_parts(plan.kernel)]
    if running.condition_problem is not None and halt.breakpoint is not None:
        notices.append(f"the condition has no value, so the waves stopped: {running.condition_problem.text}")
    if halt.loop is not None:
        notices.append(GOING_ON)
    found: Any = () if machine.checks is None else machine.device.memory.findings  # type: ignore[attr-defined]
    if running.made and (halt.kind in FAILURES or any(finding.is_error for finding in found)):
        notices.append(running.made)
    return RunReport(
        plan.kernel.name,
        plan.geometry.grid,
        plan.geometry.work_group,
        halt,
        None if halt.pc is None else running.position(halt.pc),
        tuple(waves),
        plan.geometry.wave_count,
        machine.device.waves_ended,
        machine.device.executed,
        buffers,
        profile,
        tuple(notices),
        snapshot,
        loop,
        _line(running, halt) if loop is None else None,
        checked,
        profile_file,
    )


def endless_loop(running: Running, halt: Halt) -> EndlessLoop | None:
    """Return the loop of a halt, in words of the source."""
    if not halt.loop:
        return None
    branch, *others = halt.loop
    places = [running.position(address) for address in (branch, *reversed(others))]
    before = (place for place in places if place.line and place.address <= branch)
    exit_ = next(before, places[0])  # compilers give branches at -O0 no line
    lines = [place for place in places if place.line and place.file == exit_.file] or places[:1]
    wave = next(iter(halt.lanes or ()))
    mask = (halt.lanes or {})[wave]
    end = running.line_at(exit_.address)
    text = None if end is None else SourceTexts().read(end.file).line(end.line)
    first, last = min(lines, key=lambda place: place.line), max(lines, key=lambda place: place.line)
    answers = _answers(running, wave, first_lane(mask), text) if text and mask else ()
    values = tuple((name, answer.value) for name, answer in answers if answer.value is not None)
    waiting: dict[CodePosition, list[str]] = {}
    for batch in running.machine.device.waiting:
        names = [running.machine.ids[number] for number in sorted(batch.waves.tolist())]
        waiting.setdefault(running.position(batch.pc), []).extend(names)
    return EndlessLoop(first, last, exit_, text, values, waiting)


def _line(running: Running, halt: Halt) -> StoppedLine | None:
    """Return the line of a halt with the values of the first lane of the first wave."""
    line = None if halt.pc is None else running.line_at(halt.pc)
    text = None if line is None else SourceTexts().read(line.file).line(line.line)
    wave = next(iter(halt.lanes or ()), None)
    if line is None or text is None or wave is None:
        return None
    lane = first_lane((halt.lanes or {})[wave] or 1)
    answers = [*_answers(running, wave, lane, text)]
    values = tuple((name, answer.value) for name, answer in answers if answer.value is not None)
    variables = ((name, answer) for name, answer in answers if not name.startswith("*"))
    lacking = {name: answer.reason for name, answer in variables if answer.value is None and answer.reason is not None}
    return StoppedLine(line.line, text, wave, lane, values, lacking)


def _answers(running: Running, wave: int, lane: int, text: str) -> Iterator[tuple[str, LaneAnswer]]:
    """Yield what the names of variables in a line of the source are, and what pointers among them point to."""
    frame = running.attached[wave].frame(0)
    names = {variable.name for variable in frame.variables()}
    for name in dict.fromkeys(word for word in _WORD.findall(text) if word in names):
        for each in (name, f"*{name}"):
            with suppress(DwarfGpuError):
                yield each, frame.eval(each, [lane]).of(lane)


def _stopped(machine: Machine, wave: int, mask: int) -> StoppedWave:
    where = place_of(machine, wave)
    first, last = (where.item(lane) for lane in ((mask & -mask).bit_length() - 1, mask.bit_length() - 1))
    ends = None if not mask or first is None or last is None else (first, last)
    return StoppedWave(machine.ids[wave], machine.place_of(wave)[1], mask, ends, where.origin)


def preview(running: Running, text: str, path: str | None = None) -> BufferPreview:
    """Return the beginning of a buffer, or the elements that a text names, or a member of each of them.

    They are ``NAME[FIRST:LAST]``, counted as in Python, or ``NAME[I]``, ``NAME[I]@COUNT`` and ``*NAME@COUNT`` of GDB,
    and ``.MEMBER`` of what is in brackets.
    """
    name, bounds, members = _part(text)
    array, pointed = running.buffer(name), running.planned_buffer(name).pointed
    has_padding = path is None or path.endswith(".csv")
    has_padding = has_padding and components(pointed) is not None
    flat = array.reshape(-1) if bounds is None and not has_padding else objects_of(array, pointed)
    first = slice(MOST_ELEMENTS if len(flat) <= MOST_ELEMENTS else FIRST_ELEMENTS)
    if path is not None and flat.dtype.names and len(flat) > MOST_ELEMENTS:
        first = slice(1)  # the file has them all
    elements = _members(flat[bounds or first], members, text)
    kind = elements.dtype.name
    if (elements.dtype.names or flat.ndim > 1) and pointed is not None and not members:
        kind = safe_text(pointed).removeprefix("const ")
    objects = _objects_text(array, pointed) if bounds is None and not has_padding else ""
    if bounds is not None and (bounds.stop or 0) > len(flat):
        objects = f"all from there on: {name} has {len(flat)}"
    shape = (len(elements),) if bounds is not None else (len(flat),) if has_padding else tuple(array.shape)
    type_ = pointed
    for member in members:
        type_ = _member_type(type_, member)
    if members and type_ is not None and is_text(type_):
        kind = safe_text(type_)
    first_ones = tuple(_element(each, type_) for each in elements)
    return BufferPreview(text, kind, shape, first_ones, path, objects, bounds is not None)


def _objects_text(array: Any, pointed: Type | None) -> str:
    """Return how many vectors or other objects of several numbers a buffer of numbers has."""
    size = None if pointed is None else known_size(pointed)
    if pointed is None or not size or size <= array.itemsize:
        return ""
    count, rest = divmod(array.nbytes, size)
    padded = "" if components(pointed) is None else ", each with 1 number of padding"
    more = padded if not rest else f" and {rest} of {size} bytes{padded}"
    return f"{count} {safe_text(pointed).removeprefix('const ')}{more}"


def buffer_in(text: str) -> str:
    """Return the name of the buffer of a preview."""
    return _part(text)[0]


def check_preview(running: Running, text: str) -> None:
    """Refuse a preview of a buffer, an element or a member that is not there."""
    name, _bounds, members = _part(text)
    elements = objects_of(running.buffer(name), running.planned_buffer(name).pointed)
    if ":" not in text and (absent := absent_element(running, text)) is not None:
        raise UsageError(absent)
    _members(elements[:0], members, text)


def absent_element(running: Running, text: str) -> str | None:
    """Return that a buffer has none of the elements that a text names, and how many it has; None if it has some."""
    name, bounds, _members = _part(text)
    if bounds is None or name not in (buffer.name for buffer in running.launched.plan.buffers):
        return None
    elements = objects_of(running.buffer(name), running.planned_buffer(name).pointed)
    return None if elements[bounds].size else f"{text[:60]} is not there: {name} has {len(elements)} elements"


def _part(text: str) -> tuple[str, slice | None, list[str]]:
    """Split the name of a part of a buffer into the buffer, the elements, and which member of them is meant."""
    match = _MEMBERS.fullmatch(text)
    elements, members = match.groups() if match else (text, "")
    return *_name_and_slice(elements), members.split(".")[1:]


def _members(elements: Any, members: list[str], text: str) -> Any:
    for member in members:
        names = elements.dtype.names or ()
        if member not in names:
            hint = nearest_hint(member, names, f"the members are {', '.join(names)}") if names else None
            raise UsageError(f"{text[:60]} is not there: the elements have no member {member[:40]!r}", hint=hint)
        elements = elements[member]
    return elements


def _name_and_slice(text: str) -> tuple[str, slice | None]:
    if match := _SLICE.fullmatch(text):
        first, last = (int(bound) if bound else None for bound in match.groups()[1:])
        return match[1], slice(first, last)
    match = _ELEMENTS.fullmatch(text)
    if match is None or match[3] == text:
        return text, None
    start = int(match[2] or 0)
    return match[1] or match[3], slice(start, start + int(match[4] or 1) or None)


class QuotedText(str):
    """Characters of an array, up to the zero that ends them."""

    __slots__ = ()


def _element(value: Any, kind: Type | None = None) -> Any:
    """Return an element of an array as Python has it: a structure as a dictionary, and plain bytes as digits."""
    names = value.dtype.names
    if names:
        return {name: _element(value[name], _member_type(kind, name)) for name in names}
    if (
        kind is not None
        and is_text(kind)
        and value.dtype.itemsize == 1
        and (text := _text(value.tobytes())) is not None
    ):
        return text
    return value.tobytes().hex() if value.dtype.kind == "V" else value.tolist()


def _text(data: bytes) -> QuotedText | None:
    """Return the text that bytes begin with; None if they are none."""
    with suppress(UnicodeDecodeError):
        text = data.partition(b"\0")[0].decode()
        return QuotedText(text) if text.isprintable() else None
    return None


def _member_type(kind: Type | None, name: str) -> Type | None:
    """Return the type of a member of a structure, or of the elements of an array of structures."""
    inner = None if kind is None else resolved(kind)
    members = inner.body.members if isinstance(inner, Struct) else ()
    return next((member.type for member in members if member.name == name), None)
