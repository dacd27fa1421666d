"""The figures of variables: one lane and a whole wave, warm, and one lane from the command line, cold."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bench_measure import BARE, DWARFGPU, ROOT, compile_all, in_turns, process, show

if TYPE_CHECKING:
    from collections.abc import Callable

sys.path.insert(0, str(ROOT))  # for dwarfgpu, where it is not installed

FILE = str(ROOT / "fixtures" / "asm" / "lane-pc.gfx90a.w64.co")
STATE = str(ROOT / "docs" / "examples" / "variables.json")
TIMES = 400


def variables() -> None:
    """An int in a vector register, by a location list; and an expression of two of them."""
    import dwarfgpu

    compile_all()
    frame = dwarfgpu.open(FILE).attach(STATE)[0].frame()
    lane_of, wave_of = (lambda: frame["even"].value(4)), (lambda: frame["even"].values())  # noqa: PLW0108 (the look-up counts)
    one, every = in_turns([_repeated(lane_of), _repeated(wave_of)], rounds=9)
    one, every = one / TIMES, every / TIMES
    show('frame["x"].value(4), microseconds', one * 1e6, "at most 60", "a location list, warm")
    show('frame["x"].values() / frame["x"].value(4)', every / one, "at most 3", f"{every * 1e6:.0f} us")
    asked = frame.expression("even * 2 + left")
    lane, wave = in_turns([_repeated(lambda: asked.value(4)), _repeated(asked.values)], rounds=5)
    detail = f"{wave / TIMES * 1e6:.0f} us / {lane / TIMES * 1e6:.0f} us"
    show("even * 2 + left: 64 lanes / one lane", wave / lane, "at most 3", detail)
    command = process(*DWARFGPU, "eval", FILE, "even", "--state", STATE, "--lane", "4")
    bare, cold = in_turns([process(*BARE), command], rounds=7)
    show("dwarfgpu eval FILE x --lane 4 / python3 -c pass", cold / bare, "at most 15", f"{cold * 1e3:.0f} ms")


def _repeated(function: Callable[[], object]) -> Callable[[], object]:
    def run() -> None:
        for _ in range(TIMES):
            function()

    return run
