"""Damaged and truncated core files give answers or errors of dwarfgpu, in bounded time."""

import pytest

from tools import fuzz_cores, fuzz_loop


@pytest.fixture(scope="module")
def subjects(tmp_path_factory):
    return fuzz_cores.make_subjects(tmp_path_factory.mktemp("good"), ("gfx90a", "gfx1100-wave32", "gfx1250"))


def tried(numbers, subjects, folder):
    attempt = fuzz_cores.attempt_of(subjects, folder)
    for number in numbers:
        assert fuzz_loop.tried(attempt, f"test/{number}") is None, f"test/{number}"


@pytest.mark.slow
def test_some_hundred_damaged_files(subjects, tmp_path):
    tried(range(200), subjects, tmp_path)


@pytest.mark.slow
def test_many_damaged_files(subjects, tmp_path):
    tried(range(200, 4000), subjects, tmp_path)
