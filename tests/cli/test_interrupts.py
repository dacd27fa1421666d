"""^C ends a command with one line and status 130, whenever it comes; SIGTERM ends it without a word."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INTERRUPTED_AFTER = """
import signal, sys
from dwarfgpu.cli import main
signal.signal(signal.SIGVTALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_VIRTUAL, float(sys.argv.pop(1)))
sys.exit(main())
"""
KERNELS = "fixtures/amdgpu/cl-kernels.gfx1100.w32.O0.v5.co"
STATE = "fixtures/asm/lane-pc.gfx90a.w64.co --state docs/examples/variables.json"
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
        [sys.executable, "-c", program, *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def check_interrupted(seconds: float, command: str) -> None:
    process = started(INTERRUPTED_AFTER, str(seconds), *command.split())
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "dwarfgpu: interrupted\n")


@pytest.mark.parametrize("seconds", [0.0001, 0.004, 0.02, 0.05, 0.1])
def test_it_ends_a_command_in_one_line(seconds: float) -> None:
    check_interrupted(seconds, f"verify {KERNELS}")


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.001 * 1.3**step for step in range(18)])
@pytest.mark.parametrize(
    "command",
    [f"verify {KERNELS}", f"report {STATE}", f"debug {STATE} -nx -batch -ex list", f"coverage {KERNELS}"],
)
def test_it_ends_every_command_at_any_moment(seconds: float, command: str) -> None:
    check_interrupted(seconds, command)


def test_it_is_not_lost_where_python_would_only_report_it() -> None:
    process = started(IN_A_FINALIZER.replace("import main, run", "import main\nimport dwarfgpu.cli.run as run"))
    assert process.communicate(timeout=60) == ("", "dwarfgpu: interrupted\n")
    assert process.returncode == 130


@pytest.mark.parametrize(
    "number, status, said",
    [(signal.SIGINT, 130, "dwarfgpu: interrupted\n"), (signal.SIGTERM, 128 + signal.SIGTERM, "")],
)
def test_a_server_ends(number: signal.Signals, status: int, said: str) -> None:
    process = started("import sys; from dwarfgpu.cli import main; sys.exit(main())", "serve", *STATE.split()[2:])
    assert process.stderr is not None
    while "target remote" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(number)
    assert process.communicate(timeout=60) == ("", said)
    assert process.returncode == status
