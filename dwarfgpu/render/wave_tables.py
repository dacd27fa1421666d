"""Waves, lanes and work-groups in tables and under names as ROCgdb has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from dwarfgpu.program.frames.lanes import ACTIVE, UNKNOWN, UNUSED, Lanes, LaneStatus
from dwarfgpu.program.frames.wave_positions import InDispatch, Triple, group_text, place_of, waves_of
from dwarfgpu.render.backtrace import line_text, standing_text
from dwarfgpu.render.lanes import LETTERS
from dwarfgpu.render.layout import TableLine, columns, counted, range_text, ranges_text, runs, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.program.frames.wave_groups import Cohort, WorkGroup
    from dwarfgpu.states.stopped import Stopped


# --- Names --------------------------------------------------------------------------------------------------------


def dispatch_position(where: InDispatch) -> str | None:
    """Return the position of a wave in its dispatch, ``(2,1,3)/0``; None if it is not known."""
    if where.work_group is None or where.wave_in_group is None:
        return None
    return f"{group_text(where.work_group)}/{where.wave_in_group}"


def item_text(item: Triple) -> str:
    """Return a work-item in its work-group: ``[7,3,1]``."""
    return f"[{','.join(map(str, item))}]"


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


# --- Waves --------------------------------------------------------------------------------------------------------


def waves_table(stopped: Stopped, runs: Iterable[Cohort], current: int | None) -> Iterator[str]:
    """Yield waves, numbered from 1."""
    machine, rows = waves_of(stopped), []
    reasons: list[str] = []
    places: dict[int | None, str] = {}
    for run in runs:
        if run.pc not in places:
            places[run.pc] = standing_text(stopped.loaded, run.pc, short=True)
        first, last = run.numbers[0], run.numbers[-1]
        title = wave_title(machine.ids[first], place_of(machine, first))
        if last != first:
            where = dispatch_position(place_of(machine, last))
            title += f" to {shown(machine.ids[last])} {where or ''}".rstrip()
        why = "" if run.stop is None or run.stop.name == "stopped" else run.stop.name
        reasons.append(why)
        active = "?" if run.mask is None else f"{run.mask.bit_count()}/{run.lane_count}"
        rows.append(TableLine((range_text(first + 1, last + 1), active, why, title, places[run.pc]), first == current))
    titles: tuple[str, ...] = "Id", "Active", "Stopped by", "Target Id", "Frame"
    if not any(reasons):
        titles = titles[:2] + titles[3:]
        rows = [evolve(row, cells=row.cells[:2] + row.cells[3:]) for row in rows]
    yield from columns(titles, rows)


def wave_texts(stopped: Stopped, runs: Iterable[Cohort]) -> Iterator[tuple[int, str]]:
    """Yield the text of each wave in `waves_table`, with its number from 1."""
    machine = waves_of(stopped)
    for run in runs:
        where = standing_text(stopped.loaded, run.pc)
        why = "" if run.stop is None else f" {run.stop.name}"
        for wave in run.numbers:
            yield wave + 1, f"{wave_title(machine.ids[wave], place_of(machine, wave))} {where}{why}"


def work_groups_table(stopped: Stopped, runs: Iterable[list[WorkGroup]], current: int | None) -> Iterator[str]:
    """Yield work-groups with their waves; equal consecutive ones are one row."""
    machine, rows = waves_of(stopped), []
    for run in runs:
        first, last = run[0], run[-1]
        name = "?" if first.position is None else group_text(first.position)
        if last.position is not None and last is not first:
            name += f" to {group_text(last.position)}"
        owner = None if first.dispatch is None else machine.dispatches[first.dispatch]
        waves = range_text(first.waves[0] + 1, last.waves[-1] + 1)
        if len(run) > 1 and len(first.waves) > 1:
            waves += f" ({counted(len(first.waves), 'wave')} each)"
        where = "; ".join(
            dict.fromkeys(standing_text(stopped.loaded, cohort.pc, short=True) for cohort in first.cohorts)
        )
        lanes = sum(cohort.lane_count for cohort in first.cohorts) if first.used is None else first.used
        active = "?" if first.active is None else f"{first.active}/{lanes}"
        cells = "" if owner is None else str(owner.id), name, waves, active, where
        rows.append(TableLine(cells, current in first.waves))
    yield from columns(("Dispatch", "Work-group", "Waves", "Active", "Frame"), rows)


def work_groups_json(stopped: Stopped, runs: Iterable[list[WorkGroup]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of `work_groups_table` as JSON objects; work-items and active lanes are those of each group."""
    machine = waves_of(stopped)
    for run in runs:
        owner = run[0].dispatch
        yield {
            "dispatch": None if owner is None else machine.dispatches[owner].id,
            "work_groups": [group.position for group in run],
            "waves": [machine.ids[wave] for group in run for wave in group.waves],
            "work_items": run[0].used,
            "active_lanes": run[0].active,
        }


# --- Lanes --------------------------------------------------------------------------------------------------------


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


def lanes_table(wave_lanes: Lanes, groups: Iterable[list[LaneStatus]], current: int | None) -> Iterator[str]:
    """Yield lanes with their states and places."""
    rows = []
    for group in groups:
        lane = group[0]
        numbers = [member.number for member in group]
        cells = (
            ranges_text(numbers),
            LETTERS[lane.state],
            lane_title(wave_lanes.wave, wave_lanes.where, numbers),
            lane_place(wave_lanes, lane),
        )
        rows.append(TableLine(cells, current in numbers, "plain" if lane.state == ACTIVE else "dim"))
    yield from columns(("Id", "State", "Target Id", "Frame"), rows)


def lane_place(wave_lanes: Lanes, lane: LaneStatus, *, short: bool = True) -> str:
    """Return the place of a lane; for an inactive one only if DW_AT_LLVM_lane_pc gives it."""
    if lane.state == UNUSED:
        return "(unused)"
    if lane.error is not None:
        return "(not known)"
    if lane.state not in (ACTIVE, UNKNOWN) and not wave_lanes.by_attribute:
        return "(inactive)"
    if lane.pc is None or lane.call is None:
        return "(never active)"
    source = lane.call.source
    where = "" if source is None or source.file is None else f" at {line_text(source, short=short)}"
    number = f"#{lane.frame} " if lane.frame not in (None, wave_lanes.frame) else ""
    return f"{number}{shown(lane.call.function or '??')} (){where}"
