"""What `fault` says of crashes that `run` makes, against what `run` itself knows of them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import dwarfgpu
from dwarfgpu.questions import faults
from tests.builders.code_objects import run as call
from tests.builders.parameters import for_each

pytestmark = pytest.mark.usefixtures("patience")

FIXTURES = Path(__file__).parents[2] / "fixtures/amdgpu"
SAXPY = "saxpy --grid 64 --work-group 64 a=2 n=64"
CRASHES = {
    "past the end": ("x=ones(10)", "y=ones(64)", "x", 0, 78),
    "a store past the end": ("x=ones(64)", "y=ones(40)", "y", 0, 79),
    "nothing": ("x=ones(64)", "y=0", "y", None, 79),
}
"""Two arguments, the one that is missed, and how far behind its end the nearest lane is; None for a null
pointer; and the line."""


@pytest.fixture
def crash(run: Any, tmp_path: Path) -> Any:
    """Make a crash, and return what `fault` says of it as JSON, of the snapshot and of the core file made of that."""

    def crash(name: str, kind: str) -> list[dict[str, Any]]:
        x, y, *_expected = CRASHES[kind]
        file, state, core = FIXTURES / name, tmp_path / "crash.json", tmp_path / "crash.core"
        assert run("run", file, *SAXPY.split(), x, y, "--state", state)[0] == 1
        made = f"generate-core-file {core}"
        assert run("debug", file, "--state", state, "-batch", "-ex", made)[0] == 0
        return [json.loads(run("fault", each, file, "--json")[1]) for each in (state, core)]

    return crash


def test_a_core_file_opens_in_the_lane_that_missed_memory(crash, run, tmp_path):
    name = "cl-kernels.gfx90a.w64.O0.v5.co"
    _snapshot, document = crash(name, "past the end")
    text = run("debug", FIXTURES / name, "--state", tmp_path / "crash.core", "-batch", "-ex", "info waves")[1]
    assert document["faults"][0]["accesses"][0]["outside"][0]["lanes"][0] == 10
    assert "Current wave is 1, lane 10 " in text, text


@pytest.mark.parametrize("level", ["O0", "O2", "O2 without registers"])
def test_an_argument_that_is_only_near_is_probable(run, tmp_path, level):
    """It is certain if the line names it, or if its address in scalar registers was added to the index."""
    file, state = FIXTURES / f"cl-kernels.gfx1100.w32.{level[:2]}.v5.co", tmp_path / "crash.json"
    run("run", file, *SAXPY.split(), "x=ones(10)", "y=ones(64)", "--state", state)
    if level.endswith("registers"):
        snapshot = json.loads(state.read_text("utf-8"))
        for wave in snapshot["waves"]:
            wave["registers"] = {name: value for name, value in wave["registers"].items() if name[0] != "s"}
        state.write_text(json.dumps(snapshot), "utf-8")
    probably = "probably " if level.endswith("registers") else ""
    assert f"  {probably}0 to 212 bytes past the end of `x`, which has 40 bytes" in run("fault", state, file)[1]
    (access,) = json.loads(run("fault", state, file, "--json")[1])["faults"][0]["accesses"]
    assert access["missed"][0]["certain"] == (not probably)


def test_the_code_of_an_opencl_kernel_has_the_name_of_the_kernel(run, require_tool, tmp_path):
    """Also where no debugging information says so; the symbol that clang gives it keeps its own name."""
    source, file, state = (tmp_path / name for name in ("k.cl", "k.co", "crash.json"))
    source.write_text("kernel void keeps(global int *out) { out[0] = 1; }\n")
    words = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-x", "cl", "-cl-std=CL2.0", "-O0", "-nogpulib"]
    subprocess.run([require_tool("clang-22"), *words, source, "-o", file], check=True)
    launch = ("keeps", "--grid", "32", "--work-group", "32", "0")
    text = run("run", file, *launch, "--state", state)[1]
    (pc,) = {line.split()[3] for line in text.splitlines() if line.startswith("wave 1 at ")}
    texts = [text, run("fault", state, file)[1], run("bt", file, "--state", state)[1]]
    texts += [run("waves", file, "--state", state)[1], run("run", file, *launch[:-1], "zeros(1)", "--break", pc)[1]]
    assert not [text for text in texts if "__clang_ocl" in text]
    assert texts[1].startswith("keeps (): MEMORY_VIOLATION (")
    assert texts[2].count(" in keeps ()\n") == 2
    assert texts[4].startswith(f"keeps: breakpoint 1 at {pc} in keeps\n")
    symbol = run("debug", file, "--state", state, "-batch", "-ex", "info symbol $pc")[1]
    assert "\n__clang_ocl_kern_imp_keeps + " in symbol


TARGETS = ("gfx1100.w32", "gfx90a.w64", "gfx942.w64", "gfx1030.w32", "gfx1200.w32")
FILES = [f"cl-kernels.{target}.{level}.v5.co" for target in TARGETS for level in ("O0", "O2")]


@pytest.mark.parametrize("kind", CRASHES)
@pytest.mark.parametrize("name", [FILES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in FILES[1:])])
@pytest.mark.sampled(6)
def test_the_argument_and_the_distance_are_right(crash, name, kind):
    *_arguments, missed, distance, line = CRASHES[kind]
    for document in (documents := crash(name, kind)):
        (fault,) = document["faults"]
        assert fault["kernel"] == "saxpy"
        assert fault["source"].endswith(f"kernels.cl:{line}")
        (access,) = fault["accesses"]
        assert [row["argument"] for row in access["missed"]] == [missed]
        assert access["null"] == (distance is None)
        assert access["null"] or access["missed"][0]["nearest"] == distance
    snapshot, core = (document["faults"][0]["accesses"][0]["outside"] for document in documents)
    assert [row["lanes"] for row in snapshot] == [row["lanes"] for row in core]


def test_text_says_which_lanes_missed_what(run, tmp_path):
    file, state = FIXTURES / "cl-kernels.gfx1100.w32.O0.v5.co", tmp_path / "crash.json"
    run("run", file, *SAXPY.split(), *CRASHES["past the end"][:2], "--state", state)
    status, text, _ = run("fault", state)
    assert status == 0
    words = " ".join(text.split())
    assert "lanes [10-31] (work-items [10,0,0] to [31,0,0]) read 4 bytes at 0x" in words
    assert "this is `x[i]` 0 to 212 bytes past the end of `x`, which has 40 bytes" in words
    assert "i = 10 .. 31" in words
    assert " product = 0" not in words  # which begins on the line that failed
    assert run("debug", file, "--state", state, "-batch", "-ex", "info fault")[1].endswith(text)


LAUNCH = "target launch saxpy 64 64 y=ones(64) x=arange(32) a=2 n=64"
CHANGED = "`i` was last changed at src/opencl/kernels.cl:76, from 0 to 32: in wave 2, lane\n"


def test_a_machine_that_ran_says_what_changed_the_index_last(run, monkeypatch):
    """The waves stay where they are; and one of a user's changes is not taken for one of the kernel."""
    file = FIXTURES / "cl-kernels.gfx1100.w32.O0.v5.co"
    commands = LAUNCH, "continue", "info fault", "stepi", "watch i", "reverse-continue"
    _status, text, problems = run("debug", file, "-batch", *(f"-ex={each}" for each in commands))
    _before, told, behind = text.partition(CHANGED)
    assert told, text
    assert "the wave has stopped: MEMORY_VIOLATION" in problems
    assert "Hardware watchpoint 1: i\n" in behind
    assert "Old value = 32\nNew value = 0\n" in behind
    assert "kernels.cl:76\n" in behind
    commands = LAUNCH, "continue", "set var i = 40", "info fault"
    assert "last changed" not in run("debug", file, "-batch", *(f"-ex={each}" for each in commands))[1]
    monkeypatch.setattr(faults, "MOST_SECONDS", 0.0)
    text = run("debug", file, "-batch", f"-ex={LAUNCH}", "-ex=continue", "-ex=info fault", "-ex=stepi")[1]
    assert text.endswith("what changed the variables last was not found in 0 s: `watch` goes further\n")


