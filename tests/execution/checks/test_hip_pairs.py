"""Kernels of HIP with one fault, and mended: what all checks find, with both lines and the name of the variable."""

import re
from functools import cache, partial
from pathlib import Path

import pytest

from dwarfgpu.execution.checks import findings as f
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.parameters import some_of
from tests.execution.checks.pair_builds import pair_build
from tests.execution.checks.test_checks import BUILDS

SOURCE = Path(__file__).parent / "pairs.hip"
FOUND = {
    "turned": (f.READ_WRITE, r"tile\[\d+\]"), "rows": (f.READ_WRITE, r"row\[\d+\]\.values\[1\]"),
    "twice": (f.WRITE_WRITE, r"tile\[\d+\]"), "neighbour": (f.READ_WRITE, r"in\[\d+\]"),
    "total": (f.READ_WRITE, r"out\[0\]"), "in_branch": (f.DIVERGENT, ""), "leaves": (f.DIVERGENT, ""),
    "past": (f.INVALID[f.READ], r"in\[512\]"), "add_past": (f.INVALID[f.ATOMIC], r"out\[512\]"),
    "stored_pointer": (f.INVALID[f.READ], r"in\[\d+\]"), "shared_next": (f.INVALID[f.READ], r"left\[128\]"),
    "shared_before": (f.INVALID[f.WRITE], r"longer_name\[-4\]"), "private_next": (f.INVALID[f.READ], r"each\[4\]"),
    "odd": (f.MISALIGNED[f.READ], r"in\[\d+\]"), "odd_add": (f.MISALIGNED[f.ATOMIC], r"out\[\d+\]")}  # fmt: skip
"""By kernel, what is found, and what it names."""


@pytest.fixture(scope="module")
def built(require_tool, tmp_path_factory):
    return cache(partial(pair_build, require_tool("clang-22"), tmp_path_factory.mktemp("hip"), "pairs.hip"))


def found(path, kernel):
    """What all checks find as an error. Without padding the buffers touch each other."""
    machine, args = machine_for(path, kernel), ["zeros(512)", "arange(512)"]
    running = Running(launch(machine, path, kernel, grid=512, work_group=128, args=args, check="all", padding=0))
    running.run(limit=400_000)
    return [row for row in check_report(running).findings if row.severity == "error"]


def lines_of(kernel):
    """The lines of both sides."""
    lines = SOURCE.read_text("utf-8").split("\n")
    first = lines.index(f"KERNEL({kernel}) {{")
    last = lines.index("}", first)
    return {number for number in range(first, last) if re.search(r" ///?$", lines[number])}


def problems(built, target, level):
    """What is wrong with what is found of one build."""
    for kernel, (kind, name) in FOUND.items():
        rows = [row for row in found(built(target, level), kernel) if row.kind == kind]
        lines = {side.position.line - 1 for row in rows for side in row.sides}
        if lines != lines_of(kernel) or not any(re.fullmatch(name, row.variable or "") for row in rows):
            yield kernel, [(row.kind, row.variable) for row in rows], lines
        yield from (("mended", kernel, row.kind) for row in found(built(target, level, "-DMENDED"), kernel))


@pytest.mark.slow
def test_each_fault_is_found_and_nothing_else(built):
    assert [*problems(built, "gfx1100", "O2")] == []


@pytest.mark.slow
def test_the_same_on_other_processors(built):
    others = [*some_of(BUILDS, 3), ("gfx90a", "O0"), ("gfx1100", "O0")]
    assert {build: rows for build in others if (rows := [*problems(built, *build)])} == {}
