"""What is a case and what is none, and what is wrong with one: each with its path or its kind."""

import json

import pytest

from dwarfgpu.strict_json import NotACase
from tests.builders.cases import run_lines
from tests.builders.errors import raised
from tests.builders.parameters import for_each


def test_lines_are_answered_in_order_and_counted_with_blank_ones():
    seen = []

    def lines():
        for text in ('{"expr": "31"}\n', "\n", '{"id": "b", "expr": "zz"}\r\n', ' {"id": null, "expr": "32"} '):
            seen.append(text)
            yield text

    answers = run_lines(lines())
    first = json.loads(next(answers))
    assert len(seen) == 1
    assert (first["id"], first["result"]["value"]) == (1, 1)
    second, third = map(json.loads, answers)
    assert (second["id"], second["status"]) == ("b", "error")
    assert (third["id"], third["result"]["value"]) == (None, 2)
    assert json.loads(next(run_lines(["\n", "  \n", '{"expr": "31"}'])))["id"] == 3


@for_each("line",
    "31", "{", '{"expr": "31"} {}', "{'expr': '31'}", '{"expr": "31", "expr": "32"}',
    '{"expr": "31", "context": {"lane": 1, "lane": 2}}', '{"expr": "31", "context": {"lane": NaN}}',
    '{"expr": "31", "id": Infinity}', '{"expr": "31", "id": ' + "9" * 5000 + "}",
    '{"expr": "31", "id": ' + "[" * 100_000,
    '{"expr": "31", "context": {"object": ' + '{"kind": "multiple", "places": [' * 200 + "]}" * 200 + "}}",
    "\ufeff{}")  # fmt: skip
def test_a_line_that_is_no_case_ends_the_run_and_is_named(line):
    answers = run_lines(['{"expr": "31"}', line, '{"expr": "31"}'])
    next(answers)
    caught = raised(NotACase, next, answers)
    assert caught.line == 2
    assert "line 2" in str(caught)


@pytest.mark.parametrize("name", ["a", "\u20ac \ud800", {"a": [1, None]}, 1.5, True, None, "", 10**30])
def test_the_id_is_echoed(name):
    assert json.loads(next(run_lines([json.dumps({"id": name, "expr": "31"})])))["id"] == name
