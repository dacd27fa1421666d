"""The figures of unwinding: a wave deep in calls of functions that save vector registers under EXEC."""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import TYPE_CHECKING

from bench_input import cache
from bench_measure import BARE, ROOT, compile_all, show

if TYPE_CHECKING:
    from pathlib import Path

sys.path.insert(0, str(ROOT))  # for dwarfgpu, where it is not installed, and the builders of the tests

SAVED = 48
REGISTERS = 640
DEPTHS = (6, 12, 24)
ROUNDS = 9
READ = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from itertools import cycle, islice
from time import process_time
from dwarfgpu.expr.locations import is_undefined
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.states.opening import open_stopped
stopped = open_stopped(opened(sys.argv[1]), sys.argv[2])
started = process_time()
frames = list(stopped.stack(0).activations)
assert len(frames) == int(sys.argv[3])
thread = frames[0].thread
found = 0
for register in islice(cycle(stopped.machine.target.registers()), {REGISTERS}):
    location = frames[-1].register(register.number, thread.lanes)
    if not is_undefined(location):
        found += thread.accessor.read(location, register.bit_size).bits != 0
assert found > 600
print(process_time() - started)
"""
"""Start-up, a snapshot, all frames, and every register of the outermost one with all its lanes.

It prints the seconds that the last two took.
"""
READ_CODE = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from contextlib import suppress
from time import process_time
from dwarfgpu.errors import DwarfGpuError
from dwarfgpu.program.code.code_object import opened
from dwarfgpu.program.code.loaded import Loaded, LoadedCode
file = opened(sys.argv[1])
code = Loaded([LoadedCode(file)]).unwinding(file.target.target)
leaf, longer = (next(each for each in file.symbol_image.symbols() if each.name == name) for name in ("leaf", "longer"))
code.information_at(leaf.value)
step = int(sys.argv[2])
stops = range(longer.value + longer.size // 2, longer.value + longer.size, longer.size // 2 // step * 4)
started = process_time()
for stop in stops:
    with suppress(DwarfGpuError):  # where it is inside an instruction
        code.information_at(stop & ~3)
print(process_time() - started)
"""
"""Seconds for some stops in a function of a process that has read another one."""


def unwind() -> None:
    """Measure a process that unwinds a wave and reads the registers of its outermost frame, in processor time."""
    compile_all()
    runs: list[tuple[str, ...]] = [BARE]
    for depth, narrowing in (*((depth, False) for depth in DEPTHS), (12, True)):
        code, state = inputs(depth, narrowing=narrowing)
        runs.append((sys.executable, "-c", READ, str(code), str(state), str(depth)))
    rounds = [[processor_times(words) for words in runs] for _ in range(ROUNDS)]
    whole = [min(times[0] for times in column) for column in zip(*rounds, strict=True)]
    parts = [min(times[1] for times in column) for column in zip(*rounds, strict=True)]
    bare, *times = whole
    for depth, seconds, part in zip(DEPTHS, times, parts[1:], strict=False):
        limit = "at most 60" if depth == 12 else ""
        name = f"{depth} frames of {SAVED} VGPRs, {REGISTERS} registers / python3 -c pass"
        show(name, seconds / bare, limit, f"{seconds * 1e3:.0f} ms, {part * 1e3:.0f} ms of it to unwind and read")
    show("the same by itself: 12 frames / 6 frames", parts[2] / parts[1], "at most 2", "2 is linear")
    show("the same by itself: 24 frames / 12 frames", parts[3] / parts[2], "at most 2", "2 is linear")
    detail = f"{times[3] * 1e3:.0f} ms, fewer lanes in every call"
    show("12 frames with a mask of their own / python3 -c pass", times[3] / bare, "at most 60", detail)
    read_code()


def read_code() -> None:
    """Measure the rules that reading a long function without optimization finds, in a process that read another one."""
    code = cache() / "unwind-2" / "long.co"
    if not code.exists():
        code.parent.mkdir(parents=True, exist_ok=True)
        words = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1100", "-x", "cl", "-cl-std=CL2.0", "-g", "-O0", "-nogpulib"]
        subprocess.run(["clang-22", *words, "-", "-o", str(code)], input=long_source(), text=True, check=True)
    runs = [BARE, *((sys.executable, "-c", READ_CODE, str(code), count) for count in ("4", "404"))]
    rounds = [[processor_times(words) for words in runs] for _ in range(ROUNDS)]
    bare = min(times[0][0] for times in rounds)
    first, all_stops = (min(times[each][1] for times in rounds) for each in (1, 2))
    further = (all_stops - first) / 100
    name = "stop in 5,000 instructions of -O0 / python3 -c pass"
    show(f"first {name}", first / bare, "at most 16", f"{first * 1e3:.0f} ms, without call frame information")
    show(f"further {name}", further / bare, "at most 0.16", f"{further * 1e3:.2f} ms")


def long_source() -> str:
    """Return OpenCL C of a function with branches, loops and calls that has 5,200 instructions at -O0."""
    bodies = (
        "if (a > {0}) {{ b += leaf(a + {0}); c ^= b; }} else c += p[{0}] * {0};",
        "for (int i = 0; i < (b & 7); ++i) {{ c += p[i + a] * {0} - b; a ^= c; }}",
        "p[c & 63] = a * b + c / 3 - {0}; b = (a << 3) | (c >> 2);",
        "while (c > {0}) {{ c = (c >> 1) - a % 5; if (c == b) break; p[{0}] += leaf(c); }}",
    )
    body = "\n".join(bodies[at % 4].format(at) for at in range(46))
    return f"""
        __attribute__((noinline)) int leaf(int x) {{ return x * 3; }}
        __attribute__((noinline)) int longer(global int *p, int n) {{
            int a = n, b = p[0], c = 1;
            {body}
            return a + b + c;
        }}
        kernel void k(global int *p, int n) {{ p[n] = longer(p, n); }}
    """


def processor_times(words: tuple[str, ...]) -> tuple[float, float]:
    """Return the seconds that a process has computed, and those of it that it has printed: others lengthen neither."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, float(done.stdout or 0)


def inputs(depth: int, *, narrowing: bool) -> tuple[Path, Path]:
    """Return a code object, and a snapshot of a wave that is so many frames deep; made once.

    With ``narrowing`` each call is made by fewer lanes than the one before, so a register is in as many places as there
    are frames; else all calls are made by the same lanes.
    """
    import random

    from dwarfgpu.machines import snapshot
    from tests.builders.nested import code_object, nested, with_code

    folder = cache() / "unwind-2"
    code, state = folder / "nested.co", folder / f"nested-{depth}{'-narrowing' if narrowing else ''}.dgs"
    if not state.exists():
        folder.mkdir(parents=True, exist_ok=True)
        code.write_bytes(code_object(SAVED))
        chosen = random.Random(1)
        mask = 0x0F7F_FFFF_8003_FFE1
        masks = [mask]
        while len(masks) < depth:
            mask &= ~(1 << chosen.randrange(64)) if narrowing else mask
            masks.append(mask)
        machine, _ = nested(depth, SAVED, masks=masks)
        snapshot.save(with_code(machine, str(code)), state)
    return code, state
