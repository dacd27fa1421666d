"""Values that nothing has written: kernels with one fault, and mended, on all generations."""

import re
import subprocess
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.cli import main
from dwarfgpu.execution.checks import findings as f
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.parameters import few_or_all, some_of
from tests.execution import test_against_the_host as corpus
from tests.execution.checks.pair_builds import pair_build
from tests.execution.checks.test_checks import BUILDS

HERE = Path(__file__).parent
BRANCHES = "private_branch", "local_branch", "branch", "scalar_branch", "divided"
ADDRESSES = "private_address", "local_address", "address"
NAMES = {
    "private_array": r"tmp\[7\]", "one_way": "x", "bytes": r"tmp\[15\]", "by_pointer": "x",
    "component": r"tmp\[\d\]\[3\]", "padding": r"tmp\[\d\]\.number", "local_array": r"tile\[1\d\d\]",
    "local_argument": r"tile\[12[89]\]",
    "copy": r"raw\[0\]", "partly": r"raw\[4\]", "mixed": "tmp", "shared_array": r"tile\[[0-3]\]"}  # fmt: skip
"""What the findings of some kernels name, where it is one of a level without optimization."""


def marked(path):
    """By kernel, the line that uses what nothing has written."""
    lines, kernel = {}, ""
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        start = re.match(r"(?:KERNEL\(|kernel void |__global__ void )(\w+)", line)
        kernel = start[1] if start else kernel
        if line.endswith("///"):
            lines[kernel] = number
    return lines


LINES = {language: marked(HERE / f"undefined.{language}") for language in ("cl", "hip")}


@pytest.fixture(scope="module")
def built(require_tool, tmp_path_factory):
    compiled = cache(partial(pair_build, require_tool("clang-22"), tmp_path_factory.mktemp("undefined")))
    return lambda language, *build: compiled(f"undefined.{language}", *build)


def found(path, kernel, check="init"):
    args = {0: "zeros(4096)", 1: "arange(512)", 2: "noinit(512)"} | ({3: 1024} if kernel == "local_argument" else {})
    machine = machine_for(path, kernel)
    running = Running(launch(machine, path, kernel, grid=512, work_group=128, args=args, check=check))
    halt = running.run(limit=400_000)
    assert halt.has_ended, halt
    return check_report(running).findings


def kind_of(kernel):
    """The kind of the fault."""
    kind = f.UNDEFINED_BRANCH if kernel in BRANCHES else f.UNDEFINED_STORE
    return f.UNDEFINED_ADDRESS if kernel in ADDRESSES else kind


def problems(built, language, target, level, every=1):
    """What is wrong with what is found of one build."""
    for kernel, line in [*LINES[language].items()][::every]:
        rows = [row for row in found(built(language, target, level), kernel) if row.kind == kind_of(kernel)]
        if line not in {row.sides[-1].position.line for row in rows}:
            yield kernel, [(row.kind, row.sides[-1].position.line) for row in rows]
        named = re.compile(NAMES.get(kernel, ".+") if level == "O0" else ".*" if kernel == "bit_fields" else ".+")
        yield from ((kernel, row.address) for row in rows if row.space == "local" and row.address >> 32)
        if not any(named.fullmatch(row.variable or "") for row in rows):
            yield kernel, [row.variable for row in rows]
        mended = found(built(language, target, level, "-DMENDED"), kernel)
        yield from (("mended", kernel, row.kind, row.sides[-1].position.line) for row in mended)


@few_or_all(6)
@pytest.mark.parametrize("language", LINES)
def test_each_fault_is_found_and_nothing_else(built, language, every):
    assert [*problems(built, language, "gfx1100", "O0" if language == "hip" else "O2", every)] == []


@pytest.mark.slow
@pytest.mark.parametrize("language", LINES)
def test_the_same_on_other_processors(built, language):
    others = [*some_of(BUILDS, 2), ("gfx90a", "O0")]
    assert {build: rows for build in others if (rows := [*problems(built, language, *build)])} == {}


