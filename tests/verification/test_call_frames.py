"""Call frame information: each rule has a case, and what compilers write breaks none."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwarfgpu.program.code.code_object import opened
from dwarfgpu.verification import call_frames, frame_headers
from dwarfgpu.verification.call_frames import FrameChecks
from dwarfgpu.verification.expressions import ExpressionChecks
from tests.builders.seeds import findings_in
from tests.verification import seeds_frame_headers, seeds_frames
from tests.verification.test_tables_and_indexes import FILES


def test_each_rule_has_a_case() -> None:
    rules = {rule.name for part in (call_frames, frame_headers) for rule in part.RULES.values()}
    assert rules <= {seed.rule for seed in (*seeds_frames.SEEDS, *seeds_frame_headers.SEEDS)}


@pytest.mark.parametrize("path", [pytest.param(path, id=f"{path.parent.name}/{path.name}") for path in FILES])
def test_what_compilers_write_breaks_no_rule(path: Path) -> None:
    file = opened(str(path), None)
    problems = [problem for problem in FrameChecks(file, ExpressionChecks(file)).problems() if problem.idiom is None]
    assert [(problem.rule.name, problem.message) for problem in problems] == []


@pytest.mark.parametrize("order", ["little", "big"])
def test_a_header_that_is_right_breaks_no_rule(order: str) -> None:
    def right(rows: list[tuple[int, int]]) -> bytes:
        return seeds_frame_headers.header(rows, order=order)

    assert findings_in(seeds_frame_headers.made(right, order=order)) == []


@pytest.mark.parametrize("encoding", [0xFF, 0x3B])
def test_a_header_may_have_no_table(encoding: int) -> None:
    def without(_rows: list[tuple[int, int]]) -> bytes:
        return seeds_frame_headers.header([], count=0xFF, table=encoding)

    assert findings_in(seeds_frame_headers.made(without)) == []


def test_a_broken_entry_is_not_reported_for_its_row_again() -> None:
    data = seeds_frame_headers.made(seeds_frame_headers.header)
    broken = data.replace(b"\1\0\1\x78", b"\7\0\1\x78")  # the version of the CIE
    assert broken != data
    assert {finding.rule.name for finding in findings_in(broken)} == {"frame-version"}
