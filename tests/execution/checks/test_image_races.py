"""Images: functions read and write those of OpenCL as memory; the instructions of the hardware are not covered."""

import pytest

from dwarfgpu.cli import main
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for

KERNELS = """
kernel void swap(read_write image2d_t a, global float *out) {
  int x = get_local_id(0);
  write_imagef(a, (int2)(x, 0), (float4)(x, 1, 2, 3));
  SYNC
  out[x] = read_imagef(a, (int2)(x ^ 128, 0)).x;
}
kernel void counted(global int *out, global int *a) {
  out[get_local_id(0)] = 1;
  __asm__ volatile("image_load v[4:7], v0, s[0:7] dmask:0xf dim:SQ_RSRC_IMG_1D" ::: "v4", "v5", "v6", "v7");
}
"""


@pytest.fixture
def report(require_tool, tmp_path, capsys):
    require_tool("clang-22")

    def run(kernel, sync, *args):
        source, path = tmp_path / "k.cl", str(tmp_path / "k.co")
        source.write_text(KERNELS.replace("SYNC", sync))
        assert main(["compile", str(source), "--target=gfx1100", "-O2", "-o", path]) == 0
        running = Running(launch(machine_for(path, kernel), path, kernel, grid=256, work_group=256, args=args,
                                 check="race"))  # fmt: skip
        running.run(limit=100_000)
        return check_report(running)

    return run


@pytest.mark.slow
def test_texels_that_nothing_orders(report):
    args = "image(256x1,rgba,float)", "zeros(256,f4)"
    assert not report("swap", "work_group_barrier(CLK_IMAGE_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);", *args).findings
    (row,) = report("swap", "", *args).findings
    assert (row.kind, row.severity, row.sides[1].line[1]) == ("read-write race", "error", 6)


def test_what_is_not_covered_is_named(report):
    found = report("counted", "", "zeros(256)", "zeros(256)")
    assert [place.line for place in found.coverage.missing] == [10]
