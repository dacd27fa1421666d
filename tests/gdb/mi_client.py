"""A client of GDB/MI, as an editor is one: it sends a command and waits for its result, but not for ever."""

import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.gdb.running import ENTRY, ROOT, environment

PATIENCE = 60.0
"""The seconds after which GDB counts as hung."""


class MiClient:
    """A GDB that runs with ``--interpreter=mi3``."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._pending = b""

    def ask(self, command: str) -> str:
        """Send a command and return its result record; of one that lets the program run, the stop that follows."""
        assert self.process.stdin is not None
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        is_of_running = command.startswith("-exec-")
        limit = time.monotonic() + PATIENCE
        while True:
            line = self._line(command, limit)
            if line.startswith(("*stopped" if is_of_running else "^", "^error")):
                return line

    def _line(self, command: str, limit: float) -> str:
        assert self.process.stdout is not None
        while b"\n" not in self._pending:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, limit - time.monotonic()))
            assert ready, f"GDB does not answer {command}"
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            assert part, f"GDB ended at {command}: {self._pending!r}"
            self._pending += part
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode("utf-8", "replace")


@contextmanager
def mi_client(tools: Any, program: Path, *, load: bool = True) -> Iterator[MiClient]:
    """Start GDB for a client, with dwarfgpu as a user loads it."""
    words = [tools("gdb"), "-nx", "-q", "--interpreter=mi3", "-iex", "set debuginfod enabled off"]
    words += ["-x", str(ENTRY)] if load else []
    process = subprocess.Popen(
        [*words, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(),
        cwd=ROOT,
    )
    try:
        yield MiClient(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
