"""Line tables, indexes and tables of units: each rule has a case, and what compilers write breaks none."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwarfgpu.program.code.code_object import opened
from dwarfgpu.verification import indexes, line_tables, unit_tables
from dwarfgpu.verification.file_check import FileCheck
from dwarfgpu.verification.indexes import IndexChecks
from dwarfgpu.verification.line_tables import LineChecks
from dwarfgpu.verification.unit_tables import UnitTableChecks
from tests.verification import seeds_indexes, seeds_lines

FIXTURES = Path(__file__).parents[2] / "fixtures"
FOLDERS = ("amdgpu", "compilers", "features", "host", "llvm24")
"""The folders of what compilers and linkers have made."""
FILES = sorted(path for folder in FOLDERS for path in (FIXTURES / folder).iterdir() if path.is_file())
DEFECTS: dict[tuple[str, str], str] = {}
"""The findings that good files may have, by name and rule, and why: what the producer does wrong."""


def test_each_rule_has_a_case() -> None:
    rules = {rule.name for part in (line_tables, indexes, unit_tables) for rule in part.RULES.values()}
    assert rules == {seed.rule for seed in (*seeds_lines.SEEDS, *seeds_indexes.SEEDS)}


@pytest.mark.parametrize("path", [pytest.param(path, id=f"{path.parent.name}/{path.name}") for path in FILES])
def test_what_compilers_write_breaks_no_rule(path: Path) -> None:
    file = opened(str(path), None)
    if not file.has_dwarf:
        return
    problems = [
        problem
        for checks in (LineChecks(file), IndexChecks(file), UnitTableChecks(file))
        for problem in checks.problems()
        if (path.name, problem.rule.name) not in DEFECTS
    ]
    assert [(problem.rule.name, problem.message) for problem in problems] == []


def test_a_file_is_checked_for_all_parts() -> None:
    file = opened(str(FIXTURES / "features" / "debug-names.v5.co"), None)
    assert {problem.rule.part for problem in FileCheck(file).problems()} <= {"entry", "expression", "list"}
