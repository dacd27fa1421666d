"""Requests about what stops the kernel: breakpoints of all kinds, and exceptions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from itertools import count
from typing import TYPE_CHECKING, Any

from dwarfgpu.dap.places import source_body, source_named
from dwarfgpu.dap.requests import RequestArguments
from dwarfgpu.errors import DwarfGpuError, NotFound, UsageError
from dwarfgpu.execution.breakpoints import ACCESS_WATCH, BREAK, READ_WATCH, WATCH, Breakpoint
from dwarfgpu.execution.checks.findings import CHECKS
from dwarfgpu.execution.control.debugging import watched_object
from dwarfgpu.immutable import define, frozen
from dwarfgpu.questions.breakpoints import OF_HOST, set_watchpoint
from dwarfgpu.questions.execution import KernelRun
from dwarfgpu.questions.values import LogText
from dwarfgpu.render.lanes import stop_text

if TYPE_CHECKING:
    from dwarfgpu.dap.session import DebugSession
    from dwarfgpu.execution.control.debugging import Debugging

    Json = dict[str, Any]

_LABELS = {
    "race": "Data races", "barrier": "Barriers that not all work-items reach",
    "wait": "Registers used before they are loaded", "bounds": "Accesses outside of the buffer of their pointer",
    "init": "Values used before they are set", "nan": "NaNs and infinities made of numbers",
}  # fmt: skip
FILTERS = {
    "fault": "Memory faults, and other errors of a wave", "trap": "Traps: abort(), assert(), debugtrap",
    **{name: f'{_LABELS.get(name, name)} (with "check")' for name in CHECKS},
}  # fmt: skip
"""The exceptions that users choose from."""
LINE, FUNCTION, INSTRUCTION, DATA = "breakpoint", "function breakpoint", "instruction breakpoint", "data breakpoint"
"""The kinds of breakpoints, which are also the reasons of their stops."""
ACCESSES = {"write": WATCH, "read": READ_WATCH, "readWrite": ACCESS_WATCH}
MOST_LINES = 10_000
_HITS = re.compile(r"\s*(>=|<=|==|=|>|<|%)?\s*(\d{1,9})\s*")
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    ">=": lambda hits, number: hits >= number, "<=": lambda hits, number: hits <= number,
    "=": lambda hits, number: hits == number, "==": lambda hits, number: hits == number,
    ">": lambda hits, number: hits > number, "<": lambda hits, number: hits < number,
    "%": lambda hits, number: number > 0 and hits % number == 0,
}  # fmt: skip


def hit_rule(text: str | None) -> Callable[[int], bool] | None:
    """Return at which hits a breakpoint stops: ``5`` from the fifth on, ``== 5``, ``< 5``, ``% 5`` at each fifth."""
    if text is None:
        return None
    match = _HITS.fullmatch(text)
    if match is None:
        raise UsageError(f"the hit condition {text[:40]!r} is not a number, or a comparison such as >= 5, == 5 or % 5")
    compare, number = _COMPARISONS[match[1] or ">="], int(match[2])
    return lambda hits: compare(hits, number)


@frozen
class PointWish:
    """A breakpoint as the client wants it."""

    kind: str
    place: str
    """A line, a function, an address, or what is watched."""
    source: str | None = None
    """Of a line the source, as JSON."""
    condition: str | None = None
    hits: str | None = None
    log: str | None = None
    access: str = "write"


@define(eq=False)
class ClientPoint:
    """A breakpoint of the client, with what it has become."""

    number: int
    wish: PointWish
    point: Breakpoint | None = None
    message: str | None = None
    """Why it is not set, or which calls stop there."""


class ClientPoints:
    """The breakpoints of a client. A request replaces those of its kind, for lines those of its source."""

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._numbers = count(1)
        self._groups: dict[str, list[ClientPoint]] = {}

    def all(self) -> Iterable[ClientPoint]:
        """Yield all of them."""
        return (each for group in self._groups.values() for each in group)

    def replace(self, group: str, wishes: list[PointWish]) -> list[Json]:
        """Set the breakpoints of a group; those that stay as they are keep their counts."""
        before = self._groups.get(group, [])
        now = []
        for wish in wishes:
            same = next((each for each in before if each.wish == wish and each.point is not None), None)
            if same is None:
                same = ClientPoint(next(self._numbers), wish)
            else:
                before.remove(same)
            now.append(same)
        for each in before:
            self._forget(each)
        self._groups[group] = now
        for each in now:
            if each.point is None:
                self._set(each)
        return [self.body(each) for each in now]

    def _set(self, wanted: ClientPoint) -> None:
        session, wish = self._session, wanted.wish
        try:
            rule = hit_rule(wish.hits)
            wanted.message = None
            point = self._later(wanted) if session.debugger.attached is None else self._now(session.debugging, wanted)
            if point is not None:
                point.hit_rule = rule
            else:
                wanted.message = "it is set when the kernel is launched"
            wanted.point = point
        except DwarfGpuError as error:
            wanted.message = error.message

    def _now(self, debugging: Debugging, wanted: ClientPoint) -> Breakpoint:
        if wanted.wish.kind == DATA:
            return self._watch(debugging, wanted.wish)
        try:
            return self._break(debugging, wanted.wish)
        except DwarfGpuError:
            point = self._later(wanted)
            if point is None:
                raise
            return point

    def _later(self, wanted: ClientPoint) -> Breakpoint | None:
        """Return a breakpoint of a whole program, at a line of the host or in a kernel that is not launched yet."""
        wish, run = wanted.wish, self._session.debugger.state_of(KernelRun)
        if run.whole is None or wish.kind not in (LINE, FUNCTION) or wish.log is not None:
            return None
        place = self._place(wish)
        is_of_host = run.whole.is_of_host(place)
        if is_of_host is None:
            raise NotFound("no_symbol", f"neither a kernel nor the program has code at {place}")
        wanted.message = f"this {OF_HOST}" if is_of_host else None
        point = run.points.add(BREAK, place)
        point.condition = wish.condition
        return point

    def _place(self, wish: PointWish) -> str:
        if wish.source is None:
            return wish.place
        file = source_named(self._session, RequestArguments("setBreakpoints", json.loads(wish.source)))
        return f"{file.path}:{wish.place}"

    def _break(self, debugging: Debugging, wish: PointWish) -> Breakpoint:
        place = self._place(wish)
        if wish.log is None:
            return debugging.break_at(place, wish.condition)
        text = LogText.read(wish.log)
        point = debugging.print_at(place, text.in_lanes, text.expressions)
        try:
            debugging.condition(point, wish.condition)
        except DwarfGpuError:
            debugging.forget(point)
            raise
        return point

    def _watch(self, debugging: Debugging, wish: PointWish) -> Breakpoint:
        session = self._session
        wave, lane, frame, text = json.loads(wish.place)
        with session.at(None), session.asking():
            session.debugger.select_wave(wave)
            session.debugger.select_frame(frame)
            if lane is not None:
                session.debugger.select_lane(lane)
            return set_watchpoint(session.debugger, debugging, text, ACCESSES[wish.access], wish.condition)

    def _forget(self, known: ClientPoint) -> None:
        point, known.point = known.point, None
        if point is not None and self._session.debugger.attached is None:
            self._session.debugger.state_of(KernelRun).points.drop(point)
        elif point is not None:
            self._session.debugging.forget(point)

    def forget(self) -> None:
        """Remove all of them, which stay wanted: the kernel is launched again."""
        if any(each.point for each in self.all()):
            for each in self.all():
                self._forget(each)

    def renew(self, *, only_missing: bool = False) -> None:
        """Set all of them, or those that no launch of a program had a place for so far, and tell the client."""
        for each in self.all():
            if each.point is None or not only_missing:
                self._set(each)
                self._session.wire.event("breakpoint", {"reason": "changed", "breakpoint": self.body(each)})

    def drop_forgotten(self) -> None:
        """Tell the client of those that are gone, as what they watch is out of scope."""
        known = self._session.debugging.points.by_number
        for group in self._groups.values():
            for each in [each for each in group if each.point is not None and each.point.number not in known]:
                group.remove(each)
                body = {"id": each.number, "verified": False}
                self._session.wire.event("breakpoint", {"reason": "removed", "breakpoint": body})

    def body(self, known: ClientPoint) -> Json:
        """Return a breakpoint as the protocol has it."""
        body: Json = {"id": known.number, "verified": known.point is not None}
        if known.message is not None:
            why = "pending" if self._session.debugger.attached is None else "failed"
            return body | {"message": known.message} | ({} if known.point else {"reason": why})
        if known.point is not None and known.point.addresses:
            address = known.point.addresses[0]
            body["instructionReference"] = f"{address:#x}"
            line = self._session.debugging.running.line_at(address)
            if line is not None:
                body |= {"line": line.line - self._session.line_base, "source": source_body(self._session, line.file)}
        return body

    def ids_of(self, points: Iterable[Breakpoint]) -> list[int]:
        """Return the numbers by which the client knows breakpoints."""
        hit = {point.number for point in points}
        return [each.number for each in self.all() if each.point is not None and each.point.number in hit]

    def reason_of(self, point: Breakpoint) -> str:
        """Return the reason of a stop at a breakpoint."""
        return next((each.wish.kind for each in self.all() if each.point is point), LINE)


def _points(session: DebugSession) -> ClientPoints:
    session.points = session.points or ClientPoints(session)
    return session.points


# --- Requests ---------------------------------------------------------------------------------------------------------


def _wish(kind: str, place: str, given: RequestArguments, source: str | None = None) -> PointWish:
    condition, hits, log = map(given.maybe_text, ("condition", "hitCondition", "logMessage"))
    return PointWish(kind, place, source, condition, hits, log)


def of_source(session: DebugSession, arguments: RequestArguments) -> Json:
    """Set the breakpoints of a source file."""
    source = arguments.object("source")
    named = {key: source.given[key] for key in ("path", "name", "sourceReference") if key in source}
    if not named:
        raise UsageError("`setBreakpoints` needs a `source` with a path or a name")
    text = json.dumps(named)
    given = arguments.objects("breakpoints") or [
        RequestArguments(arguments.command, {"line": line}) for line in arguments.many("lines")
    ]
    wishes = [_wish(LINE, str(each.number("line") + session.line_base), each, text) for each in given]
    return {"breakpoints": _points(session).replace(f"{LINE} {text}", wishes)}


def of_functions(session: DebugSession, arguments: RequestArguments) -> Json:
    """Set the breakpoints at functions: they stop behind the prologue."""
    wishes = [_wish(FUNCTION, each.text("name"), each) for each in arguments.objects("breakpoints")]
    return {"breakpoints": _points(session).replace(FUNCTION, wishes)}


def of_instructions(session: DebugSession, arguments: RequestArguments) -> Json:
    """Set the breakpoints at instructions."""
    from dwarfgpu.dap.code import address_in

    wishes = []
    for each in arguments.objects("breakpoints"):
        address = address_in(each.text("instructionReference")).address + each.number("offset", 0)
        wishes.append(_wish(INSTRUCTION, f"*{address:#x}", each))
    return {"breakpoints": _points(session).replace(INSTRUCTION, wishes)}


def data_info(session: DebugSession, arguments: RequestArguments) -> Json:
    """Return whether a variable can be watched, and by which name."""
    from dwarfgpu.dap.variables import found_row

    name, number = arguments.text("name"), arguments.number("variablesReference", 0)
    debugger, lane, text = session.debugger, None, name
    place = session.frame(arguments)
    if number:
        parts = session.parts.get(number, "variable")
        row = found_row(session, parts, name)
        place, lane = parts.place, row.lane if row.lane is not None else parts.lane
        if row.expression is None:
            return {"dataId": None, "description": f"{name} cannot be watched: it has no name in the program"}
        text = row.expression
    with session.at(place):
        wave, frame = debugger.wave_number, debugger.frame_number
        lane = debugger.lane if lane is None else lane
        try:
            session.debugging  # noqa: B018 (an error where nothing can run)
            found = watched_object(debugger.frame.expression(text), lane)
        except DwarfGpuError as error:
            return {"dataId": None, "description": error.message}
    is_in_memory = found is not None and found.address is not None
    where = "" if lane is None else f" in lane {lane} of wave {(wave or 0) + 1}"
    return {
        "dataId": json.dumps([wave, lane, frame, text]),
        "description": f"{text}{where}",
        "accessTypes": ["write", "read", "readWrite"] if is_in_memory else ["write"],
        "canPersist": False,
    }


def of_data(session: DebugSession, arguments: RequestArguments) -> Json:
    """Set the watchpoints."""
    wishes = []
    for each in arguments.objects("breakpoints"):
        place, access = each.text("dataId"), each.maybe_text("accessType") or "write"
        try:
            wave, lane, frame, text = json.loads(place)
        except (ValueError, TypeError, RecursionError):
            wave = lane = frame = text = None
        is_right = type(wave) is int and type(frame) is int and isinstance(text, str)
        if not is_right or access not in ACCESSES or (lane is not None and type(lane) is not int):
            raise UsageError("`setDataBreakpoints` needs a `dataId` of `dataBreakpointInfo`, and a known access type")
        condition, hits = map(each.maybe_text, ("condition", "hitCondition"))
        wishes.append(PointWish(DATA, place, None, condition, hits, access=access))
    return {"breakpoints": _points(session).replace(DATA, wishes)}


def locations(session: DebugSession, arguments: RequestArguments) -> Json:
    """Return the lines of a range that have code."""
    file = source_named(session, arguments.object("source"))
    base = session.line_base
    line = arguments.number("line") + base
    last = min(arguments.number("endLine", line - base) + base, line + MOST_LINES)
    found: list[Json] = []
    known = file.next_line(line)
    while known is not None and known <= last:
        found.append({"line": known - base})
        known = file.next_line(known + 1)
    return {"breakpoints": found}


# --- Exceptions -------------------------------------------------------------------------------------------------------


def of_exceptions(session: DebugSession, arguments: RequestArguments) -> Json:
    """Choose the exceptions at which the kernel stops."""
    chosen = [str(each) for each in arguments.many("filters")]
    chosen += [each.text("filterId") for each in arguments.objects("filterOptions")]
    session.filters = set(chosen)
    return {"breakpoints": [_filter_body(session, name) for name in chosen]}


def _filter_body(session: DebugSession, name: str) -> Json:
    machine: Any = None if session.debugger.attached is None else session.debugger.attached.stopped.machine
    checks = getattr(machine, "checks", None)
    if name not in FILTERS:
        return {"verified": False, "message": f"there is no exception {name[:40]!r}: they are {', '.join(FILTERS)}"}
    if name not in CHECKS or (checks is not None and name in checks.checks):
        return {"verified": True}
    return {"verified": False, "message": f'launch with "check": "{name}"'}


def exception_info(session: DebugSession, arguments: RequestArguments) -> Json:
    """Return why a wave has stopped, as `info fault` says it."""
    from dwarfgpu.dap.steps import finding_text

    wave, debugger = session.wave(arguments), session.debugger
    if session.finding is not None:
        text = finding_text(session.debugging, session.finding)
        name = session.finding.kind
    else:
        with session.at(None), debugger.output.collected() as texts:
            debugger.select_wave(wave)
            stop = debugger.wave.stop
            name = "no exception" if stop is None else stop.name
            try:
                debugger.execute("info fault")
            except DwarfGpuError as error:
                texts.append(error.message if stop is None else stop_text(stop))
        text = "".join(texts)
    return {"exceptionId": name, "breakMode": "always", "description": text.strip(),
            "details": {"message": text.strip(), "typeName": name}}  # fmt: skip
