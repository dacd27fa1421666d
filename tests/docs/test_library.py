"""The Python that the pages show runs and prints what they say."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page, tries", [("library.md", 10), ("launch.md", 5)])
def test_page(page: str, tries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # the pages name files of the checkout
    path = ROOT / "docs" / page
    test = doctest.DocTestParser().get_doctest(path.read_text(), {}, page, str(path), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test)

    assert runner.tries > tries
    assert runner.failures == 0
