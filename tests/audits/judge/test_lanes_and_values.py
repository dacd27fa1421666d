from __future__ import annotations

import pytest

from dwarfgpu.program.code.code_object import opened
from tests.builders.judged_calls import GFX90A, GFX1100
from tests.builders.judged_lanes import assembled, lane_defects, value_defects
from tests.builders.parameters import few_or_all

PROCESSORS = pytest.mark.parametrize("processor", [GFX90A, GFX1100], ids=lambda each: each.name)
FEW = 29
"""Of so many defects one is judged in each run of the tests, and all of them in a slow one."""
SIZES = {"grid": 80, "work_group": 80, "args": ("zeros(80)", 40)}
"""So many work-items that some lanes never begin."""


@pytest.fixture
def tools(require_tool):
    return require_tool("llvm-mc-22"), require_tool("ld.lld-22")


@PROCESSORS
def test_nothing_is_found_where_lanes_are_where_they_are_said_to_be(processor, tools, tmp_path, judged):
    judgement = judged(assembled(processor, tools, tmp_path), "X", **SIZES)
    assert [finding.message for finding in judgement.report.findings] == []
    assert {function.name for function in judgement.functions} == {"X", "whole_wave"}


def offset_of(path, label):
    file = opened(path)
    section = next(each for each in file.image.sections if each.name == ".text")
    return file.image.symbol_named(label).value - section.address


def check_defects(processor, tools, folder, judged, defects, part="lane"):
    missed = []
    for defect in defects:
        path = assembled(processor, tools, folder, defect)
        findings = judged(path, "X", **SIZES).report.findings
        places = {finding.offset for finding in findings if finding.rule.part == part}
        if offset_of(path, defect.label) + defect.behind not in places:
            missed.append((defect.name, [(hex(finding.offset), finding.message) for finding in findings]))
    assert not missed


@pytest.mark.slow
@PROCESSORS
def test_a_defect_is_found_at_its_instruction(processor, tools, tmp_path, judged):
    check_defects(processor, tools, tmp_path, judged, list(lane_defects())[::FEW])


@pytest.mark.slow
@PROCESSORS
def test_every_defect_is_found_at_its_instruction(processor, tools, tmp_path, judged):
    defects = list(lane_defects())
    assert len(defects) >= 50
    check_defects(processor, tools, tmp_path, judged, defects)


@pytest.mark.slow
@PROCESSORS
@few_or_all(6)
def test_a_variable_in_a_register_of_another_is_found(processor, every, tools, tmp_path, judged):
    defects = list(value_defects())
    assert len(defects) == 13
    check_defects(processor, tools, tmp_path, judged, defects[::every], "value")
