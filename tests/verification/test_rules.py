"""The rules of files: what there are, and which clauses they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from dwarfgpu.errors import UsageError
from dwarfgpu.verification.findings import ERROR, WARNING
from dwarfgpu.verification.rule_table import PARTS, RULES, check_ignored, rule_named
from tests.verification.test_seeds import SEEDS

CLAUSES = Path(__file__).with_name("ill_formed_clauses.txt")
NO_SEED = {
    "list-unreadable": "it is left for what no other rule is about",
    "list-bad-index": "tests/objfile/lists/ has such indices",
    "list-no-base": "the files of the builder have a base",
    "expression-ill-formed": "it is left for what no other rule is about",
    "expression-doubtful": "it is left for what no other rule is about",
    "expression-no-lanes": "the targets without lanes have another dialect",
}
"""Rules without a file that breaks them alone, and why."""


def test_each_rule_says_what_it_asks_for():
    for name, rule in RULES.items():
        assert rule.name == name
        assert rule.severity in (ERROR, WARNING)
        assert rule.clause
        assert (rule.summary.endswith(".") and rule.summary[0].isupper()) or rule.summary.startswith("DW_")
        assert not rule.advice.endswith(".")
        assert rule.part in PARTS


def test_each_rule_has_a_defect_that_it_finds():
    found = {seed.rule for seed in SEEDS}
    assert sorted(set(RULES) - found) == sorted(NO_SEED)


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


def test_unknown_names_are_refused():
    assert rule_named("entry-lanes").part == "entry"
    with pytest.raises(UsageError, match="no rule 'entry-lane'") as caught:
        rule_named("entry-lane")
    assert caught.value.hint == "did you mean entry-lanes?"
    check_ignored(["entry", "idioms", "list-overlap"])
    with pytest.raises(UsageError, match="no rule 'nothing at all'"):
        check_ignored(["nothing at all"])
