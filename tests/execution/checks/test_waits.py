"""Registers that are used before their loads are complete, in inline assembly, for which compilers do not wait."""

import re
from functools import cache, partial
from pathlib import Path

import pytest

from dwarfgpu.cli import main
from dwarfgpu.execution.checks import findings as f
from dwarfgpu.execution.control.check_report import check_report
from dwarfgpu.execution.control.running import Running
from dwarfgpu.execution.launch.launch import launch, machine_for
from tests.builders.parameters import few_or_all, pairs
from tests.execution.checks.pair_builds import pair_build
from tests.execution.checks.test_checks import TARGETS

HERE = Path(__file__).parent
LINES = (HERE / "waits.cl").read_text("utf-8").split("\n")
KERNELS = [match[1] for line in LINES if (match := re.match(r"KERNEL\((\w+)\) \{", line))]


@pytest.fixture(scope="module")
def built(require_tool, tmp_path_factory):
    return cache(partial(pair_build, require_tool("clang-22"), tmp_path_factory.mktemp("waits"), "waits.cl"))


def found(path, kernel):
    machine = machine_for(path, kernel)
    args = ["zeros(512)", "arange(512)"]
    running = Running(launch(machine, path, kernel, grid=512, work_group=128, args=args, check="race,wait"))
    halt = running.run(limit=200_000)
    assert halt.has_ended, halt
    return check_report(running).findings


def kind_of(kernel):
    """The kind of the fault."""
    return f.READ_WRITE if kernel == "overtaken" else f.EARLY_USE


def lines_of(kernel):
    """The lines of the access and of the use."""
    first = LINES.index(f"KERNEL({kernel}) {{")
    last = LINES.index("}", first)
    return {number for number in range(first + 1, last + 1) if re.search(r" ///?$", LINES[number - 1])}


def problems(built, target, level, every):
    """What is wrong with what is found of one build."""
    for kernel in [*KERNELS][::every]:
        rows = found(built(target, level), kernel)
        # All waves of a work-group share the nearest cache of GFX9, so a barrier orders their stores
        expected = set() if kernel == "overtaken" and target[3] == "9" else {kind_of(kernel)}
        lines = {side.position.line for row in rows for side in row.sides}
        if {row.kind for row in rows} != expected or (rows and lines != lines_of(kernel)):
            yield kernel, [row.message for row in rows], lines, lines_of(kernel)
        yield from (("mended", kernel, row.message) for row in found(built(target, level, "-DMENDED"), kernel))


@few_or_all(4)
@pytest.mark.parametrize("target, level", pairs(TARGETS, ["O0", "O1", "O2"]))
@pytest.mark.sampled(8)
def test_each_missing_wait_is_found_and_nothing_else(built, target, level, every):
    assert [*problems(built, target, level, every)] == []


LATE = """kernel void late(global const int *in, global int *out) {
  int i = get_global_id(0), number;
  if (i > 5) {
    __asm__ volatile("global_load_b32 %0, %1, off" : "=&v"(number) : "v"(in + i));
    out[i] = number + 1;
  }
}
"""


def test_the_lanes_are_those_that_use_the_register(require_tool, tmp_path, capsys):
    """Which lanes execute the load is not known later, so that side names none."""
    require_tool("clang-22")
    source = tmp_path / "late.cl"
    source.write_text(LATE)
    words = ["run", f"{source}@gfx1100", "late", "--grid=32", "--work-group=32", "in=arange(32)", "out=zeros(32)"]
    assert main([*words, "--check=wait"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert re.search(r" read at \S+:4 in late, 0x\w+ wave 1:1:1:1, work-group \(0,0,0\) use at ", text)
    assert "work-group (0,0,0), lanes 6-31, work-items [6,0,0] to [31,0,0] " in text
