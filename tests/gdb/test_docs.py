"""The commands that docs/gdb.md and docs/serve.md show print what they say."""

import os
import re
import subprocess
import sys

import pytest

from tests.gdb.running import ROOT, environment, run_gdb, stub

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
@pytest.mark.parametrize("page, count", [("gdb.md", 8), ("serve.md", 1)])
def test_the_page(tmp_path, require_tool, page, count):
    require_tool("gdb")
    for name in ("fixtures", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} "$@"\n')
    (tmp_path / "bin" / "python3").chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    commands = blocks(page)
    for command, expected in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment(PATH=path, DEBUGINFOD_URLS=""),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        said = [line for line in done.stdout.splitlines() if not line.startswith("warning: Error disabling")]
        assert [_STACK.sub("STACK", line) for line in said] == [
            _STACK.sub("STACK", line) for line in expected.splitlines()
        ], command
    assert len(commands) == count


@pytest.mark.slow
def test_the_tile_is_the_same_in_gdb(tmp_path, require_tool):
    import numpy as np

    with stub(tmp_path, {"waves": ROOT / "docs" / "examples" / "variables.json"}) as sockets:
        text = run_gdb(
            require_tool, *("-ex", f"target remote {sockets / 'waves'}"),
            script=ROOT / "docs" / "examples" / "tile.py", folder=tmp_path)  # fmt: skip
    assert "(64, 4) int32\n0 active [0 1 2 3]\n1 inactive [10 11 12 13]\n" in text
    assert np.load(tmp_path / "slots.npy")[:3].tolist() == [[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]]
