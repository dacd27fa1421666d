"""Lanes and waves as tables and as JSON, and the variables of a frame in every lane."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.machines.protocol import SIGNALS, WaveStop, signal_of, stop_json
from dwarfgpu.program.frames.answers import answer
from dwarfgpu.program.frames.lanes import ACTIVE, INACTIVE, UNKNOWN, UNUSED, Lanes, LaneStatus
from dwarfgpu.program.frames.wave_positions import InDispatch, place_of, unknown_mask, waves_of
from dwarfgpu.render.files import source_text
from dwarfgpu.render.layout import aligned, error_json, lanes_text, problem_json, shortened, shown
from dwarfgpu.render.records import Record
from dwarfgpu.render.variables import NO_VALUE, VariablesRenderer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dwarfgpu.program.code.scopes import SourceCall
    from dwarfgpu.program.frames.frame import Frame
    from dwarfgpu.program.frames.variable import Variable
    from dwarfgpu.program.frames.wave_groups import Cohort
    from dwarfgpu.states.stopped import Stopped

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


def signals() -> list[tuple[str, str, list[str]]]:
    """Return the signals that stop waves, each with its meaning and its stop reasons."""
    return [(name, SIGNAL_MEANINGS[name], sorted(reasons)) for reasons, name in SIGNALS]


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


def stops_json(machine: Any, waves: Iterable[str]) -> Json:
    """Return why some waves have stopped, as the key ``stops``; no key if none has a reason."""
    indices = [index for index in map(machine.wave_named, waves) if index is not None]
    rows = ((index, stop_json(machine.stop_of(index))) for index in indices)
    found = [{"wave": machine.ids[index], **row} for index, row in rows if "stop" in row]
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


def lanes_document(wave_lanes: Lanes, groups: Iterable[Sequence[LaneStatus]]) -> Json:
    """Return a wave and groups of its lanes as a JSON object."""
    return {
        "wave": wave_lanes.wave,
        **_place_json(wave_lanes.where),
        "frame": wave_lanes.frame,
        "pc": wave_lanes.pc,
        **_call_json(wave_lanes.call),
        **stop_json(wave_lanes.stop),
        "lane_count": wave_lanes.lane_count,
        "active": None if wave_lanes.mask is None else f"{wave_lanes.mask:#x}",
        "iterations": wave_lanes.iterations,
        "places": "lane_pc" if wave_lanes.by_attribute else "wave",
        "lanes": map(lanes_json, groups),
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
        "active": None if run.mask is None else f"{run.mask:#x}",
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
    absent = {*NO_VALUE.values(), ELSEWHERE}
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
            texts.append(ELSEWHERE if lane.reason is not None and lane.reason.is_elsewhere else NO_VALUE[lane.state])
    return texts