SCENE = """
typedef struct { float x, y; } Point;

__attribute__((noinline)) float height(global const Point *points, int at) {
  return points[at].y;
}

kernel void heights(global float *out, global const Point *all, int first) {
  int i = __builtin_amdgcn_workitem_id_x();
  out[i] = height(all, first + i);
}
"""


@pytest.mark.parametrize("level", ["O0", "O2"])
def test_the_calls_that_led_there_have_their_lines_and_values(run, tmp_path, level, require_tool):
    """With the member of the structure that is read, and the argument that the parameter was."""
    source, file, state = (tmp_path / f"scene.{end}" for end in ("cl", "co", "json"))
    source.write_text(SCENE)
    require_tool("ld.lld-22")
    options = f"-cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx1100 -nogpulib -g -{level}"
    call(require_tool("clang-22"), *options.split(), source, "-o", file)
    words = ("heights", "--grid", "64", "--work-group", "64", "out=zeros(64)", "all=zeros(80,f4)", "first=8")
    assert run("run", file, *words, "--state", state)[0] == 1
    (fault,) = json.loads(run("fault", state, file, "--json")[1])["faults"]
    assert fault["line"].strip() == "return points[at].y;"
    (access,) = fault["accesses"]
    (missed,) = access["missed"]
    assert (missed["argument"], missed["nearest"], missed["farthest"]) == ("all", 4, 252)
    assert access["expression"] == ("points[at].y" if level == "O0" else None)
    caller = fault["callers"][0]
    assert (caller["function"], caller["line"].strip()) == ("heights", "out[i] = height(all, first + i);")
    if level == "O0":
        values = {row["name"]: row["value"] for row in caller["values"]}
        assert (values["first"], values["i"]) == ("8", "32 .. 63")
        commands = "target launch heights 64 64 zeros(64) zeros(80,f4) 8", "continue", "info fault"
        words = " ".join(run("debug", file, "-batch", *(f"-ex={each}" for each in commands))[1].split())
        assert (
            "scene.cl:9, from 0 to 32: in wave 2, lane 0, `frame 1`, `watch i` and `reverse-continue` go there" in words
        )


