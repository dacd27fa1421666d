"""tools/judge_kernels.py: kernels are compiled, launched with arguments made from their types, and judged."""

import sys

import pytest

from tests.builders.folders import ROOT


@pytest.fixture(scope="module")
def tool():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import judge_kernels

        yield judge_kernels
    finally:
        sys.path.remove(str(ROOT / "tools"))


def test_kernels_of_a_program_are_judged_if_it_can_be_compiled(tool, require_tool, tmp_path):
    require_tool("clang-22")
    require_tool("ld.lld-22")
    way = tool.Way("22", "gfx1100", "O2", "auto")
    (result,) = tool.judged(way, "*", ("bools.cl", dict(tool.programs())["bools.cl"]))
    assert (result.kernel, result.problem) == ("bools", "")
    assert result.instructions > 0
    assert "unwind-missing" in {rule for rule, _place, _message in result.findings}
    require_tool("clang-22")
    path = tmp_path / "broken.cl"
    path.write_text("kernel void broken(\n")
    (result,) = tool.judged(tool.Way("22", "gfx1100", "O2", "auto"), "*", ("broken.cl", path))
    assert "error" in result.problem
    assert result.findings == []


@pytest.mark.slow
def test_nothing_is_wrong_with_variables_and_lines_of_code_that_is_not_optimized(tool, require_tool, monkeypatch):
    require_tool("clang-22")
    require_tool("ld.lld-22")
    monkeypatch.setattr(tool, "LIMIT", 2500)
    way = tool.Way("22", "gfx1100", "O0", "auto")
    programs = [each for each in tool.programs() if each[0].endswith((".cl", ".hip")) and "/" not in each[0]]
    assert len(programs) >= 40
    found = []
    for named in programs:
        for result in tool.judged(way, "*", named):
            assert result.instructions, result
            found += [finding for finding in result.findings if finding[0].startswith(("value-", "source-"))]
    assert found == []


def test_findings_are_counted_by_rule(tool, capsys):
    findings = [("value-failed", ".text+0x8", "x: no"), ("value-failed", ".text+0x9", "y: no")]
    results = [tool.KernelResult("p.cl", "k", 10, 0.5, findings), tool.KernelResult("q.cl", "l", 5, 0.1, [], "stopped")]
    tool.report(results, shows_all=True)
    out = capsys.readouterr().out
    assert "value-failed             2 findings in 1 kernels" in out
    assert "p.cl k: value-failed: .text+0x8: x: no" in out
    assert "q.cl l: stopped" in out
    assert "2 kernels, 15 instructions; k takes 0.5 s" in out


def test_a_pattern_that_no_program_matches_is_refused(tool, capsys):
    with pytest.raises(SystemExit):
        tool.main(["--programs", "nosuch*"])
    assert "error: no program matches 'nosuch*'" in capsys.readouterr().err
