"""Tests that forked processes run: every one once, whatever happens in it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = """
import os, pytest, signal

@pytest.mark.parametrize("number", range(100))
def test_number(number, tmp_path):
    print("written by", number)
    if os.environ.get("DIES"):  # and this process keeps its interrupt, and has more to tell than a pipe takes
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("x" * 100_000)
    assert number != 70

@pytest.mark.slow
def test_last():
    assert not os.environ.get("DIES") or os._exit(3)
"""


@pytest.mark.parametrize(
    "options, dies, summary",
    [
        ([], "", "1 failed, 100 passed"),
        (["-m", "not slow", "-k", "not 70"], "", "99 passed, 2 deselected"),
        (["--slow-part", "2/4", "-k", "not 70"], "", "99 passed, 2 deselected"),
        (["--slow-part", "2/4", "--slow-near", "test_numbers.py"], "", "1 failed, 100 passed"),
        (["--slow-minutes", "0", "-k", "not 70"], "", "99 passed, 1 skipped, 1 deselected"),
        (["--minutes", "0"], "", "101 skipped"),
        ([], "yes", "a process with tests has died"),
        (["-k", "last"], "yes", "a process with tests has died"),
    ],
)
@pytest.mark.sampled(2)
def test_each_test_runs_once(tmp_path: Path, options: list[str], dies: str, summary: str) -> None:
    (tmp_path / "test_numbers.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow: slow\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.forked", "--processes", "2", *options], cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "DIES": dies}, capture_output=True, text=True, timeout=60,
        check=False)  # fmt: skip
    assert summary in done.stdout
    assert done.returncode == (0 if "99 passed" in summary or "101 skipped" in summary else 1)
    assert ("written by" in done.stdout) == ("1 failed" in summary)
    assert "1 failed" not in summary or re.findall(r"written by \d+", done.stdout) == ["written by 70"]
