"""A row of the benchmarks, how it is measured, and how it is printed."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DWARFGPU = (sys.executable, "-m", "dwarfgpu")
SHORTEST = 0.02
"""A call that takes less is repeated for so many seconds."""

Time = Callable[[], float]
"""Measures once, and returns seconds."""


class NotHere(Exception):
    """A compiler or a tool of some rows is not installed."""


class Row(NamedTuple):
    """One figure: how long a user waits, as a multiple of a peer."""

    waits: str
    """What a user waits for, with its input."""
    ours: Time
    against: str
    """The peer."""
    peer: Time
    limit: float
    """The largest ratio that is accepted."""
    rounds: int = 5


def processor_seconds() -> float:
    """Return the processor time of this process, and of those it has started that have ended."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def call(function: Callable[[], object], times: int = 1) -> Time:
    """Return what measures some calls of a function, on average over as many as fit into a moment."""

    def measured() -> float:
        started, count = processor_seconds(), 0
        while (seconds := processor_seconds() - started) < SHORTEST or not count:
            function()
            count += 1
        return seconds / count * times

    return measured


def command(*words: str, status: int = 0, given: bytes = b"", expected: bytes = b"") -> Time:
    """Return what measures a process; another status, or an output without the expected text, is an error."""

    def run() -> None:
        done = subprocess.run(words, cwd=ROOT, check=False, input=given, capture_output=True)
        if done.returncode != status or expected not in done.stdout:
            raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.decode()[-500:]}")

    return call(run)


def dwarfgpu(*words: str, status: int = 0) -> Time:
    """Return what measures a command of dwarfgpu."""
    return command(*DWARFGPU, *words, status=status)


BARE = ("python3 -c pass", command(sys.executable, "-c", "pass"))
"""The peer of small questions: the start of Python."""


def fixed(seconds: float) -> tuple[str, Time]:
    """Return a peer that always takes so long: what is still comfortable."""
    return f"{seconds * 1e3:g} ms", lambda: seconds


def tool(*names: str) -> str:
    """Return the path of the first of some programs that is installed."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise NotHere(f"{' or '.join(names)} is not installed")
    return found


def compile_all() -> None:
    """Write the bytecode of the package, as an installation has it: start-up times depend on it."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", "dwarfgpu"], cwd=ROOT, check=True)


def show(group: str, row: Row) -> bool:
    """Measure a row in turns with its peer, and print it; return whether it misses its limit."""
    row.ours(), row.peer()  # which warms both
    times = [(row.ours(), row.peer()) for _ in range(row.rounds)]
    ours, peer = (min(column) for column in zip(*times, strict=True))
    ratio = ours / peer
    is_missed = bool(ratio > row.limit)
    mark = "MISSED" if is_missed else ""
    figure = f"{ours * 1e3:10,.2f} ms {ratio:7.2f} of {row.against}, at most {row.limit:g}"
    print(f"{group:12} {row.waits:62} {figure} {mark}".rstrip(), flush=True)
    return is_missed
