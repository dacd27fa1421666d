"""Variables compared with those of another build: what is wrong is found where it begins, and nothing else is."""

from __future__ import annotations

import pytest

from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.launch.launch import launch, machine_for
from dwarfgpu.program.program import open_program
from dwarfgpu.program.running.running import Running
from dwarfgpu.verification.judging.judgement import Judge
from dwarfgpu.verification.judging.other_builds import GpuBuild
from tests.builders.compared_builds import GFX942, GFX1100, assembled, defects_of, steps_of

PROCESSORS = pytest.mark.parametrize("processor", [GFX942, GFX1100], ids=lambda each: each.name)
FEW = 11
"""Of so many defects one is judged in each run of the tests, and all of them in a slow one."""


@pytest.fixture
def tools(require_tool):
    return require_tool("llvm-mc-22"), require_tool("ld.lld-22")


def running(path, kernel, args, *, grid=40, work_group=40, repair="auto"):
    program = open_program(path, repair=repair)
    launched = launch(
        machine_for(program.file, kernel), program.file, kernel, grid=grid, work_group=work_group, args=list(args)
    )
    return Running(launched, program=program)


def compared(path, other, kernel="steps", args=("zeros(40)", 9), *, repair="auto", **sizes):
    """Return the judgement of a build against another one."""
    judged = running(path, kernel, args, repair=repair, **sizes)
    return Judge(judged, GpuBuild(running(other, kernel, args, **sizes))).run()


def of_variables(judgement):
    return [finding for finding in judgement.report.findings if finding.rule.part == "against"]


@PROCESSORS
def test_nothing_is_found_where_both_builds_are_right(processor, tools, tmp_path):
    other = GFX1100 if processor is GFX942 else GFX942
    judgement = compared(assembled(processor, tools, tmp_path), assembled(other, tools, tmp_path))
    assert [finding.message for finding in judgement.report.findings if finding.rule.part != "lane"] == []
    comparison = judgement.comparison
    assert comparison.aligned == comparison.stops > 0
    assert comparison.total().wrong == comparison.total().missing == 0
    assert {variable.name for variable in comparison.variables} == {
        "out", "limit", "lane", "left", "wide", "both", "stored", "step", "result",
    }  # fmt: skip


def check_defects(processor, tools, folder, defects):
    right = assembled(GFX942, tools, folder / "right")
    offsets = step_offsets(right if processor is GFX942 else assembled(processor, tools, folder / "right"), processor)
    missed = []
    for defect in defects:
        path = assembled(processor, tools, folder, defect.ranges)
        findings = of_variables(compared(path, right, repair="off"))
        if offsets[defect.step] not in {finding.offset for finding in findings}:
            missed.append((defect.name, hex(offsets[defect.step]), [finding.message for finding in findings]))
    assert not missed


def step_offsets(path, processor):
    from dwarfgpu.isa.decoder import decode

    file = opened(path)
    section = next(each for each in file.image.sections if each.name == ".text")
    offset, offsets = file.image.symbol_named("steps").value - section.address, []
    for _step in steps_of(processor):
        offsets.append(offset)
        offset += decode(bytes(section.data[offset : offset + 20]), 0, processor.name, processor.lanes).size
    return offsets


@PROCESSORS
def test_a_location_that_is_wrong_is_found_at_its_first_statement(processor, tools, tmp_path):
    (tmp_path / "right").mkdir()
    check_defects(processor, tools, tmp_path, list(defects_of(processor))[::FEW])


@pytest.mark.slow
@PROCESSORS
def test_every_location_that_is_wrong_is_found_at_its_first_statement(processor, tools, tmp_path):
    (tmp_path / "right").mkdir()
    defects = list(defects_of(processor))
    assert len(defects) >= 60
    check_defects(processor, tools, tmp_path, defects)
