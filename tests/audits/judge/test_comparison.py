"""Two builds: which visits of lines belong together, and when values are the same."""

import itertools
import re
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.audits.judge.alignment import LineVisit, align, align_visits
from dwarfgpu.audits.judge.comparison import RULES, ComparedPart, StatementComparison
from dwarfgpu.audits.judge.recorded_values import (
    BUFFER,
    BYTES,
    FLOAT,
    INTEGER,
    LOCAL_MEMORY,
    POINTER,
    PRIVATE_MEMORY,
    Leaf,
    NoValue,
    PointedRange,
    PointerNames,
    RecordedValue,
    ValueComparison,
    is_unused,
    value_text,
)
from dwarfgpu.audits.judge.reference_stops import StatementUses
from dwarfgpu.audits.judge.rounding import may_be_rounded, size_of_terms
from dwarfgpu.audits.judge.sightings import Sighting, Sightings, Subject
from dwarfgpu.audits.judge.statement_record import DeclarationKey, StatementHistory, StatementStop
from tests.builders.commands import run
from tests.builders.parameters import for_each


def test_shares_leave_out_what_is_uncertain():
    part = ComparedPart("k", right=60, wrong=20, missing=120, uncertain=1000)
    assert (part.availability, part.share_right, part.correctness) == (0.4, 0.3, 0.75)


def text_of(lines, others):
    """Return for each visit where it can be; ``?`` for one that is not certain, ``-`` for one that is not aligned."""
    return [
        "-" if each is None else ("" if each.is_certain else "?") + ",".join(map(str, each.visits))
        for each in align(lines, others)
    ]


@for_each("lines, others, expected",
    ([1, 2, 3], [1, 2, 3], ["0", "1", "2"]),                  ([1, 3], [1, 2, 3], ["0", "2"]),
    ([1, 9, 3], [1, 2, 3], ["0", "-", "2"]),
    # a piece of 3 was moved before 2, and another one stayed
    ([1, 3, 2, 3], [1, 2, 3], ["0", "-", "1", "2"]),
    # 3 was moved as a whole: either may be the one that is out of order
    ([1, 3, 2, 4], [1, 2, 3, 4], ["0", "?0,1,2,3", "?0,1,2,3", "3"]),
    # a loop that was unrolled twice
    ([1, 2, 3], [1, 2, 1, 2, 3], ["0,2", "1,3", "4"]),        ([], [1], []),               ([1, 2], [], ["-", "-"]),
    ids=str)  # fmt: skip
def test_visits_are_aligned(lines, others, expected):
    assert text_of(lines, others) == expected


def visits(stops):
    return [
        LineVisit(("k.cl", line), (SimpleNamespace(pc=pc),), number, (0,)) for number, (line, pc) in enumerate(stops)
    ]


@for_each("stops, others, expected",
    # a loop that is as it was: each round is that of the other build
    ([(1, 0), (2, 4), (3, 8), (2, 4), (3, 8)], [1, 2, 3, 2, 3], ["0", "1", "2", "3", "4"]),
    # unrolled, though the lines have the same order: an instruction of one round can be in front of those of another
    ([(1, 0), (2, 4), (3, 8), (2, 12), (3, 16), (4, 20)], [1, 2, 3, 2, 3, 4], ["0", *["?0,1,2,3,4,5"] * 4, "5"]),
    # unrolled, and the loads of both rounds are in front
    ([(1, 0), (2, 4), (3, 8), (4, 12)], [1, 2, 3, 2, 3, 4], ["0", "?0,1,2,3,4,5", "?0,1,2,3,4,5", "5"]),
    # only the inner one of two loops is unrolled
    ([(1, 0), (2, 4), (3, 8), (1, 0), (2, 4), (3, 8)], [1, 2, 3, 2, 3, 1, 2, 3, 2, 3],
     ["0", *["?0,1,2,3,4,5"] * 2, "5", *["?5,6,7,8,9"] * 2]),
    ids=str)  # fmt: skip
def test_rounds_of_loops_that_a_compiler_has_changed_are_not_certain(stops, others, expected):
    found = align_visits(visits(stops), visits([(line, 0) for line in others]))
    assert [("" if each.is_certain else "?") + ",".join(map(str, each.visits)) for each in found if each] == expected


