"""What every command keeps: streams, exit statuses, JSON, colour, pipes, and what is imported."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dwarfgpu.render.layout import shown, wrapped
from tests.builders import commands
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each

LIT = ("eval", "--ops", "DW_OP_lit5")
FATBIN = "fixtures/containers/fatbin.x86_64"
TINY = "fixtures/containers/tiny.gfx90a.co"
KERNELS = "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co"


def run(*words: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return commands.run(*words, stdin=stdin.encode(), env=env)


def test_debug_shows_where_an_error_comes_from() -> None:
    words = [sys.executable, "-m", "dwarfgpu", "eval", "--ops", "DW_OP_plus", "--debug"]
    assert "Traceback" in subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stderr


@for_each("words",
    LIT, (*LIT, "--trace", "--stack"), (*LIT, "--target", "gfx90a", "--lane", "0-3"), ("disasm", "3123"),
    ("disasm", "31"), ("asm", "DW_OP_lit1"), ("ops",), ("ops", "offset"), ("verify", "--ops", "DW_OP_plus"),
    ("ls", FATBIN), ("info", TINY), ("info", FATBIN), ("info", TINY, "--pc", "tiny", "--name", "tiny"),
    ("kernels", "fixtures/features/split.v5.co"), ids=str)  # fmt: skip
def test_json_and_jsonl(words: tuple[str, ...]) -> None:
    one = json.loads(run(*words, "--json").stdout)
    many = [json.loads(line) for line in run(*words, "--jsonl").stdout.splitlines()]
    assert one["schema"] == 1
    assert many
    assert all(each["schema"] == 1 for each in many)
    assert words[0] not in ("ls", "info", "kernels") or all(each["file"] for each in many)


def test_trace_in_json_has_the_stack_before_and_after() -> None:
    trace = json.loads(run("eval", "--json", "--trace", "--ops", "DW_OP_lit1; DW_OP_lit2; DW_OP_plus").stdout)["trace"]
    assert [step["operation"] for step in trace] == ["DW_OP_lit1", "DW_OP_lit2", "DW_OP_plus"]
    assert [entry["value"] for entry in trace[2]["before"]] == [1, 2]
    assert [entry["value"] for entry in trace[2]["after"]] == [3]


@for_each("operations",
    pytest.param("again: DW_OP_lit1; DW_OP_piece 1; DW_OP_skip @again", marks=pytest.mark.slow),
    "again: DW_OP_lit1; DW_OP_skip @again")  # fmt: skip
def test_a_trace_that_nobody_can_read_is_cut_in_the_middle_and_does_not_change_the_error(operations: str) -> None:
    plain = run("eval", "--ops", operations)
    traced = run("eval", "--ops", operations, "--trace")
    assert traced.stderr == plain.stderr
    assert "operations are left out: the trace costs more than half of the budget" in traced.stdout.splitlines()[-9]
    assert len(traced.stdout) < 2 << 20
    document = json.loads(run("eval", "--ops", operations, "--trace", "--json").stdout)
    assert document["error"]["message"] in plain.stderr
    assert document["trace"][-9]["left_out"] > 1000
    executed = len(document["trace"]) - 1 + document["trace"][-9]["left_out"]
    assert executed == (10_000 if "piece" in operations else 8192)


@pytest.mark.slow
@pytest.mark.parametrize("value", ["DW_OP_LLVM_undefined", "DW_OP_LLVM_push_lane; DW_OP_stack_value"])
def test_vectors_of_vectors_in_all_lanes_can_be_traced(value: str) -> None:
    """A run of equal parts is written once, and so is an entry that is equal in all lanes."""
    operations = f"{value}; DW_OP_LLVM_extend 64 32; DW_OP_LLVM_extend 64 32"
    done = run("eval", "--target", "gfx90a", "--lane", "0-63", "--ops", operations, "--json", "--trace")
    document = json.loads(done.stdout)
    entry = document["trace"][-1]["after"][-1]
    first = entry if "undefined" in value else entry[5]
    (part,) = {json.dumps(part) for part in first["parts"]}
    assert len(first["parts"]) == len(json.loads(part)["location"]["parts"]) == 32
    assert document["lanes"]["5"]["result"]["parts"] == first["parts"]


@for_each("text", "", "[]", "{", '{"registerz": {}}', '{"registers": 5}', '{"ops": "DW_OP_lit1"}', "\xff")
def test_bad_state_names_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(text.encode("latin-1"))
    done = run(*LIT, "--state", str(path))
    assert done.returncode == 3
    assert "state.json" in done.stderr


def test_color() -> None:
    escape = "\x1b["
    assert escape not in run("ops", "lit0").stdout
    assert escape in run("ops", "lit0", "--color", "always").stdout
    assert escape in run("ops", "lit0", env={"FORCE_COLOR": "1"}).stdout
    assert escape not in run("ops", "lit0", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout
    assert escape not in run("ops", "lit0", "--color", "never", env={"FORCE_COLOR": "1"}).stdout


@pytest.mark.parametrize("columns,longest", [("60", 58), ("100", 98), ("", 78), ("wide", 78)])
def test_help_is_as_wide_as_the_terminal(columns: str, longest: int) -> None:
    found = run("info", "--help", env={"COLUMNS": columns}).stdout
    options = found[found.index("options:") : found.index("examples:")]
    assert longest - 30 < max(map(len, options.splitlines())) <= longest


@for_each("text",
    "", " ", "   ", "word", " word", "two  words ", "exactly ten", "w" * 30, "a\tb\x85c", "x" * 9 + " ", "é\u2003ü",
)  # fmt: skip
def test_short_texts_are_wrapped_as_textwrap_does(text: str) -> None:
    expected = textwrap.wrap(shown(text), 10, break_long_words=False, break_on_hyphens=False)
    assert wrapped(text, 10) == (expected or [""])


def test_closed_pipe_ends_quietly() -> None:
    done = subprocess.run(
        f"{sys.executable} -m dwarfgpu ops --jsonl | head -n 1; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[1] == "0"


def test_nothing_is_written(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "dwarfgpu", *LIT], cwd=tmp_path, env=environment, check=True, timeout=60)
    assert list(tmp_path.iterdir()) == []
