"""The Python that the documentation shows runs and prints what it says."""

import doctest
from pathlib import Path

import pytest

from tests.builders.parameters import for_each

ROOT = Path(__file__).resolve().parents[2]


@for_each(
    "page, examples",
    ("library.md", 10),
    ("frames.md", 5),
    ("launch.md", 5),
    ("running.md", 20),
    ("lanes.md", 5),
    ("elftools.md", 25),
)
def test_page(page: str, examples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    path = ROOT / "docs" / page
    test = doctest.DocTestParser().get_doctest(path.read_text(), {}, path.name, str(path), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test)

    assert runner.tries > examples
    assert runner.failures == 0
