"""Commands that select a wave, a lane or a frame, and those that run a command in several of them."""

from __future__ import annotations

import re
import signal
from itertools import islice
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError
from dwarfgpu.immutable import evolve
from dwarfgpu.program.frames.selectors import numbers_in, wave_named, waves_of
from dwarfgpu.program.frames.wave_positions import waves_of as waves_of_machine
from dwarfgpu.questions.document import Output
from dwarfgpu.questions.stack import frame_count, limited, show_frame
from dwarfgpu.questions.waves import chosen_lanes, lanes_here, place_here, target_id, titles
from dwarfgpu.render.lanes import SIGNAL_MEANINGS, shown_reason, signal_text, stop_text
from dwarfgpu.render.layout import fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.states.program import Attached

_LIST = re.compile(r"[\d,\s-]*\d(?:\s*,)?")
_ITEM = re.compile(r"(?:(global)\s+)?(?(1)[\[(]?|[\[(])(\d+(?:,\s*\d+)*)[\])]?", re.ASCII)
_FLAG = re.compile(r"(-[a-z]+)(?:\s+|$)")


# --- Waves ----------------------------------------------------------------------------------------------------------


def wave(debugger: Debugger, arguments: Arguments) -> None:
    if not arguments.text:
        debugger.output.line(f"[Current {debugger.noun} is {title(debugger)}]")
        return
    machine, index = _named(debugger, arguments.text)
    if machine is not debugger.machine:
        debugger.use(machine.program, machine)
    debugger.select_wave(index)
    debugger.output.line(f"[Switching to {debugger.noun} {title(debugger)}]")
    show_stop(debugger)
    show_frame(debugger)


def _named(debugger: Debugger, name: str) -> tuple[Attached, int]:
    """Return the wave or thread with a name, and its program: `LWP 1234` is a thread of the host."""
    machine = debugger.machine
    kind, _, number = name.partition(" ")
    is_thread = kind.upper() == "LWP"
    if is_thread == machine.has_waves and (is_thread or ":" in name):
        beside = machine.beside
        if beside is None:
            raise NotFound("no_wave", f"the state has no {'threads of the host' if is_thread else 'waves'}")
        machine = beside
    return machine, wave_named(machine.stopped.machine, number.strip() if is_thread else name)


def show_signal(debugger: Debugger) -> None:
    """Show the signal that ended the wave, as GDB does for a core file; nothing for a wave that was only halted."""
    text = signal_of_wave(debugger)
    if text is not None:
        debugger.output.line(f"Program terminated with signal {text}.")


def signal_of_wave(debugger: Debugger) -> str | None:
    """Return the signal that stopped the wave or thread, as GDB shows it: ``SIGSEGV, Segmentation fault``."""
    stop, core = debugger.wave.stop, debugger.machine.stopped.core
    if stop is not None and stop.signal is not None:
        return signal_text(stop.reasons)
    number = next((each.signal for each in core.threads if str(each.pid) == debugger.wave.id), 0) if core else 0
    if not number:
        return None
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"{number}, of the system"
    return f"{name}, {SIGNAL_MEANINGS.get(name) or signal.strsignal(number)}"


def show_stop(debugger: Debugger) -> None:
    """Show why the wave has stopped, if the machine knows it."""
    stop = debugger.wave.stop
    if stop is not None:
        debugger.output.line(f"[Stop reason: {stop_text(stop)}]")


def wave_apply(debugger: Debugger, arguments: Arguments) -> None:
    which, flags, command = split(debugger, arguments)
    machine = debugger.machine
    numbers = waves_of(machine.stopped.machine, which)

    def visit(number: int) -> Iterable[str]:
        debugger.select_wave(number)
        return ["", debugger.output.style("kind", f"{debugger.noun.capitalize()} {title(debugger)}:")]

    if not len(machine):
        raise UsageError("the machine has no waves", kind="no_wave")
    apply(debugger, numbers, visit, command, flags)


def wave_find(debugger: Debugger, arguments: Arguments) -> None:
    arguments.needed()
    pattern = arguments.pattern()
    name = debugger.noun.capitalize()
    stops = debugger.machine.stopped.machine.all_stops() if debugger.machine.has_waves else ()
    reasons = [shown_reason(stop) for stop in stops]
    found = 0
    for number, text in titles(debugger):
        if pattern.search(text) or (reasons and pattern.search(reasons[number - 1])):
            debugger.output.lines(fitted(f"{name} {number} has {text}", 2))
            found += 1
    if not found:
        debugger.output.line(f"No {debugger.noun}s match '{arguments.text}'")
        known = "; ".join(dict.fromkeys(filter(None, reasons)))
        debugger.output.lines(fitted(f"Reasons here: {known}", 2) if known else ())


