"""What docs/ci.md shows for GitHub, GitLab, lit and CMake is run as it stands there."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders.folders import ROOT

EXAMPLES = ROOT / "dwarfgpu/examples"
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
LIT_SETTINGS = """
import lit.formats
config.name = "debug information"
config.test_format = lit.formats.ShTest()
config.suffixes = [".cl"]
config.environment["PATH"] = {path!r}
"""
DEFECT = '  __asm__ volatile (".section .debug_info\\n .long 0xfffffff0\\n .text");\n'
"""A unit that claims more bytes than the file has."""


def block(language: str) -> str:
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


@pytest.fixture
def environment(tmp_path: Path, require_tool: Callable[..., str]) -> dict[str, str]:
    """A PATH on which `clang` and `dwarfgpu` are those of the tests."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "clang").symlink_to(require_tool("clang-22", "clang"))
    (folder / "ld.lld").symlink_to(Path(require_tool("ld.lld-22", "ld.lld")))
    script = folder / "dwarfgpu"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {sys.executable} -m dwarfgpu "$@"\n')
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def run(command: str, folder: Path, environment: dict[str, str]) -> int:
    return subprocess.run(["sh", "-c", command], cwd=folder, env=environment, check=False).returncode


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def with_defect(source: str) -> str:
    return source.replace("{\n", "{\n" + DEFECT, 1)


def lit(source: str, folder: Path, environment: dict[str, str]) -> int:
    """Run a test of lit: by lit where that is installed, else each of its commands."""
    write(folder, "scale.cl", source)
    if shutil.which("lit", path=environment["PATH"]) is not None:
        write(folder, "lit.cfg.py", LIT_SETTINGS.format(path=environment["PATH"]))
        return run("lit -v .", folder, environment)
    commands = re.findall(r"^// RUN: (.*)$", source, re.MULTILINE)
    assert len(commands) == 2
    return max(
        run(command.replace("%s", "scale.cl").replace("%t", "scale"), folder, environment) for command in commands
    )


@pytest.mark.slow
def test_a_test_of_lit_passes_and_fails_with_the_findings(tmp_path, environment):
    assert lit(block("c"), tmp_path / "good", environment) == 0
    assert lit(with_defect(block("c")), tmp_path / "bad", environment) != 0


def cmake(folder: Path, environment: dict[str, str]) -> int:
    """Build and test a project: by CMake where that is installed, else each of its commands."""
    text = write(folder, "CMakeLists.txt", block("cmake")).joinpath("CMakeLists.txt").read_text()
    if shutil.which("cmake", path=environment["PATH"]) is not None:
        assert run("cmake -S . -B build && cmake --build build", folder, environment) == 0
        return run("ctest --test-dir build --output-on-failure", folder, environment)
    names = {"KERNELS": "scale.co", "CMAKE_SOURCE_DIR": ".", "DWARFGPU": "dwarfgpu"}
    commands = [
        re.sub(r"\$\{(\w+)\}", lambda match: names[match[1]], command)
        for command in re.findall(r"\bCOMMAND (.*)\)$", text, re.MULTILINE)
    ]
    assert [command.split()[0] for command in commands] == ["clang", "dwarfgpu"]
    assert run(commands[0], folder, environment) == 0
    return run(commands[1], folder, environment)


@pytest.mark.slow
def test_a_test_of_cmake_finds_what_the_baseline_has_not(tmp_path, environment):
    project = write(tmp_path / "project", "known.json", '{"findings": []}')
    write(project, "scale.cl", block("c"))
    assert cmake(project, environment) != 0  # with --strict the idioms of clang count
    shutil.rmtree(project / "build", ignore_errors=True)
    compiled = "clang --target=amdgcn-amd-amdhsa -mcpu=gfx90a -g -O2 -nogpulib scale.cl -o scale.co"
    assert run(compiled, project, environment) == 0
    assert run("dwarfgpu verify scale.co --strict --json -o known.json", project, environment) == 1
    assert cmake(project, environment) == 0


@pytest.mark.slow
def test_the_jobs_for_programs(tmp_path, environment):
    """Their commands pass on a project without a mistake; they fail, with a log, where a barrier is removed."""
    yaml = pytest.importorskip("yaml")
    texts = {name: (EXAMPLES / "ci" / f"{name}.yml").read_text("utf-8") for name in ("kernels", "gitlab")}
    assert block("yaml") == texts["kernels"]
    (job,) = yaml.safe_load(texts["kernels"])["jobs"].values()
    commands = yaml.safe_load(texts["gitlab"])["kernels"]["script"]
    steps = [step["run"] for step in job["steps"] if "run" in step]
    assert steps[-len(commands) :] == commands
    assert [each.split()[0] for each in commands] == ["make", "dwarfgpu", "python", "dwarfgpu"]
    assert job["steps"][-1] == {
        "uses": "github/codeql-action/upload-sarif@v3", "if": "always()", "with": {"sarif_file": "."}
    }  # fmt: skip
    if shutil.which("ctest") is None:
        commands = [command.replace("ctest", "./sum") for command in commands]
    wrong = (EXAMPLES / "sum.hip").read_text()
    for text in wrong.replace("= in[i];", "= in[i]; __syncthreads();"), wrong:
        folder = tmp_path / str(text == wrong)
        write(folder, "sum.hip", text)
        write(folder, "Makefile", "sum: sum.hip\n\t$(HIPCC) sum.hip -o sum\n")
        write(folder, "CTestTestfile.cmake", f"add_test(sum {folder}/sum)\n")
        write(folder, "kernel.cl", (EXAMPLES / "reverse.cl").read_text())
        assert run("dwarfgpu judge kernel.cl -O2 --json -o known.json", folder, environment) in (0, 1)
        statuses = [run(command, folder, environment) for command in commands if not command.startswith("python")]
        assert statuses == [0, int(text == wrong), 0]
        logs = [
            json.loads((folder / f"{name}.sarif").read_text())["runs"][0]["results"] for name in ("program", "judge")
        ]
        assert [len(log) for log in logs] == [int(text == wrong), 0]
