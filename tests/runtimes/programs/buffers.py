"""Buffers in shared memory against numpy: `buffers.py PROCESSOR [CASE...]` tells what is shown, and what is wrong."""
# ruff: noqa: F841, B023

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

import dwarfgpu.triton as dt
from dwarfgpu.errors import DwarfGpuError

PROCESSOR = sys.argv[1]
LANES = 64 if PROCESSOR.startswith("gfx9") else 32
Known = dict[str, dict[str, Any]]
"""At each stop, what variables have; None if the memory is that of another buffer."""
Case = Callable[[], Iterator[tuple[Callable[[], Any], Known]]]
CASES: dict[str, Case] = {}
MATRIX = gl.BlockedLayout([1, 4], [LANES // 16, 16], [2, 1], [1, 0])


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


@gluon.jit
def places(ROWS: gl.constexpr, COLUMNS: gl.constexpr, LAYOUT: gl.constexpr):
    row = gl.arange(0, ROWS, layout=gl.SliceLayout(1, LAYOUT))
    column = gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, LAYOUT))
    return row[:, None] * COLUMNS + column[None, :]


@gluon.jit
def one_kernel(x, out, LAYOUT: gl.constexpr, SHARED: gl.constexpr, KIND: gl.constexpr, AXIS: gl.constexpr):
    at = places(32, 64, LAYOUT)
    kept = gl.allocate_shared_memory(KIND, [32, 64], SHARED)
    kept.store(gl.load(x + at))
    turned = kept.permute((1, 0))
    half = kept.slice(32, 32, 1) if AXIS else kept.slice(16, 16, 0)
    gl.store(out + at, kept.load(LAYOUT))  # one
    gl.store(out + at, kept.load(LAYOUT))


@case
def one():
    """One buffer in each class of layouts, with elements of each size."""
    orders, kinds = ([1, 0], [0, 1]), ((gl.int8, "i1"), (gl.float16, "f2"), (gl.float32, "f4"), (gl.int64, "i8"))
    layouts = [
        gl.SwizzledSharedLayout(vec, each, phases, order)
        for (vec, each, phases), order in product(((1, 1, 1), (4, 1, 8), (8, 2, 4), (2, 2, 8)), orders)
    ]
    layouts += [
        gl.PaddedSharedLayout.with_identity_for(pairs, [32, 64], order)
        for pairs, order in product(([[32, 4]], [[64, 8], [256, 16]]), orders)
    ]
    bases = [[1, 0], [0, 1], [0, 2], [2, 8], [0, 4], [0, 8], [4, 0], [0, 16], [16, 0], [0, 32], [8, 1]]
    mixed = [[0, 1], [0, 2], [1, 0], [0, 4], [0, 8], [4, 0], [0, 16], [16, 0], [0, 32], [8, 0], [2, 0]]
    layouts += [gl.SharedLinearLayout(bases), gl.PaddedSharedLayout([[128, 8]], mixed, [], [32, 64])]
    for number, layout in enumerate(layouts):
        for kind, name in kinds if number in (1, 8) else kinds[number % 4 : number % 4 + 1]:
            x, out = np.arange(32 * 64).astype(name).reshape(32, 64), np.zeros((32, 64), name)
            axis = layout.order[1] if isinstance(layout, gl.SwizzledSharedLayout) else 0
            known = {"kept": x, "turned": x.T, "half": x[:, 32:] if axis else x[16:]}
            options = {"LAYOUT": MATRIX, "SHARED": layout, "KIND": kind, "AXIS": axis, "num_warps": 2}
            yield (lambda: one_kernel[1,](dt.tensor(x), dt.tensor(out), **options)), {"one": known}


@gluon.jit
def parts_kernel(x, out, n, LAYOUT: gl.constexpr, SHARED: gl.constexpr):
    at = places(16, 64, LAYOUT)
    ring = gl.allocate_shared_memory(gl.float32, [2, 16, 64], SHARED)
    for step in range(n):
        turn = ring.index(step % 2)
        turn.store(gl.load(x + at + step * 1024))
        left = turn.slice(0, 32, 1)
        right = turn.slice(32, 32, 1)
        gl.store(out + at + step * 1024, turn.load(LAYOUT))  # turn
    first = ring.index(0)
    gl.store(out + at, first.load(LAYOUT) + ring.index(1).load(LAYOUT))  # turned


@case
def parts():
    """Several buffers in one, of which a loop takes turns, and slices of them."""
    for layout in (gl.SwizzledSharedLayout(4, 2, 8, [1, 0]), gl.SwizzledSharedLayout(8, 1, 4, [0, 1]),
                   gl.PaddedSharedLayout.with_identity_for([[64, 4]], [16, 64], [1, 0])):  # fmt: skip
        x = np.arange(3 * 1024, dtype="f4").reshape(3, 16, 64)
        out = np.zeros_like(x)
        turns = {f"turn {n}": {"turn": x[n], "left": x[n][:, :32], "right": x[n][:, 32:]} for n in range(3)}
        turns["turn 1"]["ring"] = x[:2]
        turns["turned"] = {"first": x[2], "ring": np.stack((x[2], x[1])), "turn": x[2]}
        yield (
            lambda: parts_kernel[1,](dt.tensor(x), dt.tensor(out), 3, LAYOUT=MATRIX, SHARED=layout, num_warps=2),
            turns,
        )


@gluon.jit
def kept_in(buffer, value):
    buffer.store(value)
    back = buffer.load(value.type.layout)
    return back + 1  # inside