@pytest.mark.parametrize("level", ["O0", "O2"])
def test_a_run_and_its_snapshot_say_what_changed_the_index_last(run, require_tool, tmp_path, level):
    """The index is in memory at -O0, and in a register at -O2."""
    source, file, state = (tmp_path / name for name in ("k.cl", "k.co", "crash.json"))
    source.write_text(
        "kernel void keeps(global int *out, int n) {\n  int at = 0;\n  for (int k = 0; k < n; k++) {\n"
        '    at = at * 2 + 1;\n    __asm__ volatile("" : "+v"(at));\n    out[at] = k;\n  }\n}\n'
    )
    words = f"-target amdgcn-amd-amdhsa -mcpu=gfx1100 -x cl -cl-std=CL2.0 -g -{level} -nogpulib".split()
    subprocess.run([require_tool("clang-22"), *words, source, "-o", file], check=True)
    launch = ("keeps", "--grid", "32", "--work-group", "32", "out=zeros(10)", "n=64", "--state", state)
    text = " ".join(run("run", file, *launch)[1].split())
    said = "`at` was last changed at" if level == "O0" else "the register of `at` was last changed at"
    assert said in text
    assert ", from 7 to 15 (wave 1, lane 0)" in text if level == "O0" else ", to 15 (wave 1, lane 0)" in text
    (fault,) = json.loads(run("fault", state, file, "--json")[1])["faults"]
    (change,) = (row for row in fault["changes"] if row["name"] == "at")
    assert (change["source"].endswith("k.cl:4"), change["new"], change["wave"]) == (True, "15", 1)
    state.unlink()
    (of_run,) = json.loads(run("run", file, *launch, "--json")[1])["faults"]
    assert of_run == fault
    (access,) = fault["accesses"]
    each = access["outside"][0]["each"]
    assert [row["lane"] for row in each] == access["outside"][0]["lanes"]
    assert each[5] == {"lane": 5, "work_item": [5, 0, 0], "address": access["outside"][0]["addresses"][5]}
    assert [row["name"] for row in fault["arguments"]] == ["out", "n"]


