"""Loads that write local memory, which their wave has written when vmcnt says so, not when lgkmcnt does."""

import pytest

from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.parameters import some_slow
from tests.execution.checks.pair_builds import HERE, RESOURCES, pair_build

LINES = (HERE / "direct_loads.cl").read_text("utf-8").split("\n")
FAULTS = {"stage": 2, "pipeline": 2, "early": 1, "again": 1, "own": 1, "behind": 1}
STORED = {"sent": 1, "passed": 1, "taken": 1, "seen": 1}
"""Kernels with stores out of local memory, which gfx1250 has."""


def lines_of(kernel):
    first = LINES.index(f"KERNEL({kernel})")
    return {
        number + 1 for number in range(first, LINES.index("}", first)) if LINES[number].endswith(("first", "second"))
    }


def found(path, kernel, work_group):
    args = ["zeros(512)", "arange(512)"]
    running = Running(launch(machine_for(path, kernel), path, kernel, grid=256, work_group=work_group, args=args,
                             check="race"))  # fmt: skip
    assert running.run(limit=200_000).has_ended
    return check_report(running).findings


BUILDS = ("gfx90a", False), ("gfx942", False), ("gfx942", True), ("gfx950", True), ("gfx1030", True), ("gfx1250", False)


@pytest.mark.parametrize("processor, buffers", some_slow(BUILDS, quick=BUILDS[:1]))
def test_the_pair_that_nothing_orders(require_tool, tmp_path, processor, buffers):
    """At -O0 most of the faults are none: the code waits for variables on the stack in between."""
    clang, flags = require_tool("clang-22"), RESOURCES["gfx10" if processor == "gfx1030" else "gfx9"]
    options = [f"-DBUFFERS={flags}"] if buffers else []
    kernels = FAULTS | (STORED if processor == "gfx1250" else {})
    for level, fault in (("O0", 0), ("O2", 0), ("O2", 1), ("O2", 2)):
        path = pair_build(clang, tmp_path, "direct_loads.cl", processor, level, f"-DFAULT={fault}", *options)
        for kernel in (kernel for kernel, count in kernels.items() if fault <= count):
            for work_group in (256, 64) if kernel in ("own", "behind") else (256,):
                rows = [row for row in found(path, kernel, work_group) if row.severity == "error"]
                assert {row.kind for row in rows} == ({"read-write race"} if fault else set()), (kernel, fault)
                lines = {side.position.line for row in rows for side in row.sides}
                assert lines == (lines_of(kernel) if fault else set()), (kernel, fault)
