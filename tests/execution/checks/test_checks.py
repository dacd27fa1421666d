"""Data races and barriers that not all reach: kernels with one fault, and mended, on all generations."""

import json
import re
import subprocess
from functools import cache, partial, reduce
from pathlib import Path

import pytest

from dwarfgpu.cli import main
from dwarfgpu.errors import UsageError
from dwarfgpu.execution.checks import findings as f
from dwarfgpu.execution.checks.races import RaceCheck
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.debugging import Debugging
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.halts import CHECK
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.commands import run
from tests.builders.parameters import pairs, some_of
from tests.execution.checks.pair_builds import buffer_build, pair_build
from tests.execution.checks.random_faults import IN_FILE, differences

HERE = Path(__file__).parent
SOURCE = (HERE / "pairs.cl").read_text("utf-8")
RACES = {
    "read_too_early": f.READ_WRITE, "overwritten": f.READ_WRITE, "two_values": f.WRITE_WRITE,
    "two_lanes": f.WRITE_WRITE, "bytes": f.READ_WRITE, "wide": f.READ_WRITE, "local_argument": f.READ_WRITE,
    "in_group": f.READ_WRITE, "fence_of_local": f.READ_WRITE, "between_groups": f.READ_WRITE,
    "one_for_all": f.READ_WRITE, "counter": f.WRITE_WRITE, "total": f.READ_WRITE, "last_group": f.READ_WRITE,
    "some_lanes": f.DIVERGENT, "some_waves": f.MISSED, "two_barriers": f.DIFFERENT, "some_leave": f.DIVERGENT,
    "some_stay": f.DIVERGENT}  # fmt: skip
"""By kernel, what is found."""
NAMES = {
    "read_too_early": r"tile\[\d+\]", "bytes": r"tile\[\d+\]", "wide": r"tile\[\d+\]", "local_argument": r"tile\[\d+\]",
    "in_group": r"in\[\d+\]", "one_for_all": r"in\[300\]", "total": r"out\[0\]", "last_group": r"in\[\d\]"}  # fmt: skip
IN_GROUP = "in_group", "--grid=512", "--work-group=128", "out=zeros(512)", "in=zeros(512)"
TARGETS = "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1100-64", "gfx1200"
BUILDS = [(target, level) for level in ("O0", "O1", "O2") for target in TARGETS]


@pytest.fixture(scope="module")
def built(require_tool, tmp_path_factory):
    return cache(partial(pair_build, require_tool("clang-22"), tmp_path_factory.mktemp("checks"), "pairs.cl"))


def found(path, kernel, check="race,barrier,wait", grid=512, **options):
    args = ["zeros(1024)", "arange(512)"][: 1 if kernel == "same_value" else 2]
    args += [512] if kernel == "local_argument" else []
    machine = machine_for(path, kernel)
    running = Running(launch(machine, path, kernel, grid=grid, work_group=128, args=args, check=check, **options))
    halt = running.run(limit=200_000)
    assert halt.has_ended or kernel == "two_barriers", halt
    return check_report(running).findings


def lines_of(kernel):
    """The lines of both sides."""
    lines = SOURCE.split("\n")
    first = next(number for number, line in enumerate(lines) if f"kernel void {kernel}(" in line)
    marks = {}
    for number, line in enumerate(lines[first:], first + 1):
        if line.startswith("kernel") and number > first + 1:
            break
        for mark in re.findall(r"(?<= )///?(?= |$)", line):
            marks.setdefault(mark, number)
    return {marks["//"], marks["///"]}


def problems(built, target, level, names=NAMES):
    """What is wrong with what is found of one build."""
    for kernel, kind in RACES.items():
        faulty = [row for row in found(built(target, level), kernel) if row.severity == "error"]
        is_in_order = kernel == "fence_of_local" and target[3] == "9"  # its code is that of the mended one
        if is_in_order != (not faulty) or (faulty and kind not in {row.kind for row in faulty}):
            yield kernel, [row.kind for row in faulty]
        for row in faulty if kind in {each.kind for each in faulty} else ():
            lines = {side.position.line for side in row.sides}
            if row.kind == kind and not lines <= lines_of(kernel) | {0}:
                yield kernel, lines, lines_of(kernel)
            if kernel in names and not re.fullmatch(names[kernel], row.variable or ""):
                yield kernel, row.variable
        yield from (("mended", kernel, row.kind) for row in found(built(target, level, "-DMENDED"), kernel))


@pytest.mark.slow
def test_each_fault_is_found_and_nothing_else(built):
    assert [*problems(built, "gfx1100", "O2")] == []


@pytest.mark.slow
def test_the_same_on_other_processors(built):
    others = [*some_of(BUILDS[::-1], 2), ("gfx90a", "O0")]
    assert {build: rows for build in others if (rows := [*problems(built, *build)])} == {}


PRELOADED = "-mllvm", "-amdgpu-kernarg-preload-count=16"


@pytest.mark.slow
@pytest.mark.parametrize("target, options", [
    ("gfx942", PRELOADED), ("gfx1100", ()),
    *((each, ()) for each in ("gfx90a", "gfx942", "gfx1030", "gfx1200")),
])  # fmt: skip
def test_the_same_is_found_where_all_memory_is_in_buffers(require_tool, tmp_path, target, options):
    """With arguments in registers, a buffer instruction is the first one that accesses memory."""
    clang = require_tool("clang-22")
    build = cache(lambda *build: buffer_build(clang, tmp_path, "pairs.cl", *build, *options))
    names = {kernel: name for kernel, name in NAMES.items() if "tile" not in name}
    assert [*problems(build, target, "O1", names)] == []


