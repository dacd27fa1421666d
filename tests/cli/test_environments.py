"""The environments that users have: a checkout's own, a wheel, and a wheel for another Python than GDB's.

None is activated. The command starts in each, GDB loads the script that it names, and man page and completion exist.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.gdb.running import ROOT, python

pytestmark = pytest.mark.slow
VARIABLES = ROOT / "dwarfgpu" / "examples" / "variables.json"
CODE = ROOT / "fixtures" / "asm" / "lane-pc.gfx90a.w64.co"


class Environment(NamedTuple):
    """A virtual environment, and an empty folder to work in."""

    root: Path
    folder: Path

    def run(self, *words: str) -> str:
        return self.shell(self.root / "bin" / words[0], *words[1:])

    def shell(self, *words: str | Path) -> str:
        """Return what a program prints, errors too, where nothing tells of the environment or of the tests."""
        done = subprocess.run(
            words, cwd=self.folder, env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "LC_ALL": "C.UTF-8"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    def gdb(self, gdb: str, *arguments: str) -> str:
        """Return what GDB prints with the script that the environment's dwarfgpu names."""
        return self.shell(gdb, "-nx", "-batch", "-x", self.run("dwarfgpu", "gdb-script").strip(), *arguments)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT]
    subprocess.run(words, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


def installed(wheel: Path, interpreter: str, folder: Path) -> Environment:
    """Return a new environment of an interpreter, with the wheel in it."""
    root = folder / "environment"
    subprocess.run([interpreter, "-m", "venv", "--without-pip", root], check=True, capture_output=True)
    words = [sys.executable, "-m", "pip", "--python", root / "bin" / "python", "install", "--quiet", wheel]
    subprocess.run(words, check=True, capture_output=True)
    (folder / "empty").mkdir()
    return Environment(root, folder / "empty")


@pytest.fixture(scope="session")
def fresh(wheel, tmp_path_factory) -> Environment:
    return installed(wheel, sys.executable, tmp_path_factory.mktemp("fresh"))


@pytest.fixture(scope="session", params=["checkout", "wheel"])
def environment(request, tmp_path_factory) -> Environment:
    if request.param == "checkout":
        return Environment(Path(sys.prefix), tmp_path_factory.mktemp("checkout"))
    fresh: Environment = request.getfixturevalue("fresh")
    return fresh


def version_of_gdb(gdb: str) -> str:
    done = subprocess.run([gdb, "-nx", "-batch", *python("import sys; print('%d.%d' % sys.version_info[:2])")],
                          capture_output=True, text=True, check=True)  # fmt: skip
    return done.stdout.strip()


def test_the_command_answers(environment):
    assert environment.run("dwarfgpu", "--version").startswith("dwarfgpu ")
    words = ("eval", str(CODE), "even", "--lane", "2", "--state", str(VARIABLES))
    assert environment.run("dwarfgpu", *words) == "even = 14\n"


def test_the_pages_of_the_documentation(environment):
    assert environment.run("dwarfgpu", "docs", "python") == (ROOT / "docs" / "python.md").read_text("utf-8")


def test_gdb_finds_the_packages(environment, require_tool):
    gdb = require_tool("gdb")
    told = environment.gdb(gdb, *python("import dwarfgpu.gdb as dg; print(dg.__doc__[:25])"))
    *lacks, last = told.splitlines()
    assert last == "The library for scripts o"
    same = version_of_gdb(gdb) == "{}.{}".format(*sys.version_info)
    assert len(lacks) == (0 if same else 1), told  # one line names all packages of another version


def test_the_manual_page_and_completion(fresh):
    page = (fresh.root / "share" / "man" / "man1" / "dwarfgpu.1").read_text()
    assert page == (ROOT / "dwarfgpu/share/dwarfgpu.1").read_text()
    script = fresh.run("dwarfgpu", "completion", "bash")
    question = (
        f'PATH={fresh.root}/bin:$PATH; COMP_WORDS=(dwarfgpu); COMP_LINE="dwarfgpu gdb-"; COMP_POINT=13; _dwarfgpu'
    )
    question += '; echo "${COMPREPLY[@]}"'
    assert fresh.shell("bash", "--norc", "-c", f"{script}\n{question}") == "gdb-script\n"


def test_a_wheel_beside_another_python_than_gdbs(wheel, require_tool, tmp_path):
    """GDB says in one line what it cannot use, and answers."""
    gdb = require_tool("gdb")
    others = [
        path
        for path in sorted((Path.home() / ".pyenv" / "versions").glob("3.1[0-9].*/bin/python"))
        if f"/{version_of_gdb(gdb)}." not in str(path)
    ]
    if not others:
        pytest.skip("there is no other Python than GDB's")
    told = installed(wheel, str(others[-1]), tmp_path).gdb(
        gdb, *python("import dwarfgpu.gdb as dg; print(dg.__doc__[:25])")
    )
    (line, last) = told.splitlines()
    assert line.startswith(f"dwarfgpu: GDB has Python {version_of_gdb(gdb)}. numpy was built for another version of")
    assert last == "The library for scripts o"
