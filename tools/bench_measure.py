"""How the benchmarks measure and print: best of several rounds, in turns with what it is compared with.

Times are those of the processor, of this process and of those it starts: others that compute beside it lengthen them
less.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BARE = (sys.executable, "-c", "pass")
DWARFGPU = (sys.executable, "-m", "dwarfgpu")


def processor_seconds() -> float:
    """Return the seconds that this process has computed, and the processes it has started that have ended."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def best(function: Callable[[], object], rounds: int = 7, seconds: float = 0.05) -> float:
    """Return the shortest time of one call, in seconds."""
    function()  # which warms it
    started = processor_seconds()
    function()
    count = max(1, int(seconds / max(processor_seconds() - started, 1e-7)))
    times = []
    for _ in range(rounds):
        started = processor_seconds()
        for _ in range(count):
            function()
        times.append((processor_seconds() - started) / count)
    return min(times)


def in_turns(functions: list[Callable[[], object]], rounds: int = 5) -> list[float]:
    """Return the shortest time of each of some functions, measured in turns so that noise meets all of them."""
    times = [[best(function, rounds=1) for function in functions] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def compile_all() -> None:
    """Write the bytecode of the package, as an installation has it: start-up times depend on it."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", "dwarfgpu"], cwd=ROOT, check=True)


def process(*words: str, status: int = 0) -> Callable[[], object]:
    """Return what runs a process, from its start to its end; another exit status than the expected one is an error."""

    def run() -> None:
        done = subprocess.run(
            words, cwd=ROOT, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        if done.returncode != status:
            raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")

    return run


def peak_memory() -> int:
    """Return the most memory that this process has had so far, in bytes."""
    # where it is, because what getrusage tells is at least the memory of the process that started this one
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text("ascii").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


# --- Printing -----------------------------------------------------------------------------------------------------

_WANTED = re.compile(r"(at most|below|at least) ([\d.]+)")
missed: list[str] = []
"""The figures that miss what is wanted."""


def misses(ratio: float, limit: str) -> bool:
    """Return whether a figure misses what is wanted: ``at most 3``, ``below 30`` or ``at least 12``."""
    wanted = _WANTED.match(limit)
    if wanted is None:
        return False
    number = float(wanted[2])
    return {"at most": ratio > number, "below": ratio >= number, "at least": ratio < number}[wanted[1]]


def show_heading() -> None:
    """Print what the columns are."""
    print(f"{'figure':58} {'ratio':>8}          {'wanted':14}")


def show(name: str, ratio: float, limit: str, detail: str, *, is_met: bool = False) -> None:
    """Print a figure, and mark it if it misses what is wanted, unless that is met in another way."""
    is_missed = misses(ratio, limit) and not is_met
    if is_missed:
        missed.append(name)
    print(f"{name:58} {ratio:8.2f}  {'MISSED' if is_missed else '':6} {limit:14} {detail}", flush=True)


def not_measured(name: str, limit: str, reason: str) -> None:
    """Print why there is no figure."""
    print(f"{name:58} {'-':>8}  {'':6} {limit:14} not measured: {reason}", flush=True)


def show_missed() -> None:
    """Print how many figures miss what is wanted, and which."""
    count = len(missed)
    print(f"\n{count or 'no'} figure{'' if count == 1 else 's'} missed what is wanted{':' if count else ''}")
    for name in missed:
        print(f"  {name}")
