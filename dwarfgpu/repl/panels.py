"""What stands on the full screen: source, lanes and variables, and what commands have written, each in a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_toolkit.formatted_text import ANSI, to_formatted_text
from prompt_toolkit.layout.controls import UIContent, UIControl

from dwarfgpu.commands.output import SOURCE
from dwarfgpu.commands.sources import file_of, shown_line, standing_lanes, text_of
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.render.layout import shown
from dwarfgpu.repl.runner import errors_are_ours

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from dwarfgpu.commands.debugger import Debugger
    from dwarfgpu.render.lane_table import LaneTable
    from dwarfgpu.repl.terminal import Terminal

KEPT = 2000
"""How many lines of output are kept."""
TAB = 8


class Panel(UIControl):
    """Lines that are made for the size of their window."""

    def __init__(self, lines: Callable[[int, int], list[StyleAndTextTuples]]) -> None:
        self._lines = lines

    def create_content(self, width: int, height: int) -> UIContent:
        lines = self._lines(width, height)[:height]
        return UIContent(get_line=lambda number: lines[number], line_count=len(lines), show_cursor=False)


class Panels:
    """The contents of the windows, for what the debugger looks at."""

    def __init__(self, debugger: Debugger, terminal: Terminal) -> None:
        self._debugger = debugger
        self._terminal = terminal
        self._table: LaneTable | None = None
        self._seen: Any = None
        self.written: list[str] = []
        """What commands have written."""
        self.scrolled = 0
        """How many lines of that are below its window."""

    def write(self, text: str) -> None:
        """Add what a command has written."""
        self.written += text.expandtabs(TAB).splitlines()
        del self.written[:-KEPT]
        self.scrolled = 0

    def forget(self) -> None:
        """Something may have been assigned: read the variables again."""
        self._table = None

    # --- Source ---------------------------------------------------------------------------------------------------

    def source(self, width: int, height: int) -> list[StyleAndTextTuples]:
        """The source around the frame; how many lanes stand at a line is told in front of it."""
        try:
            with errors_are_ours():
                return self._source(width, height)
        except DwarfGpuError as error:
            return [_message(error, width)]

    def _source(self, width: int, height: int) -> list[StyleAndTextTuples]:
        debugger = self._debugger
        if debugger.attached is None:
            return [[("class:inactive", "no machine, so no frame"[:width])]]
        found = file_of(debugger.frame)
        if found is None:
            return [[("class:inactive", "no source is known here"[:width])]]
        file, current = found
        text = text_of(debugger, file)
        if text.missing is not None:
            return [[("class:inactive", f"{current} in {shown(file.name)}: {text.missing}"[:width])]]
        standing, call = standing_lanes(debugger), debugger.frame.call.source
        source = "" if call is None or call.file is None else call.file
        first = max(1, min(current - height // 2, len(text.lines) - height + 1))
        numbers = range(first, min(first + height, len(text.lines) + 1))
        digits = len(str(numbers[-1])) if numbers else 1
        room = max(1, width - digits - 8)
        plain = [shown_line(text.lines[number - 1]).expandtabs(TAB)[:room] for number in numbers]
        lines: list[StyleAndTextTuples] = []
        for number, line in zip(numbers, self._terminal.highlight(SOURCE, plain, file.path), strict=True):
            lanes = standing.get((source, number), 0)
            mark = ">" if number == current else " "
            count = f"{lanes.bit_count():>3}*" if lanes else "    "
            style = "class:current" if number == current else ""
            lines.append(
                [(style, f"{mark}{count} {number:{digits}} "), *to_formatted_text(ANSI(line), style=style)]
            )
        return lines

    # --- Lanes ----------------------------------------------------------------------------------------------------

    def lanes(self, width: int, height: int) -> list[StyleAndTextTuples]:
        """The variables in the lanes around the one that is looked at."""
        try:
            with errors_are_ours():
                table = self._lane_table()
        except DwarfGpuError as error:
            return [_message(error, width)]
        if table is None or not height:
            return []
        lane = self._debugger.lane
        place = next((index for index, row in enumerate(table.rows) if row.lane == lane), 0)
        room = max(1, height - 1)
        first = max(0, min(place - room // 2, len(table.rows) - room))
        lines: list[StyleAndTextTuples] = [[("class:title", table.head(width))]]
        for row in table.rows[first : first + room]:
            style = "class:lane" if row.lane == lane else "" if row.is_active else "class:inactive"
            lines.append([(style, table.line(row, width).ljust(width))])
        return lines[:height]

    def _lane_table(self) -> LaneTable | None:
        from dwarfgpu.render.lane_table import lane_table

        debugger = self._debugger
        if debugger.attached is None:
            return None
        seen = debugger.attached, debugger.wave_number, debugger.frame_number
        if self._table is None or seen != self._seen:
            self._table, self._seen = lane_table(debugger.frame), seen
        return self._table

    # --- Output ---------------------------------------------------------------------------------------------------

    def output(self, width: int, height: int) -> list[StyleAndTextTuples]:
        """The last lines that commands have written; longer ones are folded."""
        rows: list[str] = []
        wanted = height + self.scrolled
        for line in reversed(self.written):
            parts = [line[start : start + width] for start in range(0, len(line), width)] or [""]
            rows[:0] = parts
            if len(rows) >= wanted:
                break
        self.scrolled = min(self.scrolled, max(0, len(rows) - height))
        end = len(rows) - self.scrolled
        return [[("", row)] for row in rows[max(0, end - height) : end]]


def _message(error: DwarfGpuError, width: int) -> StyleAndTextTuples:
    return [("class:error", shown(" ".join(str(error).split()))[:width])]
