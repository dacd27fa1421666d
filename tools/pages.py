"""The commands that pages show: run by bash in a folder with the examples, and compared or written anew.

All ``console`` blocks of a page are one script, in the order of the page. ``$ COMMAND`` is typed at the shell and
``(dwarfgpu) COMMAND`` at the prompt of the debugger that the last ``$ dwarfgpu debug ...`` has started, both with the
lines that begin with ``>`` directly behind; all other lines are what is written then.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "dwarfgpu/examples"
SHELL, PROMPT, FURTHER = "$ ", "(dwarfgpu) ", ">"
MARK = "=-=-="
BUILDING = re.compile(r"^building .* \(once, about .*\n", re.MULTILINE)
"""The line that a command prints the first time that it needs the functions of a processor."""
WITH_GDB = "gdb.md"
"""The page whose commands tests/gdb runs."""


class Step(NamedTuple):
    """What is typed, at the shell or at the prompt of the debugger, and what is written then."""

    prompt: str
    typed: str
    written: str


class Block(NamedTuple):
    """A block of a page: its lines in the page, and its steps."""

    start: int
    end: int
    steps: list[Step]


def pages() -> list[Path]:
    """Return the pages whose commands are run."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in found if path.name != WITH_GDB and blocks_of(path.read_text("utf-8"))]


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a page that show commands."""
    blocks: list[Block] = []
    lines = text.splitlines()
    start = None
    for number, line in enumerate(lines):
        if line.startswith("```"):
            if start is not None and (steps := _steps(lines[start:number])):
                blocks.append(Block(start, number, steps))
            start = number + 1 if line == "```console" else None
    return blocks


def _steps(lines: list[str]) -> list[Step]:
    steps: list[Step] = []
    for line in lines:
        prompt = next((each for each in (SHELL, PROMPT) if line.startswith(each)), None)
        if prompt is not None:
            steps.append(Step(prompt, line[len(prompt) :], ""))
        elif not steps:
            return []
        elif line.startswith(FURTHER) and not steps[-1].written:
            steps[-1] = steps[-1]._replace(typed=f"{steps[-1].typed}\n{line[len(FURTHER) :]}")
        else:
            steps[-1] = steps[-1]._replace(written=f"{steps[-1].written}{line}\n")
    return steps


def script_of(steps: list[Step]) -> str:
    """Return what bash runs: each command, with a mark behind what it writes."""
    lines: list[str] = []
    commands: list[str] = []
    for number, step in enumerate(steps):
        following = steps[number + 1].prompt if number + 1 < len(steps) else SHELL
        if step.prompt == SHELL and following == PROMPT:  # a session
            commands = [f"{step.typed} -nx -ex 'echo {MARK}\\n'"]
        elif step.prompt == PROMPT:
            commands.append(f"-ex {shlex.quote(step.typed)}")
            if step.typed == "quit":
                commands.append(f"; echo {MARK}")
            else:
                commands.append(f"-ex 'echo {MARK}\\n'")
        else:
            lines += [step.typed, f"echo {MARK}"]
        if commands and following == SHELL:
            lines.append(f"{' '.join(commands)} </dev/null")
            commands = []
    return "\n".join(lines)


def filled(folder: Path) -> Path:
    """Return a folder with the examples, in a folder."""
    place = folder / "examples"
    shutil.copytree(EXAMPLES, place)
    for name in ("fixtures", "docs"):
        (place / name).symlink_to(ROOT / name)
    return place


def home_of(place: Path) -> Path:
    """Return the home of who types the commands in a filled folder."""
    home = place.parent / "home"
    home.mkdir(exist_ok=True)
    if not (home / "dwarfgpu").exists():
        (home / "dwarfgpu").symlink_to(ROOT)
    return home


def written_by(steps: list[Step], place: Path) -> list[str]:
    """Return what each command writes now, in a filled folder."""
    python = shlex.quote(sys.executable)
    head = f'dwarfgpu() {{ {python} -m dwarfgpu "$@"; }}; python3() {{ {python} "$@"; }}'
    environment = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "COLUMNS")}
    cache = environment.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{head}\n{script_of(steps)}"],
        cwd=place,
        env=environment | {"HOME": str(home_of(place)), "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": cache},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    written = BUILDING.sub("", done.stdout).split(f"{MARK}\n")
    if len(written) != len(steps) + 1:
        typed = steps[len(written) - 1].typed if len(written) <= len(steps) else steps[-1].typed
        message = f"{typed!r} ends the page: {written[-1]}"
        raise RuntimeError(message)
    return [f"{text}\n" if text and not text.endswith("\n") else text for text in written[:-1]]


def refreshed(text: str) -> str:
    """Return a page with what its commands write now."""
    lines = text.splitlines()
    blocks = blocks_of(text)
    with tempfile.TemporaryDirectory() as folder:
        written = iter(written_by([step for block in blocks for step in block.steps], filled(Path(folder))))
    shown = [[line for step in block.steps for line in _lines(step, next(written))] for block in blocks]
    for block, part in reversed(list(zip(blocks, shown, strict=True))):
        lines[block.start : block.end] = part
    return "\n".join(lines) + "\n"


def _lines(step: Step, written: str) -> list[str]:
    """Return the lines of a step in a page."""
    first, *further = step.typed.split("\n")
    return [f"{step.prompt}{first}", *(f"{FURTHER}{line}" for line in further), *written.splitlines()]
