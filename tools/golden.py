#!/usr/bin/env python3
"""The golden files in tests/golden/: what llvm-dwarfdump prints about every ELF file in fixtures/.

    python3 tools/dev.py golden [NAME...]            compare them with what the installed tool prints
    python3 tools/dev.py golden --write [NAME...]    write those that differ

NAME is a path below fixtures/ or a pattern such as 'asm/*'. The exit status is 1 when a file differed. A golden file is
the output itself, compressed: `xz --decompress --stdout tests/golden/asm/lists.powerpc.txt.xz` shows the version of the
tool, then each command and what it printed, with `! ` before what went to standard error. tests/comparison/ compares
dwarfgpu with them.
"""

from __future__ import annotations

import argparse
import fnmatch
import lzma
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"
FOLDER = ROOT / "tests" / "golden"
MAX_TOTAL = 2_000_000

TOOL = "llvm-dwarfdump-22"
SECTIONS = "info types loc loclists ranges rnglists addr str-offsets aranges names cu-index tu-index"
COMMANDS = (
    f"{TOOL} --verbose {' '.join(f'--debug-{name}' for name in SECTIONS.split())}",
    f"{TOOL} --debug-line",  # with --verbose it prints the instructions between the rows
)
"""What is asked about a file, whose name follows."""


def names(patterns: Sequence[str] = ()) -> list[str]:
    """The ELF files in fixtures/, below which their names count; with patterns only those that one of them fits."""
    folders = [folder for folder in sorted(FIXTURES.iterdir()) if folder.is_dir() and folder.name != "src"]
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    found = [path.relative_to(FIXTURES).as_posix() for path in paths if path.read_bytes()[:4] == b"\x7fELF"]
    return [name for name in found if not patterns or any(fnmatch.fnmatch(name, each) for each in patterns)]


def golden_file(name: str) -> Path:
    """The golden file of a fixture."""
    return FOLDER / f"{name}.txt.xz"


def read(name: str) -> str:
    """The text of a golden file."""
    return lzma.decompress(golden_file(name).read_bytes()).decode()


def printed(tool: str, name: str, folder: Path = FIXTURES) -> str:
    """What the tool prints about a file, in the form of a golden file."""
    text = [version(tool)]
    for command in COMMANDS:
        arguments = [tool, *command.split()[1:], name]
        done = subprocess.run(arguments, cwd=folder, capture_output=True, check=False)
        output = done.stdout.decode(errors="backslashreplace")
        errors = done.stderr.decode(errors="backslashreplace").splitlines()
        text += [f"$ {command} {name}", output.rstrip("\n"), *(f"! {line}" for line in errors)]
    return "\n".join(text) + "\n"


def version(tool: str) -> str:
    """The first line of a golden file."""
    done = subprocess.run([tool, "--version"], capture_output=True, check=True, text=True)
    match = re.search(r"LLVM version \S+", done.stdout)
    return f"# {match[0] if match else 'LLVM version unknown'}"


def main(argv: Sequence[str] | None = None) -> int:
    """Compare or write."""
    parser = argparse.ArgumentParser(
        prog="tools/dev.py golden", description="What llvm-dwarfdump prints about the files in fixtures/."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a path below fixtures/, or a pattern")
    parser.add_argument("--write", action="store_true", help="write the files that differ")
    options = parser.parse_args(argv)
    changed = 0
    for name in names(options.names):
        path = golden_file(name)
        text = printed(TOOL, name)
        if path.exists() and read(name) == text:
            continue
        changed += 1
        print(f"{name}: {'differs' if path.exists() else 'new'}")
        if options.write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    known = {golden_file(name) for name in names()}
    for path in sorted(FOLDER.rglob("*.xz")):
        if path not in known:
            changed += 1
            print(f"{path.relative_to(FOLDER)}: no fixture has this name")
            if options.write:
                path.unlink()
    return int(changed > 0)


if __name__ == "__main__":
    sys.exit(main())