def test_rounds_with_a_barrier_stay_in_their_order_and_other_lines_may_be_moved_across_them():
    stops, others = [(1, 0), (2, 4), (3, 8), (2, 12), (3, 16), (4, 20)], [1, 2, 3, 2, 3, 4]
    found = align_visits(visits(stops), visits([(line, 0) for line in others]), lambda place: place[1] == 3)
    expected = ["0", "?0,1,2,3,4,5", "2", "?0,1,2,3,4,5", "4", "5"]
    assert [("" if each.is_certain else "?") + ",".join(map(str, each.visits)) for each in found if each] == expected


ITEM, VARIABLE = ((1, 1, 1), (1, 1, 1)), DeclarationKey("v", 2, is_parameter=False)
SECOND = DeclarationKey("w", 2, is_parameter=False)


LACKING = NoValue("it is optimized out")
CALLED = ("k", ("main", 9, 1))


def history(stops, column=1):
    """Return the stops of a work-item: the line, the address, and what variables are there; None out of scope."""
    made = StatementHistory(PointerNames(()))
    made.between[ITEM] = []
    leaves = (Leaf("", INTEGER, 32, is_signed=True),)
    for line, pc, *numbers in stops:
        values = {
            key: [value if value is LACKING else RecordedValue(leaves, (value,))]
            for key, value in zip((VARIABLE, SECOND), numbers, strict=False)
            if value is not None
        }
        made.add(StatementStop(pc, "k.cl", line, column, ("k",), "1:1:1:1", 1, {ITEM: 0}, (0,), values))
    return made


def compared_histories(own, other, text=None, add=lambda *_each: None):
    """Return what comparing histories gives; ``text`` is that of every statement, or a text for each line."""
    sightings = SimpleNamespace(
        note=lambda *_each: None, add=add, function=lambda pc: ("k", pc), entries=lambda name, _pc: name,
        wrong_values=tuple,
    )  # fmt: skip

    def text_at(_file, line):
        return text[line] if isinstance(text, dict) else text

    return StatementComparison(own, other, "other", StatementUses(text_at), sightings).run()


@for_each("text, is_cut, wrong", ("}", False, 1), ("}", True, 0), ("return v++;", False, 0), (None, False, 0))
def test_what_is_behind_the_last_statement_is_compared(text, is_cut, wrong):
    """Unless the other build was not followed to its end, or its last statement may change the variable."""
    own, other = (history([(2, 0, 7), (3, 4, 7), (4, 8, 7)]) for _build in range(2))
    own.add_between(history([(4, 12, 8)]).stops[0])
    other.is_cut = is_cut
    assert compared_histories(own, other, text).between.wrong == wrong


@for_each("value, call, wrong", (7, 1, 0), (9, 1, 0), (8, 1, 1), (8, 2, 0))
def test_what_is_before_the_first_statement_of_a_call_is_compared_up_to_it(value, call, wrong):
    """Unless that statement is one of another call, so that this one has none."""
    other = history([(2, 0, 8), (3, 4, 8), (4, 8, 7), (2, 0, 7), (3, 4, 9), (4, 8, 7)])
    caller = evolve(other.stops[0], context=("main",))
    other.by_item[ITEM].insert(3, caller)
    own = history([(3, 8, 8), (4, 12, 7), (3, 8, 9), (4, 12, 7)])
    for build in (own, other):
        build.by_item[ITEM] = [
            stop if stop.context[0] == "main" else evolve(stop, context=CALLED) for stop in build.by_item[ITEM]
        ]
    piece = evolve(history([(2, 4, value)]).stops[0], context=CALLED, call=call)
    own.by_item[ITEM][2:] = (evolve(stop, call=1) for stop in own.by_item[ITEM][2:])
    own.between[ITEM] = [(2, piece)]
    own.listed |= {VARIABLE}
    assert compared_histories(own, other, "f(v);").between.wrong == wrong


@for_each("value, is_listed, last, wrong",
    (7, True, "}", 0), (5, True, "}", 1), (5, False, "}", 0),
    (5, True, "return v++;", 0), (5, True, "return n++;", 1),
    ids=str)  # fmt: skip
def test_a_value_where_nothing_is_known_of_a_variable_is_one_that_it_has_at_some_time(value, is_listed, last, wrong):
    other = history([(1, 0, None), (5, 4, None), (2, 8, 0), (3, 12, 7), (4, 16, 7)])
    own = history([(1, 0, None), (5, 8, None), (2, 12, LACKING), (3, 16, 7), (4, 20, 7)])
    own.between[ITEM] = [(1, history([(1, 4, value)]).stops[0])]
    own.listed |= {VARIABLE} if is_listed else set()
    text = {1: "", 2: "int v = 7;", 3: "f(v);", 4: last, 5: ""}
    assert compared_histories(own, other, text).between.wrong == wrong


