"""The sections of pages whose commands write files: run again in a folder of their own, and compared or written anew.

Such a section begins with a block whose first command copies a file of the checkout, ``$ cp ~/dwarfgpu/...``. All its
blocks are one script: a line ``$ COMMAND``, with the lines that begin with ``>`` behind it, is what is typed, and all
others are what is written then.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FIRST = "$ cp ~/dwarfgpu/"
MARK = "=-=-="


class Way(NamedTuple):
    """A section of a page: the lines where its blocks begin and end, and what they show."""

    page: str
    title: str
    blocks: list[tuple[int, int]]
    shown: list[list[str]]

    def walk(self, folder: Path) -> list[list[str]]:
        """Run the commands in a folder; return the blocks with what is written now."""
        home = folder / "home"
        home.mkdir()
        (home / "dwarfgpu").symlink_to(ROOT)
        place = folder / "way"
        place.mkdir()
        python = shlex.quote(sys.executable)
        script = [f'dwarfgpu() {{ {python} -m dwarfgpu "$@"; }}']
        commands = [_commands(block) for block in self.shown]
        for block in commands:
            for command in block:
                script += ["\n".join((command[0][2:], *(line[1:] for line in command[1:]))), f"echo {MARK}"]
        environment = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "COLUMNS")}
        done = subprocess.run(
            ["bash", "-c", "\n".join(script)],
            cwd=place,
            env=environment | {"HOME": str(home), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        written = iter(done.stdout.split(f"{MARK}\n"))
        return [[line for command in block for line in (*command, *next(written).splitlines())] for block in commands]


def _commands(lines: list[str]) -> list[list[str]]:
    """Return the lines of each command of a block, without what is written."""
    commands: list[list[str]] = []
    is_command = False
    for line in lines:
        if line.startswith("$ "):
            commands.append([line])
            is_command = True
        elif is_command and line.startswith(">"):
            commands[-1].append(line)
        else:
            is_command = False
    return commands


def ways_of(page: str, text: str) -> list[Way]:
    """Return the sections of a page that are such ways."""
    ways: list[Way] = []
    lines = text.splitlines()
    title, start, is_way = "", None, False
    for number, line in enumerate(lines):
        if line.startswith("```"):
            if start is None:
                start = number + 1
                continue
            block = lines[start:number]
            if lines[start - 1] == "```console":
                if block and block[0].startswith(FIRST):
                    ways.append(Way(page, title, [], []))
                    is_way = True
                if is_way:
                    ways[-1].blocks.append((start, number))
                    ways[-1].shown.append(block)
            start = None
        elif start is None and line.startswith("## "):
            title, is_way = line[3:], False
    return ways


def rewalked(page: str, text: str, folder: Path) -> str:
    """Return a page with what its ways write now."""
    lines = text.splitlines()
    for number, way in reversed(list(enumerate(ways_of(page, text)))):
        place = folder / str(number)
        place.mkdir(parents=True)
        for (start, end), block in reversed(list(zip(way.blocks, way.walk(place), strict=True))):
            lines[start:end] = block
    return "\n".join(lines) + "\n"
