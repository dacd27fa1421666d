"""What is known of a variable at the stops of another build: runs say what a list with an entry for each stop says."""

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from dwarfgpu.audits.judge.recorded_values import RecordedValue
from dwarfgpu.audits.judge.reference_stops import (
    EARLY,
    HIDDEN,
    LACKING,
    KnownValues,
    ReferenceStops,
    StatementUses,
    stretches_of,
)
from dwarfgpu.audits.judge.rounding import size_of_terms
from dwarfgpu.audits.judge.statement_record import DeclarationKey

VALUES = [(RecordedValue((), (number,)), frozenset()) for number in range(3)]


@given(st.lists(st.sampled_from([*VALUES, HIDDEN, EARLY, LACKING]), min_size=1), st.data())
def test_runs_have_what_is_known_at_each_stop(states, data):
    numbers = sorted(data.draw(st.sets(st.integers(0, len(states) - 1), min_size=1)))
    known, stretches = KnownValues(states), stretches_of(numbers)
    runs = [*known.runs(stretches)]
    assert [state for state, start, stop in runs for _number in range(start, stop)] == [
        states[each] for each in numbers
    ]
    assert [number for _state, start, stop in runs for number in range(start, stop)] == numbers
    of_numbers = [states[each] for each in numbers if not isinstance(states[each], str)]
    assert known.count(stretches) == len(of_numbers)
    assert [*dict.fromkeys(known.values(stretches))] == [*dict.fromkeys(of_numbers)]
    before = [each for each in states[: numbers[0]] if not isinstance(each, str)]
    assert known.last_before(numbers[0]) == (before[-1] if before else None)


def test_a_variable_begins_anew_where_its_block_is_entered_and_its_function_called():
    key = DeclarationKey("v", 2, is_parameter=False)
    visible = (True, True, False, True, True, True)
    stops = [SimpleNamespace(place=("k.cl", 3), pc=4, values={key: [None]} if each else {}) for each in visible]
    reference = ReferenceStops(stops, StatementUses(lambda *_each: None), "k.cl", calls={id(stops[5])})
    is_one_life = reference.variable(key).is_one_life
    assert [is_one_life(*each) for each in ((0, 1), (0, 2), (1, 3), (3, 4), (4, 5))] == [True, True, False, True, False]


def test_stops_that_follow_each_other_are_one_stretch():
    assert stretches_of(range(3, 7)) == stretches_of((3, 4, 5, 6)) == [(3, 7)]
    assert stretches_of(range(3, 3)) == stretches_of(()) == []
    assert stretches_of((1, 2, 5)) == [(1, 3), (5, 6)]


def test_a_term_that_cannot_be_read_counts_as_the_largest_variable():
    assert size_of_terms("sum", ["sum = a @ b;"], {"sum": 1.0, "a": 8.0}) == 8.0
    assert size_of_terms("sum", ["sum = a + a;"], {"sum": 1.0, "a": 3.0}) == 6.0