def title(debugger: Debugger) -> str:
    """Return the selected wave and lane: ``2, lane 5 (AMDGPU Lane 1:2:1:1/5 (0,0,0)[5,0,0])``."""
    name = target_id(debugger)  # an error if there is no wave
    assert debugger.wave_number is not None  # noqa: S101 (there is one)
    lane = "" if debugger.lane is None else f", lane {debugger.lane}"
    return f"{debugger.wave_number + 1}{lane} ({name})"


# --- Lanes ----------------------------------------------------------------------------------------------------------


def lane(debugger: Debugger, arguments: Arguments) -> None:
    debugger.needs_lanes()
    if not arguments.text:
        debugger.output.line(f"[Current {debugger.noun} is {title(debugger)}]")
        return
    item = _ITEM.fullmatch(arguments.text)
    number = arguments.integer() if item is None else _lane_of_item(debugger, *item.groups())
    assert number is not None  # noqa: S101 (there is a text)
    debugger.select_lane(number)
    debugger.output.line(f"[Switching to {debugger.noun} {title(debugger)}]")
    show_frame(debugger)


def _lane_of_item(debugger: Debugger, of_grid: str | None, text: str) -> int:
    """Select the wave of a work-item, and return its lane."""
    machine, here = waves_of_machine(debugger.wave.stopped), place_here(debugger)
    if here.grid is None or here.origin is None:
        raise UsageError("the work-items of the wave are not known", kind="no_lane")
    numbers = [*map(int, text.split(",")), 0, 0]
    sizes = here.grid.grid if of_grid else here.grid.size_of(here.work_group or (0, 0, 0))
    x, y, z = (at + (0 if of_grid else first) for at, first in zip(numbers, here.origin, strict=False))
    if text.count(",") > 2 or any(at >= size for at, size in zip(numbers, sizes, strict=False)):
        whole = "grid" if of_grid else "work-group"
        hint = f"the {whole} has {'x'.join(map(str, sizes))} work-items"
        raise UsageError(f"the {whole} has no work-item [{text}]", kind="no_lane", hint=hint)
    group, wave, lane = here.grid.of_item((x, y, z))
    wanted = machine.place_of(debugger.wave.index)[0], group, wave
    index = next((each for each in range(machine.wave_count) if machine.place_of(each) == wanted), None)
    if index is None:
        raise UsageError(f"the wave of work-item [{text}] is not in the state", kind="no_wave")
    if index != debugger.wave_number:
        debugger.select_wave(index)
    return lane


def lane_apply(debugger: Debugger, arguments: Arguments) -> None:
    states = ("active", "inactive", "all")
    which, flags, command = split(debugger, arguments, *(f"-{state}" for state in states))
    asked = {*arguments.options, *(flag[1:] for flag in flags if flag[1:] in states)}
    chosen = chosen_lanes(lanes_here(debugger), which, asked, may_be_none=True)

    def visit(number: int) -> Iterable[str]:
        debugger.select_lane(number)
        name = title(debugger).partition(", ")[2]
        return ["", debugger.output.style("kind", f"{name[0].upper()}{name[1:]}:")]

    apply(debugger, [each.number for each in chosen], visit, command, flags)


# --- Frames -----------------------------------------------------------------------------------------------------------


def frame(debugger: Debugger, arguments: Arguments) -> None:
    words = arguments.words
    if words and words[0] == "function":
        name = arguments.text.partition("function")[2].strip()
        if not name:
            raise arguments.wrong("needs the name of a function")
        debugger.select_frame(_frame_of(debugger, name))
    elif words:
        text = words[1] if words[0] == "level" and len(words) == 2 else arguments.text
        if not text.isdecimal() or not text.isascii() or len(text) > 9:
            raise arguments.wrong(f"takes a number, not {text[:40]!r}")
        if next(islice(debugger.seen_wave, int(text), None), None) is None:
            raise UsageError(f"No frame at level {text}.", kind="no_frame", hint="`bt` shows all frames")
        debugger.select_frame(int(text))
    show_frame(debugger)


