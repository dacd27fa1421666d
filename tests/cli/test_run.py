import json
import re
import shlex
import signal
import struct
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import dwarfgpu as dg
from dwarfgpu.execution.forms.engine import library
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.machines import snapshot
from dwarfgpu.program.code.code_object import opened
from tests.builders.folders import ROOT
from tests.builders.parameters import for_each

FILE = "fixtures/amdgpu/launch.gfx1100.w32.O2.co"
LAUNCH = ("run", FILE, "group_x", "--grid", "300", "--work-group", "256")


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_a_condition_that_was_false_where_a_line_begins_is_not_said_to_be_false_in_it(run, tmp_path, require_tool):
    """Of --until, too, whose condition is told with its place."""
    require_tool("clang-22")
    source = tmp_path / "set.cl"
    source.write_text(
        "kernel void set(global int *out) {\n  int i = get_global_id(0), b = i;\n  b = b * 2;\n  out[i] = b;\n}\n"
    )
    words = str(source), "set", "--grid", 8, "--work-group", 8, "out=zeros(8)"
    for option in "--break", "--until":
        status, _out, err = run("run", *words, option, "set.cl:3 if b == 12")
        assert (status, err) == (0, (
            "hint: no lane that came to set.cl:3 had `b == 12` before it executed the line\n"
            "hint: --watch b shows the values that b has\n"
        ))  # fmt: skip
    text = run("debug", *words, "-ex=break set if !out", "-ex=run")[1]
    assert "Breakpoint 1 was never hit: no lane that came to set had `!out` there\n" in text


def test_a_saved_buffer_leads_to_who_wrote_it_and_names_are_those_of_the_source(run, tmp_path, require_tool):
    """Waves that start later than others are counted where the launch is told, and where a wave is not there."""
    require_tool("clang-22")
    source = tmp_path / "fill.hip"
    source.write_text(
        "#include <hip/hip_runtime.h>\n__global__ void fill(int *out) {\n  out[blockIdx.x * 32 + threadIdx.x] = 1;\n}\n"
    )
    words = str(source), "fill", "--grid", 128, "--work-group", 32, "out=zeros(128)", "--at-once", 2
    err = run("run", *words, "--save", f"out={tmp_path / 'o.npy'}")[2]
    assert err == "hint: --watch 'out[N]' shows which line and lane wrote an element\n"
    text = run("debug", *words, "-batch", "-ex=run")[1]
    assert "[Launched fill(int*): 4 work-groups, 4 waves, 2 at a time]\n" in text
    assert "[Inferior 1 (fill(int*)) exited normally]\n" in text
    err = run("run", *words, "--trace", "--wave", 3)[2]
    assert "there is no wave 3\nhint: they are 1 to 2: of 4 waves, so many run at a time\n" in err


def test_waves_without_lanes_pass_a_breakpoint_and_this_is_told(run, tmp_path, require_tool):
    """At the branch around what no lane executes; of `--until`, too, and where nothing was at the place at all."""
    require_tool("clang-22")
    source = tmp_path / "around.cl"
    source.write_text(
        "kernel void around(global int *out, int n) {\n  int i = get_global_id(0);\n  if (i >= n + 100)\n"
        "    out[i] = 7;\n  out[i] += 1;\n}\n"
    )
    words = str(source), "-O2", "around", "--grid", 64, "--work-group", 64, "out=zeros(64)", "n=5"
    code = run("debug", *words, "-ex", "x/30i $pc")[1]
    branch = re.search(r"(0x\w+) <.*s_cbranch_execz", code)[1]
    for option in ("--break", "--until"):
        assert (
            f"hint: only waves without an active lane came to *{branch}\n"
            in run("run", *words, option, f"*{branch}")[2]
        )
        assert "hint: no lane came to around.cl:4\n" in run("run", *words, option, "around.cl:4")[2]


