"""The lanes of a wave as a picture: a cell for each lane, in the colour of the place where the lane is (SVG)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from dwarfgpu.program.frames.lanes import ACTIVE, UNUSED, Lanes, LaneStatus
from dwarfgpu.render.lanes import item_text, lane_counts, lane_place, lanes_heading, wave_title
from dwarfgpu.render.layout import shortened, shown
from dwarfgpu.render.pictures import style_sheet
from dwarfgpu.render.wave_map import place_letters

CELL = 32
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
    legend_top = top + rows * (CELL + GAP) + LINE
    legend = [_legend_text(lanes, group) for group in places.values()]
    title, heading, counts = wave_title(lanes.wave, lanes.where), lanes_heading(lanes), lane_counts(lanes)
    columns = min(per_row, lanes.lane_count)
    widths = [
        LABELS + columns * (CELL + GAP),
        *(min(len(text), LONGEST_TEXT) * CHARACTER for text in (title, heading, counts)),
        *(CELL + 2 * GAP + min(len(text), LONGEST_TEXT) * CHARACTER for text in legend),
    ]
    width, height = max(widths) + 2 * MARGIN, legend_top + len(legend) * (CELL + GAP) + MARGIN
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
        yield _line(MARGIN, top + row * (CELL + GAP) + 21, str(row * per_row), "quiet")
    for lane in chosen:
        row, column = divmod(lane.number, per_row)
        x, y = MARGIN + LABELS + column * (CELL + GAP), top + row * (CELL + GAP)
        yield from _cell(x, y, lane, letters[lane.place], _lane_text(lanes, lane))
    for number, (place, group) in enumerate(places.items()):
        y = legend_top + number * (CELL + GAP)
        yield from _cell(MARGIN, y, group[0], letters[place])
        yield _line(MARGIN + CELL + 2 * GAP, y + 21, legend[number])
    yield "</svg>"


def _cell(x: int, y: int, lane: LaneStatus, letter: str, tip: str = "") -> Iterator[str]:
    """Draw a lane. A place keeps its colour whether its lanes are active or wait."""
    known = letter.isalpha()
    kind = "active" if lane.state == ACTIVE else "waiting" if known else "none"
    colour = f' fill="{COLOURS[(ord(letter.upper()) - ord("A")) % len(COLOURS)]}"' if known else ""
    yield f'<g class="{kind}">' + (f"<title>{_text(tip)}</title>" if tip else "")
    yield f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="4"{colour}/>'
    yield f'<text x="{x + CELL // 2}" y="{y + 21}">{letter}</text></g>'


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
