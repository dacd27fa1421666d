"""The figures of questions about all waves: variables in every lane of a snapshot of ten thousand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bench_input import cache
from bench_machine import WAVES, big_snapshot
from bench_measure import BARE, DWARFGPU, compile_all, in_turns, process, show

START = 0x7F00_0000_1000
"""Where the waves of the snapshot are."""


def code() -> Path:
    """Return a code object with the variables, which is loaded where the waves are; made once."""
    from tests.builders.spread import code_object

    path = cache() / "spread-1.co"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(code_object(START))
    return path


def waves() -> None:
    """Measure all lanes of all waves against a bare gather of the same bytes, and one lane from the command line."""
    import numpy as np

    import dwarfgpu
    from dwarfgpu.program.frames.all_waves import all_waves

    state, file = big_snapshot(), code()
    attached = dwarfgpu.open(str(file)).attach(str(state))
    machine: Any = attached.stopped.machine
    count = 64 * WAVES
    wave, lane = np.repeat(np.arange(WAVES), 64), np.tile(np.arange(64), WAVES)
    registers = machine.vgpr
    dwords = machine.memory.stores[6].blocks[0].array.view(np.uint32).reshape(WAVES, -1)

    def gathered() -> Any:
        return registers[wave, 5, lane]

    def both_gathered() -> Any:
        return registers[wave, 6, lane], dwords[wave, 5 * 64 + lane]

    def four_gathered() -> Any:
        return (*both_gathered(), registers[wave, 7, lane], dwords[wave, 7 * 64 + lane])

    def asked(name: str) -> Any:
        return all_waves(attached, name).array

    assert (asked("x").view(np.uint32).reshape(-1) == gathered()).all()
    pair, (first, second) = asked("pair"), both_gathered()
    assert (pair["first"].view(np.uint32).reshape(-1) == first).all()
    assert (pair["second"].view(np.uint32).reshape(-1) == second).all()
    rows = (
        ("x", "an int in a VGPR", gathered, "at most 4, or 30 million a second"),
        ("pair", "a struct, half of it in scratch", both_gathered, "at most 10"),
        ("four", "one of 16 bytes, half in scratch", four_gathered, "at most 10"),
    )
    for name, what, by_hand, limit in rows:
        ours, theirs = in_turns([lambda name=name: asked(name), by_hand], rounds=7)  # type: ignore[misc]
        detail = f"{ours * 1e3:.1f} ms, {count / ours / 1e6:.1f} million lanes a second"
        is_met = "million" in limit and count / ours >= 30e6
        show(f"{what}, {count:,} lanes / numpy's gather of the bytes", ours / theirs, limit, detail, is_met=is_met)

    compile_all()
    words = (*DWARFGPU, "eval", str(file), "x", "--state", str(state), "--wave", "10000", "--lane", "5")
    listing = (*DWARFGPU, "waves", str(file), "--state", str(state))
    numpy = (sys.executable, "-c", "import numpy")
    bare, one, rows_listed, imported = in_turns(
        [process(*BARE), process(*words), process(*listing), process(*numpy)], rounds=10
    )
    detail = f"{one * 1e3:.0f} ms, of which `import numpy` {imported * 1e3:.0f} ms"
    show("one lane of one wave, cold / python3 -c pass", one / bare, "at most 15", detail)
    show("the list of the waves, cold / python3 -c pass", rows_listed / bare, "", f"{rows_listed * 1e3:.0f} ms")