def test_elements_of_a_buffer_are_printed_as_python_slices_them(run):
    file, words = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co", ("x=arange(64)", "y=zeros(64)", "a=1", "n=64")
    wanted = np.arange(64)
    for part in ("60:", ":3", "62:64", "-2:", "10:200", "5:5", ":"):
        first, last = (int(bound) if bound else None for bound in part.split(":"))
        out = run("run", file, "saxpy", "--grid", 64, "--work-group", 64, *words, "--print", f"x[{part}]", "--json")[1]
        (buffer,) = json.loads(out)["buffers"]
        assert (buffer["name"], buffer["first"]) == (f"x[{part}]", wanted[first:last].tolist())
        assert buffer["shape"] == [len(buffer["first"])]
    launch = ("run", file, "saxpy", "--grid", 64, "--work-group", 64, *words, "--print")
    assert run(*launch, "x[62:]")[1].endswith("x[62:] = {62, 63} (2 float32)\n")
    for part, elements in (("x[63]", "63"), ("x[-1]", "63"), ("x[3]@2", "3, 4"), ("*x@3", "0, 1, 2"), ("x@2", "0, 1")):
        assert f"{part} = {{{elements}}} (" in run(*launch, part)[1]
    assert "x[64] is not there: x has 64 elements" in run(*launch, "x[64]")[2]
    assert "has no buffer 'z'" in run(*launch, "z[0:1]")[2]


def test_an_address_of_the_file_is_a_place_as_its_loaded_one_is(run):
    launch = (*LAUNCH, "out=zeros(4)", "--break")
    start = opened(FILE).kernels.named("group_x")[0].entry
    out = " ".join(run(*launch, f"*{start:#x}")[1].split())
    loaded = re.search("breakpoint 1 at (0x7f[0-9a-f]+)", out)[1]
    for place in (f"{start:#x}", loaded, f"*{loaded}"):
        assert " ".join(run(*launch, place)[1].split()) == out


def test_a_kernel_runs_and_its_buffer_is_saved_or_in_the_json(run, tmp_path):
    path = tmp_path / "out.npy"
    status, out, err = run(*LAUNCH, "out=zeros(4)", "--save", f"out={path}")
    assert (status, err) == (0, "hint: --watch 'out[N]' shows which line and lane wrote an element\n")
    ended = "group_x: all 10 waves have ended after 60 instructions"
    assert out.split() == f"{ended} out = {{1, 0, 0, 0}} (4 int32) -> {path}".split()
    assert np.load(path).tolist() == [1, 0, 0, 0]
    assert [each.name for each in tmp_path.iterdir()] == ["out.npy"]
    np.save(tmp_path / "in.npy", np.full(3, 9, np.int32))
    status, out, err = run(*LAUNCH, f"@{tmp_path}/in.npy", "--print", "out", "--json", "--profile")
    assert (status, err) == (0, "")
    answer = json.loads(out)
    assert (answer["schema"], answer["kernel"], answer["waves"], answer["waves_ended"]) == (1, "group_x", 10, 10)
    assert answer["stop"] == {"kind": "ended", "reason": "all waves have ended", "waves": []}
    assert answer["buffers"] == [{"name": "out", "type": "int32", "shape": [3], "first": [1, 9, 9], "file": None}]
    assert sum(row["instructions"] for row in answer["profile"]) == answer["instructions"] == 60


@pytest.mark.parametrize(
    "name, begin", [("p.speedscope.json", b'{"$schema"'), ("p.trace.json", b'{"traceEvents"'), ("p.pb.gz", b"\x1f\x8b")]
)
def test_a_profile_is_written_as_its_name_says(run, tmp_path, name, begin):
    status, out, err = run(*LAUNCH, "out=zeros(4)", "--profile", "-o", tmp_path / name)
    assert (status, err) == (0, "")
    assert out.startswith("group_x: all 10 waves")
    assert out.endswith(f"written: {tmp_path / name}\n")
    assert (tmp_path / name).read_bytes().startswith(begin)


