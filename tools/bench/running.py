"""Rows about kernels that run: until they end, with checks, conditions, traces, and backwards."""

from __future__ import annotations

import ctypes
import subprocess
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from bench.inputs import SOURCE, cache, kernels
from bench.rows import SHORTEST, Row, Time, call, fixed, tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dwarfgpu.execution.control.debugging import Debugging

SIDE = 176
"""Of the matrices."""
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
KERNELS: dict[str, tuple[Any, Any, list[Any]]] = {
    "saxpy": (64, 64, ["ones(64, f4)", "ones(64, f4)", 2.5, 64]),
    "product": ((64, 64), (16, 16), ["zeros(4096, f4)", "ones(4096, f4)", "ones(4096, f4)", 64]),
    "steps_": (4096, 256, ["zeros(4096)", [number % 700 + 1 for number in range(4096)]]),
    "rounds": (64, 64, ["zeros(64)", 300]),
}
"""The grid, the work-group and the arguments of runs with checks."""
ROUNDS = 1000
LAUNCHES = 10_000
WARM_SECONDS = 5
"""How long a kernel is launched until its code is compiled and optimized."""


def timed(function: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    started = time.process_time()
    function()
    return time.process_time() - started


def launched(
    path: str, kernel: str, grid: Any, group: Any, args: Any, *, machine: Any = None, jit: str = "auto", **options: Any
) -> Any:
    """Return a kernel that is ready to run, on a machine of its own if none is given."""
    from dwarfgpu.execution.launch.launch import launch, machine_for

    if machine is None:
        machine = machine_for(path, kernel)
        machine.jit = jit
    return launch(machine, path, kernel, grid=grid, work_group=group, args=args, **options)


def rounds(path: str, count: int, kernel: str = "rounds", lanes: int = 64, jit: str = "auto") -> Any:
    """Return a loop of one wave that is ready to run."""
    return launched(path, kernel, lanes, lanes, {"out": f"zeros({lanes})", "n": count}, jit=jit)


def whole_run(begin: Callable[[], Any]) -> Time:
    """Return what measures runs alone, each after a launch of its own."""
    return lambda: timed(begin().machine.run)


# --- Kernels ------------------------------------------------------------------------------------------------------


def run() -> Iterator[Row]:
    """Yield the rows of kernels against one thread of the host, and of loops of one wave."""
    apart = "-ffp-contract=off"
    fast, plain = kernels("running.O2", "-O2", apart), kernels("running.O0", "-O0", apart)
    yield from against_host(fast, plain)
    yield from on_processors(fast)
    for path, level, count, jit in (
        (fast, "-O2", 100_000, "auto"),
        (plain, "-O0", 20_000, "auto"),
        (plain, "-O0", 1_000, "off"),
    ):
        how = "interpreted" if jit == "off" else "compiled"
        loop = whole_run(lambda path=path, count=count, jit=jit: rounds(path, count, jit=jit))  # type: ignore[misc]
        yield Row(f"{count:,} turns of a loop at {level}, {how}", loop, *fixed(0.1), 1, 3)
    for jit, count, seconds in (("auto", 100_000, 2), ("off", 10_000, 4)):
        loop = whole_run(lambda count=count, jit=jit: rounds(plain, count, "calls", 1, jit))  # type: ignore[misc]
        yield Row(f"{count:,} turns with a call at -O0, jit {jit}", loop, *fixed(seconds), 1, 2)
    yield from debugging(fast, plain)


def launches() -> Iterator[Row]:
    """Yield the rows of programs that launch one kernel again and again, on a device and on a machine."""
    from dwarfgpu.runtimes.device import ProgramDevice

    path = kernels("running.O2", "-O2", "-ffp-contract=off")
    device = ProgramDevice("gfx90a")
    kernel, memory = device.module(path).kernel("saxpy"), device.malloc(256)

    def on_device() -> None:
        for _number in range(LAUNCHES):
            device.launch(kernel, 64, 64, [memory, memory, 2.5, 64])

    yield Row(f"{LAUNCHES:,} launches of one wave", lambda: timed(on_device), *fixed(5), 1, 1)
    first = launched(path, "saxpy", *KERNELS["saxpy"])
    machine, places = first.machine, [first.addresses[name] for name in ("y", "x")]
    machine.run()

    def again() -> float:
        def launch_and_run() -> None:
            launched(path, "saxpy", 64, 64, [*places, 2.5, 64], machine=machine).machine.run()

        return timed(launch_and_run)

    early = min([again() for _number in range(40)][20:])
    for _number in range(LAUNCHES // 10):
        again()
    yield Row(f"a launch on a machine after {LAUNCHES // 10:,} others", again, "one after 40", lambda: early, 1.5, 20)


def against_host(fast: str, plain: str) -> Iterator[Row]:
    """Yield the rows of three kernels, warm: the same work by code of the host that was not optimized."""
    import numpy as np

    library = str(cache() / "running.host.so")
    options = ("-x", "c", "-", "-O0", "-w", "-ffp-contract=off", "-shared", "-fPIC", "-o", library)
    subprocess.run([tool("clang-22"), *options], input=HOST, text=True, check=True)
    host = ctypes.CDLL(library)
    random = np.random.default_rng(2)
    count, numbers = 64 * 256, random.integers(1, 3000, 64 * 16).astype(np.int32)
    x, y = (random.random(count, np.float32) for _ in range(2))
    left, right = (random.random((SIDE, SIDE), np.float32) for _ in range(2))
    factor, tiles, zeros = ctypes.c_float(2.5), np.zeros_like(left), np.zeros_like(numbers)
    for path, kernel, waits, limit, grid, group, buffers, rest in (
        (plain, "saxpy", "saxpy of 256 waves at -O0", 10, (count,), (256,), (y, x), (factor, count)),
        (fast, "product", "matrix product 176x176 at -O2", 0.3, (SIDE, SIDE), (16, 16), (tiles, left, right), (SIDE,)),
        (plain, "steps_", "divergent loop of 16 waves at -O0", 100, (len(numbers),), (64,), (zeros, numbers),
         (len(numbers),)),
    ):  # fmt: skip
        args = [*buffers, *(getattr(number, "value", number) for number in rest)]
        again = warmed(path, kernel, grid, group, args[:2] if kernel == "steps_" else args)
        own = [buffer.copy() for buffer in buffers]
        function = partial(getattr(host, kernel), *(each.ctypes.data_as(ctypes.c_void_p) for each in own), *rest)
        yield Row(waits, again, "one thread of the host at -O0", call(function), limit, 9)


def on_processors(path: str) -> Iterator[Row]:
    """Yield the row of a divergent loop whose work-groups run on all processors, against one; it needs two."""
    import numpy as np

    numbers = np.random.default_rng(2).integers(1, 3000, 1 << 17).astype(np.int32)
    args = path, "steps_", (len(numbers),), (256,), [np.zeros_like(numbers), numbers]

    def waiting(jobs: int | None) -> Time:
        machine = launched(*args).machine
        machine.jobs = jobs

        def again() -> float:
            machine.run()
            launched(*args, machine=machine)
            begun = time.perf_counter()
            machine.device.run()
            return time.perf_counter() - begun

        return again

    yield Row("512 work-groups on all processors", waiting(None), "on one", waiting(1), 0.75, 9)


def warmed(*launch_arguments: Any) -> Time:
    """Return what measures a kernel whose code has been compiled and optimized; launches are not measured."""
    machine = launched(*launch_arguments).machine

    def again() -> float:
        times: list[float] = []
        while not times or sum(times) < SHORTEST:
            launched(*launch_arguments, machine=machine)
            times.append(timed(machine.device.run))
        return sum(times) / len(times)

    machine.run()
    begun = time.process_time()
    while time.process_time() - begun < WARM_SECONDS:
        again()
    return again


def debugging(fast: str, plain: str) -> Iterator[Row]:
    """Yield the rows of a debugger: breakpoints, conditions, a trace, the way back."""
    from dwarfgpu.execution.control.debugging import Debugging
    from dwarfgpu.execution.control.value_history import ValueHistory

    count = 4_000_000

    def loop() -> Debugging:
        found = Debugging(rounds(fast, count))
        found.machine.run(limit=1000)  # which compiles
        return found

    def stopping() -> float:
        found = loop()
        found.break_at(f"*{found.running.launched.plan.start.entry:#x}")
        return timed(found.go_on)

    free = "no breakpoint", lambda: timed(loop().machine.run)
    yield Row("a kernel with a breakpoint that is not hit", stopping, *free, 1.05, 7)

    def watching() -> float:
        found = loop()
        found.watch(f"*(int *){found.running.launched.addresses['out'] + 40:#x}")
        return timed(found.go_on)

    yield Row("a kernel with a watchpoint on its result", watching, *free, 3, 7)

    def followed() -> float:
        running = loop().running
        history = ValueHistory(running, '$_arg("out")[10]')
        history.start()
        seconds = timed(running.machine.run)
        history.end()
        return seconds

    yield Row("--watch of an element of its result", followed, *free, 3, 7)
    back = Debugging(rounds(fast, 200_000))
    back.go_on(limit=1_000_000)
    back.step_line(0)
    yield Row("reverse-step after 1,000,000 instructions", lambda: timed(lambda: back.reverse_line(0)), *fixed(1), 1)
    lines = SOURCE.read_text("utf-8").splitlines()
    inner = 1 + next(number for number, line in enumerate(lines) if "total = total * 3 + i;" in line)

    def conditional() -> float:
        found = Debugging(rounds(plain, ROUNDS))
        found.break_at(f"{SOURCE.name}:{inner}", f"i == {ROUNDS}")
        return timed(found.go_on)

    yield Row(f"{ROUNDS:,} arrivals at a condition that is not true", conditional, *fixed(0.1), 1, 3)

    def long_run() -> Debugging:
        return Debugging(rounds(plain, 1000 * ROUNDS, jit="on"))

    def backwards() -> float:
        found = long_run()
        found.go_on()
        found.break_at(f"{SOURCE.name}:{inner}", "i == 3")
        return timed(found.reverse_go_on)

    waits = f"reverse-continue to a condition, over {1000 * ROUNDS:,} arrivals at it"
    yield Row(waits, backwards, "continue, no breakpoint", lambda: timed(long_run().go_on), 4, 3)
    yield Row("run --trace=lines, 10,000 instructions", lambda: traced(plain), *fixed(0.17), 1, 3)
    for path, level in ((fast, "-O2"), (plain, "-O0")):
        counted, uncounted = (partial(profiled, path, is_counted=is_counted) for is_counted in (True, False))
        yield Row(f"run --profile of a matrix product at {level}", counted, "no profile", uncounted, 1.5, 3)


def profiled(path: str, *, is_counted: bool) -> float:
    """Measure a run whose code is compiled, with counters or without, in one thread."""
    from dwarfgpu.execution.control.profile import Profile

    arguments = (SIDE, SIDE), (16, 16), ["zeros(30976, f4)", "ones(30976, f4)", "ones(30976, f4)", SIDE]
    machine, times = None, []
    for _number in range(20):
        machine = launched(path, "product", *arguments, machine=machine).machine
        machine.jobs = 1
        if is_counted:
            Profile(machine.device)
        times.append(timed(machine.device.run))
    return min(times)


def traced(path: str) -> float:
    """Measure a trace of lines, for ten thousand instructions of it."""
    from dwarfgpu.execution.control.line_traces import LineTrace
    from dwarfgpu.execution.control.running import Running
    from dwarfgpu.render.running import TraceWriter
    from dwarfgpu.render.values import value_text

    running, writer = Running(rounds(path, ROUNDS)), TraceWriter()
    trace = LineTrace(running, lambda step: list(writer.lines(step)), value_text)
    seconds = timed(running.run)
    trace.end()
    return seconds / running.machine.device.executed * 10_000


def checks() -> Iterator[Row]:
    """Yield the rows of `run --check`: each run has a machine of its own, so that the code of the checks is written."""
    for level in ("-O0", "-O2"):
        path = kernels(f"checks{level}", level, processor="gfx1100")
        for kernel, launch in KERNELS.items():
            plain = whole_run(lambda p=path, k=kernel, launch=launch: launched(p, k, *launch, jit="off"))  # type: ignore[misc]
            for check, limit in (("bounds,align,barrier", 3), ("all", 6)):
                ours = whole_run(
                    lambda p=path, k=kernel, launch=launch, check=check: launched(p, k, *launch, jit="off", check=check)  # type: ignore[misc]
                )
                yield Row(f"{kernel} at {level}, --check={check}", ours, "the interpreter", plain, limit, 3)
        for kernel in ("product", "steps_"):
            free, ours = (
                whole_run(
                    lambda p=path, k=kernel, check=check: launched(p, k, *KERNELS[k], jit="on", check=check)  # type: ignore[misc]
                )
                for check in (None, "init")
            )
            yield Row(f"{kernel} at {level}, --check=init", ours, "no check, compiled", free, 4, 5)


GROUPS = {"run": run, "launches": launches, "checks": checks}
