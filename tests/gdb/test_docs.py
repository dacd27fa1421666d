"""The commands that docs/gdb.md shows print what it says."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.gdb.running import ROOT, environment, run_gdb, stub
from tests.gdb.test_waves import connected, states
from tools.pages import EXAMPLES

_STACK = re.compile(r"0x7ff[0-9a-f]{9}")
"""An address in the stack, which depends on the environment."""


def blocks(page: str) -> list[tuple[str, str]]:
    """The commands of the ``console`` blocks, with the output shown for each."""
    found: list[tuple[str, str]] = []
    inside = False
    for line in (ROOT / "docs" / page).read_text().splitlines():
        if line.startswith("```"):
            inside = line == "```console"
        elif inside and line.startswith("$ "):
            found.append((line[2:], ""))
        elif inside:
            command, output = found.pop()
            found.append((command, f"{output}{line}\n"))
    return found


@pytest.mark.slow
def test_the_page(tmp_path, require_tool):
    require_tool("gdb")
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} "$@"\n')
    (tmp_path / "bin" / "python3").chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    commands = blocks("gdb.md")
    for command, expected in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment(PATH=path, DEBUGINFOD_URLS=""),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        said = [line for line in done.stdout.splitlines() if not line.startswith("warning: Error disabling")]
        assert [_STACK.sub("STACK", line) for line in said] == [
            _STACK.sub("STACK", line) for line in expected.splitlines()
        ], command
    assert len(commands) == 4


@pytest.mark.slow
def test_the_tile_is_the_same_in_gdb(tmp_path, require_tool):
    import numpy as np

    with stub(tmp_path, states(["variables"])) as sockets:
        text = run_gdb(
            require_tool, *connected(sockets, "variables"),
            script=ROOT / "dwarfgpu" / "examples" / "tile.py", folder=tmp_path)  # fmt: skip
    assert "(64, 4) int32\n0 active [0 1 2 3]\n1 inactive [10 11 12 13]\n" in text
    assert np.load(tmp_path / "slots.npy")[:3].tolist() == [[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]]
