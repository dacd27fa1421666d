"""docs/glossary.md against the code: each noun has a home, and each class that carries a noun is in its row."""

import re

import pytest

from tests.builders.folders import ROOT

MEANINGS, CARRIERS = (ROOT / "docs" / "glossary.md").read_text("utf-8").split("\n## ")
ROW = re.compile(r"^\| ([a-z -]+) \| (.*) \|$", re.MULTILINE)
NOUNS = dict(ROW.findall(MEANINGS)[1:])
CLASS = re.compile(r"^ *class _?(\w+)[(:]", re.MULTILINE)
CLASSES = {name for path in (ROOT / "dwarfgpu").rglob("*.py") for name in CLASS.findall(path.read_text("utf-8"))}
COMMON = ("Frame", "Wave", "Row", "Reader", "Place", "Machine")
MOST_WITH_COMMON_WORDS = 50


def words(name: str) -> list[str]:
    return re.findall("[A-Z][a-z]+|[A-Z]+(?![a-z])", name)


def carriers(noun: str) -> set[str]:
    """Return the classes that have a noun in their names."""
    own = re.split("[ -]", noun.title())
    return {
        name for name in CLASSES if any(words(name)[at : at + len(own)] == own for at in range(len(words(name))))
    }  # fmt: skip


def test_about_forty_nouns_and_few_common_words():
    assert 40 <= len(NOUNS) <= 50
    assert len([name for name in CLASSES if name.startswith(COMMON) or name.endswith(COMMON)]) <= MOST_WITH_COMMON_WORDS


@pytest.mark.parametrize("noun", NOUNS)
def test_a_noun_has_a_home_and_the_classes_that_carry_it(noun):
    _meaning, home = NOUNS[noun].rsplit(" | ", 1)
    assert (ROOT / "dwarfgpu" / home.strip("`")).is_file()
    assert set(re.findall(r"`(\w+)`", dict(ROW.findall(CARRIERS)).get(noun, ""))) == carriers(noun)
