"""Requests that begin and end a session: ``initialize``, ``launch``, ``attach``, ``restart``, ``disconnect``."""

from __future__ import annotations

import gc
import json
import os
import re
from hmac import compare_digest
from typing import TYPE_CHECKING, Any

from dwarfgpu.dap.breakpoints import FILTERS, ClientPoints
from dwarfgpu.dap.requests import FURTHER, ROWS, RequestArguments
from dwarfgpu.dap.stack import begin_threads
from dwarfgpu.dap.steps import go_on_in_program, run, tell_entry
from dwarfgpu.errors import UsageError
from dwarfgpu.execution.control.running import launched_with
from dwarfgpu.execution.launch.options import LISTS, NUMBERS
from dwarfgpu.execution.launch.triton import kernel_and_arguments
from dwarfgpu.program.code.code_object import check_has_kernels
from dwarfgpu.program.frames.selectors import wave_named
from dwarfgpu.questions.execution import KernelRun, launched
from dwarfgpu.questions.files import attach_state, open_file
from dwarfgpu.questions.focus import signal_of_wave
from dwarfgpu.questions.settings import READING
from dwarfgpu.regular_files import open_input
from dwarfgpu.states.opening import names_its_code

if TYPE_CHECKING:
    from dwarfgpu.dap.session import DebugSession

    Json = dict[str, Any]

_WORD = re.compile(r"-(\w)")


def initialize(session: DebugSession, arguments: RequestArguments) -> Json:
    """Return what the server is capable of."""
    session.client = {"adapterID": "dwarfgpu", **arguments.given}
    rows = [row.capability for row in ROWS if row.capability]
    filters = [{"filter": name, "label": label, "default": name in session.filters} for name, label in FILTERS.items()]
    return {
        **dict.fromkeys((*rows, *FURTHER), True),
        "completionTriggerCharacters": [".", ">", "$", " "],
        "exceptionBreakpointFilters": filters,
    }


# --- Launching --------------------------------------------------------------------------------------------------------


def launch(session: DebugSession, arguments: RequestArguments) -> None:
    """Launch a kernel; the client then sets breakpoints."""
    _begin(session, arguments)
    _open(session)
    session.after.append(lambda: session.wire.event("initialized"))


def attach(session: DebugSession, arguments: RequestArguments) -> None:
    """Attach a snapshot or a core file: its waves have stopped, and stay where they are."""
    _begin(session, arguments)
    _attach(session)
    session.after.append(lambda: session.wire.event("initialized"))


def _begin(session: DebugSession, arguments: RequestArguments) -> None:
    token = arguments.maybe_text("token") or ""
    if session.token is not None and not compare_digest(token.encode(), session.token.encode()):
        raise UsageError(f'`{arguments.command}` needs the "token" that `dwarfgpu dap` has printed')
    if not session.is_admitted:
        session.is_admitted = True
        session.admit()
    if session.debugger.attached is not None:
        raise UsageError("the session has a kernel already: `restart` launches it again")
    session.configuration = dict(arguments.given)


def _open(session: DebugSession) -> None:
    """Open the program of the configuration, and launch its kernel."""
    _prepare(session)
    config = _configuration(session)
    if "kernel" not in config and "grid" not in config:
        from dwarfgpu.dap import programs  # with what stands in for a driver, which kernels do not need

        if programs.is_whole(config):
            programs.begin(session, config)
            return
    open_file(session.debugger, config.text("program"))
    check_has_kernels(session.debugger.opened.file)
    _start(session)


def _prepare(session: DebugSession) -> None:
    """Do what the configuration says of folders and settings."""
    config, debugger = _configuration(session), session.debugger
    folder = config.maybe_text("cwd")
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError as error:
            raise UsageError(f'"cwd": {folder}: {error.strerror}') from None
    debugger.settings.set("confirm", "off")
    for name in (*READING, "sysroot", "directories"):
        text = config.maybe_text(name)
        if text is not None:
            debugger.settings.set(name, text)
    debugger.substituted |= {before: str(after) for before, after in config.object("sourceMap").given.items()}
    for line in config.many("initCommands"):
        debugger.execute(str(line))
    if config.flag("noDebug"):
        session.filters = set()


def _configuration(session: DebugSession) -> RequestArguments:
    return RequestArguments("launch", session.configuration)


