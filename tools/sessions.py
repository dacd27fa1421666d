"""The sessions of the debugger that pages show: run again, and compared or written anew.

A block begins with ``$ dwarfgpu debug ...``, or goes on with the session of the block before. Each line
``(dwarfgpu) COMMAND`` is typed, with the lines that begin with ``>`` directly behind it; all others are what is
written.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from shell_words import words_of

ROOT = Path(__file__).resolve().parent.parent
PROMPT = "(dwarfgpu) "
FURTHER = ">"
MARK = "=-=-="


class Step(NamedTuple):
    """What is typed, and what is written then. The first step of a session types nothing."""

    block: int
    typed: str
    written: str


class Session(NamedTuple):
    """A command, what is typed then, and the lines of the page where its blocks begin and end."""

    command: str
    steps: list[Step]
    blocks: list[tuple[int, int]]


def sessions_of(text: str) -> list[Session]:
    """The sessions of a page. A block that begins with the prompt goes on with the session before."""
    found: list[Session] = []
    lines = text.splitlines()
    start = None
    for number, line in enumerate(lines):
        if line.startswith("```"):
            if start is not None:
                _read_block(found, lines, start, number)
            start = number + 1 if line == "```console" else None
    return [session for session in found if len(session.steps) > 1]


def _read_block(found: list[Session], lines: list[str], start: int, end: int) -> None:
    if lines[start].startswith("$ dwarfgpu debug"):
        found.append(Session(lines[start][2:], [Step(0, "", "")], []))
        start += 1
    elif not lines[start].startswith(PROMPT):
        return
    steps, blocks = found[-1].steps, found[-1].blocks
    blocks.append((start, end))
    for line in lines[start:end]:
        last = steps[-1]
        if line.startswith(PROMPT):
            steps.append(Step(len(blocks) - 1, line[len(PROMPT) :], ""))
        elif line.startswith(FURTHER) and not last.written and last.typed:
            steps[-1] = last._replace(typed=f"{last.typed}\n{line[len(FURTHER) :]}")
        else:
            steps[-1] = last._replace(written=f"{last.written}{line}\n")


def run(session: Session) -> list[Step]:
    """The steps with what is written now."""
    mark = ("-ex", f"echo {MARK}\\n")
    words = [*words_of([session.command])[0][1:], "-nx", *mark]
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
    leaves = session.steps[-1].typed == "quit"  # without a mark behind it
    if len(written) != len(session.steps) + (not leaves):
        message = f"{session.command} ended early: {written[-1]}"
        raise RuntimeError(message)
    return [step._replace(written=text) for step, text in zip(session.steps, written, strict=False)]


def refreshed(text: str) -> str:
    """A page with what its sessions write now."""
    lines = text.splitlines()
    for session in reversed(sessions_of(text)):
        shown: list[list[str]] = [[] for _ in session.blocks]
        for step in run(session):
            first, *further = step.typed.split("\n")
            shown[step.block] += [f"{PROMPT}{first}", *(f"{FURTHER}{line}" for line in further)] if step.typed else []
            shown[step.block] += step.written.splitlines()
        for (first_line, last_line), block in zip(reversed(session.blocks), reversed(shown), strict=True):
            lines[first_line:last_line] = block
    return "\n".join(lines) + "\n"
