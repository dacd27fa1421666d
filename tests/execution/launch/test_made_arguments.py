"""Arguments that are made for kernels fit their types, and stay the same for a seed."""

import subprocess

import numpy as np
import pytest

from dwarfgpu.execution.launch.launch import launch, machine_for
from dwarfgpu.execution.launch.made_arguments import argument_texts, launch_sizes, made_arguments
from dwarfgpu.execution.launch.options import LaunchOptions
from dwarfgpu.execution.launch.planning import plan
from dwarfgpu.states.program import open_program
from tests.builders.folders import FIXTURES

CL, HIP = "amdgpu/cl-kernels.gfx1100.w32.O2.v5.co", "amdgpu/hip-kernels.gfx1100.w32.O2.v5.co"
KERNELS = [(CL, name) for name in ("saxpy", "divergent", "spaces", "records")]
KERNELS += [(HIP, name) for name in ("divergent", "objects", "spaces")]


@pytest.mark.parametrize("path, kernel", KERNELS)
def test_a_kernel_can_be_launched_with_them(path, kernel):
    program = open_program(str(FIXTURES / path))
    grid, group = launch_sizes(program.file, kernel)
    planned = plan(program.file, kernel, LaunchOptions(grid, group), made_arguments(program, kernel, grid[0], 0))
    assert planned.geometry.grid == (128, 1, 1)
    assert not planned.notes


def test_they_are_what_their_types_say():
    program = open_program(str(FIXTURES / CL))
    y, x, a, n = made_arguments(program, "saxpy", 128, 0).values()
    assert [array.dtype for array in (x, y)] == [np.dtype("f4")] * 2
    assert [len(array) for array in (x, y)] == [1024, 1024]
    assert np.frombuffer(a, "f4") == 1.5
    assert np.frombuffer(n, "i4") == 100 or np.frombuffer(n, "i4") == 128
    again, other = (made_arguments(program, "saxpy", 128, seed)[0] for seed in (0, 1))
    assert (again == y).all()
    assert (other != y).any()
    assert len(made_arguments(program, "saxpy", 1000, 0)[0]) == 4000
    assert set(made_arguments(program, "divergent", 128, 0)) == {0, 1}


STRUCTURES = """
typedef struct node { int *data; struct node *next; int n; void (*call)(void); } node;
typedef struct { node *nodes; const float *numbers; int count; } view;
__attribute__((amdgpu_kernel, device)) void k(view v, node *list, float *out) {
  int i = __builtin_amdgcn_workitem_id_x();
  node *first = &v.nodes[i];
  out[i] = v.numbers[i] + first->n + (first->next ? first->next->n : 0) + list[i].data[i] + list[i].next->n;
}
"""


def test_pointers_in_structures_point_to_buffers_and_those_in_these_are_null(require_tool, tmp_path):
    (tmp_path / "k.hip").write_text(STRUCTURES)
    words = ["-g", "-O2", "-w", "-nogpulib", "-nogpuinc", "--cuda-device-only", "--offload-arch=gfx1100"]
    words += ["--no-gpu-bundle-output", "-x", "hip", tmp_path / "k.hip", "-o", tmp_path / "k.co"]
    subprocess.run([require_tool("clang-22"), *words], check=True)
    program = open_program(str(tmp_path / "k.co"))
    values = made_arguments(program, "k", 64, 0)
    assert argument_texts(program.file, "k", values) == {
        "v": "{nodes: 1,024 of {data: 0, next: 0, n: 64, call: 0}, numbers: 1,024 float32, count: 64}",
        "list": "1,024 of {data: 1,024 int32, next: 1,024 of {data: 0, next: 0, n: 64, call: 0}, n: 64, call: 0}",
        "out": "1,024 float32",
    }
    planned = plan(program.file, "k", LaunchOptions(64, 64), values)
    assert [buffer.name for buffer in planned.buffers] == [
        "v.nodes", "v.numbers", "list[0].data", "list[0].next", "list", "out",
    ]  # fmt: skip
    launched = launch(machine_for(program.file, "k"), program.file, "k", grid=64, work_group=64, args=values)
    assert launched.machine.run().has_ended
    numbers, data = values[0]["numbers"], values[1][0]["data"]
    assert (launched.buffers["out"][:64] == numbers[:64] + 64 + data[:64] + 64).all()
