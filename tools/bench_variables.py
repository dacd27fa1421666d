"""The figures of variables: one lane and a whole wave, warm, and one lane from the command line, cold."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bench_measure import BARE, DWARFGPU, ROOT, compile_all, in_turns, process, show

if TYPE_CHECKING:
    from collections.abc import Callable

sys.path.insert(0, str(ROOT))  # for dwarfgpu, where it is not installed

FILE = str(ROOT / "fixtures" / "asm" / "lane-pc.gfx90a.w64.co")
STATE = str(ROOT / "dwarfgpu" / "examples" / "variables.json")
TIMES = 400


def variables() -> None:
    """Measure an int in a vector register, by a location list; and an expression of two of them."""
    import dwarfgpu

    compile_all()
    frame = dwarfgpu.open(FILE).attach(STATE)[0].frame()
    one, together, apart = in_turns(
        [
            _repeated(lambda: frame["even"].value(4)),
            _repeated(lambda: frame["even"].values("active")),
            _repeated(lambda: frame["even"].values()),  # noqa: PLW0108 (the look-up counts)
        ],
        rounds=9,
    )
    show('frame["x"].value(4), microseconds', one / TIMES * 1e6, "at most 60", "a location list, warm")
    row = 'frame["x"].values("active") / frame["x"].value(4)'
    show(row, together / one, "at most 3", f"{together / TIMES * 1e6:.0f} us")
    row = "the same in all 64 lanes, which are at three places"
    show(row, apart / one, "at most 20", f"{apart / TIMES * 1e6:.0f} us, most of it why lanes have no value")
    asked = frame.expression("even * 2 + left")
    lane, wave = in_turns([_repeated(lambda: asked.value(4)), _repeated(lambda: asked.values("active"))], rounds=5)
    detail = f"{wave / TIMES * 1e6:.0f} us / {lane / TIMES * 1e6:.0f} us"
    show("even * 2 + left: active lanes / one lane", wave / lane, "at most 3", detail)
    command = process(*DWARFGPU, "eval", FILE, "even", "--state", STATE, "--lane", "4")
    bare, cold = in_turns([process(*BARE), command], rounds=7)
    show("dwarfgpu eval FILE x --lane 4 / python3 -c pass", cold / bare, "at most 15", f"{cold * 1e3:.0f} ms")


def _repeated(function: Callable[[], object]) -> Callable[[], object]:
    def run() -> None:
        for _ in range(TIMES):
            function()

    return run
