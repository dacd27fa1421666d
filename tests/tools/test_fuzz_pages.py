import random

import pytest

from tools import fuzz_pages


def test_a_few_files_are_right() -> None:
    assert fuzz_pages.fuzz("tests", 3, 0) == (3, [])


def test_twins_have_harmless_names_of_the_same_length() -> None:
    for number in range(50):
        names = fuzz_pages.names_of(random.Random(number))
        twins = fuzz_pages.harmless(names)
        assert {slot: len(name) for slot, name in twins.items()} == {slot: len(name) for slot, name in names.items()}
        assert not any(map(fuzz_pages.STEERS.search, twins.values()))


def test_twins_of_equal_names_are_equal() -> None:
    twins = fuzz_pages.harmless(dict.fromkeys(fuzz_pages.SLOTS, "<") | {"kernel": ">"})
    assert len(set(twins.values())) == 2
    assert twins["kernel"] not in {name for slot, name in twins.items() if slot != "kernel"}


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
