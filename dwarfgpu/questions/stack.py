"""Questions about call frames: ``backtrace`` and ``info frame``."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from dwarfgpu import budget
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.expr.location_json import JsonWriter
from dwarfgpu.expr.location_text import TextRenderer
from dwarfgpu.immutable import evolve, field, frozen
from dwarfgpu.program.frames import backtrace as stacks
from dwarfgpu.program.frames import frame_attributes as attributes
from dwarfgpu.program.frames.lanes import ACTIVE, UNKNOWN, UNUSED
from dwarfgpu.program.frames.selectors import waves_of
from dwarfgpu.program.frames.variable import PARAMETER, Variable
from dwarfgpu.program.frames.wave import Wave, trap_at
from dwarfgpu.questions.document import NO_ANSWER, Document, Output
from dwarfgpu.questions.sources import line_text
from dwarfgpu.questions.variables import variable_document, variable_lines
from dwarfgpu.questions.waves import lanes_here
from dwarfgpu.render import backtrace as render
from dwarfgpu.render import source_places
from dwarfgpu.render.lanes import lane_place, stop_text, stops_json
from dwarfgpu.render.layout import fitted, lanes_text, paragraphs, plain, problem_json, ranges_text, shown, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.program.frames.backtrace import Backtrace, Saved
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection


FOUND_BY_CODE = "(by the code): without call frame information in the file, the caller was found by reading the code"
"""The hint at the first caller that was found so."""
MAX_WAVES = 8
"""How many waves of a group are named."""


# --- One frame ------------------------------------------------------------------------------------------------------


def show_frame(debugger: Debugger) -> None:
    """Show the selected frame, and its line of the source; and where the lane is, if it does not execute there."""
    frame, output = debugger.frame, debugger.output
    if not debugger.is_source_coming:
        output.lines(debugger.call_writer(frame).lines(frame))
        line = line_text(debugger, frame)
        if line is not None:
            output.line(line)
    note = _where_lane_is(debugger, frame)
    if note:
        output.line(output.style("dim", note))


def _where_lane_is(selection: Selection, frame: Frame) -> str | None:
    """Return what there is to say about a lane that does not execute the code."""
    lane, mask = selection.lane, frame.active_mask
    if lane is None or mask is None or mask >> lane & 1:
        return None
    here = lanes_here(selection)
    lane_status = here.lanes[lane]
    if lane_status.state in (ACTIVE, UNKNOWN):
        return None
    if lane_status.state == UNUSED:
        return f"lane {lane} is unused: it has no work-item"
    if not here.by_attribute or lane_status.pc is None:
        return f"lane {lane} is inactive"
    return f"lane {lane} is inactive; it is in {lane_place(here, lane_status, short=False)}"


# --- All of them ----------------------------------------------------------------------------------------------------


def _host_lines(calls: Iterable[str]) -> Iterator[str]:
    """Yield the calls of the host that has launched."""
    for number, line in enumerate(calls):
        yield from fitted(f"host #{number}  {line}", 4)


def backtrace(selection: Selection, arguments: Arguments) -> Document:
    calls = selection.host_calls()
    if selection.attached is None and calls:
        return Document({"host": [*calls]}, lambda _output: _host_lines(calls))
    machine = selection.machine.stopped.machine
    word, _, rest = arguments.text.partition(" ")
    is_full = arguments.has("full") or word == "full"  # gdb had the word before it had options
    arguments = evolve(arguments, text=rest.strip() if word == "full" else arguments.text)
    count = frame_count(arguments.text or None, arguments)
    if arguments.has("wave") or selection.wave_number is None:
        waves = waves_of(machine, arguments.get("wave"))
    else:
        waves = [selection.wave_number]
    lane: int | None = arguments.get("lane")
    if lane is not None:
        selection.needs_lanes()
        selection.needs_lane(lane)
    renderer = render.BacktraceRenderer(machine.target)
    shown_frames = _ShownFrames(selection, arguments, count, lane, is_full)

    def groups() -> Iterator[Backtrace]:
        stopped, registers = selection.machine.stopped, arguments.has("registers")
        for group in stacks.backtraces(stopped, waves, lane=lane, registers=registers):
            if group.error is not None or (group.end is not None and group.end.is_failure):
                document.status = NO_ANSWER
            chosen = group.frames if count is None else group.frames[count]
            limited = evolve(group, frames=chosen, left_out=len(group.frames) - len(chosen))
            # the local variables differ between waves with equal stacks
            yield from (evolve(limited, waves=(wave,)) for wave in group.waves) if is_full else (limited,)

    def stack_json(group: Backtrace) -> dict[str, Any]:
        data = renderer.document(group, lane)
        data |= stops_json(selection.machine.stopped, group.waves)
        if is_full and group.error is None:
            shown_frames.add_locals(machine.wave_named(group.waves[0]), data["frames"])
        return data

    def text(output: Output) -> Iterator[str]:
        if len(waves) == 1:
            yield from _stop_lines(selection, waves)
            yield from shown_frames.lines(waves[0])
            yield from _host_lines(calls)
            document.hints += shown_frames.hints
            if selection.machine[waves[0]].end.is_failure:
                document.status = NO_ANSWER
            return
        yield from paragraphs(_group_lines(group) for group in groups())
        document.hints += shown_frames.hints

    def _group_lines(group: Backtrace) -> Iterator[str]:
        style = selection.output.style
        indices = [index for index in map(machine.wave_named, group.waves) if index is not None]
        yield style("kind", _group_head(selection, indices, group.waves))
        yield from _stop_lines(selection, indices)
        if group.error is not None:
            yield from (style("error", line) for line in wrapped(str(group.error), selection.output.width))
            return
        yield from shown_frames.lines(indices[0], is_group=len(indices) > 1)

    document = Document(
        {
            "target": machine.target.name,
            **({"host": [*calls]} if calls else {}),
            "stacks": map(stack_json, groups()),
            "problems": (problem_json(error) for error in selection.machine.stopped.problems),
        },
        text,
        rows="stacks",
        row={"target": machine.target.name},
    )
    return document


def _stop_lines(selection: Selection, waves: list[int]) -> Iterator[str]:
    by_text: dict[str, list[int]] = {}
    resting: dict[str, list[int]] = {}
    for wave in waves:
        stop = selection.machine.stopped.stop_of(wave)
        if stop is not None and stop.reasons:
            by_text.setdefault(stop_text(stop), []).append(wave + 1)
        elif stop is not None and stop.is_at_rest:
            resting.setdefault(stop.detail, []).append(wave + 1)
    for text, numbers in by_text.items():
        who = "" if len(waves) == 1 else f" of {selection.noun}{'s' * (len(numbers) > 1)} {ranges_text(numbers)}"
        yield from fitted(f"[Stop reason{who}: {text}]", 1)
    for text, numbers in resting.items():
        who = f"{selection.noun.capitalize()}{'s' if len(numbers) > 1 else ''} {ranges_text(numbers)}"
        yield from fitted(f"[{who} {text.replace('is ', 'are ') if len(numbers) > 1 else text}]", 1)


def _group_head(selection: Selection, indices: list[int], names: tuple[str, ...]) -> str:
    """Return the head of waves with equal stacks: ``Waves 1-2 (1:1:1:1, 1:1:1:2):``."""
    noun = selection.noun.capitalize() + ("s" if len(indices) > 1 else "")
    some = ", ".join(map(shown, names[:MAX_WAVES])) + (", ..." if len(names) > MAX_WAVES else "")
    return f"{noun} {ranges_text(index + 1 for index in indices)} ({some}):"


FREE_FRAMES = 16
"""So many frames cost nothing; what is shown of more, as of a stack without an end, is paid from the budget."""


@frozen
class _ShownFrames:
    """What a backtrace shows of the frames of a wave."""

    selection: Selection
    arguments: Arguments
    count: slice | None
    lane: int | None
    is_full: bool
    hints: list[str] = field(factory=list, init=False, eq=False)

    def _is_paid(self, frame: Frame, number: int) -> bool:
        if number < FREE_FRAMES:
            return True
        count = sum(self.is_full or variable.kind == PARAMETER for variable in frame.variables())
        return budget.take(32 + 64 * count + 256 * self.arguments.has("registers"))

    @contextmanager
    def _looking_at(self, index: int | None) -> Iterator[None]:
        with self.selection.staying():
            if self.selection.wave_number != index:
                self.selection.wave_number, self.selection.frame_number = index, 0
            yield

    def lines(self, index: int, *, is_group: bool = False) -> Iterator[str]:
        """Yield the frames of a wave. Of a group, whose waves may have other arguments, those are not shown."""
        selection, output, lane = self.selection, self.selection.output, self.lane
        with self._looking_at(index):
            wave = selection.seen_wave if lane is None else selection.wave.seen_by(lane)
            warning, frames = "", limited(wave, self.count)
            if lane is not None:
                warning, frames = _frames_of(list(frames), lane)
            elif self.count is None:
                warning, frames = _without_inner(selection, frames)
            if warning:
                yield warning
            writer = selection.call_writer(selection.frame)
            writer.lane = writer.lane if lane is None else lane
            if is_group and writer.arguments != "all":
                writer.arguments = "none"
            last = None
            inner_rules = stacks.InnerRules()
            for number, frame in enumerate(frames):
                if not self._is_paid(frame, number):
                    break
                yield from writer.lines(frame)
                if frame.is_found_by_code and FOUND_BY_CODE not in selection.told:
                    selection.told.add(FOUND_BY_CODE)
                    self.hints.append(FOUND_BY_CODE)
                note = None if frame.number or lane is not None else _where_lane_is(selection, frame)
                if note:
                    yield " " * 4 + output.style("dim", note)
                if self.arguments.has("registers") and frame.activation is not None and not frame.is_inlined:
                    saved = stacks.saved_registers(frame.activation, inner_rules.of(frame.activation))
                    yield from render.BacktraceRenderer(frame.target).registers(saved, 8)
                if self.is_full:
                    yield from _locals_lines(selection, frame, writer.lane)
                last = frame
            if last is not None:
                yield from _end_lines(selection, last.number + 1)
            elif self.count is not None and lane is None:
                yield from _end_lines(selection, 0)

    def add_locals(self, index: int | None, frames: list[dict[str, Any]]) -> None:
        """Add the local variables to the documents of frames."""
        with self._looking_at(index):
            lanes = self.selection.lanes_of(self.arguments) if self.lane is None else [self.lane]
            for number, data in enumerate(frames):
                data["locals"] = []
                try:
                    frame = self.selection.wave.frame(data["number"])
                except UsageError:  # the waves were unwound together, and this one has cost the rest of the budget
                    continue
                if self._is_paid(frame, number):
                    writer = self.selection.renderer(frame=frame)
                    data["locals"] += (variable_document(writer, variable, lanes) for variable in _locals(frame))


def frame_count(text: str | None, arguments: Arguments) -> slice | None:
    """Return which frames N or -N means: the N innermost, or the N outermost; None without it."""
    if text is None:
        return None
    digits = text.removeprefix("-")
    if not digits.isdecimal() or not digits.isascii() or len(digits) > 9:
        raise arguments.wrong(f"takes a number, not {text[:40]!r}")
    count = int(digits)
    if text[0] == "-":
        return slice(-count, None) if count else slice(0, 0)
    return slice(0, count)


def limited(wave: Wave, count: slice | None) -> Iterable[Frame]:
    """Return all frames, or those that a count means."""
    if count is None:
        return iter(wave)
    return wave.frames()[count] if count.stop is None else islice(wave, count.stop)


def _end_lines(selection: Selection, following: int) -> Iterator[str]:
    """Yield what GDB says below frames that are not all, or behind which something is not known."""
    if next(islice(selection.seen_wave, following, None), None) is not None:
        yield "(More stack frames follow...)"
        return
    end = selection.wave.end
    if not end.is_regular:
        lines = fitted(f"Backtrace stopped: {end.message}")
        yield from (selection.output.style("error", line) for line in lines)


def _frames_of(frames: list[Frame], lane: int) -> tuple[str, Iterable[Frame]]:
    """Return the frames of functions that were called while a lane was active, and a warning if there are others."""
    inside = [frame for frame in frames if _was_active(frame, lane)]
    left = len(frames) - len(inside)
    noun = "frame is" if left == 1 else "frames are"
    return f"warning: lane {lane} is divergent, {left} {noun} left out" if left else "", inside


def _without_inner(selection: Selection, frames: Iterable[Frame]) -> tuple[str, Iterable[Frame]]:
    """Return all frames but the inner ones of functions that the selected lane is not in, and a warning of them."""
    lane, mask = selection.lane, selection.wave.frame(0).active_mask
    if lane is None or mask is None or mask >> lane & 1:
        return "", frames
    known = list(frames)
    first = next((frame.number for frame in known if _was_active(frame, lane)), -1)
    warning = ""
    if first < 0:
        warning = f"warning: lane {lane} was not active when these functions were called"
    elif first:
        warning = "warning: lane is divergent, skipping inactive frames"
    return warning, known[max(0, first) :]


def _was_active(frame: Frame, lane: int) -> bool:
    mask = None if frame.activation is None else frame.active_lanes()
    return mask is None or bool(mask >> lane & 1)


def _locals_lines(selection: Any, frame: Frame, lane: int | None) -> Iterator[str]:
    """Yield the local variables of a frame, as GDB shows them below it."""
    variables = _locals(frame)
    writer = selection.renderer(frame=frame)
    for variable in variables:
        yield from variable_lines(selection, writer, variable, None if lane is None else [lane], 8)
    if not variables:
        yield "No locals."


def _locals(frame: Frame) -> list[Variable]:
    return [variable for variable in frame.variables() if variable.kind != PARAMETER]


def info_frame(debugger: Debugger, arguments: Arguments) -> Document:
    here = debugger.frame
    if here.activation is None:
        raise UsageError("No stack.", kind="no_frame", hint="`target snapshot S` attaches a machine")
    saved = [] if here.is_inlined else list(stacks.saved_by(here))

    def lines(output: Output) -> Iterator[str]:
        for line in _facts(debugger, here):
            yield from fitted(line, 2)
        if saved and not here.has_lanes:
            pointer = here.target.stack_pointer
            places = [(saved_register, _memory_text(here, saved_register)) for saved_register in saved]
            texts = [f"{saved_register.register.name} at {text}" for saved_register, text in places if text is not None]
            if any(saved_register.register.number == pointer and text is None for saved_register, text in places):
                yield f" Previous frame's sp is {_cfa_text(here)}"
            if texts:
                yield " Saved registers:"
                yield from fitted(f"  {', '.join(texts)}", 2)
        elif saved:
            yield " Saved registers:"
            yield from render.BacktraceRenderer(here.target).registers(saved, 2)

    return Document(_frame_document(debugger, here, saved), lines)


def _frame_document(debugger: Debugger, here: Frame, saved: list[Saved]) -> dict[str, Any]:
    renderer = render.BacktraceRenderer(here.target)

    def frame_json(frame: Frame | None) -> dict[str, Any] | None:
        if frame is None or frame.activation is None:
            return None
        shown = stacks.shown_frame(frame, frame.activation, frame.active_lanes())
        return {**renderer.frame_json(shown), "cfa": renderer.cfa_json(shown)}

    outer = next(islice(debugger.wave, here.number + 1, None), None)
    end, now = debugger.wave.end, here.active_mask if here.has_lanes else None
    return {
        debugger.noun: debugger.wave.id,
        "frame": frame_json(here),
        "caller": frame_json(outer),
        "callee": frame_json(debugger.wave.frame(here.number - 1)) if here.number else None,
        "end": None if outer is not None else {"kind": end.kind, "message": end.message},
        "active": None if now is None else f"{now:#x}",
        **renderer.registers_json(saved, "saved_registers"),
        **_attributes_json(here),
        **({} if (trap := trap_at(here)) is None else {"trap": plain(trap)}),
    }


def _facts(debugger: Debugger, here: Frame) -> Iterator[str]:
    stack = here.stack
    assert stack is not None  # noqa: S101 (`info frame` needs one)
    source = here.call.source
    place = "" if source is None or source.file is None else f" ({source_places.line_text(source)})"
    name = f" in {shown(here.name)}" if here.name else ""
    outer = next(islice(debugger.seen_wave, here.number + 1, None), None)
    caller = stack.activations.returns_to(here.level)
    yield f"Stack level {here.number}, frame at {_cfa_text(here)}:"
    register = here.target.program_counter
    pc = here.target.register(register) if register is not None else None
    label = "pc" if pc is None else pc.name
    saved = f"; saved {label} = {caller.pc:#x}" if caller is not None else ""
    yield f" {label} = {here.pc:#x}{name}{place}{saved}"
    around = [f"caller of frame at {_cfa_text(debugger.seen_wave.frame(here.number - 1))}"] if here.number else []
    if here.is_tail_call:
        around.insert(0, "tail call frame")
    elif here.is_inlined and outer is not None:
        around.insert(0, f"inlined into frame {outer.number}")
    elif outer is not None:
        how = f" ({outer.found})" if outer.found else ""
        around.insert(0, f"called by frame at {_cfa_text(outer)}{how}")
    if around:
        yield f" {', '.join(around)}"
    if outer is None:
        yield f" outermost: {debugger.wave.end.message}"
    mask = here.active_lanes()
    if here.has_lanes:
        known = "not known" if mask is None else lanes_text(mask).removeprefix("lanes ")
        yield f" lanes active on entry: {known}"
        now = here.active_mask
        if now is not None and now != mask:
            yield f" lanes active now: {lanes_text(now).removeprefix('lanes ')}"
    if here.code is not None:
        yield f" code of {shown(here.code.file.name)}"
    trap = trap_at(here)
    if trap is not None:
        where = "at" if trap.address == here.pc else "after"
        yield f" stopped {where} s_trap {trap.number}: {trap.meaning}"
    yield from _attribute_lines(here)


def _attribute_lines(here: Frame) -> Iterator[str]:
    """Yield what attributes of the function and of the call say of the frame."""
    if here.activation is None:
        return
    lanes, renderer = here.activation.thread.lanes, TextRenderer(here.target.byte_order)

    def text(result: Any) -> str:
        return f"<error: {result}>" if isinstance(result, DwarfGpuError) else _short(here, renderer.entry(result))

    for attribute in attributes.frame_attributes(here, lanes):
        where = text(attribute.error or attribute.location)
        if attribute.name == attributes.RETURN_ADDRESS:
            yield f" return address stored at {where} (DW_AT_return_addr)"
            continue
        name = attributes.enclosing_name(here)
        parent = None if attribute.location is None else attributes.parent_of(here, attribute.location, lanes)
        number = "" if parent is None else f", frame {parent.number}"
        yield f" static link: frame at {where}{f' of {shown(name)}' if name else ''}{number} (DW_AT_static_link)"
    for parameter in attributes.call_parameters(here, lanes):
        parts = [] if parameter.value is None else [text(parameter.value)]
        if parameter.data_location is not None:
            parts.append(f"refers to {text(parameter.data_location)}")
        if parameter.data_value is not None:
            parts.append(f"with {text(parameter.data_value)} in it")
        if parts:
            yield f" at the call {shown(parameter.name or 'a parameter')}: {', '.join(parts)}"


def _attributes_json(here: Frame) -> dict[str, Any]:
    if here.activation is None:
        return {}
    lanes, writer = here.activation.thread.lanes, JsonWriter(here.target.byte_order)

    def json(result: Any) -> Any:
        if result is None:
            return None
        return {"error": problem_json(result)} if isinstance(result, DwarfGpuError) else writer.entry(result)

    document: dict[str, Any] = {}
    for attribute in attributes.frame_attributes(here, lanes):
        key = "return_address" if attribute.name == attributes.RETURN_ADDRESS else "static_link"
        document[key] = json(attribute.error or attribute.location)
    parameters = [
        {
            "name": parameter.name,
            "value": json(parameter.value),
            "data_location": json(parameter.data_location),
            "data_value": json(parameter.data_value),
        }
        for parameter in attributes.call_parameters(here, lanes)
    ]
    return {**document, "call_parameters": parameters} if parameters else document


def _cfa_text(frame: Frame) -> str:
    activation = frame.activation
    if activation is None:
        return "??"
    try:
        cfa = activation.cfa(activation.thread.lanes)
    except DwarfGpuError as error:
        return f"an address that is not known ({error.message})"
    return _short(frame, TextRenderer(frame.target.byte_order).location(cfa))


def _memory_text(frame: Frame, saved: Saved) -> str | None:
    """Return where in memory a register is as a whole; None of what is somewhere else."""
    if len(saved.spans) != 1:
        return None
    text = _short(frame, TextRenderer(frame.target.byte_order).location(saved.spans[0].location))
    return text if text.startswith("0x") else None


def _short(frame: Frame, text: str) -> str:
    """Return an address of a machine with one address space as GDB writes it."""
    return text if frame.has_lanes else text.removeprefix(f"{frame.target.default_space.name}#")
