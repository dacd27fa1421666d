"""Files as compilers write them have no findings but idioms of the producer, and defects that are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwarfgpu.program.code.code_object import opened
from dwarfgpu.verification.file_check import FileCheck
from dwarfgpu.verification.reports import check_file, check_files

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
FOLDERS = ("amdgpu", "compilers", "features", "host", "llvm24")
DEFECTS = {
    ("host/split.gcc.v4.dwo", "expression-pointer-target"),
    ("host/split.gcc.v5.dwo", "expression-pointer-target"),
    ("features/split.v4.dwo", "expression-deprecated"),
    ("features/plain.v2.co", "expression-deprecated"),
    ("features/plain.v3.co", "expression-deprecated"),
}
"""Defects of producers; docs/verify.md says why they are that."""


def is_elf(path: Path) -> bool:
    return path.is_file() and path.read_bytes()[:4] == b"\x7fELF"


@pytest.mark.parametrize("folder", FOLDERS)
def test_files_of_compilers_have_only_idioms(folder):
    found = set()
    for path in sorted((FIXTURES / folder).iterdir()):
        if is_elf(path):
            check = FileCheck(opened(str(path)))
            found |= {(f"{folder}/{path.name}", each.rule.name) for each in check if each.idiom is None}
    assert found == {defect for defect in DEFECTS if defect[0].startswith(folder)}


def test_an_idiom_is_named():
    report = check_file(opened(str(FIXTURES / "amdgpu/hip-kernels.gfx90a.w64.O0.v5.co")))
    assert {"private-variable", "global-variable"} <= {
        name for finding in report.findings for name in (finding.idiom or "").split(", ")
    }
    quiet = check_file(opened(str(FIXTURES / "amdgpu/hip-kernels.gfx90a.w64.O0.v5.co")), ignored=("idioms",))
    assert quiet.findings == ()
    assert quiet.entries == report.entries > 100


def test_one_bad_file_does_not_stop_the_rest(tmp_path):
    broken = tmp_path / "broken.co"
    broken.write_bytes(b"\x7fELF and nothing else")
    good = str(FIXTURES / "host/values.gcc.O0.v5.x86_64")
    for jobs in (1, 2):
        reports = list(check_files([str(broken), good, str(tmp_path / "absent")], jobs=jobs))
        assert [report.error is None for report in reports] == [False, True, False]
        assert reports[1].findings == ()


def test_each_code_object_of_a_bundle_is_checked():
    names = [report.name for report in check_files([str(FIXTURES / "containers/plain.hipfb")])]
    assert len(names) > 1
    assert all("@" in name for name in names)
