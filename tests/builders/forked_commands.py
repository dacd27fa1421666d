"""The command line in copies of this process: nobody else has what they start, and imports take no time."""

import atexit
import faulthandler
import os
import select
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import IO, Any, NoReturn

import dwarfgpu.cli.debug
import dwarfgpu.cli.programs
import dwarfgpu.execution.checks.bounds_check
import dwarfgpu.execution.checks.races
import dwarfgpu.runtimes.hip.program
import dwarfgpu.runtimes.opencl.program
import dwarfgpu.runtimes.triton.program  # noqa: F401 (these are what the copies would import)
from dwarfgpu.cli import main


def forked(
    *words: Any, input: str = "", cwd: Path | None = None, env: dict[str, str] | None = None, timeout: float = 240
) -> subprocess.CompletedProcess[str]:
    """What ``dwarfgpu WORDS...`` and the programs that it starts print, and with which status it ends."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(input.encode())
        given.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of numpy's libraries know about forks
            process = os.fork()
        if not process:
            _become([str(word) for word in words], (given, out, err), cwd, env)
        ended = os.pidfd_open(process)
        try:
            if not select.select([ended], [], [], timeout)[0]:
                os.kill(process, signal.SIGKILL)
        finally:
            os.close(ended)
            status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        for each in (out, err):
            each.seek(0)
        return subprocess.CompletedProcess(words, status, out.read().decode(), err.read().decode())


def _become(words: list[str], streams: tuple[IO[bytes], ...], cwd: Path | None, env: dict[str, str] | None) -> NoReturn:
    """Execute a command, as the only thing that this process does."""
    status: object = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream.fileno(), number)
        faulthandler.disable()
        atexit._clear()  # those of the tests
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
        os.chdir(cwd or Path.cwd())
        if env is not None:
            os.environ.clear()
            os.environ.update(env)
        try:
            status = main(words)
        except SystemExit as stop:
            status = stop.code
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        os._exit(status if isinstance(status, int) else int(status is not None))
