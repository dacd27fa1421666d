"""The figures of kernels that run: against the same work written in numpy, and what a breakpoint costs."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from bench_input import cache
from bench_measure import best, not_measured, show

SOURCE = Path(__file__).with_name("bench_kernels.cl")
WAVES = 1024
SIDE = 256
"""Of the matrices: as many elements as 1,024 waves have lanes."""
ROUNDS = 7


def run() -> None:
    """Print the figures."""
    import numpy as np

    clang = shutil.which("clang-22")
    if clang is None:
        not_measured("saxpy of 1,024 waves / numpy", "at most 6", "there is no clang-22")
        return
    path = str(cache() / "running.gfx90a.co")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    target = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-O2", "-g", "-w", "-nogpulib"]
    subprocess.run([clang, "-x", "cl", "-cl-std=CL2.0", *target, str(SOURCE), "-o", path], check=True)
    count = 64 * WAVES
    random = np.random.default_rng(1)
    x, y = random.random(count, np.float32), random.random(count, np.float32)
    numbers = random.integers(1, 3000, count).astype(np.int32)
    left, right = (random.random((SIDE, SIDE), np.float32) for _ in range(2))

    measured = _Kernel(path, "saxpy", (count,), (256,), [y, x, 2.5, count])
    peer = best(lambda: 2.5 * x + y)
    seconds = measured.seconds()
    assert np.allclose(measured.buffer("y"), np.float32(2.5) * x + y)
    show("saxpy of 1,024 waves / numpy", seconds / peer, "at most 6", measured.text)

    zeros = np.zeros((SIDE, SIDE), np.float32)
    measured = _Kernel(path, "product", (SIDE, SIDE), (16, 16), [zeros, left, right, SIDE])
    seconds = measured.seconds()
    assert np.allclose(measured.buffer("c"), left @ right, rtol=1e-3)
    show("matrix product in tiles / numpy", seconds / best(lambda: _product(left, right)), "at most 10", measured.text)

    measured = _Kernel(path, "steps_", (count,), (256,), [np.zeros(count, np.int32), numbers])
    seconds = measured.seconds()
    assert (measured.buffer("out") == _steps(numbers)).all()
    show("divergent loop / numpy", seconds / best(lambda: _steps(numbers)), "at most 25", measured.text)

    other = _Kernel(path, "steps_", (count,), (256,), [np.zeros(count, np.int32), numbers])
    other.break_elsewhere()
    pairs = [(measured.once(), other.once()) for _ in range(ROUNDS)]
    plain, stopped = (min(column) for column in zip(*pairs, strict=True))
    show("a breakpoint that is not hit / none", stopped / plain, "at most 1.03", f"{stopped * 1e3:.1f} ms")

    alone = _Kernel(path, "steps_", (64,), (64,), [np.zeros(64, np.int32), numbers[:64]])
    seconds = alone.seconds()
    rate = alone.executed / seconds
    show("250,000 instructions of one wave a second / these", 250_000 / rate, "at most 1", alone.text)
    _debugging(path)


def _debugging(path: str) -> None:
    """Print what a debugger costs: checkpoints with a breakpoint that is not hit, and the way back by a line."""
    from dwarfgpu.program.launch.launch import launch, machine_for
    from dwarfgpu.program.running.debugging import Debugging

    def debugging(rounds: int) -> Debugging:
        machine = machine_for(path, "rounds")
        args = {"out": "zeros(64)", "n": rounds}
        return Debugging(launch(machine, path, "rounds", grid=64, work_group=64, args=args))

    def seconds_of(run: Any) -> float:
        begun = time.process_time()
        run()
        return time.process_time() - begun

    plain, stopped = [], []
    other = debugging(20_000)
    for _ in range(ROUNDS):
        free, other = debugging(20_000), debugging(20_000)
        for measured in (free, other):
            measured.machine.run(limit=1000)  # which compiles
        plain.append(seconds_of(free.machine.run))
        entry = other.running.launched.plan.start.entry
        other.break_at(f"*{entry:#x}")
        stopped.append(seconds_of(other.go_on))
    text = f"{other.device.executed:,} instructions, {min(stopped) * 1e3:.0f} ms"
    show("a debugger with a breakpoint that is not hit / none", min(stopped) / min(plain), "at most 1.03", text)

    measured = debugging(200_000)
    measured.go_on(limit=1_000_000)
    measured.step_line(0)
    seconds = [seconds_of(lambda: measured.reverse_line(0)) for _ in range(ROUNDS)]
    text = f"{max(seconds) * 1e3:.0f} ms, {len(measured.history.checkpoints)} checkpoints"
    show("reverse-step after 1,000,000 instructions / a second", max(seconds), "at most 1", text)


def _product(left: Any, right: Any) -> Any:
    """Multiply matrices as the kernel does, one step of the inner loop after the other."""
    import numpy as np

    total = np.zeros((SIDE, SIDE), np.float32)
    for k in range(SIDE):
        total += left[:, k, None] * right[k]
    return total


def _steps(numbers: Any) -> Any:
    """Count the steps of each number to 1."""
    import numpy as np

    number, count = numbers.copy(), np.zeros(len(numbers), np.int32)
    active = number != 1
    while active.any():
        stepped = np.where(number & 1, 3 * number + 1, number >> 1)
        number = np.where(active, stepped, number)
        count += active
        active = number != 1
    return count


class _Kernel:
    """A kernel that is launched again and again on one machine; only its execution is measured."""

    def __init__(self, path: str, kernel: str, grid: tuple[int, ...], group: tuple[int, ...], args: list[Any]) -> None:
        from dwarfgpu.program.launch.launch import launch, machine_for

        self._machine = machine_for(path, kernel)

        def again() -> Any:
            return launch(self._machine, path, kernel, grid=grid, work_group=group, args=args)

        self._launch = again
        self._launched: Any = None
        self._point: int | None = None
        self.executed = 0
        self.text = ""

    def break_elsewhere(self) -> None:
        """Set a breakpoint that no wave reaches."""
        self._launched = self._launch()
        self._machine.break_at(self._launched.plan.start.entry - 4)
        self._machine.run()

    def once(self) -> float:
        """Run once; return the seconds it takes."""
        self._launched = self._launch()
        device = self._machine.device
        begun = time.perf_counter()
        device.run()
        seconds = time.perf_counter() - begun
        assert not device.stopped
        self.executed = device.executed
        return seconds

    def seconds(self) -> float:
        """Return the shortest time of several rounds; the first one compiles."""
        self.once()
        seconds = min(self.once() for _ in range(ROUNDS))
        self.text = f"{seconds * 1e3:.2f} ms, {self.executed / seconds:,.0f} instructions a second"
        return seconds

    def buffer(self, name: str) -> Any:
        """Return an argument after the last round."""
        return self._launched.buffers[name]
