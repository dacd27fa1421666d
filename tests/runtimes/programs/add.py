"""Adds two arrays with a kernel of Triton; with `wrong` it is told of 30 elements that are not there."""

import mmap
import sys

import numpy as np
import triton
import triton.language as tl

import dwarfgpu.triton as dt


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n)
    b = tl.load(y + at, mask=at < n)
    tl.store(out + at, a + b, mask=at < n)


x, y, out = (np.frombuffer(mmap.mmap(-1, 1 << 16), "f4", 1000) for _ in range(3))  # apart from each other
x[:], y[:] = range(1000), 1
if "cuda" in sys.argv:
    import torch

    torch.empty(4, device="cuda")
for _time in range(2):
    add[(4,)](dt.tensor(x), dt.tensor(y), dt.tensor(out), 1030 if "wrong" in sys.argv else 1000, BLOCK=256)
print("right" if (out == x + y).all() else "not right")