@pytest.mark.parametrize("processor", ["gfx90a", pytest.param("gfx942", marks=pytest.mark.slow), "gfx1100", "gfx1200"])
@pytest.mark.parametrize("kernel", ["read_too_early", pytest.param("total", marks=pytest.mark.slow)])
@pytest.mark.sampled(6)
def test_each_missing_wait_is_found_where_the_code_shows_it(require_tool, tmp_path, kernel, processor):
    """Each wait in turn is left out; `memmodel check` reads the code and finds the same loads."""
    path, other, found_loads = tmp_path / "k.s", tmp_path / "k.co", 0
    words = [require_tool("clang-22"), "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib"]
    options = ["-x", "cl", "-cl-std=CL2.0", "-O1", "-w", "-S", "-DMENDED", "-include", str(HERE.parent / "kernels.h")]
    subprocess.run([*words, *options, str(HERE / "pairs.cl"), "-o", str(path)], check=True)
    lines = path.read_text().split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith(f"{kernel}:"))
    last = next(number for number, line in enumerate(lines) if number > first and "s_endpgm" in line)
    for number in (each for each in range(first, last) if "\ts_wait" in lines[each]):
        path.write_text("\n".join([*lines[:number], *lines[number + 1 :]]))
        subprocess.run([*words, "-x", "assembler", str(path), "-o", str(other)], check=True)
        read = json.loads(run("memmodel", "check", str(other), "-function", kernel, "--json").stdout)["findings"]
        early = [each["message"] for each in read if each["rule"] == "order-value-in-flight"]
        loads = {int(message.rpartition("+")[2].split()[0], 16) for message in early}
        rows = found(str(other), kernel, "wait")
        places = [[side.position.place for side in row.sides] for row in rows]
        assert {int(place.partition("+")[2] or 0) for place, _use in places} == loads, (lines[number], early, places)
        found_loads += len(loads)
    assert found_loads >= 3


