"""Functions whose names have a plus: what is behind the name of a function is an offset only if it is a number."""

import subprocess
from pathlib import Path

import pytest

from dwarfgpu.errors import UsageError
from dwarfgpu.program.code.code_lookup import name_and_offset
from tests.builders.commands import run
from tests.builders.parameters import for_each

FUNCTIONS = ["operator+(V, V)", "operator+=(V&, V)", "operator++(V&)"]
SIZES = ("--grid", "32", "--work-group", "32", "zeros(1)")


@pytest.fixture(scope="module")
def operators(require_tool, tmp_path_factory):
    path = tmp_path_factory.mktemp("operators") / "k.co"
    options = "-x hip --offload-device-only --offload-arch=gfx1100 -nogpuinc -nogpulib -g -O0 --no-gpu-bundle-output"
    source = Path(__file__).with_name("operators.hip")
    subprocess.run([require_tool("clang-22"), *options.split(), source, "-o", path], check=True, capture_output=True)
    return str(path)


@for_each(
    "text, expected",
    ("k", ("k", None)),
    ("k+0x10", ("k", 16)),
    ("k + 4", ("k", 4)),
    ("operator+", ("operator+", None)),
    ("operator+ + 4", ("operator+", 4)),
    ("operator++4", ("operator+", 4)),
    ("operator+=", ("operator+=", None)),
    ("operator+(V, V)", ("operator+(V, V)", None)),
    ("operator+(V, V)+0x10", ("operator+(V, V)", 16)),
)
def test_a_number_behind_the_last_plus_is_an_offset(text, expected):
    assert name_and_offset(text) == expected


def test_what_begins_as_a_number_and_is_none_is_refused():
    with pytest.raises(UsageError, match="'k\\+0xzz' is not an address"):
        name_and_offset("k+0xzz")


def test_judge_trace_and_functions_have_whole_names(operators):
    judged = run("judge", operators, "k", *SIZES)
    assert judged.returncode == 1, judged.stderr
    traced = run("run", operators, "k", *SIZES, "--trace=lines").stdout
    for name in FUNCTIONS:
        assert f"\n  {name} " in judged.stdout
        assert f" in {name}, lanes" in traced


@pytest.mark.parametrize("name", [*FUNCTIONS, "operator+", "'operator+(V, V)'", "operator+=(V&,V)", "operator++"])
def test_breakpoints_and_addresses(operators, name):
    debug = ("debug", operators, "-batch", "-ex", "target launch k 32 32 zeros(1)", "-ex")
    at, behind = (run(*debug, f"info line {place}").stdout for place in (f"*{name}", f"*{name}+4"))
    bare = name.strip("'").partition("(")[0]
    assert f"<{bare}>" in at
    assert f"<{bare}+4>" in behind or f"<{bare}>" in behind
    stopped = run(*debug, f"break {name}", "-ex", "continue")
    assert f"#0  {bare} (" in stopped.stdout, stopped.stderr
    assert stopped.stderr == ""
