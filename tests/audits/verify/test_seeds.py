from importlib import import_module
from pathlib import Path

import pytest

from tests.builders.seeds import Seed, findings_in

SEEDS: list[Seed] = [
    seed
    for path in sorted(Path(__file__).parent.glob("seeds_*.py"))
    for seed in import_module(f"tests.audits.verify.{path.stem}").SEEDS
]


@pytest.mark.parametrize("seed", [pytest.param(seed, id=seed.id) for seed in SEEDS])
def test_a_defect_is_found_by_its_rule(seed: Seed) -> None:
    findings = findings_in(seed.make(), seed.rule)
    assert {finding.rule.name for finding in findings} == {seed.rule}, [f"{f.place}: {f.message}" for f in findings]


def test_each_defect_has_a_name_of_its_own() -> None:
    assert len({seed.id for seed in SEEDS}) == len(SEEDS)
