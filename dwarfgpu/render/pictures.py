"""Pictures of addresses: a strip for each of several things, in the colours of what is at each address (SVG).

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
COLOURS = {
    "register": ("#0072b2", "#56b4e9"),
    "memory": ("#2f8f6b", "#3fc493"),
    "composite": ("#a05c9c", "#dc8fd6"),
    "implicit": ("#c77800", "#f0a93c"),
    "constant": ("#9a8a00", "#e3d53b"),
    "several": ("#5b54b8", "#ac9af0"),
    "open": ("#5f6b76", "#a5b1bc"),
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


def strip_svg(title: str, groups: Sequence[StripGroup]) -> Iterator[str]:
    """Draw strips, group by group."""
    rows = sum(len(group.strips) for group in groups)
    kinds = [
        name
        for name in COLOURS
        if any(colour_of(part.kind) == name for group in groups for strip in group.strips for part in strip.parts)
    ]
    top = MARGIN + HEAD
    height = top + rows * ROW + len(groups) * HEAD + HEAD + MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="strips" role="img" viewBox="0 0 {WIDTH} {height}" '
        f'style="max-width:{WIDTH}px;width:100%;height:auto">'
    )
    yield f"<title>{_text(title)}</title>"
    yield f"<style>\n{style()}\n</style>"
    yield f'<rect class="paper" width="{WIDTH}" height="{height}" rx="8"/>'
    yield f'<text class="head" x="{MARGIN}" y="{MARGIN + 14}">{_text(_short(title, 120))}</text>'
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
        "@media (prefers-color-scheme: dark) {",
        "  .strips .paper { fill: #0d1117; }",
        "  .strips text { fill: #e6edf3; }",
        "  .strips .quiet { fill: #9198a1; }",
        *(f"  .strips .{name} {{ fill: {dark}; }}" for name, (_light, dark) in COLOURS.items()),
        "}",
    ]
    return "\n".join(lines)


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
