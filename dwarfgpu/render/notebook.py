"""What a notebook shows of values, lanes and waves: pictures, and tables in the colours of the page around them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.frames.all_waves import attached_of
from dwarfgpu.program.frames.answers import LaneAnswer, Values
from dwarfgpu.program.frames.lanes import lanes_of_wave
from dwarfgpu.program.frames.wave import Wave
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.values.objects import Object
from dwarfgpu.render.pictures import heat_map_svg, heat_rows
from dwarfgpu.render.report import macros, text
from dwarfgpu.render.values import Look, value_line
from dwarfgpu.render.variables import VariablesRenderer, missing_word
from dwarfgpu.render.wave_map import lanes_svg

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.program.frames.all_waves import HasWaves
    from dwarfgpu.states.program import Attached

MAX_ROWS = 64
"""How many rows a table has; the last one says how many more there are."""
PER_ROW = 16
LONGEST_CELL = 60


def html(thing: Values | Object | Wave | Attached | HasWaves) -> str:
    """Return the HTML of values, of one value, of a wave, of what is attached, or of a kernel that runs.

    >>> import dwarfgpu as dg
    >>> dg.html(dg.open_core("blur.core")[1]).count("<svg")
    1
    """
    if isinstance(thing, Values):
        return values_html(thing)
    if isinstance(thing, Object):
        return f"{_heading('', safe_text(thing.type))}<code>{text(value_line(thing, LONGEST_CELL))}</code>"
    return wave_html(thing) if isinstance(thing, Wave) else waves_html(attached_of(thing))


def values_html(values: Values) -> str:
    """Return a table of the values: for one wave a cell for each lane, for several waves a row for each wave."""
    look = VariablesRenderer(values.frame).look
    heading = _heading(values.text, None if values.type is None else safe_text(values.type))
    if values.by_wave:
        return heading + _picture(values) + _table(("wave", "lane", "value"), _rows_of_waves(values, look))
    answers = values.by_lane
    if len(answers) == 1:
        answer = answers[0]
        lane = "" if answer.lane is None else f" (lane {answer.lane})"
        return f"{heading}<div>{_cell(answer, look)}{lane}</div>"
    numbered = {answer.lane or 0: answer for answer in answers}
    rows = []
    for first in sorted({lane - lane % PER_ROW for lane in numbered}):
        cells = (numbered.get(lane) for lane in range(first, first + PER_ROW))
        rows.append((str(first), *("" if answer is None else _cell(answer, look) for answer in cells)))
    return heading + _table(("lane", *map(str, range(PER_ROW))), rows) + _note("(parentheses: the lane is inactive)")


def _picture(values: Values) -> str:
    """Return the numbers in the lanes of waves as a map; nothing where they do not differ."""
    rows = list(islice(heat_rows(values), MAX_ROWS))
    numbers = {cell.number for _name, of_wave in rows for cell in of_wave if cell.number is not None}
    if len(numbers) <= 1:
        return ""
    more = f", the first {MAX_ROWS} waves" if len(values.names) > MAX_ROWS else ""
    return "\n".join(heat_map_svg(f"{values.text} in lanes and waves{more}", rows))


def _rows_of_waves(values: Values, look: Look) -> Iterator[tuple[str, ...]]:
    names = values.names
    for wave, name in enumerate(names):
        for position in range(len(values.lanes)):
            answer = values.at(wave, position)
            yield text(name), "" if answer.lane is None else str(answer.lane), _cell(answer, look)


def wave_html(wave: Wave) -> str:
    """Return a wave with a picture of where its lanes are; a thread has none."""
    if wave.state.target.execution_mask is None:
        return _heading(wave.id, None)
    try:
        lanes = lanes_of_wave(wave.stopped, wave.index)
    except DwarfGpuError as error:
        return _heading(wave.id, None) + _note(f"<{error.what}>")
    return "\n".join(lanes_svg(lanes, lanes.lanes))


def waves_html(attached: Attached) -> str:
    """Return a table of the waves, or threads, with the place of each."""
    noun = "wave" if attached.has_waves else "thread"

    def rows() -> Iterator[tuple[str, ...]]:
        for number, wave in enumerate(attached, 1):
            try:
                frame = wave.frame(0)
                source = frame.call.source
                place = frame.name or "??"
                if source is not None and source.file is not None:
                    place += f" at {source.file}:{source.line}"
            except DwarfGpuError as error:
                place = f"<{error.what}>"
            yield str(number), text(wave.id), text(place)

    return _table(("number", noun, "place"), rows(), len(attached))


# --- Parts --------------------------------------------------------------------------------------------------------


def _table(head: Iterable[str], rows: Iterable[tuple[str, ...]], count: int | None = None) -> str:
    """Return a table; the cells are HTML, the names of columns are not."""
    rows = iter(rows)
    first = list(islice(rows, MAX_ROWS))
    more = next(rows, None) and ("and more" if count is None else f"and {count - MAX_ROWS} more")
    return str(macros().table(head, first, more))


def _heading(name: str, kind: str | None) -> str:
    return str(macros().heading(name, kind))


def _note(words: str) -> str:
    return str(macros().idle(words))


def _cell(answer: LaneAnswer, look: Look) -> str:
    """Return the value of a lane, or the kind of the reason why it has none, which a pointer on it shows whole."""
    if answer.value is not None:
        words, why = value_line(answer.value, LONGEST_CELL, look), None
    else:
        words, why = missing_word(answer.reason), "" if answer.reason is None else answer.reason.message
    return str(macros().cell(words, why, answer.is_active))
