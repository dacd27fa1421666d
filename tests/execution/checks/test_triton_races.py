"""Races of a kernel of Triton, whose compiler lets lanes of a wave repeat the stores of a reduction."""

import pytest

from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for

FILE = "fixtures/llvm24/triton-last-program.{}.{}.co"
ARGS = "arange(1024)", "zeros(4)", "zeros(1)", "zeros(1)"
STORED, READ, KERNEL = 11, 16, 8
"""Lines of the source: of the parts, and of the kernel itself."""


@pytest.mark.parametrize("target", ["gfx942.w64", "gfx1100.w32"])
@pytest.mark.parametrize("order, lines", [("relaxed", [[STORED, READ]]), ("acq_rel", [])])
def test_a_race_is_reported_at_the_lines_of_the_kernel(target, order, lines):
    path, size = FILE.format(target, order), 256 if "w64" in target else 128
    words = {"grid": 4 * size, "work_group": size, "dynamic_local": 16, "check": "race"}
    running = Running(launch(machine_for(path, "last_program"), path, "last_program", args=ARGS, **words))
    assert running.run().has_ended
    report = check_report(running)
    assert [sorted(side.position.line for side in row.sides) for row in report.findings] == lines
    assert {row.kind for row in report.findings} <= {"read-write race"}
    assert KERNEL not in {place.line for place in report.coverage.missing}
