"""Damaged and truncated core files give answers or errors of dwarfgpu, in bounded time."""

from __future__ import annotations

import signal

import pytest

from tools import fuzz_cores


@pytest.fixture(scope="module")
def subjects(tmp_path_factory):
    return fuzz_cores.make_subjects(tmp_path_factory.mktemp("good"), ("gfx90a", "gfx1100-wave32", "gfx1250"))


@pytest.fixture
def _timer():
    before = signal.signal(signal.SIGPROF, fuzz_cores.expire)
    yield
    signal.signal(signal.SIGPROF, before)


def tried(numbers, subjects, folder):
    for number in numbers:
        _seconds, trace = fuzz_cores.run(f"test/{number}", subjects, folder)
        assert trace is None, f"test/{number}: {trace}"


@pytest.mark.usefixtures("_timer")
def test_some_hundred_damaged_files(subjects, tmp_path):
    tried(range(200), subjects, tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("_timer")
def test_many_damaged_files(subjects, tmp_path):
    tried(range(200, 4000), subjects, tmp_path)
