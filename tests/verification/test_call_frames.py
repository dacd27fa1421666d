"""Call frame information: each rule has a case, and what compilers write breaks none."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwarfgpu.program.code.code_object import opened
from dwarfgpu.verification import call_frames
from dwarfgpu.verification.call_frames import FrameChecks
from dwarfgpu.verification.expressions import ExpressionChecks
from tests.verification import seeds_frames
from tests.verification.test_tables_and_indexes import FILES


def test_each_rule_has_a_case() -> None:
    rules = {rule.name for rule in call_frames.RULES.values()}
    assert rules <= {seed.rule for seed in seeds_frames.SEEDS}


@pytest.mark.parametrize("path", [pytest.param(path, id=f"{path.parent.name}/{path.name}") for path in FILES])
def test_what_compilers_write_breaks_no_rule(path: Path) -> None:
    file = opened(str(path), None)
    problems = [problem for problem in FrameChecks(file, ExpressionChecks(file)).problems() if problem.idiom is None]
    assert [(problem.rule.name, problem.message) for problem in problems] == []
