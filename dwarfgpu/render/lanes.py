"""Lanes, waves and work-groups as tables, under ROCgdb's names, and as JSON; variables of a frame in every lane."""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.machines.protocol import WaveStop, signal_of, stop_json
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.lanes import ACTIVE, INACTIVE, UNKNOWN, UNUSED, Lanes, LaneStatus
from dwarfgpu.program.frames.wave_positions import InDispatch, Triple, group_text, place_of, unknown_mask, waves_of
from dwarfgpu.render.layout import (
    Record,
    aligned,
    column,
    error_json,
    hexadecimal,
    lanes_text,
    problem_json,
    range_text,
    ranges_text,
    runs,
    shortened,
    shown,
)
from dwarfgpu.render.source_places import file_text, line_text, source_text, standing_text
from dwarfgpu.render.variables import MISSING_WORDS, NO_VALUE, VariablesRenderer, missing_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypeAlias

    from dwarfgpu.program.code.scopes import SourceCall
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.variable import Variable
    from dwarfgpu.program.frames.wave_groups import Cohort
    from dwarfgpu.states.stopped import Stopped

    Ends: TypeAlias = tuple[Triple | None, Triple | None]
    """The work-items of the first and the last lane, as far as they are known."""

    Json = dict[str, Any]


LETTERS = {ACTIVE: "A", INACTIVE: "I", UNUSED: "U", UNKNOWN: "?"}
"""The states as ROCgdb shows them."""
GAP = 2
LANE_WIDTH = 4
WIDEST = 24
"""The width at which values are cut."""
LONGEST_NAME = 40


# --- Lanes --------------------------------------------------------------------------------------------------------


def lanes_heading(wave_lanes: Lanes) -> str:
    """Return the frame from which lanes are seen: ``frame 0: X at k.c:15:7, pc 0x1548``."""
    call = wave_lanes.call
    where = shown(call.function or "??")
    if call.source is not None:
        where += f" at {source_text(call.source)}"
    return f"frame {wave_lanes.frame}: {where}, pc {wave_lanes.pc:#x}"


def states_text(wave_lanes: Lanes) -> str:
    """Return ``64 lanes, 48 active, 16 inactive``."""
    counts = Counter(lane.state for lane in wave_lanes.lanes)
    return ", ".join(
        [f"{wave_lanes.lane_count} lanes", *(f"{counts[state]} {state}" for state in LETTERS if counts[state])]
    )


SIGNAL_MEANINGS = {
    "SIGSEGV": "Segmentation fault", "SIGILL": "Illegal instruction", "SIGFPE": "Arithmetic exception",
    "SIGBUS": "Bus error", "SIGABRT": "Aborted", "SIGTRAP": "Trace/breakpoint trap",
}  # fmt: skip
"""The signals in GDB's words."""


def signal_text(reasons: tuple[str, ...]) -> str | None:
    """Return the signal of some stop reasons as GDB shows it: ``SIGSEGV, Segmentation fault``."""
    name = signal_of(reasons)
    return None if name is None else f"{name}, {SIGNAL_MEANINGS[name]}"


def shown_reason(stop: WaveStop | None) -> str:
    """Return the reasons of a stop with their signal, ``MEMORY_VIOLATION (SIGSEGV, Segmentation fault)``."""
    signal = None if stop is None else signal_text(stop.reasons)
    return "" if stop is None else f"{stop.name} ({signal})" if signal else stop.name


def stop_text(stop: WaveStop) -> str:
    """Return why a wave has stopped, with the lanes: ``MEMORY_VIOLATION: no memory at 0x8; lanes [8-31]``."""
    return f"{stop.text}; {lanes_of(stop.lanes)}" if stop.lanes else stop.text


def stops_json(stopped: Stopped, waves: Iterable[str]) -> Json:
    """Return why some waves do not run, as the key ``stops``; no key if none has a reason, is halted or may sleep."""
    machine = stopped.machine
    indices = [index for index in map(machine.wave_named, waves) if index is not None]
    stops = ((index, stopped.stop_of(index)) for index in indices)
    found = [
        {"wave": machine.ids[index], **stop_json(stop)}
        for index, stop in stops
        if stop is not None and (stop.reasons or stop.is_at_rest)
    ]
    return {"stops": found} if found else {}


def lanes_of(mask: int) -> str:
    """Return lanes as ROCgdb has them where a breakpoint is hit."""
    kind, _, numbers = lanes_text(mask).partition(" ")
    return f"{kind} [{numbers}]" if mask else "no lanes"


