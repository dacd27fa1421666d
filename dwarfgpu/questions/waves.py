"""Questions about waves and lanes, and the map of a wave."""

from __future__ import annotations

from functools import cache, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from dwarfgpu.errors import DwarfGpuError, UsageError
from dwarfgpu.immutable import evolve
from dwarfgpu.program.frames import wave_positions
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.lanes import ACTIVE, UNUSED, Lanes, LaneStatus, lanes_of_wave
from dwarfgpu.program.frames.selectors import numbers_in, waves_of
from dwarfgpu.program.frames.wave_groups import Cohort, wave_runs
from dwarfgpu.questions.document import Document, listing
from dwarfgpu.questions.variables import expression_document
from dwarfgpu.render.lanes import (
    dispatch_position,
    folded,
    item_text,
    lane_title,
    lanes_around,
    lanes_columns,
    lanes_json,
    same_places,
    standing_error,
    stop_text,
    wave_json,
    wave_texts,
    wave_title,
    waves_columns,
)  # fmt: skip
from dwarfgpu.render.layout import Record, column, fact, fitted, lanes_text, problem_json, style

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from dwarfgpu.program.frames.wave import Wave
    from dwarfgpu.program.frames.wave_positions import InDispatch
    from dwarfgpu.questions.registry import Arguments
    from dwarfgpu.questions.selection import Selection
    from dwarfgpu.states.program import Attached

    Key = TypeVar("Key")

MANY_THREADS = 20
"""So many threads of the host are listed beside waves."""


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

    def text(found: Sequence[Cohort]) -> Iterable[str]:
        table = columns.screen(found, lambda run: run.numbers[0] == current)
        return table if threads is None else chain(table, _threads_beside(selection, threads, is_each=is_each))

    columns, target = waves_columns(stopped), getattr(stopped.machine, "target_name", machine.state.target.name)
    problems = [problem_json(error) for error in stopped.problems]
    document = listing(
        "waves", partial(wave_json, stopped), runs, text, around={"target": target, "waves": (), "problems": problems}
    )
    threads = None if chosen is not None else _beside(selection, document)
    if threads is not None:
        of_thread = Record("thread=id", fact("frame", value=partial(_place_of, selection)))
        document.data["host_threads"] = map(of_thread.json, threads)
    return document


def _beside(selection: Selection, document: Document) -> Attached | None:
    """Return the threads of the host beside the waves of a core file, or the waves beside its threads."""
    try:
        return selection.machine.beside
    except DwarfGpuError as error:
        document.problems.append(error)
        return None


def _threads_beside(selection: Selection, threads: Attached, *, is_each: bool) -> Iterator[str]:
    """Yield the lines about the threads of the host beside waves."""
    record = Record(
        column("Thread of the host", lambda thread: f"LWP {thread.id}"), column("Frame", partial(_place_of, selection))
    )
    listed = list(islice(threads, None if is_each else MANY_THREADS))
    yield from record.screen(listed)
    if len(listed) < len(threads):
        yield f"  and {len(threads) - len(listed)} more (-each lists them)"


def _info_threads(selection: Selection, numbers: list[int] | range) -> Document:
    machine = selection.machine
    record = Record(
        fact("number", "Id", lambda number: number + 1),
        fact("thread", "Target Id", lambda number: machine[number].id, "LWP {}".format),
        fact("frame", "Frame", cache(lambda number: _place_of(selection, machine[number]))),
    )

    def text(rows: Sequence[int]) -> Iterator[str]:
        yield from record.screen(rows, lambda number: number == selection.wave_number)
        waves = _beside(selection, document) if len(rows) == len(machine) else None
        if waves is not None:
            yield from waves_columns(waves.stopped).screen(list(wave_runs(waves.stopped)))

    document = listing("threads", record, numbers, text, around={"target": machine.state.target.name})
    return document


def _place_of(selection: Selection, thread: Wave) -> str:
    try:
        frame = thread.frame(0)
    except DwarfGpuError as error:
        return f"({error.message})"
    return selection.call_writer(frame).text(frame)


# --- Lanes ----------------------------------------------------------------------------------------------------------


def info_lanes(selection: Selection, arguments: Arguments) -> Document:
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

    def text(groups: Sequence[list[LaneStatus]]) -> Iterable[str]:
        if arguments.has("svg"):
            from dwarfgpu.render.wave_map import lanes_svg

            return lanes_svg(here, chosen)
        table = lanes_columns(here).screen(
            groups,
            lambda group: current in [lane.number for lane in group],
            lambda group: "plain" if group[0].state == ACTIVE else "dim",
        )
        reasons = here.stop is not None and here.stop.reasons and f"[Stop reason: {stop_text(here.stop)}]"
        return chain(fitted(reasons, 1) if reasons else (), table, _caller_lines(selection, here))

    return _lane_listing(here, groups, text, problems=problems, has_failed=bool(problems), is_file=arguments.has("svg"))


def _lane_listing(
    here: Lanes, groups: Iterable[list[LaneStatus]], text: Callable[[Any], Iterable[str]], **options: Any
) -> Document:
    """Return an answer about groups of the lanes of a wave."""
    around, row = lanes_around(here), {"wave": here.wave}
    return listing("lanes", lanes_json, groups, text, around=around, row=row, **options)


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
    from dwarfgpu.render.wave_map import places_map, values_grid, values_map

    here = lanes_here(selection)
    shape = None if here.where.dispatch is None else here.where.dispatch.work_group
    per_row = 8 if shape is not None and shape[0] == 8 else 16
    if not arguments.text:
        every = [[lane] for lane in here.lanes]
        return _lane_listing(here, every, lambda _groups: places_map(here, selection.lane, per_row))

    found = answer(selection.frame[arguments.text], arguments.text)
    writer = selection.renderer(arguments.letter)
    look = evolve(writer.look, is_pretty=False)
    drawn = values_grid if arguments.has("values") else values_map
    return expression_document(selection, writer, found, lambda _output: drawn(here, found, look, per_row))
