"""JSON documents that are written while they become known, and text with the same rows."""

import io
import json
import random
import re
import shlex

import pytest

from dwarfgpu.errors import MalformedFile
from dwarfgpu.questions.document import write_json
from dwarfgpu.render.layout import ranges_text
from tests.builders.commands import run
from tests.builders.parameters import for_each

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


@for_each("whole",
    {}, {"a": 1, "b": [], "c": {}, "d": None}, {"units": []},
    {"units": [1, "two\nlines", [3, {"four": [5]}]], "more": {"x": [True]}},
    {"schema": 1, "units": [{"name": "a", "entries": [{"tag": "b"}, {}]}, {"name": "c", "entries": []}]})  # fmt: skip
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


FILE = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "--state dwarfgpu/examples/variables.json"
CALLS = "fixtures/llvm24/hip-calls.gfx1100.w32.O2.co"
WAVES = "--state dwarfgpu/examples/calls.json"
KERNELS = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co"
ROW = r"[ *] [\d-]+ +\S"
ROWS = (
    (f"files {CALLS} {WAVES}", "files", r"  0x"),
    (f"agents {CALLS} {WAVES}", "agents", ROW),              (f"queues {CALLS} {WAVES}", "queues", ROW),
    (f"dispatches {CALLS} {WAVES}", "dispatches", ROW),
    (f"waves {CALLS} {WAVES}", "waves", ROW),                (f"waves {CALLS} {WAVES} --each", "waves", ROW),
    (f"waves {CALLS} {WAVES} 2-3 --each", "waves", ROW),     (f"lanes {FILE} {STATE}", "lanes", ROW),
    (f"lanes {FILE} {STATE} --each", "lanes", ROW),          (f"lanes {FILE} {STATE} --lane 1,5-9", "lanes", ROW),
    (f"kernels {KERNELS}", "kernels", r"\w+ at 0x|\w+$"),
    ("ls fixtures/containers/fatbin.x86_64", "entries", r"@\d|  @\d|\d"),
    (f"coverage {FILE} X", "variables_listed", r"  \w+: "),
    ("targets", "targets", r"gfx\S+ +0x"),                   ("ops offset", "operations", r"DW_OP_"),
    ("ops --isa v_bfe", "instructions", r"v_bfe_[iu]32"),    ("ops LLVM", "operations", r"DW_OP_"),
    ("disasm --target amdgcn-gfx90a 312304", "operations", r"0x"),
    ("verify --rules", "rules", r"\S+ +(error|warning|note)|  \S"),
    (f"info {KERNELS} --pc saxpy+0x10 --pc saxpy", "addresses", r"0x"),
    ("memmodel table --target gfx1200 store release agent", "cells", "store "))  # fmt: skip
"""A question, where JSON has its rows, and how a row of the text begins."""


def rows_of(command: str, key: str, begins: str) -> tuple[int, int, int]:
    words = shlex.split(command)
    text = run(*words).stdout.splitlines()
    document = json.loads(run(*words, "--json").stdout)
    lines = [json.loads(line) for line in run(*words, "--jsonl").stdout.splitlines()]
    for line, row in zip(lines, document[key], strict=False):
        assert row.items() <= line.items()
    return sum(1 for line in text if re.match(begins, line)), len(document[key]), len(lines)


@pytest.mark.parametrize("command, key, begins", ROWS)
def test_text_has_the_rows_of_json(command: str, key: str, begins: str) -> None:
    in_text, in_json, in_lines = rows_of(command, key, begins)
    assert in_text == in_json == in_lines > 0


LANES = re.compile(r"^[ *] (\S+) +[AIU?] ", re.MULTILINE)


@pytest.mark.parametrize("flags", ["", "--all", "--each", "--group", "--inactive", "--lane 3-9"])
def test_a_row_of_several_lanes_is_a_row_of_json(flags: str) -> None:
    command = f"lanes {CALLS} {WAVES} --wave 1 {flags}".split()
    rows = json.loads(run(*command, "--json").stdout)["lanes"]
    assert LANES.findall(run(*command).stdout) == [ranges_text(row["lanes"]) for row in rows]
    assert [len(row["work_items"]) for row in rows] == [len(row["lanes"]) for row in rows]


@pytest.mark.parametrize("lanes", ["all", "active", "0-7"])
@pytest.mark.parametrize("question", [f"eval {FILE} even left {STATE}", f"eval {CALLS} slot x {WAVES} --wave all"])
def test_columns_have_the_rows_of_json(question: str, lanes: str) -> None:
    words = [*question.split(), "--lane", lanes]
    answers = json.loads(run(*words, "--json").stdout)["answers"]
    by_lane = [json.loads(line) for line in run(*words, "--jsonl").stdout.splitlines()]
    columns = run(*words, "--csv").stdout.splitlines()
    assert len(columns) - 1 == len(by_lane)
    assert [row["lane"] for row in by_lane] == [int(line.split(",")[-3]) for line in columns[1:]]
    assert len(answers) > 0