def lane_counts(wave_lanes: Lanes) -> str:
    """Return how many lanes are in which state."""
    text = states_text(wave_lanes)
    if wave_lanes.iterations != 1:
        text += f"; {wave_lanes.iterations} iterations at once"
    if wave_lanes.stop is not None and wave_lanes.stop.reasons:
        text += f"; stopped: {stop_text(wave_lanes.stop)}"
    if not wave_lanes.by_attribute:
        text += "; no DW_AT_LLVM_lane_pc: all lanes are at the pc of the wave"
    return text


def lanes_around(wave_lanes: Lanes) -> Json:
    """Return the JSON of a wave whose lanes are listed."""
    return {
        "wave": wave_lanes.wave,
        **_place_json(wave_lanes.where),
        "frame": wave_lanes.frame,
        "pc": wave_lanes.pc,
        **_call_json(wave_lanes.call),
        **stop_json(wave_lanes.stop),
        "lane_count": wave_lanes.lane_count,
        "active": hexadecimal(wave_lanes.mask),
        "iterations": wave_lanes.iterations,
        "places": "lane_pc" if wave_lanes.by_attribute else "wave",
        "lanes": (),
        "problems": [problem_json(error) for error in wave_lanes.problems],
    }


def lanes_json(group: Sequence[LaneStatus]) -> Json:
    """Return lanes in one state at one place, which are one row, as a JSON object."""
    lane = group[0]
    return {
        "lanes": [each.number for each in group],
        "state": lane.state,
        "work_items": [None if each.work_item is None else list(each.work_item) for each in group],
        "pc": lane.pc,
        "frame": lane.frame,
        **_call_json(lane.call),
        **error_json(lane.error),
    }


# --- Waves --------------------------------------------------------------------------------------------------------


def wave_json(stopped: Stopped, run: Cohort) -> Json:
    """Return some waves, which are one row, as a JSON object."""
    machine = waves_of(stopped)
    places = [place_of(machine, wave) for wave in run.numbers]
    call = None if run.pc is None else stopped.loaded.calls_at(run.pc)[0]
    document: Json = {
        "waves": [machine.ids[wave] for wave in run.numbers],
        **_place_json(places[0], several=len(places) > 1),
        "pc": run.pc,
        **_call_json(call),
        "lane_count": run.lane_count,
        "active": hexadecimal(run.mask),
        **stop_json(run.stop),
    }
    if len(places) > 1:
        document["work_groups"] = [None if place.work_group is None else list(place.work_group) for place in places]
    problem = next((place.problems[0] for place in places if place.problems), None)
    return document | error_json(standing_error(stopped, run) or problem)


def standing_error(stopped: Stopped, run: Cohort) -> DwarfGpuError | None:
    """Return why the place or the active lanes of some waves are not known."""
    error = run.error
    if error is None or run.pc is None:
        return error
    return unknown_mask(stopped.machine.ids[run.numbers[0]], error)


# --- Positions of lanes and waves ---------------------------------------------------------------------------------


def _place_json(place: InDispatch, *, several: bool = False) -> Json:
    dispatch = {"dispatch": None, "kernel": None} if place.dispatch is None else DISPATCH.json(place.dispatch)
    return dispatch if several else {**dispatch, **PLACE.json(place)}


def _call_json(call: SourceCall | None) -> Json:
    return {"function": None, "source": None, "inlined": False} if call is None else CALL.json(call)


DISPATCH = Record("dispatch=id kernel")
PLACE = Record("work_group wave_in_group")
CALL = Record("function source inlined")


# --- Variables in every lane --------------------------------------------------------------------------------------


@frozen
class LaneRow:
    """A row of the table: one lane."""

    lane: int | None
    """None for a thread, which has no lanes."""
    is_active: bool
    cells: tuple[str, ...]


@frozen
class LaneTable:
    """A table of lanes and variables whose columns are as wide as `widths` says."""

    names: tuple[str, ...]
    widths: tuple[int, ...]
    rows: tuple[LaneRow, ...]

    def fitting(self, width: int) -> int:
        """Return how many columns fit beside the column of the lanes."""
        used, count = LANE_WIDTH, 0
        for size in self.widths:
            used += GAP + size
            if used > width:
                break
            count += 1
        return count

    def head(self, width: int) -> str:
        """Return the names of the variables that fit, and how many more there are."""
        count = self.fitting(width)
        cells = self._joined("lane", self.names[:count])
        more = f"+{len(self.names) - count}" if count < len(self.names) else ""
        if more and len(cells) + GAP + len(more) <= width:
            cells = f"{cells:{width - len(more)}}{more}"
        return cells[:width]

    def line(self, row: LaneRow, width: int) -> str:
        """Return a row as text."""
        state = "" if row.is_active or row.lane is None else "-"
        return self._joined(f"{'' if row.lane is None else row.lane}{state}", row.cells[: self.fitting(width)])[:width]

    def _joined(self, first: str, cells: Sequence[str]) -> str:
        widths = (LANE_WIDTH, *self.widths[: len(cells)])
        return aligned((first, *cells), widths, "l" + "r" * len(cells), gap=GAP).rstrip()


