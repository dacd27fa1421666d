"""Requests about waves and their frames: ``threads``, ``stackTrace``, and the lane that frames are seen from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from dwarfgpu.dap.places import path_out, source_body
from dwarfgpu.dap.session import HOST, DebugSession, Viewpoint
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.machines.protocol import HAS_ENDED
from dwarfgpu.program.frames.frame import Frame
from dwarfgpu.program.frames.wave_groups import Cohort, wave_runs
from dwarfgpu.program.frames.wave_positions import group_text, place_of
from dwarfgpu.questions.execution import KernelRun
from dwarfgpu.questions.sources import file_of

if TYPE_CHECKING:
    from dwarfgpu.dap.requests import RequestArguments
    from dwarfgpu.execution.launch.launch import Launched
    from dwarfgpu.runtimes.host import HostLine

    Json = dict[str, Any]

MOST_THREADS = 256
"""The waves that are listed as threads."""
MOST_FRAMES = 1000
NAME_AND_VALUE = ("parameterNames", "parameterValues")
"""What a client may want to see of each argument of a frame."""


def begin_threads(session: DebugSession, launched: Launched) -> None:
    """Begin with the waves of a launch, of which the client knows nothing yet."""
    waves = range(1, min(len(launched.waves), MOST_THREADS) + 1)
    session.threads = {"threads": [{"id": wave, "name": f"wave {wave}"} for wave in waves]}
    session.findings_told, session.finding = set(), None
    session.source_bodies.clear()
    session.sources.clear()


def threads(session: DebugSession, _arguments: RequestArguments) -> Json:
    """Return the waves: the one that has stopped, those that have crashed, and the others."""
    debugger = session.debugger
    if session.is_at_host:
        return {"threads": [{"id": HOST, "name": "host"}]}
    if session.is_running or debugger.attached is None:
        return session.threads
    machine: Any = debugger.machine.stopped.machine
    stops = machine.all_stops()

    def rank(wave: int) -> int:
        stop = stops[wave]
        return 0 if wave == debugger.wave_number else 1 if stop is not None and stop.is_crash else 2

    living = [wave for wave, stop in enumerate(stops) if stop is None or stop.detail != HAS_ENDED]
    chosen = sorted(living or range(len(stops)), key=rank)[:MOST_THREADS]
    left = len(living) - len(chosen)
    if left > 0 and not session.is_cap_told:
        session.is_cap_told = True
        text = f"{len(living):,} waves: the first {len(chosen)} are shown as threads, those that have stopped first."
        session.print(f"{text} `wave N` in the console selects another one, and it is listed then.\n")
    session.threads = {"threads": [{"id": wave + 1, "name": name} for wave, name in _names(session, chosen)]}
    return session.threads


def _names(session: DebugSession, waves: Sequence[int]) -> list[tuple[int, str]]:
    machine = session.debugger.machine
    if not machine.has_waves:
        return [(wave, f"LWP {machine[wave].id}") for wave in waves]
    runs = {run.numbers[0]: run for run in wave_runs(machine.stopped, sorted(waves), separate=True)}
    return [(wave, _name(session, runs[wave])) for wave in waves]


def _name(session: DebugSession, run: Cohort) -> str:
    machine: Any = session.debugger.machine.stopped.machine
    wave = run.numbers[0]
    group = place_of(machine, wave).work_group
    parts = [f"wave {wave + 1}"]
    parts += [f"wg{group_text(group)}"] if group is not None else []
    parts += [f"{run.mask.bit_count()}/{run.lane_count} active"] if run.mask is not None else []
    parts += [run.stop.name] if run.stop is not None and run.stop.name != "stopped" else []
    return " ".join(parts)


def stack_trace(session: DebugSession, arguments: RequestArguments) -> Json:
    """Return frames of a wave, as its lane sees them, and behind them the calls of the host that has launched it.

    Functions that were inlined have frames of their own.
    """
    first = max(0, arguments.number("startFrame", 0))
    wanted = arguments.number("levels", 0)
    wanted = min(wanted, MOST_FRAMES) if wanted > 0 else MOST_FRAMES
    whole = session.debugger.state_of(KernelRun).whole
    of_host = [] if whole is None else whole.lines()
    if session.is_at_host:
        shown = [_host_body(session, each) for each in of_host[first : first + wanted]]
        return {"stackFrames": shown, "totalFrames": len(of_host)}
    wave = session.wave(arguments)
    with session.at(Viewpoint(wave, 0)) as debugger:
        found = list(islice(chain(debugger.seen_wave, of_host), first, first + wanted + 1))
        frames = [
            _frame_body(session, wave, each, arguments.object("format"))
            if isinstance(each, Frame)
            else _host_body(session, each)
            for each in found[:wanted]
        ]
    return {"stackFrames": frames, "totalFrames": first + len(found)}


def _host_body(session: DebugSession, call: HostLine) -> Json:
    """Return a call of the host, which has no variables here."""
    body: Json = {"id": session.frames.add(call), "name": f"host: {call.function}", "line": 0, "column": 0}
    if not call.file or not call.line:
        return body | {"presentationHint": "subtle"}
    source = {"name": os.path.basename(call.file), "path": path_out(session, call.file)}
    return body | {"source": source, "line": call.line - session.line_base, "column": 1 - session.column_base}


def _frame_body(session: DebugSession, wave: int, frame: Frame, form: RequestArguments) -> Json:
    body: Json = {"id": session.frames.add(Viewpoint(wave, frame.number)), "line": 0, "column": 0}
    symbol = None if frame.pc is None else frame.state.symbol_at(frame.pc)
    body["name"] = f"{frame.name or symbol or '??'}{_arguments_text(session, frame, form)}"
    if frame.pc is not None:
        body["instructionPointerReference"] = f"{frame.pc:#x}"
    if frame.code is not None:
        body["moduleId"] = frame.state.loaded.codes.index(frame.code) + 1
    place, source = file_of(frame), frame.call.source
    if place is None or source is None:
        return body | {"presentationHint": "subtle"}
    column = max(1, source.column) - session.column_base
    return body | {"source": source_body(session, place[0]), "line": place[1] - session.line_base, "column": column}


def _arguments_text(session: DebugSession, frame: Frame, form: RequestArguments) -> str:
    """Return what the client wants to see behind the name of a function: ``(x=4, y=5)``."""
    if not form.flag("parameters"):
        return ""
    shown = [each for each in NAME_AND_VALUE if form.flag(each)]
    pairs = session.debugger.call_writer(frame).values(frame)
    texts = ("=".join(part for part, what in zip(pair, NAME_AND_VALUE, strict=True) if what in shown) for pair in pairs)
    return f"({', '.join(filter(None, texts))})"


def set_lane(session: DebugSession, arguments: RequestArguments) -> Json:
    """Select the lane that frames, variables and expressions of a wave are about."""
    debugger, lane = session.debugger, arguments.number("lane")
    wave = session.wave(arguments)
    debugger.needs_lane(lane)
    debugger.lanes[wave] = lane
    debugger.wave_number, debugger.frame_number = wave, 0
    try:
        is_active = bool((debugger.wave.frame(0).active_mask or 0) >> lane & 1)
    except DwarfGpuError:
        is_active = False
    session.after.append(lambda: session.changed("stacks", "variables"))
    return {"lane": lane, "isActive": is_active}
