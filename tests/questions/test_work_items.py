"""The work-item of a lane, by the names that HIP and OpenCL C give its numbers."""

import pytest

from tests.builders.commands import run

HIP = """#include <hip/hip_runtime.h>
extern "C" __global__ void k(int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = i;
}
"""
OPENCL = "kernel void k(global int *out) {\n\n  int i = get_global_id(0) + 9 * get_local_id(1);\n  out[i] = i;\n}\n"
IN_HIP = {
    "threadIdx.x": "4", "threadIdx": "{4, 0, 0}", "blockIdx.x": "2", "blockDim": "{32, 1, 1}", "gridDim.x": "3",
    "blockIdx.x * blockDim.x + threadIdx.x == i": "true", "sizeof(blockDim.x)": "4",
    "-lane 3-5 threadIdx.x": "{[3]=3, [4]=4, [5]=5}",
}  # fmt: skip
IN_OPENCL = {
    "get_global_id(0)": "10", "get_global_id(1)": "1", "get_local_id(0)": "2", "get_local_id(1)": "1",
    "get_group_id(0)": "1", "get_local_size(0)": "8", "get_local_size(1)": "2", "get_num_groups(0)": "3",
    "get_global_size(0)": "24", "get_global_size(1)": "2", "get_global_size(7)": "1", "get_local_id(7)": "0",
    "get_global_id(0) + 9 == i": "1", "out[get_global_id(0)]": "0", "sizeof(get_local_id(0))": "8",
}  # fmt: skip


@pytest.fixture
def values(require_tool, tmp_path):
    require_tool("clang-22")

    def ask(name, text, sizes, condition, asked):
        source = tmp_path / name
        source.write_text(text)
        steps = f"break 4 if {condition}", "continue", *(f"print {each}" for each in asked)
        words = "k", *sizes, "zeros(96,int32)", "-batch"
        return run("debug", source, *words, *(word for step in steps for word in ("-ex", step)))

    return ask


def printed(done):
    assert "error" not in done.stderr
    return [line.partition(" = ")[2] for line in done.stdout.splitlines() if line.startswith("$")]


def test_names_of_hip(values):
    done = values("k.hip", HIP, ("--grid=96", "--work-group=32"), "threadIdx.x == 4 && blockIdx.x == 2", IN_HIP)
    assert "with lane [4]\n" in done.stdout
    assert printed(done) == [*IN_HIP.values()]


def test_functions_of_opencl(values):
    sizes = "--grid=24,2", "--work-group=8,2"
    done = values("k.cl", OPENCL, sizes, "get_global_id(0) == 10 && get_local_id(1) == 1", IN_OPENCL)
    assert printed(done) == [*IN_OPENCL.values()]


def test_variables_of_the_kernel_come_first_and_other_functions_are_not_called(values):
    text = HIP.replace("int i", "int threadIdx = 77, i").replace("+ threadIdx.x", "+ 3")
    done = values("k.hip", text, ("--grid=32", "--work-group=32"), "1", ["threadIdx", "get_image_width(0)"])
    assert "$1 = 77\n" in done.stdout
    assert "function calls are not supported, at column" in done.stderr