def test_a_state_without_a_crash_is_refused(run, tmp_path):
    file, state = FIXTURES / "cl-kernels.gfx1100.w32.O0.v5.co", tmp_path / "well.json"
    run("run", file, *SAXPY.split(), "x=ones(64)", "y=ones(64)", "--limit", 20, "--state", state)
    status, _, error = run("fault", state)
    assert (status, error.splitlines()[0]) == (1, "dwarfgpu: error: no wave has crashed, and no wave is known to wait")


def test_the_file_may_be_named_first_and_a_page_that_nothing_reaches_is_told(run, tmp_path):
    file, state = FIXTURES / "cl-kernels.gfx1100.w32.O2.v5.co", tmp_path / "crash.json"
    run("run", file, *SAXPY.split(), "x=ones(10)", "y=ones(64)", "--state", state)
    text = run("fault", state, file)[1]
    assert " = <optimized out>\n" in text
    assert run("fault", file, state)[1] == text
    problem = "no failed access is in the page of the reported address 0x1234000\n"
    assert run("fault", state, "--address", "0x1234000")[1] == text + problem


def test_a_state_whose_code_is_not_here_names_it(run, tmp_path):
    code, state = tmp_path / "k.co", tmp_path / "crash.json"
    code.write_bytes((FIXTURES / "cl-kernels.gfx1100.w32.O2.v5.co").read_bytes())
    run("run", code, *SAXPY.split(), "x=ones(10)", "y=ones(64)", "--state", state)
    moved = code.rename(tmp_path / "moved.co")
    for words in (["fault", state], ["fault", "--state", state]):
        status, _, error = run(*words)
        assert status == 2
        assert f"crash.json: its code object {code} is not here\nhint: name the code with it" in error
    assert run("fault", state, moved)[0] == 0
    with pytest.raises(dwarfgpu.UsageError, match="its code object"):
        dwarfgpu.open_core(state)


def test_python_gets_the_fields_of_the_command(run):
    core = FIXTURES.parents[1] / "dwarfgpu/examples/blur.core"
    stopped = dwarfgpu.open_core(core)
    assert {"schema": 1, **dwarfgpu.fault(stopped)} == json.loads(run("fault", core, "--json")[1])
    far = dwarfgpu.fault(stopped, 0x1234000)["faults"]
    assert far == json.loads(run("fault", core, "--address", "0x1234000", "--json")[1])["faults"]
    assert far[0]["problems"] == ["no failed access is in the page of the reported address 0x1234000"]


def test_python_finds_no_fault_where_no_wave_has_crashed():
    stopped = dwarfgpu.open(FIXTURES.parent / "asm/lane-pc.gfx90a.w64.co").attach(
        FIXTURES.parents[1] / "dwarfgpu/examples/variables.json"
    )
    assert (dwarfgpu.fault(stopped)["faults"], dwarfgpu.fault(stopped)["waits"]) == ([], [])


def test_what_only_the_machine_says_is_a_reason(run, tmp_path):
    """A wave that stopped without one of the reasons that hardware has, next to waves that have not failed."""
    details = ("there is no register 31 of 24", "waits at a barrier", "has ended")
    waves = [{"id": detail, "pc": 0x1540, "exec": 1, "stop_detail": detail} for detail in details]
    state, file = tmp_path / "state.json", FIXTURES.parent / "asm/lane-pc.gfx90a.w64.co"
    state.write_text(json.dumps({"schema": 1, "target": "gfx90a", "waves": waves}))
    (fault,) = json.loads(run("fault", state, file, "--json")[1])["faults"]
    assert (fault["waves"], fault["reasons"], fault["detail"]) == ([details[0]], [], details[0])
    assert f": {details[0]} wave 1" in " ".join(run("fault", state, file)[1].split())


CALLS = """
typedef struct { int cols; global float *data; } View;

__attribute__((noinline)) int twice(int v) {
  return 2 * v;
}

__attribute__((noinline)) float get(View v, int row) {
  v.cols++;
  return v.data[row * v.cols];
}

kernel void views(global float *out, global float *in, int cols) {
  int i = get_global_id(0);
  View v = {cols, in};
  int row = twice(i);
  out[row] = get(v, i) + in[i * v.cols];
}
"""


