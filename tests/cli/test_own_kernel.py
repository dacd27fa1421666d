"""What a user sees who runs a kernel of his own, with local memory and a function that it calls."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.compilers.sources import Library
from dwarfgpu.execution.launch import launch as launching
from tests.questions.harness import Run

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tests/execution/control/segments.cl"
BUILDS = [("gfx90a", "O0"), ("gfx1100", "O0"), ("gfx1100", "O2")]
IDENTIFIERS = "-include", str(ROOT / "tests/execution/kernels.h")


@pytest.fixture(scope="module")
def built(require_tool, tmp_path_factory):
    """``built("gfx90a", "O0")`` is the path of the kernel; the folder has its argument."""
    folder = tmp_path_factory.mktemp("segments")
    clang = require_tool("clang-22")
    np.save(folder / "in.npy", np.arange(128, dtype="i4") % 3)

    def build(processor, level):
        path = folder / f"segments.{processor}.{level}.co"
        if not path.exists():
            options = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", f"-{level}"]
            command = [clang, *options, "-g", "-w", "-nogpulib", *IDENTIFIERS, SOURCE.name, "-o", str(path)]
            subprocess.run(command, check=True, capture_output=True, cwd=SOURCE.parent)
        return str(path)

    return build


@pytest.fixture
def launch(built, run):
    """``launch("gfx90a", "O0", *options)`` runs the kernel: the status, the output and the hints."""

    def call(processor, level, *options, out="zeros(128)"):
        path = built(processor, level)
        given = (f"in=@{Path(path).parent / 'in.npy'}", f"out={out}", "n=128")
        return run("run", path, "segments", "--grid", "128", *given, *options)

    return call


def debugged(path):
    debugger = Run(path)
    debugger(f"target launch segments 128 64 in=@{Path(path).parent / 'in.npy'} out=zeros(128) n=128")
    return debugger


@pytest.mark.parametrize("build", BUILDS, ids="-".join)
@pytest.mark.sampled(6)
def test_a_name_with_an_offset_is_one_address(built, launch, build):
    at = debugged(built(*build))
    shown = at("x/2i segments").splitlines()[1]  # the second instruction
    address, place = re.match(r"\s*(0x\w+) <(segments\+\d+)>:", shown).groups()
    assert at(f"disassemble {place},+4").splitlines()[1].split()[:2] == [f"{int(address, 16):#018x}", f"<{place}>:"]
    assert at(f"break *{place}").startswith(f"Breakpoint 1 at {address}")
    assert "locations" not in at("break segments+8")
    assert "<segments>" in at("print segments")
    first = int(address, 16) - int(place.partition("+")[2])
    assert f"at address {first:#x}" in at("info address segments")
    out = launch(*build, "--until", place)[1]
    assert f"the run has come to {address} in {place}" in " ".join(out.split())


@pytest.mark.parametrize("build", BUILDS[:2], ids="-".join)
def test_the_body_of_a_kernel_has_its_own_label(built, build):
    at = debugged(built(*build))
    at("break segments.cl:18", "continue")
    label = "<__clang_ocl_kern_imp_segments+"
    assert label in at("x/i $pc")
    assert label in at("info line 18")
    assert label in at("disassemble $pc,+4")


@pytest.mark.parametrize("build", BUILDS[:2], ids="-".join)
def test_parameters_are_not_set_where_a_function_begins(built, build):
    at = debugged(built(*build))
    stopped = at("advance *weight")
    assert "weight (v=<not set yet>, scale=<not set yet>, k=<not set yet>)" in " ".join(stopped.split())
    assert at("info args").count("<not set yet> (the function has not set up its frame yet)") == 3
    assert "scale=0.5, k=0)" in at("next")


@pytest.mark.parametrize("build", BUILDS[:2], ids="-".join)
def test_no_instruction_of_its_beginning_gives_a_kernel_wrong_arguments(built, build):
    at = debugged(built(*build))
    for _ in range(200):
        shown = " ".join(at("info args").split())
        if "n = 128" in shown:
            break
        assert shown.count("<not set yet> (launched with ") == 3
        at("stepi")
    assert "n = 128" in shown


@pytest.mark.slow
@pytest.mark.parametrize("build", BUILDS[:1], ids="-".join)
def test_lines_show_variables_of_their_own_function(launch, build):
    status, out, _err = launch(*build, "--trace=lines", "--lane", "2")
    lines = out.splitlines()
    assert status == 0
    assert max(map(len, lines)) <= 80
    calls = [number for number, line in enumerate(lines) if line.startswith("segments.cl:3 in weight")]
    assert len(calls) == 2  # lane 2 has two cells
    for call in calls:
        assert " = " not in lines[call - 1]  # nothing of `weight` below the line of its caller
        assert next(line for line in lines[call:] if " = " in line).startswith("    v = 2  scale = 0.5  k = ")
    assert [line for line in lines if line.startswith("    sum = ")][-1] == "    sum = 2.5"


@pytest.mark.slow
def test_lines_leave_out_what_a_lane_takes_no_part_in(launch):
    assert "segments.cl:20 in" not in launch("gfx1100", "O0", "--trace=lines", "--lane", "2")[1]
    traced = launch("gfx1100", "O0", "--trace=lines", "--lane", "3")[1]
    assert "segments.cl:20 in" in traced
    assert "segments.cl:18 in" not in traced  # its cell is 0


def test_where_waves_stop_the_line_and_its_values_are_shown(launch):
    status, out, err = launch("gfx90a", "O0", "--break", "segments.cl:20")
    text = " ".join(out.split())
    assert status == 0
    assert "lanes 3,7,11,15,19,23,27,31,35,39,43,47,51,55,59,63, work-items between [3,0,0] and [63,0,0]," in text
    assert "global ids between (67,0,0) and (127,0,0)" in text
    assert "20 out[gid] = sum; wave 1, lane 3:" in text
    assert "gid = 3" in text
    assert "sum = 0" in text
    assert "-ex 'break segments.cl:20' -ex continue` goes there; `reverse-step` goes back\n" in err
    assert max(map(len, out.splitlines())) <= 80


def test_lanes_with_a_gap_are_no_range(launch):
    out = launch("gfx1100", "O0", "--break", "segments.cl:18", "--if", "lid == 4 || lid == 19")[1]
    assert "work-items [4,0,0] and [19,0,0], global ids (68,0,0) and (83,0,0)" in " ".join(out.split())


def test_a_fault_says_which_work_items_of_the_grid(launch):
    status, out, _err = launch("gfx1100", "O0", out="zeros(100)")
    assert status == 1
    text = " ".join(out.split())
    assert "work-items between [39,0,0] and [63,0,0], global ids between (103,0,0) and (127,0,0)) wrote" in text


def test_a_condition_without_a_value_names_the_variable(launch):
    status, _out, err = launch("gfx1100", "O2", "--break", "segments.cl:18", "--if", "gid == 1 && lid == 1")
    assert status == 1
    assert "(lid: it has no location at" in " ".join(err.split())


def test_a_watched_expression_without_a_value_names_the_variable(launch):
    status, out, _err = launch("gfx1100", "O2", "--watch", "lid < n")
    assert status == 1
    assert "had no value where a line began: lid: it has no location at" in " ".join(out.split())


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100"])
def test_local_memory_is_seen_without_optimization(launch, processor):
    status, out, _err = launch(processor, "O0", "--break", "segments.cl:18", "--if", "lid == 5 && cells[lid] == 2")
    assert (status, "lane 5" in out, "wave 1" in out or "1:1:1:1" in out) == (0, True, True)
    status, out, _err = launch(processor, "O0", "--watch", "cells[lid]", "--wave", "1", "--lane", "4")
    assert (status, {line.split()[-1] for line in out.splitlines()[4:]}) == (0, {"1"})


@pytest.mark.slow
def test_one_wave_and_one_lane_are_watched(launch):
    out = launch("gfx1100", "O0", "--watch", "j", "--wave", "2", "--lane", "2")[1]
    rows = [line.split() for line in out.splitlines()[3:]]
    assert out.splitlines()[2].split() == ["instructions", "wave", "line", "value"]
    assert {row[1] for row in rows} == {"1:1:1:2"}
    assert [row[3] for row in rows] == ["0", "1"]  # lane 34 has one cell, lane 33 none
    none = launch("gfx1100", "O0", "--watch", "j", "--wave", "2", "--lane", "1")[1]
    assert [line.split()[3] for line in none.splitlines()[3:]] == ["0"]
    wide = launch("gfx1100", "O0", "--watch", "gid * 3")[1]
    assert max(map(len, wide.splitlines())) <= 80
    assert "[31]=93" in wide
    assert launch("gfx1100", "O0", "--watch", "j", "--wave", "9")[2].startswith("dwarfgpu: error: there is no wave 9")


@pytest.mark.parametrize("option, value", [("--trace", "lines"), ("--check", "init,race"), ("-check", "all")])
def test_a_value_apart_from_its_option_is_hinted_at(launch, run, option, value):
    name = option.lstrip("-")
    assert f"hint: did you mean --{name}={value}?" in launch("gfx1100", "O0", option, value)[2]
    assert f"--{name}[=" in run("run", "--help")[1]


KERNELS = "kernel void first(global int *out, int n) { int at = n; out[0] = at; }\nkernel void second() {}\n"


@pytest.fixture
def source(require_tool, tmp_path, monkeypatch):
    """The name of a source in the folder."""
    require_tool("clang-22")
    monkeypatch.chdir(tmp_path)
    Path("own.cl").write_text(KERNELS)
    return "own.cl"


CORE = "dwarfgpu/examples/blur.core"
SIZES = ("--grid", "1", "--work-group", "1")
WRONG = [
    (("run", "own.cl", "frist", *SIZES), "own.cl has no kernel 'frist'\nhint: did you mean first?"),
    (("run", "own.cl@gfx90a", "x", *SIZES), "own.cl@gfx90a has no kernel 'x'\nhint: it has first, second"),
    (("run", "own.cl", "out=zeros(1)", *SIZES), "the name of a kernel is missing before out=zeros(1)\nhint: the file"),
    (("run", "own.cl", "first", "zeros(1)", "1", *SIZES, "--watch", "ta"), "no variable `ta` in first, at column 1"),
    (("run", "own.cl", "first", "zeros(1)", "[1]", *SIZES), "argument n (int) of first is int, not [1]"),
    (("fault", "own.cl"), "own.cl is code, not a state"),
    (("fault", CORE, "own.cl"), "own.cl is not among the 1 code objects of the core file"),
]  # fmt: skip


@pytest.mark.parametrize("words, message", WRONG)
@pytest.mark.sampled(6)
def test_messages_have_the_name_of_the_source(source, run, words, message):
    words = [str(ROOT / word) if word == CORE else word for word in words]
    status, out, err = run(*words)
    assert (out, " ".join(message.split()) in " ".join(err.split())) == ("", True)
    assert status in (1, 2)


def test_answers_have_the_name_of_the_source(source, run):
    for words in (
        ("info", source),
        ("ls", source, "--json"),
        ("verify", source, "--json"),
        ("kernels", source, "--json"),
    ):
        _status, out, _err = run(*words)
        assert f'"file": "{source}"' in out or out.startswith(f"{source}\n")
    assert "compiled to" in run("info", source)[1]


def test_a_source_is_compared_with_itself_without_optimization(source, run):
    words = ("judge", source, "first", *SIZES, "zeros(1)", "7", "-O2")
    status, out, err = run(*words)
    assert (status, err.count(f"the values are compared with those of {source} at -O0")) == (0, 1)
    compared = " ".join(out.split())
    assert f"against {source} -O0 values % available % of these right" in compared


def test_a_source_that_has_changed_is_launched_anew(source):
    machine, out = launching.machine_for(source, "first"), np.zeros(1, "i4")
    launched = [launching.launch(machine, source, "first", grid=1, work_group=1, args=[out, 1])]
    Path(source).write_text(KERNELS.replace("= n", "= n + 1"))
    launched.append(launching.launch(machine, source, "first", grid=1, work_group=1, args=[out, 1]))
    assert len({each.plan.file.image.path for each in launched}) == 2


def test_a_buffer_that_is_saved_and_printed_is_one_line(source, run):
    out = run("run", source, "first", "zeros(1)", "7", *SIZES, "--save", "out=out.npy", "--print", "out")[1]
    assert [line for line in out.splitlines() if line.startswith("out = ")] == ["out = {7} (1 int32) -> out.npy"]


LOCAL = "kernel void k(global int *out, int n) { local int t[4]; t[n] = n; out[0] = t[0]; %s }"


def test_what_clang_says_of_its_own_body_of_a_kernel_is_not_told(source, run):
    Path("local.cl").write_text(LOCAL % "")
    assert "warning" not in run("compile", "local.cl", "-O2")[2]
    Path("local.cl").write_text(LOCAL % "n == 1;")
    err = run("compile", "local.cl", "-O2")[2]
    assert ("result unused" in err, "non-kernel function" in err) == (True, False)


def test_a_file_that_the_user_did_not_name_is_replaced_with_a_word(source, run):
    Path("local.cl").write_text(LOCAL % "")
    words = [("compile", "local.cl")] * 2 + [("compile", "local.cl", "-o", "local.co")]
    assert ["replaced" in run(*each)[1] for each in words] == [False, True, False]


def test_a_library_that_is_built_is_told_where_there_is_no_terminal(source, run, monkeypatch):
    monkeypatch.setattr("dwarfgpu.progress.DELAY", 0.0)
    monkeypatch.setattr("dwarfgpu.children.INTERVAL", 0.001)
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setattr("dwarfgpu.compilers.sources._library", Library)  # whatever was built in this process
    assert "building the built-in functions for amdgcn-gfx1100-wave32 (once, " in run("kernels", source)[2]
    assert run("kernels", source)[2] == ""


def test_a_text_fills_an_array_of_characters_and_is_shown_as_one(run, require_tool, tmp_path):
    require_tool("clang-22")
    source = tmp_path / "texts.cl"
    source.write_text(
        "typedef struct { int id; char text[8]; } rec;\n"
        "kernel void texts(global rec *r) {\n  int i = get_global_id(0);\n  r[i].text[0] = 'J';\n  r[i].id++;\n}\n"
    )

    def shown(text, part):
        words = "texts", "--grid=2", "--work-group=2", f'r=[{{"id": 1, "text": "Hello"}}, {{"id": 2, "text": {text}}}]'
        return run("run", str(source), *words, f"--print={part}")

    assert 'r[0].text = {"Jello"} (1 char [8])' in shown('""', "r[0].text")[1]
    assert 'r[1] = {{id = 3, text = "J2345678"}} (1 rec)' in shown('"12345678"', "r[1]")[1]
    assert "r[1].text = {{74, 1, 0, 0, 0, 0, 0, 0}} (1 char [8])" in shown("[0, 1, 0, 0, 0, 0, 0, 0]", "r[1].text")[1]
    assert "argument r[1].text of texts has 8 characters, and the text has 9" in shown('"123456789"', "r")[2]
