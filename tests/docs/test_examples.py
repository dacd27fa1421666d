"""Every command that the documentation shows prints what the documentation says."""

import doctest
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.builders.commands import ROOT
from tests.builders.commands import run as run_command
from tests.builders.parameters import for_each
from tools.sessions import Session, run, sessions_of
from tools.shell_words import words_of
from tools.ways import Way, ways_of

MARK = "=-=-="


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
    return [way for path in sorted((ROOT / "docs").glob("*.md")) for way in ways_of(path.name, path.read_text())]


@pytest.mark.slow
@pytest.mark.parametrize("way", ways(), ids=lambda way: f"{way.page}:{way.title}")
def test_way(way: Way, tmp_path: Path) -> None:
    """The commands of a section write the files that the ones after them read."""
    assert way.walk(tmp_path) == way.shown


EXAMPLES = examples()
WORDS = dict(zip((command for _, command, _ in EXAMPLES), words_of([each[1] for each in EXAMPLES]), strict=True))
"""The words of each command, as bash reads it."""


@pytest.mark.parametrize("page,command,expected", EXAMPLES, ids=lambda value: value[:60])
def test_example(page: str, command: str, expected: str) -> None:
    done = run_command(*WORDS[command][1:])
    assert done.stdout + done.stderr == expected, f"{page}: {command}"


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({page for page, _, _ in EXAMPLES}))
def test_examples_in_bash(page: str, tmp_path: Path) -> None:
    """What somebody types in a checkout, with the command of the environment."""
    for name in ("fixtures", "docs", "tests", "README.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    shown = [(command, expected) for name, command, expected in EXAMPLES if name == page]
    script = "\n".join(f"{command}\necho {MARK}" for command, _ in shown)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "DWARFGPU"))}
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=tmp_path,
        env=environment | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "80"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
    assert list(zip((command for command, _ in shown), done.stdout.split(f"{MARK}\n"), strict=False)) == shown
    assert {path.name for path in tmp_path.iterdir()} == {"fixtures", "docs", "tests", "README.md"}, (
        "nothing is written"
    )


def sh_blocks() -> list[tuple[str, str]]:
    """The blocks of commands that pages show without what they print."""
    blocks: dict[tuple[str, int], list[str]] = defaultdict(list)
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        start = None
        for number, line in enumerate(path.read_text().splitlines()):
            if line.startswith("```"):
                start = number if line == "```sh" else None
            elif start is not None:
                blocks[path.name, start].append(line)
    return [(f"{page}:{number + 1}", "\n".join(lines)) for (page, number), lines in blocks.items()]


@pytest.mark.parametrize("place,block", sh_blocks(), ids=lambda value: value if ":" in value[:40] else "")
def test_bash_reads_a_block(place: str, block: str) -> None:
    done = subprocess.run(["bash", "-n", "-c", block], stderr=subprocess.PIPE, text=True, check=False)
    assert done.stderr == "", place


@pytest.mark.parametrize("page,session", sessions(), ids=lambda value: str(getattr(value, "command", value))[:60])
def test_session(page: str, session: Session) -> None:
    for now, shown in zip(run(session), session.steps, strict=True):
        assert now.written == shown.written, f"{page}: {shown.typed or session.command}"


@for_each("page, examples",
    ("library.md", 10),                   ("frames.md", 5),                     ("launch.md", 5),
    ("running.md", 20),                   ("lanes.md", 5),                      ("elftools.md", 25),
    ("races.md", 5))  # fmt: skip
def test_page(page: str, examples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    path = ROOT / "docs" / page
    test = doctest.DocTestParser().get_doctest(path.read_text(), {}, path.name, str(path), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test)
    assert runner.tries > examples
    assert runner.failures == 0
