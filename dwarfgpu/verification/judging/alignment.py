"""Which stops of one build of a program are which stops of another.

The stops of a work-item in one context are two sequences of lines. What both have in the same order is a longest
common subsequence, and often there are several of these: a loop that one build has unrolled, a statement that is split.
A visit of a line that is in all of them is *certain*; it can still be more than one visit of the other build, all of
which are kept. A visit that is only in some of them can be any place between its certain neighbours. A visit that is in
none, such as a piece of a statement that was moved before another, is not aligned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

MAX_ALIGNED = 2048
"""The visits of a sequence that are aligned, the first ones."""


@frozen
class Counterparts:
    """The visits of the other build that a visit can be."""

    is_certain: bool
    """Whether every longest common subsequence has it."""
    visits: tuple[int, ...]


def align(lines: Sequence[Hashable], others: Sequence[Hashable]) -> list[Counterparts | None]:
    """Return for each visit of a line which of the others it can be; None for one that is not aligned."""
    lines, others = lines[:MAX_ALIGNED], others[:MAX_ALIGNED]
    if lines == others:
        return [Counterparts(True, (index,)) for index in range(len(lines))]
    if not lines or not others:
        return [None] * len(lines)
    numbers = {line: number for number, line in enumerate(dict.fromkeys([*lines, *others]))}
    left = np.array([numbers[line] for line in lines])
    right = np.array([numbers[line] for line in others])
    before = _lengths(left, right)
    behind = _lengths(left[::-1], right[::-1])[::-1, ::-1]
    length = int(before[-1, -1])
    aligned: list[Counterparts | None] = []
    for index in range(len(left)):
        through = (left[index] == right) & (before[index, :-1] + behind[index + 1, 1:] + 1 == length)
        visits = np.nonzero(through)[0]
        if not len(visits):
            aligned.append(None)
            continue
        is_certain = int((before[index] + behind[index + 1]).max()) < length
        aligned.append(Counterparts(is_certain, tuple(visits.tolist())))
    _widen(aligned, len(right))
    return aligned


def _widen(aligned: list[Counterparts | None], count: int) -> None:
    """Let visits that are not certain be any place between their certain neighbours."""
    following = [count - 1] * len(aligned)
    last = count - 1
    for index in range(len(aligned) - 1, -1, -1):
        following[index] = last
        each = aligned[index]
        if each is not None and each.is_certain:
            last = each.visits[-1]
    first = 0
    for index, each in enumerate(aligned):
        if each is None:
            continue
        if each.is_certain:
            first = each.visits[0]
        else:
            aligned[index] = Counterparts(False, tuple(range(first, following[index] + 1)))


def _lengths(left: Any, right: Any) -> Any:
    """Return the length of the longest common subsequence of every two beginnings."""
    table = np.zeros((len(left) + 1, len(right) + 1), np.int16)
    for index, line in enumerate(left, 1):
        above = table[index - 1]
        row = above.copy()
        row[1:] = np.maximum(row[1:], above[:-1] + (right == line))
        np.maximum.accumulate(row, out=table[index])
    return table
