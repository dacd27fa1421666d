"""The figures of `run --check`: against the same run by the interpreter without a check, in time and in memory.

Each run has a machine of its own, so that the text of the checks is written, too.
"""

from __future__ import annotations

import shutil
import subprocess
import time
import tracemalloc
from array import array
from typing import Any

from bench_input import cache
from bench_measure import not_measured, show
from bench_running import SOURCE

PROCESSORS = "gfx90a", "gfx1100"
ROUNDS = 3
KERNELS = {
    "saxpy": (64, 64, ["ones(64, f4)", "ones(64, f4)", 2.5, 64]),
    "product": ((64, 64), (16, 16), ["zeros(4096, f4)", "ones(4096, f4)", "ones(4096, f4)", 64]),
    "steps_": (4096, 256, ["zeros(4096)", array("i", (number % 700 + 1 for number in range(4096)))]),
    "rounds": (64, 64, ["zeros(64)", 300]),
}
"""The grid, the work-group and the arguments."""
CHECKS = (("bounds,align,barrier", "at most 3"), ("all", "at most 6"))


def checks() -> None:
    """Print the worst figure of the processors, by kernel and level of optimization."""
    clang = shutil.which("clang-22")
    if clang is None:
        not_measured("run --check / run", "at most 6", "there is no clang-22")
        return
    for level in ("-O0", "-O2"):
        paths = [_built(clang, processor, level) for processor in PROCESSORS]
        for kernel in KERNELS:
            times = [_in_turns(path, kernel) for path in paths]
            for check, limit in CHECKS:
                ratios = {each[check] / each[None]: each[None] for each in times}
                text = f"{ratios[max(ratios)] * 1e3:.1f} ms without checks"
                show(f"{kernel} at {level}, --check={check} / interpreter", max(ratios), limit, text)
            memory = max(_memory(path, kernel, "all") / _memory(path, kernel, None) for path in paths)
            show(f"{kernel} at {level}, memory with all checks / without", memory, "at most 3", "")


def _built(clang: str, processor: str, level: str) -> str:
    path = str(cache() / f"checks{level}.{processor}.co")
    words = [clang, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-g", "-w"]
    subprocess.run([*words, "-nogpulib", level, str(SOURCE), "-o", path], check=True)
    return path


def _machine(path: str, kernel: str, check: str | None) -> Any:
    from dwarfgpu.execution.launch.launch import launch, machine_for

    machine = machine_for(path, kernel)
    machine.jit = "off"
    grid, group, args = KERNELS[kernel]
    launch(machine, path, kernel, grid=grid, work_group=group, args=args, check=check)  # type: ignore[arg-type]
    return machine


def _in_turns(path: str, kernel: str) -> dict[str | None, float]:
    """Return the shortest times without a check, and with some."""
    times: dict[str | None, list[float]] = {None: [], **{check: [] for check, _limit in CHECKS}}
    for _ in range(ROUNDS):
        for check, every in times.items():
            machine = _machine(path, kernel, check)
            begun = time.process_time()
            machine.run()
            every.append(time.process_time() - begun)
    return {check: min(every) for check, every in times.items()}


def _memory(path: str, kernel: str, check: str | None) -> int:
    """Return the most bytes that a machine has had in its run."""
    tracemalloc.start()
    _machine(path, kernel, check).run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
