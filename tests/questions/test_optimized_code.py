"""What users of optimized code are told where a variable has no value."""

import os
import re

import pytest

from tests.builders.commands import run

SOURCE = """kernel void mean(global const float *in, global float *out) {
  int i = get_global_id(0);
  float weight = i == 40 ? 0.25f : 0.5f;
  float sum = in[i] + in[i + 1];
  float mid = sum * weight;
  out[i] = mid;
}
"""
WORDS = "in=arange(65)", "out=zeros(64)"
LAUNCH = f"target launch mean 64 64 {' '.join(WORDS)}"


@pytest.fixture(scope="module")
def files(require_tool, tmp_path_factory):
    """The source, by the name that hints have for it from here, and its code."""
    require_tool("clang-22")
    source = tmp_path_factory.mktemp("mean") / "m.cl"
    source.write_text(SOURCE)
    done = run("compile", source, "-O2", "-o", source.with_suffix(".co"))
    assert done.returncode == 0, done.stderr
    return min(str(source), os.path.relpath(source), key=len), source.with_suffix(".co")


def debug(file, *steps):
    return run(
        "debug", file, "-batch", *(word for step in (LAUNCH, "break 5", "run", *steps) for word in ("-ex", step))
    )


def test_a_prompt_says_once_what_to_type(files):
    source, code = files
    out = debug(code, "print i", "print i", "info locals").stdout
    assert out.count("i = <optimized out>") == 3
    assert out.count("-O0") == out.count(f"hint: `dwarfgpu debug {source}` compiles it with -O0") == 1
    assert out.count("stop where") == 1
    plain = debug(source, "print i", "info locals").stdout
    assert "$1 = 0\n" in plain
    assert "hint: " not in plain
    lines = debug(source, "print out@2", "print *out@2").stdout.splitlines()
    assert "hint: these are pointers; `*out@2` has what the first of them points to" in lines
    assert lines[-1] == "$2 = {0, 0}"


@pytest.mark.parametrize("name", ["gfx90a", "gfx1100-wave64"])
def test_the_hint_names_the_processor(files, name):
    source, _code = files
    out = run("debug", f"{source}@{name}", "-O2", "-batch", "-ex", LAUNCH, "-ex", "print i").stdout
    assert f"hint: `dwarfgpu debug {source}@{name}` compiles it with -O0" in out


@pytest.mark.parametrize("asked", [["--break", "m.cl:6"], ["--until", "m.cl:6 if i > 3"], ["--watch", "sum"]])
@pytest.mark.sampled(6)
def test_a_run_says_how_to_check_variables_of_optimized_code(files, asked):
    source, code = files
    launch = "mean", "--grid", 64, "--work-group", 64, *WORDS
    hint = f"`dwarfgpu judge {code} mean ... --against {source}` checks them"
    assert hint in run("run", code, *launch, *asked).stderr
    assert "judge" not in run("run", code, *launch).stderr
    assert "judge" not in run("run", source, *launch, *asked).stderr


def test_the_ways_back_hold_for_optimized_code(files):
    _source, code = files
    ended = debug(code, "delete", "continue").stdout
    watch = ended.partition("; `")[2].partition("`")[0]
    assert watch == 'watch $_arg("NAME")[N]'
    out = debug(
        code, "delete", "continue", watch.replace("NAME", "out").replace("[N]", "[3]"), "reverse-continue"
    ).stdout
    assert "Old value = 3.5\nNew value = 0\n" in out


def test_a_place_that_has_the_value_is_named(files):
    _source, code = files
    out = debug(code, "info locals").stdout
    address = out.partition("`tbreak *")[2].partition("`")[0]
    name = out.partition(" stop where ")[2].split()[0]
    after = debug(code, f"tbreak *{address}", "continue", f"print {name}").stdout
    assert "$1 = " in after