def _start(session: DebugSession) -> None:
    """Launch the kernel, now or once more."""
    config, debugger = _configuration(session), session.debugger
    kernel = config.maybe_text("kernel")
    words = [] if kernel is None else [kernel]
    name, values = kernel_and_arguments(debugger.opened.file, [*words, *_values(config)])
    if "grid" not in config:
        raise UsageError('the configuration needs "grid": the work-items in each direction, such as 1024 or "64,64"')
    running = launched_with(debugger.opened, name, values, lambda option: _option(config, option))
    debugger.use(running.program, running.attached)
    launched(debugger, running.launched, lambda: _start(session))
    for problem in (*running.launched.plan.problems, *running.launched.plan.notes):
        session.print(f"warning: {problem}\n", "important")
    begin_threads(session, running.launched)
    session.points = session.points or ClientPoints(session)
    session.points.renew()


def _values(config: RequestArguments) -> list[str]:
    """Return the arguments of the kernel as words of a command line."""
    given = config.given.get("args")
    if isinstance(given, dict):
        return [f"{name}={_text(value)}" for name, value in given.items()]
    return [_text(value) for value in config.many("args")]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _option(config: RequestArguments, option: str) -> Any:
    """Return what the configuration has for an option of `run`: ``workGroup`` for ``--work-group``."""
    name = _WORD.sub(lambda match: match[1].upper(), option)
    value = config.given.get(name)
    if value is None or value is False:
        return None
    if option in NUMBERS:
        return config.number(name)
    if option in LISTS:
        return config.many(name)
    if value is True:
        return "all" if option == "check" else "on"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _attach(session: DebugSession) -> None:
    """Open the state of the configuration, and select what it names."""
    _prepare(session)
    config, debugger = _configuration(session), session.debugger
    state = config.given.get("state")
    states = [state] if isinstance(state, str) else config.many("state")
    if not states or not all(isinstance(each, str) for each in states):
        raise UsageError('"attach" needs "state": a snapshot or a core file, or a list of core files')
    if "program" in config:
        open_file(debugger, config.text("program"))
    else:
        open_input(states[0].partition("@")[0]).close()
        if not names_its_code(states, debugger.substituted):
            raise UsageError(f'{states[0]} does not name its code: "program" must be the file of the kernel')
    attach_state(debugger, states, force=config.flag("force"))
    for problem in debugger.machine.stopped.found:
        session.print(f"warning: {problem}\n", "important")
    if "wave" in config:
        debugger.select_wave(wave_named(debugger.machine.stopped.machine, str(config.given["wave"])))
    if "lane" in config:
        debugger.select_lane(config.number("lane"))
    session.points = session.points or ClientPoints(session)
    session.points.renew()


# --- From there on ----------------------------------------------------------------------------------------------------


def configured(session: DebugSession, _arguments: RequestArguments) -> None:
    """Let the kernel run, or show where the waves have stopped."""
    start, debugger = session.start, session.debugger
    if start is None or (debugger.attached is None and session.next_launch is None):
        raise UsageError("`configurationDone` comes after `launch` or `attach`")
    session.start = None
    opened = debugger.program
    name = os.path.basename(opened.file.name if opened is not None else _configuration(session).text("program"))
    body = {"name": name, "isLocalProcess": True, "startMethod": start["command"], "pointerSize": 64}
    session.wire.event("process", body)
    session.after.append(lambda: session.wire.answer(start, None))
    session.after.append(lambda: _go(session))


def _go(session: DebugSession) -> None:
    gc.enable()
    debugger = session.debugger
    is_entered = session.configuration.get("stopOnEntry") is True
    if session.next_launch is not None:
        go_on_in_program(session, is_entered=is_entered)
        return
    is_launched = debugger.state_of(KernelRun).launched is not None
    if is_launched and not is_entered:
        run(session, lambda debugging: debugging.go_on(), can_pause=True)
        return
    crash: Json = {}
    stop = None if is_launched or debugger.wave_number is None else debugger.wave.stop
    if stop is not None and stop.reasons:
        with session.asking():
            crash = {"reason": "exception", "description": signal_of_wave(debugger) or stop.name, "text": stop.text}
    tell_entry(session, crash)


def restart(session: DebugSession, arguments: RequestArguments) -> None:
    """Launch the kernel again, or attach the state again; with another configuration if the client sends one."""
    if arguments.object("arguments").given:
        session.configuration = dict(arguments.object("arguments").given)
    if session.points is not None:
        session.points.forget()
    session.frames.clear()
    session.parts.clear()
    if session.debugger.state_of(KernelRun).launched is None:
        _attach(session)
    else:
        _open(session)
    session.after.append(lambda: _go(session))


def terminate(session: DebugSession, _arguments: RequestArguments) -> None:
    """End the kernel; the session is over."""
    session.after.append(session.end)


def disconnect(session: DebugSession, _arguments: RequestArguments) -> None:
    """Leave."""

    def leave() -> None:
        session.is_leaving = True

    session.after.append(leave)
