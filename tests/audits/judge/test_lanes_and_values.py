import pytest

from tests.builders.judged_calls import GFX90A, GFX1100
from tests.builders.judged_lanes import SIZES, assembled, lane_defects, missed, value_defects
from tests.builders.parameters import few_or_all

PROCESSORS = pytest.mark.parametrize("processor", [GFX90A, GFX1100], ids=lambda each: each.name)


@PROCESSORS
def test_nothing_is_found_where_lanes_are_where_they_are_said_to_be(processor, tools, tmp_path, judged):
    judgement = judged(assembled(processor, tools, tmp_path), "X", **SIZES)
    assert [finding.message for finding in judgement.report.findings] == []
    assert {function.name for function in judgement.functions} == {"X", "whole_wave"}


@pytest.mark.slow
@PROCESSORS
def test_every_defect_is_found_at_its_instruction(processor, tools, tmp_path, judged):
    defects = list(lane_defects())
    assert len(defects) >= 50
    assert missed(judged, processor, tools, tmp_path, [("lane", defect) for defect in defects]) == []


@pytest.mark.slow
@PROCESSORS
@few_or_all(6)
def test_a_variable_in_a_register_of_another_is_found(processor, every, tools, tmp_path, judged):
    defects = list(value_defects())
    assert len(defects) == 13
    assert missed(judged, processor, tools, tmp_path, [("value", defect) for defect in defects[::every]]) == []
