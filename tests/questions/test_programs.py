"""Other programs, and the log."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from dwarfgpu.render.written_text import styled
from tests.builders.parameters import for_each
from tests.questions.harness import KERNEL, STATE, Run


@pytest.fixture
def run() -> Run:
    return Run(None)


def test_programs_and_pipes(run: Run) -> None:
    assert run("shell echo hello") == "hello\n"
    assert run("!echo hello") == "hello\n"
    assert run("! echo to stderr >&2") == "to stderr\n"
    run("shell exit 3")
    assert run.debugger.shell_status == 3
    run("pipe echo x | cat")
    assert run.debugger.shell_status == 0
    assert run("pipe show confirm | head -1") == "confirm  on\n"
    assert run("| echo a\\nb\\n | sort -r") == "b\na\n"
    assert run("pipe -d // echo a|b // tr a-z A-Z") == "A|B"
    assert "no command" in run.fails("pipe ecko x | cat").message
    assert run(r"echo x\n") == "x\n"


@pytest.mark.parametrize("line", ["pipe", "pipe echo", "pipe echo |", "pipe | cat"])
def test_pipe_needs_both(run: Run, line: str) -> None:
    assert run.fails(line).message == "`pipe` needs a command, | and a program"


def test_a_log_has_what_was_written(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "log"
    run.debugger.output.style = lambda _style, text: styled("1", text)
    text = run(
        f"set logging file {path}", "set logging on", "echo a\\n", "show confirm", "set logging off", "echo b\\n"
    )
    assert text.startswith(f"Copying output to {path}.\na\n")
    assert text.endswith(f"Done logging to {path}.\nb\n")
    assert path.read_text().splitlines()[:2] == ["a", "confirm  on"]
    run("set logging enabled on", "echo c\\n", "set logging enabled off")
    assert path.read_text().endswith("c\n")
    run("set logging overwrite on", "set logging redirect on", "set logging on")
    assert run("echo d\\n") == ""
    run("set logging off")
    assert path.read_text() == "d\n"


def test_a_log_that_cannot_be_written_stays_off(run: Run) -> None:
    run("set logging file /nowhere/log")
    assert run.fails("set logging on").message == "/nowhere/log: No such file or directory"
    assert run("show logging enabled").startswith("logging enabled  off")


HEAD = "  Num  Description       Connection           Executable\n"


@for_each(
    "line, expected",
    ("complete info sourc", "info source\ninfo sources\n"),
    ("complete disassem", "disassemble\n"),
    ("complete print nothing_of_the_kind", ""),
    ("info sources lane-pc", f"{KERNEL}:\n  src/asm/lane-pc.c\n"),
    ("info program", "Wave 1:1:1:1 stopped at 0x7f0000001548.\n"),
    ("info signals sigbus", "Signal  Description  Waves  Stop reasons\nSIGBUS  Bus error        0  ADDRESS_ERROR\n"),
    ("info inferiors", f"{HEAD}* 1    machine           snapshot             {KERNEL}\n"),
)
def test_facts_about_the_program(line, expected):
    assert Run(KERNEL, STATE, width=200)(line) == expected


def test_signals_have_the_descriptions_of_gdb(require_tool):
    described = subprocess.check_output([require_tool("gdb"), "-nx", "-batch", "-ex", "info signals"], text=True)
    meanings = dict(re.findall(r"^(SIG\w+).*\t([^\t]+)$", described, re.MULTILINE))
    rows = json.loads(Run(KERNEL)("info signals --json"))["signals"]
    assert {row["signal"]: row["description"] for row in rows}.items() <= meanings.items()
    assert {row["waves"] for row in rows} == {None}


def test_a_signal_counts_the_waves_that_it_has_stopped():
    run = Run("fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co")
    run("target launch divergent 64 64 out=0x10 limit=40", "run")
    assert run("info signals SIGSEGV").splitlines()[1].split()[-2:] == ["2", "MEMORY_VIOLATION"]
    assert "SIGSEGV" in (Run(KERNEL).fails("info signals SIGURG").hint or "")


@pytest.mark.parametrize("line", ["info program", "info inferiors", "info signals"])
def test_facts_without_a_state(line):
    assert "No " not in Run(KERNEL)(line)


@pytest.mark.parametrize("line", ["find", "find 0x1000", "find 0x1000, 0x2000", "find 5, 4, 3", "find /q 1, 2, 3"])
def test_what_cannot_be_searched(line):
    Run(KERNEL, STATE).fails(line)