def test_other_files_of_a_run_are_the_answer_or_an_error(run, tmp_path):
    trace, text, plain = (tmp_path / name for name in ("t.json", "t.txt", "p.json"))
    status, out, _err = run(*LAUNCH, "out=zeros(4)", "--trace", "-o", trace, "--json", "--profile-format", "chrome")
    assert (status, json.loads(out)["profile_file"]) == (0, str(trace))
    assert json.loads(trace.read_text())["traceEvents"][0]["args"] == {"name": "work-group (0,0,0)"}
    assert run(*LAUNCH, "out=zeros(4)", "--trace", "-o", text)[:2] == (0, "")
    assert "s_endpgm" in text.read_text()
    assert run(*LAUNCH, "out=zeros(4)", "--profile", "--json", "-o", plain)[:2] == (0, "")
    assert json.loads(plain.read_text())["profile"]
    forced = (*LAUNCH, "out=zeros(4)", "--profile", "--json", "-o", plain, "--profile-format", "pprof")
    assert json.loads(run(*forced)[1])["profile_file"] == str(plain)
    assert plain.read_bytes().startswith(b"\x1f\x8b")
    for words, said in (
        (("--profile", "-o", tmp_path / "p.prof"), "does not say which format"),
        (("--profile", "-o", tmp_path / "no/p.pb.gz"), "cannot be written"),
        (("--trace", "-o", tmp_path / "t.pb.gz"), "a trace is written as a Chrome trace alone"),
        (("--trace", "--profile", "-o", trace), "a trace is written as a Chrome trace alone"),
        (("--profile", "--profile-format", "pprof"), "needs --profile or --trace, and -o FILE"),
        (("--profile-format", "pprof", "-o", trace), "needs --profile or --trace, and -o FILE"),
        (("--profile", "--profile-format", "svg", "-o", trace), "svg"),
    ):
        status, out, err = run(*LAUNCH, "out=zeros(4)", *words)
        assert (status, out) == (2, "")
        assert said in err


def test_a_kernel_has_the_name_of_its_source(run):
    words = ("run", "fixtures/amdgpu/hip-kernels.gfx1100.w32.O2.v5.co", "divergent(int*, int)")
    launch = ("--grid", "32", "--work-group", "32", "zeros(32, i4)", "32")
    for name in ("divergent", "_Z9divergentPii"):
        _status, out, _err = run(*words[:2], name, *launch, "--json")
        assert json.loads(out)["kernel"] == "_Z9divergentPii"


def test_what_has_not_ended_or_faults_is_an_answer_with_status_1(run, tmp_path, monkeypatch):
    status, out, _err = run(*LAUNCH, "out=0x1234", "--json")
    assert status == 1
    stop = json.loads(out)["stop"]
    assert (stop["kind"], stop["reason"]) == ("fault", "MEMORY_VIOLATION: no memory at 0x1234")
    assert {"id": "1:1:1:1", "work_group": [0, 0, 0], "lanes": [0]}.items() <= stop["waves"][0].items() or stop["waves"]
    with monkeypatch.context() as there:
        there.chdir(tmp_path)  # whose name may be longer than a line
        status, out, err = run("run", ROOT / FILE, *LAUNCH[2:], "out=0x1234", "--state", "s.json")
    assert status == 1
    assert err.startswith("hint: `dwarfgpu debug --state s.json` opens the snapshot\nhint: compilers describe ")
    assert out.startswith("group_x: MEMORY_VIOLATION at ")
    assert "\n    wrote 4 bytes at 0x1234\n" in out
    assert max(map(len, out.splitlines())) <= 80
    assert snapshot.load(tmp_path / "s.json").wave_count == 10
    path = tmp_path / "out.npy"
    path.write_bytes(b"old")
    status, out, err = run(*LAUNCH, "out=zeros(4)", "--save", f"out={path}", "--until", "group_x")
    assert status == 0
    assert out.startswith("group_x: the run has come to 0x7f")
    assert err.startswith(f"hint: {path} not written: the kernel has not ended\nhint: `dwarfgpu debug ")
    assert "-ex 'tbreak group_x' -ex continue` goes there" in err
    assert path.read_bytes() == b"old"


def test_a_breakpoint_and_a_snapshot_of_it(run, tmp_path):
    path = tmp_path / "s.dgs"
    status, out, _err = run(*LAUNCH, "out=zeros(4)", "--break", "group_x", "--state", str(path))
    assert status == 0
    assert "group_x: breakpoint 1 at 0x7f" in out
    assert "  wave 1:1:1:8, work-group (0,0,0), lanes 0-31, work-items [224,0,0] to\n    [255,0,0]\n" in out
    assert "  ... and 2 more waves (--json has all)\n" in out
    status, out, _err = run("waves", FILE, "--state", str(path), "--json")
    assert status == 0