SAME_WORDS = {
    f.READ_WRITE: "Read-write data race", f.WRITE_WRITE: "Write-write data race",
    **dict.fromkeys((f.DIVERGENT, f.MISSED, f.DIFFERENT), "Work-group divergence detected"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("mended", [False, True])
def test_oclgrind_says_the_same_of_the_same_source(require_tool, tmp_path, mended):
    oclgrind, differing = require_tool("oclgrind-kernel"), []
    for kernel, kind in RACES.items():
        size, name = {"bytes": (512, "uchar"), "wide": (4096, "long")}.get(kernel, (2048, "int"))
        numbers = f"<size={size} range=0:1:511 {name}>" if size == 2048 else f"<size={size} fill=1 {name}>"
        sim = tmp_path / f"{kernel}.sim"
        more = "<size=512>\n" if kernel == "local_argument" else ""
        sim.write_text(f"{HERE / 'pairs.cl'}\n{kernel}\n512 1 1\n128 1 1\n<size=8192 fill=0>\n{numbers}\n{more}")
        words = [oclgrind, "--data-races", "--build-options", "-DHOST" + " -DMENDED" * mended, str(sim)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        heads = {word for word in SAME_WORDS.values() if word in done.stdout + done.stderr}
        if (SAME_WORDS[kind] in heads) == mended:
            differing.append(kernel)
    # It orders nothing by atomics and fences, and looks whether all are at a barrier, not at which
    assert differing == (["last_group"] if mended else ["two_barriers"])


@pytest.mark.slow
def test_oclgrind_says_the_same_of_random_kernels(require_tool, tmp_path):
    tools = require_tool("clang-22"), require_tool("oclgrind-kernel")
    for seed, processor, level in ((1, "gfx1100", "O0"), (2, "gfx90a", "O1")):
        assert [*differences(tmp_path, *tools, seed, IN_FILE, processor, level)] == []


HIP = """#include <hip/hip_runtime.h>
__global__ void turned(const int *in, int *out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  SYNC;
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[63 - threadIdx.x];
}
"""


@pytest.mark.parametrize("sync, summary", [("", "1 error"), ("__syncthreads()", "0 errors")])
def test_a_hip_kernel_is_checked_as_one_of_opencl(require_tool, tmp_path, capsys, sync, summary):
    require_tool("clang-22")
    (tmp_path / "k.hip").write_text(HIP.replace("SYNC", sync))
    words = "turned", "--grid=128", "--work-group=64", "in=arange(128)", "out=zeros(128)", "--check"
    assert main(["run", str(tmp_path / "k.hip"), *words]) == (not sync)
    text, hints = capsys.readouterr()
    assert f"error summary: {summary} (align, barrier, bounds, init, race, wait)" in text
    launch = "turned --grid=128 --work-group=64 --check=all 'in=arange(128)' 'out=zeros(128)' -ex continue"
    assert (launch in hints) == (not sync)
    assert [*map(int, re.findall(r"k\.hip:(\d)", text.partition("\nrace: ")[0]))] == ([] if sync else [4, 6])


def test_a_debugger_names_both_sides_of_a_race(capsys):
    launched = "target launch reverse 128 64 in=arange(128) out=zeros(128)"
    steps = "set check race", launched, "continue"
    main(["debug", "dwarfgpu/examples/reverse.co", "-batch", *(word for step in steps for word in ("-ex", step))])
    found = capsys.readouterr().out.partition("Continuing.\n")[2].splitlines()
    assert found[0] == "[Switching to wave 2, lane 31 (AMDGPU Lane 1:1:1:2/31 (0,0,0)[63,0,0])]"
    assert re.fullmatch(r"error: read-write race: `tile\[0\]`, 4 bytes at 0x\w+ in local memory, 128 hazards", found[1])
    sides = [line.partition(",")[0] for line in found[2:6:3]]
    assert sides == ["  write of 0 at reverse.cl:4 in reverse", "  read of 0 at reverse.cl:5 in reverse"]


def test_a_scalar_access_is_one_of_the_wave(require_tool, tmp_path, capsys):
    """The lanes that execute it are not those of the branch of the source, as here lane 0."""
    require_tool("clang-22")
    source, log = tmp_path / "last.cl", tmp_path / "log.sarif"
    source.write_text("kernel void last(global int *a) {\n  if (get_local_id(0) == 63)\n    a[0] += 1;\n}\n")
    words = ["-O2", str(source), "last", "--grid=128", "--work-group=64", "a=zeros(1)", "--check=race"]
    main(["run", *words, f"--sarif={log}"])
    text = " ".join(capsys.readouterr().out.split())
    assert re.search(r"scalar read of 0 at \S+:3 in last, 0x\w+ wave 1:1:1:4, work-group \(1,0,0\) write", text)
    assert '"scalar read, wave 1:1:1:4, work-group (1,0,0)"' in log.read_text()
    main(["run", *words, "--json"])
    read, write = json.loads(capsys.readouterr().out)["check"]["findings"][0]["sides"]
    assert (read["is_scalar"], read["lane"], read["lanes"], read["work_items"]) == (True, None, [], [])
    assert (write["is_scalar"], write["lane"], write["work_items"]) == (False, 31, [[63, 0, 0], [63, 0, 0]])


OTHERS = """kernel void others(global double *out, global int *less) {
  local double halves[64];
  local int below[64];
  int i = get_local_id(0);
  halves[i] = i * 0.5 - 16;
  below[i] = i - 33;
  out[i] = halves[63 - i];
  less[i] = below[63 - i];
}
"""


def test_the_lane_and_the_value_are_those_of_the_element(require_tool, tmp_path, capsys):
    """Other lanes access others; half of a double has no value."""
    require_tool("clang-22")
    source, log = tmp_path / "others.cl", tmp_path / "log.sarif"
    source.write_text(OTHERS)
    words = ["-O2", str(source), "others", "--grid=64", "--work-group=64", "out=zeros(64)", "less=zeros(64)"]
    words.append("--check=race")
    main(["run", *words, f"--sarif={log}"])
    text = capsys.readouterr().out
    first = "wave 1:1:1:1, work-group (0,0,0), lane 0, work-item [0,0,0]"
    second = "wave 1:1:1:2, work-group (0,0,0), lane 31, work-item [63,0,0]"
    sides = (
        f"    {first}\n    in all: lanes 0-31, work-items [0,0,0] to [31,0,0]\n",
        f"    {second}\n    in all: lanes 0-31, work-items [32,0,0] to [63,0,0]\n",
    )
    assert [text.count(side) for side in sides] == [2, 2]
    assert f"write, {first}; in all: lanes 0-31, " in log.read_text()
    main(["run", *words, "--json"])
    found = {each["variable"]: each["sides"] for each in json.loads(capsys.readouterr().out)["check"]["findings"]}
    values = {name: [side["value"] for side in sides] for name, sides in found.items()}
    assert values == {"halves[0]": [-16, -16], "below[0]": [-33, -33]}
    assert [(side["lane"], side["work_item"]) for side in found["below[0]"]] == [(0, [0, 0, 0]), (31, [63, 0, 0])]


DOUBLES = """kernel void doubles(global double *out, global long *bins) {
  out[0] = 1.0 + get_group_id(0);
  bins[1]++; }"""


def test_a_race_is_of_the_whole_number_that_lanes_access(tmp_path, capsys):
    """The low halves of 1.0 and 2.0 are equal, which is no race of the same value, and each pair of lanes is one."""
    source = tmp_path / "doubles.cl"
    source.write_text(DOUBLES, "utf-8")
    words = "--grid=128", "--work-group=64", "zeros(1)", "zeros(2)", "--check=race", "--json"
    main(["run", str(source), "doubles", *words])
    findings = json.loads(capsys.readouterr().out)["check"]["findings"]
    told = [(each["kind"], each["variable"], each["size"], each["hazards"]) for each in findings]
    assert told == [(f.WRITE_WRITE, "out[0]", 8, 64), (f.LOST_UPDATE, "bins[1]", 8, 31)]
    assert [side["value"] for side in findings[0]["sides"]] == [1, 2]


SCAN = """#include <hip/hip_runtime.h>
__global__ void scan(const int *in, int *out) {
  __shared__ int sums[128];
  int i = threadIdx.x;
  sums[i] = in[i];
  __syncthreads();
  for (int step = 1; step < 128; step *= 2) {
    int other = i < step ? 0 : sums[i - step];
    sums[i] += other;
    __syncthreads();
  }
  out[i] = sums[i];
}
"""


def test_a_missing_barrier_in_an_unrolled_loop_is_one_finding(require_tool, tmp_path, capsys):
    require_tool("clang-22")
    (tmp_path / "k.hip").write_text(SCAN)
    path = str(tmp_path / "k.co")
    assert main(["compile", str(tmp_path / "k.hip"), "-O2", "-o", path]) == 0
    words = "run", path, "scan", "--grid=128", "--work-group=128", "in=ones(128)", "out=zeros(128)", "--check"
    assert main([*words, "--json"]) == 1
    rows = json.loads(capsys.readouterr().out.partition("\n")[2])["check"]["findings"]
    row, in_wave = rows
    assert in_wave["rule"] == "race-in-wave"
    # Each of the seven steps reads what other waves write: all lanes of three waves, or as many as the step is long
    assert (row["hazards"], row["pairs"]) == (3 * (1 + 2 + 4 + 8 + 16 + 32) + 2 * 32, 7)
    assert ([side["line"] for side in row["sides"]], row["variable"]) == ([8, 9], "sums[31]")


SUMS = """#include <hip/hip_runtime.h>
__global__ void sums(const float *in, float *out, double *all) {
  __shared__ double sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  LOOK;
  atomicAdd(&sum, (double)in[threadIdx.x]);
  atomicAdd(&out[threadIdx.x & 7], in[threadIdx.x]);
  atomicAdd(all, 1.0);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x + 8] = sum;
}
"""
SUMS_LOOKED_AT = "if (sum < 9 && out[threadIdx.x & 7] < 9)", {("local", 8, 9), ("global", 8, 10)}
"""A plain read of what others add to, and the races: the space and both lines."""


@pytest.mark.slow
@pytest.mark.parametrize("processor, level", [
    ("gfx90a", "0"), ("gfx942", "2"), ("gfx1030", "0"), ("gfx1100", "2"), ("gfx1200", "0"), ("gfx1200", "2"),
])  # fmt: skip
def test_a_loop_that_is_an_atomic_operation_has_no_race(require_tool, tmp_path, processor, level):
    """Where hardware cannot add such numbers, clang writes a loop that begins with a plain load."""
    require_tool("clang-22")
    for look, races in (("", set()), SUMS_LOOKED_AT):
        (tmp_path / "k.hip").write_text(SUMS.replace("LOOK;", f"\n{look}"))
        path = str(tmp_path / "k.co")
        assert main(["compile", str(tmp_path / "k.hip"), f"-O{level}", "-target", processor, "-o", path]) == 0
        machine = machine_for(path, "sums")
        args = ["ones(128, f4)", "zeros(264, f4)", "zeros(1, f8)"]
        running = Running(launch(machine, path, "sums", grid=256, work_group=128, args=args, check="race"))
        assert running.run().has_ended
        assert {(row.space, *(side.position.line for side in row.sides)) for row in running.findings} == races


LIBRARY = """float doubled(float x) {
  return exp(x) * 2;
}
kernel void grow(global const float *in, global float *out) {
  int i = get_global_id(0);
  float x;
  if (in[i] > 0)
    x = in[i];
  out[i] = exp(x);
  out[i] += doubled(x);
}
"""


@pytest.mark.slow
def test_what_a_function_of_the_library_does_has_the_lines_of_its_callers(require_tool, tmp_path, capsys):
    require_tool("clang-22")
    source, log, known = tmp_path / "k.cl", tmp_path / "log", tmp_path / "known"
    source.write_text(LIBRARY)
    known.write_text("init function=doubled\n")
    words = "run", str(source), "grow", "--grid=32", "--work-group=32", "in=arange(32,f4)", "out=zeros(32,f4)"
    assert main([*words, "--check", f"--sarif={log}"]) == 1
    text = capsys.readouterr().out
    assert re.search(r"  use in dg_exp, 0x\w+\n    called by grow at k.cl:9\n    wave", text)
    assert re.search(r"in dg_exp, .*\n    called by doubled at k.cl:2\n    called by grow at k.cl:10\n    wave", text)
    results = json.loads(log.read_text())["runs"][0]["results"]
    lines = {(each["ruleId"], each["locations"][0]["physicalLocation"]["region"]["startLine"]) for each in results}
    assert lines == {("init-branch", 9), ("init-branch", 2), ("init-store", 9), ("init-store", 10)}
    assert main([*words, "--check", f"--suppress={known}", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)["check"]
    callers = [each["sides"][-1]["callers"] for each in document["findings"] if each["rule"] == "init-branch"]
    assert [[(each["function"], each["line"]) for each in row] for row in callers] == [[("grow", 9)]]


def test_a_machine_checks_what_is_launched_later(built):
    path, options = built("gfx1100", "O2"), {"grid": 512, "work_group": 128, "args": ["zeros(1024)", "arange(512)"]}
    machine, counts = machine_for(path, "in_group"), []
    with pytest.raises(UsageError, match="there is no check 'rase'"):
        machine.check = "rase"
    assert f.check_names("nan, all", is_weak=False) == {*f.MISTAKES, "nan"}
    for check in ("race", "race", None):
        machine.check = check
        running = Running(launch(machine, path, "in_group", **options))
        with pytest.raises(UsageError, match="launched with other checks"):
            machine.check = "all"
        assert running.run().has_ended
        counts.append(len(running.findings))
    assert counts == [1, 1, 0]
    assert machine.check is None


def told(findings):
    """What findings say, without what goes with a wave that may be another one."""
    return {(row.kind, row.variable, row.count, *(str(side.position) for side in row.sides)) for row in findings}


@pytest.mark.parametrize("kernel", ["read_too_early", "in_group", "total", "last_group", "some_lanes"])
@pytest.mark.sampled(6)
def test_a_run_that_has_gone_back_is_checked_as_one_that_has_not(built, kernel):
    path = built("gfx1100", "O0")
    machine = machine_for(path, kernel)
    launched = launch(machine, path, kernel, grid=512, work_group=128, args=["zeros(1024)", "arange(512)"], check="all")
    debugging = Debugging(launched)
    stops = set()
    while not (halt := debugging.go_on()).has_ended:
        if (halt.kind, halt.pc) in stops:  # another finding there
            continue
        stops.add((CHECK, halt.pc))
        count = len(debugging.running.findings)
        debugging.reverse_instruction(min(halt.lanes))
        assert len(debugging.running.findings) < count
        assert debugging.go_on().pc == halt.pc
    assert stops
    assert told(debugging.running.findings) == told(found(path, kernel, "all"))


def test_writes_of_the_same_value_are_noted_and_the_limit_counts(built):
    (row,) = found(built("gfx1100", "O2"), "same_value")
    assert (row.kind, row.severity, row.variable, row.sides[1].value) == (f.SAME_VALUE, "note", "out[0]", 5)
    assert row.sides[0].side.work_group <= row.sides[1].side.work_group


UPDATES = """
#define MOST(name, most) \\
  kernel __attribute__((amdgpu_flat_work_group_size(1, most))) void name(global int *out, global int *in)
#define I get_local_id(0)
#define KERNEL(name) MOST(name, 256)
#define ONE_WAVE(name) MOST(name, 32)
KERNEL(histogram) { out[in[I] & 7]++; }
KERNEL(histogram_mended) { atomic_add(&out[in[I] & 7], 1); }
KERNEL(one) { out[0] -= 3; }
KERNEL(one_mended) { if (I == 0) out[0] -= 3; }
KERNEL(stepwise) { int n = out[in[I] & 7]; n = n * 3 + 1; out[in[I] & 7] = n; }
KERNEL(stepwise_mended) { int n = out[I]; n = n * 3 + 1; out[I] = n; }
KERNEL(in_local) { local int sum[8]; if (I < 8) sum[I] = 0; barrier(1); sum[in[I] & 7] += 2; barrier(1);
                   if (I < 8) out[I] = sum[I]; }
KERNEL(in_local_mended) { local int sum[8]; if (I < 8) sum[I] = 0; barrier(1); atomic_add(&sum[in[I] & 7], 2);
                          barrier(1); if (I < 8) out[I] = sum[I]; }
KERNEL(bytes) { global uchar *byte = (global uchar *)out; byte[in[I] & 7]++; }
KERNEL(bytes_mended) { global uchar *byte = (global uchar *)out; byte[I]++; }
KERNEL(flag) { if (out[0] == 0) out[0] = 1; }
KERNEL(bit) { out[in[I] & 7] |= 4; }
KERNEL(next_member) { global int2 *pair = (global int2 *)out; pair[0].y = pair[0].x + 1; }
KERNEL(two) { local int sum[64]; sum[I] = sum[I + 32] = 0; barrier(1); int at = in[I] & 7, one = sum[at],
              other = sum[at + 9]; sum[at] = one + 1; sum[at + 9] = other + 3; barrier(1); out[I] = sum[I + 9]; }
KERNEL(taken) { local int sum[64]; sum[I] = I; barrier(1); int one = sum[9]; sum[9] = 77; sum[5] = one + 3;
                barrier(1); out[I] = sum[I]; }
KERNEL(taken_half) { local int2 sum[64]; sum[I].x = sum[I].y = I; barrier(1); int one = sum[9].x;
                     int2 both = sum[8]; both.x = 77; both.y = one + 3; sum[9] = both; barrier(1); out[I] = sum[I].x; }
ONE_WAVE(stepped) { local int sum[64]; sum[I] = I; barrier(1); int n = sum[in[I] & 7]; barrier(1);
                    sum[in[I] & 7] = n + 1; barrier(1); out[I] = sum[I]; }
ONE_WAVE(one_wave) { out[in[I] & 7]++; }
KERNEL(overwritten) { int n = out[0] + 1; int *at = &n; *at = 7; out[0] = n; }
KERNEL(reduction) { volatile local int sum[64]; sum[I] = in[I];
                    for (int n = 16; n; n >>= 1) if (I < n) sum[I] += sum[I + n]; if (I == 0) out[0] = sum[0]; }
"""
IN_HIP = {"global ": "", "kernel __": 'extern "C" __global__ __', "local int": "__shared__ int", "uchar": "uint8_t",
          "get_local_id(0)": "(int)threadIdx.x", "barrier(1)": "__syncthreads()", "atomic_a": "atomicA"}  # fmt: skip


@pytest.mark.parametrize("build, level", pairs(["cl-gfx90a", "cl-gfx1100", "hip-gfx942", "hip-gfx1200"], ["2", "0"]))
@pytest.mark.sampled(6)
def test_an_update_that_lanes_of_a_wave_lose_is_an_error(require_tool, tmp_path, build, level):
    """A kernel for one wave has no barrier left. Variables of HIP at -O0 have generic addresses, which may be equal."""
    language, processor = build.split("-")
    require_tool("clang-22")
    path, source = tmp_path / "k.co", tmp_path / f"k.{language}"
    words = IN_HIP if language == "hip" else {}
    text = reduce(lambda text, word: text.replace(word, words[word]), words, UPDATES)
    source.write_text("#include <hip/hip_runtime.h>" * bool(words) + text)
    assert main(["compile", str(source), f"--target={processor}", f"-O{level}", "-o", str(path)]) == 0
    rows = {}
    for kernel in re.findall(r"(?:KERNEL|ONE_WAVE)\((\w+)\) {", UPDATES):
        args = ["full(64, 0)", "arange(64)"]
        machine = machine_for(str(path), kernel)
        running = Running(launch(machine, str(path), kernel, grid=32, work_group=32, args=args, check="race"))
        running.run(limit=200_000)
        rows[kernel] = [(row.kind, row.severity, row.variable) for row in check_report(running).findings]
        if kernel == "histogram":  # with other waves it races, too, which is the same mistake
            machine, args = machine_for(str(path), kernel), ["full(128, 0)", "arange(128)"]
            running = Running(launch(machine, str(path), kernel, grid=128, work_group=128, args=args, check="race"))
            running.run()
            assert [(row.kind, row.severity) for row in check_report(running).findings] == [(f.LOST_UPDATE, "error")]
    in_step = {name for name, found in rows.items() if f.IN_WAVE in {row[0] for row in found}}
    assert "reduction" in in_step
    assert not {name for name in in_step if name.endswith("_mended")}
    rows = {name: [row for row in found if row[0] != f.IN_WAVE] for name, found in rows.items()}
    lost = {kernel for kernel, found in rows.items() if found and found[0][:2] == (f.LOST_UPDATE, "error")}
    noted = {"flag", "bit", "next_member", "taken", "taken_half", "stepped", "overwritten"}
    noted |= {"two"} if (language, level) == ("hip", "0") else set()
    assert lost == {"histogram", "one", "stepwise", "in_local", "bytes", "one_wave", "two"} - noted
    assert {name for name, found in rows.items() if found} == lost | noted
    assert all({row[:2] for row in rows[name]} == {(f.SAME_VALUE, "note")} for name in noted)
    assert rows["one"][0][2] == "out[0]"


@pytest.mark.parametrize("words, message", [
    (["--check=race,order"], "there is no check 'order'"), (["--check", "--weak-memory=1"], "do not go together"),
    (["--max-findings", "3"], "--max-findings needs --check"), (["--sarif=x"], "--sarif needs --check"),
    (["--suppress=x"], "--suppress needs --check"), (["--only=race"], "--only needs --check"),
    (["--check", "--ignore=rays"], "there is no rule 'rays'"), (["--check", "--require=-1"], "from 0 on"),
    (["--check", "--baseline={}/a"], "is not the JSON of a check"),
    (["--check", "--error-exitcode=256"], "from 0 to 255"), (["--check", "--suppress={}/a"], "no check 'rase'"),
    (["--check", "--suppress={}/b"], "'file=k.cl' names nothing")])  # fmt: skip
def test_what_cannot_be_checked_is_refused(built, capsys, tmp_path, words, message):
    for name, line in (("a", "# known\nrase\n"), ("b", "* file=k.cl\n")):
        (tmp_path / name).write_text(line)
    assert main(["run", built("gfx1100", "O2"), *IN_GROUP, *(word.format(tmp_path) for word in words)]) == 2
    assert message in capsys.readouterr().err


def test_the_status_the_text_and_the_document_say_the_same(built, capsys):
    words = ["run", built("gfx1100", "O2"), *IN_GROUP, "--check=race"]
    assert main(words) == 1
    text = capsys.readouterr().out
    assert "error: read-write race: `in[" in text
    assert text.endswith("\nerror summary: 1 error (race)\n")
    assert main([*words, "--json", "--max-findings=0"]) == 1
    document = json.loads(capsys.readouterr().out)["check"]
    coverage = document.pop("coverage")
    assert coverage["not_covered"] == []
    assert (
        f"race: {coverage['executed']} of {coverage['memory_instructions']} memory instructions were executed\n" in text
    )
    counts = {"errors": 1, "warnings": 0, "notes": 0, "suppressed": 0, "known": 0}
    rules = [{"rule": "race-read-write", "severity": "error", "count": 1}]
    assert document == {"checks": ["race"], **counts, "rules": rules, "findings": []}


def test_a_log_has_a_result_for_each_finding_with_the_line_of_each_side(built, capsys, tmp_path):
    log = tmp_path / "f.sarif"
    assert main(["run", built("gfx1100", "O2"), *IN_GROUP, "--check=race", f"--sarif={log}"]) == 1
    assert "error summary: 1 error (race)" in capsys.readouterr().out
    (every,) = json.loads(log.read_text())["runs"]
    (result,) = every["results"]
    places = [*result["locations"], *result["relatedLocations"]]
    assert {place["physicalLocation"]["region"]["startLine"] for place in places} == lines_of("in_group")
    assert (result["ruleId"], result["level"]) == (every["tool"]["driver"]["rules"][0]["id"], "error")


@pytest.mark.parametrize("words, status, summary", [
    (["--ignore=race-read-write"], 0, "0 errors"), (["--only=bounds,race-write-write"], 0, "0 errors"),
    (["--only=race"], 1, "1 error"), (["--severities={}/note"], 0, "0 errors, 1 note"),
    (["--severities={}/warning", "--error-exitcode=9"], 9, "0 errors, 1 warning"),
    (["--baseline={}/known"], 0, "0 errors, 1 of the baseline"), (["--require=400"], 1, "1 error"),
    (["--require=100000"], 3, "1 error")])  # fmt: skip
def test_findings_are_chosen_as_those_of_verify(built, capsys, tmp_path, words, status, summary):
    command = "run", built("gfx1100", "O2"), *IN_GROUP, "--check=race"
    (tmp_path / "note").write_text("race note\n")
    (tmp_path / "warning").write_text("race off\nrace-read-write warning\n")
    assert main([*command, "--json", "-o", str(tmp_path / "known")]) == 1
    assert main([*command, *(word.format(tmp_path) for word in words)]) == status
    assert capsys.readouterr().out.endswith(f"\nerror summary: {summary} (race)\n")


@pytest.mark.parametrize("words, lost", [
    (["--grid=512", "--check=race", "--limit=5"], "not checked to its end any more, 5 instructions checked, {} before"),
    (["--grid=128", "--check=race"], "{quarter} instructions checked, {} before"),
    (["--grid=512", "--check=bounds"], "not checked for race any more"),
    (["--grid=256", "--check=race,bounds"], "")])  # fmt: skip
def test_less_than_in_the_baseline_is_a_failure(built, capsys, tmp_path, words, lost):
    """Without it, fewer findings would look like a kernel that has become better."""
    command, known = ("run", built("gfx1100", "O2"), *IN_GROUP[:1], *IN_GROUP[2:]), str(tmp_path / "known")
    assert main([*command, "--grid=512", "--check=race", "--json", "-o", known]) == 1
    count = json.loads(Path(known).read_text())["instructions"]
    capsys.readouterr()
    assert main([*command, *words, f"--baseline={known}"]) == (3 if lost else 0)
    text = f"less is checked than in {known}: in_group: {lost.format(count, quarter=count // 4)}"
    err = capsys.readouterr().err
    assert (f"hint: {text}\n" in err, "less is" in err) == (bool(lost), bool(lost))
    assert main([*command, *words, f"--baseline={known}", "--json"]) == (3 if lost else 0)
    assert (text in json.loads(capsys.readouterr().out)["notices"]) == bool(lost)


def test_a_baseline_of_another_run_is_named(built, capsys, tmp_path):
    command, known = ("run", built("gfx1100", "O2"), *IN_GROUP, "--check=race"), tmp_path / "known"
    assert main([*command, "--json", "-o", str(known)]) == 1
    document = json.loads(known.read_text())
    known.write_text(json.dumps({**document, "kernel": "other"}))
    assert main([*command, f"--baseline={known}"]) == 0
    assert f"{known} does not say how much of in_group was checked: write it again" in capsys.readouterr().err
    known.write_text(json.dumps({**document, "stop": {"kind": "interrupted"}}))
    assert main([*command, f"--baseline={known}"]) == 2
    assert "is not whole: ^C ended the command that wrote it" in capsys.readouterr().err


def test_a_fingerprint_stays_when_lines_and_code_move(require_tool, tmp_path):
    """The same kernel alone, and behind another one."""
    require_tool("clang-22")
    head, text = (SOURCE.partition(mark)[part] for mark, part in (("kernel void", 0), ("kernel void in_group", 2)))
    logs = []
    for name, more in (("one", ""), ("other", "kernel void first(global int *out) { *out = 1; }\n\n")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "k.cl").write_text(f"{head}{more}kernel void in_group{text.partition('kernel void')[0]}")
        assert main(["run", str(folder / "k.cl"), *IN_GROUP, "--check=race", "--sarif", str(folder / "log")]) == 1
        logs.append(json.loads((folder / "log").read_text())["runs"][0]["results"][0])
    assert logs[0]["partialFingerprints"] == logs[1]["partialFingerprints"]
    assert logs[0]["locations"] != logs[1]["locations"]


def test_a_page_has_both_sides_with_their_lines(built, capsys, tmp_path):
    page = tmp_path / "f.html"
    assert main(["run", built("gfx1100", "O2"), *IN_GROUP, "--check=race", "--html", str(page)]) == 1
    text = page.read_text()
    assert "race-read-write" in text
    assert "in[GID] = ID; //" in text
    assert "out[GID] = in[GID ^ 127]; ///" in text
    assert "lane 0, work-item [0,0,0]; in all: lanes 0-31, work-items [0,0,0] to [31,0,0]" in text


def test_judge_lists_what_checks_find(built, capsys):
    words = "judge", built("gfx1100", "O2"), *IN_GROUP
    assert main([*words, "--only=race"]) == 0
    capsys.readouterr()
    assert main([*words, "--only=race", "--check=race"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "(race-read-write) read of " in text or "(race-read-write) write of " in text
    assert main([*words, "--check", "--only=race", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["findings"]
    assert row["rule"] == "race-read-write"
    assert main([*words, "--check=race", "--only=race", "--sarif"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert len(result["relatedLocations"]) == 2


@pytest.mark.parametrize("known, status", [
    ("race", 0), ("*", 0), ("race function=in_gr* variable=in[*] line=*l:*", 0), ("barrier\n\nwait", 7),
    ("race variable=in", 7), ("race line=cl:*", 7), ("#race", 7), ("* line=pairs.cl:* variable=out*", 7)])  # fmt: skip
def test_what_is_known_is_left_out(built, capsys, tmp_path, known, status):
    path = tmp_path / "known"
    path.write_text(known)
    words = "--check=race", f"--suppress={path}", "--error-exitcode=7"
    assert main(["run", built("gfx1100", "O2"), *IN_GROUP, *words]) == status
    text = "1 error (race)" if status else "0 errors, 1 suppressed (race)"
    assert capsys.readouterr().out.endswith(f"\nerror summary: {text}\n")


OF_SEVERAL = """
kernel void local_arrays(global int *out, global int *other) {
  local int a[64];
  local int b[64];
  int i = get_local_id(0);
  for (int k = 0; k < 2; ++k) {
    local int *p = k ? b : a;
    p[i & 7] = i;
  }
  out[i] = a[0] + b[0];
}
kernel void buffers(global int *out, global int *other) {
  int i = get_local_id(0);
  for (int k = 0; k < 2; ++k) {
    global int *p = k ? out : other;
    p[i & 7] = i;
  }
}
"""


@pytest.mark.parametrize("kernel, names", [("local_arrays", {"a", "b"}), ("buffers", {"out", "other"})])
def test_races_of_two_variables_at_the_same_places_are_two_findings(kernel, names, require_tool, tmp_path):
    require_tool("clang-22")
    (tmp_path / "k.cl").write_text(OF_SEVERAL)
    path = str(tmp_path / "k.co")
    assert main(["compile", str(tmp_path / "k.cl"), "-O0", "-o", path]) == 0
    machine = machine_for(path, kernel)
    args = ["zeros(64)", "zeros(64)"]
    running = Running(launch(machine, path, kernel, grid=64, work_group=64, args=args, check="race"))
    assert running.run().has_ended
    writes = [row for row in check_report(running).findings if row.kind == "write-write race"]
    assert {re.match(r"\w+", row.variable)[0] for row in writes} == names
    assert {row.count for row in writes} == {56}


PARTLY = """kernel void partly(global int *a, global int *b) {
  int i = get_global_id(0);
  if (i > 1000)
    a[i] = b[i] + 1;
  b[i] = a[0];
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_what_was_not_executed_is_named(require_tool, tmp_path, capsys, level):
    """Both loads and both stores, and those of the kernel's own arguments and variables."""
    require_tool("clang-22")
    (tmp_path / "k.cl").write_text(PARTLY)
    words = [level, "--grid=64", "--work-group=64", "zeros(64)", "zeros(64)", "--check=race"]
    assert main(["run", str(tmp_path / "k.cl"), "partly", *words]) == 0
    line = re.search(
        r"race: (\d+) of (\d+) memory instructions were executed; not covered: k.cl:4\n", capsys.readouterr().out
    )
    assert int(line[2]) - int(line[1]) >= 2
    assert main(["run", str(tmp_path / "k.cl"), "partly", *words, "--json"]) == 0
    coverage = json.loads(capsys.readouterr().out)["check"]["coverage"]
    assert [coverage["executed"], coverage["memory_instructions"]] == [int(line[1]), int(line[2])]
    assert [each["line"] for each in coverage["not_covered"]] == [4]


CALLED_TWICE = """#include <hip/hip_runtime.h>
__device__ int total(int *sums, int number) {
  sums[0] = number;
  __syncthreads();
  return sums[0];
}
__global__ void both(int *out) {
  __shared__ int sums[1];
  int one = total(sums, 5);
  __syncthreads();
  out[threadIdx.x] = one + total(sums, 6);
}
"""


def test_writes_of_the_same_value_are_one_note_for_all_calls(require_tool, tmp_path, capsys):
    require_tool("clang-22")
    (tmp_path / "k.hip").write_text(CALLED_TWICE)
    words = ["-O2", "--grid=64", "--work-group=64", "zeros(64)", "--check=race", "--json"]
    assert main(["run", str(tmp_path / "k.hip"), "both", *words]) == 0
    assert [row["rule"] for row in json.loads(capsys.readouterr().out)["check"]["findings"]] == ["race-same-value"]


def test_a_defect_of_a_check_is_not_a_stop_of_the_kernel(built, monkeypatch):
    def begin(*_args):
        raise AttributeError("first")

    monkeypatch.setattr(RaceCheck, "begin", begin)
    with pytest.raises(AttributeError):
        found(built("gfx1100", "O2"), "in_group")


VECTORS = """#include <hip/hip_runtime.h>
__device__ float4 table[64];
__global__ void k(float4 *v) {
  __shared__ float4 t[64];
  int i = threadIdx.x;
  t[i] = v[i];
  table[i] = t[(i + 1) & 63];
  table[(i + 5) & 63] = v[i];
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_components_of_vectors_and_variables_outside_of_functions_are_named_with_their_type(
    level, require_tool, tmp_path, capsys
):
    require_tool("clang-22")
    (tmp_path / "k.hip").write_text(VECTORS)
    words = ["--grid", "64", "--work-group", "64", "full(256, 1.5)", "--check=race", "--json"]
    assert main(["run", str(tmp_path / "k.hip"), "k", level, *words]) == 1
    findings = json.loads(capsys.readouterr().out)["check"]["findings"]
    assert {re.sub(r"\d+", "N", each["variable"]) for each in findings} == {"t[N].x", "table[N].x"}
    assert {side["value"] for each in findings for side in each["sides"]} <= {0.0, 1.5}
