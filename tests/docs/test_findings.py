"""The page of what execution finds: its sources are the files, and its commands print what it shows."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import frozen

from tests.builders.folders import ROOT

SOURCES = ROOT / "dwarfgpu" / "examples" / "findings"
PAGE = (SOURCES / "README.md").read_text("utf-8")
SCRIPTS = ROOT / "fixtures" / "src" / "scripts"
LONGEST = 15
LLVM24 = os.environ.get("LLVM24_PYTHON", str(ROOT / ".venv/llvm24/bin/python"))


@frozen
class FindingSession:
    """Commands, and what the last of them prints, with dots for what is left out."""

    title: str
    commands: tuple[str, ...]
    shown: str

    @property
    def can_be_built(self):
        """Whether its compilers can be here: LLVM 24 is in no package of a distribution."""
        return shutil.which(LLVM24) is not None or not any("$LLVM24_PYTHON" in command for command in self.builds)

    @property
    def builds(self):
        """The commands that make its files, which may be those of another session."""
        own = [command for command in self.commands if is_build(command)]
        name = re.search(r"[\w-]+(?=\.co)", self.commands[-1] if len(self.commands) == 1 else "")
        return own or [command for command in BUILDS if name is not None and f"{name[0]}." in command]


def sessions() -> list[FindingSession]:
    found = []
    for section in PAGE.split("\n## ")[1:]:
        for block in re.findall(r"```session\n(.*?)```", section, re.DOTALL):
            lines = block.splitlines()
            commands = [line[2:] for line in lines if line.startswith("$ ")]
            shown = [line for line in lines if not line.startswith("$ ")]
            found.append(FindingSession(section.splitlines()[0], tuple(commands), "\n".join(shown)))
    return found


def is_build(command: str) -> bool:
    return not command.startswith(("dwarfgpu", "python3 -c"))


BUILDS = [command for session in sessions() for command in session.commands if is_build(command)]


def run_in(folder: Path, command: str) -> str:
    words = [word.replace("$LLVM24_PYTHON", LLVM24) for word in shlex.split(command)]
    if words[0] == "dwarfgpu":
        words = [sys.executable, "-m", *words]
    elif words[0] == "python3":
        words[0] = sys.executable
    words = [str(SCRIPTS / word) if (SCRIPTS / word).is_file() and word.endswith(".py") else word for word in words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if is_build(command):
        assert done.returncode == 0, done.stderr
    return done.stdout


def sources() -> list[Path]:
    return [path for path in SOURCES.iterdir() if path.is_file() and path.suffix != ".md"]


def test_the_sources_on_the_page_are_the_files_and_short():
    shown = dict(re.findall(r"`(\S+?)`:\n\n```c\n(.*?)```", PAGE, re.DOTALL))
    assert shown == {path.name: path.read_text("utf-8") for path in sources()}
    assert {path.name for path in sources() if len(path.read_text("utf-8").splitlines()) > LONGEST} == set()


def test_the_example_has_every_file():
    index = (SOURCES.parent / "INDEX.txt").read_text("utf-8").split()
    files = [path.relative_to(SOURCES.parent) for path in SOURCES.rglob("*") if path.is_file()]
    assert [path for path in files if path.as_posix() not in index] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "session", [each for each in sessions() if each.can_be_built], ids=lambda session: session.title.replace(" ", "-")
)
def test_a_compiler_still_writes_it_and_it_is_found(session, require_tool, tmp_path):
    require_tool("clang-22")
    require_tool("ld.lld-22")
    for path in sources():
        shutil.copy(path, tmp_path)
    for command in session.builds:
        run_in(tmp_path, command)
    printed = [run_in(tmp_path, command) for command in session.commands if not is_build(command)]
    text = printed[-1].replace(str(tmp_path), "...")
    for part in re.split(r"^\.\.\.$", session.shown, flags=re.MULTILINE):
        assert part.strip("\n") in text, text


def reports() -> list[str]:
    return (SOURCES / "upstream" / "README.md").read_text("utf-8").split("\n## ")[1:]


def file_check(lines: str, printed: str) -> bool:
    """Return whether the text has the lines, as FileCheck reads those of CHECK and CHECK-NEXT."""
    pattern = ""
    for line in lines.splitlines():
        kind, text = line[2:].split(": ", 1)
        literals = re.split(r"\{\{(.*?)\}\}", text)
        wanted = "".join(part if is_regex % 2 else re.escape(part) for is_regex, part in enumerate(literals))
        pattern += (r"[^\n]*\n[^\n]*?" if kind == "CHECK-NEXT" else r"(?s:.*?)") + wanted
    return re.match(pattern, printed) is not None


@pytest.mark.parametrize("report", reports(), ids=lambda report: re.search(r"Input: `(.*?)`", report)[1])
def test_llvm_prints_the_actual_lines_of_a_report_and_not_yet_the_expected_ones(report, require_tool):
    (command,) = re.findall(r"```sh\n(.*?)\n```", report)
    expected, actual = re.findall(r"```text\n(.*?)```", report, re.DOTALL)
    tool, *words = command.split()
    require_tool(f"{tool}-22")
    done = subprocess.run(
        [f"{tool}-22", *words], cwd=SOURCES / "upstream", stdout=subprocess.PIPE, text=True, check=True
    )
    assert (file_check(actual, done.stdout), file_check(expected, done.stdout)) == (True, False), done.stdout


def test_lines_are_compared_as_by_filecheck():
    assert file_check("; CHECK: a\n; CHECK-NEXT: b{{[0-9]+}}\n; CHECK: d", "x\n  a y\nz b12\nc\nd\n")
    assert not file_check("; CHECK: a\n; CHECK-NEXT: b", "a\nc\nb\n")
    assert not file_check("; CHECK: b\n; CHECK: a", "a\nb\n")
