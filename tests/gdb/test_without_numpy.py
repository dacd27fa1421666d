"""GDB's Python often has no numpy: each command has its answer, or one line that says what is missing."""

import os
import re
from pathlib import Path

import pytest

from tests.gdb.running import PACKAGES, environment, run_gdb, stub
from tests.gdb.test_waves import connected, states

COMMANDS = (
    *("eval even", "eval -trace even", "eval -lane 1-3 even", "eval -location left", "eval --json even"),
    *("locals", "locals -lane 0,2 e", "lanes", "map", "map even", "bt -full", "explain even", "locate slots", "verify"),
    *("dump X", "set even = 5", "eval even", "set -lane 0,2 even = 6"),
)
NEEDS_NUMPY = ("waves", "waves -each", "snapshot saved.json")


def without_numpy(folder: Path) -> str:
    """The folders of packages, but for numpy."""
    paths = []
    for number, path in enumerate(environment()[PACKAGES].split(os.pathsep)):
        copy = folder / f"packages{number}"
        copy.mkdir()
        for entry in Path(path).iterdir():
            if not entry.name.startswith("numpy"):
                (copy / entry.name).symlink_to(entry)
        paths.append(str(copy))
    return os.pathsep.join(paths)


@pytest.mark.slow
def test_each_command_answers_or_says_what_it_needs(require_tool, tmp_path):
    words = []
    for command in (*COMMANDS, *NEEDS_NUMPY):
        words += ["-ex", f"echo @@{command}\\n", "-ex", f"dwarfgpu {command}"]
    with stub(tmp_path, states(["variables"])) as sockets:
        text = run_gdb(
            require_tool,
            *connected(sockets, "variables"),
            *words,
            folder=None,
            variables={PACKAGES: without_numpy(tmp_path)},
        )
    assert "numpy is not installed: variables are read" in text
    assert "Traceback" not in text
    assert "Python Exception" not in text
    said = dict(part.split("\n", 1) for part in text.split("@@")[1:])
    for command in COMMANDS:
        assert "numpy" not in said[command], command
        assert said[command] or command.startswith("set"), command
    for command in NEEDS_NUMPY:
        first, *rest = said[command].splitlines()
        assert re.match(r"this needs numpy, which GDB's Python \d\.\d+ does not have \(", first), command
        assert not [line for line in rest if not line.startswith("[Inferior")]
