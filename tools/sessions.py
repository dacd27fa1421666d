"""The sessions of the debugger that pages show: run again, and compared or written anew.

A block begins with ``$ dwarfgpu debug ...``; each line ``(dwarfgpu) COMMAND`` below is typed, with the lines that begin
with ``>`` directly behind it. All others are what is written.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PROMPT = "(dwarfgpu) "
FURTHER = ">"
MARK = "=-=-="


class Step(NamedTuple):
    """What is typed, and what is written then. The first step of a session types nothing."""

    typed: str
    written: str


class Session(NamedTuple):
    """A block of a page: where its lines begin and end, its command, and its steps."""

    first: int
    last: int
    command: str
    steps: tuple[Step, ...]


def sessions_of(text: str) -> list[Session]:
    """The sessions of a page."""
    found: list[Session] = []
    lines = text.splitlines()
    start = None
    for number, line in enumerate(lines):
        if line.startswith("```"):
            if start is not None and lines[start].startswith("$ dwarfgpu debug"):
                block = lines[start + 1 : number]
                if any(each.startswith(PROMPT) for each in block):
                    found.append(Session(start + 1, number, lines[start][2:], tuple(_steps(block))))
            start = number + 1 if line == "```console" else None
    return found


def _steps(lines: list[str]) -> list[Step]:
    steps = [Step("", "")]
    for line in lines:
        last = steps[-1]
        if line.startswith(PROMPT):
            steps.append(Step(line[len(PROMPT) :], ""))
        elif line.startswith(FURTHER) and not last.written and last.typed:
            steps[-1] = Step(f"{last.typed}\n{line[len(FURTHER):].lstrip()}", "")
        else:
            steps[-1] = Step(last.typed, f"{last.written}{line}\n")
    return steps


def run(session: Session) -> tuple[Step, ...]:
    """The same session with what is written now."""
    mark = ("-ex", f"echo {MARK}\\n")
    words = [*shlex.split(session.command)[1:], "-nx", *mark]
    for step in session.steps[1:]:
        words += ["-ex", step.typed, *mark]
    environment = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "COLUMNS")}
    done = subprocess.run(
        [sys.executable, "-m", "dwarfgpu", *words],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    written = done.stdout.split(f"{MARK}\n")
    if len(written) != len(session.steps) + 1:
        message = f"{session.command} ended early: {written[-1]}"
        raise RuntimeError(message)
    return tuple(Step(step.typed, text) for step, text in zip(session.steps, written, strict=False))


def refreshed(text: str) -> str:
    """A page with what its sessions write now."""
    lines = text.splitlines()
    for session in reversed(sessions_of(text)):
        block: list[str] = []
        for number, step in enumerate(run(session)):
            if number:
                first, *further = step.typed.split("\n")
                block += [f"{PROMPT}{first}", *(f"{FURTHER}{line}" for line in further)]
            block += step.written.splitlines()
        lines[session.first : session.last] = block
    return "\n".join(lines) + "\n"
