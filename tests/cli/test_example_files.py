"""``dwarfgpu example`` and ``dwarfgpu demo``: the files that the package brings, and what they show."""

import shlex
import shutil
from pathlib import Path

import pytest

from dwarfgpu.cli.demo import DEMO
from dwarfgpu.cli.examples import FOLDER, examples
from tests.builders.commands import document, run
from tests.builders.folders import FIXTURES, ROOT

COPIES = {
    "hip-kernels.co": "amdgpu/hip-kernels.gfx1100.w32.O2.v5.co",
    "samples.json": "src/samples/divergent.O2.results.json",
    "host.x86_64": "asm/host.x86_64",
    "lane-pc.co": "asm/lane-pc.gfx90a.w64.co",
    "calls.co": "llvm24/hip-calls.gfx1100.w32.O2.co",
    "tiny.co": "containers/tiny.gfx90a.co",
    "fatbin": "containers/fatbin.x86_64",
    "even-first.co": "amdgpu/even-first.gfx90a.w64.O0.co",
    "kernels.co": "amdgpu/cl-kernels.gfx1100.w32.O2.v5.co",
    "ordering.co": "amdgpu/ordering.gfx1200.w32.O2.co"}  # fmt: skip
"""The examples that are fixtures, which have recipes."""
MOST_BYTES = 460_000


def written(folder: Path) -> set[str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {path.relative_to(folder).as_posix() for path in files}


def test_the_index_names_every_file():
    files = {file for one in examples() for file in one.files}
    assert files | {"INDEX.txt"} == written(FOLDER)
    assert sum((FOLDER / file).stat().st_size for file in files) < MOST_BYTES


def test_code_objects_and_sources_are_those_of_the_fixtures():
    sources = {path: path for path in written(FOLDER) if path.startswith("src/")}
    for name, fixture in (COPIES | sources).items():
        assert (FOLDER / name).read_bytes() == (FIXTURES / fixture).read_bytes()


@pytest.mark.parametrize("name", ["blur", "reverse"])
def test_a_source_compiles_to_the_code_object_beside_it(name, tmp_path, require_tool):
    require_tool("clang-22")
    source, made = FOLDER / f"{name}.cl", tmp_path / "made.co"
    options = ("--target", "gfx1100", "--", "-fdebug-compilation-dir=.", f"-ffile-prefix-map={FOLDER}/=")
    assert run("compile", source, "-o", made, *options).returncode == 0
    assert (
        run("dump", made, "--section", "line").stdout == run("dump", FOLDER / f"{name}.co", "--section", "line").stdout
    )


def test_a_list_says_what_to_type_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.builders.commands.ROOT", tmp_path)
    done = run("example")
    assert done.stdout.startswith(
        "blur: a kernel that reads past its buffer in one lane\n    dwarfgpu run blur.co blur"
    )
    assert "`dwarfgpu example -o FOLDER` writes all files" in done.stderr
    assert [row["name"] for row in document("example")["examples"]] == [one.name for one in examples()]
    assert written(tmp_path) == set()


def test_one_is_written_here_and_all_are_written_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.builders.commands.ROOT", tmp_path)
    assert "type one of these commands" in run("example", "blur").stderr
    assert written(tmp_path) == {"blur.cl", "blur.co"}
    assert run("example", "-o", "some/where").stderr == "hint: cd some/where, then type one of these commands\n"
    assert written(tmp_path / "some/where") == written(FOLDER) - {"INDEX.txt"}


def test_other_files_are_not_overwritten_and_names_are_checked(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.builders.commands.ROOT", tmp_path)
    (tmp_path / "blur.cl").write_text("mine")
    done = run("example", "blur")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "dwarfgpu: error: blur.cl exists and is another file")
    assert (tmp_path / "blur.cl").read_text() == "mine"
    assert "\nhint: " not in run("example", "-o", "blur.cl/below").stderr
    assert "blur.cl/below/blur.cl cannot be written: Not a directory" in run("example", "-o", "blur.cl/below").stderr
    assert "hint: did you mean lanes?" in run("example", "lane").stderr


@pytest.mark.parametrize("one", examples(), ids=lambda one: one.name)
@pytest.mark.sampled(6)
def test_the_first_command_of_an_example_answers(one, tmp_path, monkeypatch):
    if ".cl " in one.command and shutil.which("clang-22") is None:
        pytest.skip("clang-22 is not installed")
    monkeypatch.setattr("tests.builders.commands.ROOT", tmp_path)
    assert run("example", one.name).returncode == 0
    if not one.command.startswith("dwarfgpu "):
        return
    done = run(*shlex.split(one.command)[1:], stdin=b"quit\n")
    assert done.returncode in (0, 1)
    assert "error:" not in done.stderr


def test_the_demo_shows_each_command_with_what_it_prints(monkeypatch):
    done = run("demo")
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("$ ")] == [f"$ {step}" for _text, step in DEMO]
    assert "just past the end of `in`, which has 200 bytes" in done.stdout
    assert "7\t    int last = i + 1;" in done.stdout
    assert "lanes 16-23   48 49" in done.stdout
    assert Path.cwd() == ROOT
