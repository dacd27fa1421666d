import numpy as np
import pytest

from tests.audits.verify.seeds_frames import kernel_with_a_caller
from tests.builders.judged_calls import GFX90A, GFX1100, Step, assembly, defects_of, entry_facts, offsets_of, steps_of
from tests.builders.parameters import some_of

PROCESSORS = pytest.mark.parametrize("processor", [GFX90A, GFX1100], ids=lambda each: each.name)


@PROCESSORS
def test_nothing_is_found_where_the_information_is_right(processor, assembler, judged):
    judgement = judged(assembler(processor).with_defect(None), "calling")
    assert [finding.message for finding in judgement.report.findings] == []
    assert {function.name: function.frames_right for function in judgement.functions} == {
        function.name: function.instructions for function in judgement.functions
    }
    assert {function.name for function in judgement.functions} == {"calling", "saving", "leaf"}
    assert judgement.halt.has_ended


@pytest.mark.slow
@PROCESSORS
def test_every_defect_is_found_at_its_instruction(processor, assembler, judged):
    defects = list(defects_of(processor))
    assert len(defects) >= 70
    tool = assembler(processor)
    offsets = offsets_of(tool.with_defect(None), len(steps_of(processor)[1]))
    missed = []
    for defect in some_of(defects):
        findings = judged(tool.with_defect(defect), "calling").report.findings
        if offsets[defect.position] not in [finding.offset for finding in findings]:
            missed.append((defect.name, [finding.message for finding in findings]))
    assert not missed


def test_a_kernel_with_a_cfa_says_that_it_has_no_caller(judged, tmp_path):
    path = tmp_path / "k.co"
    path.write_bytes(kernel_with_a_caller())
    (finding,) = judged(str(path), "X", args=[np.zeros(96, np.int32), 40]).report.findings
    assert finding.rule.name == "unwind-end"
    assert "no rule says that the return address is undefined" in finding.message


def test_a_finding_says_the_row_and_where_it_is_seen_first(assembler, judged):
    tool = assembler(GFX90A)
    defect = next(each for each in defects_of(GFX90A) if each.name == "8-pc-order")
    (finding,) = judged(tool.with_defect(defect), "calling").report.findings
    assert finding.rule.name == "unwind-caller"
    assert finding.severity == "error"
    assert "row 0x" in finding.message
    assert "DW_OP_bit_piece" in finding.message
    offsets = offsets_of(tool.with_defect(None), 10)
    assert finding.seen == f"wave 1:1:1:1 at saving+{offsets[9] - offsets[0]:#x}"
    assert finding.path == ("saving",)
    assert finding.section == ".text"


def test_a_lane_is_named_whose_register_is_wrong(assembler, judged):
    defect = next(each for each in defects_of(GFX90A) if each.name.endswith("v40-mask"))
    findings = judged(assembler(GFX90A).with_defect(defect), "calling").report.findings
    assert any("v40 of the caller" in finding.message and " in lane 20" in finding.message for finding in findings)


def test_code_without_information_is_not_described(judged):
    path = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O2.v5.co"
    judgement = judged(path, "saxpy", grid=64, work_group=64, args=["zeros(64)", "zeros(64)", 0.5, 64])
    assert {finding.rule.name for finding in judgement.report.findings if finding.rule.part == "unwind"} == {
        "unwind-missing"
    }
    assert [function.frames_missing == function.instructions for function in judgement.functions] == [True]


@pytest.mark.slow
def test_what_a_compiler_leaves_out_is_found(judged):
    path = "fixtures/llvm24/hip-calls.gfx90a.w64.O2.co"
    args = ["zeros(4096)", "zeros(4096)", 20]
    findings = judged(path, "_Z5callsPiPfi", grid=64, work_group=64, args=args).report.findings
    exec_of = {finding.path[0] for finding in findings if "exec of the caller" in finding.message}
    assert "outer(int, int)" in exec_of  # it narrows EXEC for one side of a branch, and no rule says where it was kept
    assert all(finding.rule.name != "unwind-missing" for finding in findings)


def test_a_kernel_that_is_stopped_is_judged_so_far(assembler, judged):
    judgement = judged(assembler(GFX90A).with_defect(None), "calling", limit=30)
    assert not judgement.halt.has_ended
    assert "leaf" not in {function.name for function in judgement.functions}


RECURSIVE = "fixtures/llvm24/hip-calls.gfx1100.w32.O2.co"


def functions_of(judgement):
    return {function.name: function.instructions for function in judgement.functions}


@pytest.mark.slow
def test_waves_that_go_too_deep_are_not_judged_any_more(judged, monkeypatch):
    args = ["zeros(64)", "zeros(64)", 3]
    whole = judged(RECURSIVE, "_Z5callsPiPfi", grid=32, work_group=32, args=args)
    monkeypatch.setattr("dwarfgpu.audits.judge.call_record.MAX_DEPTH", 2)
    part = judged(RECURSIVE, "_Z5callsPiPfi", grid=32, work_group=32, args=args)
    assert set(functions_of(part)) < set(functions_of(whole))
    found = {(finding.rule.name, finding.path) for finding in whole.report.findings}
    assert {(finding.rule.name, finding.path) for finding in part.report.findings} <= found


def test_a_wave_that_jumps_out_of_the_code_faults_as_it_does_without_a_judge(assembler, judged):
    tool = assembler(GFX90A)
    kernel, function = steps_of(GFX90A)
    text = assembly(GFX90A, [*kernel[:-1], Step("s_setpc_b64 s[34:35]")], function, entry_facts())
    judgement = judged(tool.code(text), "calling")
    assert judgement.halt.kind == "fault"
    assert "no code" in judgement.halt.reason
