"""Arguments that are made for kernels fit their types, and stay the same for a seed."""

import numpy as np
import pytest

from dwarfgpu.audits.judge.made_arguments import launch_sizes, made_arguments
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
    planned = plan(program.file, kernel, grid, group, made_arguments(program, kernel, grid[0], 0))
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
