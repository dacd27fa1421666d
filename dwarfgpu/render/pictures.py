"""Pictures (SVG): strips of addresses in the colours of what is at them, maps of values in lanes, and histograms.

A picture needs no library and no network, follows the colours of the reader's system, light or dark, and says in words
what it shows: a title for each part, and a legend.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from dwarfgpu.immutable import frozen
from dwarfgpu.render.layout import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH = 960
"""The width of a picture; it is made smaller where there is less room."""
LABELS = 220
NOTES = 60
MARGIN = 16
ROW = 20
BAR = 14
HEAD = 30
CHARACTER = 7
LONGEST_LABEL = 30
NARROWEST = 0.5
"""The width of the narrowest part that is drawn; one that is narrower joins the part behind it."""

NOTHING = "none"
"""The kind of a part where nothing is."""
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
    NOTHING: ("#e4e7eb", "#2b323a"),
}
"""The colour of each kind on light and on dark paper; they differ for people who do not see all colours, too."""


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


def strip_svg(title: str, groups: Sequence[StripGroup], *, is_alone: bool = True) -> Iterator[str]:
    """Draw strips, group by group. A picture that is not alone takes its style from the page that it is in."""
    rows = sum(len(group.strips) for group in groups)
    kinds = [
        name
        for name in COLOURS
        if any(colour_of(part.kind) == name for group in groups for strip in group.strips for part in strip.parts)
    ]
    top = MARGIN + HEAD
    height = top + rows * ROW + len(groups) * HEAD + HEAD + MARGIN
    yield from _opening("strips", title, WIDTH, height, style() if is_alone else "")
    y = top
    for group in groups:
        yield f'<text class="group" x="{MARGIN}" y="{y + 18}">{_text(_short(group.title, 120))}</text>'
        y += HEAD
        for strip in group.strips:
            yield from _strip(strip, y)
            y += ROW
    x = MARGIN
    for name in kinds:
        words = "no location" if name == NOTHING else name
        yield f'<rect class="{name}" x="{x}" y="{y + 10}" width="{BAR}" height="{BAR}"/>'
        yield f'<text class="quiet" x="{x + BAR + 6}" y="{y + 21}">{words}</text>'
        x += BAR + 24 + len(words) * CHARACTER
    yield "</svg>"


def _opening(kind: str, title: str, width: int, height: int, sheet: str) -> Iterator[str]:
    """Begin a picture, with a style sheet if it has its own."""
    size = f' style="max-width:{width}px;width:100%;height:auto"' if sheet else ""
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" role="img" viewBox="0 0 {width} {height}"{size}>')
    yield f"<title>{_text(title)}</title>"
    if sheet:
        yield f"<style>\n{sheet}\n</style>"
    yield f'<rect class="paper" width="{width}" height="{height}" rx="8"/>'
    yield f'<text class="head" x="{MARGIN}" y="{MARGIN + 14}">{_text(_short(title, width // CHARACTER - 4))}</text>'


def colour_of(kind: str) -> str:
    """Return the name of the colour of a kind."""
    words = kind.split()
    return next((word for word in words if word in COLOURS), "open")


def style() -> str:
    """Return the style sheet of the pictures."""
    lines = [
        ".strips { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 12px; }",
        ".strips .paper { fill: #ffffff; }",
        ".strips text { fill: #1f2328; }",
        ".strips .quiet { fill: #59636e; }",
        ".strips .head, .strips .group { font-weight: bold; }",
        *(f".strips .{name} {{ fill: {light}; }}" for name, (light, _dark) in COLOURS.items()),
        DARK,
        "  .strips .paper { fill: #0d1117; }",
        "  .strips text { fill: #e6edf3; }",
        "  .strips .quiet { fill: #9198a1; }",
        *(f"  .strips .{name} {{ fill: {dark}; }}" for name, (_light, dark) in COLOURS.items()),
        "}",
    ]
    return "\n".join(lines)


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


def _strip(strip: Strip, y: int) -> Iterator[str]:
    yield f'<text x="{MARGIN}" y="{y + 12}" xml:space="preserve">{_text(_short(strip.label, LONGEST_LABEL))}</text>'
    left, room = MARGIN + LABELS, WIDTH - 2 * MARGIN - LABELS - NOTES
    total = sum(part.size for part in strip.parts) or 1
    yield f'<rect class="{NOTHING}" x="{left}" y="{y}" width="{room}" height="{BAR}"/>'
    done, drawn = 0, 0.0
    for part in strip.parts:
        done += part.size
        end = room * done / total
        name = colour_of(part.kind)
        if end - drawn < NARROWEST:
            continue
        yield (
            f'<rect class="{name}" x="{left + drawn:.1f}" y="{y}" width="{end - drawn:.1f}" height="{BAR}">'
            f"<title>{_text(part.text)}</title></rect>"
        )
        drawn = end
    if strip.note:
        yield f'<text class="quiet" x="{WIDTH - MARGIN}" y="{y + 12}" text-anchor="end">{_text(strip.note)}</text>'


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _text(text: str) -> str:
    return escape(shown(text))


# --- Values in lanes --------------------------------------------------------------------------------------------------

SHADES = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725")
"""From the lowest value to the highest: their lightness grows evenly, on light and on dark paper."""
MOST_BARS = 16
MAP_CELL = 10
MAP_LABELS = 110
BARS_HEIGHT = 120
BAR_STEP = 36


@frozen
class HeatCell:
    """The value of a lane."""

    text: str
    """What a reader sees who points at it."""
    number: float | None = None
    """None where there is no value, or one that is no number."""


@frozen
class HeatRow:
    """The values of a wave, lane by lane."""

    label: str
    cells: tuple[HeatCell, ...]


def heat_map_svg(title: str, rows: Sequence[HeatRow], *, is_alone: bool = True) -> Iterator[str]:
    """Draw a row for each wave and a cell for each lane, in a shade for its value; a cell without a value is empty."""
    numbers = [number for row in rows for cell in row.cells if (number := _finite(cell.number)) is not None]
    low, high = (min(numbers), max(numbers)) if numbers else (0, 0)
    lanes = max((len(row.cells) for row in rows), default=0)
    width = max(2 * MARGIN + MAP_LABELS + lanes * MAP_CELL, 480)
    top = MARGIN + HEAD
    height = top + len(rows) * (MAP_CELL + 2) + HEAD + MARGIN
    yield from _opening("heat", title, width, height, heat_style() if is_alone else "")
    for index, row in enumerate(rows):
        y = top + index * (MAP_CELL + 2)
        yield f'<text class="quiet" x="{MARGIN}" y="{y + 9}">{_text(_short(row.label, MAP_LABELS // CHARACTER))}</text>'
        first = 0
        while first < len(row.cells):
            cell = row.cells[first]
            last = first + 1
            while last < len(row.cells) and row.cells[last] == cell:
                last += 1
            where = f"lane {first}" if last == first + 1 else f"lanes {first}-{last - 1}"
            yield (
                f'<rect class="{_shade(cell.number, low, high)}" x="{MARGIN + MAP_LABELS + first * MAP_CELL}" '
                f'y="{y}" width="{(last - first) * MAP_CELL - 1}" height="{MAP_CELL}">'
                f"<title>{_text(f'{row.label}, {where}: {cell.text}')}</title></rect>"
            )
            first = last
    y = top + len(rows) * (MAP_CELL + 2) + 10
    if numbers:
        yield f'<text class="quiet" x="{MARGIN}" y="{y + 11}">{_text(_short(f"{low:.6g}", 14))}</text>'
        for number in range(len(SHADES)):
            yield (
                f'<rect class="s{number}" x="{MARGIN + MAP_LABELS + number * BAR}" y="{y}" width="{BAR}" '
                f'height="{BAR}"/>'
            )
        x = MARGIN + MAP_LABELS + len(SHADES) * BAR + 6
        yield f'<text class="quiet" x="{x}" y="{y + 11}">{_text(f"{high:.6g}")}; an outline: no number</text>'
    else:
        yield f'<text class="quiet" x="{MARGIN}" y="{y + 11}">no numbers</text>'
    yield "</svg>"


def histogram_svg(title: str, numbers: Sequence[float], *, is_alone: bool = True) -> Iterator[str]:
    """Draw how often numbers occur: a bar for each where they are few, else for equal parts of their range."""
    bars = histogram([number for number in numbers if _finite(number) is not None])
    width = max(2 * MARGIN + MOST_BARS * BAR_STEP, 480)
    top = MARGIN + HEAD
    yield from _opening("heat", title, width, top + BARS_HEIGHT + HEAD + MARGIN, heat_style() if is_alone else "")
    most = max((count for _text_of, count in bars), default=1)
    step = (width - 2 * MARGIN) / max(1, len(bars))
    for index, (text, count) in enumerate(bars):
        x, size = MARGIN + index * step, (BARS_HEIGHT - 14) * count / most
        y = top + BARS_HEIGHT - size
        yield (
            f'<rect class="bar" x="{x:.1f}" y="{y:.1f}" width="{max(1, min(step - 3, 60)):.1f}" height="{size:.1f}">'
            f"<title>{_text(f'{text}: {count}')}</title></rect>"
        )
        yield f'<text class="quiet" x="{x:.1f}" y="{y - 3:.1f}">{count}</text>'
    for index in sorted({0, len(bars) // 2, len(bars) - 1} if bars else ()):
        text = _text(_short(bars[index][0], 24))
        yield f'<text class="quiet" x="{MARGIN + index * step:.1f}" y="{top + BARS_HEIGHT + 16}">{text}</text>'
    yield "</svg>"


def histogram(numbers: Sequence[float]) -> list[tuple[str, int]]:
    """Return the bars of numbers: what each stands for, and how many numbers it has."""
    from collections import Counter

    counts = Counter(numbers)
    if len(counts) <= MOST_BARS:
        return [(f"{number:.6g}", counts[number]) for number in sorted(counts)]
    low, high = min(counts), max(counts)
    bars = [0] * MOST_BARS
    for number, count in counts.items():
        bars[_part(number, low, high, MOST_BARS)] += count
    edges = [low + (high / MOST_BARS - low / MOST_BARS) * index for index in range(MOST_BARS + 1)]
    return [(f"{edges[index]:.4g} to {edges[index + 1]:.4g}", count) for index, count in enumerate(bars)]


def heat_style() -> str:
    """Return the style sheet of maps of values and of histograms."""
    return "\n".join((
        ".heat { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 11px; }",
        ".heat .paper { fill: #ffffff; }",
        ".heat text { fill: #1f2328; }",
        ".heat .quiet { fill: #59636e; }",
        ".heat .head { font-weight: bold; }",
        ".heat .bar { fill: #0072b2; }",
        ".heat .empty { fill: none; stroke: #8c959f; stroke-width: 0.7; }",
        *(f".heat .s{number} {{ fill: {colour}; }}" for number, colour in enumerate(SHADES)),
        DARK,
        "  .heat .paper { fill: #0d1117; }",
        "  .heat text { fill: #e6edf3; }",
        "  .heat .quiet { fill: #9198a1; }",
        "  .heat .bar { fill: #56b4e9; }",
        "  .heat .s0 { fill: #7a3b96; }",
        "}",
    ))  # fmt: skip


def _finite(number: float | None) -> float | None:
    """Return a number that has a place between others, and None for any other."""
    return number if number is not None and abs(number) < LARGEST else None


LARGEST = 1e300


def _shade(number: float | None, low: float, high: float) -> str:
    if _finite(number) is None:
        return "empty"
    assert number is not None  # noqa: S101 (it is finite)
    return f"s{_part(number, low, high, len(SHADES))}"


def _part(number: float, low: float, high: float, count: int) -> int:
    """Return in which of some equal parts of a range a number is."""
    if high <= low:
        return count // 2
    return min(count - 1, int((number / 2 - low / 2) / (high / 2 - low / 2) * count))