@pytest.fixture(scope="module")
def calls(require_tool, tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    (folder / "calls.cl").write_text(CALLS)
    require_tool("ld.lld-22")
    for level in ("O0", "O2"):
        options = f"-cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx1100 -nogpulib -g -{level}"
        words = *options.split(), "-Dget_global_id(d)=(int)__builtin_amdgcn_workitem_id_x()"
        call(require_tool("clang-22"), *words, folder / "calls.cl", "-o", folder / f"{level}.co")
    return folder


VIEWS = ("views", "--grid", "64", "--work-group", "64", "out=zeros(128)")


@pytest.mark.parametrize("level", ["O0", "O2"])
@pytest.mark.sampled(6)
def test_without_its_file_the_instruction_is_read_in_memory(run, calls, tmp_path, level):
    """Where the function has no symbol that is loaded."""
    code, state, core = tmp_path / "k.co", tmp_path / "s.json", tmp_path / "c.core"
    code.write_bytes((calls / f"{level}.co").read_bytes())
    run("run", code, *VIEWS, "in=0", "cols=4", "--state", state)
    assert run("debug", code, "--state", state, "-batch", "-ex", f"generate-core-file {core}")[0] == 0
    (known,) = json.loads(run("fault", core, "--json")[1])["faults"]
    code.unlink()
    (fault,) = json.loads(run("fault", core, "--json")[1])["faults"]
    kept = "address", "instruction", "action", "size", "outside", "null"
    assert [[row[key] for key in kept] for row in fault["accesses"]] == [[known["accesses"][0][key] for key in kept]]
    assert (known["function"], fault["function"], fault["kernel"]) == ("get", None, "views")


def test_the_member_that_is_null_and_the_one_that_has_changed_are_named(run, calls):
    text = " ".join(run("run", calls / "O0.co", *VIEWS, "in=0", "cols=4")[1].split())
    assert "this is `v.data[row * v.cols]` `v.data` is null" in text
    assert "`v.cols` was last changed at" in text
    assert "calls.cl:9, from 4 to 5 (wave 1, lane 0)" in text
    assert "`v` was last changed" not in text


def test_an_index_in_memory_has_changed_rather_than_the_variables_that_lead_to_it(run, tmp_path):
    (source := tmp_path / "cells.cl").write_text("""kernel void cells(global int *cell, global int *count) {
  int i = get_global_id(0);
  cell[i] = i * 1000000;
  count[cell[i]] = 1;
}""")
    words = "run", source, "cells", "--grid", 8, "--work-group", 8, "zeros(8,i4)", "zeros(8,i4)"
    text = " ".join(run(*words)[1].split())
    assert re.search(r"`cell\[i\]` was last changed at \S+cells.cl:3, from 0 to 1000000 \(wave 1, lane 1\)", text)
    assert "`i` was last changed" not in text
    source.write_text("""kernel void cells(global int *in, global int *out) {
  int i = get_global_id(0) + 1;
  int index = i * 1000000;
  out[i] = in[index];
}""")
    text = " ".join(run(*words)[1].split())
    assert re.search(r"`index` was last changed at \S+cells.cl:3, from 0 to 1000000", text)
    assert "`i` was last changed" not in text  # `index` has an i, too
    source.write_text("""kernel void cells(global int *data, global int *a) {
  int i = get_global_id(0);
  data[i] = i * 1000000;
  a[i] = 5;
  a[data[i]] = a[i];
}""")
    text = " ".join(run(*words)[1].split())
    assert re.search(r"`data\[i\]` was last changed at \S+cells.cl:3, from 0 to 1000000", text)
    assert "`a[i]` was last changed" not in text  # nor is `a[i]` in `data[i]`


def test_a_call_that_has_returned_is_no_access_in_flight(run, calls, tmp_path):
    """Its stores may be, and those of variables in private memory have not failed."""
    state, core = tmp_path / "s.json", tmp_path / "c.core"
    run("run", calls / "O0.co", *VIEWS, "in=zeros(100)", "cols=1", "--state", state)
    run("debug", calls / "O0.co", "--state", state, "-batch", "-ex", f"generate-core-file {core}")
    (fault,) = json.loads(run("fault", core, "--json")[1])["faults"]
    assert [row["expression"] for row in fault["accesses"]] == ["v.data[row * v.cols]"]
    assert fault["problems"] == []


def test_the_state_may_be_an_option(run):
    core = str(FIXTURES.parents[1] / "dwarfgpu/examples/blur.core")
    assert run("fault", "--state", core)[:2] == run("fault", core)[:2]
    assert run("fault", "--state", core, "--state", core)[:2] == run("fault", core)[:2]


def test_a_stop_in_the_debugger_names_the_variable_in_local_memory(run, require_tool, tmp_path):
    source = tmp_path / "k.cl"
    source.write_text(
        "kernel void tiles(global int *out, int n) {\n  local int tile[64];\n  tile[get_local_id(0) + n] = 1;\n"
        "  out[get_local_id(0)] = tile[0];\n}\n"
    )
    require_tool("clang-22")
    commands = "target launch tiles 64 64 out=zeros(64) n=40", "run"
    text = run("debug", source, "-batch", *(f"-ex={each}" for each in commands))[1]
    assert "\n[0 to 156 bytes past the end of `tile` [local], which has 256 bytes]\n" in text


COPIES = """typedef struct { int rows; global int *data; } View; kernel void copies(View view, int n) {
  local int tile[64]; int i = get_local_id(0);
  if (n) view.data[i + n] = tile[i + n]; else tile[i] = view.data[i]; }"""
NAMED = {64: "`tile[i + n]` 0 to 252 bytes past the end of `tile` [local]", 0: "`view.data[i]` `view.data` is null"}


def test_an_address_in_local_memory_is_not_that_of_a_null_pointer(run, tmp_path):
    """An array in local memory begins at 0, too."""
    source, code = tmp_path / "copies.cl", tmp_path / "copies.co"
    source.write_text(COPIES.replace("; ", ";\n"), "utf-8")
    run("compile", source, "-O", 0, "-o", code)
    for n, named in NAMED.items():
        words = "--grid", 64, "--work-group", 64, '{"rows": 1, "data": 0}', f"n={n}"
        _status, text, hints = run("run", code, "copies", *words)
        assert f"this is {named}" in " ".join(text.split())
        assert "--dynamic-local" not in hints  # which makes no array larger


@pytest.mark.parametrize("level", [0, 2])
def test_a_core_file_knows_the_pointers_of_structures(run, tmp_path, level):
    source, code, core = (tmp_path / f"reads.{end}" for end in ("cl", "co", "core"))
    view = "typedef struct { int rows; global int *data; } View;"
    source.write_text(f"{view}\nkernel void reads(View view, global int *out) {{\n  int i = get_global_id(0);\n"
                      "  out[i] = view.data[i];\n}\n")  # fmt: skip
    run("compile", source, "-O", level, "-o", code)
    launch = """target launch reads 64 64 view={"rows":1,"data":"zeros(40)"} out=zeros(64)"""
    run("debug", code, "-batch", *(f"-ex={each}" for each in (launch, "run", f"generate-core-file {core}")))
    text = run("fault", core, code)[1]
    assert "\n  0 to 92 bytes past the end of `view.data`, which has 160 bytes\n" in text


@pytest.mark.parametrize("version", [4, 5])
def test_an_address_that_the_compiler_has_made_wrongly_is_told(run, require_tool, tmp_path, version):
    """What tells private memory from global memory is at a null pointer in functions of gfx803."""
    source, file = tmp_path / "k.cl", tmp_path / "k.co"
    source.write_text(
        "__attribute__((noinline)) int twice(int v) {\n  int *at = &v;\n  return *at * 2;\n}\n"
        "kernel void k(global int *out) {\n  out[0] = twice(4);\n}\n"
    )
    require_tool("ld.lld-22")
    words = f"-cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx803 -O0 -mcode-object-version={version} -nogpulib -g"
    call(require_tool("clang-22"), *words.split(), source, "-o", file)
    status, text, _err = run("run", file, "k", "--grid", "64", "--work-group", "64", "out=zeros(1)", "--print", "out")
    told = "clang reads hidden arguments of functions at a null pointer in code objects of version 5 and later"
    assert (status, told in " ".join(text.split())) == ((0, False) if version == 4 else (1, True))


PICKS = "int i = get_global_id(0); out[i] = in[i] + (in[i] > 5 ? table[in[i]] : 0);"


def test_code_without_a_line_is_no_cause(run, tmp_path):
    """At -O2 clang gives what makes the address of this access line 0."""
    pointers = "__global const int *in, __global int *out, __global const int *table"
    source, code = tmp_path / "picks.cl", tmp_path / "picks.co"
    source.write_text(f"__kernel void picks({pointers}) {{\n{PICKS}\n}}\n", "utf-8")
    run("compile", source, "-O", 2, "-o", code)
    made = run("run", code, "picks", "--grid", 64, "--work-group", 64, "arange(64)", "zeros(64)", 0)[1]
    assert "`table` is null" in made
    assert "picks.cl:0" not in made


DEEP = """int depth(global int *out, int n) {
  int space[40];
  for (int i = 0; i < 40; i++) space[i] = out[i & 7] + n * i;
  return n == 12345 ? space[out[0] & 31] : depth(out, n + 1) + space[n & 31]; }
kernel void deep(global int *out) { out[get_global_id(0)] = depth(out, 1); }"""


@pytest.mark.slow
def test_arrays_of_a_fault_are_cut_and_no_variable_is_the_cause_of_a_stack_overflow(run, tmp_path):
    source, state = tmp_path / "deep.cl", tmp_path / "deep.json"
    source.write_text(DEEP, "utf-8")
    words = "--grid", 32, "--work-group", 32, "--private-size", 4096, "zeros(32,i4)", "--state", state
    _status, text, hints = run("run", source, "deep", *words)
    assert re.search(r"\n  stack overflow: depth calls itself, \d\d of its calls have not returned\n", text)
    assert "was last changed" not in text
    assert "hint: --private-size N makes private memory larger" in hints
    assert re.search(r"\n  space = \{(\d+,\s+){15}\d+\.\.\.\}\n", run("fault", state)[1])


def test_a_cut_core_file_says_so_before_what_could_not_be_answered(run, tmp_path):
    whole = (FIXTURES.parents[1] / "dwarfgpu/examples/blur.core").read_bytes()
    (tmp_path / "cut.core").write_bytes(whole[: len(whole) // 4])
    _status, _text, errors = run("fault", tmp_path / "cut.core")
    assert errors.startswith(f"dwarfgpu: error: {tmp_path}/cut.core ends before its memory: ")
    assert "2 waves of queue 1 have registers that none of the files contain" in errors
    assert errors.index("no wave has crashed") > errors.index("2 waves of queue 1")


@for_each("size, begin",
    (3000, "the core file has no waves that can be read: {} ends before its memory: "),
    (40000, "{} ends before its memory: "), (60000, "{} ends before its memory: "))  # fmt: skip
def test_a_cut_core_file_has_one_error_however_much_of_it_is_missing(size, begin, run, tmp_path):
    """After 40,000 bytes the code object is missing, and that the file is cut is the reason."""
    cut = tmp_path / "cut.core"
    cut.write_bytes((FIXTURES.parents[1] / "dwarfgpu/examples/blur.core").read_bytes()[:size])
    errors = run("fault", cut)[2]
    assert errors.count("error: ") == 1
    assert f"dwarfgpu: error: {begin.format(cut)}" in errors


LONG = """kernel void last(global int *out, global int *none) {
  int list[60], i = get_global_id(0);
  global int *p = 0;
  for (int k = 0; k < 60; k++) list[k] = k;
  if (i < 99) p = none;
  list[50] = i + 100000000;
  if (none == 0) p[i] = 1;
  out[list[50]] = 1; }"""


@pytest.mark.slow
def test_the_last_change_names_the_element_and_says_nothing_of_a_pointer_that_was_always_null(run, tmp_path):
    source = tmp_path / "last.cl"
    source.write_text(LONG, "utf-8")
    words = "last", "--grid", 32, "--work-group", 32, "zeros(32,i4)"
    text = " ".join(run("run", source, *words, "zeros(32,i4)")[1].split())
    assert "`list[50]` was last changed at" in text
    assert "last.cl:6, from 50 to 100000000 (wave 1, lane 0)" in text
    text = " ".join(run("run", source, *words, "null")[1].split())
    assert "`p` is null" in text
    assert "was last changed" not in text


def lists_named(name, value):
    """Yield what has a name anywhere in a document."""
    if isinstance(value, dict):
        yield from (each for key, each in value.items() if key == name)
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from lists_named(name, each)


def test_lanes_are_always_numbers_in_json(run, tmp_path, require_tool):
    """Those that have executed a trap, too, whose waves are described like those of an access."""
    require_tool("clang-22")
    source, state = tmp_path / "five.cl", tmp_path / "stop.json"
    source.write_text("kernel void five(global int *out) {\n  if (get_global_id(0) == 5)\n    __builtin_trap();\n}\n")
    run("run", source, "five", "--grid", 64, "--work-group", 64, "out=zeros(1)", "--state", state)
    document = json.loads(run("fault", state, source, "--json")[1])
    assert [*lists_named("lanes", document)] == [[5]]
    assert document["faults"][0]["executing"][0]["each"][0]["lane"] == 5


def test_an_index_that_is_loaded_is_a_value_of_the_line(run, require_tool, tmp_path):
    require_tool("clang-22")
    (tmp_path / "k.cl").write_text(
        "kernel void k(global const int *in, global const int *at, global int *out) {\n"
        "  int i = get_local_id(0);\n  out[i] = in[at[i]];\n}\n"
    )
    words = "--grid", "8", "--work-group", "8", "in=ones(9)", "at=[1, 2, 0, 40, 3, 0, 0, 0]", "out=zeros(9)", "--json"
    (fault,) = json.loads(run("run", tmp_path / "k.cl", "k", *words)[1])["faults"]
    assert (fault["accesses"][0]["expression"], fault["accesses"][0]["outside"][0]["lanes"]) == ("in[at[i]]", [3])
    assert {row["name"]: row["value"] for row in fault["values"]}["at[i]"] == "40"


KEEP = """kernel void keep(global const int *in, global int *out, int n) {
  int at = get_local_id(0), sum = 0;
  for (int k = 0; k < n; k++) {
    __asm__ volatile("" : "+v"(at));
    sum += in[at];
    at += 9;
  }
  out[get_local_id(0)] = sum;
}
"""


def test_a_variable_that_contradicts_the_address_is_told(run, require_tool, tmp_path):
    """Optimized code has increased the index before the access."""
    require_tool("clang-22")
    (tmp_path / "k.cl").write_text(KEEP)
    words = "keep", "--grid", "32", "--work-group", "32", "in=ones(50)", "out=zeros(50)", "n=9", "--json"
    (fault,) = json.loads(run("run", tmp_path / "k.cl", "-O2", *words)[1])["faults"]
    (problem,) = fault["problems"]
    assert problem.startswith("`at` is 59 in lane 23, but the address is that of `in[50]`: ")
    (fault,) = json.loads(run("run", tmp_path / "k.cl", *words)[1])["faults"]
    assert (fault["problems"], fault["accesses"][0]["expression"]) == ([], "in[at]")


ROWS = """#include <hip/hip_runtime.h>
struct Rows { const float *data; int width;
  __device__ float at(int row) const {
    return data[row * width]; } };
extern "C" __global__ void sums(Rows rows, float *out) {
  int row = threadIdx.x;
  row += 60000;
  out[threadIdx.x] = rows.at(row); }"""


def test_a_method_shows_members_without_their_object_and_whose_variable_has_changed(run, tmp_path):
    source = tmp_path / "rows.hip"
    source.write_text(ROWS, "utf-8")
    words = "-O0", "--grid", 64, "--work-group", 64, '{"data": "zeros(100)", "width": 4}', "zeros(64)"
    text = run("run", source, "sums", *words)[1]
    assert re.search(r"\n  row = 60000 \.\. 60031\n  data = .*#0x\w+\n  width = 4\n", text)
    assert re.search(r"`row` of sums was last changed at .*rows.hip:7, from 0 to 60000", " ".join(text.split()))