ELSEWHERE = "-"
"""What is shown for a lane that is not where a variable is."""


def lane_table(frame: Frame) -> LaneTable:
    """Return the parameters and locals of a frame in every lane, those that differ among lanes first."""
    variables = [variable for variable in frame.variables() if not variable.is_shadowed]
    columns = [_column(frame, variable) for variable in variables]
    absent = MISSING_WORDS | {ELSEWHERE}
    order = sorted(range(len(columns)), key=lambda index: len(set(columns[index]) - absent) <= 1)
    names = [shortened(shown(variables[index].name), LONGEST_NAME) for index in order]
    numbers = frame.lane_numbers(None)
    mask = frame.active_mask
    rows = tuple(
        LaneRow(
            lane,
            mask is None or lane is None or bool(mask >> lane & 1),
            tuple(columns[index][place] for index in order),
        )
        for place, lane in enumerate(numbers)
    )
    widths = tuple(max(len(name), *map(len, columns[index])) for name, index in zip(names, order, strict=True))
    return LaneTable(tuple(names), widths, rows)


def _column(frame: Frame, variable: Variable) -> list[str]:
    renderer = VariablesRenderer(frame)
    try:
        values = answer(variable, variable.name)
    except DwarfGpuError:
        return [NO_VALUE["error"]] * len(frame.lane_numbers(None))
    texts = []
    for lane in values.by_lane:
        if lane.value is not None:
            texts.append(shortened(" ".join(renderer.cell(lane).split()), WIDEST))
        else:
            is_elsewhere = lane.reason is not None and lane.reason.is_elsewhere
            texts.append(ELSEWHERE if is_elsewhere else missing_word(lane.reason))
    return texts


# --- Names --------------------------------------------------------------------------------------------------------


def dispatch_position(where: InDispatch) -> str | None:
    """Return the position of a wave in its dispatch, ``(2,1,3)/0``; None if it is not known."""
    if where.work_group is None or where.wave_in_group is None:
        return None
    return f"{group_text(where.work_group)}/{where.wave_in_group}"


def item_text(item: Triple) -> str:
    """Return a work-item in its work-group: ``[7,3,1]``."""
    return f"[{','.join(map(str, item))}]"


def global_id(origin: Triple, item: Triple) -> Triple:
    """Return the global id of a work-item of the work-group whose first one has the id ``origin``."""
    (x, y, z), (at_x, at_y, at_z) = origin, item
    return x + at_x, y + at_y, z + at_z


def group_words(group: Triple, file: str | None) -> str:
    """Return a work-group, which the source calls a program if it is in Python: ``work-group (2,0,0)``."""
    return f"{group_noun(file)} {group_text(group)}"


def group_noun(file: str | None) -> str:
    """Return what the source calls a work-group."""
    return "program" if _has_tensors(file) else "work-group"


def _has_tensors(file: str | None) -> bool:
    return file is not None and file.endswith(".py")


def items_text(mask: int, ends: Ends, origin: Triple | None, file: str | None = None) -> str:
    """Return the work-items of lanes by those of the first and the last: in the work-group, then in the grid.

    ``work-items [8,0,0] to [31,0,0], global ids (72,0,0) to (95,0,0)``; the grid is left out where it says the same.
    A source in Python has tensors, and none of these.
    """
    first, last = ends
    if first is None or last is None or _has_tensors(file):
        return ""
    run = mask // max(mask & -mask, 1)
    has_gaps = run & run + 1

    def text(noun: str, low: str, high: str) -> str:
        if low == high:
            return f"{noun} {low}"
        between = "between " if has_gaps and mask.bit_count() > 2 else ""
        return f"{noun}s {between}{low} {'and' if has_gaps else 'to'} {high}"

    items = text("work-item", item_text(first), item_text(last))
    if origin is None or not any(origin):
        return items
    low, high = (group_text(global_id(origin, item)) for item in (first, last))
    return f"{items}, {text('global id', low, high)}"


def global_ids(ends: Ends | None, origin: Triple | None) -> list[Triple] | None:
    """Return the global ids of work-items; None where they are not known."""
    items = [item for item in ends or () if item is not None]
    return None if origin is None or not items else [global_id(origin, item) for item in items]


def wave_title(name: str, where: InDispatch) -> str:
    """Return ``AMDGPU Wave 1:2:1:1 (0,0,0)/0 "add"``."""
    position = dispatch_position(where)
    kernel = where.dispatch.kernel if where.dispatch is not None else None
    text = f"AMDGPU Wave {shown(name)}" + ("" if position is None else f" {position}")
    return text if kernel is None else f'{text} "{shown(kernel)}"'


