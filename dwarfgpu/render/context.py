"""The view of everything around the place that is looked at: sections with titles, as high as the screen."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING

from dwarfgpu.program.waves.lanes import ACTIVE, UNKNOWN, UNUSED
from dwarfgpu.render.lanes import folded
from dwarfgpu.render.layout import counted, lanes_text, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dwarfgpu.program.waves.lanes import Lane, Lanes
    from dwarfgpu.render.layout import Style

GUTTER = 13
"""Columns that say which lanes stand at a line."""
LEAST = 2
"""Fewer lines than this are no section."""


def clipped(text: str, width: int) -> str:
    """A text on one line that is not wider than that."""
    text = shown(text)
    return text if len(text) <= width else f"{text[: max(0, width - 3)]}..."[:width]


def title(text: str, width: int, style: Style) -> str:
    """The line above a section."""
    head = f"-- {clipped(text, width - 4)} "
    return style("kind", head.ljust(width, "-"))


def gutter(mask: int) -> str:
    """Which lanes stand at a line, or how many where the list of them is long."""
    if not mask:
        return ""
    numbers = lanes_text(mask).split(" ", 1)[1]
    return numbers if len(numbers) <= GUTTER else counted(mask.bit_count(), "lane")


def shares(natural: Sequence[int], room: int) -> list[int]:
    """How many lines each of some sections gets of a screen: the longest give way, then the last; 0 is no room at all.

    A title for each of them is counted too.
    """
    found = list(natural)
    while found and sum(found) + sum(1 for each in found if each) > room:
        longest = max(found)
        if longest > LEAST:
            found[found.index(longest)] = longest - 1
        elif any(found[1:]):
            found[max(place for place, each in enumerate(found) if each)] = 0
        else:
            found[0] = max(0, room - 1)
            break
    return found


def shortened(lines: list[str], count: int, style: Style) -> list[str]:
    """The first lines, and how many more there are."""
    if len(lines) <= count:
        return lines
    return [*lines[: count - 1], style("dim", f"... {counted(len(lines) - count + 1, 'more line')}")]


def lanes_lines(
    found: Lanes, current: int | None, where: Callable[[Lane], str], width: int, style: Style
) -> list[str]:
    """The lanes on one line, with a letter for each place, and below it what the letters mean.

    A capital is that of active lanes, and A where the wave stands. `^` is below the lane that is looked at.
    """
    groups = folded(found.lanes, "places")
    groups.sort(key=lambda group: group[0].state != ACTIVE)
    known: dict[object, str] = {}
    signs: dict[int, tuple[str, str]] = {}
    rows: list[str] = []
    for group in groups:
        first = group[0]
        if first.state in (UNUSED, UNKNOWN):
            letter = "." if first.state == UNUSED else "?"
        else:
            capital = known.setdefault(first.place[1:], ascii_uppercase[min(len(known), 25)])
            letter = capital if first.state == ACTIVE else capital.lower()
        for lane in group:
            signs[lane.number] = letter, "name" if lane.state == ACTIVE else "dim"
        what = f"{len(group)} {first.state}".ljust(12)
        rows.append(clipped(f"{letter}  {what}  {where(first)}", width).rstrip())
    lines = []
    per_line = max(8, width // 8 * 8)
    for start in range(0, found.lane_count, per_line):
        numbers = range(start, min(start + per_line, found.lane_count))
        lines.append("".join(style(kind, sign) for sign, kind in map(signs.__getitem__, numbers)))
        if current is not None and current in numbers:
            label = f"^ lane {current}"
            column = current - start
            after = column + len(label) <= width
            lines.append(" " * column + label if after else f"lane {current} ^".rjust(column + 1))
    return lines + rows


def cells(texts: Sequence[str], width: int) -> list[str]:
    """Short texts in columns that are equally wide."""
    if not texts:
        return []
    column = max(map(len, texts)) + 2
    per_line = max(1, (width + 2) // column)
    return [
        "".join(text.ljust(column) for text in texts[start : start + per_line]).rstrip()[:width]
        for start in range(0, len(texts), per_line)
    ]
