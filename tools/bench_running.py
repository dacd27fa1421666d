"""The figures of kernels that run: against the same work written in numpy, and what a breakpoint costs.

What is written in numpy gives the same results, bit for bit. By default the compiler makes one fused operation of a
product and a sum of singles, so numpy multiplies and adds doubles, which rounds once too. The same kernels with
-ffp-contract=off multiply and add, each with a rounding, and so does numpy. Both sides are measured in turns in one
process, each for some milliseconds at a time. A kernel needs a launch before each execution, which is measured by
itself; numpy repeats its work without one, so it finds its operands in the caches.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench_input import cache
from bench_measure import best, in_turns, not_measured, show

SOURCE = Path(__file__).with_name("bench_kernels.cl")
WAVES = 1024
SIDE = 256
"""Of the matrices: as many elements as 1,024 waves have lanes."""
TILED = 176
"""The side of the matrices that are multiplied by the host, too."""
HOST = """
void saxpy(float *y, const float *x, float a, int n) { for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i]; }
void product(float *c, const float *a, const float *b, int n) {
  for (int y = 0; y < n; y++) for (int x = 0; x < n; x++) {
    float s = 0;
    for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s; } }
void steps_(int *out, const int *in, int n) {
  for (int i = 0; i < n; i++) {
    int number = in[i], count = 0;
    while (number != 1) { number = number & 1 ? 3 * number + 1 : number / 2; count++; }
    out[i] = count; } }
