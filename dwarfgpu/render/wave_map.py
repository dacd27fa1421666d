"""The lanes of a wave as maps: a letter, a value or a coloured cell for each lane, as text and as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.program.frames.columns import python_value
from dwarfgpu.program.frames.lanes import ACTIVE, UNKNOWN, UNUSED, Lanes, LaneStatus
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.render.lanes import (
    item_text,
    lane_counts,
    lane_place,
    lanes_heading,
    same_places,
    states_text,
    wave_title,
)
from dwarfgpu.render.layout import TableLine, columns, counted, cut, fitted, ranges_text, room, shortened, shown, style
from dwarfgpu.render.pictures import style_sheet
from dwarfgpu.render.values import Look, value_line, value_text
from dwarfgpu.render.variables import missing_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.program.frames.answers import LaneAnswer, Values
    from dwarfgpu.render.written_text import StyleName

LABEL = 4
CELL = 3
OTHERS = "+"
"""The sign of all places or values for which no letters are left."""
NOTHING = {UNUSED: ".", UNKNOWN: "?"}
SHADES = ":-=+*%#@"
"""From the lowest value to the highest."""
NO_VALUE = {"absent": "x", "undefined": "u", "error": "!"}
NOT_A_NUMBER = "n"
INACTIVE_NOTE = "  (parentheses: the lane is inactive)"
LONGEST_CELL = 24


# --- Places -------------------------------------------------------------------------------------------------------


def places_map(wave_lanes: Lanes, current: int | None, per_row: int) -> Iterator[str]:
    """Yield which lanes are where: a letter for each place, a capital if the lanes are active."""
    groups = {lanes[0].place: lanes for lanes in same_places(wave_lanes.lanes)}
    letters = place_letters(list(groups))
    signs: dict[int, tuple[str, StyleName]] = {}
    for place, lanes in groups.items():
        for lane in lanes:
            sign = letters[place]
            text = f"[{sign}]" if lane.number == current else sign
            signs[lane.number] = text, "name" if lane.state == ACTIVE else "dim"
    yield from _head(wave_lanes)
    yield from _grid(signs, wave_lanes.lane_count, per_row)
    yield ""
    rows = []
    for place, lanes in groups.items():
        first = lanes[0]
        where = lane_place(wave_lanes, first)
        state = f"{len(lanes)} {first.state}"
        numbers = [lane.number for lane in lanes]
        rows.append(TableLine((letters[place], state, where, _list(numbers)), current in numbers))
    yield from columns(("", "State", "Frame", "Lanes"), rows)


def place_letters(places: list[Any]) -> dict[Any, str]:
    """Return a letter for each place; lanes in different states at one address share a letter."""
    known: dict[Any, str] = {}
    letters = {}
    for place in sorted(places, key=lambda place: place[0] != ACTIVE):  # the place of the wave is A
        state, *where = place
        if state in NOTHING:
            letters[place] = NOTHING[state]
            continue
        letter = known.setdefault(tuple(where), ascii_uppercase[len(known)] if len(known) < 26 else OTHERS)
        letters[place] = letter if state == ACTIVE else letter.lower()
    return letters


def _list(lanes: Iterable[int]) -> str:
    """Return lanes as a list with ranges that can be wrapped: ``0-3, 8``."""
    return ranges_text(sorted(lanes)).replace(",", ", ")


# --- Values -------------------------------------------------------------------------------------------------------


@frozen
class _Kind:
    """Lanes that have the same sign."""

    sign: str
    text: str
    """The meaning of the sign."""
    lanes: tuple[int, ...]
    reason: str = ""
    """Why there is no value."""


def values_map(wave_lanes: Lanes, values: Values, look: Look, per_row: int) -> Iterator[str]:
    """Yield a value in each lane: a shade for each value, or for each range of many values."""
    lanes = _used(wave_lanes, values)
    kinds = [*_shades(lanes, look), *_missing(lanes)]
    signs = {lane: kind.sign for kind in kinds for lane in kind.lanes}
    yield from _head(wave_lanes, values)
    yield from _grid(_styled(wave_lanes, lanes, signs), wave_lanes.lane_count, per_row)
    yield ""
    rows = [TableLine((kind.sign, str(len(kind.lanes)), kind.text, _list(kind.lanes))) for kind in kinds]
    unused = [lane.number for lane in wave_lanes.lanes if lane.state == UNUSED]
    if unused:
        rows.append(TableLine((NOTHING[UNUSED], str(len(unused)), "(unused)", _list(unused))))
    yield from columns(("", "Count", "Value", "Lanes"), rows)
    if any(not lane_answer.is_active for lane_answer in lanes.values()):
        yield style("dim", INACTIVE_NOTE)
    for kind in kinds:
        if kind.reason:
            yield from (style("error", line) for line in fitted(f"{kind.sign} {kind.reason}"))


def values_grid(wave_lanes: Lanes, values: Values, look: Look, per_row: int) -> Iterator[str]:
    """Yield the value in each lane, in rows of lanes under the numbers of their columns."""
    lanes = _used(wave_lanes, values)
    missing = list(_missing(lanes))
    signs = {lane: kind.sign for kind in missing for lane in kind.lanes}
    for lane, answer in lanes.items():
        if answer.value is not None:
            signs[lane] = value_line(answer.value, LONGEST_CELL, look)
    cells = _styled(wave_lanes, lanes, signs)
    size = max(2, *(len(text) for text, _style in cells.values()))
    yield from _head(wave_lanes, values)
    yield from _grid(cells, wave_lanes.lane_count, per_row, cell=size + 1, side=">")
    has_idle = any(not answer.is_active for answer in lanes.values())
    if missing or has_idle:
        yield ""
    if has_idle:
        yield style("dim", INACTIVE_NOTE)
    for kind in missing:
        text = f"  {kind.sign} {kind.text}{kind.reason and f' ({kind.reason})'}: lanes {_list(kind.lanes)}"
        yield from (style("error", line) for line in fitted(text, 4))


def _used(wave_lanes: Lanes, values: Values) -> dict[int, LaneAnswer]:
    """Return what the lanes have that have a work-item."""
    unused = {lane.number for lane in wave_lanes.lanes if lane.state == UNUSED}
    return {answer.lane or 0: answer for answer in values.by_lane if answer.lane not in unused}


def _styled(wave_lanes: Lanes, lanes: dict[int, LaneAnswer], signs: dict[int, str]) -> dict[int, tuple[str, StyleName]]:
    """Return the sign of each lane with its style; parentheses are around those of inactive lanes."""
    cells: dict[int, tuple[str, StyleName]] = {
        lane.number: (NOTHING[UNUSED], "dim") for lane in wave_lanes.lanes if lane.state == UNUSED
    }
    for number, answer in lanes.items():
        text = signs[number]
        if answer.is_active:
            cells[number] = text, "error" if answer.value is None else "number"
        else:
            cells[number] = f"({text})", "dim"
    return cells


def _shades(lanes: dict[int, LaneAnswer], look: Look) -> list[_Kind]:
    """Return the signs of the lanes with a value."""
    have = {number: lane_answer for number, lane_answer in lanes.items() if lane_answer.value is not None}
    numbers: dict[int, Any] = {}
    for number, lane_answer in have.items():
        value = _number(lane_answer)
        if value is None:
            return _texts(have, look)
        numbers[number] = value
    odd = tuple(lane for lane, value in numbers.items() if value != value)  # noqa: PLR0124 (not a number)
    kinds = [_Kind(NOT_A_NUMBER, "nan", odd)] if odd else []
    ordered = sorted((lane for lane in numbers if lane not in odd), key=lambda lane: (numbers[lane], lane))

    def text(lane: int) -> str:
        return cut(value_text(have[lane].value, look))  # type: ignore[arg-type]

    return [*_ranges(ordered, numbers, text), *kinds]


def _ranges(ordered: list[int], numbers: dict[int, Any], text: Callable[[int], str]) -> Iterator[_Kind]:
    """Yield shades for lanes ordered by value: one for each value, or for an equal share of the lanes."""
    distinct = list(dict.fromkeys(numbers[lane] for lane in ordered))
    if len(distinct) <= len(SHADES):
        step = (len(SHADES) - 1) / max(1, len(distinct) - 1)
        for position, value in enumerate(distinct):
            equal = tuple(sorted(lane for lane in ordered if numbers[lane] == value))
            yield _Kind(SHADES[round(position * step)], text(equal[0]), equal)
        return
    shades: dict[str, list[int]] = {}
    rank = 0
    for position, lane in enumerate(ordered):
        if position and numbers[lane] != numbers[ordered[position - 1]]:
            rank = position  # equal values have one shade
        shades.setdefault(SHADES[rank * len(SHADES) // len(ordered)], []).append(lane)
    for shade, members in shades.items():
        first, last = text(members[0]), text(members[-1])
        yield _Kind(shade, first if first == last else f"{first} to {last}", tuple(sorted(members)))


def _number(answer: LaneAnswer) -> Any:
    """Return the value as a number; None if it is no number."""
    try:
        content = None if answer.value is None else python_value(answer.value)
    except DwarfGpuError:
        return None
    return content if isinstance(content, (int, float)) else None


def _texts(lanes: dict[int, LaneAnswer], look: Look) -> list[_Kind]:
    """Return a letter for each value that is no number."""
    by_text: dict[str, list[int]] = {}
    for number, lane_answer in lanes.items():
        assert lane_answer.value is not None  # noqa: S101 (the others are in `_missing`)
        by_text.setdefault(cut(value_text(lane_answer.value, look)), []).append(number)
    kinds = [
        _Kind(letter, text, tuple(numbers))
        for letter, (text, numbers) in zip(ascii_uppercase, by_text.items(), strict=False)
    ]
    rest = list(by_text.values())[len(ascii_uppercase) :]
    if rest:
        others = tuple(sorted(number for numbers in rest for number in numbers))
        kinds.append(_Kind(OTHERS, counted(len(rest), "other value"), others))
    return kinds


def _missing(lanes: dict[int, LaneAnswer]) -> Iterator[_Kind]:
    """Yield the lanes without a value, grouped by the reason."""
    by_reason: dict[tuple[str, str, str], list[int]] = {}
    for number, lane_answer in lanes.items():
        if lane_answer.value is None:
            message = "" if lane_answer.reason is None else lane_answer.reason.message
            key = lane_answer.state, missing_word(lane_answer.reason), message
            by_reason.setdefault(key, []).append(number)
    for (state, word, message), numbers in by_reason.items():
        yield _Kind(NO_VALUE[state], word, tuple(numbers), message)


# --- The parts of both maps ---------------------------------------------------------------------------------------


def _head(wave_lanes: Lanes, values: Values | None = None) -> Iterator[str]:
    """Yield the wave, and what was asked, its type, and the variables that were repaired."""
    title = f"{wave_title(wave_lanes.wave, wave_lanes.where)}: {states_text(wave_lanes)}"
    yield from (style("kind", line) for line in fitted(title))
    if values is None:
        return
    title = shown(values.text) + ("" if values.type is None else f"  {safe_text(values.type)}")
    yield from (style("kind", line) for line in fitted(cut(title)))
    for variable in values.repaired:
        names = ", ".join(repair.name for repair in variable.repairs)
        yield from (style("dim", line) for line in fitted(f"{variable.name} is repaired ({names})"))


def _grid(
    signs: dict[int, tuple[str, StyleName]], count: int, per_row: int, cell: int = CELL, side: str = "^"
) -> Iterator[str]:
    fewest = 8 if cell == CELL else 1
    while per_row > fewest and LABEL + 2 + cell * per_row > room():
        per_row //= 2
    numbers = "".join(f"{column:{side}{cell}}" for column in range(min(per_row, count)))
    yield style("dim", f"{' ' * (LABEL + 2)}{numbers}".rstrip())
    for first in range(0, count, per_row):
        cells = [signs.get(lane, ("", "plain")) for lane in range(first, min(first + per_row, count))]
        text = "".join(style(kind, f"{sign:{side}{cell}}") for sign, kind in cells)
        yield f"{style('dim', f'{first:{LABEL}}')}  {text}".rstrip()


# --- A picture of the lanes of a wave ---------------------------------------------------------------------------------


SQUARE = 32
GAP = 4
MARGIN = 16
LABELS = 36
"""The width of the numbers before each row."""
LINE = 24
CHARACTER = 8
"""The width of a character, with room to spare: the fonts of readers differ."""
LONGEST_TEXT = 100
COLOURS = ("#56b4e9", "#e69f00", "#2fb58e", "#e58bc0", "#e3d53b", "#ac9af0", "#ff8f66", "#9ccc4f")
"""Of places, in the order of the legend. They differ for people who do not see all colours, too."""

STYLE = style_sheet("lane-map", 13, (
    (".head, .active text", "font-weight: bold;", ""),
    ("rect", "stroke: none;", ""),
    (".active rect", "stroke: #1f2328; stroke-width: 2.5;", "stroke: #ffffff;"),
    (".active text", "fill: #111111;", "fill: #111111;"),
    (".waiting rect", "fill-opacity: 0.4;", ""),
    (".none rect", "fill: none; stroke: #59636e; stroke-dasharray: 3 3;", "stroke: #9198a1;"),
))  # fmt: skip


def lanes_svg(lanes: Lanes, chosen: Sequence[LaneStatus], per_row: int = 16, *, is_alone: bool = True) -> Iterator[str]:
    """Draw the lanes of a wave, with empty cells for others; a page has the style of a picture that is not alone."""
    places: dict[tuple[object, ...], list[LaneStatus]] = {}
    for lane in sorted(chosen, key=lambda lane: lane.state != ACTIVE):
        places.setdefault(lane.place, []).append(lane)
    letters = place_letters(list(places))
    rows = -(-lanes.lane_count // per_row)
    top = MARGIN + 3 * LINE + GAP
    legend_top = top + rows * (SQUARE + GAP) + LINE
    legend = [_legend_text(lanes, group) for group in places.values()]
    title, heading, counts = wave_title(lanes.wave, lanes.where), lanes_heading(lanes), lane_counts(lanes)
    columns = min(per_row, lanes.lane_count)
    widths = [
        LABELS + columns * (SQUARE + GAP),
        *(min(len(text), LONGEST_TEXT) * CHARACTER for text in (title, heading, counts)),
        *(SQUARE + 2 * GAP + min(len(text), LONGEST_TEXT) * CHARACTER for text in legend),
    ]
    width, height = max(widths) + 2 * MARGIN, legend_top + len(legend) * (SQUARE + GAP) + MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lane-map" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">'
    )
    yield f"<title>{_text(title)}</title>"
    yield f"<desc>{_text('. '.join([heading, counts, *legend]))}</desc>"
    if is_alone:
        yield f"<style>\n{STYLE}\n</style>"
    yield f'<rect class="paper" width="{width}" height="{height}" rx="8"/>'
    yield _line(MARGIN, MARGIN + 14, title, "head")
    yield _line(MARGIN, MARGIN + 14 + LINE, heading)
    yield _line(MARGIN, MARGIN + 14 + 2 * LINE, counts, "quiet")
    for row in range(rows):
        yield _line(MARGIN, top + row * (SQUARE + GAP) + 21, str(row * per_row), "quiet")
    for lane in chosen:
        row, column = divmod(lane.number, per_row)
        x, y = MARGIN + LABELS + column * (SQUARE + GAP), top + row * (SQUARE + GAP)
        yield from _cell(x, y, lane, letters[lane.place], _lane_text(lanes, lane))
    for number, (place, group) in enumerate(places.items()):
        y = legend_top + number * (SQUARE + GAP)
        yield from _cell(MARGIN, y, group[0], letters[place])
        yield _line(MARGIN + SQUARE + 2 * GAP, y + 21, legend[number])
    yield "</svg>"


def _cell(x: int, y: int, lane: LaneStatus, letter: str, tip: str = "") -> Iterator[str]:
    """Draw a lane. A place keeps its colour whether its lanes are active or wait."""
    known = letter.isalpha()
    kind = "active" if lane.state == ACTIVE else "waiting" if known else "none"
    colour = f' fill="{COLOURS[(ord(letter.upper()) - ord("A")) % len(COLOURS)]}"' if known else ""
    yield f'<g class="{kind}">' + (f"<title>{_text(tip)}</title>" if tip else "")
    yield f'<rect x="{x}" y="{y}" width="{SQUARE}" height="{SQUARE}" rx="4"{colour}/>'
    yield f'<text x="{x + SQUARE // 2}" y="{y + 21}">{letter}</text></g>'


def _lane_text(lanes: Lanes, lane: LaneStatus) -> str:
    """Return what a reader sees who points at a lane."""
    text = f"lane {lane.number}"
    if lane.work_item is not None:
        text += f", work-item {item_text(lane.work_item)}"
    return f"{text}: {lane.state}" + ("" if lane.state == UNUSED else f", {lane_place(lanes, lane)}")


def _legend_text(lanes: Lanes, group: list[LaneStatus]) -> str:
    text = f"{len(group)} {group[0].state}"
    return text if group[0].state == UNUSED else f"{text}  {lane_place(lanes, group[0], short=False)}"


def _line(x: int, y: int, text: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y}" xml:space="preserve"{named}>{_text(shortened(text, LONGEST_TEXT, "…"))}</text>'


def _text(text: str) -> str:
    return escape(shown(text), quote=False)
