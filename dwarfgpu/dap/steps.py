"""Requests that run the kernel, onwards and back, and the events that tell how it has stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dwarfgpu.dap.session import HOST
from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution import halts
from dwarfgpu.execution.halts import Halt
from dwarfgpu.immutable import evolve
from dwarfgpu.machines.protocol import HAS_ENDED
from dwarfgpu.questions.execution import STEPS, KernelRun
from dwarfgpu.questions.stopping import CommandsOfStops, stopped, why_stopped

if TYPE_CHECKING:
    from dwarfgpu.dap.requests import RequestArguments
    from dwarfgpu.dap.session import DebugSession
    from dwarfgpu.execution.control.debugging import Debugging

    Json = dict[str, Any]

STEP_COMMANDS = {"next": ("next", "nexti"), "stepIn": ("step", "stepi"), "stepBack": ("reverse-next", "reverse-nexti")}
"""The command of the debugger for a request, by lines and by instructions."""
OUTERMOST = "the kernel is the outermost function, which nothing has called: `continue` runs it to its end"
AT_END = "The kernel has ended: steps go back from here, and `continue` ends the session."
REASONS = {halts.BREAKPOINT: "breakpoint", halts.INTERRUPT: "pause", halts.STEP: "step"}
"""Why the kernel has stopped, in words of the protocol; whatever is not here is an exception."""


# --- Running ----------------------------------------------------------------------------------------------------------


def run(session: DebugSession, go: Callable[[Debugging], Halt], *, can_pause: bool = False) -> None:
    """Let the kernel run until it stops, and tell the client. ``can_pause`` says that it goes on after a request."""
    halt = _run_kernel(session, go, can_pause=can_pause)
    while session.next_launch is not None and halt.has_ended and session.debugging.has_ended:
        for text in session.debugging.running.printed():
            session.print(text, "stdout")
        if not session.next_launch():
            leave(session)
            return
        whole = session.debugger.state_of(KernelRun).whole
        is_there = whole is None or whole.point is not None or whole.has_come_back
        if is_there or not can_pause:  # a step ends where the next kernel begins
            tell_entry(session)
            return
        halt = _run_kernel(session, lambda debugging: debugging.go_on(), can_pause=True)
    tell(session, halt)


def _run_kernel(session: DebugSession, go: Callable[[Debugging], Halt], *, can_pause: bool) -> Halt:
    debugging = session.debugging
    debugging.write = session.print
    debugging.guard = _guard(session, debugging)
    session.finding = None
    try:
        with session.running(can_pause=can_pause):
            halt, before = go(debugging), -1
            while can_pause and _goes_on(session, debugging, halt, before):
                before, halt = debugging.device.executed, debugging.go_on()
    except KeyboardInterrupt:  # on the way back, which ends where it began
        halt = Halt(halts.INTERRUPT, "interrupted")
    except DwarfGpuError as error:
        session.print(f"{error}\n", "important")
        halt = Halt(halts.INTERRUPT, error.message)
    return halt


def tell_entry(session: DebugSession, more: Json | None = None) -> None:
    """Tell the client that the waves are where they begin, or the host at a call; `more` says it in other words."""
    body: Json = {"reason": "entry", "allThreadsStopped": True, "preserveFocusHint": False}
    if session.host_point is not None and session.points is not None:
        body |= {"reason": "breakpoint", "hitBreakpointIds": session.points.ids_of([session.host_point])}
    if session.is_at_host:
        body["threadId"] = HOST
    elif session.debugger.wave_number is not None:
        body["threadId"] = session.debugger.wave_number + 1
    session.wire.event("stopped", body | (more or {}))


def go_on_in_program(session: DebugSession, *, is_entered: bool = False) -> None:
    """Let a whole program go on from its start, from a call of the host, or from the error of a kernel."""
    if session.next_launch is None or not session.next_launch():
        leave(session)
    elif is_entered or session.host_point is not None:
        tell_entry(session)
    else:
        run(session, lambda debugging: debugging.go_on(), can_pause=True)


def leave(session: DebugSession) -> None:
    """Tell the client that the kernel or the program has ended."""
    whole = session.debugger.state_of(KernelRun).whole
    session.wire.event("exited", {"exitCode": 0 if whole is None else whole.status or 0})
    session.end()


def _goes_on(session: DebugSession, debugging: Debugging, halt: Halt, before: int) -> bool:
    """Answer what has interrupted the run, and return whether it goes on; also behind a fault that may pass."""
    if halt.kind == halts.INTERRUPT:
        is_for_requests = bool(session.put_off) and not session.is_pausing
        while session.put_off and not session.is_pausing:
            session.handle(session.put_off.popleft())
        return is_for_requests
    if halt.kind not in (halts.FAULT, halts.TRAP) or halt.kind in session.filters:
        return False
    try:
        debugging.check_that_it_runs()
    except UsageError:
        return False
    if debugging.device.executed == before:  # the others wait for waves that have stopped
        return False
    session.print(f"{halt}\n", "important")
    return True


def _guard(session: DebugSession, debugging: Debugging) -> Callable[[Any], bool] | None:
    """Return what stops the kernel where a check finds something that the client wants to see."""
    checks = debugging.machine.checks
    if checks is None or not session.filters & checks.checks:
        return None
    device: Any = debugging.device

    def guard(batch: Any) -> bool:
        finding = next(_new_findings(session, debugging), None)
        if finding is None:
            return False
        session.findings_told.add(finding.identity)
        if finding.check not in session.filters or not finding.stops_waves:
            tell_finding(session, debugging, finding)
            return guard(batch)
        side = finding.sides[-1]
        wave = debugging.machine.wave_named(side.wave)
        session.finding, batch.passed = finding, batch.pc
        device.halt = Halt(halts.STEP, finding.kind, side.pc, {} if wave is None else {wave: side.lanes})
        return True

    return guard


def _new_findings(session: DebugSession, debugging: Debugging) -> Iterator[Any]:
    """Yield what checks have found that the client does not know."""
    memory: Any = debugging.device.memory
    yield from (each for each in memory.findings if each.identity not in session.findings_told)


def finding_text(debugging: Debugging, finding: Any) -> str:
    """Return what a check has found."""
    from dwarfgpu.execution.control.check_report import FindingNames
    from dwarfgpu.render.findings import finding_lines

    return "\n".join(finding_lines(FindingNames(debugging.running).named(finding)))


def tell_finding(session: DebugSession, debugging: Debugging, finding: Any) -> None:
    """Show what a check has found in the console."""
    session.print(f"{finding_text(debugging, finding)}\n", "important")


# --- Stops ------------------------------------------------------------------------------------------------------------


def tell(session: DebugSession, halt: Halt, *, is_selected: bool = False) -> None:
    """Tell the client how the kernel has stopped, or that it has ended."""
    debugger, debugging = session.debugger, session.debugging
    stops = debugger.state_of(CommandsOfStops)
    if not is_selected:
        with session.asking():
            data = stopped(debugger, debugging, halt).data
        for text in data["printed"]:
            session.print(text, "stdout")
    _tell_findings(session, debugging)
    if debugging.has_ended and session.configuration.get("stopAtEnd") is not True:
        leave(session)
        return
    if any(point.commands and point.texts is None for point in halt.points):
        before = stops.stops
        with session.asking():
            stops.run(debugger, halt.points)
        if stops.stops != before and stops.halt is not None:
            tell(session, evolve(stops.halt, points=()), is_selected=True)
            return
    _select_living(session, debugging)
    session.wire.event("stopped", _stop_body(session, debugging, halt))
    if session.points is not None:
        session.points.drop_forgotten()


def _tell_findings(session: DebugSession, debugging: Debugging) -> None:
    """Show what checks have found since the last stop."""
    if debugging.machine.checks is None:
        return
    for finding in _new_findings(session, debugging):
        tell_finding(session, debugging, finding)
        session.findings_told.add(finding.identity)


def _select_living(session: DebugSession, debugging: Debugging) -> None:
    """Select another wave if the one that was selected has ended."""
    debugger, machine = session.debugger, debugging.machine

    def has_ended(wave: int) -> bool:
        stop = machine.stop_of(wave)
        return stop is not None and stop.detail == HAS_ENDED

    if debugger.wave_number is not None and has_ended(debugger.wave_number):
        living = (wave for wave in range(machine.wave_count) if not has_ended(wave))
        debugger.wave_number, debugger.frame_number = next(living, debugger.wave_number), 0


def _stop_body(session: DebugSession, debugging: Debugging, halt: Halt) -> Json:
    debugger = session.debugger
    kind = REASONS.get(halt.kind, "exception")
    lines = [line for line in why_stopped(debugger, halt) if line.strip()]
    if session.finding is not None:
        kind, lines = "exception", [finding_text(debugging, session.finding)]
        side = session.finding.sides[-1]
        if side.lane is not None and debugger.wave_number is not None:
            debugger.lanes[debugger.wave_number] = side.lane
    elif halt.is_at_start:
        kind = "entry"
    elif halt.change is not None or halt.reason == "scope":
        kind = "data breakpoint"
    elif debugging.has_ended:
        kind, lines = "pause", [AT_END]
    elif halt.kind in (halts.ENDED, halts.STEP):
        kind, lines = "step", [halt.reason] if halt.kind == halts.ENDED else lines
    body: Json = {"reason": kind, "allThreadsStopped": True, "preserveFocusHint": False}
    if debugger.wave_number is not None:
        body["threadId"] = debugger.wave_number + 1
    if lines:
        body |= {"description": lines[0][:200], "text": "\n".join(lines)}
    if halt.points and session.points is not None:
        body["hitBreakpointIds"] = session.points.ids_of(halt.points)
        if kind == "breakpoint":
            body["reason"] = session.points.reason_of(halt.points[0])
    return body


# --- Requests ---------------------------------------------------------------------------------------------------------


def _continued(session: DebugSession, wave: int, *, is_alone: bool) -> None:
    session.wire.event("continued", {"threadId": wave + 1, "allThreadsContinued": not is_alone})


def _begin(session: DebugSession, arguments: RequestArguments) -> tuple[Debugging, int]:
    """Select the wave of a request, and let it run alone if the client wants that."""
    if session.is_at_host:
        raise UsageError("the host goes on to its next stop with `continue`, and takes no steps", kind="cannot_run")
    debugging, wave = session.debugging, session.wave(arguments)
    is_alone = arguments.flag("singleThread")
    if is_alone and arguments.command in ("stepBack", "reverseContinue"):
        raise UsageError("time goes back for all waves together: leave out `singleThread`", kind="cannot_run")
    debugging.only = wave if is_alone else None
    return debugging, wave


def go_on(session: DebugSession, arguments: RequestArguments) -> Json:
    """Let all waves run, or one."""
    if session.is_at_host:
        session.after.append(lambda: go_on_in_program(session))
        return {"allThreadsContinued": True}
    debugging, wave = _begin(session, arguments)
    is_alone = debugging.only is not None
    halt = debugging.device.halt
    if session.next_launch is not None and halt is not None and halt.kind in halts.FAILURES:
        session.after.append(lambda: go_on_in_program(session))
        return {"allThreadsContinued": True}
    if debugging.has_ended:
        session.after.append(lambda: leave(session))
        return {"allThreadsContinued": True}
    debugging.check_that_it_runs()
    session.debugger.wave_number, session.debugger.frame_number = wave, 0
    _continued(session, wave, is_alone=is_alone)
    session.after.append(lambda: run(session, lambda each: each.go_on(), can_pause=True))
    return {"allThreadsContinued": not is_alone}


def step(session: DebugSession, arguments: RequestArguments) -> None:
    """Let a wave take a step, by lines or by instructions; statements are lines."""
    granularity = arguments.maybe_text("granularity") or "statement"
    if granularity not in ("statement", "line", "instruction"):
        raise UsageError(f"`{arguments.command}`: `granularity` is statement, line or instruction")
    debugging, wave = _begin(session, arguments)
    debugger = session.debugger
    if arguments.command != "stepBack":
        debugging.pc_of(wave)
    go: Callable[[Debugging], Halt]
    if arguments.command == "stepOut":
        with session.at(None):
            debugger.wave_number, debugger.frame_number = wave, 0
            if debugging.is_outermost(debugger.frame):
                raise UsageError(OUTERMOST, kind="no_frame")
        go = lambda each: each.finish(wave)  # noqa: E731 (one of two)
    else:
        once = STEPS[STEP_COMMANDS[arguments.command][granularity == "instruction"]]
        go = lambda each: once(each, wave)  # noqa: E731
    debugger.wave_number, debugger.frame_number = wave, 0
    _continued(session, wave, is_alone=debugging.only is not None)
    session.after.append(lambda: run(session, go))


def reverse(session: DebugSession, arguments: RequestArguments) -> None:
    """Go back to the last stop."""
    _debugging, wave = _begin(session, arguments)
    session.debugger.wave_number, session.debugger.frame_number = wave, 0
    _continued(session, wave, is_alone=False)
    go = session.go_back
    session.after.append(lambda: run(session, go or (lambda each: each.reverse_go_on())))


def pause(session: DebugSession, _arguments: RequestArguments) -> None:
    """Stop the kernel that runs."""
    if not session.is_running:
        raise UsageError("the kernel does not run", kind="cannot_run")
    session.is_pausing = True


def goto_targets(session: DebugSession, arguments: RequestArguments) -> Json:
    """Return the addresses where a line begins."""
    from dwarfgpu.dap.places import source_named

    line = arguments.number("line") + session.line_base
    file = source_named(session, arguments.object("source"))
    known = file.next_line(line)
    targets = []
    for address in () if known is None else file.starts(known):
        session.targets.append(address)
        reference = f"{address:#x}"
        name = f"{file.name}:{known} at {reference}"
        targets.append(
            {"id": len(session.targets), "label": name, "line": (known or 0) - session.line_base,
             "instructionPointerReference": reference}
        )  # fmt: skip
    return {"targets": targets}


def goto(session: DebugSession, arguments: RequestArguments) -> None:
    """Send a wave to an address; its registers stay as they are."""
    debugging, wave = session.debugging, session.wave(arguments)
    number = arguments.number("targetId")
    if not 1 <= number <= len(session.targets):
        raise UsageError(f"there is no target {number}: `gotoTargets` lists them")
    debugging.pc_of(wave)
    debugging.jump(wave, f"{session.targets[number - 1]:#x}")
    session.debugger.wave_number, session.debugger.frame_number = wave, 0
    session.frames.clear()
    session.parts.clear()
    body = {"reason": "goto", "threadId": wave + 1, "allThreadsStopped": True, "preserveFocusHint": False}
    session.after.append(lambda: session.wire.event("stopped", body))
