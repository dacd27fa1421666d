"""Questions about waves, lanes and work-groups, and the map of a wave."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.program.frames import wave_positions
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.lanes import UNUSED, Lanes, LaneStatus, lanes_of_wave
from dwarfgpu.program.frames.selectors import numbers_in, waves_of
from dwarfgpu.program.frames.wave_groups import Cohort, WorkGroup, wave_runs, work_group_runs
from dwarfgpu.questions.document import Document, Output
from dwarfgpu.questions.variables import expression_document
from dwarfgpu.render.lane_svg import lanes_svg
from dwarfgpu.render.lanes import (
    dispatch_position,
    folded,
    item_text,
    lane_title,
    lanes_document,
    lanes_table,
    same_places,
    standing_error,
    stop_text,
    wave_json,
    wave_texts,
    wave_title,
    waves_table,
    work_groups_json,
    work_groups_table,
)
from dwarfgpu.render.layout import TableLine, columns, fitted, lanes_text, problem_json, style
from dwarfgpu.render.wave_map import places_map, values_grid, values_map

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.program.frames.wave_positions import InDispatch
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection
    from dwarfgpu.states.program import Attached

    Key = TypeVar("Key")

MANY_THREADS = 20
"""So many threads of the host are listed beside waves."""
PER_ROW = (4, 8, 16, 32)
"""How many lanes a row of a map may have."""


# --- What others ask ------------------------------------------------------------------------------------------------


def lanes_here(selection: Selection) -> Lanes:
    """Return the lanes of the wave, seen from the frame that is selected."""
    selection.needs_lanes()
    wave = selection.wave
    return lanes_of_wave(wave.stopped, wave.index, selection.frame_number)


def used_lanes(selection: Selection) -> int:
    """Return how many lanes of the wave have a work-item; all where that is not known."""
    try:
        return sum(lane.state != UNUSED for lane in lanes_here(selection).lanes)
    except DwarfGpuError:
        return selection.machine.state.target.lane_count


def masks_by(selection: Selection, key_of: Callable[[LaneStatus], Key | None]) -> dict[Key, int]:
    """Return the lanes of the wave whose places are known by something of each, as masks."""
    found: dict[Key, int] = {}
    if selection.lane is None:
        return found
    try:
        here = lanes_here(selection)
    except DwarfGpuError:
        return found
    for lane in here.lanes:
        key = key_of(lane) if here.has_place(lane) else None
        if key is not None:
            found[key] = found.get(key, 0) | 1 << lane.number
    return found


def place_here(selection: Selection) -> InDispatch:
    """Return where the wave is in its dispatch."""
    wave = selection.wave
    return wave_positions.place_of(wave_positions.waves_of(wave.stopped), wave.index)


def target_id(selection: Selection) -> str:
    """Return what ROCgdb calls the selected lane, and GDB the thread: ``AMDGPU Lane 1:2:1:1/5 (0,0,0)[5,0,0]``."""
    name, lane = selection.wave.id, selection.lane
    if not selection.machine.has_waves:
        return f"LWP {name}"
    where = place_here(selection)
    return wave_title(name, where) if lane is None else lane_title(name, where, [lane])


def positions(selection: Selection) -> dict[str, str]:
    """Return where wave and lane are by ROCgdb's names, such as ``_dispatch_pos``: ``(2,1,3)/0``, if known."""
    if selection.attached is None or selection.wave_number is None or not selection.attached.has_waves:
        return {}
    where, lane = place_here(selection), selection.lane
    item = None if lane is None else where.item(lane)
    number = where.wave_in_group
    found = {
        "_dispatch_pos": dispatch_position(where),
        "_thread_workgroup_pos": None if number is None else str(number),
        "_lane_workgroup_pos": None if item is None else item_text(item),
    }
    return {name: text for name, text in found.items() if text is not None}


def titles(selection: Selection) -> Iterator[tuple[int, str]]:
    """Yield what `info waves` shows of each wave, with its number from 1."""
    if selection.machine.has_waves:
        stopped = selection.machine.stopped
        yield from wave_texts(stopped, wave_runs(stopped))
        return
    for number, wave in enumerate(selection.machine, 1):
        yield number, f"LWP {wave.id} {_place_of(selection, wave)}"


# --- Waves ----------------------------------------------------------------------------------------------------------


