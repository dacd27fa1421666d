"""Commands about what stops a launched kernel: breakpoints, watchpoints and catchpoints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.execution.breakpoints import ACCESS_WATCH, BREAK, DPRINTF, FAULTS, READ_WATCH, TRAPS, WATCH, Breakpoint
from dwarfgpu.program.frames.linespec import Linespecs
from dwarfgpu.program.frames.reasons import Unavailable
from dwarfgpu.program.frames.selectors import numbers_in
from dwarfgpu.questions.document import Document, Output
from dwarfgpu.questions.execution import KernelRun, place_now, session
from dwarfgpu.questions.optimized_code import ways
from dwarfgpu.questions.scripts import body
from dwarfgpu.questions.stopping import WATCHPOINTS, ignoring, show_set, warn_of_condition
from dwarfgpu.questions.values import FormattedText
from dwarfgpu.render.layout import Record, counted, table
from dwarfgpu.render.values import value_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dwarfgpu.execution.control.debugging import Debugging
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.values.objects import Object
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments

_IF = re.compile(r"(?:^|\s)if\b\s*(?=\S)")
OF_HOST = "is code of the host, which stops only at calls of HIP or OpenCL; kernels stop at every line"


# --- Breakpoints ------------------------------------------------------------------------------------------------------


def break_(debugger: Debugger, arguments: Arguments) -> None:
    place, condition = _parts(arguments)
    is_temporary = arguments.command.name == "tbreak"
    whole = debugger.state_of(KernelRun).whole
    if place and whole is not None and not _is_in_launch(debugger, arguments, place, condition):
        is_of_host = whole.is_of_host(place)
        if is_of_host is None:
            raise UsageError(f"neither a kernel nor the program has {place!r}", kind="no_symbol")
        _add_pending(debugger, place, condition, is_temporary=is_temporary)
        if is_of_host:
            debugger.output.line(debugger.output.style("hint", f"hint: {place} {OF_HOST}"))
        return
    if place and debugger.attached is None and debugger.program is not None:
        from dwarfgpu.execution.control.running import AT_ALL  # what runs kernels needs numpy

        here = ((file, 1) for file in debugger.program.outside.state.sources.all())
        Linespecs(debugger.program.outside, lambda: next(here, None)).read(AT_ALL.sub("", place))
        _add_pending(debugger, place, condition, is_temporary=is_temporary)
        return
    debugging = session(debugger, arguments.command)
    if not place:
        pc = debugger.frame.pc
        if pc is None:
            raise UsageError("the frame has no program counter", kind="no_frame", hint="name a place")
        place = f"*{pc:#x}"
    show_set(debugger, debugging, debugging.break_at(place_now(debugger, place), condition, is_temporary=is_temporary))


def _add_pending(debugger: Debugger, place: str, condition: str | None, *, is_temporary: bool) -> None:
    point = debugger.state_of(KernelRun).points.add(BREAK, place)
    point.condition, point.is_temporary = condition, is_temporary
    debugger.output.line(f"Breakpoint {point.number} ({place}) pending.")


def _is_in_launch(debugger: Debugger, arguments: Arguments, place: str, condition: str | None) -> bool:
    """Return whether a place is one of the kernel that a whole program has launched."""
    if debugger.attached is None:
        return False
    running = session(debugger, arguments.command).running
    try:
        return running.moved_text(place, running.stops_with(place, condition)) is None
    except DwarfGpuError:
        return False


def _parts(arguments: Arguments) -> tuple[str, str | None]:
    """Return what is before `if`, and the condition behind it, if there is one."""
    text = arguments.text
    if (other := re.search(r"\s(thread|wave|lane)\s+(\d+)$", text)) is not None and not _IF.search(text):
        name = "$_lane" if other[1] == "lane" else "$_thread"
        raise arguments.wrong(f"takes a condition in place of `{other[0].strip()}`: `if {name} == {other[2]}`")
    match = _IF.search(text)
    if match:
        return text[: match.start()].strip(), text[match.end() :].strip()
    if re.search(r"(?:^|\s)if$", text):
        raise arguments.wrong("needs an expression after `if`")
    return text.strip(), None


def dprintf(debugger: Debugger, arguments: Arguments) -> None:
    debugging = session(debugger, arguments.command)
    match = re.search(r',\s*(?=")', arguments.needed())
    if match is None:
        raise UsageError("Format string required", kind="bad_format", hint='dprintf PLACE, "%d\\n", EXPR')
    place, rest = arguments.text[: match.start()].strip(), arguments.text[match.end() :]
    if not place:
        raise arguments.wrong("needs a place before the format")
    text = FormattedText.read(rest)
    point = debugging.print_at(place_now(debugger, place), text.in_lanes, text.expressions)
    point.commands = (f"printf {rest}",)
    show_set(debugger, debugging, point)


# --- Watchpoints and catchpoints --------------------------------------------------------------------------------------


def watch(debugger: Debugger, arguments: Arguments) -> None:
    kind = {"watch": WATCH, "rwatch": READ_WATCH, "awatch": ACCESS_WATCH}[arguments.command.name]
    debugging = session(debugger, arguments.command)
    arguments.needed()
    text, condition = _parts(arguments)
    text = re.sub(r"^-l(ocation)?\s+", "", text)
    if not text:
        raise arguments.wrong("needs an expression before `if`")
    if option := re.match(r"-(lane|wave)\s+(\d+)\s+(.+)", text):
        what = f"select it first: `{option[1]} {option[2]}`, then `{arguments.command.name} {option[3]}`"
        raise arguments.wrong(f"has no option -{option[1]}; {what}")
    try:
        point = set_watchpoint(debugger, debugging, text, kind, condition)
    except Unavailable as error:
        error.hint = error.hint or dict(ways(text, error.reason)).get("after")
        raise
    debugger.output.line(f"{WATCHPOINTS[kind]} {point.number}: {text}")


def set_watchpoint(debugger: Debugger, debugging: Debugging, text: str, kind: str, condition: str | None) -> Breakpoint:
    """Watch an expression in the lane and the frame that are selected."""

    def shown(value: Object, frame: Frame) -> str:
        return value_text(value, debugger.renderer(frame=frame).look)

    wave, lane, frame = debugger.wave.index, debugger.lane or 0, debugger.frame_number
    return debugging.watch(text, kind, wave=wave, lane=lane, frame=frame, shown=shown, condition=condition)


def catch(debugger: Debugger, arguments: Arguments) -> None:
    debugging = session(debugger, arguments.command)
    if arguments.text not in (FAULTS, TRAPS):
        raise arguments.wrong("takes fault or trap")
    point = debugging.catch(arguments.text)
    debugger.output.line(f"Catchpoint {point.number} ({point.text})")


# --- All of them ------------------------------------------------------------------------------------------------------


def info_breakpoints(debugger: Debugger, arguments: Arguments) -> Document:
    run = debugger.state_of(KernelRun)
    points = _chosen(debugger, arguments.text)
    rows = [_row(run.debugging, point) for point in points]
    return Document({"breakpoints": rows}, lambda output: _table(rows, output), rows="breakpoints")


BREAKPOINT = Record("number type=kind is_temporary is_enabled what=text hits condition ignored commands")


def _row(debugging: Debugging | None, point: Breakpoint) -> dict[str, Any]:
    row = {**BREAKPOINT.json(point), "locations": []}
    for address in point.addresses:
        position = None if debugging is None else debugging.running.position(address)
        function = None if debugging is None else debugging.function_at(address)
        place = {} if position is None else {"function": function, "file": position.file}
        line = None if position is None or not position.file else position.line
        row["locations"].append({"address": address, **place, "line": line})
    watched = point.watched
    if watched is not None and debugging is not None:
        row["wave"], row["lane"] = watched.wave + 1, watched.lane
        row |= {"is_pending": True} if watched.is_pending else {}
    return row


def _table(rows: list[dict[str, Any]], output: Output) -> Iterable[str]:
    if not rows:
        yield "No breakpoints or watchpoints."
        return
    cells = [("Num", "Type", "Disp", "Enb", "Address", "What")]
    notes: dict[int, list[str]] = {}
    for row in rows:
        locations = row["locations"]
        first = locations[0] if locations else {}
        where = "" if not locations else f"{first['address']:#018x}" if len(locations) == 1 else "<MULTIPLE>"
        where = "<PENDING>" if row.get("is_pending") else where
        what = row["what"]
        if len(locations) == 1 and first.get("file"):
            what = f"in {first['function']} at {first['file']}:{first['line']}"
        if "lane" in row:
            what = f"{what} (wave {row['wave']}, lane {row['lane']})"
        disposition, enabled = "del" if row["is_temporary"] else "keep", "y" if row["is_enabled"] else "n"
        cells.append((str(row["number"]), row["type"], disposition, enabled, where, what))
        lines = notes[len(cells) - 1] = []
        if row["condition"] is not None:
            lines.append(f"\tstop only if {row['condition']}")
        if row["hits"]:
            lines.append(f"\tbreakpoint already hit {counted(row['hits'], 'time')}")
        if row["ignored"]:
            lines.append(f"\tignore next {row['ignored']} hits")
        lines += [f"        {line}" for line in row["commands"]]
        if len(locations) > 1:
            for number, place in enumerate(locations, 1):
                source = f" at {place['file']}:{place['line']}" if place.get("file") else ""
                lines.append(f"{row['number']}.{number}  {place['address']:#018x} in {place.get('function')}{source}")
    for number, line in enumerate(table(cells, "llllll", indent=0, is_headed=True)):
        yield line
        yield from notes.get(number, ())


def _chosen(debugger: Debugger, text: str) -> list[Breakpoint]:
    points = debugger.state_of(KernelRun).points
    if not text:
        return list(points)
    if not re.fullmatch(r"[\d\s,-]+", text):
        raise UsageError(f"Bad breakpoint argument: '{text[:40]}'", kind="no_breakpoint")
    numbers = numbers_in(text.replace(" ", ","), 1, max(points.last, 1), "breakpoint")
    if not numbers:
        raise UsageError(f"No breakpoint number {text[:40]}.", kind="no_breakpoint")
    known = [number for number in numbers if number in points.by_number] if "-" in text else None
    return [points.numbered(number) for number in known or numbers]


def delete(debugger: Debugger, arguments: Arguments) -> None:
    run = debugger.state_of(KernelRun)
    chosen = _chosen(debugger, arguments.text)
    question = "Delete all breakpoints, watchpoints, and catchpoints?"
    if chosen and not arguments.text and not debugger.confirmed(question):
        raise UsageError("they stay", kind="not_confirmed")
    for point in chosen:
        if run.debugging is not None:
            run.debugging.remove(point)
        run.points.by_number.pop(point.number, None)


def clear(debugger: Debugger, arguments: Arguments) -> None:
    debugging, place = session(debugger, arguments.command), arguments.text
    found = debugging.points_at(place_now(debugger, place) if place else f"*{debugger.frame.pc or 0:#x}")
    if not found:
        raise UsageError(f"No breakpoint at {place or 'this line'}.", kind="no_breakpoint")
    for point in found:
        debugging.forget(point)
    numbers = " ".join(str(point.number) for point in found)
    debugger.output.line(f"Deleted breakpoint{'s' * (len(found) > 1)} {numbers}")


def enable(debugger: Debugger, arguments: Arguments) -> None:
    for point in _chosen(debugger, arguments.text):
        point.is_enabled = arguments.command.name == "enable"


def _numbered(debugger: Debugger, arguments: Arguments) -> tuple[Breakpoint, str]:
    word, _, rest = arguments.needed().partition(" ")
    if not word.isdecimal():
        raise UsageError(f"Bad breakpoint argument: '{word[:40]}'", kind="no_breakpoint")
    return debugger.state_of(KernelRun).points.numbered(int(word)), rest.strip()


def condition(debugger: Debugger, arguments: Arguments) -> None:
    point, text = _numbered(debugger, arguments)
    if point.watched is None and not point.addresses:
        raise UsageError(
            f"{point.number} is a {point.kind}, and only breakpoints and watchpoints have conditions",
            kind="no_breakpoint",
        )
    debugging = session(debugger, arguments.command)
    debugging.condition(point, text or None)
    warn_of_condition(debugger, debugging, point)
    if not text:
        debugger.output.line(f"Breakpoint {point.number} now unconditional.")


def ignore(debugger: Debugger, arguments: Arguments) -> None:
    point, text = _numbered(debugger, arguments)
    if not text.isdecimal():
        raise arguments.wrong("needs a number and a count")
    point.ignored = int(text)
    debugger.output.line(ignoring(point))


def commands(debugger: Debugger, arguments: Arguments) -> None:
    points = debugger.state_of(KernelRun).points
    number = arguments.integer()
    point = points.numbered(points.last if number is None else number)
    if point.kind == DPRINTF:
        message = f"{point.number} is a dprintf, which prints and goes on: it has no commands"
        raise UsageError(message, kind="no_breakpoint", hint="delete it, and set another one")
    point.commands = tuple(body(debugger, "`commands`"))
