"""What a kernel was launched with: `info dispatch`, `info kernel-args`, `$_arg`, and in backtraces and locals."""

import json
from pathlib import Path

import pytest

from tests.builders.parameters import for_each, told
from tests.questions.harness import Run

ROOT = Path(__file__).resolve().parents[2]
SAXPY = ROOT / "fixtures/amdgpu/cl-kernels.gfx90a.w64.O2.v5.co"
LAUNCH = "target launch saxpy 128 64 y=zeros(100,f4) x=arange(50,f4) a=2.5 n=64"


@pytest.fixture(scope="module")
def run():
    launched = Run(SAXPY)
    launched(LAUNCH)
    return launched


def test_the_arguments_of_a_launch(run):
    head, *rows = run("info kernel-args").splitlines()
    assert head.startswith("saxpy: arguments at 0x7f")
    assert head.endswith(", as launched")
    assert [row.split(maxsplit=3) for row in rows[1:]] == [
        ["0x0", "float*", "y", rows[1].split(maxsplit=3)[3]],
        ["0x8", "float*", "x", rows[2].split(maxsplit=3)[3]],
        ["0x10", "float", "a", "2.5"],
        ["0x14", "int", "n", "64"],
    ]
    assert rows[1].endswith("(a buffer of 400 bytes)")
    assert rows[2].endswith("(a buffer of 200 bytes)")
    document = json.loads(run("info kernel-args -json"))
    assert (document["kernel"], document["problems"]) == ("saxpy", [])
    assert [(row["name"], row["bytes"]) for row in document["arguments"][2:]] == [("a", "00002040"), ("n", "40000000")]
    assert document["arguments"][1]["memory"] == {
        "address": document["arguments"][1]["value"], "size": 200, "allocated": True,
    }  # fmt: skip


def test_the_dispatch_of_a_wave(run):
    run("wave 2")
    lines = run("info dispatch").splitlines()
    run("wave 1")
    assert lines[0] == "kernel        saxpy"
    assert "grid          128x1x1 work-items, work-groups of 64x1x1: 2x1x1 work-groups" in lines
    assert "wave          1:1:1:2: work-group (1,0,0), wave 0 of it" in lines
    assert "work-items    lanes 0 to 63 are (64,0,0) to (127,0,0) of the grid" in lines
    assert lines[-2:] == ["  a = 2.5", "  n = 64"]
    document = json.loads(run("info dispatch -json"))
    assert document["work_items"][5] == {"lane": 5, "work_item": [5, 0, 0], "global_id": [5, 0, 0]}


@pytest.mark.parametrize("text, answer", told("""
    $_arg("n") | $_arg(3) -> 64                               $_arg("n") * 2 + (int) $_arg("a") -> 130
    *$_arg("x")@4 -> {0, 1, 2, 3}                             $_arg("x")[7] -> 7
    """))  # fmt: skip
def test_an_argument_in_an_expression(run, text, answer):
    assert run(f"output {text}") == answer
    assert "float *" in run('ptype $_arg("x")')


@for_each(
    "text, message",
    ('$_arg("m")', "no argument 'm'"),
    ("$_arg(4)", "no argument 4"),
    ("$_arg()", "takes the name or the position"),
    ('$_arg("n", 1)', "takes the name or the position"),
)
def test_what_is_no_argument(run, text, message):
    error = run.fails(f"print {text}")
    assert message in error.message
    assert error.hint == "the arguments are y, x, a, n"


def test_a_parameter_without_a_value_says_what_it_was_launched_with(run):
    assert "n=<optimized out> (launched with 64)" in " ".join(run("bt").split())
    assert "n = <optimized out> (launched with 64): it has" in run("info args n")
    assert run("print n").startswith("n = <optimized out> ("), "it is not the value of the variable"
    entry = json.loads(run("info args -json n"))["frames"][0]["variables"][0]["lanes"]["0"]
    assert (entry["state"], entry["launched_with"]["value"]) == ("absent", 64)


def test_where_nothing_is_known_nothing_is_said(tmp_path):
    launched = Run(SAXPY)
    launched(LAUNCH)
    launched(f"save snapshot {tmp_path / 'state.json'}")
    document = json.loads((tmp_path / "state.json").read_text())
    del document["dispatches"][0]["kernarg"], document["dispatches"][0]["packet"]
    for wave in document["waves"]:
        wave["pc"] = hex(int(wave["pc"], 16) + 4)
    (tmp_path / "state.json").write_text(json.dumps(document))
    later = Run(SAXPY)
    later(f"core {tmp_path / 'state.json'}")
    assert "launched with" not in later("bt") + later("info args")
    assert "<unknown>" in later("info kernel-args")
    assert "no dispatch packet is known" in " ".join(later("info kernel-args").split())
    assert "no dispatch packet is known" in later.fails('print $_arg("n")').message


def test_a_function_that_the_kernel_calls_has_no_arguments_of_the_launch():
    program = Run(ROOT / "fixtures/asm/lane-pc.gfx90a.w64.co", ROOT / "dwarfgpu/examples/variables.json")
    assert "launched with" not in program("bt") + program("info args")
