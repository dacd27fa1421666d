"""Commands about call frames: ``backtrace``, ``frame``, ``up``, ``down``, ``info frame``."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from attrs import evolve

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.stack.selectors import numbers_in
from dwarfgpu.questions import asking

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.program.stack.backtrace import Saved
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.render.backtrace import CallWriter


# --- One frame ------------------------------------------------------------------------------------------------------


def call_writer(debugger: Debugger, frame: Frame) -> CallWriter:
    """Writes frames with their arguments in the lane that is looked at."""
    from dwarfgpu.render.backtrace import CallWriter

    lane = debugger.lane if frame.has_lanes else None
    look = evolve(asking.renderer(debugger, frame=frame).look, is_pretty=False)
    return CallWriter(lane, look, debugger.settings["print frame-arguments"])


def show_frame(debugger: Debugger) -> None:
    """The frame that is looked at, and its line of the source; and where the lane is, if it does not execute there."""
    from dwarfgpu.questions.sources import line_text

    frame, output = debugger.frame, debugger.output
    if not debugger.is_source_coming:
        output.lines(call_writer(debugger, frame).lines(frame, output.width, output.style))
        line = line_text(debugger, frame)
        if line is not None:
            output.line(line)
    note = _where_lane_is(debugger, frame)
    if note:
        output.line(output.style("dim", note))


def _where_lane_is(debugger: Debugger, frame: Frame) -> str | None:
    """What there is to say about a lane that does not execute the code."""
    from dwarfgpu.program.stack.lanes import ACTIVE, UNKNOWN, UNUSED
    from dwarfgpu.questions.waves import lanes_here
    from dwarfgpu.render.wave_tables import lane_place

    lane, mask = debugger.lane, frame.active_mask
    if lane is None or mask is None or mask >> lane & 1:
        return None
    here = lanes_here(debugger)
    found = next((each for each in here.lanes if each.number == lane), None)
    if found is None or found.state in (ACTIVE, UNKNOWN):
        return None
    if found.state == UNUSED:
        return f"lane {lane} is unused: it has no work-item"
    if not here.by_attribute or found.pc is None:
        return f"lane {lane} is inactive"
    return f"lane {lane} is inactive; it stands in {lane_place(here, found, short=False)}"


# --- Choosing one ---------------------------------------------------------------------------------------------------


def frame(debugger: Debugger, arguments: Arguments) -> None:
    """Frames are numbered from 0, the innermost one; functions that were inlined have frames of their own.
    `frame function NAME` looks at the nearest frame of that function.
    """
    words = arguments.words
    if words and words[0] == "function":
        name = arguments.text.partition("function")[2].strip()
        if not name:
            raise arguments.wrong("needs the name of a function")
        debugger.select_frame(_frame_of(debugger, name))
    elif words:
        text = words[1] if words[0] == "level" and len(words) == 2 else arguments.text
        if not text.isdecimal() or not text.isascii() or len(text) > 9:
            raise arguments.wrong(f"takes a number, and {text[:40]!r} is none")
        if next(islice(debugger.wave, int(text), None), None) is None:
            raise UsageError(f"No frame at level {text}.", kind="no_frame", hint="`bt` shows all frames")
        debugger.select_frame(int(text))
    show_frame(debugger)


def _frame_of(debugger: Debugger, name: str) -> int:
    """The number of the nearest frame of a function, whose name may be without its scopes."""
    for each in debugger.wave:
        known = each.name
        if known is not None and name in (known, known.rpartition("::")[2]):
            return each.number
    raise UsageError(f"No frame for function '{name[:60]}'.", kind="no_frame", hint="`bt` shows all frames")


def up(debugger: Debugger, arguments: Arguments) -> None:
    """Or N frames outwards."""
    _move(debugger, arguments.integer(), 1)


def down(debugger: Debugger, arguments: Arguments) -> None:
    """Or N frames inwards."""
    _move(debugger, arguments.integer(), -1)


def _move(debugger: Debugger, count: int | None, direction: int) -> None:
    wanted = debugger.frame_number + direction * (1 if count is None else count)
    found = max(0, wanted)
    if found > debugger.frame_number:
        seen = sum(1 for _frame in islice(debugger.wave, found + 1))
        found = min(found, seen - 1)
    if found == debugger.frame_number and wanted != found:
        is_up = wanted > found
        which = "Initial" if is_up else "Bottom (innermost)"
        message = f"{which} frame selected; you cannot go {'up' if is_up else 'down'}."
        raise UsageError(message, kind="no_frame")
    debugger.select_frame(found)
    show_frame(debugger)


def frame_apply(debugger: Debugger, arguments: Arguments) -> None:
    """`all`, N for the N innermost, -N for the N outermost, or `level LIST` says in which frames. Flags before
    COMMAND: with -q frames are not shown, with -c an error does not end it, and with -s errors and frames for which
    nothing is shown are passed over.
    """
    from dwarfgpu.questions import focus

    text = arguments.needed()
    if text.startswith("level"):
        which, flags, command = focus.split(evolve(arguments, text=text.removeprefix("level").strip()))
        count = sum(1 for _frame in debugger.wave)
        numbers = numbers_in(which, 0, count - 1, "frame")
        if not numbers:
            message = f"No frames match '{which[:40]}'."
            raise UsageError(message, kind="no_frame", hint="`bt` shows all frames")
    else:
        minus = "-" if text[0] == "-" else ""
        which, flags, command = focus.split(evolve(arguments, text=text[len(minus) :]))
        some = _limited(debugger, None if which == "all" else minus + which, arguments)
        numbers = [each.number for each in some]
    focus.check_command(debugger, flags, ("-q", "-c", "-s"), command, arguments)
    writer = call_writer(debugger, debugger.frame)

    def visit(number: int) -> Iterable[str]:
        debugger.select_frame(number)
        return writer.lines(debugger.frame, debugger.output.width, debugger.output.style)

    focus.apply(debugger, numbers, visit, command, flags)


# --- All of them ----------------------------------------------------------------------------------------------------


def backtrace(debugger: Debugger, arguments: Arguments) -> None:
    """With N only the N innermost frames, with -N the N outermost. Arguments are those of the lane that is looked at.
    If that lane was not active when the inner functions were called, the frames of those are left out.
    """
    output = debugger.output
    asked = _lane_asked(debugger, arguments)
    word, _, rest = arguments.text.partition(" ")
    is_full = arguments.has("full") or word == "full"  # gdb had the word before it had options
    arguments = evolve(arguments, text=rest.strip() if word == "full" else arguments.text)
    frames = _limited(debugger, arguments.text or None, arguments)
    if asked is not None:
        frames = _frames_of(debugger, frames, asked)
    elif not arguments.text:
        frames = _without_inner(debugger, frames)
    writer = call_writer(debugger, debugger.frame)
    writer.lane = writer.lane if asked is None else asked
    last = None
    for each in frames:
        output.lines(writer.lines(each, output.width, output.style))
        note = None if each.number or asked is not None else _where_lane_is(debugger, each)
        if note:
            output.line(" " * 4 + output.style("dim", note))
        if arguments.has("registers"):
            _show_saved(debugger, each)
        if is_full:
            _show_locals(debugger, each, writer.lane)
        last = each
    if last is not None:
        _show_end(debugger, last.number + 1)
    elif arguments.text and asked is None:
        _show_end(debugger, 0)


def _limited(debugger: Debugger, text: str | None, arguments: Arguments) -> Iterable[Frame]:
    """All frames, the N innermost, or the N outermost."""
    wave = debugger.wave
    if text is None:
        return iter(wave)
    digits = text.removeprefix("-")
    if not digits.isdecimal() or not digits.isascii() or len(digits) > 9:
        raise arguments.wrong(f"takes a number, and {text[:40]!r} is none")
    count = int(digits)
    return wave.frames()[max(0, len(wave.frames()) - count) :] if text[0] == "-" else islice(wave, count)


def _show_end(debugger: Debugger, following: int) -> None:
    """What GDB says below frames that are not all, or behind which something is not known."""
    if next(islice(debugger.wave, following, None), None) is not None:
        debugger.output.line("(More stack frames follow...)")
        return
    end = debugger.wave.end
    if not end.is_regular:
        from dwarfgpu.render.layout import fitted

        lines = fitted(f"Backtrace stopped: {end.message}", debugger.output.width)
        debugger.output.lines(debugger.output.style("error", line) for line in lines)


def _lane_asked(debugger: Debugger, arguments: Arguments) -> int | None:
    """The lane of `-lane N`."""
    text = arguments.get("lane")
    if text is None:
        return None
    from dwarfgpu.questions.waves import needs_lanes

    needs_lanes(debugger)
    count = debugger.machine.state.target.lane_count
    if not text.isdecimal() or not text.isascii() or len(text) > 9 or int(text) >= count:
        raise UsageError(f"Lane {text[:20]} does not exist on this wave.", kind="no_lane")
    return int(text)


def _frames_of(debugger: Debugger, frames: Iterable[Frame], lane: int) -> Iterator[Frame]:
    """The frames of functions that were called while a lane was active."""
    known = list(frames)
    inside = [each for each in known if _was_active(each, lane)]
    left = len(known) - len(inside)
    if left:
        noun = "frame is" if left == 1 else "frames are"
        debugger.output.line(f"warning: lane {lane} is divergent, {left} {noun} left out")
    yield from inside


def _without_inner(debugger: Debugger, frames: Iterable[Frame]) -> Iterator[Frame]:
    """All frames, but for the inner ones of functions that the lane that is looked at is not in."""
    lane, mask = debugger.lane, debugger.wave.frame(0).active_mask
    if lane is None or mask is None or mask >> lane & 1:
        yield from frames
        return
    first = _standing_frame(debugger, lane)
    known = list(frames)
    if first is None:
        inside = (each.number for each in known if _was_active(each, lane))
        first = next(inside, -1)
    if first < 0:
        debugger.output.line(f"warning: lane {lane} was not active when these functions were called")
    elif first:
        debugger.output.line("warning: lane is divergent, skipping inactive frames")
    yield from known[max(0, first) :]


def _was_active(each: Frame, lane: int) -> bool:
    """Whether a lane was active when the function was called; it is where nobody knows."""
    mask = None if each.physical is None else each.physical.active_lanes()
    return mask is None or bool(mask >> lane & 1)


def _standing_frame(debugger: Debugger, lane: int) -> int | None:
    """The number of the frame in which a lane stands, if DW_AT_LLVM_lane_pc says so."""
    from dwarfgpu.program.stack.lanes import lanes_of_wave

    wave = debugger.wave
    try:
        here = lanes_of_wave(wave.stopped, wave.index)
    except DwarfGpuError:  # what is wrong with it is what `info lanes` tells
        return None
    if not here.by_attribute or lane >= here.lane_count:
        return None
    return here.lanes[lane].frame


def _show_locals(debugger: Debugger, each: Frame, lane: int | None) -> None:
    """The local variables of a frame, as GDB shows them below it."""
    from dwarfgpu.program.variables.variable import PARAMETER
    from dwarfgpu.questions.values import variable_lines

    found = [variable for variable in each.variables() if variable.kind != PARAMETER]
    writer = asking.renderer(debugger, frame=each)
    for variable in found:
        lines = variable_lines(debugger, writer, variable, None if lane is None else [lane], 8)
        debugger.output.lines(lines)
    if not found:
        debugger.output.line("No locals.")


def _show_saved(debugger: Debugger, each: Frame) -> None:
    """Where the registers of a frame are that are elsewhere than in themselves."""
    from dwarfgpu.program.stack.backtrace import saved_registers

    physical = each.physical
    if physical is None or each.is_inlined:
        return
    _show_registers(debugger, saved_registers(physical), 8)


def _show_registers(debugger: Debugger, saved: Iterable[Saved], indent: int) -> None:
    from dwarfgpu.render.backtrace import BacktraceRenderer

    output = debugger.output
    renderer = BacktraceRenderer(debugger.machine.state.target, output.style)
    for one in saved:
        output.lines(renderer.saved(one, indent, output.width))


# --- info frame -----------------------------------------------------------------------------------------------------


def info_frame(debugger: Debugger, arguments: Arguments) -> None:
    """The CFA, the function and its line, the caller, which lanes were active on entry, and where the frame has put
    registers of its caller: of vector registers for which lanes.
    """
    arguments.none()
    from dwarfgpu.program.stack.backtrace import saved_by
    from dwarfgpu.render.layout import fitted

    here = debugger.frame
    if here.physical is None:
        raise UsageError("No stack.", kind="no_frame", hint="`target snapshot S` attaches a machine")
    output = debugger.output
    for line in _facts(debugger, here):
        output.lines(fitted(line, output.width, 2))
    saved = [] if here.is_inlined else list(saved_by(here.physical))
    if saved and not here.has_lanes:
        pointer = here.target.stack_pointer
        places = [(one, _memory_text(here, one)) for one in saved]
        texts = [f"{one.register.name} at {text}" for one, text in places if text is not None]
        if any(one.register.number == pointer and text is None for one, text in places):
            output.line(f" Previous frame's sp is {_cfa_text(here)}")
        if texts:
            output.line(" Saved registers:")
            output.lines(fitted(f"  {', '.join(texts)}", output.width, 2))
    elif saved:
        output.line(" Saved registers:")
        _show_registers(debugger, saved, 2)


def _facts(debugger: Debugger, here: Frame) -> Iterator[str]:
    from dwarfgpu.render.backtrace import line_text
    from dwarfgpu.render.layout import lanes_text, shown

    physical = here.physical
    assert physical is not None  # noqa: S101 (`info frame` needs one)
    source = here.call.source
    place = "" if source is None or source.file is None else f" ({line_text(source)})"
    name = f" in {shown(here.name)}" if here.name else ""
    outer = next(islice(debugger.wave, here.number + 1, None), None)
    caller = physical.stack.at(physical.level + 1)
    yield f"Stack level {here.number}, frame at {_cfa_text(here)}:"
    register = here.target.program_counter
    pc = here.target.register(register) if register is not None else None
    label = "pc" if pc is None else pc.name
    saved = f"; saved {label} = {caller.pc:#x}" if caller is not None else ""
    yield f" {label} = {physical.pc:#x}{name}{place}{saved}"
    around = [f"caller of frame at {_cfa_text(debugger.wave.frame(here.number - 1))}"] if here.number else []
    if here.is_inlined and outer is not None:
        around.insert(0, f"inlined into frame {outer.number}")
    elif outer is not None:
        around.insert(0, f"called by frame at {_cfa_text(outer)}")
    if around:
        yield f" {', '.join(around)}"
    if outer is None:
        yield f" outermost: {debugger.wave.end.message}"
    mask = physical.active_lanes()
    if here.has_lanes:
        known = "not known" if mask is None else lanes_text(mask).removeprefix("lanes ")
        yield f" lanes active on entry: {known}"
        now = here.active_mask
        if now is not None and now != mask:
            yield f" lanes active now: {lanes_text(now).removeprefix('lanes ')}"
    if here.code is not None:
        yield f" code of {shown(here.code.file.name)}"


def _cfa_text(each: Frame) -> str:
    """The canonical frame address of the call frame that a frame belongs to."""
    from dwarfgpu.expr.location_text import TextRenderer

    physical = each.physical
    if physical is None:
        return "??"
    try:
        cfa = physical.cfa(physical.activation.thread.lanes)
    except DwarfGpuError as error:
        return f"an address that is not known ({error.message})"
    return _short(each, TextRenderer(each.target.byte_order).location(cfa))


def _memory_text(each: Frame, saved: Saved) -> str | None:
    """Where in memory a register is as a whole; None of what is somewhere else."""
    from dwarfgpu.expr.location_text import TextRenderer

    if len(saved.spans) != 1:
        return None
    text = _short(each, TextRenderer(each.target.byte_order).location(saved.spans[0].location))
    return text if text.startswith("0x") else None


def _short(each: Frame, text: str) -> str:
    """An address of a machine with one address space as GDB writes it."""
    return text if each.has_lanes else text.removeprefix(f"{each.target.default_space.name}#")
