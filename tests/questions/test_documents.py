"""JSON documents that are written while they become known."""

import io
import json
import random

import pytest

from dwarfgpu.errors import MalformedFile
from dwarfgpu.questions.document import write_json

BROKEN = MalformedFile("broken", "something is broken")


def written(document):
    """The text of a document, and the error that came with it."""
    stream = io.StringIO()
    try:
        write_json(document, stream.write)
    except MalformedFile as error:
        return stream.getvalue(), error
    return stream.getvalue(), None


def failing(*items):
    yield from items
    raise BROKEN


@pytest.mark.parametrize(
    "whole",
    [
        {},
        {"a": 1, "b": [], "c": {}, "d": None},
        {"units": []},
        {"units": [1, "two\nlines", [3, {"four": [5]}]], "more": {"x": [True]}},
        {"schema": 1, "units": [{"name": "a", "entries": [{"tag": "b"}, {}]}, {"name": "c", "entries": []}]},
    ],
)
def test_iterators_are_written_as_the_lists_they_stand_for(whole):
    def lazy(value):
        if isinstance(value, list):
            return (lazy(each) for each in value)
        return {key: lazy(each) for key, each in value.items()} if isinstance(value, dict) else value

    text = f"{json.dumps(whole, indent=2)}\n"

    assert written(whole) == (text, None)
    assert written(lazy(whole)) == (text, None)


def a_value(of: random.Random, depth: int):
    """A random value of JSON; where the same one is in a list several times, it is one object."""
    kind = of.randrange(9 if depth else 6)
    if kind < 6:
        return of.choice([None, True, -7, 10**20, 0.1, "", 'a"b{[,\n', "é\u2028"])
    if kind == 6:
        return [a_value(of, depth - 1) for _ in range(of.randrange(4))]
    if kind == 7:
        return [a_value(of, depth - 1)] * of.randrange(4)
    return {of.choice(["a", 'c"', 1, None, True, 2.5]): a_value(of, depth - 1) for _ in range(of.randrange(4))}


def test_any_value_is_written_as_python_writes_it():
    of = random.Random(7)
    for _ in range(3000):
        value = a_value(of, 5)
        assert written(value) == (f"{json.dumps(value, indent=2)}\n", None)


def test_an_item_is_written_before_the_next_one_is_made():
    stream = io.StringIO()
    before = []

    def items():
        for number in range(3):
            before.append(stream.getvalue().count("row"))
            yield f"row {number}"

    write_json({"items": items()}, stream.write)

    assert before == [0, 1, 2]


def test_errors_leave_nothing_or_a_whole_document():
    assert written({"schema": 1, "units": failing()}) == ("", BROKEN)
    text, error = written({"units": iter([{"entries": failing(1, 2)}, {"entries": iter([3])}]), "sections": iter([4])})
    assert error is BROKEN
    assert json.loads(text) == {"units": [{"entries": [1, 2]}], "sections": []}
