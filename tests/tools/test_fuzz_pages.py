"""The fuzzer of names finds nothing in a few files, and finds what is wrong."""

from __future__ import annotations

import random

import pytest

from tools import fuzz_pages


def test_a_few_files_are_right() -> None:
    assert fuzz_pages.fuzz("tests", 3, 0) == (3, [])


@pytest.mark.parametrize("slot", fuzz_pages.SLOTS)
def test_a_twin_has_names_of_the_same_lengths(slot: str) -> None:
    for number in range(20):
        name = fuzz_pages.names_of(random.Random(number))[slot]
        assert len(fuzz_pages.harmless(slot, name)) == len(name)
        assert fuzz_pages.STEERS.search(fuzz_pages.harmless(slot, name)) is None


def test_a_name_that_is_markup_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(command: str, paths: dict[str, str], *_options: str) -> str:
        return f"<p>{paths['file']}</p>" if command in fuzz_pages.PAGES else paths["file"]

    monkeypatch.setattr(fuzz_pages, "asked", asked)
    twin = {"file": "harmless"}
    report, text = fuzz_pages.PAGES[0], fuzz_pages.TEXTS[0]
    assert fuzz_pages.wrong_with(report, {"file": "a<script>b"}, twin).startswith("more {('script', ''): 1}")
    assert fuzz_pages.wrong_with(report, {"file": "a<!--b-->"}, twin).startswith("more {('comment', ''): 1}")
    assert fuzz_pages.wrong_with(text, {"file": "a\x1b]0;b"}, twin).startswith("it writes '\\x1b'")
    assert not fuzz_pages.wrong_with(report, {"file": "a&lt;b"}, twin)
