"""Commands that run a launched kernel: breakpoints, steps, watchpoints, and the way back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.running.breakpoints import ACCESS_WATCH, BREAK, CATCH, READ_WATCH, WATCH, StoppingPoints
from dwarfgpu.render.layout import lanes_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from dwarfgpu.backends.running.halts import Halt
    from dwarfgpu.program.launch.launch import Launched
    from dwarfgpu.program.running.breakpoints import StoppingPoint
    from dwarfgpu.program.running.debugging import Debugging
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments, Command

_IF = re.compile(r"(?:^|\s)if\b\s*(?=\S)")
_SIGNALS = {
    "MEMORY_VIOLATION": "SIGSEGV, Segmentation fault", "ADDRESS_ERROR": "SIGBUS, Bus error",
    "ILLEGAL_INSTRUCTION": "SIGILL, Illegal instruction", "ASSERT_TRAP": "SIGABRT, Aborted",
    "DEBUG_TRAP": "SIGTRAP, Trace/breakpoint trap", "BREAKPOINT": "SIGTRAP, Trace/breakpoint trap",
    "TRAP": "SIGTRAP, Trace/breakpoint trap", "FATAL_HALT": "SIGABRT, Aborted",
}  # fmt: skip
"""The signals that ROCgdb reports for the reasons of its library."""
NOT_RUN = "The program is not being run."


@frozen
class WatchedChange:
    """What a watchpoint has seen."""

    hit: StoppingPoint | None
    old: str
    new: str


class Runs:
    """What a debugger knows of the kernel that it runs."""

    def __init__(self) -> None:
        self.points = StoppingPoints()
        self.launched: Launched | None = None
        self.again: Callable[[], None] | None = None
        """Launches the kernel once more."""
        self.debugging: Debugging | None = None


def launched(debugger: Debugger, launch: Launched, again: Callable[[], None]) -> None:
    """Take note of a launch, which commands here run."""
    runs = debugger.state_of(Runs)
    runs.launched, runs.again, runs.debugging = launch, again, None
    for point in runs.points:
        point.points.clear()


def _runs_here(debugger: Debugger) -> bool:
    runs, attached = debugger.state_of(Runs), debugger.attached
    return runs.launched is not None and attached is not None and attached.stopped.machine is runs.launched.machine


def session(debugger: Debugger, command: Command) -> Debugging:
    """Return what runs the kernel; an error where nothing can run."""
    runs = debugger.state_of(Runs)
    if not _runs_here(debugger):
        if debugger.attached is not None:
            raise UsageError(
                f"`{command.name}` is for a program that runs: a snapshot or a core file is one that has stopped",
                kind="cannot_run",
                hint="`target launch` starts a kernel that runs",
            )
        raise UsageError(NOT_RUN, kind="cannot_run", hint="`target launch KERNEL GRID WORK-GROUP` starts a kernel")
    assert runs.launched is not None  # noqa: S101 (it runs here)
    attached = debugger.machine
    if runs.debugging is None or runs.debugging.running.attached is not attached:
        from dwarfgpu.program.running.debugging import Debugging

        before = runs.debugging
        for point in runs.points:
            if before is not None:
                before.remove(point)
        runs.debugging = Debugging(runs.launched, attached)
        for point in runs.points:
            if point.kind == BREAK:
                runs.debugging.insert(point)
    return runs.debugging


def _alive(debugger: Debugger, arguments: Arguments) -> Debugging:
    found = session(debugger, arguments.command)
    alone = debugger.settings["scheduler-locking"] in ("on", "step")
    is_step = arguments.command.name not in ("continue", "run", "start", "jump")
    locked = alone if is_step else debugger.settings["scheduler-locking"] == "on"
    found.only = debugger.wave_number if locked else None
    return found


def _wave(debugger: Debugger) -> int:
    number = debugger.wave.index
    if debugger.machine.stopped.machine.stop_text(number) == "has ended":
        raise UsageError(NOT_RUN, kind="cannot_run", hint="the wave has ended; `run` starts the kernel again")
    return number


# --- Where it stops ---------------------------------------------------------------------------------------------------


def _go(debugger: Debugger, found: Debugging, run: Callable[[], Halt]) -> Halt:
    """Run, and show where and why it has stopped."""
    from dwarfgpu.program.running.watching import Watcher

    runs = debugger.state_of(Runs)
    watched = [point for point in runs.points if point.watched is not None]
    watcher = None
    if watched:
        watcher = Watcher(found.device, watched, found.machine.groups())
        found.device.memory.watch = watcher.access
    found.watcher = None if watcher is None else watcher.observe
    try:
        halt = run()
    finally:
        found.device.memory.watch = None
        found.watcher = None
    if watcher is not None and watcher.hit is not None:
        found.hit = watcher.hit
    _show_printed(debugger, found)
    change = None if watcher is None else WatchedChange(watcher.hit, watcher.old, watcher.new)
    _show_halt(debugger, found, halt, change)
    return halt


def _show_printed(debugger: Debugger, found: Debugging) -> None:
    texts = list(found.running.printed())
    for text in texts[found.texts_shown :]:
        debugger.output.write(text)
    found.texts_shown = len(texts)


def _show_halt(debugger: Debugger, found: Debugging, halt: Halt, change: WatchedChange | None = None) -> None:
    output = debugger.output
    if halt.has_ended:
        if not found.device.batches and not found.device.waiting:
            name = found.running.launched.plan.kernel.name
            output.line(f"[Inferior 1 ({name}) exited normally]")
        else:
            output.line(halt.reason)
        return
    lanes = halt.lanes or {}
    chosen = debugger.wave_number
    if lanes and chosen not in lanes:
        chosen = min(lanes)
    mask = lanes.get(chosen, 0) if chosen is not None else 0
    if chosen is not None:
        has_switched = chosen != debugger.wave_number
        debugger.wave_number, debugger.frame_number = chosen, 0
        lane = debugger.lanes.get(chosen)
        if mask and (lane is None or not mask >> lane & 1) and halt.kind != "step":
            debugger.lanes[chosen] = (mask & -mask).bit_length() - 1
            has_switched = has_switched or lane is not None
        debugger.moved()
        if has_switched:
            from dwarfgpu.questions.focus import title

            output.line(f"[Switching to {debugger.noun} {title(debugger)}]")
    point = found.hit
    who = f"{debugger.noun.capitalize()} {(chosen or 0) + 1}"
    reason = halt.reason.partition(":")[0]
    caught = _catching(debugger, halt.kind)
    if point is not None and halt.kind == "breakpoint":
        kind = "Temporary breakpoint" if point.is_temporary else "Breakpoint"
        output.line(f"{who} hit {kind} {point.number}, with {_lanes(mask)}")
        for wave in sorted(lanes):
            if wave != chosen:
                output.line(f"{debugger.noun.capitalize()} {wave + 1} hit it too, with {_lanes(lanes[wave])}")
        problem = found.running.condition_problem
        if problem is not None and point.condition is not None:
            output.line(f"warning: the condition has no value, so it stopped: {problem.text}")
    elif change is not None and change.hit is not None:
        _show_watch(debugger, who, mask, change.hit, change)
    elif caught is not None and halt.kind in ("fault", "trap"):
        caught.hits += 1
        output.line(f"{who} hit Catchpoint {caught.number} ({halt.reason}), with {_lanes(mask)}")
    elif halt.kind in ("fault", "trap"):
        output.line(f"{who} received signal {_SIGNALS.get(reason, 'SIGTRAP, Trace/breakpoint trap')}.")
        output.line(f"[Stop reason: {halt.reason}; {_lanes(mask)}]")
    elif halt.kind == "interrupted":
        output.line(f"{who} received signal SIGINT, Interrupt.")
    elif halt.kind != "step":
        output.line(f"[{halt.reason}]")
    _where(debugger)
    if point is not None and point.is_temporary and halt.kind == "breakpoint":
        _forget(debugger, point)
    stopped_by = point or caught
    if stopped_by is not None and stopped_by.commands:
        from dwarfgpu.questions.scripts import run_lines

        run_lines(debugger, stopped_by.commands)


def _where(debugger: Debugger) -> None:
    from dwarfgpu.questions.context import show_displays
    from dwarfgpu.questions.stack import show_frame

    try:
        show_frame(debugger)
    except DwarfGpuError as error:
        debugger.output.line(debugger.output.style("error", error.message))
        return
    if not debugger.shows_context("expressions"):
        show_displays(debugger)


def _show_watch(debugger: Debugger, who: str, mask: int, point: StoppingPoint, change: WatchedChange) -> None:
    name = {WATCH: "Hardware watchpoint", READ_WATCH: "Hardware read watchpoint"}.get(
        point.kind, "Hardware access (read/write) watchpoint"
    )
    output = debugger.output
    output.line(f"{who} hit {name} {point.number}: {point.text}, with {_lanes(mask)}")
    output.line()
    if point.kind == READ_WATCH or change.old == change.new:
        output.line(f"Value = {change.new}")
    else:
        output.line(f"Old value = {change.old}")
        output.line(f"New value = {change.new}")


def _lanes(mask: int) -> str:
    kind, _, numbers = lanes_text(mask).partition(" ")
    return f"{kind} [{numbers}]" if mask else "no lanes"


def _catching(debugger: Debugger, kind: str) -> StoppingPoint | None:
    return next(
        (each for each in debugger.state_of(Runs).points if each.kind == CATCH and each.is_enabled and each.text == kind),
        None,
    )


# --- Starting and ending ----------------------------------------------------------------------------------------------


def run_(debugger: Debugger, arguments: Arguments) -> None:
    """The kernel that `target launch` has started runs; one that has run already is launched again, with the same
    arguments. Breakpoints stay.
    """
    arguments.none()
    _begin(debugger, arguments)
    found = _alive(debugger, arguments)
    _go(debugger, found, found.go_on)


def start(debugger: Debugger, arguments: Arguments) -> None:
    """A temporary breakpoint at the kernel stops behind its prologue."""
    arguments.none()
    _begin(debugger, arguments)
    found = _alive(debugger, arguments)
    name = found.running.launched.plan.kernel.name
    _show_set(debugger, _new(debugger, arguments, name, is_temporary=True))
    _go(debugger, found, found.go_on)


def _begin(debugger: Debugger, arguments: Arguments) -> None:
    runs = debugger.state_of(Runs)
    if runs.again is not None and debugger.attached is None:
        runs.again()
        return
    found = session(debugger, arguments.command)
    if found.device.executed or not found.device.batches:
        if not debugger.confirmed("The program being debugged has been started already. Start it from the beginning?"):
            raise UsageError("Program not restarted.", kind="not_confirmed")
        assert runs.again is not None  # noqa: S101 (a launch was noted with it)
        runs.again()


def kill(debugger: Debugger, arguments: Arguments) -> None:
    """The machine is left; `run` launches the kernel again."""
    arguments.none()
    found = session(debugger, arguments.command)
    if not debugger.confirmed("Kill the program being debugged?"):
        raise UsageError("it goes on", kind="not_confirmed")
    runs = debugger.state_of(Runs)
    for point in runs.points:
        found.remove(point)
    runs.debugging = None
    debugger.use(debugger.opened, None)
    debugger.output.line(f"[Inferior 1 ({found.running.launched.plan.kernel.name}) killed]")


# --- Going on ---------------------------------------------------------------------------------------------------------


def _count(arguments: Arguments) -> int:
    number = arguments.integer()
    if number is not None and number < 1:
        raise arguments.wrong("takes a number from 1")
    return 1 if number is None else number


def continue_(debugger: Debugger, arguments: Arguments) -> None:
    """`continue N` passes the breakpoint where the waves are N-1 times."""
    found = _alive(debugger, arguments)
    count = _count(arguments)
    if count > 1:
        if found.hit is None:
            raise UsageError("the waves are at no breakpoint, so there is nothing to ignore", kind="no_breakpoint")
        found.hit.ignored = count - 1
        debugger.output.line(_ignoring(found.hit))
    debugger.output.line("Continuing.")
    _go(debugger, found, found.go_on)


def _steps(debugger: Debugger, arguments: Arguments, step: Callable[[Debugging, int], Halt]) -> None:
    found = _alive(debugger, arguments)
    count = _count(arguments)
    wave = _wave(debugger)

    def run() -> Halt:
        for _ in range(count):
            halt = step(found, wave)
            if halt.kind != "step" or found.hit is not None or (found.watcher is not None and halt.reason != "stepped"):
                break
        return halt

    _go(debugger, found, run)


def stepi(debugger: Debugger, arguments: Arguments) -> None:
    """The wave that is selected executes N instructions. The other waves run, too, unless `set scheduler-locking on`."""
    _steps(debugger, arguments, lambda found, wave: found.step_instruction(wave))


def nexti(debugger: Debugger, arguments: Arguments) -> None:
    """Functions that are called are executed as a whole."""
    _steps(debugger, arguments, lambda found, wave: found.step_instruction(wave, over=True))


def step(debugger: Debugger, arguments: Arguments) -> None:
    """It stops at the beginning of another line, also in a function that is called."""
    _steps(debugger, arguments, lambda found, wave: found.step_line(wave))


def next_(debugger: Debugger, arguments: Arguments) -> None:
    """Functions that are called are executed as a whole."""
    _steps(debugger, arguments, lambda found, wave: found.step_line(wave, over=True))


def finish(debugger: Debugger, arguments: Arguments) -> None:
    """It stops where the function that is selected has returned."""
    arguments.none()
    found = _alive(debugger, arguments)
    wave = _wave(debugger)
    if len(debugger.wave.frames) < 2:
        raise UsageError('"finish" not meaningful in the outermost frame.', kind="no_frame")
    debugger.output.line("Run till exit from the function of the wave")
    _go(debugger, found, lambda: found.finish(wave))


def until(debugger: Debugger, arguments: Arguments) -> None:
    """Without a place it is `next` that does not go back in a loop. With one it stops there, or where the function has
    returned.
    """
    found = _alive(debugger, arguments)
    wave = _wave(debugger)
    if arguments.text:
        addresses = found.running.addresses(arguments.text)
        _go(debugger, found, lambda: found.run_to(wave, addresses))
        return
    pc = found.pc_of(wave)
    _go(debugger, found, lambda: found.step_line(wave, over=True, behind=pc))


def advance(debugger: Debugger, arguments: Arguments) -> None:
    """It stops at the place, or where the function has returned."""
    found = _alive(debugger, arguments)
    wave = _wave(debugger)
    addresses = found.running.addresses(arguments.needed())
    _go(debugger, found, lambda: found.run_to(wave, addresses))


def jump(debugger: Debugger, arguments: Arguments) -> None:
    """The wave that is selected goes on at the place; its registers stay as they are."""
    found = _alive(debugger, arguments)
    wave = _wave(debugger)
    address = found.running.addresses(arguments.needed())[0]
    found.jump(wave, address)
    debugger.output.line(f"Continuing at {address:#x}.")
    _go(debugger, found, found.go_on)


# --- Back -------------------------------------------------------------------------------------------------------------


def _back(debugger: Debugger, arguments: Arguments, step: Callable[[Debugging, int], bool]) -> None:
    found = session(debugger, arguments.command)
    count = _count(arguments)
    wave = debugger.wave.index
    is_there = True
    for _ in range(count):
        is_there = step(found, wave)
        if not is_there:
            break
    debugger.frame_number = 0
    debugger.moved()
    if not is_there:
        _show_beginning(debugger)
    _where(debugger)


def _show_beginning(debugger: Debugger) -> None:
    debugger.output.line()
    debugger.output.line("No more reverse-execution history.")


def reverse_stepi(debugger: Debugger, arguments: Arguments) -> None:
    """The wave that is selected is where it was N instructions ago, and all else is as it was then."""
    _back(debugger, arguments, lambda found, wave: found.reverse_instruction(wave))


def reverse_nexti(debugger: Debugger, arguments: Arguments) -> None:
    """Functions that were called count as one instruction."""
    _back(debugger, arguments, lambda found, wave: found.reverse_instruction(wave, over=True))


def reverse_step(debugger: Debugger, arguments: Arguments) -> None:
    """It stops at the beginning of the line, or of the one that was executed before it."""
    _back(debugger, arguments, lambda found, wave: found.reverse_line(wave))


def reverse_next(debugger: Debugger, arguments: Arguments) -> None:
    """Functions that were called are passed as a whole."""
    _back(debugger, arguments, lambda found, wave: found.reverse_line(wave, over=True))


def reverse_finish(debugger: Debugger, arguments: Arguments) -> None:
    """It stops at the call of the function."""
    arguments.none()
    _back(debugger, arguments, lambda found, wave: found.reverse_finish(wave))


def reverse_continue(debugger: Debugger, arguments: Arguments) -> None:
    """It stops at the last time when a wave was at a breakpoint, or changed what a watchpoint watches; else where
    everything began.
    """
    arguments.none()
    found = session(debugger, arguments.command)
    points = list(debugger.state_of(Runs).points)
    halt = found.reverse_go_on(points)
    debugger.frame_number = 0
    debugger.moved()
    if halt is None:
        _show_beginning(debugger)
        _where(debugger)
        return
    point, told = found.hit, None
    if point is not None:
        point.hits += 1
        if point.watched is not None:
            before = point.watched.text
            point.watched.look()
            told = WatchedChange(point, before, point.watched.text)
    _show_halt(debugger, found, halt, told)


# --- Breakpoints ------------------------------------------------------------------------------------------------------


def break_(debugger: Debugger, arguments: Arguments) -> None:
    """PLACE is a line, FILE:LINE, a function or *ADDRESS; without one it is where the wave is. With `if EXPR` it stops
    where the expression is true in a lane that executes, and says in which.
    """
    session(debugger, arguments.command)
    _show_set(debugger, _new(debugger, arguments, arguments.text))


def tbreak(debugger: Debugger, arguments: Arguments) -> None:
    """It is deleted when it has stopped waves."""
    session(debugger, arguments.command)
    _show_set(debugger, _new(debugger, arguments, arguments.text, is_temporary=True))


def _new(debugger: Debugger, arguments: Arguments, text: str, *, is_temporary: bool = False) -> StoppingPoint:
    found = session(debugger, arguments.command)
    condition = None
    match = _IF.search(text)
    if match:
        text, condition = text[: match.start()], text[match.end() :].strip()
    place = text.strip() or f"*{found.pc_of(debugger.wave.index):#x}"
    points = debugger.state_of(Runs).points
    last = points.last
    point = points.add(BREAK, place)
    point.condition, point.is_temporary = condition, is_temporary
    try:
        found.insert(point)
    except DwarfGpuError:
        del points.by_number[point.number]
        points.last = last
        raise
    return point


def _show_set(debugger: Debugger, point: StoppingPoint) -> None:
    found = debugger.state_of(Runs).debugging
    assert found is not None  # noqa: S101 (the breakpoint is set in it)
    kind = "Temporary breakpoint" if point.is_temporary else "Breakpoint"
    places = point.addresses
    if len(places) == 1:
        position = found.running.position(places[0])
        source = f": file {position.file}, line {position.line}." if position.file else ""
        debugger.output.line(f"{kind} {point.number} at {places[0]:#x}{source}")
    else:
        debugger.output.line(f"{kind} {point.number} at {places[0]:#x}: {point.text}. ({len(places)} locations)")


def _watch(debugger: Debugger, arguments: Arguments, kind: str) -> None:
    from dwarfgpu.program.running.watching import Watched

    found = session(debugger, arguments.command)
    text = arguments.needed()
    wave, lane = debugger.wave.index, debugger.lane or 0
    frame = debugger.frame
    number = debugger.frame_number
    expression = frame.expression(text)
    object_ = expression.find(frame.lane(lane))
    machine = found.machine
    attached = debugger.machine

    def value() -> str:
        from dwarfgpu.questions.asking import renderer

        try:
            there = attached[wave].frame(min(number, len(attached[wave].frames) - 1)) if place is None else frame
            writer = renderer(debugger, frame=there)
            from dwarfgpu.program.variables.answers import answer

            return str(writer.cell(answer(there[text], text, [lane]).by_lane[0]))
        except DwarfGpuError as error:
            return f"<{error.message}>"

    place = getattr(object_, "address", None)
    watched = Watched(wave, lane, value)
    if place is not None:
        from dwarfgpu.program.types.sizes import byte_size

        _locate(watched, machine, place, byte_size(object_.type) or 1)
    elif kind != WATCH:
        raise UsageError("Expression cannot be implemented with read/access watchpoint.", kind="no_address")
    point = debugger.state_of(Runs).points.add(kind, text)
    point.watched = watched
    watched.look()
    name = {WATCH: "Hardware watchpoint", READ_WATCH: "Hardware read watchpoint"}.get(
        kind, "Hardware access (read/write) watchpoint"
    )
    debugger.output.line(f"{name} {point.number}: {text}")


def _locate(watched: Any, machine: Any, place: Any, size: int) -> None:
    """Say what memory a watchpoint watches."""
    target = machine.target
    space = target.default_space if place.space is None else target.space(place.space)
    address, name = place.value, space.name
    memory = machine.device.memory
    upper = address >> 32 << 32
    if name in ("generic", "flat") and upper == memory.private_aperture:
        name, address = "private_lane", address & 0xFFFFFFFF
    elif name in ("generic", "flat") and upper == memory.shared_aperture:
        name, address = "local", address & 0xFFFFFFFF
    kinds = {"private_lane": "private", "local": "ds", "group": "ds"}
    watched.space = kinds.get(name, "" if name.startswith("private") else "global")
    watched.address, watched.size = address, size
    read = space, place.value
    watched.data = lambda: machine.read_memory(*read, size, watched.wave, watched.lane)


def watch(debugger: Debugger, arguments: Arguments) -> None:
    """It stops when the value of the expression in the lane that is selected has changed, whoever has changed it."""
    _watch(debugger, arguments, WATCH)


def rwatch(debugger: Debugger, arguments: Arguments) -> None:
    """It stops when a lane has read the memory of the expression."""
    _watch(debugger, arguments, READ_WATCH)


def awatch(debugger: Debugger, arguments: Arguments) -> None:
    """It stops when a lane has read or written the memory of the expression."""
    _watch(debugger, arguments, ACCESS_WATCH)


def catch(debugger: Debugger, arguments: Arguments) -> None:
    """Waves stop at faults and traps in any case; a catchpoint has a number, a count and commands."""
    session(debugger, arguments.command)
    if arguments.text not in ("fault", "trap"):
        raise arguments.wrong("takes fault or trap")
    point = debugger.state_of(Runs).points.add(CATCH, arguments.text)
    debugger.output.line(f"Catchpoint {point.number} ({point.text})")


def info_breakpoints(debugger: Debugger, arguments: Arguments) -> None:
    """Their numbers, kinds, places, conditions, and how often they were hit."""
    from dwarfgpu.render.layout import table

    arguments.none()
    runs = debugger.state_of(Runs)
    points = list(runs.points)
    if not points:
        debugger.output.line("No breakpoints or watchpoints.")
        return
    rows = [("Num", "Type", "Disp", "Enb", "Address", "What")]
    notes: dict[int, list[str]] = {}
    for point in points:
        addresses = point.addresses
        what = point.text
        if addresses and runs.debugging is not None:
            position = runs.debugging.running.position(addresses[0])
            what = f"in {position.function} at {position.file}:{position.line}" if position.file else str(position)
        where = "" if not addresses else f"{addresses[0]:#018x}" if len(addresses) == 1 else "<MULTIPLE>"
        keep = "del" if point.is_temporary else "keep"
        rows.append((str(point.number), point.kind, keep, "y" if point.is_enabled else "n", where, what))
        lines = notes[len(rows) - 1] = []
        if point.condition is not None:
            lines.append(f"\tstop only if {point.condition}")
        if point.hits:
            lines.append(f"\tbreakpoint already hit {point.hits} time{'' if point.hits == 1 else 's'}")
        if point.ignored:
            lines.append(f"\tignore next {point.ignored} hits")
        lines += [f"        {line}" for line in point.commands]
    for number, line in enumerate(table(rows, "llllll", indent=0, style=debugger.output.style)):
        debugger.output.line(line)
        debugger.output.lines(notes.get(number, ()))


def _chosen(debugger: Debugger, text: str) -> list[StoppingPoint]:
    from dwarfgpu.program.stack.selectors import numbers_in

    points = debugger.state_of(Runs).points
    if not text:
        return list(points)
    numbers = numbers_in(text, 1, max(points.last, 1), "breakpoint")
    if not numbers:
        raise UsageError(f"No breakpoint number {text[:40]}.", kind="no_breakpoint")
    return [points.numbered(number) for number in numbers]


def _forget(debugger: Debugger, point: StoppingPoint) -> None:
    runs = debugger.state_of(Runs)
    if runs.debugging is not None:
        runs.debugging.remove(point)
    runs.points.by_number.pop(point.number, None)


def delete(debugger: Debugger, arguments: Arguments) -> None:
    """By numbers as `info breakpoints` shows them, such as 1 3-5; without a number all breakpoints."""
    chosen = _chosen(debugger, arguments.text)
    if not arguments.text and chosen and not debugger.confirmed("Delete all breakpoints, watchpoints, and catchpoints?"):
        return
    for point in chosen:
        _forget(debugger, point)


def enable(debugger: Debugger, arguments: Arguments) -> None:
    """By numbers; without a number all of them."""
    for point in _chosen(debugger, arguments.text):
        point.is_enabled = True


def disable(debugger: Debugger, arguments: Arguments) -> None:
    """They stay, and stop no wave until `enable`."""
    for point in _chosen(debugger, arguments.text):
        point.is_enabled = False


def _numbered(debugger: Debugger, arguments: Arguments) -> tuple[StoppingPoint, str]:
    word, _, rest = arguments.needed().partition(" ")
    if not word.isdecimal():
        raise UsageError(f"Bad breakpoint argument: '{word[:40]}'", kind="no_breakpoint")
    return debugger.state_of(Runs).points.numbered(int(word)), rest.strip()


def condition(debugger: Debugger, arguments: Arguments) -> None:
    """Without an expression it has none from now on."""
    point, text = _numbered(debugger, arguments)
    if not text:
        point.condition = None
        debugger.output.line(f"Breakpoint {point.number} now unconditional.")
        return
    found = session(debugger, arguments.command)
    if point.addresses:
        found.running.check_condition(text, point.addresses[0])
    point.condition = text


def ignore(debugger: Debugger, arguments: Arguments) -> None:
    """The next COUNT times it stops no wave."""
    point, text = _numbered(debugger, arguments)
    if not text.isdecimal():
        raise arguments.wrong("needs a number and a count")
    point.ignored = int(text)
    debugger.output.line(_ignoring(point))


def _ignoring(point: StoppingPoint) -> str:
    count = point.ignored
    if not count:
        return f"Will stop next time breakpoint {point.number} is reached."
    crossings = "crossing" if count == 1 else f"{count} crossings"
    return f"Will ignore next {crossings} of breakpoint {point.number}."


def commands(debugger: Debugger, arguments: Arguments) -> None:
    """The lines up to `end` run each time when it has stopped waves; without a number those of the last breakpoint."""
    from dwarfgpu.questions.scripts import body

    points = debugger.state_of(Runs).points
    number = arguments.integer()
    point = points.numbered(points.last if number is None else number)
    point.commands = tuple(body(debugger, "`commands`"))
