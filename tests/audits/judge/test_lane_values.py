"""Variables that are computed where EXEC is narrow: what other lanes show behind the place where it is wide again."""

import subprocess

import numpy as np
import pytest

from dwarfgpu.audits.judge.judgement import Judge
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.execution.launch.made_arguments import launch_sizes, made_arguments
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.states.program import open_program

ENUMERATION = """\
enum Color { red, green, blue };
kernel void colors(global int *out, global int *in, int n) {
  int id = (int)__builtin_amdgcn_workitem_id_x();
  enum Color c = (enum Color)(in[id] % 3);
  bool odd = in[id] & 1;
  int r = c == red ? 1 : c == green ? n : odd ? 7 : 8;
  out[id] = r;
}
"""
BRANCHES = """\
kernel void branches(global int *out, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int result = 0;
  if (id < n) {
    result = id * 3 + 1;
  } else {
    int right = id - n;
    result = right * right;
  }
  out[id] = result;
}
"""
RECURSION = """\
__attribute__((noinline)) int factorial(int n) {
  int smaller = n - 1;
  if (smaller < 1)
    return 1;
  int rest = factorial(smaller);
  return n * rest;
}
kernel void values(global int *out) {
  int id = __builtin_amdgcn_workitem_id_x();
  int value = factorial(id & 7);
  out[id] = value;
}
"""
LEFT = """\
kernel void rounds(global int *out, global int *in) {
  int id = __builtin_amdgcn_workitem_id_x();
  int value = in[id];
  int steps = 0;
  while (value > 1) {
    value = value & 1 ? value * 3 + 1 : value / 2;
    ++steps;
    if (steps > 9)
      break;
  }
  int last = value + steps;
  out[id] = last;
}
"""
SCAN = """\
__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void scan(global const int *in, global int *out, int n) {
  local int temp[128];
  int tid = __builtin_amdgcn_workitem_id_x();
  int gid = __builtin_amdgcn_workgroup_id_x() * 128 + tid;
  temp[tid] = gid < n ? in[gid] : 0;
  __builtin_amdgcn_s_barrier();
  for (int offset = 1; offset < 128; offset *= 2) {
    int add = 0;
    if (tid >= offset)
      add = temp[tid - offset];
    temp[tid] += add;
    __builtin_amdgcn_s_barrier();
  }
  if (gid < n)
    out[gid] = temp[tid];
}
"""
UNROLLED = """\
static int scanned(local int *temp, int id, int v) {
  temp[id] = v;
  __builtin_amdgcn_s_barrier();
  for (int d = 1; d < 128; d <<= 1) {
    int add = 0;
    if (id >= d)
      add = temp[id - d];
    __builtin_amdgcn_s_barrier();
    temp[id] += add;
    __builtin_amdgcn_s_barrier();
  }
  return temp[id];
}
kernel void compact(global const int *in, global int *out, global int *count) {
  local int temp[128];
  int id = __builtin_amdgcn_workitem_id_x();
  int keep = in[id] % 3 != 0;
  int place = scanned(temp, id, keep);
  if (keep)
    out[place - 1] = in[id];
  if (id == 127)
    *count = place;
}
"""
SUMS = """\
kernel void sums(global const float *in, global float *out, float scale) {
  int id = __builtin_amdgcn_workitem_id_x();
  float sum = 0, norm = 0;
  for (int k = 0; k < 5; k++) {
    float v = in[id + k];
    float w = v * scale;
    sum += w * v;
    norm += w;
  }
  out[id] = sum / norm;
}
"""

SELECTED = """\
kernel void selected(global const int *in, global int *out, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int last = 0;
  for (int k = 0; k < n; k++) {
    int x = in[id + k];
    if (x > 7) {
      x++;
      last = x;
    }
  }
  out[id] = last;
}
"""


