"""The command line in this process: many questions for the price of one start.

What only a process of its own shows, such as closed pipes and what is imported, is tested with one.
"""

import contextlib
import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from dwarfgpu import progress, regular_files
from dwarfgpu.cli import main
from tests.builders.folders import ROOT


def run(
    *words: str,
    stdin: bytes = b"",
    env: dict[str, str] | None = None,
    folder: Path | None = None,
    program: Callable[[list[str]], int] = main,
    merged: bool = False,
) -> subprocess.CompletedProcess[str]:
    """What ``dwarfgpu WORDS...`` prints when it is started in a folder, and with which status it ends.

    With ``merged``, both streams go into the same pipe, and standard error is written at once.
    """
    out = io.BytesIO()
    err = out if merged else io.BytesIO()
    with in_a_folder(folder or ROOT, env or {}), _streams(stdin, out, err):
        try:
            status = program([str(word) for word in words])
        except SystemExit as stop:
            status = int(stop.code or 0)
    return subprocess.CompletedProcess(words, status, out.getvalue().decode(), err.getvalue().decode())


def outcome(*words: Any, **started: Any) -> tuple[int, str, str]:
    """The same as its status, and what it writes to both streams."""
    done = run(*words, **started)
    return done.returncode, done.stdout, done.stderr


def document(*words: str, status: int = 0) -> Any:
    """What the same says in JSON."""
    done = run(*words, "--json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def documents(*words: str, status: int = 0) -> list[Any]:
    """The same, a document a line."""
    done = run(*words, "--jsonl")
    assert done.returncode == status, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def run_at_terminal(*words: str, columns: int, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """What the same prints on a pseudo-terminal, standard error on another one; with colours, and lines as in files."""
    screens = [PseudoTerminal(columns) for _ in range(2)]
    with (
        in_a_folder(ROOT, {"TERM": "xterm-256color", **(env or {})}),
        mock.patch("sys.stdin", io.StringIO()),
        contextlib.redirect_stdout(screens[0].stream),
        contextlib.redirect_stderr(screens[1].stream),
    ):
        try:
            status = main([str(word) for word in words])
        except SystemExit as stop:
            status = int(stop.code or 0)
        progress.show_on(None)
    return subprocess.CompletedProcess(words, status, screens[0].close(), screens[1].close())


class PseudoTerminal:
    """A pseudo-terminal, and what is written to it.

    An own mark ends the reading: where the last writer has closed the terminal, the reader may be told that it is gone
    before it has got the last line.
    """

    END = b"\0"

    def __init__(self, columns: int = 0, lines: int = 24) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.stream = os.fdopen(slave, "w", encoding="utf-8")
        self._written = b""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while not self._written.endswith(self.END):
            self._written += os.read(self._master, 1 << 16)

    def close(self) -> str:
        self.stream.flush()
        os.write(self.stream.fileno(), self.END)
        self._reader.join()
        self.stream.close()
        os.close(self._master)
        return self._written.removesuffix(self.END).decode().replace("\r\n", "\n")


def in_python(code: str, *words: str) -> str:
    """What a process of its own prints that executes some code in the checkout."""
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout


@contextlib.contextmanager
def in_a_folder(folder: Path, env: dict[str, str]) -> Iterator[None]:
    regular_files.forget_changed_mappings()  # a process that starts has no file open
    before = Path.cwd()
    plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    os.chdir(folder)
    try:
        with mock.patch.dict(os.environ, {**plain, **env}, clear=True):
            yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _streams(stdin: bytes, out: io.BytesIO, err: io.BytesIO) -> Iterator[None]:
    """Standard streams as those of a process whose output goes into pipes."""
    read = io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
    written = [io.TextIOWrapper(out, "utf-8"), io.TextIOWrapper(err, "utf-8", write_through=out is err)]
    with mock.patch("sys.stdin", read), contextlib.redirect_stdout(written[0]), contextlib.redirect_stderr(written[1]):
        yield
    for each in written:
        each.flush()
        each.detach()
