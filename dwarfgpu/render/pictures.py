"""Pictures (SVG): strips of addresses in the colours of what is at them, and maps of values in lanes.

A picture needs no library and no network, follows the colours of the reader's system, light or dark, and says in words
what it shows: a title for each part, and a legend.
"""

from __future__ import annotations

import sys
from html import escape
from typing import TYPE_CHECKING

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.immutable import frozen
from dwarfgpu.render.layout import range_text, runs, shortened, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dwarfgpu.program.frames.answers import LaneAnswer, Values
    from dwarfgpu.render.values import Look

WIDTH = 960
"""The width of a picture; it is made smaller where there is less room."""
LABELS = 220
NOTES = 60
MARGIN = 16
ROW = 20
BAR = 14
BAR_ROOM = 1000
"""How many units wide a strip without a label is."""
HEAD = 30
CHARACTER = 7
LONGEST_LABEL = 30
NARROWEST = 0.5
"""The width of the narrowest part that is drawn; one that is narrower joins the part behind it."""

NOTHING = "none"
"""The kind of a part where nothing is."""
OUTSIDE = "outside"
"""The kind of a part where nothing can be, because it is out of scope."""
DARK = "@media (prefers-color-scheme: dark) {"
"""The line that the rules for dark paper are behind, up to the end of the sheet."""
COLOURS = {
    "register": ("#0072b2", "#56b4e9"),
    "memory": ("#2f8f6b", "#3fc493"),
    "composite": ("#a05c9c", "#dc8fd6"),
    "implicit": ("#c77800", "#f0a93c"),
    "constant": ("#9a8a00", "#e3d53b"),
    "several": ("#5b54b8", "#ac9af0"),
    "open": ("#5f6b76", "#a5b1bc"),
    "unwinding": ("#3a7d34", "#7fc97a"),
    NOTHING: ("#cdd3da", "#434b55"),
    OUTSIDE: ("#ffffff", "#0d1117"),
}
"""The colour of each kind on light and on dark paper; they differ for people who do not see all colours, too."""
KIND_WORDS = {
    NOTHING: "no location",
    OUTSIDE: "out of scope",
    "several": "several at a time",
    "open": "depends on data",
    "unwinding": "can be unwound",
}
"""What a legend says of a kind where its name is not enough."""
TRACK = "#8c959f", "#6e7681"
"""The outline of a strip, on light and on dark paper."""


@frozen
class StripPart:
    """Neighbouring addresses with the same kind."""

    size: int
    """How many addresses."""
    kind: str
    """A key of `COLOURS`, maybe followed by more words; any other kind has the colour of `open`."""
    text: str
    """What a reader sees who points at it."""


@frozen
class Strip:
    """One strip: a label, what is at the addresses, and a note behind it."""

    label: str
    parts: tuple[StripPart, ...]
    note: str = ""


@frozen
class StripGroup:
    """Strips over the same addresses."""

    title: str
    strips: tuple[Strip, ...]


def strip_svg(title: str, groups: Sequence[StripGroup]) -> Iterator[str]:
    """Draw strips, group by group."""
    rows = sum(len(group.strips) for group in groups)
    kinds = kinds_of(strip for group in groups for strip in group.strips)
    top = MARGIN + HEAD
    height = top + rows * ROW + len(groups) * HEAD + HEAD + MARGIN
    yield from _opening("strips", title, WIDTH, height, style())
    y = top
    for group in groups:
        yield f'<text class="group" x="{MARGIN}" y="{y + 18}">{caption(group.title, 120)}</text>'
        y += HEAD
        for strip in group.strips:
            yield f'<text x="{MARGIN}" y="{y + 12}" xml:space="preserve">{caption(strip.label, LONGEST_LABEL)}</text>'
            yield from _rects(strip, MARGIN + LABELS, y, WIDTH - 2 * MARGIN - LABELS - NOTES)
            if strip.note:
                note = caption(strip.note)
                yield f'<text class="quiet" x="{WIDTH - MARGIN}" y="{y + 12}" text-anchor="end">{note}</text>'
            y += ROW
    x = MARGIN
    for name in kinds:
        words = kind_words(name)
        yield _swatch_rect(name, x, y + 10)
        yield f'<text class="quiet" x="{x + BAR + 6}" y="{y + 21}">{words}</text>'
        x += BAR + 24 + len(words) * CHARACTER
    yield "</svg>"