@for_each("value, behind, use, found",
    (LACKING, 7, "out[0] = v;", (0, 0, 1)), (LACKING, None, "out[0] = v;", (0, 0, 1)),
    (LACKING, 7, "v = 1;", (0, 0, 0)),  # the statement needs nothing of it
    (7, None, "out[0] = v;", (1, 0, 0)), (9, None, "return v;", (0, 1, 0)),
    (9, None, "out[0] = v++;", (0, 0, 0)), (9, 9, "out[0] = v++;", (1, 0, 0)),
    ids=str)  # fmt: skip
def test_a_variable_is_needed_at_the_statement_that_uses_it_last(value, behind, use, found):
    """Also where the other build has the statement at other columns, so that it may have been executed there."""
    other = history([(2, 0, 7), (3, 4, 7), (4, 8, 7), (5, 12, behind)])
    own = history([(2, 0, LACKING), (4, 4, value), (5, 8, None)], column=5)
    total = compared_histories(own, other, {2: "int v = 7;", 3: "", 4: use, 5: "return;"}).total()
    assert (total.right, total.wrong, total.missing) == found


def test_the_first_lane_is_the_lowest_of_a_statement():
    """Lanes whose statements are others before are compared one after the other, and may share the statement."""
    number = RecordedValue((Leaf("", INTEGER, 32, is_signed=True),), (7,))
    histories = []
    for change in (1, 0):
        made = StatementHistory(PointerNames(()))
        for pc, lanes in ((0, (0, 1, 2)), (4, (0, 2)), (8, (0, 1, 2))):
            items = {((1, 1, 1), (lane, 1, 1)): position for position, lane in enumerate(lanes)}
            wrong = evolve(number, patterns=(7 + change,)) if pc == 8 else number
            values = {VARIABLE: [number if lane == 0 else wrong for lane in lanes]}
            made.add(StatementStop(pc, "k.cl", 2 + pc, 1, ("k",), "1:1:1:1", 1, items, lanes, values))
        histories.append(made)
    seen = []
    (variable,) = compared_histories(*histories, add=lambda _subject, _pc, sighting: seen.append(sighting)).variables
    assert (variable.wrong, variable.first_wrong.lane) == (2, 1)
    assert [(each.lane, each.lanes) for each in seen] == [(1, 0), (None, 0b110)]


@for_each("value, is_listed, expected",
    (62, True, {"uncertain": 1}), (94, True, {"uncertain": 1}),
    (0, True, {"uncertain": 1}),  # it can be initialized at the first statement of its line
    (63, True, {"wrong": 1}),  # a location that begins at an instruction has a value from there on
    (63, False, {"uncertain": 1}),  # the place of a variable has anything before it is initialized
    ids=str)  # fmt: skip
def test_a_value_in_a_loop_is_one_of_those_from_the_initialization_on(value, is_listed, expected):
    loop = [(1, 4, None), (2, 8, 0), (3, 12, 62), (1, 4, None), (2, 8, 62), (3, 12, 94)]
    other = history([(0, 0, None), *loop, (4, 16, None)])
    own = history([(0, 0, None), (1, 4, None), (3, 8, value), (1, 12, None), (4, 16, None)])
    own.listed |= {VARIABLE} if is_listed else set()
    judgement = compared_histories(own, other)
    total = judgement.total()
    assert {name: getattr(total, name) for name in ("right", "wrong", "uncertain") if getattr(total, name)} == expected
    assert [each.first_wrong.other for each in judgement.variables if each.first_wrong] == ["62 or 94"] * total.wrong


@for_each("value, between, wrong", (20, 20, 0), (30, 20, 1), (20, 30, 1))
def test_a_statement_of_a_loop_may_have_been_moved_before_a_barrier_of_the_round_before(value, between, wrong):
    first, second = [(3, 8, 10), (6, 12, 10), (4, 16, 10)], [(3, 8, 20), (6, 12, 20), (4, 16, 20)]
    other = history([(2, 0, 0), (7, 4, 0), *first, (7, 4, 10), *second, (5, 20, 20)])
    own = history([(2, 0, 0), *first[:2], (3, 20, value), (4, 28, 10), (6, 24, 20), (4, 32, 20), (5, 36, 20)])
    own.add_between(history([(3, 22, between)]).stops[0])
    own.between[ITEM][0] = (4, own.between[ITEM][0][1])
    own.listed |= {VARIABLE}
    text = dict.fromkeys(range(2, 8), "v += n;") | {4: "barrier(CLK_LOCAL_MEM_FENCE);", 5: "}"}
    judgement = compared_histories(own, other, text)
    assert judgement.total().wrong + judgement.between.wrong == wrong


