"""A wave as a small map: which lanes are where, or what something is in each of them. It is read without colours."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from attrs import frozen

from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.stack.lanes import ACTIVE, INACTIVE, UNKNOWN, UNUSED
from dwarfgpu.program.types.declaration import safe_text
from dwarfgpu.program.variables.columns import python_value
from dwarfgpu.render.layout import (
    WIDTH,
    TableRow,
    columns,
    counted,
    cut,
    fitted,
    lanes_text,
    plain_style,
    shown,
)
from dwarfgpu.render.values import value_text
from dwarfgpu.render.wave_tables import lane_place, wave_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dwarfgpu.program.stack.lanes import Lanes, LaneStatus
    from dwarfgpu.program.variables.answers import LaneAnswer, Values
    from dwarfgpu.render.layout import Style
    from dwarfgpu.render.values import Look

LABEL = 4
CELL = 3
OTHERS = "+"
"""All places, or all values, for which there are no letters left."""
NOTHING = {UNUSED: ".", UNKNOWN: "?"}
SHADES = ":-=+*%#@"
"""From the lowest value to the highest."""
NO_VALUE = {"absent": "x", "undefined": "u", "error": "!"}
NOT_A_NUMBER = "n"


# --- Places ---------------------------------------------------------------------------------------------------------


def places_map(
    found: Lanes, current: int | None, per_row: int, width: int = WIDTH, style: Style = plain_style
) -> Iterator[str]:
    """Which lanes are where: a letter for each place, a capital where the lanes are active."""
    groups: dict[Any, list[LaneStatus]] = {}
    for lane in found.lanes:
        groups.setdefault(lane.place, []).append(lane)
    letters = _letters(found, list(groups))
    signs: dict[int, tuple[str, str]] = {}
    for place, lanes in groups.items():
        for lane in lanes:
            sign = letters[place]
            text = f"[{sign}]" if lane.number == current else f" {sign} "
            signs[lane.number] = text, "name" if lane.state == ACTIVE else "dim"
    yield from _head(found, width, style)
    yield from _grid(signs, found.lane_count, per_row, width, style)
    yield ""
    rows = []
    for place, lanes in groups.items():
        first = lanes[0]
        where = lane_place(found, first)
        state = f"{len(lanes)} {first.state}"
        rows.append(
            TableRow(
                (letters[place], state, where, _list(lane.number for lane in lanes)), current in _set(lanes)
            )
        )
    yield from columns(("", "State", "Frame", "Lanes"), rows, width, style)


def _letters(found: Lanes, places: list[Any]) -> dict[Any, str]:
    """A letter for each place; lanes in different states at one address have the same letter."""
    known: dict[Any, str] = {}
    letters = {}
    for place in sorted(places, key=lambda each: each[0] != ACTIVE):  # where the wave stands is A
        state, *where = place
        if state in NOTHING:
            letters[place] = NOTHING[state]
            continue
        letter = known.setdefault(tuple(where), ascii_uppercase[len(known)] if len(known) < 26 else OTHERS)
        letters[place] = letter if state == ACTIVE else letter.lower()
    return letters


def _set(lanes: list[LaneStatus]) -> set[int]:
    return {lane.number for lane in lanes}


def _list(lanes: Iterable[int]) -> str:
    """Lanes as a list with ranges, which can be broken: ``0-3, 8``."""
    return lanes_text(sum(1 << lane for lane in lanes)).split(" ", 1)[1].replace(",", ", ")


# --- Values ---------------------------------------------------------------------------------------------------------


@frozen
class _Kind:
    """Lanes that have the same sign."""

    sign: str
    text: str
    """What it means."""
    lanes: tuple[int, ...]
    reason: str = ""
    """Why there is no value."""


def values_map(
    found: Lanes,
    values: Values,
    look: Look,
    per_row: int,
    width: int = WIDTH,
    style: Style = plain_style,
) -> Iterator[str]:
    """What something is in each lane: a shade for each value, or for each range where there are many."""
    unused = {lane.number for lane in found.lanes if lane.state == UNUSED}
    lanes = {each.lane or 0: each for each in values.by_lane if each.lane not in unused}
    kinds = [*_shades(lanes, look), *_missing(lanes)]
    signs = dict.fromkeys(unused, (f" {NOTHING[UNUSED]} ", "dim"))
    for kind in kinds:
        for number in kind.lanes:
            answer = lanes[number]
            text = f" {kind.sign} " if answer.is_active else f"({kind.sign})"
            signs[number] = text, "dim" if not answer.is_active else _style_of(answer)
    yield from _head(found, width, style)
    title = shown(values.text) + ("" if values.type is None else f"  {safe_text(values.type)}")
    yield from (style("kind", line) for line in fitted(cut(title), width))
    for each in values.repaired:
        names = ", ".join(repair.name for repair in each.repairs)
        yield from (style("dim", line) for line in fitted(f"{each.name} is repaired ({names})", width))
    yield from _grid(signs, found.lane_count, per_row, width, style)
    yield ""
    rows = [TableRow((kind.sign, str(len(kind.lanes)), kind.text, _list(kind.lanes))) for kind in kinds]
    if unused:
        rows.append(TableRow((NOTHING[UNUSED], str(len(unused)), "(unused)", _list(unused))))
    yield from columns(("", "Count", "Value", "Lanes"), rows, width, style)
    if any(not each.is_active for each in lanes.values()):
        yield style("dim", "  (parentheses: the lane is inactive)")
    for kind in kinds:
        if kind.reason:
            yield from (style("error", line) for line in fitted(f"{kind.sign} {kind.reason}", width))


def _style_of(answer: LaneAnswer) -> str:
    return "number" if answer.value is not None else "error"


def _shades(lanes: dict[int, LaneAnswer], look: Look) -> list[_Kind]:
    """The lanes with a value."""
    have = {number: each for number, each in lanes.items() if each.value is not None}
    numbers: dict[int, Any] = {}
    for number, each in have.items():
        value = _number(each)
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
    """Lanes in the order of their values: a shade for each value, or for as many lanes as come to one shade."""
    distinct = list(dict.fromkeys(numbers[lane] for lane in ordered))
    if len(distinct) <= len(SHADES):
        step = (len(SHADES) - 1) / max(1, len(distinct) - 1)
        for position, value in enumerate(distinct):
            some = tuple(sorted(lane for lane in ordered if numbers[lane] == value))
            yield _Kind(SHADES[round(position * step)], text(some[0]), some)
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
    """The value as a number; None if it is none."""
    try:
        found = None if answer.value is None else python_value(answer.value)
    except DwarfGpuError:
        return None
    return found if isinstance(found, (int, float)) else None


def _texts(lanes: dict[int, LaneAnswer], look: Look) -> list[_Kind]:
    """A letter for each value that is no number."""
    found: dict[str, list[int]] = {}
    for number, each in lanes.items():
        assert each.value is not None  # noqa: S101 (those without one are elsewhere)
        found.setdefault(cut(value_text(each.value, look)), []).append(number)
    kinds = [
        _Kind(letter, text, tuple(numbers))
        for letter, (text, numbers) in zip(ascii_uppercase, found.items(), strict=False)
    ]
    rest = list(found.values())[len(ascii_uppercase) :]
    if rest:
        others = tuple(sorted(number for numbers in rest for number in numbers))
        kinds.append(_Kind(OTHERS, counted(len(rest), "other value"), others))
    return kinds


def _missing(lanes: dict[int, LaneAnswer]) -> Iterator[_Kind]:
    """The lanes without a value, by the reason."""
    found: dict[tuple[str, str], list[int]] = {}
    for number, each in lanes.items():
        if each.value is None:
            message = "" if each.reason is None else each.reason.message
            found.setdefault((each.state, message), []).append(number)
    for (state, message), numbers in found.items():
        yield _Kind(NO_VALUE[state], f"<{state}>", tuple(numbers), message)


# --- Both -----------------------------------------------------------------------------------------------------------


def _head(found: Lanes, width: int, style: Style) -> Iterator[str]:
    counts = [
        f"{count} {state}"
        for state in (ACTIVE, INACTIVE, UNUSED, UNKNOWN)
        if (count := sum(lane.state == state for lane in found.lanes))
    ]
    title = f"{wave_title(found.wave, found.where)}: {found.lane_count} lanes, {', '.join(counts)}"
    yield from (style("kind", line) for line in fitted(title, width))


def _grid(
    signs: dict[int, tuple[str, str]], count: int, per_row: int, width: int, style: Style
) -> Iterator[str]:
    """The signs of all lanes, so many on a row."""
    while per_row > 8 and LABEL + 2 + CELL * per_row > width:
        per_row //= 2
    numbers = "".join(f"{column:^{CELL}}" for column in range(min(per_row, count)))
    yield style("dim", f"{' ' * (LABEL + 2)}{numbers}".rstrip())
    for first in range(0, count, per_row):
        cells = [signs.get(lane, (" " * CELL, "")) for lane in range(first, min(first + per_row, count))]
        text = "".join(style(kind, sign) if kind else sign for sign, kind in cells)
        yield f"{style('dim', f'{first:{LABEL}}')}  {text}".rstrip()
