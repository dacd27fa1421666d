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
