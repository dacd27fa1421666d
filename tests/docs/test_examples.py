"""Every command that the documentation shows prints what the documentation says."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.builders.commands import run as run_command
from tools.sessions import Session, run, sessions_of
from tools.ways import Way, ways_of

ROOT = Path(__file__).resolve().parents[2]


def examples() -> list[tuple[str, str, str]]:
    """The commands in ``console`` blocks, with the output shown for each."""
    found: list[tuple[str, str, str]] = []
    in_folders = {(way.page, start - 1) for way in ways() for start, _ in way.blocks}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        block = False
        for number, line in enumerate(path.read_text().splitlines()):
            if line.startswith("```"):
                block = line == "```console" and (path.name, number) not in in_folders
            elif block and line.startswith("$ "):
                found.append((path.name, line[2:], ""))
            elif block and found:
                name, command, output = found.pop()
                found.append((name, command, f"{output}{line}\n"))
    typed = {session.command for _page, session in sessions()}
    return [each for each in found if each[1].startswith("dwarfgpu ") and each[1] not in typed]


def sessions() -> list[tuple[str, Session]]:
    """The sessions of the debugger, in which commands are typed at its prompt."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [(path.name, session) for path in pages for session in sessions_of(path.read_text())]


def ways() -> list[Way]:
    """The sections of pages whose commands write files."""
    return [way for path in sorted((ROOT / "docs").glob("*.md")) for way in ways_of(path.name, path.read_text())]


@pytest.mark.parametrize("way", ways(), ids=lambda way: f"{way.page}:{way.title}")
def test_way(way: Way, tmp_path: Path) -> None:
    """The commands of a section write the files that the ones after them read."""
    assert way.walk(tmp_path) == way.shown


@pytest.mark.parametrize("page,command,expected", examples(), ids=lambda value: value[:60])
def test_example(page: str, command: str, expected: str) -> None:
    done = run_command(*shlex.split(command)[1:])

    assert done.stdout + done.stderr == expected, f"{page}: {command}"


@pytest.mark.parametrize("page,session", sessions(), ids=lambda value: str(getattr(value, "command", value))[:60])
def test_session(page: str, session: Session) -> None:
    for now, shown in zip(run(session), session.steps, strict=True):
        assert now.written == shown.written, f"{page}: {shown.typed or session.command}"
