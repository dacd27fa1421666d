"""A whole program in a debug session: it is started, and goes from launch to launch."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from dwarfgpu.children import PrivateFolder
from dwarfgpu.dap.breakpoints import ClientPoints
from dwarfgpu.dap.requests import NOW, REQUESTS, RequestArguments
from dwarfgpu.dap.stack import begin_threads
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.questions.execution import KernelRun, go_back_in_program, launched
from dwarfgpu.runtimes.debugged import DebuggedProgram
from dwarfgpu.runtimes.device import ProgramDevice
from dwarfgpu.runtimes.report import ProgramReport
from dwarfgpu.runtimes.started import check_program

if TYPE_CHECKING:
    from dwarfgpu.dap.session import DebugSession
    from dwarfgpu.execution.control.debugging import Debugging
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.halts import Halt

_REFUSED = 1


class ProgramOutput:
    """What a program writes, which the client is shown when it stops."""

    def __init__(self) -> None:
        self._folder = PrivateFolder()
        self._written = open(self._folder.path / "output", "wb")  # noqa: SIM115 (as long as the program runs)
        self._read = open(self._folder.path / "output", encoding="utf-8", errors="replace")  # noqa: SIM115

    @property
    def descriptor(self) -> int:
        return self._written.fileno()

    def new(self) -> str:
        """Return what was written since the last time."""
        return self._read.read()

    def close(self) -> None:
        self._read.close()
        self._written.close()
        self._folder.end()


def is_whole(config: RequestArguments) -> bool:
    """Return whether a configuration starts a program of the host, and not a kernel."""
    if "kernel" in config or "grid" in config:
        return False
    try:
        return not opened(config.text("program")).is_amdgpu
    except (DwarfGpuError, OSError):
        return False


def begin(session: DebugSession, config: RequestArguments) -> None:
    """Start the program; it goes on when the client has set its breakpoints."""
    session.at_end()
    run = session.debugger.state_of(KernelRun)
    path = config.text("program")
    words = [path if os.path.dirname(path) else os.path.join(".", path), *map(str, config.many("args"))]
    given = config.given.get("check")
    check = "all" if given is True else ",".join(given) if isinstance(given, list) else given or None
    seed = config.number("seed") if "seed" in config else None
    report = ProgramReport(path, lambda line: session.print(f"{line}\n", "important"), session.debugger.output)
    check_program(words)
    output = ProgramOutput()
    device = partial(ProgramDevice, check=check, seed=seed, permissive=config.flag("permissive"))
    whole = DebuggedProgram(
        words, lambda: run.points, report, device, output=output.descriptor, is_interrupted=partial(_is_asked, session)
    )
    run.whole, session.debugger.host_calls, session.debugger.ask_host = whole, whole.calls, whole.ask
    session.next_launch, session.at_end = partial(_next_launch, session, output), partial(_end, session, output)
    session.go_back = partial(_go_back, session)
    session.points = session.points or ClientPoints(session)
    whole.start()


def _next_launch(session: DebugSession, output: ProgramOutput) -> bool:
    """Go on to the next launch, or to a call of the host at a breakpoint; return whether the program is there."""
    debugger = session.debugger
    whole = debugger.state_of(KernelRun).whole
    assert whole is not None  # noqa: S101 (the caller knows)
    running = whole.go_on()
    session.print(output.new(), "stdout")
    session.print(f"{whole.why}\n")
    session.frames.clear()
    session.parts.clear()
    if running is None:
        if debugger.program is not None:
            debugger.use(debugger.program, None)
        return whole.point is not None
    debugger.use(running.program, running.attached)
    launched(debugger, running.launched, whole.start)
    _begin_launch(session, running)
    return True


def _begin_launch(session: DebugSession, running: Running) -> None:
    begin_threads(session, running.launched)
    assert session.points is not None  # noqa: S101 (since the program was started)
    session.points.renew(only_missing=True)


def _go_back(session: DebugSession, debugging: Debugging) -> Halt:
    """Go back to the last stop, also in the launches before."""
    debugger = session.debugger
    whole = debugger.state_of(KernelRun).whole
    assert whole is not None  # noqa: S101 (the caller knows)
    found, halt = go_back_in_program(debugger, debugger.registry.commands["reverse-continue"], whole)
    if found is not debugging:
        session.print(f"{whole.why}\n")
        session.frames.clear()
        session.parts.clear()
        _begin_launch(session, found.running)
    return halt


def _end(session: DebugSession, output: ProgramOutput) -> None:
    """End the program, and show the rest of what it has written."""
    run = session.debugger.state_of(KernelRun)
    if run.whole is not None:
        run.whole.end()
    session.print(output.new(), "stdout")
    output.close()
    session.next_launch, session.at_end = None, lambda: None


def _is_asked(session: DebugSession) -> bool:
    """Answer requests while code of the host runs; return whether one ends the program."""
    while not session.inbox.empty():
        message = session.inbox.get()
        name = message.get("command") if isinstance(message, dict) else None
        row = REQUESTS.get(name) if isinstance(name, str) else None
        if message is None or name in ("disconnect", "terminate", "restart"):
            session.put_off.append(message)
            return True
        if row is not None and row.running == NOW:
            session.handle(message)
        else:
            session.wire.refuse(message, _REFUSED, "the program executes code of the host, which is not stopped")
    return False
