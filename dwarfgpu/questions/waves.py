"""Commands that show waves, lanes and work-groups as tables, and the map of a wave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.questions import asking

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from typing import TypeVar

    from dwarfgpu.program.stack.lanes import Lanes, LaneStatus
    from dwarfgpu.program.stack.wave_positions import WavePlace
    from dwarfgpu.questions.debugger import Debugger
    from dwarfgpu.questions.registry import Arguments

    Key = TypeVar("Key")

PER_ROW = (8, 16, 32)
"""How many lanes may stand on one row of a map."""


# --- What others ask ------------------------------------------------------------------------------------------------


def lanes_here(debugger: Debugger) -> Lanes:
    """The lanes of the wave, seen from the frame that is looked at."""
    from dwarfgpu.program.stack.lanes import lanes_of_wave

    needs_lanes(debugger)
    wave = debugger.wave
    return lanes_of_wave(wave.stopped, wave.index, debugger.frame_number)


def masks_by(debugger: Debugger, key_of: Callable[[LaneStatus], Key | None]) -> dict[Key, int]:
    """The lanes of the wave by something of each, as masks; none where the lanes are not known."""
    found: dict[Key, int] = {}
    if debugger.lane is None:
        return found
    try:
        lanes = lanes_here(debugger).lanes
    except DwarfGpuError:
        return found
    for lane in lanes:
        key = key_of(lane)
        if key is not None:
            found[key] = found.get(key, 0) | 1 << lane.number
    return found


def needs_lanes(debugger: Debugger) -> None:
    """An error on a machine whose threads have none."""
    if not debugger.machine.has_waves:
        message = f"threads of {debugger.machine.state.target.name} have no lanes"
        raise UsageError(message, kind="no_lane", hint="`bt` shows the frames of a thread")


def place_here(debugger: Debugger) -> WavePlace:
    """Where the wave is in its dispatch."""
    from dwarfgpu.program.stack.wave_positions import place_of, waves_of

    wave = debugger.wave
    return place_of(waves_of(wave.stopped), wave.index)


def target_id(debugger: Debugger) -> str:
    """What ROCgdb calls the lane that is looked at, and GDB the thread: ``AMDGPU Lane 1:2:1:1/5 (0,0,0)[5,0,0]``."""
    from dwarfgpu.render.wave_tables import lane_title, wave_title

    name, lane = debugger.wave.id, debugger.lane
    if not debugger.machine.has_waves:
        return f"LWP {name}"
    where = place_here(debugger)
    return wave_title(name, where) if lane is None else lane_title(name, where, [lane])


def positions(debugger: Debugger) -> dict[str, str]:
    """Where the wave and the lane are, by the names of ROCgdb's convenience variables; what is not known is left out.

    ``_dispatch_pos`` is ``(2,1,3)/0``, ``_thread_workgroup_pos`` ``0`` and ``_lane_workgroup_pos`` ``[7,3,1]``.
    """
    from dwarfgpu.render.wave_tables import dispatch_position, item_text

    if debugger.attached is None or debugger.wave_number is None or not debugger.attached.has_waves:
        return {}
    where, lane = place_here(debugger), debugger.lane
    item = None if lane is None else where.item(lane)
    number = where.wave_in_group
    found = {
        "_dispatch_pos": dispatch_position(where),
        "_thread_workgroup_pos": None if number is None else str(number),
        "_lane_workgroup_pos": None if item is None else item_text(item),
    }
    return {name: text for name, text in found.items() if text is not None}


def titles(debugger: Debugger) -> Iterator[tuple[int, str]]:
    """What `info waves` shows of each wave, with its number from 1."""
    if debugger.machine.has_waves:
        from dwarfgpu.program.stack.wave_groups import wave_runs
        from dwarfgpu.render.wave_tables import wave_texts

        stopped = debugger.machine.stopped
        yield from wave_texts(stopped, wave_runs(stopped))
        return
    for number, wave in enumerate(debugger.machine, 1):
        yield number, f"LWP {wave.id} {_thread_place(debugger, number - 1)}"


# --- Waves ----------------------------------------------------------------------------------------------------------


def info_waves(debugger: Debugger, arguments: Arguments) -> None:
    """Neighbours that stand at one place with the same lanes active are one row; -each gives each wave its own. LIST is
    numbers and ranges, such as 1,4-7. `*` is before the wave that is looked at.
    """
    from dwarfgpu.questions.focus import chosen_waves

    machine = debugger.machine
    chosen = chosen_waves(debugger, arguments.text) if arguments.text else None
    if not machine.has_waves:
        _info_threads(debugger, range(len(machine)) if chosen is None else chosen)
        return
    from dwarfgpu.program.stack.wave_groups import wave_runs
    from dwarfgpu.render.wave_tables import waves_table

    current = debugger.wave_number
    runs = wave_runs(machine.stopped, chosen, each=arguments.has("each"), apart=[current])
    output = debugger.output
    output.lines(waves_table(machine.stopped, runs, current, output.width, output.style))


def _info_threads(debugger: Debugger, numbers: list[int] | range) -> None:
    from dwarfgpu.render.layout import TableRow, columns

    machine, output = debugger.machine, debugger.output
    rows = [
        TableRow(
            (str(number + 1), f"LWP {machine[number].id}", _thread_place(debugger, number)),
            number == debugger.wave_number,
        )
        for number in numbers
    ]
    output.lines(columns(("Id", "Target Id", "Frame"), rows, output.width, output.style))


def _thread_place(debugger: Debugger, number: int) -> str:
    from dwarfgpu.errors import DwarfGpuError
    from dwarfgpu.questions.stack import call_writer

    try:
        frame = debugger.machine[number].frame(0)
    except DwarfGpuError as error:
        return f"({error.message})"
    return call_writer(debugger, frame).text(frame)


def info_work_groups(debugger: Debugger, arguments: Arguments) -> None:
    """Work-groups that are alike and follow each other are one row. `*` is before the one that is looked at."""
    from dwarfgpu.program.stack.wave_groups import work_group_runs
    from dwarfgpu.render.wave_tables import work_groups_table

    arguments.none()
    needs_lanes(debugger)
    stopped, current, output = debugger.machine.stopped, debugger.wave_number, debugger.output
    runs = work_group_runs(stopped, current)
    output.lines(work_groups_table(stopped, runs, current, output.width, output.style))


# --- Lanes ----------------------------------------------------------------------------------------------------------


def info_lanes(debugger: Debugger, arguments: Arguments) -> None:
    """State is A for an active lane, I for an inactive one, U for one without a work-item and ? where that is not
    known. Neighbours in one state at one place are one row; -each gives each lane its own. LIST is numbers and ranges,
    such as 0,3,8-11. Lanes without a work-item are shown with -all. `*` is before the lane that is looked at.
    """
    from dwarfgpu.render.wave_tables import folded, lanes_table

    here = lanes_here(debugger)
    chosen = chosen_lanes(here, arguments.text, arguments.options)
    current, output = debugger.lane, debugger.output
    groups = [[lane] for lane in chosen] if arguments.has("each") else folded(chosen, current)
    output.lines(lanes_table(here, groups, current, output.width, output.style))


def chosen_lanes(here: Lanes, text: str, flags: Container[str]) -> list[LaneStatus]:
    """The lanes that a list and the flags ``active``, ``inactive`` and ``all`` mean; an error if there are none.

    Without a flag they are those with a work-item.
    """
    from dwarfgpu.program.stack.lanes import UNUSED
    from dwarfgpu.questions.focus import numbers_in

    wanted = [state for state in ("active", "inactive") if state in flags]
    numbers = None
    if text not in ("", "all"):
        numbers = numbers_in(text, 0, here.lane_count - 1, "lane")
    chosen = [
        here.lanes[number]
        for number in (range(here.lane_count) if numbers is None else numbers)
        if (
            here.lanes[number].state in wanted
            if wanted
            else here.lanes[number].state != UNUSED or "all" in flags
        )
    ]
    if not chosen:
        what = " ".join([*(f"-{state}" for state in wanted), text]).strip()
        raise UsageError(f"No lanes match '{what[:40]}'.", kind="no_lane")
    return chosen


def lanes(debugger: Debugger, arguments: Arguments) -> None:
    """Without an expression each place in the program has a letter, a capital where the lanes there are active. With
    one each value has a shade, or each range of values where there are many; parentheses are around those of inactive
    lanes. A row has 8 lanes where the work-groups are 8 work-items wide, and else 16; -row says otherwise.
    """
    from dwarfgpu.render.wave_map import places_map, values_map

    here = lanes_here(debugger)
    output = debugger.output
    per_row = _per_row(here, arguments)
    if not arguments.text:
        output.lines(places_map(here, debugger.lane, per_row, output.width, output.style))
        return
    from dwarfgpu.program.variables.answers import answer

    found = answer(debugger.frame[arguments.text], arguments.text)
    look = evolve(asking.renderer(debugger, asking.print_format(arguments)).look, is_pretty=False)
    output.lines(values_map(here, found, look, per_row, output.width, output.style))


def _per_row(here: Lanes, arguments: Arguments) -> int:
    asked = arguments.get("row")
    if asked is None:
        shape = None if here.where.dispatch is None else here.where.dispatch.work_group
        return 8 if shape is not None and shape[0] == 8 else 16
    if asked not in map(str, PER_ROW):
        raise arguments.wrong(f"has rows of {', '.join(map(str, PER_ROW))} lanes, not {asked[:20]!r}")
    return int(asked)
