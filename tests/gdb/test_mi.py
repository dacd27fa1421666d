"""Clients of GDB/MI, such as editors: with the frame filter each command has an answer, and the same variables."""

import os
import re
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

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
        [*words, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=environment(), cwd=ROOT)  # fmt: skip
    try:
        yield MiClient(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


UNUSED = """
#include <stdlib.h>
struct pair { long low, high; };
volatile long sink;
__attribute__((noinline)) static long f(int used, int unused, struct pair gone)
{
  sink += used;
  sink += 2;
  return sink + used;
}
static inline __attribute__((always_inline)) long inlined(int given, const int fixed)
{ long twice = given * 2L; sink += twice; sink += fixed; return sink; }
int main(int argc, char **argv)
{ struct pair pair = {argc, argc}; long n = f(argc, rand(), pair); n += f(argc + 2, rand(), pair);
  n += inlined(argc, 3); return (int)n & 1; }
"""
LISTS = (
    *(f"-stack-list-arguments --{values}" for values in ("all-values", "simple-values", "no-values")),
    *(f"-stack-list-locals --{values}" for values in ("all-values", "simple-values", "no-values")),
    *(f"-stack-list-variables --{values}" for values in ("all-values", "simple-values", "no-values")),
    "-stack-list-frames",
    "-stack-info-frame")  # fmt: skip


@pytest.fixture(scope="module", params=["clang-22", "gcc"])
def optimized(request, require_tool, tmp_path_factory) -> Path:
    """A program with parameters that are in no place: clang gives them no location at all."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "unused.c").write_text(UNUSED)
    words = [require_tool(request.param), "-g", "-O2", "-o", str(folder / "unused"), str(folder / "unused.c")]
    subprocess.run(words, check=True)
    return folder / "unused"


def names_of(record: str) -> list[str]:
    """Return the names of variables in a record; what they were at the call is not counted."""
    return [name for name in re.findall(r'{name="([^"]*)"', record) if not name.endswith("@entry")]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["unreadable", "all"])
def test_optimized_out_parameters_do_not_hang_a_client(require_tool, optimized, mode):
    with mi_client(require_tool, optimized) as client:
        client.ask("-break-insert f")
        client.ask("-break-insert unused.c:12")
        client.ask(f'-interpreter-exec console "set dwarfgpu frame-filter {mode}"')
        assert client.ask("-exec-run").startswith("*stopped")
        for where in ("f", "inlined"):
            while f'func="{where}"' not in client.ask("-stack-info-frame"):
                assert client.ask("-exec-continue").startswith('*stopped,reason="breakpoint-hit"')
            alone = {command: client.ask(command) for command in LISTS}
            if where == "f":
                client.ask("-enable-frame-filters")
            filtered = {command: client.ask(command) for command in LISTS}
            if where == "f":
                shown = filtered["-stack-list-arguments --all-values"]
                assert '{name="unused",value="<optimized out>"}' in shown
                assert '{name="gone",value="<optimized out>"}' in shown
            for command, record in filtered.items():
                assert record.startswith("^done"), (command, record)
                assert not ({*names_of(alone[command])} - {*names_of(record)}), (command, record)


@pytest.mark.slow
def test_variable_objects_work_beside_the_filter(require_tool, optimized):
    with mi_client(require_tool, optimized) as client:
        for command in ("-break-insert f", "-enable-frame-filters"):
            assert client.ask(command).startswith("^done")
        client.ask("-exec-run")
        for name in ("used", "unused", "sink"):
            assert client.ask(f"-var-create {name} * {name}").startswith(f'^done,name="{name}"')
        assert client.ask('-var-create asked @ "$dwarfgpu(\\"used\\")"').startswith('^done,name="asked"')
        assert client.ask("-var-update --all-values *") == "^done,changelist=[]"
        client.ask("-exec-next")
        assert '{name="sink",value="1"' in client.ask("-var-update --all-values *")
        assert client.ask("-var-evaluate-expression unused") == '^done,value="<optimized out>"'
        assert client.ask('-data-evaluate-expression "$dwarfgpu(\\"sink\\") + 1"') == '^done,value="2"'
        for name in ("used", "unused", "sink", "asked"):
            assert client.ask(f"-var-delete {name}").startswith("^done")


@pytest.mark.slow
def test_what_gdb_cannot_read_is_listed(require_tool, runnable_host):
    command = "-stack-list-variables --thread 1 --frame 0"
    with mi_client(require_tool, runnable_host) as client:
        client.ask("-break-insert stop_here")
        client.ask("-exec-run")
        assert client.ask("-enable-frame-filters") == "^done"
        with_filter = client.ask(f"{command} --all-values")
        without = client.ask(f"{command} --no-frame-filters --all-values")
    assert '{name="counter",value="5"}' in with_filter
    assert '{name="selected",value="{-1, 2, -3, 4}"}' in with_filter
    assert 'name="counter",value="<error reading variable' in without