def _opening(kind: str, title: str, width: int, height: int, sheet: str) -> Iterator[str]:
    """Begin a picture: with its own style sheet and a head, or for a page that has the sheet."""
    size = f' style="max-width:{width}px;width:100%;height:auto"' if sheet else f' width="{width}" height="{height}"'
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" role="img" viewBox="0 0 {width} {height}"{size}>')
    yield f"<title>{caption(title)}</title>"
    if sheet:
        yield f"<style>\n{sheet}\n</style>"
    yield f'<rect class="paper" width="{width}" height="{height}" rx="8"/>'
    if sheet:
        yield f'<text class="head" x="{MARGIN}" y="{MARGIN + 14}">{caption(title, width // CHARACTER - 4)}</text>'


def colour_of(kind: str) -> str:
    """Return the name of the colour of a kind."""
    words = kind.split()
    return next((word for word in words if word in COLOURS), "open")


PAPER = (
    (".paper", "fill: #ffffff;", "fill: #0d1117;"),
    ("text", "fill: #1f2328;", "fill: #e6edf3;"),
    (".quiet", "fill: #59636e;", "fill: #9198a1;"),
)


def style_sheet(owner: str, size: int, rules: Iterable[tuple[str, str, str]]) -> str:
    """Return a style sheet of rules: selectors, a style for light paper, and one for dark paper, or none if equal."""

    def line(selectors: str, content: str) -> str:
        return f"{', '.join(f'.{owner} {selector}' for selector in selectors.split(', '))} {{ {content} }}"

    rules = (*PAPER, *rules)
    light = [line(selectors, content) for selectors, content, _dark in rules]
    dark = [f"  {line(selectors, content)}" for selectors, _light, content in rules if content]
    font = f"font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: {size}px;"
    return "\n".join([f".{owner} {{ {font} }}", *light, DARK, *dark, "}"])


def style() -> str:
    """Return the style sheet of strips."""
    track = f"fill: none; stroke: {TRACK[0]}; stroke-width: 1; vector-effect: non-scaling-stroke;"
    return style_sheet("strips", 12, (
        (".head, .group", "font-weight: bold;", ""),
        *((f".{name}", f"fill: {light};", f"fill: {dark};") for name, (light, dark) in COLOURS.items()),
        (".track", track, f"stroke: {TRACK[1]};"),
        (".track", "pointer-events: none;", ""),
    ))  # fmt: skip


def page_style(sheet: str) -> str:
    """Return the style sheet of a picture for a page whose reader can choose light or dark (``data-theme``)."""
    light, _media, rest = sheet.partition(f"{DARK}\n")
    dark = [line.strip() for line in rest.splitlines() if line.strip() not in ("", "}")]

    def below(owner: str) -> list[str]:
        rules = []
        for line in dark:
            selectors, _brace, content = line.partition("{")
            rules.append(",".join(f"{owner} {name.strip()}" for name in selectors.split(",")) + f" {{{content}")
        return rules

    automatic = below(":root:not([data-theme=light])")
    return "\n".join([light.rstrip(), DARK, *automatic, "}", *below(":root[data-theme=dark]")])


def strip_bar(strip: Strip) -> str:
    """Draw a strip for a page, which has its label and its note beside it, as wide as there is room."""
    rects = "".join(
        f'<rect class="{name}" x="{start:.4g}" width="{end - start:.4g}"><title>{caption(words)}</title></rect>'
        for name, start, end, words in _drawn(strip, BAR_ROOM)
        if name != OUTSIDE
    )
    return (
        f'<svg class="strips strip" aria-hidden="true" viewBox="0 0 {BAR_ROOM} {BAR}" preserveAspectRatio="none">'
        f'{rects}<rect class="track" width="{BAR_ROOM}"/></svg>'
    )


