"""How the benchmarks measure and print: best of several rounds, in turns with what it is compared with."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BARE = (sys.executable, "-c", "pass")
DWARFGPU = (sys.executable, "-m", "dwarfgpu")


def best(function: Callable[[], object], rounds: int = 7, seconds: float = 0.05) -> float:
    """Return the shortest time of one call, in seconds."""
    function()
    started = time.perf_counter()
    function()
    count = max(1, int(seconds / max(time.perf_counter() - started, 1e-7)))
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(count):
            function()
        times.append((time.perf_counter() - started) / count)
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


def show_heading() -> None:
    """Print what the columns are."""
    print(f"{'figure':58} {'ratio':>8}   {'wanted':14}")


def show(name: str, ratio: float, limit: str, detail: str) -> None:
    """Print a figure."""
    print(f"{name:58} {ratio:8.2f}   {limit:14} {detail}", flush=True)


def not_measured(name: str, limit: str, reason: str) -> None:
    """Print why there is no figure."""
    print(f"{name:58} {'-':>8}   {limit:14} not measured: {reason}", flush=True)