def info_waves(selection: Selection, arguments: Arguments) -> Document:
    """Waves with consecutive numbers, one place and the same active lanes share a row; -each gives each wave its own.
    LIST is numbers and ranges, such as 1,4-7: waves are numbered from 1, as GDB numbers threads. `*` marks the selected
    wave. A core file also lists the threads of the host: `thread LWP 1234` selects a thread, `wave 1:1:1:1` a wave
    again.
    """
    machine = selection.machine
    stopped = machine.stopped
    chosen = waves_of(stopped.machine, arguments.text) if arguments.text else None
    if not machine.has_waves:
        return _info_threads(selection, range(len(machine)) if chosen is None else chosen)

    is_each = arguments.has("each") or arguments.has("all")

    current = selection.wave_number

    def runs() -> list[Cohort]:
        found = wave_runs(stopped, chosen, separate=is_each, apart=[current])
        errors = (standing_error(stopped, run) for run in found if run.error is not None)
        document.problems += {str(error): error for error in errors if error is not None}.values()
        return found

    def rows() -> Iterator[dict[str, Any]]:
        yield from (wave_json(stopped, run) for run in runs())

    def table(output: Output) -> Iterator[str]:
        yield from waves_table(stopped, runs(), current)
        if threads is not None:
            yield from _threads_beside(selection, threads, output, is_each=is_each)

    document = Document(
        {
            "target": getattr(stopped.machine, "target_name", machine.state.target.name),
            "waves": rows(),
            "problems": [problem_json(error) for error in stopped.problems],
        },
        table,
        rows="waves",
    )
    threads = None if chosen is not None else _beside(selection, document)
    if threads is not None:
        document.data["host_threads"] = (
            {"thread": thread.id, "frame": _place_of(selection, thread)} for thread in threads
        )
    return document


def _beside(selection: Selection, document: Document) -> Attached | None:
    """Return the threads of the host beside the waves of a core file, or the waves beside its threads."""
    try:
        return selection.machine.beside
    except DwarfGpuError as error:
        document.problems.append(error)
        return None


def _threads_beside(selection: Selection, threads: Attached, output: Output, *, is_each: bool) -> Iterator[str]:
    """Yield the lines about the threads of the host beside waves."""
    listed = list(islice(threads, None if is_each else MANY_THREADS))
    rows = [TableLine((f"LWP {thread.id}", _place_of(selection, thread))) for thread in listed]
    yield from columns(("Thread of the host", "Frame"), rows)
    if len(listed) < len(threads):
        yield f"  and {len(threads) - len(listed)} more (-each lists them)"


def _info_threads(selection: Selection, numbers: list[int] | range) -> Document:
    machine = selection.machine
    rows: list[dict[str, Any]] = [
        {"number": number + 1, "thread": machine[number].id, "frame": _place_of(selection, machine[number])}
        for number in numbers
    ]

    def table(output: Output) -> Iterator[str]:
        cells = [
            TableLine((str(row["number"]), f"LWP {row['thread']}", row["frame"]), number == selection.wave_number)
            for number, row in zip(numbers, rows, strict=True)
        ]
        yield from columns(("Id", "Target Id", "Frame"), cells)
        waves = _beside(selection, document) if len(rows) == len(machine) else None
        if waves is not None:
            yield from waves_table(waves.stopped, wave_runs(waves.stopped), None)

    data = {"target": machine.state.target.name, "threads": rows}
    document = Document(data, table, rows="threads")
    return document


def _place_of(selection: Selection, thread: Wave) -> str:
    try:
        frame = thread.frame(0)
    except DwarfGpuError as error:
        return f"({error.message})"
    return selection.call_writer(frame).text(frame)


def info_work_groups(selection: Selection, arguments: Arguments) -> Document:
    """Consecutive work-groups that are alike share a row; -each gives each its own. `*` marks the work-group of the
    selected wave.
    """
    arguments.none()
    selection.needs_lanes()
    stopped, current = selection.machine.stopped, selection.wave_number

    def runs() -> Iterator[list[WorkGroup]]:
        return work_group_runs(stopped, current, separate=arguments.has("each"))

    return Document(
        {"work_groups": work_groups_json(stopped, runs())},
        lambda _output: work_groups_table(stopped, runs(), current),
        rows="work_groups",
    )


# --- Lanes ----------------------------------------------------------------------------------------------------------


