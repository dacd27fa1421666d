"""The Python that docs/library.md shows runs and prints what it says."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/library.md"


def test_library_page() -> None:
    text = PAGE.read_text()
    test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test)

    assert runner.tries > 10
    assert runner.failures == 0
