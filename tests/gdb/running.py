"""Running GDB: with dwarfgpu loaded as a user loads it, and with a stub whose waves it shows."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.builders.folders import ROOT

INSIDE = Path(__file__).parent / "inside"
ENTRY = ROOT / "dwarfgpu" / "gdbplugin" / "entry.py"
PACKAGES = "DWARFGPU_PATH"
"""The variable that says where packages for GDB's Python are, if it is another one than that of the tests."""


def environment(**more: str) -> dict[str, str]:
    """That of a user who has activated the environment in which the tests run."""
    found = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    paths = [str(ROOT), os.environ.get(PACKAGES) or sysconfig.get_paths()["purelib"]]
    return found | {PACKAGES: os.pathsep.join(paths), "LC_ALL": "C.UTF-8"} | more


def run_gdb(
    tools: Any,
    *arguments: str | Path,
    program: Path | str | None = None,
    script: str | Path | None = None,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
    load: bool = True,
) -> str:
    """What GDB prints when it runs commands (``-ex``) or a script in batch mode."""
    words: list[str] = [tools("gdb"), "-nx", "-batch", "-iex", "set debuginfod enabled off"]
    words += ["-iex", "maintenance set internal-error corefile no"]  # it would be 90 MB among the sources
    words += ["-iex", "set remotetimeout 120"]  # a stub that starts on a slow machine answers after more than 2 seconds
    words += ["-x", str(ENTRY)] if load else []
    words += [str(each) for each in arguments]
    words += ["-x", str(script)] if script is not None else []
    words += [str(program)] if program is not None else []
    done = subprocess.run(
        words, env=environment(**(variables or {})), cwd=folder or ROOT, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)  # fmt: skip
    return done.stdout.decode("utf-8", "replace")


def typed(*lines: str) -> list[str]:
    """Return the words with which GDB runs commands; a line may have several, with semicolons between them."""
    return [word for line in lines for command in line.split("; ") for word in ("-ex", command)]


def python(text: str) -> tuple[str, str]:
    return "-ex", f"python {text}"


@contextmanager
def stub(folder: Path, states: Mapping[str, Path | str]) -> Iterator[Path]:
    """A server of snapshots, each at a socket of its name in a folder."""
    places = [f"{folder / name}={path}" for name, path in states.items()]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.gdb.stub", *places], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield folder
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