def test_the_memory_of_a_lost_argument_can_be_read(files):
    _source, code = files
    out = debug(code, "info args", "print in").stdout
    assert out.count('`print *$_arg("in")@8` is the memory that in pointed to at the launch') == 1
    assert "$1 = {0, 1, 2, 3, 4, 5, 6, 7}\n" in debug(code, 'print *$_arg("in")@8').stdout


def test_local_memory_of_an_inlined_function_is_reached_by_its_name(require_tool, tmp_path):
    require_tool("clang-22")
    source = tmp_path / "r.cl"
    source.write_text(
        "kernel void rev(global int *out) {\n  local int tile[64];\n  int i = get_local_id(0);\n  tile[i] = i + 5;\n"
        "  barrier(CLK_LOCAL_MEM_FENCE);\n  int k = tile[63 - i];\n"
        "  out[i] = k;\n}\n"
    )
    run("compile", source, "-O2", "-o", tmp_path / "r.co")
    words = "rev", "--grid=64", "--work-group=64", "out=zeros(64)"
    steps = "break 7", "continue", "print tile[3]", "info locals"
    done = run("debug", tmp_path / "r.co", *words, "-batch", *(word for step in steps for word in ("-ex", step)))
    assert done.stderr == ""
    assert "$1 = 8\nk = " in done.stdout
    assert "\ntile = {5, 6, 7, " in done.stdout


def test_a_variable_that_cannot_be_watched_yet_says_where_it_can(files, tmp_path):
    source, code = files
    optimized = run("debug", code, "-batch", "-ex", LAUNCH, "-ex", "watch sum").stderr
    assert re.search(r"hint: `tbreak \*0x[0-9a-f]+` and `continue` stop where sum has one\n", optimized)
    plain = run("debug", source, "-batch", "-ex", LAUNCH, "-ex", "watch sum").stderr
    assert plain.endswith("\nhint: it is in the body of mean, where `break mean` stops\n")
    hip = tmp_path / "k.hip"
    code = 'extern "C" __global__ void mean(int *in, int *out) {\n  int sum = *in;\n  *out = sum;\n}\n'
    hip.write_text(f"#include <hip/hip_runtime.h>\n{code}")
    unset = run("debug", hip, "-batch", "-ex", LAUNCH, "-ex", "watch sum").stderr
    assert (
        "error: the function has not set up its frame yet\nhint: `tbreak mean` and `continue` stop where it has;"
        in unset
    )


def test_a_value_that_is_absent_for_another_reason_has_not_changed(files):
    _source, code = files
    steps = "break 6", "continue", "watch sum", "reverse-continue", "reverse-continue", "delete 1 2", "continue"
    out = debug(code, *steps, "continue", "continue").stdout
    values = re.findall(r"Old value = (.)[^\n]*\nNew value = (.)", out)
    assert values
    assert ("<", "<") not in values


def test_a_run_says_of_a_condition_without_a_value_before_it_runs(files):
    _source, code = files
    words = "mean", "--grid=64", "--work-group=64", *WORDS, "--break=5"
    err = run("run", code, *words, "--if=i == 3").stderr.splitlines()
    assert err[0].startswith("hint: i has no value ")
    assert "so waves that come there stop whatever `i == 3` is: " in err[0]
    assert "has no value" not in run("run", code, *words, "--if=get_global_id(0) == 3").stderr.partition("\n")[0]


def test_a_run_says_what_to_type(files):
    source, code = files
    words = "mean", "--grid=64", "--work-group=64", *WORDS
    answer = run("run", code, *words, "--break=5")
    assert f"`dwarfgpu run {source} mean ...` compiles it with -O0" in answer.stderr
    name = answer.stderr.partition("--watch ")[2].split()[0]
    assert f"the values of {name} where" in run("run", code, *words, "--watch", name).stdout
    answer = run("run", code, *words, "--watch=out")
    assert "out had no value" in answer.stdout
    assert f"`dwarfgpu run {source} mean ...` compiles it with -O0" in answer.stderr
    assert "-O0" not in run("run", source, *words, "--break=5").stderr
