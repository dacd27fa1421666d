"""The diffs of CONTRIBUTING.md: each can be applied, its tests pass, and its command prints what the page shows."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.folders import ROOT

SECTIONS = re.split(r"^#{2,3} ", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), flags=re.MULTILINE)
DIFF = re.compile(r"^```diff\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n\$ (.*?)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ADDED = {section.partition("\n")[0]: section for section in SECTIONS if DIFF.search(section)}
TESTED = {
    "An operation": "tests/spec/test_2_5_4_0_vendor.py",
    "A rule of `verify`": "tests/audits/verify/test_seeds.py -k no-same-line",
    "An instruction": "tests/isa/test_rows_against_models.py",
    "A question": "tests/questions/test_control.py -k languages"}  # fmt: skip


def applied(section: str, folder: Path, *options: str) -> None:
    """Apply the diff of a section to the files of a folder."""
    command = ["git", "-c", "safe.directory=*", "apply", "-C1", *options, "-"]
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(command, cwd=folder, env=environment, input=DIFF.search(section)[1], text=True, check=True)


def test_there_are_four():
    assert set(ADDED) == set(TESTED)


@pytest.mark.parametrize("name", TESTED)
def test_a_diff_can_be_applied(name):
    applied(ADDED[name], ROOT, "--check")


@pytest.mark.slow
@pytest.mark.parametrize("name", TESTED)
def test_a_diff_is_complete(name, tmp_path):
    for part in ("dwarfgpu", "tests"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("fixtures", "docs", "tools", "README.md", "CONTRIBUTING.md", "pyproject.toml"):
        (tmp_path / part).symlink_to(ROOT / part)
    section = ADDED[name]
    applied(section, tmp_path)
    command, expected = CONSOLE.search(section).groups()
    command = command.replace("dwarfgpu ", f"{shlex.quote(sys.executable)} -m dwarfgpu ", 1)
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == expected
    pytest_command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTED[name].split()]
    done = subprocess.run(pytest_command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
