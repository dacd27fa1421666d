"""^C ends a command with one line and status 130, whenever it comes; SIGTERM ends it without a word."""

import ast
import subprocess
import sys

import pytest

from tests.builders.folders import ROOT
from tests.builders.parameters import for_each

INTERRUPTED_AFTER = """
import signal, sys
from dwarfgpu.cli import main
signal.signal(signal.SIGVTALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_VIRTUAL, float(sys.argv.pop(1)))
sys.exit(main())
"""
ENTRY = ROOT / "dwarfgpu" / "__main__.py"
AT_AN_IMPORT = """
import runpy, signal, sys
entry, name = sys.argv.pop(1), sys.argv.pop(1)
sys.addaudithook(lambda event, args: event == "import" and args[0] == name and signal.raise_signal(signal.SIGINT))
runpy.run_path(entry, run_name="__main__")
"""
KERNELS = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co"
STATE = "fixtures/asm/lane-pc.gfx90a.w64.co --state dwarfgpu/examples/variables.json"
IN_A_FINALIZER = """
import signal, sys, weakref
from dwarfgpu.cli import main, run
class Answer: pass
answer = Answer()
weakref.finalize(answer, signal.raise_signal, signal.SIGINT)
def ask(words):
    global answer
    answer = None
    for _ in range(10 ** 9): pass
run.run = ask
sys.exit(main())
"""


def started(program: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *words], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)  # fmt: skip


def check_interrupted(seconds: float, command: str) -> None:
    process = started(INTERRUPTED_AFTER, str(seconds), *command.split())
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "dwarfgpu: interrupted\n")


@pytest.mark.parametrize("seconds", [0.0001, 0.004, 0.02, 0.04, 0.06])
def test_it_ends_a_command_in_one_line(seconds: float) -> None:
    check_interrupted(seconds, f"verify {KERNELS}")


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.001 * 1.3**step for step in range(16)])
@for_each(
    "command", f"verify {KERNELS}", f"report {STATE}", f"debug {STATE} -nx -batch -ex list", f"coverage {KERNELS}"
)
def test_it_ends_every_command_at_any_moment(seconds: float, command: str) -> None:
    check_interrupted(seconds, command)


@pytest.mark.parametrize("module", ["dwarfgpu", "dwarfgpu.cli", "dwarfgpu.cli.run", "argparse"])
def test_it_is_answered_while_the_program_is_imported(module: str) -> None:
    process = started(AT_AN_IMPORT, str(ENTRY), module, "verify", KERNELS)
    assert process.communicate(timeout=60) == ("", "dwarfgpu: interrupted\n")
    assert process.returncode == 130


def test_only_python_itself_is_not_the_programs() -> None:
    """Before its first statement, which answers ^C, the program imports nothing that Python has not imported."""
    known = subprocess.run(
        [sys.executable, "-Sc", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    _, main = ast.parse(ENTRY.read_text(encoding="utf-8")).body
    assert isinstance(main, ast.If)
    *imports, first = main.body[: next(i for i, each in enumerate(main.body) if not isinstance(each, ast.Import)) + 1]
    assert {name.name for each in imports for name in each.names} <= {*known.stdout.split(), "os"}  # `site` imports it
    assert "_signal.signal(_signal.SIGINT" in ast.unparse(first)


def test_a_program_that_was_started_to_ignore_it_goes_on() -> None:
    program = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n{AT_AN_IMPORT}"
    process = started(program, str(ENTRY), "dwarfgpu.cli.run", "targets", "gfx1100")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "gfx1100" in out


IN_A_PARSER = """
import argparse, signal, sys
from dwarfgpu.cli import main
def parse(*_):
    try:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            raise AttributeError  # as that of `parse_intermixed_args` does
    except AttributeError as error:
        raise RuntimeError from error  # as Python does around `__set_name__`
argparse.ArgumentParser.parse_intermixed_args = parse
sys.exit(main())
"""


def test_it_is_not_lost_where_others_would_swallow_it() -> None:
    process = started(IN_A_PARSER, "verify", KERNELS)
    assert process.communicate(timeout=60) == ("", "dwarfgpu: interrupted\n")
    assert process.returncode == 130
    process = started(IN_A_FINALIZER.replace("import main, run", "import main\nimport dwarfgpu.cli.run as run"))
    assert process.communicate(timeout=60) == ("", "dwarfgpu: interrupted\n")
    assert process.returncode == 130
