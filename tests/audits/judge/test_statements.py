import subprocess

import pytest

from dwarfgpu.audits.judge.source_statements import source_loops
from tests.builders.judged_calls import GFX90A, GFX1100
from tests.builders.judged_lanes import SIZES, assembled, missed, offset_of, value_defects
from tests.builders.judged_statements import assembled_loop, statement_defects
from tests.builders.parameters import some_of

PROCESSORS = pytest.mark.parametrize("processor", [GFX90A, GFX1100], ids=lambda each: each.name)


@pytest.mark.slow
@PROCESSORS
def test_every_wrong_row_is_found_at_its_instruction(processor, tools, tmp_path, judged):
    defects = list(statement_defects(processor))
    assert {rule for rule, _defect in defects} == {"none", "back", "unreached", "parameter"}
    assert len(defects) >= 60
    rules = [(f"statement-{rule}", defect) for rule, defect in some_of(defects)]
    assert missed(judged, processor, tools, tmp_path, rules) == []


def judged_loop(judged, path):
    findings = judged(path, "loop", grid=64, work_group=64).report.findings
    return [(finding.rule.name, finding.offset, finding.message) for finding in findings]


def test_steps_back_of_loops(tools, tmp_path, judged):
    assert judged_loop(judged, assembled_loop(tools, tmp_path)) == []
    path = assembled_loop(tools, tmp_path, first=5, second=4)
    ((rule, offset, message),) = judged_loop(judged, path)
    assert (rule, offset) == ("statement-back", offset_of(path, "second"))
    assert "from line 5 to line 4" in message


NEIGHBOURS = """
static inline int changed(int v) {
  return v * 3 + 1;
}
kernel void neighbours(global int *out, global const int *in) {
  int id = __builtin_amdgcn_workitem_id_x();
  int a = in[id], b = in[id + 64];
  out[id] = changed(a) ^ changed(b);
}
"""


def test_a_line_that_goes_on_in_the_next_inlined_call_begins_where_it_is_first(require_tool, tmp_path, judged):
    """A breakpoint on line 3 stops at the first call; a line table has no new row between them."""
    for processor in ("gfx90a", "gfx1100"):
        path = str(tmp_path / processor)
        words = f"-x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu={processor} -nogpulib -g -O2 - -o {path}"
        subprocess.run([require_tool("clang-22"), *words.split()], input=NEIGHBOURS, text=True, check=True)
        report = judged(path, "neighbours", grid=64, work_group=64, args=("zeros(64)", "arange(128)")).report
        assert [each.message for each in report.findings if each.rule.name == "statement-none"] == []


LOOPS = """\
for (int i = 0; i < 8; ++i)  // while
  for (;;) {
    a[i] = "for"[0];
    if (i) { b(); }
  }
do {
  c();
} while (d());
while (e())
  ;
f();
"""


def test_the_loops_of_a_source_are_found():
    assert [(loop.first, loop.last) for loop in source_loops(LOOPS)] == [(1, 5), (2, 5), (6, 8), (8, 8), (9, 10)]


UNROLLED = """
kernel void halves(local int *part, global int *out) {
  int lid = __builtin_amdgcn_workitem_id_x();
  part[lid] = lid;
  for (int range = 16; range > 0; range /= 2) {
    if (lid < range)
      part[lid] += part[lid + range];
    __builtin_amdgcn_s_barrier();
  }
  out[lid] = part[0];
}
"""


def test_a_step_to_the_next_round_of_an_unrolled_loop_is_right(require_tool, tmp_path, judged):
    (tmp_path / "halves.cl").write_text(UNROLLED)
    words = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-g", "-O2", "-nogpulib"]
    subprocess.run([require_tool("clang-22"), *words, "halves.cl", "-o", "halves.co"], check=True, cwd=tmp_path)
    path = str(tmp_path / "halves.co")
    findings = judged(path, "halves", grid=32, work_group=32, args=(4096, "zeros(32)")).report.findings
    back = [finding.message for finding in findings if finding.rule.name == "statement-back"]
    assert not any("from line 8 to line 6" in message for message in back), back


def test_a_step_back_behind_a_loop_is_found(tools, tmp_path, judged):
    path = assembled_loop(tools, tmp_path, called=2)
    ((rule, offset, message),) = judged_loop(judged, path)
    assert (rule, offset) == ("statement-back", offset_of(path, "called"))
    assert "from line 8 to line 2" in message


def test_a_finding_says_the_line_and_the_lane(tools, tmp_path, judged):
    name, defect = next(each for each in statement_defects(GFX90A) if each[1].name == "back-21-to-5")
    assert name == "back"
    findings = judged(assembled(GFX90A, tools, tmp_path, defect), "X", **SIZES).report.findings
    (finding,) = [each for each in findings if each.rule.name == "statement-back"]
    assert (finding.severity, finding.clause) == ("note", "DWARF 5, 6.2.2")
    assert finding.source == ("src/asm/lane-pc.c", 5)
    assert finding.seen.startswith("lane 40 of wave ")  # the first that goes to the other side of the branch


@PROCESSORS
@pytest.mark.slow
def test_nothing_is_found_where_lanes_are_where_they_are_said_to_be(processor, tools, tmp_path, judged):
    judgement = judged(assembled(processor, tools, tmp_path), "X", **SIZES)
    assert judgement.report.findings == ()
    assert {function.name for function in judgement.functions} == {"X", "whole_wave"}


@pytest.mark.slow
@PROCESSORS
def test_a_variable_in_a_register_of_another_is_found(processor, tools, tmp_path, judged):
    defects = list(value_defects())
    assert len(defects) == 13
    assert missed(judged, processor, tools, tmp_path, [("value", defect) for defect in defects]) == []
