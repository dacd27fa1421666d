"""Which visits of lines in one build are which in another one."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.audits.judge.comparison import align


def text_of(lines, others):
    """Return for each visit where it can be; ``?`` for one that is not certain, ``-`` for one that is not aligned."""
    return [
        "-" if each is None else ("" if each.is_certain else "?") + ",".join(map(str, each.visits))
        for each in align(lines, others)
    ]


@pytest.mark.parametrize(
    "lines, others, expected",
    [
        ([1, 2, 3], [1, 2, 3], ["0", "1", "2"]),
        ([1, 3], [1, 2, 3], ["0", "2"]),
        ([1, 9, 3], [1, 2, 3], ["0", "-", "2"]),
        # a piece of 3 was moved before 2, and another one stayed
        ([1, 3, 2, 3], [1, 2, 3], ["0", "-", "1", "2"]),
        # 3 was moved as a whole: either may be the one that is out of order
        ([1, 3, 2, 4], [1, 2, 3, 4], ["0", "?0,1,2,3", "?0,1,2,3", "3"]),
        # a loop that was unrolled twice
        ([1, 2, 3], [1, 2, 1, 2, 3], ["0,2", "1,3", "4"]),
        ([], [1], []),
        ([1, 2], [], ["-", "-"]),
    ],
    ids=str,
)
def test_visits_are_aligned(lines, others, expected):
    assert text_of(lines, others) == expected


def common(lines, others):
    """Return the longest common subsequences, each with its pairs of numbers."""
    found = [
        pairs
        for size in range(min(len(lines), len(others)) + 1)
        for left in itertools.combinations(range(len(lines)), size)
        for right in itertools.combinations(range(len(others)), size)
        for pairs in [list(zip(left, right, strict=True))]
        if all(lines[i] == others[j] for i, j in pairs)
    ]
    longest = max(map(len, found))
    return [pairs for pairs in found if len(pairs) == longest]


@given(st.lists(st.integers(0, 2), max_size=6), st.lists(st.integers(0, 2), max_size=6))
def test_what_is_certain_is_in_every_longest_common_subsequence(lines, others):
    every = common(lines, others)
    for number, each in enumerate(align(lines, others)):
        places = [{j for i, j in pairs if i == number} for pairs in every]
        where = set().union(*places)
        if each is None:
            assert not where
        elif each.is_certain:
            assert all(places)
            assert set(each.visits) == where
        else:
            assert not all(places)
            assert where <= set(each.visits)
