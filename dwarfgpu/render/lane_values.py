"""What something is in several lanes as one value: ``{[0-3]=7, [4]=(8)}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dwarfgpu.render.layout import lanes_text, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dwarfgpu.program.variables.answers import Answer, LaneAnswer
    from dwarfgpu.render.variables import VariablesRenderer

NO_VALUE = {"absent": "<optimized out>", "undefined": "<optimized out>", "error": "<error>"}
INDENT = 4


def value_in_lanes(writer: VariablesRenderer, found: Answer, head: str, width: int) -> Iterator[str]:
    """The values of lanes in braces, runs of lanes with one value together, and below them why some have none.

    The value of a lane that does not execute the code is in parentheses.
    """
    line, length = head + "{", len(head) + 1
    runs = list(_runs(writer, found))
    for index, (first, last, text, state) in enumerate(runs):
        label = f"[{first}]=" if first == last else f"[{first}-{last}]="
        value = f"({text})" if state == "inactive" else text
        end = "}" if index == len(runs) - 1 else ","
        size = len(label) + len(value) + len(end)
        if length + size + (index > 0) > width and length > INDENT:
            yield line
            line, length = " " * INDENT, INDENT
        elif index:
            line, length = f"{line} ", length + 1
        style = "dim" if state == "inactive" else "" if state == "active" else "error"
        line += label + (writer.style(style, value) if style else value) + end
        length += size
    yield line
    yield from _reasons(writer, found, width)


def _runs(writer: VariablesRenderer, found: Answer) -> Iterator[tuple[int, int, str, str]]:
    """Neighbouring lanes with the same value in the same state: the first, the last, the value, the state."""
    before: tuple[int, int, str, str] | None = None
    for each in found.lanes:
        lane = each.lane or 0
        text = NO_VALUE[each.state] if each.value is None else writer.cell(each)
        if before is not None and before[1] + 1 == lane and before[2:] == (text, each.state):
            before = (before[0], lane, text, each.state)
            continue
        if before is not None:
            yield before
        before = (lane, lane, text, each.state)
    if before is not None:
        yield before


def _reasons(writer: VariablesRenderer, found: Answer, width: int) -> Iterator[str]:
    groups: dict[str, int] = {}
    for each in found.lanes:
        if each.value is None and each.reason is not None:
            text = f"{NO_VALUE[each.state]} ({each.reason.message})"
            groups[text] = groups.get(text, 0) | 1 << _lane(each)
    for text, mask in groups.items():
        first, *rest = wrapped(f"{lanes_text(mask)}: {text}", width - INDENT)
        yield f"  {writer.style('error', first)}"
        yield from (f"{' ' * INDENT}{writer.style('error', line)}" for line in rest)


def _lane(answer: LaneAnswer) -> int:
    return answer.lane or 0