def swatch(kind: str) -> str:
    """Draw the colour of a kind for a legend."""
    return f'<svg class="strips swatch" viewBox="0 0 {BAR} {BAR}" aria-hidden="true">{_swatch_rect(kind, 0, 0)}</svg>'


def _swatch_rect(kind: str, x: int, y: int) -> str:
    outline = _track(x, y, BAR) if kind == OUTSIDE else ""
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{BAR}" height="{BAR}"/>{outline}'


def _track(x: int, y: int, width: int) -> str:
    return f'<rect class="track" x="{x}" y="{y}" width="{width}" height="{BAR}"/>'


def kind_words(name: str) -> str:
    """Return what a legend calls the colour of a kind."""
    return KIND_WORDS.get(name, name)


def kinds_of(strips: Iterable[Strip]) -> list[str]:
    """Return the names of the colours that strips have, in the order of the legend."""
    drawn = {colour_of(part.kind) for strip in strips for part in strip.parts}
    return [name for name in COLOURS if name in drawn]


def _rects(strip: Strip, left: int, y: int, room: int) -> Iterator[str]:
    for name, start, end, words in _drawn(strip, room):
        yield (
            f'<rect class="{name}" x="{left + start:.1f}" y="{y}" width="{end - start:.1f}" height="{BAR}">'
            f"<title>{caption(words)}</title></rect>"
        )
    yield _track(left, y, room)


def _drawn(strip: Strip, room: int) -> Iterator[tuple[str, float, float, str]]:
    """Yield the parts that are wide enough: the colour, where they begin and end, and what they say."""
    total = sum(part.size for part in strip.parts) or 1
    done, drawn = 0, 0.0
    for part in strip.parts:
        done += part.size
        end = room * done / total
        if end - drawn >= NARROWEST:
            yield colour_of(part.kind), drawn, end, part.text
            drawn = end


def caption(text: str, longest: int = sys.maxsize) -> str:
    """Return words for a picture: nothing in them is markup, and they are cut where they are too long."""
    return escape(shown(shortened(text, longest, "…")))


# --- Values in lanes --------------------------------------------------------------------------------------------------

SHADES = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725")
"""From the lowest value to the highest: their lightness grows evenly, on light and on dark paper."""
NARROWEST_PICTURE = 480
LONGEST_VALUE, LONGEST_REASON = 60, 100
MAP_CELL = 10
MAP_LABELS = 110


@frozen
class HeatCell:
    """The value of a lane."""

    text: str
    """What a reader sees who points at it."""
    number: float | None = None
    """None where there is no value, or one that is no number, and in a lane that does not execute the code."""
    is_idle: bool = False
    """Whether the lane is inactive."""


def heat_rows(values: Values) -> Iterator[tuple[str, tuple[HeatCell, ...]]]:
    """Yield the name of each wave, and what an expression is in its lanes."""
    from dwarfgpu.render.values import Look

    look = Look()
    for wave, name in enumerate(values.names):
        yield name, tuple(_heat_cell(values.at(wave, lane), look) for lane in range(len(values.lanes)))


def _heat_cell(answer: LaneAnswer, look: Look) -> HeatCell:
    from dwarfgpu.program.frames.columns import python_value
    from dwarfgpu.render.values import value_text

    idle = "" if answer.is_active else " (inactive)"
    if answer.value is None:
        why = "" if answer.reason is None else f": {answer.reason.message}"
        return HeatCell(f"{answer.state}{why[:LONGEST_REASON]}{idle}", is_idle=bool(idle))
    try:
        words = " ".join(value_text(answer.value, look).split())
        number = python_value(answer.value) if answer.is_active else None
    except DwarfGpuError as error:
        return HeatCell(f"<{error.what}>{idle}", is_idle=bool(idle))
    is_number = isinstance(number, (int, float)) and number == number  # noqa: PLR0124 (not a number)
    return HeatCell(words[:LONGEST_VALUE] + idle, number if is_number else None, is_idle=bool(idle))