def info_lanes(selection: Selection, arguments: Arguments) -> Document:
    """State is A for an active lane, I for an inactive lane, U for a lane without a work-item, and ? if unknown. In the
    frame of a caller, a lane is active if it was active at the call. Neighbouring lanes with one state and place share
    a row; -each gives each lane its own, -group puts all lanes at one place in a row. LIST is numbers and ranges, such
    as 0,3,8-11: lanes are numbered from 0. Lanes without a work-item are shown only with -all or -unused. `*` marks the
    selected lane. -svg writes a picture instead of the table.
    """
    here = lanes_here(selection)
    wanted = arguments.get("lane") or arguments.text
    if wanted and not wanted[:1].isdigit() and wanted[:1] != "-" and wanted != "all":
        hint = f"`map {wanted[:40]}` and `map -values {wanted[:40]}` show an expression in every lane"
        raise UsageError(f"{wanted[:40]!r} is not a list of lanes such as 0,3,8-11", hint=hint)
    chosen = chosen_lanes(here, wanted, set(arguments.options))
    chosen.sort(key=lambda lane: lane.number)
    problems = list(here.problems)
    for lane in chosen:
        if lane.error is not None and not any(str(lane.error) == str(known) for known in problems):
            problems.append(lane.error)
    current = selection.lane
    groups = list(folded(chosen, current))
    if arguments.has("each"):
        groups = [[lane] for lane in chosen]
    elif arguments.has("group"):
        groups = same_places(chosen)

    def table(output: Output) -> Iterator[str]:
        if arguments.has("svg"):
            return lanes_svg(here, chosen)
        table = chain(lanes_table(here, groups, current), _caller_lines(selection, here))
        if here.stop is None or not here.stop.reasons:
            return table
        return chain(fitted(f"[Stop reason: {stop_text(here.stop)}]", 1), table)

    return Document(
        lanes_document(here, groups),
        table,
        rows="lanes",
        row={"wave": here.wave},
        problems=problems,
        has_failed=bool(problems),
        is_file=arguments.has("svg"),
    )


def _caller_lines(selection: Selection, here: Lanes) -> Iterator[str]:
    """Yield what the states of lanes mean in a caller, and which lanes wait there."""
    frame = selection.frame
    if not frame.level or frame.stack is None or here.mask is None:
        return
    inner = frame.stack.top.active_mask
    waiting = 0 if inner is None else here.mask & ~inner
    more = f"; of these, {lanes_text(waiting)} wait for the lanes that are active in frame 0" if waiting else ""
    text = f"A in frame {here.frame}, a caller: the lane was active at the call{more}"
    yield from (style("dim", line) for line in fitted(text, 2))


def chosen_lanes(here: Lanes, text: str, flags: Container[str], *, may_be_none: bool = False) -> list[LaneStatus]:
    """Return the lanes that a list and the flags ``active``, ``inactive``, ``unused`` and ``all`` mean.

    Without a flag they are those with a work-item. That there are none is an error, unless there may be none in the
    state of a flag.
    """
    wanted = [state for state in ("active", "inactive", "unused") if state in flags]
    numbers: Iterable[int] = range(here.lane_count)
    if text not in ("", "all"):
        numbers = numbers_in(text, 0, here.lane_count - 1, "lane")
    chosen = [
        here.lanes[number]
        for number in numbers
        if (here.lanes[number].state in wanted if wanted else here.lanes[number].state != UNUSED or "all" in flags)
    ]
    if not chosen and not (wanted and may_be_none):
        what = " ".join([*(f"-{state}" for state in wanted), text]).strip()
        raise UsageError(f"No lanes match '{what[:40]}'.", kind="no_lane")
    return chosen


def lane_map(selection: Selection, arguments: Arguments) -> Document:
    """Without an expression, each place in the program has a letter, a capital if the lanes there are active. With an
    expression, each value or range of values has a shade; those of inactive lanes are in parentheses. -values shows the
    values.

    A row has 8 lanes if the work-groups are 8 work-items wide, otherwise 16; -row changes it.
    """
    here = lanes_here(selection)
    per_row = _per_row(here, arguments)
    if not arguments.text:
        return Document(
            lanes_document(here, ([lane] for lane in here.lanes)),
            lambda _output: places_map(here, selection.lane, per_row),
            rows="lanes",
            row={"wave": here.wave},
        )

    found = answer(selection.frame[arguments.text], arguments.text)
    writer = selection.renderer(arguments.letter)
    look = evolve(writer.look, is_pretty=False)
    drawn = values_grid if arguments.has("values") else values_map
    return expression_document(selection, writer, found, lambda _output: drawn(here, found, look, per_row))


def _per_row(here: Lanes, arguments: Arguments) -> int:
    asked = arguments.get("row")
    if asked is None:
        shape = None if here.where.dispatch is None else here.where.dispatch.work_group
        return 8 if shape is not None and shape[0] == 8 else 16
    if asked not in map(str, PER_ROW):
        raise arguments.wrong(f"has rows of {', '.join(map(str, PER_ROW))} lanes, not {asked[:20]!r}")
    return int(asked)
