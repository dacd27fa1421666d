"""Variables of kernels against numpy: `tensors.py PROCESSOR [CASE...]` tells what is shown, and what is wrong."""
# ruff: noqa: F841, SIM108, PLW2901, B023

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

import dwarfgpu.triton as dt

PROCESSOR = sys.argv[1]
LANES = 64 if PROCESSOR.startswith("gfx9") else 32
Case = Callable[[np.random.Generator], Iterator[tuple[Callable[[], Any], str, dict[str, Any]]]]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


@triton.jit
def scaled(value, factor):
    inside = value * factor
    return inside + 1


@triton.jit
def product_kernel(a, b, c, K: tl.constexpr, STEP: tl.constexpr):
    row = tl.arange(0, 32)
    total = tl.zeros((32, 32), tl.float32)
    for first in range(0, K, STEP):
        inner = first + tl.arange(0, STEP)
        left = tl.load(a + row[:, None] * K + inner[None, :])
        right = tl.load(b + inner[:, None] * 32 + row[None, :])
        total = tl.dot(left, right, total)
    twice = scaled(total, 2.0)
    half = twice.to(tl.float16)
    tl.store(c + row[:, None] * 32 + row[None, :], half)  # all of the product


@case
def product(rng):
    a, b = (rng.integers(-4, 4, shape).astype("f2") for shape in ((32, 64), (64, 32)))
    c = np.zeros((32, 32), "f2")
    want = a.astype("f4") @ b.astype("f4")
    known = {
        "row": np.arange(32), "total": want, "first": 48, "inner": np.arange(48, 64), "left": a[:, 48:],
        "right": b[48:], "twice": want * 2 + 1, "half": want * 2 + 1, "K": 64, "STEP": 16, "a": a.ctypes.data,
    }  # fmt: skip
    yield (
        (lambda: product_kernel[1,](dt.tensor(a), dt.tensor(b), dt.tensor(c), K=64, STEP=16)),
        "all of the product",
        known,
    )


@triton.jit
def rows_kernel(x, out, n, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    place = x + program * n + at
    mask = at < n
    value = tl.load(place, mask=mask, other=-1e30)
    most = tl.max(value, axis=0)
    value = tl.exp(value - most)
    total = tl.sum(value, axis=0)
    value = value / total
    running = tl.cumsum(value, axis=0)
    small = (value * 200).to(tl.uint8)
    wide = at.to(tl.int64) * 3
    brain = value.to(tl.bfloat16).to(tl.float32)
    tl.store(out + program * n + at, running, mask=mask)  # all of the rows


@case
def rows(rng):
    x, out = rng.standard_normal((3, 100)).astype("f4"), np.zeros((3, 100), "f4")
    padded = np.full(128, -1e30, "f4")
    padded[:100] = x[0]
    value = np.exp(padded - padded.max())
    share = value / value.sum()
    known = {
        "program": 0, "at": np.arange(128), "place": x.ctypes.data + 4 * np.arange(128), "mask": np.arange(128) < 100,
        "most": x[0].max(), "value": share, "total": value.sum(), "running": share.cumsum(), "wide": np.arange(128) * 3,
        "small": (share * 200).astype("u1"), "brain": (None, share, 0.01), "n": 100, "BLOCK": 128,
    }  # fmt: skip
    yield (lambda: rows_kernel[3,](dt.tensor(x), dt.tensor(out), 100, BLOCK=128)), "all of the rows", known


@triton.jit
def flow_kernel(out, n):
    at = tl.arange(0, 64)
    name = at + n
    first = name
    name = tl.sum(name, axis=0)
    if n > 3:
        chosen = first * 2
    else:
        chosen = first * 3
    count = 0
    while count < n:
        count += 2
        last = first + count
    for step in tl.static_range(3):
        chosen += step
    name = tl.reshape(first, (8, 8))
    flipped = tl.trans(name)
    part = tl.reshape(tl.join(first, first), (128,))
    tl.store(out + at, chosen + count)  # all of the flow


@case
def flow(_rng):
    out, first = np.zeros(64, "i4"), np.arange(64) + 5
    known = {
        "first": first, "name": first.reshape(8, 8), "chosen": first * 2 + 3, "count": 6, "last": first + 6, "step": 2,
        "flipped": first.reshape(8, 8).T, "part": first.repeat(2),
    }  # fmt: skip
    yield (lambda: flow_kernel[1,](dt.tensor(out), 5)), "all of the flow", known


@gluon.jit
def gluon_kernel(x, out, N: gl.constexpr, LAYOUT: gl.constexpr, ROWS: gl.constexpr, SHARED: gl.constexpr):
    at = gl.arange(0, N, layout=LAYOUT)
    value = gl.load(x + at)
    kept = gl.allocate_shared_memory(gl.float32, [N], SHARED)
    kept.store(value)
    other = kept.load(ROWS)
    gl.store(out + at, value + gl.convert_layout(other, LAYOUT))  # all of Gluon


@case
def layouts(rng):
    x, out = rng.standard_normal(512).astype("f4"), np.zeros(512, "f4")
    layout, rows = gl.BlockedLayout([2], [LANES], [4], [0]), gl.BlockedLayout([4], [LANES], [4], [0])
    shared = gl.SwizzledSharedLayout(1, 1, 1, [0])
    known = {"at": np.arange(512), "value": x, "other": x}
    yield (
        (lambda: gluon_kernel[1,](dt.tensor(x), dt.tensor(out), N=512, LAYOUT=layout, ROWS=rows, SHARED=shared)),
        "all of Gluon",
        known,
    )


def compared(name: str) -> str:
    shown = wrong = asked = 0
    told: list[str] = []
    for launch, line, known in CASES[name](np.random.default_rng(1)):
        source = open(__file__).read().splitlines()  # noqa: SIM115
        number = next(at for at, text in enumerate(source, 1) if text.endswith(f"# {line}"))
        seen: list[str] = []

        def look(kernel: Any) -> None:
            nonlocal shown, wrong, asked
            kernel.run(until=f"{__file__}:{number}")
            frame = next(wave for wave in kernel if wave.pc is not None).frame(0)
            for variable, want in known.items():
                limit = 1e-5
                if isinstance(want, tuple):
                    _, want, limit = want
                seen.append(variable)
                array = np.ma.MaskedArray(frame[variable].values())
                if not np.ndim(want):
                    array = array[:1]
                want = np.broadcast_to(np.asarray(want), array.shape)
                good = np.isclose(array.data.astype("f8"), want.astype("f8"), rtol=limit, atol=limit)
                mask = np.ma.getmaskarray(array)
                asked, shown, wrong = asked + want.size, shown + int((~mask).sum()), wrong + int((~good & ~mask).sum())
                if (mask | ~good).any():
                    told.append(f"{variable} ({mask.sum()} masked, {(~good & ~mask).sum()} wrong)")

        with dt.use(PROCESSOR, debug=True, at_launch=look):
            launch()
        if len(seen) != len(known):
            told.append("not stopped")
    return f"{name}: {shown} of {asked} elements, {wrong} wrong{''.join(f'; {each}' for each in told)}"


for each in sys.argv[2:] or CASES:
    print(compared(each), flush=True)
