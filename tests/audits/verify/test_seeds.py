from importlib import import_module
from pathlib import Path

import pytest

from dwarfgpu.audits.verdicts import verdict
from dwarfgpu.audits.verify.findings import ERROR, VALUE, WARNING
from dwarfgpu.audits.verify.rule_table import PARTS, RULES, rule_named
from dwarfgpu.errors import UsageError
from tests.builders.dwarf import die
from tests.builders.hostile import gpu
from tests.builders.seeds import Seed, findings_in
from tools import clauses

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


CLAUSES = Path(__file__).with_name("ill_formed_clauses.txt")
NO_SEED = {
    "list-unreadable": "it is left for what no other rule is about",
    "expression-ill-formed": "it is left for what no other rule is about",
    "expression-doubtful": "it is left for what no other rule is about",
    "expression-no-lanes": "the targets without lanes have another dialect"}  # fmt: skip
"""Rules without a file that breaks them alone, and why."""
UNLISTED = {"A.2.5.4.3.2", "A.A"}
"""A section that refers to DWARF 5 for all that it says, and an appendix that is a table."""


def test_each_rule_says_what_it_asks_for():
    for name, rule in RULES.items():
        assert rule.name == name
        assert rule.severity in (ERROR, WARNING)
        assert rule.clause
        assert (rule.summary.endswith(".") and rule.summary[0].isupper()) or rule.summary.startswith("DW_")
        assert not rule.advice.endswith(".")
        assert rule.part in PARTS
        assert len({frozenset(VALUE.findall(words)) for words in rule.words}) == len(rule.words), "which one is meant?"


def test_each_rule_has_a_defect_that_it_finds():
    found = {seed.rule for seed in SEEDS}
    assert sorted(set(RULES) - found) == sorted(NO_SEED)


def test_a_type_of_addresses_may_have_an_address_space():
    """A.5.1 (2): a base type with the encoding DW_ATE_address."""
    size, space = ("byte_size", "data1", 8), ("LLVM_address_space", "data1", 5)
    for encoding, expected in ((1, []), (5, ["entry-attribute-owner"])):
        data = gpu(types=[die("base_type", ("name", "string", "t"), ("encoding", "data1", encoding), size, space)])
        assert [finding.rule.name for finding in findings_in(data)] == expected


def test_clauses_name_rules_that_there_are():
    named = 0
    for line in CLAUSES.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        clause, rules, text = line.split(" | ")
        assert clause.startswith("A.")
        assert text.endswith(".")
        for rule in rules.split(", "):
            assert rule == "-" or rule in RULES, rule
            named += rule != "-"
    assert named > 30


def test_clauses_are_those_of_the_text():
    known = {clause for clause, _title in clauses.read()}
    named = {rule.clause for rule in RULES.values() if rule.clause.startswith("A.")} - UNLISTED
    named |= {line.split(" | ")[0] for line in CLAUSES.read_text(encoding="utf-8").splitlines() if line[:2] == "A."}
    for clause in named:
        is_section = any(other.startswith((f"{clause} ", f"{clause}.")) for other in known)
        assert clause in known or (is_section and "(" not in clause), clause


def test_unknown_names_are_refused():
    assert rule_named("entry-lanes").part == "entry"
    with pytest.raises(UsageError, match="no rule 'entry-lane'") as caught:
        rule_named("entry-lane")
    assert caught.value.hint == "did you mean entry-lanes?"
    assert verdict(RULES, ignored=["entry,idioms", "list-overlap"]).ignored == {"entry", "idioms", "list-overlap"}
    with pytest.raises(UsageError, match="no rule 'nothing at all'"):
        verdict(RULES, only=["nothing at all"])
