"""Lanes and waves as tables and as JSON, and the variables of a frame in every lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.stack.lanes import ACTIVE, INACTIVE, UNKNOWN, UNUSED
from dwarfgpu.program.stack.snapshot_files import dispatch_text
from dwarfgpu.program.stack.wave_positions import group_text
from dwarfgpu.program.variables.answers import answer
from dwarfgpu.render.files import source_text
from dwarfgpu.render.layout import (
    WIDTH,
    aligned,
    paragraphs,
    plain,
    plain_style,
    problem_json,
    ranges_text,
    shown,
    table,
    wrapped,
)
from dwarfgpu.render.variables import NO_VALUE, VariablesRenderer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.program.code.code_lookup import CallFrame
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.stack.lanes import Lanes, LaneStatus
    from dwarfgpu.program.stack.wave_groups import WaveRow
    from dwarfgpu.program.stack.wave_positions import WavePlace
    from dwarfgpu.program.variables.variable import Variable
    from dwarfgpu.render.layout import Style

    Json = dict[str, Any]


LETTERS = {ACTIVE: "A", INACTIVE: "I", UNUSED: "U", UNKNOWN: "?"}
"""The states as ROCgdb shows them."""
GAP = 2
LANE_WIDTH = 4
WIDEST = 24
"""The width at which values are cut."""
LONGEST_NAME = 40
MAX_LANES_SHOWN = 17
"""A longer list of lanes is on a line of its own."""


# --- Lanes --------------------------------------------------------------------------------------------------------


def folded(lanes: Iterable[LaneStatus], how: str = "neighbours") -> list[list[LaneStatus]]:
    """Group lanes in the same state at the same place: ``neighbours``, ``places`` (all equal) or ``none``."""
    groups: list[list[LaneStatus]] = []
    by_place: dict[Any, list[LaneStatus]] = {}
    for lane in lanes:
        if how == "places":
            if lane.place not in by_place:
                groups.append(by_place.setdefault(lane.place, []))
            by_place[lane.place].append(lane)
            continue
        last = groups[-1][-1] if groups else None
        if how == "neighbours" and last and last.place == lane.place and last.number + 1 == lane.number:
            groups[-1].append(lane)
        else:
            groups.append([lane])
    return groups


def lanes_table(
    found: Lanes, lanes: Sequence[LaneStatus], how: str = "neighbours", style: Style = plain_style
) -> Iterator[str]:
    """Yield the lanes of a wave, or those that were chosen, in 80 columns."""
    yield style("kind", f"wave {shown(found.wave)}") + _dispatch(found.where)
    yield from wrapped(lanes_heading(found))
    yield from wrapped(lane_counts(found))
    rows = [_cells(found, group) for group in folded(lanes, how)]
    if rows:
        yield ""
        yield from _table(("lanes", "state", "work-items", "pc", "function"), rows, style)


def lanes_heading(found: Lanes) -> str:
    """Return the frame from which lanes are seen: ``frame 0: X at k.c:15:7, pc 0x1548``."""
    return f"frame {found.frame}: {_where(found.call)}, pc {found.pc:#x}"


def lane_counts(wave_lanes: Lanes) -> str:
    """Return how many lanes are in which state."""
    text = f"{wave_lanes.lane_count} lanes"
    for state in (ACTIVE, INACTIVE, UNUSED, UNKNOWN):
        count = sum(lane.state == state for lane in wave_lanes.lanes)
        if count:
            text += f", {count} {state}"
    if wave_lanes.iterations != 1:
        text += f"; {wave_lanes.iterations} iterations at once"
    if not wave_lanes.by_attribute:
        text += "; no DW_AT_LLVM_lane_pc: all lanes are at the pc of the wave"
    return text


def _cells(wave_lanes: Lanes, group: list[LaneStatus]) -> tuple[str, ...]:
    """Return the cells of lanes in one state at one place."""
    first = group[0]
    where = ""
    if first.call is not None:
        where = _where(first.call)
        if first.frame is not None and first.frame != wave_lanes.frame:
            where = f"#{first.frame} {where}"
    elif first.error is not None:
        where = "not known"
    elif first.state != UNUSED:
        where = "never active"
    pc = "" if first.pc is None else f"{first.pc:#x}"
    numbers = ranges_text(lane.number for lane in group)
    return numbers, LETTERS[first.state], _items(group), pc, where


def _items(group: list[LaneStatus]) -> str:
    items = [lane.work_item for lane in group if lane.work_item is not None]
    if not items:
        return ""
    texts = [f"[{','.join(map(str, item))}]" for item in items]
    if len(texts) == 1:
        return texts[0]
    one_by_one = [lane.number for lane in group] == [*range(group[0].number, group[-1].number + 1)]
    return f"{texts[0]}{'-' if one_by_one else '..'}{texts[-1]}"


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]], style: Style) -> Iterator[str]:
    """Yield rows in columns. A long first cell is above its row, a last cell that does not fit below it."""
    parted = [
        (row[0] if len(row[0]) <= MAX_LANES_SHOWN else row[0].replace(",", ", "), *row[1:]) for row in rows
    ]
    sides = "l" * len(heads)
    yield from table([heads, *parted], sides, indent=0, longest=MAX_LANES_SHOWN, width=WIDTH, style=style)


def lanes_document(found: Lanes, lanes: Sequence[LaneStatus]) -> Json:
    """Return a wave and the chosen lanes as a JSON object."""
    return {
        **_lanes_head(found),
        "lanes": map(lane_json, lanes),
        "problems": [problem_json(error) for error in found.problems],
    }


def _lanes_head(wave_lanes: Lanes) -> Json:
    """Return what is the same for all lanes of a wave."""
    return {
        "wave": wave_lanes.wave,
        **_place_json(wave_lanes.where),
        "frame": wave_lanes.frame,
        "pc": wave_lanes.pc,
        **_call_json(wave_lanes.call),
        "lane_count": wave_lanes.lane_count,
        "active": None if wave_lanes.mask is None else f"{wave_lanes.mask:#x}",
        "iterations": wave_lanes.iterations,
        "places": "lane_pc" if wave_lanes.by_attribute else "wave",
    }


def lane_json(lane: LaneStatus) -> Json:
    """Return one lane as a JSON object."""
    document: Json = {
        "lane": lane.number,
        "state": lane.state,
        "work_item": None if lane.work_item is None else list(lane.work_item),
        "pc": lane.pc,
        "frame": lane.frame,
        **_call_json(lane.call),
    }
    if lane.error is not None:
        document["error"] = problem_json(lane.error)
    return document


# --- Waves --------------------------------------------------------------------------------------------------------


def waves_table(rows: Sequence[WaveRow], style: Style = plain_style) -> Iterator[str]:
    """Yield waves in 80 columns, grouped by dispatch."""
    by_dispatch: dict[str, list[WaveRow]] = {}
    for row in rows:
        by_dispatch.setdefault(_dispatch_line(row.places[0]), []).append(row)
    yield from paragraphs(_dispatch_table(line, members, style) for line, members in by_dispatch.items())


def _dispatch_table(line: str, rows: list[WaveRow], style: Style) -> Iterator[str]:
    yield from (style("kind", text) for text in wrapped(line))
    yield from _table(("wave", "group", "active", "pc", "function"), [*map(_wave_cells, rows)], style)


def _wave_cells(row: WaveRow) -> tuple[str, ...]:
    name = shown(row.waves[0]) + (f" (+{len(row.waves) - 1})" if len(row.waves) > 1 else "")
    groups = [place.work_group for place in row.places]
    group = "" if groups[0] is None else group_text(groups[0])
    if group and groups[-1] is not None and groups[-1] != groups[0]:
        group += f"..{group_text(groups[-1])}"
    active = "?" if row.mask is None else f"{row.mask.bit_count()}/{row.lane_count}"
    return name, group, active, "?" if row.pc is None else f"{row.pc:#x}", _where(row.call)


def wave_json(row: WaveRow) -> Json:
    """Return one row as a JSON object."""
    document: Json = {
        "waves": list(row.waves),
        **_place_json(row.places[0], several=len(row.places) > 1),
        "pc": row.pc,
        **_call_json(row.call),
        "lane_count": row.lane_count,
        "active": None if row.mask is None else f"{row.mask:#x}",
    }
    if len(row.places) > 1:
        document["work_groups"] = [
            None if place.work_group is None else list(place.work_group) for place in row.places
        ]
    if row.error is not None:
        document["error"] = problem_json(row.error)
    return document


# --- Positions of lanes and waves ---------------------------------------------------------------------------------


def _dispatch(place: WavePlace) -> str:
    text = ""
    if place.dispatch is not None:
        kernel = f" {shown(place.dispatch.kernel)}" if place.dispatch.kernel else ""
        text += f" of dispatch {place.dispatch.id}{kernel}"
    if place.work_group is not None:
        text += f", work-group {group_text(place.work_group)}"
    if place.wave_in_group is not None:
        text += f", wave {place.wave_in_group} of it"
    return text


def _dispatch_line(place: WavePlace) -> str:
    return "no dispatch" if place.dispatch is None else f"dispatch {dispatch_text(place.dispatch)}"


def _where(call: CallFrame | None) -> str:
    if call is None:
        return "??"
    name = shown(call.function or "??")
    return name if call.source is None else f"{name} at {source_text(call.source)}"


def _place_json(place: WavePlace, *, several: bool = False) -> Json:
    dispatch = place.dispatch
    document: Json = {
        "dispatch": None if dispatch is None else dispatch.id,
        "kernel": None if dispatch is None else dispatch.kernel,
    }
    if not several:
        document["work_group"] = None if place.work_group is None else list(place.work_group)
        document["wave_in_group"] = place.wave_in_group
    return document


def _call_json(call: CallFrame | None) -> Json:
    return {
        "function": None if call is None else call.function,
        "source": None if call is None or call.source is None else plain(call.source),
        "inlined": False if call is None else call.inlined,
    }


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
        return self._joined(
            f"{'' if row.lane is None else row.lane}{state}", row.cells[: self.fitting(width)]
        )[:width]

    def _joined(self, first: str, cells: Sequence[str]) -> str:
        widths = (LANE_WIDTH, *self.widths[: len(cells)])
        return aligned((first, *cells), widths, "l" + "r" * len(cells), gap=GAP).rstrip()


def lane_table(frame: Frame) -> LaneTable:
    """Return the parameters and locals of a frame in every lane, those that differ among lanes first."""
    variables = [variable for variable in frame.variables() if not variable.is_shadowed]
    columns = [_column(frame, variable) for variable in variables]
    order = sorted(range(len(columns)), key=lambda index: len(set(columns[index])) == 1)
    names = [_cut(shown(variables[index].name), LONGEST_NAME) for index in order]
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
    widths = tuple(
        max(len(name), *map(len, columns[index])) for name, index in zip(names, order, strict=True)
    )
    return LaneTable(tuple(names), widths, rows)


def _column(frame: Frame, variable: Variable) -> list[str]:
    renderer = VariablesRenderer(frame)
    try:
        values = answer(variable, variable.name)
    except DwarfGpuError:
        return [NO_VALUE["error"]] * len(frame.lane_numbers(None))
    texts = (
        NO_VALUE[lane_answer.state] if lane_answer.value is None else renderer.cell(lane_answer)
        for lane_answer in values.by_lane
    )
    return [_cut(" ".join(text.split()), WIDEST) for text in texts]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