@gluon.jit
def shared_kernel(x, out, n, LAYOUT: gl.constexpr, OTHER: gl.constexpr, SHARED: gl.constexpr):
    at = places(32, 64, LAYOUT)
    value = gl.load(x + at)
    early = gl.allocate_shared_memory(gl.float32, [32, 64], SHARED)
    early.store(value * 2)
    total = early.load(LAYOUT)  # early
    gl.store(out + at, total)  # still
    late = gl.allocate_shared_memory(gl.float32, [32, 64], SHARED)
    late.store(value * 3)
    total += late.load(LAYOUT)  # late
    spread = gl.convert_layout(total, OTHER)
    gl.store(out + places(32, 64, OTHER), spread)  # spread
    chosen = gl.allocate_shared_memory(gl.float32, [2, 32, 64], SHARED)
    buffer = chosen.index(0)
    if n > 3:
        buffer = chosen.index(1)
    buffer.store(value * 5)
    more = buffer.load(LAYOUT)  # chosen
    largest = gl.max(gl.max(more, 0), 0)
    last = gl.allocate_shared_memory(gl.float32, [32, 64], SHARED)
    more = kept_in(last, value * 7)
    gl.store(out + at, more + largest)  # last


@case
def shared():
    """Buffers of which one has the memory of another, which conversions of layouts have, too."""
    other = gl.BlockedLayout([4, 1], [16, LANES // 16], [1, 2], [0, 1])
    layout = gl.SwizzledSharedLayout(4, 1, 8, [1, 0])
    x = np.random.default_rng(1).standard_normal((32, 64)).astype("f4")
    out = np.zeros_like(x)
    known: Known = {
        "early": {"early": x * 2}, "still": {"early": x * 2}, "late": {"late": x * 3, "early": None},
        "spread": {"late": None, "early": None}, "chosen": {"buffer": x * 5, "late": None},
        "inside": {"buffer": x * 7}, "last": {"last": x * 7, "buffer": None, "early": None},
    }  # fmt: skip
    yield (
        lambda: shared_kernel[1,](
            dt.tensor(x), dt.tensor(out), 5, LAYOUT=MATRIX, OTHER=other, SHARED=layout, num_warps=2
        ),
        known,
    )


@gluon.jit
def halves_kernel(x, out, LAYOUT: gl.constexpr, SHARED: gl.constexpr):
    at = places(32, 64, LAYOUT)
    value = gl.load(x + at)
    low = gl.allocate_shared_memory(gl.float32, [32, 64], SHARED)
    high = gl.allocate_shared_memory(gl.float32, [32, 64], SHARED)
    low.store(value + 1)
    high.store(value + 2)
    total = low.load(LAYOUT) + high.load(LAYOUT)  # halves
    whole = gl.allocate_shared_memory(gl.float32, [2, 32, 64], SHARED)
    whole.index(0).store(value + 3)
    whole.index(1).store(value + 4)
    total += whole.index(0).load(LAYOUT) + whole.index(1).load(LAYOUT)
    gl.store(out + at, total)  # whole
    small = gl.allocate_shared_memory(gl.int32, [32, 64], SHARED)
    small.store(value.to(gl.int32))
    total += small.load(LAYOUT)
    gl.store(out + at, total)  # small


@case
def halves():
    """A buffer with the memory of two, and one with a half of it."""
    x = np.arange(2048, dtype="f4").reshape(32, 64)
    out = np.zeros_like(x)
    known: Known = {
        "halves": {"low": x + 1, "high": x + 2},
        "whole": {"low": None, "high": None, "whole": np.stack((x + 3, x + 4))},
        "small": {"low": None, "high": None, "whole": None, "small": x.astype("i4")},
    }
    layout = gl.SwizzledSharedLayout(4, 1, 8, [1, 0])
    yield (lambda: halves_kernel[1,](dt.tensor(x), dt.tensor(out), LAYOUT=MATRIX, SHARED=layout, num_warps=2)), known


def compared(name: str) -> str:
    shown = wrong = asked = kernels = 0
    told: list[str] = []
    lines = open(__file__).read().splitlines()  # noqa: SIM115
    for launch, known in CASES[name]():
        stops = 0

        def look(kernel: Any) -> None:
            nonlocal shown, wrong, asked, stops
            for stop, variables in known.items():
                number = next(at for at, text in enumerate(lines, 1) if text.endswith(f"# {stop.split()[0]}"))
                kernel.run(until=f"{__file__}:{number}")
                stops += 1
                frame = next(wave for wave in kernel if wave.pc is not None).frame(0)
                for variable, want in variables.items():
                    try:
                        array = np.ma.MaskedArray(frame[variable].values())
                    except DwarfGpuError as error:
                        array = np.ma.masked_all(() if want is None else want.shape)
                        if want is not None:
                            told.append(f"{stop}: {variable}: {error}")
                    mask = np.ma.getmaskarray(array)
                    if want is None:
                        wrong += int((~mask).sum())
                        continue
                    good = np.asarray(array.data == want)
                    asked, shown = asked + want.size, shown + int((~mask).sum())
                    wrong += int((~good & ~mask).sum())
                    if (mask | ~good).any():
                        told.append(f"{stop}: {variable} ({mask.sum()} masked, {(~good & ~mask).sum()} wrong)")

        with dt.use(PROCESSOR, debug=True, at_launch=look):
            launch()
        kernels += 1
        if stops != len(known):
            told.append(f"{stops} of {len(known)} stops")
    return "; ".join((f"{name}: {kernels} kernels, {shown} of {asked} elements, {wrong} wrong", *told))


for each in sys.argv[2:] or CASES:
    print(compared(each), flush=True)
