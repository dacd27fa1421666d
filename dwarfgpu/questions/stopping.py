"""Stops of a kernel that the debugger runs: what has stopped it, where, and in which lanes, as text and as JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.execution.breakpoints import ACCESS_WATCH, BREAK, DPRINTF, READ_WATCH, WATCH, Breakpoint
from dwarfgpu.program.frames.history import Remembered
from dwarfgpu.program.types.declaration import type_text
from dwarfgpu.questions.document import Document, Output
from dwarfgpu.questions.focus import title
from dwarfgpu.questions.scripts import joined, run_lines
from dwarfgpu.questions.sources import sources_of
from dwarfgpu.questions.stack import show_frame
from dwarfgpu.render.lanes import lanes_of, signal_text
from dwarfgpu.render.layout import fitted, ranges_text
from dwarfgpu.render.source_places import line_text
from dwarfgpu.render.values import value_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.execution.control.debugging import Debugging
    from dwarfgpu.execution.control.returned import ReturnType
    from dwarfgpu.execution.halts import Halt
    from dwarfgpu.questions.debugger import Debugger

WATCHPOINTS = {
    WATCH: "Hardware watchpoint", READ_WATCH: "Hardware read watchpoint",
    ACCESS_WATCH: "Hardware access (read/write) watchpoint",
}  # fmt: skip
"""What watchpoints are called where they are set and where they stop."""
REASONS = {
    WATCH: "watchpoint-trigger", READ_WATCH: "read-watchpoint-trigger", ACCESS_WATCH: "access-watchpoint-trigger",
    "breakpoint": "breakpoint-hit", "fault": "signal-received", "trap": "signal-received",
    "interrupted": "signal-received", "scope": "watchpoint-scope", "step": "end-stepping-range", "stuck": "stuck",
}  # fmt: skip
"""The words of GDB/MI for why a program has stopped."""
WAYS_BACK = (
    '`print` shows what the kernel left; `watch $_arg("NAME")[N]` and `reverse-continue` go where an element was stored'
)
"""The hint after the first end of a kernel."""
CAUSES = "`info fault` says which access failed, and what changed its index last"
"""The hint at the first fault."""
SILENT = "silent"
"""As the first of the commands of a breakpoint: the stop is not shown."""


class CommandsOfStops:
    """The commands of breakpoints that have stopped waves. Those that let it run on come back here, and end."""

    def __init__(self) -> None:
        self.stops = 0
        """How often the kernel has stopped."""
        self.halt: Halt | None = None
        """Why it has stopped last."""
        self._waiting: list[tuple[str, ...]] = []
        self._is_running = False

    def run(self, debugger: Debugger, points: tuple[Breakpoint, ...]) -> None:
        """Run the commands of breakpoints. As in GDB, what follows a command that runs the kernel is left out."""
        self._waiting += [point.commands for point in points if point.commands]
        if self._is_running:
            return
        self._is_running = True
        try:
            while self._waiting:
                stops = self.stops
                for line in joined(self._waiting.pop(0)):
                    if self.stops != stops:
                        break
                    if line.strip() != SILENT:
                        run_lines(debugger, [line])
        finally:
            self._is_running = False
            self._waiting.clear()


def stopped(debugger: Debugger, debugging: Debugging, halt: Halt, *, returned: ReturnType | None = None) -> Document:
    """Select what has stopped, and return the answer; ``returned`` is the type of a function that has returned."""
    stops = debugger.state_of(CommandsOfStops)
    stops.stops, stops.halt = stops.stops + 1, halt
    printed = list(debugging.running.printed())
    new = [*debugging.dprinted, *printed[debugging.texts_shown :]]
    debugging.texts_shown = len(printed)
    debugging.dprinted.clear()
    has_switched = not halt.has_ended and _select(debugger, halt)
    data = _data(debugger, debugging, halt, new)
    result = None
    if returned is not None and halt.kind == "step" and not halt.points:
        result = data["result"] = _result(debugger, debugging, returned)

    def lines(output: Output) -> Iterator[str]:
        for text in new:
            output.write(text)
        if halt.has_ended:
            yield f"[Inferior 1 ({debugging.shown_kernel}) exited normally]" if debugging.has_ended else halt.reason
            yield from _missed(debugging)
            return
        debugger.is_quiet = any(point.commands and point.commands[0].strip() == SILENT for point in halt.points)
        if not debugger.is_quiet:
            if has_switched:
                yield f"[Switching to {debugger.noun} {title(debugger)}]"
            yield from why_stopped(debugger, halt)
            if halt.loop is not None:
                yield from _loop_lines(debugging, halt)
            try:
                show_frame(debugger)
            except DwarfGpuError as error:
                yield debugger.output.style("error", error.message)
            if result is not None:
                known = f"Value returned has type: {result['type']}. Cannot determine contents"
                yield f"Value returned is ${result['number']} = {result['value']}" if "value" in result else known
        stops.run(debugger, halt.points)

    document = Document(data, lines)
    if halt.finding is not None and halt.finding.variable and len(halt.finding.sides) > 1:
        document.hints.append(f"`awatch {halt.finding.variable}` and `reverse-continue` go to the accesses before")
    if halt.has_ended and debugging.has_ended:
        document.hints += _untold(debugger, WAYS_BACK)
    elif halt.kind == "fault":
        document.hints += _untold(debugger, CAUSES)
    return document


def _untold(debugger: Debugger, hint: str) -> list[str]:
    """Return a hint that was not given before."""
    is_new = hint not in debugger.told
    debugger.told.add(hint)
    return [hint] if is_new else []


def _missed(debugging: Debugging) -> Iterator[str]:
    """Yield the breakpoints that no lane has reached, and the watchpoints that were not set again."""
    for point in debugging.points:
        if point.kind == BREAK and point.is_enabled:
            text = debugging.running.missed_text(point.text, [point], point.condition)
            yield from () if text is None else fitted(f"{_kind(point)} {point.number} was never hit: {text}", 2)
        elif point.watched is not None and point.watched.is_pending:
            call = point.watched.call
            where = f"wave {call.wave + 1} did not come to {call.name} as before"
            yield from fitted(f"Watchpoint {point.number} ({point.text}) was not set again: {where}", 2)


def _loop_lines(debugging: Debugging, halt: Halt) -> Iterator[str]:
    """Yield the loop that waves do not leave."""
    from dwarfgpu.execution.control.report import endless_loop
    from dwarfgpu.render.running import loop_text  # with what says why waves crash, which costs start-up time

    loop = endless_loop(debugging.running, halt)
    if loop is not None:
        yield from loop_text(loop)


def _result(debugger: Debugger, debugging: Debugging, returned: ReturnType) -> dict[str, Any]:
    """Put the value that a function has returned into the history, and return what there is to say about it."""
    frame, lane = debugger.frame, debugger.lane
    result: dict[str, Any] = {"type": type_text(returned.type)}
    values = returned.values(debugging.machine, debugger.wave.index)
    if values is None or lane is None:
        return result
    number = debugger.state_of(Remembered).add(values)
    value = frame.expression(f"${number}").find(frame.lane(lane))
    return result | {"number": number, "value": value_text(value, debugger.renderer(frame=frame).look)}


def _select(debugger: Debugger, halt: Halt) -> bool:
    """Select what has stopped; return whether something else was selected before."""
    lanes = halt.lanes or {}
    chosen = debugger.wave_number
    if lanes and chosen not in lanes:
        chosen = min(lanes)
    has_switched = chosen != debugger.wave_number
    debugger.wave_number, debugger.frame_number = chosen, 0
    mask = 0 if chosen is None else lanes.get(chosen, 0)
    if chosen is not None and mask and (halt.kind != "step" or halt.change is not None):
        lane = debugger.lanes.get(chosen)
        if lane is None or not mask >> lane & 1:
            first = debugger.lanes[chosen] = (mask & -mask).bit_length() - 1
            has_switched = has_switched or first != (lane or 0)  # a launch shows lane 0
    debugger.moved()
    return has_switched


# --- Breakpoints -----------------------------------------------------------------------------------------------------


def show_set(debugger: Debugger, debugging: Debugging, point: Breakpoint) -> None:
    """Say where a breakpoint was set."""
    kind = "Dprintf" if point.kind == DPRINTF else _kind(point)
    places, position = point.addresses, debugging.running.position(point.addresses[0])
    source = f": file {position.file}, line {position.line}." if position.file else ""
    where = source if len(places) == 1 else f": {point.text}. ({len(places)} locations)"
    debugger.output.line(f"{kind} {point.number} at {places[0]:#x}{where}")
    warn_of_condition(debugger, debugging, point)
    running, output = debugging.running, debugger.output
    for text in filter(
        None,
        (
            running.moved_text(point.text, places),
            running.others_text(point.text),
            _standing_text(debugger, debugging, point),
        ),
    ):
        output.line(output.style("hint", f"hint: {text}"))


def _standing_text(debugger: Debugger, debugging: Debugging, point: Breakpoint) -> str | None:
    """Return which waves are at a new breakpoint already, and so go on without a stop."""
    waves = [wave + 1 for wave in debugging.standing_at(point.addresses)]
    if not waves:
        return None
    several = len(waves) > 1
    who = f"{debugger.noun}{'s' * several} {ranges_text(waves)} {'are' if several else 'is'}"
    again = "they come" if several else "it comes"
    return f"{who} there now: `continue` goes on from there, and stops when {again} there again"


def warn_of_condition(debugger: Debugger, debugging: Debugging, point: Breakpoint) -> None:
    """Say where a breakpoint stops waves in any case or never, since its condition has no value or means nothing."""
    if point.condition is None:
        return
    output, running = debugger.output, debugging.running
    left_out = None if point.watched else running.left_out_text(point.text, point.condition)
    if left_out is not None:
        output.line(output.style("error", f"warning: {left_out}"))
        output.line(output.style("hint", "hint: without a condition, waves stop at each place"))
    for problem in running.unanswered(point.condition, point.addresses):
        output.line(output.style("error", f"warning: {problem}"))
        output.line(output.style("hint", "hint: break where it has a value, or compile with -O0"))


def ignoring(point: Breakpoint) -> str:
    """Return what GDB says of the crossings of a breakpoint that are passed over."""
    count = point.ignored
    if not count:
        return f"Will stop next time breakpoint {point.number} is reached."
    crossings = "crossing" if count == 1 else f"{count} crossings"
    return f"Will ignore next {crossings} of breakpoint {point.number}."


# --- JSON -------------------------------------------------------------------------------------------------------------


def reason_of(halt: Halt) -> str:
    """Return why it has stopped, in a word of GDB/MI."""
    if halt.is_at_start:
        return "no-history"
    if halt.has_ended:
        return "exited-normally"
    if halt.change is not None and halt.kind == "step" and halt.reason != "scope":
        return REASONS[halt.points[0].kind]
    return REASONS.get(halt.reason if halt.reason == "scope" else halt.kind, halt.kind)


def _data(debugger: Debugger, debugging: Debugging, halt: Halt, printed: list[str]) -> dict[str, Any]:
    machine = debugging.machine
    data: dict[str, Any] = {
        "reason": reason_of(halt),
        "text": halt.reason,
        "kernel": debugging.kernel,
        "breakpoints": [point.number for point in halt.points],
        "waves": [
            {"wave": wave + 1, "id": machine.ids[wave], "lanes": f"{mask:#x}"}
            for wave, mask in sorted((halt.lanes or {}).items())
        ],
        "instructions": debugging.device.executed,
        "printed": printed,
    }
    if halt.change is not None:
        data["old"], data["new"] = halt.change.old, halt.change.new
    if halt.problem is not None:
        data["problem"] = halt.problem
    if halt.has_ended or debugger.wave_number is None:
        return data
    data["wave"], data["lane"] = debugger.wave_number + 1, debugger.lane
    pc = machine.program_counter(debugger.wave_number)
    if pc is not None:
        position = debugging.running.position(pc)
        data |= {"pc": pc, "function": debugging.function_at(pc), "file": position.file, "line": position.line}
    return data


# --- Text -------------------------------------------------------------------------------------------------------------


def _same_lines(debugger: Debugger, halt: Halt) -> Iterator[str]:
    """Yield where the last stores to what is watched were, which changed nothing, so that going back passed them."""
    for hit in halt.further:
        source = debugger.frame.state.loaded.calls_at(hit.pc)[0].source
        place = f"{hit.pc:#x}" if source is None or not source.line else line_text(source, short=True)
        wave, mask = next(iter(hit.lanes.items()))
        text, who = hit.point.text, f"{debugger.noun} {wave + 1}, {lanes_of(mask)}"
        text = f"`{text}` was last written at {place} ({who}), with the same value; `awatch {text}` stops there"
        yield from fitted(text, 2)


def why_stopped(debugger: Debugger, halt: Halt) -> Iterator[str]:
    """Yield what has stopped, in the words of GDB."""
    chosen = debugger.wave_number or 0
    noun = debugger.noun.capitalize()
    who, lanes = f"{noun} {chosen + 1}", halt.lanes or {}
    mask = lanes.get(chosen, 0)
    if halt.finding is not None:
        from dwarfgpu.render.findings import finding_lines

        yield from finding_lines(halt.finding)
    if halt.is_at_start:
        yield ""
        yield halt.reason
        yield from _same_lines(debugger, halt)
    elif halt.reason == "scope":
        for point in halt.points:
            yield ""
            yield f"Watchpoint {point.number} deleted because the program has left the block in"
            yield "which its expression is valid."
    elif halt.change is not None:
        hits = [(halt.points[0], halt.change, lanes), *((hit.point, hit.change, hit.lanes) for hit in halt.further)]
        for point, change, lanes in hits:
            first = chosen if chosen in lanes else min(lanes, default=chosen)
            what, where = f"{WATCHPOINTS[point.kind]} {point.number}: {point.text}", lanes_of(lanes.get(first, 0))
            text = f"{noun} {first + 1} hit {what}, with {where}"
            yield text if halt.lanes is not None else f"{what}, changed by the host after this launch"
            yield from _others(noun, lanes, first)
            yield ""
            if point.kind == READ_WATCH or change.old == change.new:
                yield f"Value = {change.new}"
            else:
                yield f"Old value = {change.old}"
                yield f"New value = {change.new}"
        yield from _problem(halt)
    elif halt.kind == "breakpoint" and halt.points:
        names = ", ".join(f"{_kind(point)} {point.number}" for point in halt.points)
        yield f"{who} hit {names}, with {lanes_of(mask)}"
        yield from _others(noun, lanes, chosen)
        yield from _problem(halt)
    elif halt.kind in ("fault", "trap"):
        signal = signal_text((halt.reason.partition(":")[0],)) or signal_text(("TRAP",))
        if halt.points:
            yield f"{who} hit Catchpoint {halt.points[0].number} ({halt.points[0].text})"
        yield f"{who} received signal {signal}."
        yield from fitted(f"[Stop reason: {halt.reason}; {lanes_of(mask)}]", 2)
        yield from _variable_missed(debugger, halt)
    elif halt.kind == "interrupted":
        yield f"{who} received signal SIGINT, Interrupt."
    elif halt.kind not in ("step", "check"):
        yield f"[{halt.reason}]"
        if halt.loop is not None:
            yield "`set var` or `jump` can end the loop, `reverse-step` goes back, `info fault` explains the wait."


def _variable_missed(debugger: Debugger, halt: Halt) -> Iterator[str]:
    """Yield the variable in local or private memory that an access was meant for; the machine knows buffers alone."""
    if not re.search("no (local|private) memory", halt.reason):
        return
    from dwarfgpu.render.faults import faults_in, missed_variable

    found = faults_in(debugger.machine.stopped, sources_of(debugger).reader, debugger.call_writer)
    missed = next(filter(None, map(missed_variable, found)), None)
    yield from () if missed is None else fitted(f"[{missed}]", 2)


def _problem(halt: Halt) -> Iterator[str]:
    if halt.problem is not None:
        yield f"warning: the condition has no value, so it stopped: {halt.problem}"


def _kind(point: Breakpoint) -> str:
    return "Temporary breakpoint" if point.is_temporary else "Breakpoint"


def _others(noun: str, lanes: dict[int, int], chosen: int) -> Iterator[str]:
    """Yield the other waves that were stopped, those with the same lanes together."""
    others: dict[int, list[int]] = {}
    for wave in sorted(lanes):
        if wave != chosen:
            others.setdefault(lanes[wave], []).append(wave + 1)
    for mask, waves in others.items():
        yield from fitted(f"{noun}{'s' * (len(waves) > 1)} {ranges_text(waves)} hit it too, with {lanes_of(mask)}", 2)