def test_compiled_blocks_change_nothing_and_are_kept_if_they_may(run, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library.cache_clear()
    answers = [
        run(*LAUNCH, "out=zeros(4)", "--print", "out", *options)
        for options in (("--jit", "off"), ("--no-cache", "--jit", "on"), ("--jit", "on"), ("--jit", "on"))
    ]
    assert len(set(answers)) == 1
    assert bool([*tmp_path.rglob("blocks/*")])


@pytest.mark.skipif(sys.platform != "linux", reason="prctl")
@pytest.mark.parametrize("lack", ["llvmlite", pytest.param("code", marks=pytest.mark.slow)])
def test_a_hint_says_at_the_start_why_kernels_are_interpreted(run, lack):
    before = {
        "llvmlite": "import sys; sys.modules['llvmlite'] = None",
        "code": "import ctypes; ctypes.CDLL(None).prctl(65, 1, 0, 0, 0)",  # PR_SET_MDWE: memory is never made code
    }
    script = f"{before[lack]}; import runpy; runpy.run_module('dwarfgpu', run_name='__main__', alter_sys=True)"
    words = *LAUNCH, "out=zeros(4)", "--print", "out"

    def process(*options: str) -> tuple[str, str, int]:
        done = subprocess.run(
            [sys.executable, "-c", script, *words, *options], capture_output=True, text=True, check=False
        )
        return done.stdout, done.stderr, done.returncode

    status, out, err = run(*words)
    told = "hint: kernels are interpreted, 60 to 400 times slower: "
    reason = (
        "the package llvmlite is not installed" if lack == "llvmlite" else "the system forbids memory that becomes code"
    )
    assert process() == (out, f"{told}{reason}. Their results are the same\n{err}", status)
    assert process("--jit", "off") == (out, err, status)
    out, err, status = process("--jit", "on")
    assert (status, err.splitlines()[0]) == (2, f"dwarfgpu: error: kernels cannot be compiled: {reason}")


@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.sampled(4)
def test_an_interrupt_ends_the_run_and_keeps_the_state(tmp_path, has_state):
    """A kernel that takes long gets SIGINT when it has begun to run."""
    script = (
        "import os, signal, sys\n"
        "from dwarfgpu.execution.by_wave import WaveRounds\n"
        "round = WaveRounds.run\n"
        "def first(self):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    round(self)\n"
        "WaveRounds.run = first\n"
        "from dwarfgpu.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    words = [*LAUNCH, "out=zeros(4)", *(("--state", str(tmp_path / "s.json")) if has_state else ())]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 128 + signal.SIGINT
    assert "group_x: interrupted" in done.stdout
    assert has_state or "--state STATE.json saves the waves in a snapshot" in done.stderr
    assert (tmp_path / "s.json").exists() == has_state


OVERLOADS = """
#define NAMED __attribute__((overloadable, noinline)) int f
NAMED(global int *out, float x) { int y = 100; *out = 2; return y; }
NAMED(global int *out, int x) {
  int y = x;
  *out = 1;
  y += f(out, 2.0f);
  *out = 3;
  if (x)
    y += f(out, x - 1);
  return y;
}
kernel void k(global int *out) { out[1] = f(out, 1); }
typedef struct { float x; int n; } Point;
kernel void points(global Point *p, global int *out) { out[0] = p[3].n; }
typedef struct { global const float *data; global Point *points; int n; } View;
kernel void views(View view, global const View *more) {
  int i = __builtin_amdgcn_workitem_id_x();
  if (i < view.n) {
    view.points[i].x = view.data[i] + more->data[i];
    view.points[i].n = i;
  }
}
"""


def overloads(folder, require_tool):
    source, file = folder / "k.cl", folder / "k.co"
    source.write_text(OVERLOADS)
    words = "-target amdgcn-amd-amdhsa -mcpu=gfx1100 -x cl -cl-std=CL2.0 -g -O0 -w -nogpulib"
    subprocess.run([require_tool("clang-22"), *words.split(), source, "-o", file], check=True, capture_output=True)
    return file


def test_zeros_for_a_pointer_to_structures_makes_structures(run, tmp_path, require_tool):
    words = ["run", overloads(tmp_path, require_tool), "points", "--grid", "1", "--work-group", "1", "out=zeros(1)"]
    ended, missed, error = (run(*words, f"p={given}") for given in ("zeros(4)", "zeros(3)", "ones(4)"))
    assert ended[0] == 0
    assert "4 bytes past the end of `p`, which has 24 bytes" in missed[1]
    assert 'ones cannot make structures\nhint: write [{"x": 0, "n": 0}], or zeros(COUNT)' in error[2]
    words = [*words[:2], "views", *words[3:7], "view=zeros(4)"]
    assert "is a structure, not a buffer\nhint: write {" in run(*words, "more=zeros(1)")[2]


VECTORS = """
#include <hip/hip_runtime.h>
struct Row { float values[3], last; };
extern "C" __global__ void vectors(float4 *in, int2 *pairs, Row *rows, float *out) {
  int i = threadIdx.x;
  out[i] = in[i].y + 200 * pairs[i].x + 1000 * rows[i].last;
}
template <class T> __global__ void same(T *out) { *out = 1; }
template __global__ void same(int *);
template __global__ void same(float *);
"""


@pytest.mark.slow
def test_numbers_fill_vectors_of_hip_in_order_and_templates_are_named_as_in_the_source(run, tmp_path, require_tool):
    require_tool("clang-22")
    (tmp_path / "k.hip").write_text(VECTORS)
    given = ["in=arange(32)", "pairs=ones(32)", "rows=full(32, 2)", "out=zeros(32)"]
    words = ["run", tmp_path / "k.hip", "vectors", "--grid", "32", "--work-group", "32", *given]
    status, text, _error = run(*words, "--print", "out", "--print", "in", "--print", "pairs")
    assert status == 0
    assert "out = {2201, 2205, 2209, " in text
    assert "(128 float32 = 32 float4)" in text
    assert "(64 int32 = 32 int2)" in text
    for part, shown in (("in[1]", "{{4, 5, 6, 7}} (1 float4)"), ("pairs[30:]", "{{1, 1}, {1, 1}} (2 int2)")):
        assert f"{part} = {shown}" in run(*words, "--print", part)[1]
    assert "in[32] is not there: in has 32 elements" in run(*words, "--print", "in[32]")[2]
    words[-4] = f"in={[[4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3] for i in range(32)]}"
    assert run(*words, "--print", "out", "--print", "in", "--print", "pairs")[1] == text
    error = run("run", tmp_path / "k.hip", "same", "--grid", "1", "--work-group", "1", "zeros(1)")[2]
    assert "hint: name one: 'same<int>', 'same<float>'" in error


@pytest.fixture(scope="module")
def views(tmp_path_factory, require_tool):
    return overloads(tmp_path_factory.mktemp("views"), require_tool)


VIEWS = {
    "view": '{"data": "arange(4)", "points": "zeros(4)", "n": 4}',
    "more": '{"data": [1, 2, 3, 4.5], "points": null, "n": 0}',
}


def views_words(file, **changed):
    words = [f"{name}={value}" for name, value in (VIEWS | changed).items()]
    return ["run", file, "views", "--grid", "4", "--work-group", "4", *words]


def test_pointers_in_structures_get_buffers_that_keep_their_types(run, views, tmp_path):
    saved = {suffix: tmp_path / f"points.{suffix}" for suffix in ("npy", "csv", "bin")}
    words = [word for path in saved.values() for word in ("--save", f"view.points={path}")]
    status, out, err = run(*views_words(views), *words, "--print", "more")
    assert (status, err) == (0, "")
    assert "view.points = {{x = 1, n = 0}, {x = 3, n = 1}, {x = 5, n = 2}, {x = 7.5, n = 3}} (4 Point) ->" in (
        " ".join(out.split())
    )
    assert "(1 View)" in out
    rows = [(1, 0), (3, 1), (5, 2), (7.5, 3)]
    points = np.load(saved["npy"])
    assert (points.dtype.names, points.tolist()) == (("x", "n"), rows)
    assert saved["csv"].read_text() == "x,n\n1.0,0\n3.0,1\n5.0,2\n7.5,3\n"
    assert saved["bin"].read_bytes() == b"".join(struct.pack("<fi", *row) for row in rows)
    document = json.loads(run(*views_words(views), "--print", "view.points", "--json")[1])
    assert document["buffers"][0]["first"][3] == {"x": 7.5, "n": 3}
    printed = run(*views_words(views), "--print", "view.points[1:3].n", "--print", "view.points[3].x")[1]
    assert printed.endswith("view.points[1:3].n = {1, 2} (2 int32)\nview.points[3].x = {7.5} (1 float32)\n")
    error = run(*views_words(views), "--print", "view.points[0].z")[2]
    assert "the elements have no member 'z'\nhint: the members are x, n" in error
    short = run(*views_words(views, more='{"data": "ones(3)", "points": null, "n": 0}'))
    assert "just past the end of `more.data`, which has 12 bytes" in " ".join(short[1].split())


@for_each("name, value, message, hint",
    ("view", "3", "argument view (View) of views is View, not 3",
     'write {"data": "zeros(8)", "points": "zeros(8)", "n": 0}'),
    ("view", "{data: 1}", "argument view (View) of views: '{data: 1}' is not JSON",
     "write names and texts in double quotes"),
    ("more", '{"data": "zero(4)", "points": 0, "n": 0}',
     "argument more.data of views is a pointer, not the text 'zero(4)'", "did you mean zeros(COUNT[, TYPE])?"),
    ("more", '{"data": "zeros(4, f8)", "points": 0, "n": 0}',
     "argument more.data of views points to float32 numbers, and the array has float64",
     "convert it with array.astype(numpy.float32)"),
    ("more", '[{"data": 0, "points": [{"x": 1}], "n": 0}]', "argument more[0].points[0] of views lacks n",
     "it has float x, int n"),
)  # fmt: skip
def test_a_wrong_structure_is_refused_with_the_right_form(run, views, name, value, message, hint):
    status, _out, err = run(*views_words(views, **{name: value}))
    assert status == 2
    assert message in err
    assert f"hint: {hint}" in err


def test_python_gives_structures_arrays_of_the_right_type(views):
    machine = machine_for(views, "views")
    data, points = np.arange(4, dtype="f4"), np.zeros(4, [("x", "f4"), ("n", "i4")])
    view, more = {"data": data, "points": points, "n": 4}, [{"data": data, "points": None, "n": 0}]
    start = partial(launch, machine, views, "views", grid=4, work_group=4)
    with pytest.raises(dg.UsageError, match=r"argument view\.data of views points to float32 numbers, and .* float64"):
        start(args={"view": view | {"data": data.astype("f8")}, "more": more})
    done = start(args={"view": view, "more": more})
    machine.run()
    assert done.buffers["view.points"]["x"].tolist() == [0, 2, 4, 6]
    assert set(done.buffers) == {"view.data", "view.points", "more[0].data", "more"}
    assert done.addresses["more[0].data"] == done.buffers["more"]["data"][0]


def test_a_buffer_is_saved_only_as_what_its_file_says(run, tmp_path):
    status, _out, err = run(*LAUNCH, "out=zeros(4)", "--save", f"out={tmp_path}/out.json")
    assert (status, [*tmp_path.iterdir()]) == (2, [])
    assert f"a buffer cannot be written as .json: {tmp_path}/out.json\nhint: write NAME.npy, .csv, .png, or .bin" in err
    assert run(*LAUNCH, "out=zeros(4)", "--save", f"out={tmp_path}/out.csv")[0] == 0
    assert (tmp_path / "out.csv").read_text() == "1\n0\n0\n0\n"


def test_the_condition_of_a_watchpoint_is_of_the_call_where_it_was_set(run, tmp_path, require_tool):
    """Not of an overload, which has the other y, nor of a call of the function by itself, which has the other x."""
    file = overloads(tmp_path, require_tool)
    for condition, end in (("x == 0 || y == 100", "exited normally"), ("x == 1", "New value = 1")):
        launch = ["target launch --private-size 4096 k 1 1 zeros(2)", "tbreak k.cl:6", "continue"]
        commands = [*launch, f"watch *out if {condition}", "continue"]
        status, text, _err = run("debug", file, "-batch", *(word for each in commands for word in ("-ex", each)))
        assert status == 0
        assert end in text


def test_a_count_is_one_of_what_the_parameter_points_to_unless_a_type_is_given(run, tmp_path, require_tool):
    require_tool("clang-22")
    source = "kernel void add(global float8 *a, global float3 *b) { int i = get_global_id(0); a[i] += 1; b[i] += 1; }"
    (tmp_path / "k.cl").write_text(source)
    words = ["run", tmp_path / "k.cl", "add", "--grid", "8", "--work-group", "8", "--print", "a", "--print", "b"]
    status, text, _error = run(*words, "zeros(8)", "arange(8)")
    assert status == 0
    assert "a = {1, 1, 1, 1, 1, 1, 1, 1, ...} (64 float32 = 8 float8)" in text
    assert "b = {{1, 2, 3}, {5, 6, 7}, " in text
    text = run(*words, "zeros(65, float)", "zeros(32, f4)")[1]
    assert "(65 float32 = 8 float8 and 4 of 32 bytes)" in text


THREES = """
typedef enum { RED = 1, GREEN = 5 } color;
typedef struct { float w; int k; } item;
kernel void vectors(global float3 *out, global item *items, color c, uint n) {
  size_t i = get_global_id(0);
  out[i] = (float3)(i, c, n);
  items[i].k = 7;
}
kernel void behind(global int *o) { o[get_global_id(0)] = 1; }
"""
THREES_WORDS = "vectors", "--grid", "2", "--work-group", "2", "out=zeros(2)", "items=zeros(2)", "n=2"


@pytest.fixture
def vectors(require_tool, run, tmp_path):
    require_tool("clang-22")
    (tmp_path / "k.cl").write_text(THREES, "utf-8")
    return lambda *words: run("run", tmp_path / "k.cl", *words)


def test_a_vector_of_three_has_three_numbers_and_files_are_told_in_the_order_of_the_words(vectors, tmp_path):
    files = "--print", "items", "--save", f"out={tmp_path}/o.csv"
    status, out, _err = vectors(*THREES_WORDS, "c=GREEN", *files, "--save", f"items={tmp_path}/i.csv")
    assert status == 0
    assert out.index("items = ") < out.index("out = {{0, 5, 2}, {1, 5, 2}} (2 float3)")
    assert (tmp_path / "o.csv").read_text() == "0.0,5.0,2.0\n1.0,5.0,2.0\n"
    assert (tmp_path / "i.csv").read_text() == "w,k\n0.0,7\n0.0,7\n"
    out = " ".join(vectors(*THREES_WORDS, "c=1", "--save", f"out={tmp_path}/o.npy")[1].split())
    assert "(8 float32 = 2 float3, each with 1 number of padding)" in out


@pytest.mark.parametrize("words, message, hint", [
    (["vectors", "--gird", "2"], "unrecognized arguments: --gird", "did you mean --grid?"),
    (["vectors"], "vectors needs --grid, --work-group and values for ", "add, for example: --grid 64 --work-group 64 "),
    ([*THREES_WORDS, "c=GREN"], "argument c (color) of vectors is an enumeration without GREN", "did you mean GREEN?"),
    ([*THREES_WORDS, "c=1", "--limit", "-1"], "--limit takes 1 or more instructions, not -1", ""),
    ([*THREES_WORDS, "--until=9", "--until=10"], "--until takes one value, but has 9 and 10", "--break PLACE may be"),
    ([*THREES_WORDS, "--check=race", "--check=init"], "--check takes one value, but has race and init", "by commas"),
    ([*THREES_WORDS, "c=1", "--lane", "3"], "--lane needs --watch EXPR or --trace", ""),
    ([*THREES_WORDS, "c=1", "-O9"], "there is no -O9", "the levels are -O0, -O1, -O2, -O3, -Os, -Oz, -Og, -Ofast"),
])  # fmt: skip
def test_words_that_cannot_be_meant_are_refused(vectors, words, message, hint):
    status, _out, err = vectors(*words)
    assert status == 2
    assert message in err
    assert hint in err


def test_how_far_accesses_miss_is_told_of_the_waves_that_were_looked_at(vectors):
    out = " ".join(vectors("behind", "--grid", "288", "--work-group", "32", "o=zeros(30)")[1].split())
    assert "in the first 8 waves: 0 to 900 bytes past the end of `o`, which has 120 bytes" in out
    assert "waves: " not in vectors("behind", "--grid", "256", "--work-group", "32", "o=zeros(30)")[1]


STRUCTURES = """#include <hip/hip_runtime.h>
struct Hit { float4 at; float3 normal; int ids[3]; struct { short low; bool is_on; } inner; };
extern "C" __global__ void hit(const float4 *in, float4 *out, Hit hit, float scale, int n) {
  extern __shared__ int more[];
  if (threadIdx.x < n) out[threadIdx.x] = in[threadIdx.x] * scale;
}
"""


@pytest.mark.slow
def test_all_that_a_launch_lacks_is_told_at_once_with_words_that_work(run, tmp_path, require_tool):
    require_tool("clang-22")
    (source := tmp_path / "hit.hip").write_text(STRUCTURES)
    for command, given, lacking in (
        ("run", [], "hit needs --grid, --work-group and values for in, out, hit, scale, n\n"),
        ("debug", [], "hit needs --grid, --work-group and values for in, out, hit, scale, n\n"),
        ("run", ["--grid=64", "n=3", "zeros(64)"], "hit needs --work-group and values for out, hit, scale\n"),
        ("run", ["--work-group=64", "scale=3"], "hit needs --grid and values for in, out, hit, n\n"),
    ):
        status, _, error = run(command, source, "hit", *given)
        assert status == 2
        assert error.startswith(f"dwarfgpu: error: {lacking}hint: add, for example: --")
        words = shlex.split(error.partition("for example: ")[2])
        status, out, error = run("run", source, "hit", *given, *words)
        assert (status, error.partition("hint: --")[0]) == (0, "")
        assert "have ended" in out


MADE = """
typedef struct { float x; int id; } particle;
typedef struct { int width; float dt; } limits;
__attribute__((amdgpu_kernel, device)) void step(particle *particles, limits limits, float *out) {
  int i = __builtin_amdgcn_workitem_id_x();
  out[i * limits.width] = particles[i].x;
}
"""


@pytest.mark.slow
def test_a_run_with_made_arguments_that_fails_says_which_numbers_were_made(run, tmp_path, require_tool):
    require_tool("clang-22")
    source = tmp_path / "step.hip"
    source.write_text(MADE)
    launch = "run", source, "step", "made", "--grid", 64
    error = run("run", source, "step", "made")[2]
    assert "step needs --grid, --work-group\nhint: add, for example: --grid 64 --work-group 64\n" in error
    assert "step needs --work-group\n" in run(*launch)[2]
    told = "hint: the arguments are made: limits = {width: 64, dt: 1.5}; give them with limits=...\n"
    assert told in run(*launch, "--work-group", 64)[2]
    assert told in run(*launch, "--work-group", 64, "--check=bounds")[2]
    words = "debug", *launch[1:], "--work-group", 64, "-batch"
    assert run(*words)[1].startswith(told.removeprefix("hint: "))
    _status, out, error = run("run", source, "step", "made", "--grid", 1, "--work-group", 1, "--print", "particles")
    assert "particles = {{x = 1.5, id = 1}, {x = 1.5, id = 1}," in out
    assert "are made" not in error


def test_notes_name_no_place_to_stop_at(run, tmp_path, require_tool):
    require_tool("clang-22")
    source = tmp_path / "same.cl"
    source.write_text("kernel void same(global int *out) { out[0] = 1; }\n")
    _status, out, error = run("run", source, "same", "--grid", 64, "--work-group", 64, "--check", "out=zeros(1)")
    assert "0 errors, 1 note" in out
    assert "stops where" not in error


def test_of_structures_that_are_saved_one_is_shown(run, tmp_path, require_tool):
    require_tool("clang-22")
    source, path = tmp_path / "step.hip", tmp_path / "p.npy"
    source.write_text(MADE)
    out = run("run", source, "step", "made", "--grid", 1, "--work-group", 1, "--save", f"particles={path}")[1]
    assert out.split("\n", 1)[1].startswith("particles = {{x = 1.5, id = 1}, ...} (1024 particle)")
    assert len(np.load(path)) == 1024