@pytest.fixture
def found(require_tool, tmp_path, judged):
    """``found(source, kernel, processor)`` is what a rule of judge says of the variables, at -O2."""

    def find(source, kernel, processor="gfx1100", *, rule="value-lanes", **launch):
        (tmp_path / "k.cl").write_text(source)
        words = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-g", "-O2"]
        command = [require_tool("clang-22"), *words, "-nogpulib", "k.cl", "-o", "k.co"]
        subprocess.run(command, check=True, cwd=tmp_path, capture_output=True)
        path = str(tmp_path / "k.co")
        if not launch:
            grid, group = launch_sizes(opened(path), kernel)
            made = made_arguments(open_program(path), kernel, grid[0], 0)
            launch = {"grid": grid[0], "work_group": group[0], "args": [made[index] for index in sorted(made)]}
        return [each for each in judged(path, kernel, **launch).report.findings if each.rule.name == rule]

    return find


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100", "gfx1201"])
@pytest.mark.sampled(6)
def test_a_value_computed_for_some_lanes_is_not_that_of_others(found, processor):
    (finding,) = found(ENUMERATION, "colors", processor)
    assert "odd is located in v" in finding.message
    assert "k.cl:4" in finding.message  # what has loaded in[id], for all lanes
    assert finding.source[1] in (6, 7)


def test_a_register_that_the_other_side_of_a_branch_has_not_written(found):
    (finding,) = found(BRANCHES, "branches")
    assert "result is located in v1" in finding.message


@pytest.mark.parametrize("source, kernel", [(RECURSION, "values"), (LEFT, "rounds")])
def test_lanes_that_left_a_loop_early_keep_what_they_computed(found, source, kernel):
    assert found(source, kernel) == []


@pytest.mark.slow
def test_what_a_register_has_since_the_launch_is_computed_though_a_whole_wave_branches_around_its_location(found):
    args = [np.ones(256, np.int32), np.zeros(256, np.int32), 100]
    assert found(SCAN, "scan", grid=256, work_group=128, args=args) == []


@pytest.mark.slow
def test_the_first_value_of_a_variable_may_come_from_far_ahead_of_the_branch_that_changes_it(found):
    args = [np.arange(128, dtype=np.int32), np.zeros(128, np.int32), np.zeros(1, np.int32)]
    assert found(UNROLLED, "compact", grid=128, work_group=128, args=args) == []


def test_a_dual_instruction_belongs_to_two_statements_and_its_row_names_one(found):
    assert found(SUMS, "sums", rule="value-changed") == []


@pytest.mark.parametrize("processor", ["gfx90a", "gfx1100"])
def test_a_select_on_the_line_of_an_if_assigns_what_its_branches_assign(found, processor):
    args = {"args": [np.arange(128, dtype=np.int32), np.zeros(64, np.int32), 20]}
    assert found(SELECTED, "selected", processor, rule="value-changed", grid=64, work_group=64, **args) == []


def test_variables_where_no_lane_executes_are_neither_right_nor_wrong(require_tool, tmp_path):
    """Behind a loop that lanes leave one by one, EXEC is 0 until all are active again."""
    (tmp_path / "k.cl").write_text(LEFT)
    words = f"{require_tool('clang-22')} -x cl -target amdgcn-amd-amdhsa -mcpu=gfx1100 -g -O2 -nogpulib k.cl -o k.co"
    subprocess.run(words.split(), check=True, cwd=tmp_path, capture_output=True)
    program = open_program(str(tmp_path / "k.co"))
    args = [np.zeros(64, np.int32), np.arange(64, dtype=np.int32)]
    machine = machine_for(program.file, "rounds")
    judge = Judge(Running(launch(machine, program.file, "rounds", grid=(64,), work_group=(64,), args=args)))
    judge.run()
    judged = {pc for *_variable, pc in judge.values.located | judge.values.absent}
    assert judged
    assert judged <= judge.statements.executed.keys() < judge.sightings.functions["rounds"].seen