@for_each("value, line, wrong", (0, 4, 0), (7, 4, 1), (0, 6, 1))
def test_a_piece_of_a_line_behind_a_statement_that_was_moved_before_it_belongs_to_its_own_line(value, line, wrong):
    other = history([(2, 0, 0), (3, 4, 0), (4, 8, 0), (3, 4, 1), (4, 8, 1), (6, 12, None), (8, 16, 9)])
    own = history([(2, 0, 0), (6, 4, None), (8, 12, 9)])
    own.listed |= {VARIABLE}
    own.add_between(history([(line, 8, value)]).stops[0])
    own.between[ITEM][0] = (2, own.between[ITEM][0][1])
    assert compared_histories(own, other, "f(v);").between.wrong == wrong


@for_each("sum_, count, found",
    (5, 0, []), (5, 1, []), (9, 1, []),
    (9, 0, ["v is 9 while w is 0, which never happens in other"]),  # of the second round while the first one counts
    (5, 2, ["v is 5 while w is 2, which never happens in other"]), (LACKING, 2, []), (5, LACKING, []),
    ids=str)  # fmt: skip
def test_variables_have_the_values_of_one_moment(sum_, count, found):
    """A statement may have assigned the one and not yet the other, whichever it assigns first."""
    rounds = [(3, 8, 0, 0), (4, 12, 5, 0), (3, 8, 5, 1), (4, 12, 9, 1), (3, 8, 9, 2)]
    other = history([(2, 4, 0, 0), *rounds, (5, 16, 9, 2)])
    seen = []
    for is_between in (True, False):
        stop = (4, 20, sum_, count)
        own = history([(2, 4, 0, 0), *([] if is_between else [stop]), (5, 24, 9, 2)])
        own.listed |= {VARIABLE, SECOND}
        if is_between:
            own.add_between(history([stop]).stops[0])
            own.between[ITEM][0] = (1, own.between[ITEM][0][1])
        compared_histories(own, other, "v += w++;", add=lambda subject, _pc, each: seen.append((subject, each)))
    messages = [each.message for subject, each in seen if subject.rule.name == "against-together"]
    assert messages == 2 * found


@for_each("value, found", (3, True), (7, False))
def test_a_variable_of_a_block_keeps_its_value_until_the_block_is_entered_again(value, found):
    """In the second round it is not known before its declaration has executed, and has not its second value there."""
    first, second = [(3, 8, 0, None), (4, 12, 0, 165), (5, 16, 0, 7)], [(3, 8, 1, None), (4, 12, 1, 7), (5, 16, 1, 3)]
    other = history([(2, 4, 0, None), *first, *second, (6, 20, 2, None)])
    own = history([(2, 4, 0, None), (5, 24, 0, value), (6, 28, 2, None)])
    seen = []
    compared_histories(own, other, "v += w++;", add=lambda subject, *_each: seen.append(subject.rule.name))
    assert ("against-together" in seen) == found


COUNTED = [(2, 0), (3, 0), (4, 1), (3, 2), (4, 0), (3, 3)]
BLOCK = [(2, 4), (3, 4), (4, 5), (6, None), (2, 6), (3, 6), (4, 7)]
PAIRS = [(2, 0, 0), (3, 0, 0), (4, 1, 1), (3, 2, 2)]


@for_each("values, pieces, found",
    (COUNTED, (0, 1, 2, 3), ""), (COUNTED, (1, 3), ""), (COUNTED, (2, 2), ""), (COUNTED, (1, 0), ""),
    (COUNTED, (3, 0), "3 at +0xc and then 0"), (COUNTED, (2, 1), "2 at +0xc and then 1"),
    (COUNTED, (0, 2, 1, 3), "2 at +0xd and then 1"), (COUNTED, (2, LACKING, 1), "2 at +0xc and then 1"),
    (COUNTED, (1, 0, 1), "0 at +0xd and then 1"),
    (COUNTED, (8, 1), ""),  # the other build does not have 8, so it says nothing about what comes behind
    (BLOCK, (4, 7), ""), (BLOCK, (5, 4), "5 at +0xc and then 4"), (BLOCK, (7, 6), "7 at +0xc and then 6"),
    (BLOCK, (6, 5), ""), (BLOCK, (7, 4), ""),  # of the round before, whose code may be behind
    (PAIRS, ((2, LACKING), (1, 1)), "2 at +0xc and then 1"),
    (PAIRS, ((2, 0), (1, 1)), ""),  # at once they are a finding of their own: which is wrong is not known
    ids=str)  # fmt: skip