"""
"""Kernels as functions of the host, for one thread."""
TURN = 0.005
"""How many seconds each side of a comparison is executed at a time."""
WARM = 110
"""The launches before a kernel is measured: one without a loop is compiled at the hundredth."""
WARM_SECONDS = 5
"""How long a kernel is launched at most until it is compiled and its code is optimized."""
ROUNDS = 7
SHORT_ROUNDS = 40
"""Of kernels that take less than a millisecond."""


def run() -> None:  # noqa: PLR0915 (one figure after the other)
    """Print the figures."""
    import numpy as np

    clang = shutil.which("clang-22")
    if clang is None:
        not_measured("saxpy of 1,024 waves / numpy", "at most 30", "there is no clang-22")
        return
    path, parted, plain_code = (str(cache() / f"running{part}.gfx90a.co") for part in ("", ".parted", ".O0"))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    target = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-g", "-w", "-nogpulib"]
    apart = "-ffp-contract=off"
    for name, options in ((path, ["-O2"]), (parted, ["-O2", apart]), (plain_code, ["-O0", apart])):
        words = [clang, "-x", "cl", "-cl-std=CL2.0", *target, *options, str(SOURCE), "-o", name]
        subprocess.run(words, check=True)
    count = 64 * WAVES
    random = np.random.default_rng(1)
    x, y, many_x, many_y = (random.random(size, np.float32) for size in (count, count, 4 * count, 4 * count))
    numbers = random.integers(1, 3000, count).astype(np.int32)
    left, right = (random.random((SIDE, SIDE), np.float32) for _ in range(2))

    for name, text, limit, left_operand, right_operand in (
        (path, "saxpy of 1,024 waves, fused / numpy rounding once", "at most 30", x, y),
        (parted, "saxpy of 1,024 waves, not fused / numpy", "at most 30", x, y),
        (parted, "saxpy of 4,096 waves / numpy", "at most 40", many_x, many_y),
        (parted, "saxpy of 256 waves / numpy", "at most 30", x[: 64 * 256], y[: 64 * 256]),
        (parted, "saxpy of 16 waves / numpy", "at most 40", x[: 64 * 16], y[: 64 * 16]),
        (parted, "saxpy of one wave / numpy", "at most 40", x[:64], y[:64]),
        (plain_code, "saxpy of 1,024 waves at -O0 / numpy", "", x, y),
    ):
        size = len(left_operand)
        measured = _Kernel(name, "saxpy", (size,), (min(size, 256),), [right_operand, left_operand, 2.5, size])
        work = _saxpy if name == path else _saxpy_of_singles
        peer: Callable[[], Any] = partial(work, 2.5, left_operand, right_operand)
        seconds, peer_seconds = measured.in_turns(peer, rounds=SHORT_ROUNDS)
        assert (measured.buffer("y") == peer()).all()
        show(text, seconds / peer_seconds, limit, measured.text)
        if size == count and name == parted:
            copies = partial(_copied, left_operand, right_operand)
            copying = best(copies)
            detail = f"{measured.launching * 1e3:.2f} ms against {copying * 1e3:.3f} ms"
            ratio = measured.launching / copying
            show("a launch of 1,024 waves alone / numpy's copy of the buffers", ratio, "", detail)

    zeros = np.zeros((SIDE, SIDE), np.float32)
    for name, text, peer in (
        (path, "matrix product in tiles, fused / numpy rounding once", lambda: _product(left, right)),
        (parted, "matrix product in tiles, not fused / numpy", lambda: _product_of_singles(left, right)),
    ):
        measured = _Kernel(name, "product", (SIDE, SIDE), (16, 16), [zeros, left, right, SIDE])
        seconds, peer_seconds = measured.in_turns(peer)
        assert (measured.buffer("c") == peer()).all()
        show(text, seconds / peer_seconds, "at most 10", measured.text)

    measured = _Kernel(path, "steps_", (count,), (256,), [np.zeros(count, np.int32), numbers])
    seconds, peer_seconds = measured.in_turns(lambda: _steps(numbers))
    assert (measured.buffer("out") == _steps(numbers)).all()
    show("divergent loop / numpy", seconds / peer_seconds, "at most 25", measured.text)

    other = _Kernel(path, "steps_", (count,), (256,), [np.zeros(count, np.int32), numbers])
    other.break_elsewhere()
    pairs = [(measured.once(), other.once()) for _ in range(ROUNDS)]
    plain, stopped = (min(column) for column in zip(*pairs, strict=True))
    show("a breakpoint that is not hit / none", stopped / plain, "at most 1.03", f"{stopped * 1e3:.1f} ms")

    alone = _Kernel(path, "steps_", (64,), (64,), [np.zeros(64, np.int32), numbers[:64]])
    seconds = alone.seconds()
    rate = alone.executed / seconds
    show("250,000 instructions of one wave a second / these", 250_000 / rate, "at most 1", alone.text)
    _compiled(path, plain_code)
    _against_host(clang, parted, plain_code)
    _debugging(path)
    _stepping(plain_code)


def _compiled(optimized: str, plain: str) -> None:
    """Print how fast one wave is in a loop whose blocks have been compiled."""
    import numpy as np

    from dwarfgpu.execution.compiled.native import is_available

    for path, level, rounds, wanted in ((optimized, "-O2", 200_000, 20), (plain, "-O0", 40_000, 5)):
        text = f"{wanted} million instructions of one wave at {level} a second / these"
        if not is_available():
            not_measured(text, "at most 1", "there is no llvmlite")
            continue
        measured = _Kernel(path, "rounds", (64,), (64,), [np.zeros(64, np.int32), rounds])
        seconds = measured.seconds()
        show(text, wanted * 1e6 * seconds / measured.executed, "at most 1", measured.text)


def _against_host(clang: str, optimized: str, plain: str) -> None:
    """Print how kernels compare with one thread of the host, whose code was not optimized."""
    import ctypes

    import numpy as np

    library = cache() / "running.host.so"
    words = [clang, "-x", "c", "-", "-O0", "-w", "-ffp-contract=off", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run(words, input=HOST, text=True, check=True)
    host = ctypes.CDLL(str(library))
    random = np.random.default_rng(2)
    count, numbers = 64 * 256, random.integers(1, 3000, 64 * 16).astype(np.int32)
    x, y = (random.random(count, np.float32) for _ in range(2))
    left, right = (random.random((TILED, TILED), np.float32) for _ in range(2))
    factor, tiles = ctypes.c_float(2.5), np.zeros_like(left)
    for path, kernel, text, limit, grid, group, buffers, rest in (
        (plain, "saxpy", "saxpy of 256 waves at -O0", "at most 10", (count,), (256,), (y, x), (factor, count)),
        (optimized, "product", "matrix product 176x176 at -O2", "at most 0.3", (TILED, TILED), (16, 16),
         (tiles, left, right), (TILED,)),
        (plain, "steps_", "divergent loop of 16 waves at -O0", "at most 100", (len(numbers),), (64,),
         (np.zeros_like(numbers), numbers), (len(numbers),)),
    ):  # fmt: skip
        args = [*buffers, *(getattr(number, "value", number) for number in rest)]
        measured = _Kernel(path, kernel, grid, group, args[:2] if kernel == "steps_" else args)
        own = [buffer.copy() for buffer in buffers]
        call = partial(getattr(host, kernel), *(buffer.ctypes.data_as(ctypes.c_void_p) for buffer in own), *rest)
        call()
        results = own[0].copy()
        seconds, peer_seconds = measured.in_turns(call)
        assert (measured.buffer("c" if kernel == "product" else "y" if kernel == "saxpy" else "out") == results).all()
        show(f"{text} / one thread of the host at -O0", seconds / peer_seconds, limit, measured.text)


def _debugging(path: str) -> None:
    """Print what a debugger costs: checkpoints with a breakpoint that is not hit, and the way back by a line."""
    from dwarfgpu.execution.compiled.native import is_available
    from dwarfgpu.execution.control.debugging import Debugging
    from dwarfgpu.execution.launch.launch import launch, machine_for

    def debugging(rounds: int) -> Debugging:
        machine = machine_for(path, "rounds")
        args = {"out": "zeros(64)", "n": rounds}
        return Debugging(launch(machine, path, "rounds", grid=64, work_group=64, args=args))

    def seconds_of(run: Any) -> float:
        begun = time.process_time()
        run()
        return time.process_time() - begun

    plain, stopped = [], []
    rounds = 4_000_000 if is_available() else 20_000
    other = debugging(rounds)
    for _ in range(ROUNDS):
        free, other = debugging(rounds), debugging(rounds)
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


def _stepping(path: str) -> None:
    """Print what a condition, a trace of lines and calls cost in code that was not optimized."""
    from dwarfgpu.execution.control.debugging import Debugging
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.execution.control.tracing import StepTrace
    from dwarfgpu.execution.launch.launch import Launched, launch, machine_for
    from dwarfgpu.render.running import TraceWriter
    from dwarfgpu.render.values import value_text

    lines = SOURCE.read_text("utf-8").splitlines()
    inner = 1 + next(number for number, line in enumerate(lines) if "total = total * 3 + i;" in line)
    rounds = 1000

    def launched(kernel: str, count: int, lanes: int, jit: str = "auto") -> Launched:
        machine = machine_for(path, kernel)
        machine.jit = jit
        args = {"out": f"zeros({lanes})", "n": count}
        return launch(machine, path, kernel, grid=lanes, work_group=lanes, args=args)

    def run(condition: str | None) -> None:
        debugging = Debugging(launched("rounds", rounds, 64))
        if condition is not None:
            debugging.break_at(f"{SOURCE.name}:{inner}", condition)
        debugging.go_on()
        assert debugging.has_ended

    plain, conditional = in_turns([lambda: run(None), lambda: run(f"i == {rounds}")], rounds=3)
    each = (conditional - plain) / rounds * 1e6
    show(
        "a condition that is not true, microseconds", each, "at most 100", f"{rounds} arrivals of one wave, with launch"
    )

    rates, writer = [], TraceWriter()
    for _ in range(3):
        running = Running(launched("rounds", rounds, 64))
        trace = StepTrace(running, lambda step: list(writer.lines(step)), show=value_text)
        begun = time.process_time()
        running.run()
        trace.end()
        rates.append(running.machine.device.executed / (time.process_time() - begun))
    show(
        "60,000 instructions a second with --trace=lines / these",
        60_000 / max(rates),
        "at most 1",
        f"{max(rates):,.0f}",
    )

    for jit, count, limit, text in (("auto", 100_000, 2, "compiled"), ("off", 10_000, 4, "interpreted")):
        machine = Running(launched("calls", count, 1, jit)).machine
        begun = time.process_time()
        machine.run()
        seconds = time.process_time() - begun
        detail = f"{machine.device.executed / seconds:,.0f} instructions a second"
        show(f"{count:,} turns with a call at -O0, {text}, seconds", seconds, f"at most {limit}", detail)


def _copied(*arrays: Any) -> None:
    for array in arrays:
        array.copy()


def _saxpy_of_singles(factor: float, x: Any, y: Any) -> Any:
    """Return ``factor * x + y``, rounded twice."""
    return factor * x + y


def _saxpy(factor: float, x: Any, y: Any) -> Any:
    """Return ``factor * x + y``, rounded once: a product of singles is exact as a double.

    The sum of doubles may be rounded, too, and then round to another single; the numbers here are near enough to each
    other that it is not, which the comparison of the results shows.
    """
    import numpy as np

    return (factor * x.astype(np.float64) + y).astype(np.float32)


def _product(left: Any, right: Any) -> Any:
    """Multiply matrices as the kernel does, one step of the inner loop after the other, each rounded once."""
    import numpy as np

    total = np.zeros((SIDE, SIDE), np.float32)
    left, right = left.astype(np.float64), right.astype(np.float64)
    for k in range(SIDE):
        total = (left[:, k, None] * right[k] + total).astype(np.float32)
    return total


def _product_of_singles(left: Any, right: Any) -> Any:
    """Multiply matrices with two roundings in each step."""
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
        from dwarfgpu.execution.launch.launch import launch, machine_for

        self._machine = machine_for(path, kernel)
        self.launch = partial(launch, self._machine, path, kernel, grid=grid, work_group=group, args=args)
        self._launched: Any = None
        self._point: int | None = None
        self.executed = 0
        self.launching = math.inf
        """The shortest time that a launch has taken."""
        self.text = ""

    def break_elsewhere(self) -> None:
        """Set a breakpoint that no wave reaches."""
        self._launched = self.launch()
        self._machine.break_at(self._launched.plan.start.entry - 4)
        self._machine.run()

    def once(self) -> float:
        """Launch and run once; return the seconds that the kernel takes."""
        begun = time.process_time()
        self._launched = self.launch()
        self.launching = min(self.launching, time.process_time() - begun)
        device = self._machine.device
        begun = time.process_time()
        device.run()
        seconds = time.process_time() - begun
        assert not device.stopped
        self.executed = device.executed
        return seconds

    def seconds(self) -> float:
        """Return the shortest time of several rounds; the first one compiles."""
        return self.in_turns()[0]

    def in_turns(self, *peers: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
        """Return the shortest time of the kernel, and of what it is compared with, in turns and warm.

        Some kernels are compiled when they have been launched 100 times, and optimized when they have run for a while.
        """
        begun, launches, spent = time.process_time(), 0, 0.0
        while spent < WARM_SECONDS and (launches < WARM or not self._is_final()):
            self.once()
            launches, spent = launches + 1, time.process_time() - begun
        times = [[self._warm(), *(best(peer, rounds=1, seconds=TURN) for peer in peers)] for _ in range(rounds)]
        shortest = [min(column) for column in zip(*times, strict=True)]
        self.text = f"{shortest[0] * 1e3:.2f} ms, {self.executed / shortest[0]:,.0f} instructions a second"
        return shortest

    def _warm(self) -> float:
        """Return the time of the kernel, on average over as many executions as a turn of a peer has room for."""
        times: list[float] = []
        while sum(times) < TURN:
            times.append(self.once())
        return sum(times) / len(times)

    def _is_final(self) -> bool:
        compiled = self._machine.device.compiled
        return compiled is None or all(region.function.is_final for region, _number in compiled.entries.values())

    def buffer(self, name: str) -> Any:
        """Return an argument after the last round."""
        return self._launched.buffers[name]
