"""Lanes and variables as a table: a row for each lane, a column for each variable, within a width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.variables.answers import answer
from dwarfgpu.render.columns import aligned
from dwarfgpu.render.layout import shown
from dwarfgpu.render.variables import NO_VALUE, VariablesRenderer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dwarfgpu.program.variables.frame import Frame
    from dwarfgpu.program.variables.variable import Variable

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
