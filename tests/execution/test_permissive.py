"""Accesses outside of local and private memory in permissive memory: they read 0, store nothing, and are found."""

import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.commands import outcome as run

HEADER = Path(__file__).parent / "kernels.h"
SOURCE = """typedef long long2 __attribute__((ext_vector_type(2)));
kernel void in_local(global int *out, int by) {
  local volatile int tile[64];
  int i = get_local_id(0), at = i < 32 ? i : i + by;
  tile[i] = i + 100;
  barrier(CLK_LOCAL_MEM_FENCE);
  int old = tile[at];
  tile[at] = 7;
  out[i] = old + 1000 * tile[at];
}
kernel void in_private(global int *out, int by) {
  volatile int part[16];
  int i = get_local_id(0), at = (i & 15) + (i < 32 ? 0 : by);
  for (int each = 0; each < 16; ++each)
    part[each] = each + 100;
  int old = part[at];
  part[at] = 7;
  out[i] = old + 1000 * part[at] + 100000 * part[(i & 15) ^ 1];
}
kernel void mixed(global int *out, int by) {
  local volatile int tile[64];
  volatile int part[16];
  int i = get_local_id(0), past = i < 32 ? 0 : by;
  tile[i] = part[i & 15] = part[0] = i + 100;
  volatile int *at = i & 1 ? (volatile int *)tile + i + past : part + past;
  int old = *at;
  *at = 7;
  out[i] = old + 1000 * *at;
}
kernel void atomic(global int *out, int by) {
  local volatile int tile[64];
  int i = get_local_id(0), at = i < 32 ? i : i + by;
  tile[i] = i + 100;
  barrier(CLK_LOCAL_MEM_FENCE);
  int old = __opencl_atomic_fetch_add((volatile local atomic_int *)(tile + at), 1, 0, 1);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = old + 1000 * tile[i];
}
kernel void wide(global long *out, int by) {
  local volatile long2 tile[64];
  int i = get_local_id(0), at = i < 32 ? i : i + by;
  tile[i] = (long2)(i, i + 100);
  barrier(CLK_LOCAL_MEM_FENCE);
  long2 old = tile[at];
  tile[at] = (long2)(7, 8);
  out[i] = old.x + 1000 * old.y + 1000000 * tile[at].y;
}
"""
ITEMS = np.arange(64)
OTHER = (ITEMS & 15 ^ 1) + 100
INSIDE = {
    "in_local": ITEMS + 100 + 7000, "in_private": (ITEMS & 15) + 100 + 7000 + 100000 * OTHER,
    "mixed": ITEMS + 100 + 7000, "atomic": ITEMS + 100 + 1000 * (ITEMS + 101),
    "wide": ITEMS + 1000 * (ITEMS + 100) + 8000000,
}  # fmt: skip
"""What work-items write that reach no other memory."""
OUTSIDE = dict.fromkeys(INSIDE, 0 * ITEMS) | {"in_private": 100000 * OTHER, "atomic": 1000 * (ITEMS + 100)}
"""The same of those that reach outside."""
MORE = "gfx803", "gfx906", "gfx942", "gfx1010", "gfx1030", "gfx1100"
TARGETS = "gfx90a", "gfx1200", *(pytest.param(name, marks=pytest.mark.slow) for name in MORE)


@pytest.fixture(scope="module")
def built(require_tool, tmp_path_factory):
    clang, folder = require_tool("clang-22"), tmp_path_factory.mktemp("permissive")
    (folder / "k.cl").write_text(SOURCE, "utf-8")

    @cache
    def build(target: str, level: str) -> str:
        path = str(folder / f"{target}.{level}.co")
        words = [clang, "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", f"-{level}", "-cl-std=CL2.0", "-w", "-g"]
        if target == "gfx803":  # from version 5 on, clang gives its traps no queue
            words.append("-mcode-object-version=4")
        words += ["-include", str(HEADER), "-nogpulib", str(folder / "k.cl"), "-o", path]
        subprocess.run(words, check=True, capture_output=True)
        return path

    return build


def started(path, kernel, by, jit="auto", **options):
    machine = machine_for(path, kernel)
    machine.jit = jit
    args = ["zeros(64)", by]
    return launch(machine, path, kernel, grid=64, work_group=64, args=args, **options)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("level, jit", [("O0", "off"), ("O2", "on")])
@pytest.mark.parametrize("by", [100_000, -100_000])
@pytest.mark.sampled(6)
def test_lanes_outside_read_0_and_store_nothing(built, target, level, jit, by):
    path = built(target, level)
    for kernel, inside in INSIDE.items():
        if kernel == "mixed" and by < 0:  # far in front of local memory no generic address means it
            continue
        launched = started(path, kernel, by, jit, permissive=True)
        halt = launched.machine.run()
        assert halt.has_ended, (kernel, halt)
        expected = np.where(ITEMS < 32, inside, OUTSIDE[kernel])
        assert launched.buffers["out"].tolist() == expected.tolist(), kernel


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
def test_without_it_they_are_faults(built, target):
    for kernel in INSIDE:
        halt = started(built(target, "O2"), kernel, 100_000).machine.run()
        assert (halt.kind, halt.reason[:13]) in [("fault", "ADDRESS_ERROR"), ("fault", "MEMORY_VIOLAT")]


@pytest.mark.parametrize("target, level", [pytest.param("gfx90a", "O0", marks=pytest.mark.slow), ("gfx1100", "O2")])
def test_checks_find_them_all_the_same(built, target, level):
    for kernel in INSIDE:
        running = Running(
            started(built(target, level), kernel, 100_000, permissive=True, check="bounds,init,race,align")
        )
        halt = running.run()
        assert halt.has_ended, (kernel, halt)
        findings = check_report(running).findings
        assert {row.check for row in findings} == {"bounds"}, (kernel, findings)
        lines = {row.sides[0].position.line for row in findings}
        wrong = "[at]", "*at", "+ at"
        source = SOURCE.splitlines()
        assert all(any(word in source[line - 1] for word in wrong) for line in lines), (kernel, lines)
        assert len(lines) > (kernel == "in_local"), (kernel, lines)


def test_buffers_follow_each_other(built):
    launched = started(built("gfx1100", "O2"), "in_local", 0, permissive=True)
    assert [buffer.padding for buffer in launched.plan.buffers] == [0]
    launched = started(built("gfx1100", "O2"), "in_local", 0, permissive=True, padding=512)
    assert [buffer.padding for buffer in launched.plan.buffers] == [512]


def test_commands_have_it(built):
    path = built("gfx1100", "O2")
    words = ["in_local", "--grid", 64, "--work-group", 64, "out=zeros(64)", "by=100000"]
    assert run("run", path, *words)[0] == 1
    status, text, error = run("run", path, *words, "--permissive", "--check=bounds")
    assert status == 1, (text, error)
    assert "tile[" in text
    assert "in_local --grid=64 --work-group=64 --check=bounds --permissive " in error
    launch_it = "target launch -permissive in_local 64 64 zeros(64) 100000"
    assert "exited normally" in run("debug", path, "-batch", "-ex", launch_it, "-ex", "continue")[1]
    assert launch(machine_for(path, "in_local"), path, "in_local", grid=64, work_group=64, permissive=True)
