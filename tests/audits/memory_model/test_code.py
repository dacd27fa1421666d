"""What the check says of code: nothing of what compilers make, and something of every defect."""

import random
from collections import Counter
from pathlib import Path

import pytest

from dwarfgpu.audits.memory_model.checker import MemoryCheck
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.code.code_object import opened
from tests.audits.memory_model.generator import TARGETS, compiled, source
from tests.audits.memory_model.seeds import assembled, assembly, seeded

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
LEFT_OUT_BY_LLVM = {"send_all", "__clang_ocl_kern_imp_send_all"}
"""Functions of fixtures/src/opencl/ordering.cl in which LLVM 22 leaves out a wait."""


def findings(path: Path):
    return list(MemoryCheck(opened(str(path))).findings())


def messages(path: Path) -> list[str]:
    return [f"{finding.path[0]}: {finding.rule.name}: {finding.message}" for finding in findings(path)]


@pytest.mark.parametrize("target", ["gfx900", "gfx1200"])
def test_nothing_is_found_in_code_of_clang(target, tmp_path, require_tool):
    require_tool("clang-22")
    assert messages(compiled(tmp_path, source(5, 40), target)) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_found_in_much_code_of_clang(target, tmp_path, require_tool):
    require_tool("clang-22")
    assert messages(compiled(tmp_path, source(800, 800), target)) == []


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["amdgpu", "asm", "compilers", "features", "llvm24"])
def test_nothing_is_found_in_the_fixtures_but_what_llvm_leaves_out(folder):
    count = 0
    for path in sorted((FIXTURES / folder).rglob("*")):
        if not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
            continue
        try:
            check = MemoryCheck(opened(str(path)))
            rows = list(check.findings())
        except DwarfGpuError as error:
            if error.kind not in {"no_memory_model", "unknown_processor", "usage"}:
                raise
            continue
        count += check.instructions
        assert [row for row in rows if row.path[0] not in LEFT_OUT_BY_LLVM] == []
    assert count


def missed(target: str, folder: Path, seed: int, functions: int) -> tuple[Counter[str], dict[str, str]]:
    """Return how many defects of each kind there are, and those for which nothing is found."""
    path = folder / "k.cl"
    path.write_text(source(seed, functions))
    text, defects = seeded(assembly(path, target), path.read_text(), random.Random(seed))
    found = {finding.path[0] for finding in findings(assembled(text, target, folder / "k.co"))}
    kinds = Counter(defect.partition(":")[0] for defect in defects.values())
    return kinds, {name: defect for name, defect in defects.items() if name not in found}


@pytest.mark.parametrize("target", ["gfx942", "gfx1200"])
def test_defects_are_found(target, tmp_path, require_tool):
    require_tool("clang-22")
    kinds, rest = missed(target, tmp_path, 11, 40)
    assert kinds.total() > 20
    assert rest == {}


@pytest.mark.slow
def test_nearly_all_of_many_defects_are_found(tmp_path, require_tool):
    require_tool("clang-22")
    kinds: Counter[str] = Counter()
    rest: dict[str, str] = {}
    for number, target in enumerate(TARGETS):
        counted, names = missed(target, tmp_path, 100 + number, 330)
        kinds += counted
        rest |= {f"{target} {name}": defect for name, defect in names.items()}
    assert kinds.total() >= 2000
    assert set(kinds) >= {
        "wait removed",
        "wait weakened",
        "counter removed",
        "invalidate removed",
        "write-back removed",
        "scope weakened",
        "cache bit removed",
    }
    assert len(rest) <= 0.02 * kinds.total(), rest