def lane_title(name: str, where: InDispatch, lanes: Sequence[int]) -> str:
    """Return ``AMDGPU Lane 1:2:1:1/5 (0,0,0)[5,0,0]``; for several lanes ``1:2:1:1/5-7 (0,0,0)[5-7,0,0]``."""
    first, last = lanes[0], lanes[-1]
    is_run = len(lanes) == last - first + 1
    text = f"AMDGPU Lane {shown(name)}" + (f"/{range_text(first, last)}" if is_run else "")
    group = "" if where.work_group is None else f" {group_text(where.work_group)}"
    low, high = where.item(first), where.item(last)
    if low is None or high is None:
        return text + group
    items = item_text(low)
    if low != high:
        items = f"{items}-{item_text(high)}"
        if not is_run:
            items = f"{item_text(low)}..{item_text(high)}"
        elif low[1:] == high[1:]:
            items = f"[{low[0]}-{high[0]},{low[1]},{low[2]}]"
    return f"{text}{group or ' '}{items}"


# --- Tables of waves ----------------------------------------------------------------------------------------------


def waves_columns(stopped: Stopped) -> Record:
    """Return the columns of a table of waves, numbered from 1."""
    machine = waves_of(stopped)
    standing = cache(partial(standing_text, stopped.loaded, short=True))

    def title(run: Cohort) -> str:
        first, last = run.numbers[0], run.numbers[-1]
        text = wave_title(machine.ids[first], place_of(machine, first))
        if last == first:
            return text
        return f"{text} to {shown(machine.ids[last])} {dispatch_position(place_of(machine, last)) or ''}".rstrip()

    return Record(
        column("Id", lambda run: range_text(run.numbers[0] + 1, run.numbers[-1] + 1)),
        column("Active", lambda run: "?" if run.mask is None else f"{run.mask.bit_count()}/{run.lane_count}"),
        column("Stopped by?", lambda run: "" if run.stop is None or run.stop.name == "stopped" else run.stop.name),
        column("Target Id", title),
        column("Frame", lambda run: standing(run.pc)),
    )


def wave_texts(stopped: Stopped, runs: Iterable[Cohort]) -> Iterator[tuple[int, str]]:
    """Yield the text of each wave in the table of waves, with its number from 1."""
    machine = waves_of(stopped)
    for run in runs:
        where = standing_text(stopped.loaded, run.pc)
        why = "" if run.stop is None else f" {run.stop.name}"
        for wave in run.numbers:
            yield wave + 1, f"{wave_title(machine.ids[wave], place_of(machine, wave))} {where}{why}"


# --- Tables of lanes ----------------------------------------------------------------------------------------------


def folded(lanes: Iterable[LaneStatus], current: int | None) -> Iterator[list[LaneStatus]]:
    """Yield neighbours in one state at one place together; the selected lane is alone."""

    def follows(last: LaneStatus, lane: LaneStatus) -> bool:
        is_next = last.place == lane.place and last.number + 1 == lane.number
        return is_next and current not in (last.number, lane.number)

    return runs(lanes, follows)


def same_places(lanes: Iterable[LaneStatus]) -> list[list[LaneStatus]]:
    """Group all lanes that are in one state at one place."""
    groups: dict[object, list[LaneStatus]] = {}
    for lane in lanes:
        groups.setdefault(lane.place, []).append(lane)
    return list(groups.values())


def lanes_columns(wave_lanes: Lanes) -> Record:
    """Return the columns of a table of lanes with one state and place."""

    def numbers(group: list[LaneStatus]) -> list[int]:
        return [lane.number for lane in group]

    return Record(
        column("Id", lambda group: ranges_text(numbers(group))),
        column("State", lambda group: LETTERS[group[0].state]),
        column("Target Id", lambda group: lane_title(wave_lanes.wave, wave_lanes.where, numbers(group))),
        column("Frame", lambda group: lane_place(wave_lanes, group[0])),
    )


def lane_place(wave_lanes: Lanes, lane: LaneStatus, *, short: bool = True) -> str:
    """Return the place of a lane; for an inactive one only if DW_AT_LLVM_lane_pc gives it."""
    if lane.state == UNUSED:
        return "(unused)"
    if lane.error is not None:
        return "(not known)"
    if not wave_lanes.has_place(lane):
        return "(inactive)"
    if lane.pc is None or lane.call is None:
        return "(never active)"
    source = lane.call.source
    where = ""
    if source is not None and source.file is not None:
        line = line_text(source, short=short) if source.line else f"{file_text(source, short=short)}, no line"
        where = f" at {line}"
    number = f"#{lane.frame} " if lane.frame not in (None, wave_lanes.frame) else ""
    return f"{number}{shown(lane.call.function or '??')} (){where}"
