"""Programs that dwarfgpu starts end with it, whatever ends it, and their folder is removed.

Each program is a script that writes a line into a pipe, starts another program, and waits: the pipe ends when both have
ended, so no test waits for a time.
"""

import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dwarfgpu.children import PrivateFolder, run_shell
from dwarfgpu.cli import main
from dwarfgpu.compilers import sources
from tests.builders.folders import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it needs process groups")

WAITS = """#!{shell}
case "$*" in
--version) echo 'clang version 22.0.0'; exit;;
-print-targets) echo amdgcn; exit;;
esac
exec 9> {pipe}
echo "$TMPDIR" >&9
touch "$TMPDIR/crash.txt"
sleep 1000 &
trap '' INT TERM HUP
while :; do sleep 1000; done
"""
LONGEST = 60
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
HOST = str(ROOT / "fixtures" / "host" / "classes.gcc.O2.v5.x86_64")
BLUR = str(ROOT / "dwarfgpu" / "examples" / "blur.co")
KERNEL = "kernel void k(global int *p) { p[0] = 1; }\n"


@pytest.fixture
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program that waits; the pipe beside it says when it runs, and ends when it does."""
    tmp_path = tmp_path_factory.mktemp("t")  # workers of Dask have sockets in it, whose names are short
    os.mkfifo(tmp_path / "pipe")
    path = tmp_path / "tool"
    path.write_text(WAITS.format(shell="/bin/sh", pipe=shlex.quote(str(tmp_path / "pipe"))), "utf-8")
    path.chmod(0o755)
    (tmp_path / "k.cl").write_text(KERNEL, "utf-8")
    (tmp_path / "tmp").mkdir()
    return path


class Pipe:
    """The end of the pipe that is read. Only a test that fails waits as long as it may."""

    def __init__(self, tool: Path) -> None:
        self._file = os.open(tool.with_name("pipe"), os.O_RDONLY | os.O_NONBLOCK)

    def read(self) -> str:
        """Return what is written next; empty when all that could write have ended."""
        assert select.select([self._file], [], [], LONGEST)[0], "nothing was written, or a program still runs"
        return os.read(self._file, 4096).decode().strip()


def _hangs_up() -> None:
    """Let SIGHUP end the process, also where the tests were started with nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextmanager
def started(tool: Path, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Start dwarfgpu, whose temporary files are in a folder that must be empty soon after the end."""
    folder = tool.with_name("tmp")
    variables = {**os.environ, "CLANG": str(tool), "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "dwarfgpu", *words]
    with subprocess.Popen(command, cwd=ROOT, env=variables, preexec_fn=_hangs_up) as process:  # noqa: PLW1509 (no thread runs here)
        try:
            yield process
        finally:
            process.kill()
    due = time.monotonic() + LONGEST
    while [path for path in folder.iterdir() if path.name.startswith("dwarfgpu-")]:
        assert time.monotonic() < due, "a folder is left"


@pytest.mark.parametrize("number", SIGNALS, ids=lambda each: each.name)
@pytest.mark.parametrize(
    "words",
    [
        ("run", "{}/k.cl", "k", "--grid", "4", "zeros(4)"),
        ("debug", HOST, "-batch", "-ex", "set disassembler {}/tool", "-ex", "x/2i 0x401000"),
        ("debug", BLUR, "-batch", "-ex", "shell {}/tool"),
        ("debug", BLUR, "-batch", "-ex", "pipe info files | {}/tool"),
    ],
    ids=["clang", "disassembler", "shell", "pipe"],
)
@pytest.mark.sampled(6)
def test_a_program_ends_with_us(tool: Path, words: tuple[str, ...], number: signal.Signals) -> None:
    pipe = Pipe(tool)
    with started(tool, *(word.format(tool.parent) for word in words)) as process:
        folder = Path(pipe.read())
        is_of_user = BLUR in words  # whose files are not ours
        assert folder == tool.with_name("tmp") if is_of_user else folder.parent == tool.with_name("tmp")
        process.send_signal(number)
        process.wait()
        assert pipe.read() == ""


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS[1:], ids=lambda each: each.name)
def test_workers_of_a_fleet_end_with_it(tool: Path, number: signal.Signals) -> None:
    pytest.importorskip("distributed")
    pipe = Pipe(tool)
    with started(tool, "fleet", "verify", str(tool.with_name("k.cl")), "--scheduler", "local:1") as process:
        assert Path(pipe.read()).parent == tool.with_name("tmp")
        process.send_signal(number)
        process.wait()
        assert pipe.read() == ""


PARENT = """
import os, sys, time
from dwarfgpu.audits.verify.reports import each_file
def check(path):
    pipe = os.open(sys.argv[1], os.O_WRONLY)
    os.write(pipe, b"started")
    time.sleep(1000)
list(each_file(check, ["a", "b"], 2))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the processes that another has forked")
@pytest.mark.parametrize("number", SIGNALS[1:], ids=lambda each: each.name)
def test_processes_that_share_work_end_with_us(tool: Path, number: signal.Signals) -> None:
    pipe = Pipe(tool)
    words = [sys.executable, "-c", PARENT, str(tool.with_name("pipe"))]
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.DEVNULL, preexec_fn=_hangs_up) as process:  # noqa: PLW1509
        assert pipe.read().startswith("started")
        process.send_signal(number)
        process.wait()
        while pipe.read():
            pass


@pytest.mark.slow
def test_a_program_that_takes_too_long_ends_alone(tool: Path) -> None:
    pipe = Pipe(tool)
    with PrivateFolder() as folder:
        with pytest.raises(TimeoutError, match="not ended after 0 seconds"):
            folder.run([str(tool)], limit=0)
        assert Path(pipe.read().partition("\n")[0]) == folder.path
        assert pipe.read() == ""
        assert folder.run("echo more; echo wrong >&2", is_merged=True).stdout == b"more\nwrong\n"
        assert folder.path.is_dir()
    assert not folder.path.exists()


@pytest.mark.slow
def test_a_clang_that_nobody_watches_has_a_limit(
    tool: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sources, "LIMIT", 0)
    monkeypatch.setattr(sources.Library, "linked", lambda *_: [])
    monkeypatch.setenv("CLANG", str(tool))
    pipe = Pipe(tool)
    assert main(["run", str(tool.with_name("k.cl")), "k", "--grid", "4", "zeros(4)"]) == 3
    assert "has not compiled it in 0 seconds" in capsys.readouterr().err
    assert Path(pipe.read()).name.startswith("dwarfgpu-")
    assert pipe.read() == ""


def test_what_a_user_leaves_in_the_background_goes_on(tool: Path) -> None:
    pipe = Pipe(tool)
    done = run_shell(f"TMPDIR={tool.parent} {tool} > /dev/null 2>&1 & echo $!", b"", has_terminal=False)
    assert pipe.read() == str(tool.parent)
    os.kill(int(done.stdout), signal.SIGKILL)