def _frame_of(debugger: Debugger, name: str) -> int:
    for frame in debugger.seen_wave:
        known = frame.name
        if known is not None and name in (known, known.rpartition("::")[2]):
            return frame.number
    raise UsageError(f"No frame for function '{name[:60]}'.", kind="no_frame", hint="`bt` shows all frames")


MAX_STEPS = 1 << 31
"""More frames than any stack has."""


def up(debugger: Debugger, arguments: Arguments) -> None:
    name, count = arguments.command.name, arguments.integer()
    direction = 1 if name.startswith("up") else -1
    steps = 1 if count is None else max(-MAX_STEPS, min(count, MAX_STEPS))
    wanted = debugger.frame_number + direction * steps
    number = max(0, wanted)
    if number > debugger.frame_number:
        seen = sum(1 for _frame in islice(debugger.seen_wave, number + 1))
        number = min(number, seen - 1)
    if number == debugger.frame_number and wanted != number:
        is_up = wanted > number
        which = "Initial" if is_up else "Bottom (innermost)"
        raise UsageError(f"{which} frame selected; you cannot go {'up' if is_up else 'down'}.", kind="no_frame")
    debugger.select_frame(number)
    if not name.endswith("silently"):
        show_frame(debugger)


def frame_apply(debugger: Debugger, arguments: Arguments) -> None:
    text = arguments.needed()
    if text.startswith("level"):
        which, flags, command = split(debugger, evolve(arguments, text=text.removeprefix("level").strip()))
        count = sum(1 for _frame in debugger.wave)
        numbers = numbers_in(which, 0, count - 1, "frame")
        if not numbers:
            raise UsageError(f"No frames match '{which[:40]}'.", kind="no_frame", hint="`bt` shows all frames")
    else:
        minus = "-" if text[0] == "-" else ""
        which, flags, command = split(debugger, evolve(arguments, text=text[len(minus) :]))
        some = limited(debugger.wave, frame_count(None if which == "all" else minus + which, arguments))
        numbers = [each.number for each in some]
    writer = debugger.call_writer(debugger.frame)

    def visit(number: int) -> Iterable[str]:
        debugger.select_frame(number)
        return writer.lines(debugger.frame)

    apply(debugger, numbers, visit, command, flags)


# --- Running commands -----------------------------------------------------------------------------------------------


def split(debugger: Debugger, arguments: Arguments, *states: str) -> tuple[str, set[str], str]:
    """Return a list, flags, and a command; refuse an unknown flag or command before anything runs."""
    text = arguments.needed()
    match = _LIST.match(text)
    which = "all" if text.split(maxsplit=1)[0] == "all" else match[0].strip() if match else ""
    if not which:
        raise arguments.wrong("needs a list such as 0,3,8-11, or all")
    command = text[len(which) :].lstrip()
    flags = set()
    while (found := _FLAG.match(command)) is not None:
        flags.add(found[1])
        command = command[found.end() :]
    known = ("-q", "-c", "-s", *states)
    odd = sorted(flags.difference(known))
    if odd:
        raise arguments.wrong(f"has no flag {odd[0][:40]}; it has {', '.join(known)}")
    if {"-s", "-c"} <= flags:
        raise arguments.wrong("takes -c or -s, not both")
    if not command:
        raise arguments.wrong("needs a command after the list")
    debugger.check_applied(command)
    return which, flags, command


def apply(
    debugger: Debugger, numbers: Iterable[int], visit: Callable[[int], Iterable[str]], command: str, flags: set[str]
) -> None:
    """Run a command at several places, each with its title. The focus stays as it was."""
    output = debugger.output
    with debugger.staying():
        for number in numbers:
            head: Iterable[str] = ()
            collected: list[str] = []
            error = None
            try:
                head = visit(number)
                debugger.output = Output(collected.append, output.style, width=output.width, fold=output.fold)
                debugger.execute_applied(command)
            except DwarfGpuError as raised:
                error = raised
            finally:
                debugger.output = output
            is_silent = "-s" in flags and not collected
            if "-q" not in flags and not is_silent:
                output.lines(head)
            output.write("".join(collected))
            if error is not None and "-s" not in flags:
                if "-c" not in flags:
                    raise error
                output.line(output.style("error", str(error)))