def test_a_variable_has_its_values_in_their_order(values, pieces, found):
    other = history([*((line, 4, *numbers) for line, *numbers in values), (7, 8)])
    own = history([(2, 4, LACKING), (7, 24, LACKING)])
    for at, value in enumerate(pieces):
        own.add_between(history([(3, 12 + at, *(value if isinstance(value, tuple) else (value,)))]).stops[0])
    own.between[ITEM] = [(1, stop) for _behind, stop in own.between[ITEM]]
    seen = []
    for own.listed in (set(), {VARIABLE, SECOND}):
        compared_histories(own, other, "f(v);", add=lambda subject, _pc, each: seen.append((subject.rule.name, each)))
        messages = [each.message for rule, each in seen if rule == "against-order"]
        expected = f"v is {found}; in other, {found[:1]} comes after {found[-1:]}"
        assert messages == [expected] * bool(found and own.listed)


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


def names(base, *, local=1 << 48, private=2 << 48, symbols=None):
    ranges = [
        PointedRange(base, 0x100, (BUFFER, 0), name="out"),
        PointedRange(base + 0x100, 0x40, (BUFFER, 1), name="in"),
        PointedRange(local, 1 << 32, (LOCAL_MEMORY,), is_placed=False),
        PointedRange(private, 1 << 32, (PRIVATE_MEMORY,), is_placed=False),
    ]
    return PointerNames(ranges, (symbols or {}).get)


HERE = names(0x1000, symbols={0x500: "table+4", 0x510: "leaf"})
THERE = names(0x9000, local=4 << 48, private=5 << 48, symbols={0x700: "table+4", 0x710: "other", 0x720: "tile"})


def difference(leaf, bits, other, there):
    found = ValueComparison(HERE, THERE).difference(RecordedValue((leaf,), (bits,)), RecordedValue((other,), (there,)))
    return None if found is None else (found.text, found.other)


I32, U32, I64, U64 = (
    Leaf("", INTEGER, bits, sign) for bits, sign in ((32, True), (32, False), (64, True), (64, False))
)
F32, F64, P64, P32 = Leaf("", FLOAT, 32, True), Leaf("", FLOAT, 64, True), Leaf("", POINTER, 64), Leaf("", POINTER, 32)
RAW = Leaf("<0>", BYTES, 64)


@for_each(
    "leaf, bits, other, there",
    (I32, 5, I32, 5),
    (I32, 0xFFFFFFFF, I64, (1 << 64) - 1),  # -1 in both
    (F32, 0x7FC00001, F32, 0x7FC00001),
    (F32, 0x3F800000, F64, 0x3FF0000000000000),  # of other types: nothing can be said
    (F32, 0x7FC00001, F32, 0xFFC00002),  # processors make NaNs of either sign
    (F32, 0x3F800000, F32, 0x3F800001),  # a multiplication and an addition, contracted in one build
    (F64, 0x3FF0000000000000, F64, 0x3FF0000000001000),
    (P64, 0x1010, P64, 0x9010),
    (P64, 0x1100, P64, 0x9100),  # the end of one buffer is the start of the next
    (P64, 0, P64, 0),
    (P64, 0x500, P64, 0x700),
    (P64, (1 << 48) + 16, P64, (4 << 48) + 64),  # each build has its own layout of local memory
    (P64, (2 << 48) + 16, P64, (5 << 48) + 64),
    (P64, (1 << 48) + 16, P64, 0x720),  # local memory of a GPU is a static variable on the host
    (P64, 0xDEAD0000, P64, 0xBEEF0000),  # neither is known
    (P32, 16, P64, 0x9010),
    (U64, 0x1010, U64, 0x9010),  # an integer that is the address of the same
)
def test_values_are_the_same(leaf, bits, other, there):
    assert difference(leaf, bits, other, there) is None


