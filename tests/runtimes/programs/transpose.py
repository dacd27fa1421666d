"""Transposes a matrix through shared memory; with the word `wrong` it reads a part that nothing has written."""

from __future__ import annotations

import sys

import numpy as np
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

import dwarfgpu.triton as dt


@gluon.jit
def transpose(x, out, LAYOUT: gl.constexpr, SHARED: gl.constexpr, WRONG: gl.constexpr):
    row = gl.arange(0, 32, layout=gl.SliceLayout(1, LAYOUT))
    column = gl.arange(0, 32, layout=gl.SliceLayout(0, LAYOUT))
    at = row[:, None] * 32 + column[None, :]
    value = gl.load(x + at)
    before = gl.allocate_shared_memory(gl.float32, [32], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    tiles = gl.allocate_shared_memory(gl.float32, [2, 32, 32], SHARED)
    tile = tiles.index(0)
    tile.store(value)
    turned = tiles.index(1 if WRONG else 0).permute((1, 0))
    before.store(gl.max(value, 1))
    result = turned.load(LAYOUT) + gl.min(before.load(gl.SliceLayout(0, LAYOUT)), 0) * 0
    gl.store(out + at, result)


layout, shared = gl.BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0]), gl.SwizzledSharedLayout(2, 2, 8, [1, 0])
x, out = np.arange(1024, dtype="f4").reshape(32, 32), np.zeros((32, 32), "f4")
transpose[1,](dt.tensor(x), dt.tensor(out), LAYOUT=layout, SHARED=shared, WRONG="wrong" in sys.argv)
print("right" if (out == x.T).all() else "wrong")
