"""What a notebook shows of values, lanes and waves: pictures, and tables in the colours of the page around them."""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.frames.all_waves import attached_of
from dwarfgpu.program.frames.answers import LaneAnswer, Values
from dwarfgpu.program.frames.lanes import lanes_of_wave
from dwarfgpu.program.frames.wave import Wave
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.values.objects import Object
from dwarfgpu.render.lane_svg import lanes_svg
from dwarfgpu.render.layout import cut, shown
from dwarfgpu.render.pictures import heat_map_svg, heat_rows
from dwarfgpu.render.values import Look, value_line
from dwarfgpu.render.variables import VariablesRenderer, missing_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dwarfgpu.program.frames.all_waves import HasWaves
    from dwarfgpu.states.program import Attached

MAX_ROWS = 64
"""How many rows a table has; the last one says how many more there are."""
PER_ROW = 16
LONGEST_CELL = 60
IDLE = "opacity:.55"
"""The style of what is inactive: readable on light and dark pages."""


def html(thing: Values | Object | Wave | Attached | HasWaves) -> str:
    """Return the HTML of values, of one value, of a wave, of what is attached, or of a kernel that runs.

    >>> import dwarfgpu as dg
    >>> dg.html(dg.open_core("blur.core")[1]).count("<svg")
    1
    """
    if isinstance(thing, Values):
        return values_html(thing)
    if isinstance(thing, Object):
        return f"{_heading('', safe_text(thing.type))}<code>{_plain(value_line(thing, LONGEST_CELL))}</code>"
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
        rows.append((_plain(first), *("" if answer is None else _cell(answer, look) for answer in cells)))
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
            yield _plain(name), _plain("" if answer.lane is None else answer.lane), _cell(answer, look)


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
            yield _plain(number), _plain(wave.id), _plain(place)

    return _table(("number", noun, "place"), rows(), len(attached))


# --- Parts --------------------------------------------------------------------------------------------------------


def _table(head: Iterable[str], rows: Iterable[tuple[str, ...]], count: int | None = None) -> str:
    """Return a table; the cells are HTML, the names of columns are not."""
    body = []
    rest = 0
    for number, row in enumerate(rows):
        if number == MAX_ROWS:
            rest = 0 if count is None else count - MAX_ROWS
            body.append(f"<tr><td>... {f'and {rest} more' if rest else 'and more'}</td></tr>")
            break
        body.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>")
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _heading(text: str, kind: str | None) -> str:
    parts = [f"<b>{_plain(text)}</b>"] * bool(text) + [f"<i>{_plain(kind or '')}</i>"] * bool(kind)
    return f"<div>{' '.join(parts)}</div>" if parts else ""


def _note(text: str) -> str:
    return f'<div style="{IDLE}">{escape(text)}</div>'


def _cell(answer: LaneAnswer, look: Look) -> str:
    """Return the value of a lane, or the kind of the reason why it has none, which a pointer on it shows whole."""
    if answer.value is None:
        message = "" if answer.reason is None else answer.reason.message
        content = f'<span title="{_plain(message)}">{escape(missing_word(answer.reason))}</span>'
    else:
        content = _plain(value_line(answer.value, LONGEST_CELL, look))
    return content if answer.is_active else f'<span style="{IDLE}">({content})</span>'


def _plain(value: Any) -> str:
    """Return a text of a file as HTML shows it: nothing in it is markup."""
    return escape(cut(shown(str(value))))