@for_each("leaf, bits, other, there, expected",
    (I32, 0xFFFFFFFF, I32, 1, ("-1", "1")),                   (I32, 0xFFFFFFFF, I64, 0xFFFFFFFF, ("-1", "4294967295")),
    (U32, 7, U32, 8, ("7", "8")),
    (F32, 0x7FC00001, F32, 0x3F800000, ("nan (0x7fc00001)", "1")),
    (F32, 0x80000000, F32, 0, ("-0", "0")),                   (F32, 0x3F800000, F32, 0xBF800000, ("1", "-1")),
    (F32, 0x3F800000, F32, 0x3F810000, ("1", "1.0078125")),
    (F32, 0x7F800000, F32, 0x7F7FFFFF, ("inf", "3.40282347e+38")),
    (P64, 0x1010, P64, 0x9014, ("buffer out+0x10", "buffer out+0x14")),
    (P64, 0x1110, P64, 0x9010, ("buffer in+0x10", "buffer out+0x10")),
    (P64, 0, P64, 0x9000, ("0x0", "buffer out")),             (P64, 0x510, P64, 0x710, ("leaf", "other")),
    (P64, (2 << 48), P64, (4 << 48), ("0x2000000000000", "0x4000000000000")),
    (U64, 0x1010, U64, 0x9014, ("4112", "36884")),
    (RAW, 1, RAW, 2, ("0x1", "0x2")))  # fmt: skip
def test_values_differ(leaf, bits, other, there, expected):
    assert difference(leaf, bits, other, there) == expected


@for_each("statements, size",
    (["float e = g * g - a;"], 200.0),                        (["e = -(float)g * 7.0f;", "e += b;"], 70.0),
    (["float d = a / g;", "e = d - g;"], 110.0),              (["e = in[i] - a;"], 200.0),
    (["x.e = g * a * a;", "e == a * a;"], 100.0),             (["e = f(a);"], 100.0),              ([], 100.0),
    ids=str)  # fmt: skip
def test_the_size_of_terms_is_that_of_the_statements_that_assign_a_variable(statements, size):
    assert size_of_terms("e", statements, {"a": 100.0, "b": 3.0, "g": 10.0, "e": 1e-6}) == size


@for_each("statements, is_rounded",
    (["float v = in[i];"], False), (["float v = (float)in[i + 1];", "v = 0.5f;"], False),
    (["float a = in[i];", "float v = a;"], False), (["float a = in[i] * 2 + x;", "float v = a;"], True),
    (["float v = in[i];", "v += x;"], True), (["float v = in[i];", "set(&v);"], True), (["float v = a * b;"], True),
    (["float v = a[1];", "a[j] = x * y + z;"], True), (["float v = a[1];", "set(a, x);"], True),
    (["float v = a < b ? a : b;"], True), (["for (float v = 0; v < 3; v++)"], True),
    (["out[i] = v;"], True))  # fmt: skip
def test_a_variable_is_exact_that_is_only_loaded_and_copied(statements, is_rounded):
    assert may_be_rounded("v", statements) == is_rounded


def test_only_leaves_with_a_value_in_both_are_compared():
    pair = Leaf(".low", INTEGER, 32, True), Leaf(".high", INTEGER, 32, True)
    comparison = ValueComparison(HERE, THERE)
    assert comparison.difference(RecordedValue(pair, (1, None)), RecordedValue(pair, (1, 2))) is None
    assert comparison.difference(RecordedValue(pair, (1, 3)), RecordedValue(pair[:1], (1,))) is None
    found = comparison.difference(RecordedValue(pair, (1, 3)), RecordedValue(pair, (1, 2)))
    assert (found.path, found.text, found.other) == (".high", "3", "2")
    assert comparison.difference(RecordedValue(pair, (1, 3)), RecordedValue(pair, (1, 2)), frozenset({".high"})) is None


def test_values_are_shown_with_their_first_parts_and_unused_memory_is_known():
    leaves = tuple(Leaf(f"[{index}]", INTEGER, 32, True) for index in range(6))
    assert value_text(RecordedValue(leaves, (1, 2, None, 4, 5, 6)), HERE) == "{[0] = 1, [1] = 2, [2] = ?, [3] = 4, ...}"
    assert value_text(RecordedValue((F32,), (0x3FC00000,)), HERE) == "1.5"
    assert is_unused(0xA5A5A5A5, 32)
    assert is_unused(0xA5A5, 16)
    assert not is_unused(0xA5, 8)  # which a byte may well be
    assert not is_unused(0xA5A5A5A4, 32)


# --- What clang is known to write otherwise than it means: found without being told, gone where it is read as meant ---
# Each idiom is that of a variable of a kernel that runs. llvm-dwarfdump says that the variable is written so.