@pytest.mark.slow
@pytest.mark.parametrize("mended", [False, True])
def test_oclgrind_says_the_same_of_the_same_source(require_tool, tmp_path, mended):
    oclgrind, differing = require_tool("oclgrind-kernel"), []
    for kernel in LINES["cl"]:
        sim, buffers = (
            tmp_path / f"{kernel}.sim",
            "<size=16384 fill=0 int>\n<size=2048 range=0:1:511 int>\n<size=2048 noinit>",
        )
        more = "<size=1024>\n" if kernel == "local_argument" else ""
        sim.write_text(f"{HERE / 'undefined.cl'}\n{kernel}\n512 1 1\n128 1 1\n{buffers}\n{more}")
        words = [oclgrind, "--uninitialized", "--build-options", "-DHOST" + " -DMENDED" * mended, str(sim)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        heads = "Uninitialized value", "Controlflow depends", "Uninitialized address"
        if any(word in done.stdout + done.stderr for word in heads) == mended:
            differing.append(kernel)
    # It does not look at copies of structures, and a mask does not define bits
    assert differing == (["half_of_word"] if mended else ["padding"])


PADDED = re.findall(r"kernel void (\w+)", (HERE / "padded.cl").read_text("utf-8"))
OPTIMIZED = {"read_as_words", "returned", "of_the_caller", "read_as_bytes"}
"""Kernels whose fault optimization removes, and one whose structure clang 22 then gives no location."""


def found_of_padded(path, kernel):
    args = {"out": "zeros(128)", "raw": "noinit(64)"}
    running = Running(launch(machine_for(path, kernel), path, kernel, grid=64, work_group=64, args=args, check="init"))
    halt = running.run(limit=100_000)
    assert halt.has_ended, halt
    return check_report(running).findings


@pytest.mark.slow
@pytest.mark.parametrize("target, level", [("gfx1100", "O0"), ("gfx90a", "O2"), ("gfx942", "O0")])
def test_padding_counts_as_written(require_tool, tmp_path, target, level):
    """C 6.2.6.1 (6): it has no value, so nobody reads it; whoever copies all bytes of a structure copies it, too."""
    right, wrong = (
        pair_build(require_tool("clang-22"), tmp_path, "padded.cl", target, level, *options)
        for options in ((), ("-DFAULT",))
    )
    for kernel in PADDED:
        if level == "O0" or kernel not in OPTIMIZED:
            assert (kernel, found_of_padded(right, kernel)) == (kernel, ())
            rows = found_of_padded(wrong, kernel)
            assert {row.kind for row in rows} == {f.UNDEFINED_STORE}, kernel
            assert all(re.search(r"\.i$|^p$", row.variable) for row in rows), [row.variable for row in rows]


CORPUS = [("cl", "gfx1100", "O2", 30), *(pytest.param(*each, 1, marks=pytest.mark.slow) for each in (
    ("cl", "gfx1100", "O2"), ("cl", "gfx90a", "O0"), ("cl", "gfx1200", "O2"), ("hip", "gfx942", "O2"),
    ("hip", "gfx1030", "O0")))]  # fmt: skip


@pytest.mark.parametrize("language, processor, level, every", CORPUS)
@pytest.mark.sampled(4)
def test_kernels_of_the_corpus_have_no_finding_and_the_same_results(
    require_tool, tmp_path, language, processor, level, every
):
    path, differing = corpus.built(require_tool("clang-22"), tmp_path, language, processor, level), []
    for kernel in corpus.KERNELS[language][::every]:
        results = []
        for check in (None, "all"):
            arrays, machine = [corpus.outputs()[0], corpus.numbers(7), corpus.outputs()[1]], machine_for(path, kernel)
            sizes = {"grid": corpus.GROUP * 2, "work_group": corpus.GROUP, "private_size": 8192}
            launched = launch(machine, path, kernel, args=arrays, check=check, **sizes)
            running = Running(launched)
            running.keeps_launch = True  # so that waves run in step, as those that are checked
            halt = running.run(limit=corpus.LIMIT)
            results.append(
                (str(halt), machine.device.executed, [launched.buffers[each].tobytes() for each in range(3)])
            )
        if results[0] != results[1] or running.findings:
            differing.append((kernel, [row.kind for row in running.findings]))
    assert differing == []


def test_a_buffer_without_contents_has_a_pattern(built):
    path = built("cl", "gfx1100", "O2")
    args = {0: "zeros(4096)", 1: "arange(512)", 2: "noinit(512, uint)"}
    launched = launch(machine_for(path, "copy"), path, "copy", grid=512, work_group=128, args=args)
    assert launched.machine.run().has_ended
    assert (launched.buffers[0].view(np.uint32)[:512] == 0xAAAAAAAA).all()


IN_SOME_LANES = """kernel void some(global int *out, global int *in) {
  int x;
  __asm__ volatile("v_cmp_lt_i32 vcc_lo, 10, %1\\ns_and_saveexec_b32 s20, vcc_lo\\nv_mov_b32 v77, 7\\n"
                   "s_mov_b32 exec_lo, s20\\nv_mov_b32 %0, v77" : "=v"(x) : "v"(in[get_global_id(0)])
                   : "v77", "s20", "vcc");
  out[get_global_id(0)] = x;
}
"""


def test_a_register_is_defined_in_the_lanes_in_which_it_was_written(require_tool, tmp_path, capsys):
    require_tool("clang-22")
    (tmp_path / "k.cl").write_text(IN_SOME_LANES)
    words = ["--grid=32", "--work-group=32", "out=zeros(32)", "in=arange(32)", "--check=init"]
    assert main(["run", str(tmp_path / "k.cl"), "some", *words]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "error: uninitialized value stored in global memory: v77, 11 hazards write without these lanes at" in text
    assert text.count("lanes 0-10,") == 2


OF_SEVERAL = """
kernel void k(global %s *out) {
  volatile int acc[4];
  volatile local int t[128];
  int i = get_local_id(0);
  t[i] = i; acc[0] = acc[1] = acc[2] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = %s;
}
"""
STORED = {"sum": ("int", "acc[i & 3] + t[127 - i]"), "pair": ("int2", "(int2)(acc[i & 3], t[127 - i])")}


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
def test_a_value_of_two_variables_has_a_finding_for_each(stored, target, require_tool, tmp_path):
    require_tool("clang-22")
    (tmp_path / "k.cl").write_text(OF_SEVERAL % stored)
    path = str(tmp_path / "k.co")
    assert main(["compile", str(tmp_path / "k.cl"), "-O0", f"--target={target}", "-o", path]) == 0
    machine = machine_for(path, "k")
    running = Running(launch(machine, path, "k", grid=64, work_group=64, args=["zeros(128)"], check="init"))
    assert running.run().has_ended
    findings = check_report(running).findings
    assert sorted(re.match(r"\w+", row.variable)[0] for row in findings) == ["acc", "t"]


CHOSEN = """kernel void k(global int *out, global int *in, int n) {
  int i = get_global_id(0);
  local int a[64], b[64];
  if (i < 16)
    a[i] = in[i];
  if (i >= 40)
    b[i] = in[i];
  int x = a[i], y = b[i];
  out[i] = in[i] < n ? y : x;
}
"""


@pytest.mark.parametrize("level", ["0", "2"])
@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
@pytest.mark.sampled(6)
def test_a_finding_has_the_lanes_that_got_the_value_of_its_variable(level, target, require_tool, tmp_path):
    require_tool("clang-22")
    (tmp_path / "k.cl").write_text(CHOSEN)
    path = str(tmp_path / "k.co")
    assert main(["compile", str(tmp_path / "k.cl"), f"-O{level}", f"--target={target}", "-o", path]) == 0
    arguments = ["zeros(64)", "arange(64)", "30"]
    machine = machine_for(path, "k")
    running = Running(launch(machine, path, "k", grid=64, work_group=64, args=arguments, check="init"))
    assert running.run().has_ended
    found = {re.match(r"\w+", row.variable)[0]: row for row in check_report(running).findings}
    assert {name: row.count for name, row in found.items()} == {"a": 34, "b": 30}
    of_one_wave = (1 << 64) - 1 if target == "gfx90a" else (1 << 32) - 1
    lanes = {name: [side.side.lanes for side in row.sides] for name, row in found.items()}
    assert lanes["b"] == [(1 << 30) - 1] * 2
    assert set(lanes["a"]) in ({of_one_wave & -1 << 30}, {of_one_wave})  # of the wave that was the first


LATER_LANES = """kernel void k(global const int *in, global int *out) {
  int i = get_local_id(0), weight[4] = {0, 1};
  local int tile[64];
  int value = weight[in[i] & 3], other = tile[63 - i];
  if (i > 40)
    out[i] = value + other;
}
"""


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100", "gfx1200"])
def test_the_element_is_that_of_the_lane_which_is_named(require_tool, tmp_path, target):
    """The first lane that reads an element is not among those whose value counts."""
    require_tool("clang-22")
    source, path = tmp_path / "k.cl", str(tmp_path / "k.co")
    source.write_text(LATER_LANES)
    assert main(["compile", str(source), f"--target={target}", "-O0", "-o", path]) == 0
    launched = launch(machine_for(path, "k"), path, "k", grid=64, work_group=64, args=["arange(64)", "zeros(64)"],
                      check="init")  # fmt: skip
    running = Running(launched)
    assert running.run().has_ended
    (row,) = (row for row in check_report(running).findings if row.kind == f.UNDEFINED_STORE)
    read, write = (side.side for side in row.sides)
    assert (read.lane, read.item, read.wave) == (write.lane, (41, 0, 0), write.wave)
    assert row.variable == "tile[22]"


REDUCED = """kernel void k(global const int *in, global int *out) {
  local int tile[8];
  int l = get_local_id(0);
  if (l != 6)
    tile[l] = in[l];
  for (int s = 4; s > 0; s /= 2) {
    if (l < s)
      tile[l] += tile[l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0)
    out[0] = tile[0];
}
"""


def test_the_lane_that_stores_a_value_may_be_another_than_the_one_that_read_it(require_tool, tmp_path):
    require_tool("clang-22")
    source, path = tmp_path / "k.cl", str(tmp_path / "k.co")
    source.write_text(REDUCED)
    assert main(["compile", str(source), "-O0", "-o", path]) == 0
    launched = launch(machine_for(path, "k"), path, "k", grid=8, work_group=8, args=["arange(8)", "zeros(1)"],
                      check="init")  # fmt: skip
    running = Running(launched)
    assert running.run().has_ended
    (row,) = check_report(running).findings
    assert row.variable == "tile[6]"
    assert [(side.side.lane, side.side.item) for side in row.sides] == [(2, (2, 0, 0)), (0, (0, 0, 0))]
