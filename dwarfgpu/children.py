"""Programs that dwarfgpu starts, such as clang, GDB and disassemblers, and the folders of their files.

They end with this process, whatever ends it, SIGKILL included. A guard, which is a shell, reads a pipe that only this
process can write, and leads the process group of the programs. When the pipe is closed, it ends the group and removes
the folder.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dwarfgpu.errors import UsageError
from dwarfgpu.regular_files import signals_raise

if TYPE_CHECKING:
    from subprocess import CompletedProcess, Popen

    from typing_extensions import Self

INTERVAL = 1.0
"""Seconds between two looks at a program that runs."""
_GUARD = 'trap "" HUP INT QUIT TERM; read -r _ && exit; kill -TERM 0; rm -rf -- "$1"; kill -KILL 0'
"""A line in the pipe lets the programs live on; the end of the pipe ends them."""
_PR_SET_PDEATHSIG = 1
_PATIENCE = 1.0
"""The seconds that a program has to end before it is killed."""


class Children:
    """Programs that end with this process, and with the ``with`` block."""

    _folder: Path | None = None
    """What is removed at the end."""

    def __init__(self) -> None:
        self._begin()

    def run(
        self,
        words: Sequence[str] | str,
        *,
        limit: float = float("inf"),
        text: bytes | None = None,
        variables: Mapping[str, str | None] = {},
        is_merged: bool = False,
        waiting: Callable[[], object] = lambda: None,
    ) -> CompletedProcess[bytes]:
        """Run a program, or a line of the shell, to its end; raise `TimeoutError` after ``limit`` seconds.

        ``is_merged`` puts what it writes to standard error into its output; ``waiting`` is called every second.
        A variable of the environment that is None is not set.
        """
        import subprocess

        folder = {} if self._folder is None else dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self._folder))
        environment: dict[str, str | None] = {**os.environ, **folder, **variables}
        begun = time.monotonic()
        with subprocess.Popen(  # noqa: S603 (what the user has, or has named)
            words,
            shell=isinstance(words, str),
            stdin=subprocess.DEVNULL if text is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if is_merged else subprocess.PIPE,
            env={name: value for name, value in environment.items() if value is not None},
            **_in_group(None if self._guard is None else self._guard.pid),
        ) as process:
            try:
                while True:
                    try:
                        written = process.communicate(text, INTERVAL)
                        return subprocess.CompletedProcess(words, process.returncode, *written)
                    except subprocess.TimeoutExpired:
                        text = None  # it is being written
                    if time.monotonic() - begun > limit:
                        raise TimeoutError(f"it has not ended after {limit:g} seconds")  # noqa: TRY301
                    waiting()
            except BaseException:
                process.kill()
                self._kill()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    def end(self) -> None:
        """End the programs and remove the folder."""
        if self._guard is None:
            if self._folder is not None:
                import shutil

                shutil.rmtree(self._folder, ignore_errors=True)
            return
        os.close(self._pipe)
        self._guard.wait()

    def release(self) -> None:
        """Let programs live on that were left in the background."""
        if self._guard is not None:
            os.write(self._pipe, b"\n")

    def _begin(self) -> None:
        """Start the guard, if the system has process groups."""
        import subprocess

        self._guard: Popen[bytes] | None = None
        if sys.platform == "win32":
            return
        read, self._pipe = os.pipe()
        try:
            self._guard = subprocess.Popen(  # noqa: S603
                ["/bin/sh", "-c", _GUARD, "sh", str(self._folder or "")],
                stdin=read,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **_in_group(0),
            )
        except OSError:
            os.close(self._pipe)
            raise
        finally:
            os.close(read)

    def _kill(self) -> None:
        """End all programs at once, and let others be started in the folder."""
        if self._guard is not None:
            os.killpg(self._guard.pid, signal.SIGKILL)
            self._guard.wait()
            os.close(self._pipe)
            self._begin()


def _in_group(group: int | None) -> dict[str, Any]:
    """Return the arguments that start a program in a process group; 0 is one of its own."""
    if group is None:
        return {}
    if sys.version_info >= (3, 11):
        return {"process_group": group}
    return {"preexec_fn": partial(os.setpgid, 0, group)}


class PrivateFolder(Children):
    """A folder that is removed at the end, with programs whose temporary files are in it."""

    def __init__(self) -> None:
        import tempfile

        try:
            self._folder = self.path = Path(tempfile.mkdtemp(prefix="dwarfgpu-"))
            Children.__init__(self)
        except OSError as error:
            message = f"a folder for temporary files cannot be made: {error.strerror or error}"
            raise UsageError(message, kind="unwritable", hint="TMPDIR names a folder that can be written") from None


@cache
def folder_of_run() -> Path:
    """Return a folder that is removed when this process ends."""
    folder = PrivateFolder()
    atexit.register(folder.end)
    return folder.path


def run_shell(line: str, text: bytes | None, *, has_terminal: bool) -> CompletedProcess[bytes]:
    """Run a line of the shell that the user has typed; what it leaves in the background goes on."""
    import subprocess

    if has_terminal:  # it needs the group that the terminal is for
        with signals_raise():
            return subprocess.run(line, shell=True, check=False, env=os.environ)  # noqa: S602 (that is what the command is for)
    with Children() as children:
        done = children.run(line, text=text, is_merged=True)
        children.release()
        return done


def start_program(
    words: Sequence[str], variables: Mapping[str, str], *, is_apart: bool = False, output: int | None = None
) -> Popen[bytes]:
    """Start a program with the standard streams of this process. It ends when this process does.

    One that is apart has no input, and ^C is not for it. ``output`` is a file for what it writes.
    """
    import subprocess

    def begin() -> None:
        if sys.platform == "linux":
            end_with(parent)
        if is_apart:
            os.setpgid(0, 0)

    parent = os.getpid()
    try:
        return subprocess.Popen(  # noqa: S603 (what the user has named)
            words,
            stdin=subprocess.DEVNULL if is_apart else None,
            stdout=output,
            stderr=output,
            env={**os.environ, **variables},
            preexec_fn=begin,  # noqa: PLW1509 (there are no threads yet)
        )
    except OSError as error:
        raise UsageError(f"{words[0]} cannot be started: {error.strerror or error}", kind="no_program") from None


def end_program(process: Popen[bytes]) -> None:
    """Ask a program to end, and kill it if it does not."""
    import subprocess

    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


def end_with(parent: int) -> None:
    """Have SIGKILL end this process when the process that has forked it ends, where the system can do that."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:  # it has ended before
            os._exit(128 + signal.SIGKILL)