def heat_map_svg(
    title: str, rows: Sequence[tuple[str, tuple[HeatCell, ...]]], *, is_alone: bool = True
) -> Iterator[str]:
    """Draw a row for each wave and a cell for each lane: a shade for a value, an outline for none, grey if inactive."""
    cells = [cell for _name, of_wave in rows for cell in of_wave if not cell.is_idle]
    numbers = [number for cell in cells if (number := _finite(cell.number)) is not None]
    low, high = (min(numbers), max(numbers)) if numbers else (0, 0)
    lanes = max((len(of_wave) for _name, of_wave in rows), default=0)
    left = MARGIN + MAP_LABELS
    width = max(left + MARGIN + lanes * MAP_CELL, NARROWEST_PICTURE)
    top = MARGIN + (HEAD if is_alone else 0)
    height = top + len(rows) * (MAP_CELL + 2) + HEAD + (MARGIN if is_alone else 0)
    yield from _opening("heat", title, width, height, heat_style() if is_alone else "")
    for index, (label, of_wave) in enumerate(rows):
        y = top + index * (MAP_CELL + 2)
        yield f'<text class="quiet" x="{MARGIN}" y="{y + 9}">{caption(label, MAP_LABELS // CHARACTER)}</text>'
        for run in runs(enumerate(of_wave), lambda last, each: last[1] == each[1]):
            (first, cell), (last, _cell) = run[0], run[-1]
            where = f"lane{'s' * (first < last)} {range_text(first, last)}"
            kind = "idle" if cell.is_idle else _shade(cell.number, low, high)
            height = MAP_CELL // 4 if cell.is_idle else MAP_CELL
            pointed = caption(f"{label}, {where}: {cell.text}")
            yield (
                f'<rect class="{kind}" x="{left + first * MAP_CELL}" y="{y + (MAP_CELL - height) // 2}" '
                f'width="{len(run) * MAP_CELL - 1}" height="{height}"><title>{pointed}</title></rect>'
            )
    y = top + len(rows) * (MAP_CELL + 2) + 10
    words = []
    if numbers:
        yield f'<text class="quiet" x="{left - 6}" y="{y + 11}" text-anchor="end">{caption(f"{low:.6g}")}</text>'
        for number in range(len(SHADES)):
            yield f'<rect class="s{number}" x="{left + number * BAR}" y="{y}" width="{BAR}" height="{BAR}"/>'
        words.append(f"{high:.6g}")
        left += len(SHADES) * BAR + 6
    if len(numbers) < len(cells):
        words.append("outline: no number")
    if any(cell.is_idle for _name, of_wave in rows for cell in of_wave):
        words.append("small and grey: inactive")
    yield f'<text class="quiet" x="{left}" y="{y + 11}">{caption("; ".join(words))}</text>'
    yield "</svg>"


def heat_style() -> str:
    """Return the style sheet of maps of values."""
    return style_sheet("heat", 11, (
        (".head", "font-weight: bold;", ""),
        (".idle", "fill: #8c959f;", ""),
        (".empty", "fill: none; stroke: #8c959f; stroke-width: 0.7;", ""),
        *((f".s{number}", f"fill: {colour};", "") for number, colour in enumerate(SHADES)),
        ("rect[class^=s]", f"stroke: {TRACK[0]}; stroke-width: 0.5;", ""),
    ))  # fmt: skip


def _finite(number: float | None) -> float | None:
    """Return a number that has a place between others, and None for any other."""
    return number if number is not None and abs(number) < LARGEST else None


LARGEST = 1e300


def _shade(number: float | None, low: float, high: float) -> str:
    """Return the shade of a number: that of the equal part of the range that it is in."""
    if number is None or _finite(number) is None:
        return "empty"
    count = len(SHADES)
    part = int((number / 2 - low / 2) / (high / 2 - low / 2) * count) if high > low else count // 2
    return f"s{min(count - 1, part)}"
