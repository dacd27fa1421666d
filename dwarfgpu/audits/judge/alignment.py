"""Which visits of a line in one build are which ones in another build.

A loop that one build has unrolled, or whose instructions it has moved from one round to another, has rounds that are
not certain: there a visit can be any of several.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from dwarfgpu.immutable import frozen

if TYPE_CHECKING:
    from dwarfgpu.audits.judge.statement_record import StatementStop

MAX_ALIGNED = 2048
"""The visits of a sequence that are aligned, the first ones."""


@frozen(eq=False)
class LineVisit:
    """Stops on one line that follow each other. A loop on one line is one visit, of several rounds."""

    line: tuple[str, int]
    stops: tuple[StatementStop, ...]
    first: int
    """The number of its first stop in the sequence."""
    rounds: tuple[int, ...]
    """For each stop how often one of the visit had been reached again before."""


def visits_of(stops: Iterable[StatementStop]) -> list[LineVisit]:
    """Return the visits of lines that stops of one context are."""
    visits: list[LineVisit] = []
    first = 0
    for place, group in groupby(stops, lambda stop: stop.place):
        of_line = tuple(group)
        rounds: list[int] = []
        reached: set[int] = set()
        number = 0
        for stop in of_line:
            if stop.pc in reached:
                number += 1
                reached.clear()
            reached.add(stop.pc)
            rounds.append(number)
        visits.append(LineVisit(place, of_line, first, tuple(rounds)))
        first += len(of_line)
    return visits


# --- Two sequences ----------------------------------------------------------------------------------------------------


@frozen
class Counterparts:
    """The visits of the other build that a visit can be."""

    is_certain: bool
    """Whether every longest common subsequence has it."""
    visits: Sequence[int]


def align(lines: Sequence[Hashable], others: Sequence[Hashable]) -> list[Counterparts | None]:
    """Return for each visit of a line which of the others it can be; None for one that is not aligned.

    The stops of a work-item in one context are two sequences of lines. What both have in the same order is a longest
    common subsequence, and often there are several of these: a loop that one build has unrolled, a statement that is
    split. A visit of a line that is in all of them is *certain*; it can still be more than one visit of the other
    build, all of which are kept. A visit that is only in some of them can be any place between its certain neighbours.
    A visit that is in none, such as a piece of a statement that was moved before another, is not aligned.
    """
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


def align_visits(
    visits: Sequence[LineVisit],
    others: Sequence[LineVisit],
    is_ordered: Callable[[tuple[str, int]], bool] = lambda _line: False,
) -> list[Counterparts | None]:
    """Align visits by their lines. Where the round of a loop is not certain, neither is a visit of it.

    The rounds of a line are certain if there are as many in the other build, and if it begins at the same instruction
    in each that begins at one instruction there: the compiler has left the loop as it is. Else the instructions of any
    round can be at any place of the loop, and the order of lines does not tell them apart, unless ``is_ordered`` says
    that the rounds of a line stay in their order: those of other lines can still have been moved across them.
    """
    aligned = align([visit.line for visit in visits], [visit.line for visit in others])
    rounds, other_rounds = _rounds_of(visits), _rounds_of(others)
    crossed: set[int] = set()
    for line, own in rounds.items():
        there = other_rounds.get(line, [])
        if len(there) < 2:
            continue
        is_alike = len(own) == len(there)
        is_kept = is_alike and _is_kept([visits[number] for number in own], [others[number] for number in there])
        is_certain = is_kept or (is_alike and is_ordered(line))
        for number, index in enumerate(own[: bisect_left(own, len(aligned))]):
            each = aligned[index]
            if each is not None and each.is_certain and not (is_certain and tuple(each.visits) == (there[number],)):
                aligned[index] = Counterparts(False, each.visits)
            elif not is_kept:
                crossed.add(index)
    _widen(aligned, len(others[:MAX_ALIGNED]), crossed)
    return aligned


def _is_kept(visits: Sequence[LineVisit], others: Sequence[LineVisit]) -> bool:
    """Whether the rounds of a line have the instructions of a loop that was not unrolled."""
    pairs = {(other.stops[0].pc, visit.stops[0].pc) for visit, other in zip(visits, others, strict=True)}
    return len({own for _other, own in pairs}) == 1 or len({other for other, _own in pairs}) == len(pairs) < len(visits)


def _rounds_of(visits: Sequence[LineVisit]) -> dict[tuple[str, int], list[int]]:
    rounds: dict[tuple[str, int], list[int]] = {}
    for number, visit in enumerate(visits):
        rounds.setdefault(visit.line, []).append(number)
    return rounds


def _widen(aligned: list[Counterparts | None], count: int, crossed: Container[int] = ()) -> None:
    """Let visits that are not certain be any place between their certain neighbours, but for those that are crossed."""
    following = [count - 1] * len(aligned)
    last = count - 1
    for index in range(len(aligned) - 1, -1, -1):
        following[index] = last
        each = aligned[index]
        if each is not None and each.is_certain and index not in crossed:
            last = each.visits[-1]
    first = 0
    for index, each in enumerate(aligned):
        if each is None:
            continue
        if each.is_certain and index not in crossed:
            first = each.visits[0]
        elif not each.is_certain:
            aligned[index] = Counterparts(False, range(first, following[index] + 1))


def _lengths(left: Any, right: Any) -> Any:
    """Return the length of the longest common subsequence of every two beginnings."""
    table = np.zeros((len(left) + 1, len(right) + 1), np.int16)
    for index, line in enumerate(left, 1):
        above = table[index - 1]
        row = above.copy()
        row[1:] = np.maximum(row[1:], above[:-1] + (right == line))
        np.maximum.accumulate(row, out=table[index])
    return table