CL, HIP = "fixtures/amdgpu/cl-kernels.{}.co", "fixtures/amdgpu/hip-kernels.{}.co"
SAXPY = "saxpy", (np.zeros(64, "f4"), np.ones(64, "f4"), 2.0, 64)
OLD_CL, OLD_HIP = "fixtures/compilers/cl.{}.co", "fixtures/compilers/hip.{}.co"
SPACES = "spaces", (np.zeros(64, "i4"), 256)
MEMORY = "_Z6memoryPi3Rowi", (np.zeros(64, "i4"), {"cells": [1, 2, 3, 4]}, 3)
DIVERGENT = "_Z9divergentPii", (np.zeros(64, "i4"), 40)
XDEREF = "DW_OP_swap, DW_OP_xderef"
IDIOMS = [
    pytest.param(CL, "gfx90a.w64.O0.v5", SAXPY, "product", rf"DW_OP_fbreg \+\d+, DW_OP_lit5, {XDEREF}$", id="slot"),
    pytest.param(CL, "gfx1100.w32.O0.v5", SAXPY, "product", rf"DW_OP_fbreg \+\d+, DW_OP_lit5, {XDEREF}$",
                 id="slot-wave32"),
    pytest.param(HIP, "gfx90a.w64.O0.v5", DIVERGENT, "lane", rf"DW_OP_fbreg \+\d+, DW_OP_lit1, {XDEREF}$",
                 id="slot-generic"),
    pytest.param(HIP, "gfx90a.w64.O0.v5", DIVERGENT, "term", rf"DW_OP_fbreg \+\d+, DW_OP_lit1, {XDEREF}$",
                 id="slot-of-a-function"),
    pytest.param(CL, "gfx90a.w64.O2.v5", SAXPY, "i", rf"DW_OP_bregx VGPR\d+\+0, DW_OP_lit5, {XDEREF}", id="register"),
    pytest.param(HIP, "gfx1100.w32.O2.v5", DIVERGENT, "lane", rf"DW_OP_bregx 0x6\w\w \+0, DW_OP_lit1, {XDEREF}",
                 id="register-generic"),
    pytest.param(HIP, "gfx90a.w64.O2.v5", DIVERGENT, "base", rf"DW_OP_const\w \+?\d+, .*{XDEREF}, DW_OP_stack_value",
                 id="constant"),
    pytest.param(OLD_CL, "clang16.gfx900.w64.O0.v5", SPACES, "tile", rf"DW_OP_addrx 0x\w+, DW_OP_lit2, {XDEREF}$",
                 id="local-memory"),
    pytest.param(OLD_CL, "clang19.gfx1100.w32.O2.v5.hsa5", SPACES, "tile",
                 rf"DW_OP_addrx 0x\w+, DW_OP_lit2, {XDEREF}$", id="local-memory-optimized"),
    pytest.param(OLD_CL, "clang16.gfx90a.w64.O2.v4", SPACES, "tile", rf"DW_OP_addr 0x0, DW_OP_lit2, {XDEREF}$",
                 id="local-memory-v4"),
    pytest.param(OLD_HIP, "clang16.gfx1100.w32.O2.v5", MEMORY, "tile", rf"DW_OP_addrx 0x\w+, DW_OP_lit2, {XDEREF}$",
                 id="local-memory-of-a-function"),
    pytest.param(OLD_CL, "clang16.gfx900.w64.O0.v5", SPACES, "mine", rf"DW_OP_fbreg \+\d+, DW_OP_lit1, {XDEREF}$",
                 id="pointer-to-local-memory")]  # fmt: skip


def locations_of(path, name):
    """What llvm-dwarfdump prints of the locations of the variables with a name, and of copies of them."""
    command = ["llvm-dwarfdump-22", "--debug-info", path]
    entries = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n\n")
    return "\n".join(entry for entry in entries if f'"{name}")' in entry)


@pytest.fixture(scope="module")
def messages_of(judged):
    """``messages_of(path, kernel, "auto")`` is what is said of values that cannot be had."""
    known = {}

    def messages(path, kernel, repair):
        name, args = kernel
        if (path, name, repair) not in known:  # several idioms are in one kernel
            sizes = {"grid": 64, "work_group": 64, "private_size": 4096}
            findings = judged(path, name, args=args, repair=repair, **sizes).report.findings
            known[path, name, repair] = [each.message for each in findings if each.rule.name == "value-failed"]
        return known[path, name, repair]

    return messages


def values_wrong(messages_of, path, kernel, repair):
    return {message.split(": ")[1] for message in messages_of(path, kernel, repair)}


@pytest.mark.slow
@pytest.mark.parametrize("pattern, way, kernel, variable, idiom", IDIOMS)
def test_an_idiom_is_found_and_vanishes_with_repairs(pattern, way, kernel, variable, idiom, messages_of, require_tool):
    require_tool("llvm-dwarfdump-22")
    path = pattern.format(way)
    assert re.search(idiom, locations_of(path, variable).replace(")", ""), re.MULTILINE), locations_of(path, variable)
    assert variable in values_wrong(messages_of, path, kernel, "off")
    assert values_wrong(messages_of, path, kernel, "auto") == set()


