"""Commands that choose what is looked at, ``wave`` and ``lane``, and those that run a command in several of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.commands.words import Arguments


# --- Waves ----------------------------------------------------------------------------------------------------------


def wave(debugger: Debugger, arguments: Arguments) -> None:
    """A wave is named by its number, counted from 1 as `info waves` shows it, or by what the machine calls it, such as
    1:2:1:1. It is looked at in its innermost frame, and in the lane that was looked at in it before.
    """
    if not arguments.text:
        debugger.output.line(f"[Current {noun(debugger)} is {wave_title(debugger)}]")
        return
    debugger.select_wave(wave_number(debugger, arguments.text))
    debugger.output.line(f"[Switching to {noun(debugger)} {wave_title(debugger)}]")
    _show_frame(debugger)


def wave_apply(debugger: Debugger, arguments: Arguments) -> None:
    """LIST is numbers and ranges as `info waves` shows them, such as 1,4-7. The wave that is looked at stays the same.
    A command that fails in one wave does not hinder the others.
    """
    which, command = _split(arguments)
    machine = debugger.machine
    numbers = range(1, len(machine) + 1) if which == "all" else numbers_of(which, 1, len(machine), "wave")
    before = debugger.wave_number, debugger.frame_number

    def visit(number: int) -> str:
        debugger.select_wave(number - 1)
        return f"{noun(debugger).capitalize()} {wave_title(debugger)}:"

    try:
        _apply(debugger, numbers, visit, command)
    finally:
        debugger.wave_number, debugger.frame_number = before


def wave_find(debugger: Debugger, arguments: Arguments) -> None:
    """REGEXP is searched in what `info waves` shows of each wave: its id, work-group, kernel, function and line."""
    from dwarfgpu.commands.waves import titles

    arguments.needed()
    pattern = arguments.pattern()
    found = 0
    for number, title in titles(debugger):
        if pattern.search(title):
            debugger.output.line(f"{noun(debugger).capitalize()} {number} has {title}")
            found += 1
    if not found:
        debugger.output.line(f"No {noun(debugger)}s match {arguments.text!r}")


def noun(debugger: Debugger) -> str:
    """What a user calls the waves of the machine."""
    return "wave" if debugger.machine.has_waves else "thread"


def wave_title(debugger: Debugger) -> str:
    """The wave that is looked at, with its number."""
    assert debugger.wave_number is not None  # noqa: S101 (the wave was found before)
    return f"{debugger.wave_number + 1} ({debugger.wave.id})"


def wave_number(debugger: Debugger, text: str) -> int:
    """The number from 0 of the wave that a text names: a number from 1, or its id."""
    machine = debugger.machine
    named = machine.stopped.machine.wave_named(text)
    if named is not None:
        return named
    if text.isdecimal() and text.isascii() and len(text) < 10 and 1 <= int(text) <= len(machine):
        return int(text) - 1
    known = machine.stopped.machine.ids[:3]
    some = ", ".join(f"{i} ({name})" for i, name in enumerate(known, 1)) + (
        ", ..." if len(machine) > 3 else ""
    )
    hint = f"there are {len(machine)}: {some}"
    raise UsageError(f"there is no {noun(debugger)} {text[:60]!r}", kind="no_wave", hint=hint)


# --- Lanes ----------------------------------------------------------------------------------------------------------


def lane(debugger: Debugger, arguments: Arguments) -> None:
    """`lane 5` makes 5 the lane that expressions are about, in this wave. By itself it is the first active one."""
    if not arguments.text:
        if debugger.lane is None:
            raise UsageError(f"{noun(debugger)}s of this machine have no lanes", kind="no_lane")
        debugger.output.line(f"[Current lane is {lane_title(debugger)}]")
        return
    number = arguments.integer()
    assert number is not None  # noqa: S101 (there is a text)
    debugger.select_lane(number)
    debugger.output.line(f"[Switching to lane {lane_title(debugger)}]")
    _show_frame(debugger)


def lane_apply(debugger: Debugger, arguments: Arguments) -> None:
    """LIST is lanes and ranges, such as 0,3,8-11. Without an option the command runs in all of them that have a
    work-item. A command that fails in one lane does not hinder the others.
    """
    from dwarfgpu.commands.waves import lanes_here

    which, command = _split(arguments)
    here = lanes_here(debugger)
    last = len(here.lanes) - 1
    numbers = set(range(last + 1) if which == "all" else numbers_of(which, 0, last, "lane"))
    states = {"active": ("active",), "inactive": ("inactive",)}
    wanted = [state for flag in states if arguments.has(flag) for state in states[flag]]
    chosen = [
        each.number
        for each in here.lanes
        if each.number in numbers
        and (each.state in wanted if wanted else each.state != "unused" or arguments.has("all"))
    ]
    if not chosen:
        raise UsageError(f"No lanes match '{which}'.", kind="no_lane")
    before = dict(debugger.lanes)

    def visit(number: int) -> str:
        debugger.select_lane(number)
        return f"Lane {lane_title(debugger)}:"

    try:
        _apply(debugger, chosen, visit, command)
    finally:
        debugger.lanes = before


def lane_title(debugger: Debugger) -> str:
    """The lane that is looked at, with its work-item."""
    from dwarfgpu.commands.waves import lanes_here, target_id

    number = debugger.lane
    here = lanes_here(debugger)
    found = next((each for each in here.lanes if each.number == number), None)
    return f"{number}" if found is None else f"{number} ({target_id(here, found)})"


# --- Both -----------------------------------------------------------------------------------------------------------


def numbers_of(text: str, first: int, last: int, what: str) -> list[int]:
    """Numbers and ranges: ``1,4-7``."""
    found: dict[int, None] = {}
    for part in text.replace(",", " ").split():
        low, dash, high = part.partition("-")
        if not low.isdecimal() or not low.isascii() or (dash and not high.isdecimal()):
            raise UsageError(f"{part[:40]!r} is no {what} and no range", hint="a list is like 0,3,8-11")
        bounds = int(low), int(high or low)
        if bounds[1] < bounds[0] or bounds[0] < first or bounds[1] > last:
            raise UsageError(
                f"there is no {what} {part[:40]}", kind=f"no_{what}", hint=f"they are {first} to {last}"
            )
        found.update(dict.fromkeys(range(bounds[0], bounds[1] + 1)))
    return list(found)


def _split(arguments: Arguments) -> tuple[str, str]:
    """A list and a command, which begins with the first word that is no list."""
    text = arguments.needed()
    words = text.split()
    count = 1
    if words[0] != "all":
        while count < len(words) and words[count][0].isdecimal():
            count += 1
    command = text.split(maxsplit=count)[count:]
    if not command:
        raise arguments.wrong("needs a command behind the list")
    return " ".join(words[:count]), command[0]


def _apply(debugger: Debugger, numbers: Iterable[int], visit: Callable[[int], str], command: str) -> None:
    """Run a command at several places. With ``-q`` before it there are no titles, with ``-s`` no errors."""
    flags = ""
    while command[:2] in ("-q", "-s", "-c") and command[2:3] == " ":
        flags += command[1]
        command = command[2:].lstrip()
    debugger.registry.find(command)  # a command that is none fails once
    for number in numbers:
        try:
            title = visit(number)
            if "q" not in flags:
                debugger.output.line(f"\n{debugger.output.style('kind', title)}")
            debugger.execute(command)
        except DwarfGpuError as error:
            if "s" not in flags:
                debugger.output.line(debugger.output.style("error", f"{error}"))


def _show_frame(debugger: Debugger) -> None:
    from dwarfgpu.commands.stack import show_frame

    show_frame(debugger)
