"""The figures of unwinding: a wave deep in calls of functions that save vector registers under EXEC."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bench_input import cache
from bench_measure import BARE, ROOT, compile_all, in_turns, process, show

if TYPE_CHECKING:
    from pathlib import Path

sys.path.insert(0, str(ROOT))  # for dwarfgpu, where it is not installed, and the builders of the tests

SAVED = 48
REGISTERS = 640
DEPTHS = (6, 12, 24)
READ = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from itertools import cycle, islice
from dwarfgpu.expr.locations import is_undefined
from dwarfgpu.program.codeobject import opened
from dwarfgpu.program.stopped import open_stopped
stopped = open_stopped(opened(sys.argv[1]), sys.argv[2])
frames = list(stopped.stack(0))
assert len(frames) == int(sys.argv[3])
thread = frames[0].activation.thread
found = 0
for register in islice(cycle(stopped.machine.target.registers()), {REGISTERS}):
    location = frames[-1].register(register.number, thread.lanes)
    if not is_undefined(location):
        found += thread.accessor.read(location, register.bit_size).bits != 0
assert found > 600
"""
"""Start-up, a snapshot, all frames, and every register of the outermost one with all its lanes."""


def unwind() -> None:
    """A process that unwinds a wave and reads the registers of its outermost frame."""
    compile_all()
    runs = [process(*BARE)]
    for depth, narrowing in (*((depth, False) for depth in DEPTHS), (12, True)):
        code, state = inputs(depth, narrowing=narrowing)
        runs.append(process(sys.executable, "-c", READ, str(code), str(state), str(depth)))
    bare, *times = in_turns(runs, rounds=7)
    for depth, seconds in zip(DEPTHS, times, strict=False):
        limit = "at most 60" if depth == 12 else ""
        name = f"{depth} frames of {SAVED} VGPRs, {REGISTERS} registers / python3 -c pass"
        show(name, seconds / bare, limit, f"{seconds * 1e3:.0f} ms")
    growth = (times[2] - times[1]) / (times[1] - times[0])
    show("12 more frames / 6 more frames", growth, "about 2", "2 where each frame costs the same")
    detail = f"{times[3] * 1e3:.0f} ms, fewer lanes in every call"
    show("12 frames with a mask of their own / python3 -c pass", times[3] / bare, "at most 60", detail)


def inputs(depth: int, *, narrowing: bool) -> tuple[Path, Path]:
    """A code object, and a snapshot of a wave that is so many frames deep; made once.

    With ``narrowing`` each call is made by fewer lanes than the one before, so a register is in as many places as there
    are frames; else all calls are made by the same lanes.
    """
    import random

    from dwarfgpu.backends import snapshot
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