def frame_bases_of(path, function):
    command = ["llvm-dwarfdump-22", "--debug-info", f"--name={function}", path]
    return re.findall(
        r"DW_AT_frame_base\t\((.*)\)", subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", ["gfx90a.w64.O0.v5", "gfx1100.w32.O0.v5"])
def test_the_frame_base_is_a_register_and_is_read_as_an_address_with_repairs(way, messages_of, require_tool):
    """By the text the frame of a function is then in the register itself, which is 4 bytes long."""
    require_tool("llvm-dwarfdump-22")
    path = HIP.format(way)
    assert frame_bases_of(path, "square") == ["DW_OP_regx SGPR33"]
    for repair, is_found in (("off", True), ("auto", False)):
        messages = messages_of(path, DIVERGENT, repair)
        found = [each for each in messages if each.startswith("square(int)") and "past the end of s33" in each]
        assert bool(found) is is_found


@pytest.mark.parametrize("compiler", ["clang16", "clang19"])
def test_a_pointer_is_followed_into_the_space_that_its_compiler_means(compiler, require_tool, tmp_path):
    """DW_AT_address_class is a number of the compiler's own; a machine that has executed the store knows which."""
    require_tool("llvm-dwarfdump-22")
    path = OLD_CL.format(f"{compiler}.gfx900.w64.O0.v5")
    command = ["llvm-dwarfdump-22", "--debug-info", path]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.search(r"DW_AT_address_class\t\(0x00000002\)", text)
    state = str(tmp_path / "state.dgs")
    sizes = ("--grid", "64", "--work-group", "64", "--private-size", "4096")
    run("run", path, "spaces", *sizes, "zeros(64)", "256", "--until", "variables.cl:45", "--state", state)
    words = ("eval", path, "*mine", "--wave", "1", "--lane", "7", "--state", state)
    assert run(*words).stdout.splitlines()[0] == "*mine = 35"
    assert "Cannot access memory" in run(*words, "--attributes", "llvm-old").stdout


WIDE = """
__attribute__((noinline)) long tripled(long number) {
  long sum = number * 3;
  return sum;
}
kernel void wide(global long *out) {
  int id = __builtin_amdgcn_workitem_id_x();
  out[id] = tripled(id);
}
"""


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100"])
def test_an_idiom_of_pieces_is_found_and_vanishes_with_repairs(processor, messages_of, require_tool, tmp_path):
    path = str(tmp_path / "wide.co")
    words = [require_tool("clang-22"), "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa"]
    words += [f"-mcpu={processor}", "-g", "-O2", "-nogpulib", "-", "-o", path]
    subprocess.run(words, input=WIDE, text=True, check=True, cwd=tmp_path)
    assert re.search(rf"{XDEREF}, DW_OP_piece 0x4, DW_OP_bregx", locations_of(path, "number"))
    kernel = "wide", (np.zeros(64, "i8"),)
    assert "number" in values_wrong(messages_of, path, kernel, "off")
    # clang 22 says where id is three instructions before it is written, which no repair is about
    assert values_wrong(messages_of, path, kernel, "auto") == {"id"}


def test_frames_without_rules_are_found_whatever_is_repaired(judged):
    path, (kernel, args) = CL.format("gfx90a.w64.O2.v5"), SAXPY
    for repair in ("off", "auto"):
        findings = judged(path, kernel, grid=64, work_group=64, args=args, repair=repair).report.findings
        assert "unwind-missing" in {finding.rule.name for finding in findings}


def test_what_a_comparison_finds_wrong_is_wrong_in_the_table_of_locations():
    """Else the table would have only zeros beside an error; what undefined behaviour may explain is no error."""
    state = SimpleNamespace(symbol_place=lambda pc: ("k", pc))
    sightings = Sightings(SimpleNamespace(attached=SimpleNamespace(state=state)))
    for name, rule in RULES.items():
        sightings.add(Subject(rule, name), 4, Sighting("", "1:1:1:1"))
    sightings.add(Subject(RULES["wrong"], "doubted", doubt="the kernel has a data race"), 4, Sighting("", "1:1:1:1"))
    errors = {name for name, rule in RULES.items() if rule.severity == "error"} - {"result"}  # which is of a buffer
    assert {*sightings.wrong_values()} == {(name, 4) for name in errors}
