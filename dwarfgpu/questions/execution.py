"""Commands that run a launched kernel: from its beginning, onwards, step by step, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from dwarfgpu.errors import UsageError
from dwarfgpu.execution.breakpoints import BREAK, Breakpoints
from dwarfgpu.execution.halts import FAILURES
from dwarfgpu.program.frames.linespec import Linespecs
from dwarfgpu.questions.document import Document
from dwarfgpu.questions.optimized_code import hints_at_prompt
from dwarfgpu.questions.stack import show_frame
from dwarfgpu.questions.stopping import CommandsOfStops, ignoring, show_set, stopped
from dwarfgpu.render.layout import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dwarfgpu.execution.breakpoints import Breakpoint
    from dwarfgpu.execution.control.debugging import Debugging
    from dwarfgpu.execution.control.past_launches import PastLaunches
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.halts import Halt
    from dwarfgpu.execution.launch.launch import Launched
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments, Command
    from dwarfgpu.states.program import Program

NOT_RUN = "The program is not being run."
OF_LAUNCHES = "check", "weak-memory", "agents"
"""The settings that a kernel is launched with."""


class WholeProgram(Protocol):
    """A program of the host, whose launches a debugger runs one after the other."""

    status: int | None
    """Its exit status, once it has ended."""

    @property
    def why(self) -> str:
        """Why there is no launch, or where the last one is from."""

    @property
    def is_running(self) -> bool:
        """Whether the program has begun and not ended."""

    def start(self) -> None:
        """Start the program, once more if it runs."""

    def go_on(self) -> Running | None:
        """End the launch that is there, and let the program go on to its next one; None if it stops elsewhere."""

    def go_back(self) -> Running | None:
        """Return the launch before at its end, executed again; None if it is not kept."""

    @property
    def can_go_back(self) -> bool:
        """Whether the launch before is kept."""

    @property
    def process(self) -> object:
        """The process that has launched."""

    @property
    def in_past(self) -> Any:
        """The launch that is executed again; None in the present."""

    @property
    def has_come_back(self) -> bool:
        """Whether it has just gone on from a launch that was executed again into the present."""

    @property
    def past(self) -> PastLaunches:
        """The launches that one can go back into."""

    @property
    def point(self) -> Breakpoint | None:
        """The breakpoint at the call that has launched, or that is held."""

    def is_of_host(self, place: str) -> bool | None:
        """Return whether only the host has code at a place, and no kernel can; None if neither has."""

    def programs(self) -> Sequence[Program]:
        """Return the program, and the code in its file."""

    def lines(self) -> Sequence[Any]:
        """Return the lines (`runtimes.host.HostLine`) of the calls of the host in which it is, innermost first."""

    def calls(self) -> list[str]:
        """Return the calls of the host in which it is, innermost first."""

    def rows(self) -> list[dict[str, Any]]:
        """Return what it has launched."""

    def ask(self, line: str) -> str:
        """Return what GDB answers to a command about the host."""

    def end(self) -> None:
        """End the program."""


class KernelRun:
    """What a debugger knows of the kernel that it runs."""

    def __init__(self) -> None:
        self.points = Breakpoints()
        self.launched: Launched | None = None
        self.again: Callable[[], object] | None = None
        """Launches the kernel once more."""
        self.settings: tuple[Any, ...] = ()
        """Those of `OF_LAUNCHES` that it was launched with."""
        self.debugging: Debugging | None = None
        self.whole: WholeProgram | None = None
        """The program that launches, if it is debugged as a whole."""


def launched(debugger: Debugger, launch: Launched, again: Callable[[], object]) -> None:
    """Take note of a launch, which commands here run."""
    run = debugger.state_of(KernelRun)
    run.launched, run.again, run.debugging = launch, again, None
    run.settings = _of_next_launch(debugger)
    debugger.hints_for = lambda lacking: hints_at_prompt(launch, debugger.attached, lacking, debugger.told)
    for point in run.points:
        point.addresses = []
    from dwarfgpu.execution.forms.native import interpreted_text

    if debugger.settings["jit"] != "off" and (text := interpreted_text()) and text not in debugger.told:
        debugger.told.add(text)
        debugger.output.line(debugger.output.style("hint", f"hint: {text}"))


def _of_next_launch(debugger: Debugger) -> tuple[Any, ...]:
    return tuple(debugger.settings[name] for name in OF_LAUNCHES)


def setting_changed(debugger: Debugger, name: str) -> None:
    """Say that a setting does not change the kernel that is there, which was launched with another one."""
    run, attached = debugger.state_of(KernelRun), debugger.attached
    if attached is None or run.launched is None or attached.stopped.machine is not run.launched.machine:
        return
    if name in OF_LAUNCHES and run.settings[OF_LAUNCHES.index(name)] != debugger.settings[name]:
        output = debugger.output
        output.line(output.style("hint", f"hint: `{name}` takes effect at the launch: `run` launches the kernel again"))


def session(debugger: Debugger, command: Command) -> Debugging:
    """Return what runs the kernel; raise an error where nothing can run."""
    run, attached = debugger.state_of(KernelRun), debugger.attached
    if run.launched is None or attached is None or attached.stopped.machine is not run.launched.machine:
        if attached is not None:
            what = "core file" if attached.stopped.machine.capabilities.name.endswith("core") else "snapshot"
            message = f"A {what} cannot run. `{command.name}` works after `target launch`."
            raise UsageError(message, kind="cannot_run")
        raise UsageError(NOT_RUN, kind="cannot_run", hint="`target launch KERNEL GRID WORK-GROUP` starts a kernel")
    run.launched.machine.jit = debugger.settings["jit"]
    if run.debugging is None:
        from dwarfgpu.execution.control.debugging import Debugging

        process = None if run.whole is None else run.whole.process
        run.debugging = Debugging(run.launched, attached=attached, points=run.points, process=process)
    elif run.debugging.attached is not attached:  # the file was read anew
        run.debugging.running.use(attached)
    return run.debugging


def place_now(debugger: Debugger, text: str) -> str:
    """Return a place, where ``*EXPR`` is the address that the expression has now, in the frame that is selected."""
    if not text.startswith("*"):
        return text
    return f"*{Linespecs(debugger.frame).address(text[1:]):#x}"


def _ready(debugger: Debugger, arguments: Arguments) -> Debugging:
    """Return what runs the kernel, with the waves that are to run."""
    debugging = session(debugger, arguments.command)
    locking = debugger.settings["scheduler-locking"]
    is_alone = locking == "on" or (locking == "step" and arguments.command.name in STEPS)
    debugging.only = debugger.wave_number if is_alone else None
    debugging.write = None if arguments.form else debugger.output.write
    return debugging


# --- Starting and ending ----------------------------------------------------------------------------------------------


def run_(debugger: Debugger, arguments: Arguments) -> Document:
    run = debugger.state_of(KernelRun)
    if run.whole is not None:
        if run.whole.is_running and not debugger.confirmed(
            "The program being debugged has been started already. Start it from the beginning?"
        ):
            raise UsageError("Program not restarted.", kind="not_confirmed")
        _detach(debugger)
        run.whole.start()
        is_first = arguments.command.name == "start" or not any(point.is_enabled for point in run.points)
        return _go_on_in_program(debugger, arguments, run.whole, is_first=is_first)
    _begin(debugger, arguments)
    debugging = _ready(debugger, arguments)
    if arguments.command.name == "start":
        point = debugging.break_at(debugging.kernel, is_temporary=True)
        if not arguments.form:
            show_set(debugger, debugging, point)
    return stopped(debugger, debugging, debugging.go_on())


def _begin(debugger: Debugger, arguments: Arguments) -> None:
    run = debugger.state_of(KernelRun)
    if run.again is not None and debugger.attached is None:
        run.again()
        return
    debugging = session(debugger, arguments.command)
    is_new = run.settings == _of_next_launch(debugger) and not debugging.device.executed
    if not is_new or debugging.has_ended:
        if not debugger.confirmed("The program being debugged has been started already. Start it from the beginning?"):
            raise UsageError("Program not restarted.", kind="not_confirmed")
        assert run.again is not None  # noqa: S101 (a launch was noted with it)
        run.again()


def info_machine(debugger: Debugger, arguments: Arguments) -> Document:
    device = session(debugger, arguments.command).device
    device.use_compiled()
    compiled = device.compiled
    from dwarfgpu.execution.forms.native import hindrance

    forms, instructions, size = (0, 0, 0) if compiled is None else compiled.counted()
    row = {
        "processor": device.processor, "lanes": device.lanes, "waves": device.machine.wave_count,
        "executed": device.executed, "jit": debugger.settings["jit"],
        "compiler": None if compiled is None else compiled.compiler, "forms": forms, "instructions": instructions,
        "bytes": size, "problem": (hindrance() if compiled is None else compiled.problem) or None,
    }  # fmt: skip
    if compiled is None:
        what = ": ".join(filter(None, ("nothing is compiled", row["problem"])))
    elif compiled.problem:
        what = f"nothing more is compiled, because {compiled.compiler} failed: {compiled.problem}"
    else:
        what = f"each form of an instruction is compiled by {compiled.compiler}"
    waves, executed = counted(row["waves"], "wave"), counted(row["executed"], "instruction")
    lines = [f"{device.processor}, {waves} of {device.lanes} lanes, {executed} executed", f"jit {row['jit']}: {what}"]
    if compiled is not None and forms:
        where = f"{counted(instructions, 'instruction')} in {counted(forms, 'form')}"
        lines.append(f"compiled: {where}, {counted(size, 'byte')}")
    return Document({"machine": row}, lines)


def info_checkpoints(debugger: Debugger, arguments: Arguments) -> Document:
    history = session(debugger, arguments.command).history
    row = {
        "count": len(history.checkpoints), "bytes": history.size, "most_bytes": history.most_bytes,
        "first": history.start, "executed": history.device.executed,
    }  # fmt: skip
    reach, where = row["executed"] - row["first"], "not " if row["first"] else ""
    lines = [
        f"{counted(row['count'], 'checkpoint')}: {row['bytes']:,} of at most {row['most_bytes']:,} bytes",
        f"you can go back over {reach:,} instructions, {where}to the launch",
    ]
    whole = debugger.state_of(KernelRun).whole
    if whole is not None:
        row |= {"launches": len(whole.past.kept), "bytes_of_launches": whole.past.size}
        kept = counted(row["launches"], "launch", "launches")
        lines.append(f"{kept} can be executed again: {row['bytes_of_launches']:,} bytes")
    return Document({"checkpoints": row}, lines)


def kill(debugger: Debugger, arguments: Arguments) -> None:
    whole = debugger.state_of(KernelRun).whole
    if whole is not None:
        if not whole.is_running:
            raise UsageError(NOT_RUN, kind="cannot_run")
        _detach(debugger)
        whole.end()
        debugger.output.line(f"[{whole.why}]")
        return
    debugging = session(debugger, arguments.command)
    if not debugger.confirmed("Kill the program being debugged?"):
        raise UsageError("it goes on", kind="not_confirmed")
    run = debugger.state_of(KernelRun)
    for point in run.points:
        debugging.remove(point)
    run.debugging = None
    debugger.use(debugger.opened, None)
    debugger.output.line(f"[Inferior 1 ({debugging.shown_kernel}) killed]")


# --- Onwards ----------------------------------------------------------------------------------------------------------


def _count(arguments: Arguments) -> int:
    number = arguments.integer()
    if number is not None and number < 1:
        raise arguments.wrong("takes a number from 1")
    return 1 if number is None else number


def _detach(debugger: Debugger) -> None:
    """Forget the launch of a whole program."""
    if debugger.program is not None:
        debugger.use(debugger.program, None)


def _go_on_in_program(
    debugger: Debugger, arguments: Arguments, whole: WholeProgram, *, is_first: bool = False
) -> Document:
    """Go from launch to launch until something stops the waves or the host, or the program has ended."""
    if not whole.is_running and whole.in_past is None:
        raise UsageError(NOT_RUN, kind="cannot_run", hint="`run` starts the program")
    stops = debugger.state_of(CommandsOfStops)
    while True:
        has_failed = stops.halt is not None and stops.halt.kind in FAILURES
        if debugger.attached is not None and not has_failed:
            debugging = _ready(debugger, arguments)
            halt = debugging.go_on() if not debugging.has_ended else None
            if halt is not None and not halt.has_ended:
                return stopped(debugger, debugging, halt)
            for text in debugging.dprinted if not arguments.form else ():  # what became of breakpoints in this launch
                if text not in debugger.told:
                    debugger.told.add(text)
                    debugger.output.write(text)
            _leave(debugger, debugging)
            if whole.in_past is not None and debugging.history.is_changed:
                text = "later launches begin as they did before: what you changed in this one does not reach them"
                debugger.output.line(debugger.output.style("hint", f"hint: {text}"))
        stops.halt = None
        running = whole.go_on()
        if running is None:
            _detach(debugger)
            return Document({"reason": "program", "text": whole.why, "host": whole.calls()}, [f"[{whole.why}]"])
        debugger.use(running.program, running.attached)
        launched(debugger, running.launched, whole.start)
        if is_first or whole.point is not None or whole.has_come_back:
            return Document({"reason": "launch", "text": whole.why}, lambda _output: _launch_lines(debugger, whole))


def _launch_lines(debugger: Debugger, whole: WholeProgram) -> Iterator[str]:
    yield f"[{whole.why}]"
    show_frame(debugger)


def continue_(debugger: Debugger, arguments: Arguments) -> Document:
    whole = debugger.state_of(KernelRun).whole
    if whole is not None and not arguments.text:
        return _go_on_in_program(debugger, arguments, whole)
    debugging = _ready(debugger, arguments)
    count = _count(arguments)
    if count > 1:
        points = debugging.last_points
        if not points:
            raise UsageError("the waves are at no breakpoint, so there is nothing to ignore", kind="no_breakpoint")
        for point in points:
            point.ignored = count - 1
            if not arguments.form:
                debugger.output.line(f"{ignoring(point)}  Continuing.")
    if count == 1 and not arguments.form and not debugging.has_ended:
        debugger.output.line("Continuing.")
    return stopped(debugger, debugging, debugging.go_on())


STEPS: dict[str, Callable[[Debugging, int], Halt]] = {
    "step": lambda debugging, wave: debugging.step_line(wave),
    "next": lambda debugging, wave: debugging.step_line(wave, over=True),
    "stepi": lambda debugging, wave: debugging.step_instruction(wave),
    "nexti": lambda debugging, wave: debugging.step_instruction(wave, over=True),
    "reverse-step": lambda debugging, wave: debugging.reverse_line(wave),
    "reverse-next": lambda debugging, wave: debugging.reverse_line(wave, over=True),
    "reverse-stepi": lambda debugging, wave: debugging.reverse_instruction(wave),
    "reverse-nexti": lambda debugging, wave: debugging.reverse_instruction(wave, over=True),
    "reverse-finish": lambda debugging, wave: debugging.reverse_finish(wave),
}
"""What a wave does once, by the names of the commands."""


def step(debugger: Debugger, arguments: Arguments) -> Document:
    name = arguments.command.name
    once, is_back = STEPS[name], name.startswith("reverse")
    debugging = session(debugger, arguments.command) if is_back else _ready(debugger, arguments)
    count, wave = _count(arguments), debugger.wave.index
    halt = once(debugging, wave)
    for _ in range(count - 1):
        if halt.is_at_start if is_back else halt.kind != "step" or halt.points:
            break
        halt = once(debugging, wave)
    document = stopped(debugger, debugging, halt)
    whole = debugger.state_of(KernelRun).whole
    if halt.is_at_start and whole is not None and whole.can_go_back:
        document.hints.append("`reverse-continue` goes into the launch before")
    return document


def finish(debugger: Debugger, arguments: Arguments) -> Document:
    from dwarfgpu.execution.control.returned import return_type

    debugging = _ready(debugger, arguments)
    wave = debugger.wave.index
    debugging.pc_of(wave)
    frame = debugger.frame
    if debugging.is_outermost(frame):
        raise UsageError('"finish" not meaningful in the outermost frame.', kind="no_frame")
    if not arguments.form:
        debugger.output.write("Run till exit from ")
        writer = debugger.call_writer(frame)
        debugger.output.lines(writer.lines(frame))
    kind = return_type(frame)
    return stopped(debugger, debugging, debugging.finish(wave, frame.number), returned=kind)


def until(debugger: Debugger, arguments: Arguments) -> Document:
    debugging = _ready(debugger, arguments)
    wave = debugger.wave.index
    pc = debugging.pc_of(wave)
    if arguments.text:
        return _run_to(debugger, debugging, place_now(debugger, arguments.text))
    return stopped(debugger, debugging, debugging.step_line(wave, over=True, behind=pc))


def advance(debugger: Debugger, arguments: Arguments) -> Document:
    debugging = _ready(debugger, arguments)
    return _run_to(debugger, debugging, place_now(debugger, arguments.needed()), is_deeper=True)


def _run_to(debugger: Debugger, debugging: Debugging, place: str, *, is_deeper: bool = False) -> Document:
    """Run to a place; if its line has no code, say at which line the wave stops."""
    moved = debugging.running.moved_text(place, debugging.running.stops(place))
    document = stopped(debugger, debugging, debugging.run_to(debugger.wave.index, place, is_deeper=is_deeper))
    document.hints += [] if moved is None else [moved]
    return document


def jump(debugger: Debugger, arguments: Arguments) -> Document:
    debugging = _ready(debugger, arguments)
    address = debugging.jump(debugger.wave.index, place_now(debugger, arguments.needed()))
    if not arguments.form:
        debugger.output.line(f"Continuing at {address:#x}.")
    return stopped(debugger, debugging, debugging.go_on())


# --- Back -------------------------------------------------------------------------------------------------------------


def reverse_continue(debugger: Debugger, arguments: Arguments) -> Document:
    whole = debugger.state_of(KernelRun).whole
    if whole is None:
        debugging = session(debugger, arguments.command)
        return stopped(debugger, debugging, debugging.reverse_go_on())
    debugging, halt = go_back_in_program(debugger, arguments.command, whole)
    if halt.is_at_start and not debugging.history.start and whole.can_go_back:
        return Document({"reason": "launch", "text": whole.why}, lambda _output: _launch_lines(debugger, whole))
    if whole.in_past is not None and not arguments.form:
        debugger.output.line(f"[{whole.why}]")
    document = stopped(debugger, debugging, halt)
    if halt.is_at_start and whole.past.why and not debugging.history.start:
        document.hints.append(f"earlier launches were not kept: {whole.past.why}")
    return document


def go_back_in_program(debugger: Debugger, command: Command, whole: WholeProgram) -> tuple[Debugging, Halt]:
    """Go back to the last stop, also in the launches before; return what runs the launch of the stop.

    If nothing could stop there, it goes to the beginning of the launch, or of the one before.
    """
    debugging, halt, is_inside = None, None, False
    if debugger.attached is not None:
        debugging = session(debugger, command)
        is_inside = debugging.device.executed > 0
        halt = debugging.reverse_go_on()
    points = [point for point in debugger.state_of(KernelRun).points if point.is_enabled and point.texts is None]
    can_stop = any(point.kind == BREAK if point.watched is None else point.watched.is_of_program for point in points)
    while debugging is None or halt is None or (halt.is_at_start and not debugging.history.start):
        values = {} if debugging is None else debugging.watched_values()
        running = None if is_inside and not can_stop else whole.go_back()
        if running is None:
            break
        if debugging is not None:
            _leave(debugger, debugging)
        debugger.use(running.program, running.attached)
        launched(debugger, running.launched, whole.start)
        debugging, is_inside = session(debugger, command), True
        debugging.texts_shown = len([*debugging.running.printed()])
        halt = debugging.changed_since(values) or debugging.reverse_go_on()
    if debugging is None or halt is None:
        raise UsageError(NOT_RUN, kind="cannot_run", hint="`run` starts the program")
    return debugging, halt


def _leave(debugger: Debugger, debugging: Debugging) -> None:
    """Let no wave of a launch stop any more, before another one is there."""
    for point in debugger.state_of(KernelRun).points:
        debugging.remove(point)
