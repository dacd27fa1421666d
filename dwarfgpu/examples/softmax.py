"""A softmax of the rows of a matrix: the store lacks the mask of the load."""

import numpy as np
import triton
import triton.language as tl

import dwarfgpu.triton as dt


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    """Store the share of each element in its row, one row for each program."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=float("-inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    share = value / tl.sum(value, axis=0)
    tl.store(out + row * columns + at, share)


x = np.arange(400, dtype=np.float32).reshape(4, 100) % 7
out = np.zeros((4, 100), np.float32)
softmax[(4,)](dt.tensor(x), dt.tensor(out), 100, BLOCK=128)
print(out.sum(axis=1))
