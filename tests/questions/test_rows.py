"""The text of an answer has the rows of its JSON, of its lines of JSON and of its columns."""

import json
import re
import shlex

import pytest

from dwarfgpu.render.layout import ranges_text
from tests.builders.commands import run

FILE = "fixtures/asm/lane-pc.gfx90a.w64.co"
STATE = "--state docs/examples/variables.json"
CALLS = "fixtures/llvm24/hip-calls.gfx1100.w32.O2.co"
WAVES = "--state docs/examples/calls.json"
KERNELS = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co"
ROW = r"[ *] [\d-]+ +\S"
ROWS = (
    (f"files {CALLS} {WAVES}", "files", r"  0x"),
    (f"agents {CALLS} {WAVES}", "agents", ROW),
    (f"queues {CALLS} {WAVES}", "queues", ROW),
    (f"dispatches {CALLS} {WAVES}", "dispatches", ROW),
    (f"work-groups {CALLS} {WAVES}", "work_groups", ROW),
    (f"work-groups {CALLS} {WAVES} --each", "work_groups", ROW),
    (f"waves {CALLS} {WAVES}", "waves", ROW),
    (f"waves {CALLS} {WAVES} --each", "waves", ROW),
    (f"waves {CALLS} {WAVES} 2-3 --each", "waves", ROW),
    (f"lanes {FILE} {STATE}", "lanes", ROW),
    (f"lanes {FILE} {STATE} --each", "lanes", ROW),
    (f"lanes {FILE} {STATE} --lane 1,5-9", "lanes", ROW),
    (f"kernels {KERNELS}", "kernels", r"\w+ at 0x|\w+$"),
    ("ls fixtures/containers/fatbin.x86_64", "entries", r"@\d|  @\d|\d"),
    (f"coverage {FILE} X", "variables_listed", r"  \w+: "),
    ("targets", "targets", r"gfx\S+ +0x"),
    ("ops offset", "operations", r"DW_OP_"),
    ("ops --isa v_bfe", "instructions", r"v_bfe_[iu]32"),
    ("ops LLVM", "operations", r"DW_OP_"),
    ("disasm --target amdgcn-gfx90a 312304", "operations", r"0x"),
    ("verify --rules", "rules", r"\S+ +(error|warning|note)|  \S"),
    (f"info {KERNELS} --pc saxpy+0x10 --pc saxpy", "addresses", r"0x"),
    ("memmodel table --target gfx1200 store release agent", "cells", "store "),
)
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
