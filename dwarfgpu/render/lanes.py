"""Lanes and waves as tables and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.stack.lanes import ACTIVE, INACTIVE, UNKNOWN, UNUSED
from dwarfgpu.program.variables.answers import answer
from dwarfgpu.render.layout import (
    aligned,
    plain,
    problem_json,
    shown,
)
from dwarfgpu.render.variables import NO_VALUE, VariablesRenderer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.program.code.code_lookup import CallFrame
    from dwarfgpu.program.stack.lanes import Lanes, LaneStatus
    from dwarfgpu.program.stack.wave_groups import WaveRow
    from dwarfgpu.program.stack.wave_positions import WavePlace

    Json = dict[str, Any]
    from dwarfgpu.program.stack.frame import Frame
    from dwarfgpu.program.variables.variable import Variable


LETTERS = {ACTIVE: "A", INACTIVE: "I", UNUSED: "U", UNKNOWN: "?"}
"""The states as rocgdb shows them."""


# --- Lanes --------------------------------------------------------------------------------------------------------


def lanes_document(found: Lanes, lanes: Sequence[LaneStatus]) -> Json:
    """A wave and some of its lanes."""
    return {
        **_lanes_head(found),
        "lanes": map(lane_json, lanes),
        "problems": [problem_json(error) for error in found.problems],
    }


def _lanes_head(found: Lanes) -> Json:
    """What is said of all lanes of a wave."""
    return {
        "wave": found.wave,
        **_place_json(found.where),
        "frame": found.frame,
        "pc": found.pc,
        **_call_json(found.call),
        "lane_count": found.lane_count,
        "active": None if found.mask is None else f"{found.mask:#x}",
        "iterations": found.iterations,
        "places": "lane_pc" if found.by_attribute else "wave",
    }


def lane_json(lane: LaneStatus) -> Json:
    """One lane."""
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


def wave_json(row: WaveRow) -> Json:
    """One row."""
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
            None if each.work_group is None else list(each.work_group) for each in row.places
        ]
    if row.error is not None:
        document["error"] = problem_json(row.error)
    return document


# --- Both ---------------------------------------------------------------------------------------------------------


def _place_json(place: WavePlace, *, several: bool = False) -> Json:
    one = place.dispatch
    document: Json = {
        "dispatch": None if one is None else one.id,
        "kernel": None if one is None else one.kernel,
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


# --- Lanes and variables as a table -------------------------------------------------------------------

GAP = 2
WIDEST = 24
"""A longer value is cut."""
LONGEST_NAME = 40


@frozen
class LaneRow:
    """A row of the table."""

    lane: int | None
    """None for a thread, which has no lanes."""
    is_active: bool
    cells: tuple[str, ...]


@frozen
class LaneTable:
    """Lanes and variables. Cells are as wide as `widths` says."""

    names: tuple[str, ...]
    widths: tuple[int, ...]
    rows: tuple[LaneRow, ...]

    def fitting(self, width: int) -> int:
        """How many columns there is room for, beside the one with the lanes."""
        used, count = LANE_WIDTH, 0
        for each in self.widths:
            used += GAP + each
            if used > width:
                break
            count += 1
        return count

    def head(self, width: int) -> str:
        """The names of the variables that there is room for; how many there are besides."""
        count = self.fitting(width)
        cells = self._joined("lane", self.names[:count])
        more = f"+{len(self.names) - count}" if count < len(self.names) else ""
        if more and len(cells) + GAP + len(more) <= width:
            cells = f"{cells:{width - len(more)}}{more}"
        return cells[:width]

    def line(self, row: LaneRow, width: int) -> str:
        """A row."""
        state = "" if row.is_active or row.lane is None else "-"
        return self._joined(
            f"{'' if row.lane is None else row.lane}{state}", row.cells[: self.fitting(width)]
        )[:width]

    def _joined(self, first: str, cells: Sequence[str]) -> str:
        widths = (LANE_WIDTH, *self.widths[: len(cells)])
        return aligned((first, *cells), widths, "l" + "r" * len(cells), gap=GAP).rstrip()


LANE_WIDTH = 4


def lane_table(frame: Frame) -> LaneTable:
    """The parameters and local variables of a frame in every lane; those that differ from lane to lane first."""
    variables = [each for each in frame.variables() if not each.is_shadowed]
    columns = [_column(frame, each) for each in variables]
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
        found = answer(variable, variable.name)
    except DwarfGpuError:
        return [NO_VALUE["error"]] * len(frame.lane_numbers(None))
    texts = (NO_VALUE[each.state] if each.value is None else renderer.cell(each) for each in found.lanes)
    return [_cut(" ".join(text.split()), WIDEST) for text in texts]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
