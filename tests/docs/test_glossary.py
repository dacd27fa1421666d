"""The glossary of docs/architecture.md: each noun has a home, and the classes that carry it are listed."""

import pytest

from tests.builders.folders import ROOT
from tools import nouns

NOUNS = nouns.homes()
COMMON = ("Frame", "Wave", "Row", "Reader", "Place", "Machine")
MOST_WITH_COMMON_WORDS = 50


def test_about_forty_nouns_and_few_common_words():
    assert 40 <= len(NOUNS) <= 50
    classes = nouns.classes()
    assert len([name for name in classes if name.startswith(COMMON) or name.endswith(COMMON)]) <= MOST_WITH_COMMON_WORDS


@pytest.mark.parametrize("noun", NOUNS)
def test_a_noun_has_a_home(noun):
    assert (ROOT / "dwarfgpu" / NOUNS[noun]).is_file()


def test_the_classes_that_carry_each_noun_are_listed():
    assert nouns.GOLDEN.read_text("utf-8") == nouns.listing()
