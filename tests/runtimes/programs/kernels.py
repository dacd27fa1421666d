"""Kernels of Triton against numpy: `kernels.py PROCESSOR [CHECKS|-|debug] [NAME...]` tells of each what differs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.tools.tensor_descriptor import TensorDescriptor

import dwarfgpu.triton as dt

Case = Callable[[np.random.Generator], Iterator[tuple[Any, Any, float]]]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


def floats(rng: np.random.Generator, *shape: int, kind: str = "f4") -> Any:
    return rng.standard_normal(shape).astype(kind)


def to_bf16(array: Any) -> Any:
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)


def of_bf16(bits: Any) -> Any:
    return (bits.astype(np.uint32) << 16).view(np.float32)


# --- Element by element -------------------------------------------------------------------------------------------


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@case
def add(rng):
    x, y, out = floats(rng, 1000), floats(rng, 1000), np.zeros(1000, "f4")
    add_kernel[(4,)](dt.tensor(x), dt.tensor(y), dt.tensor(out), 1000, BLOCK=256)
    yield out, x + y, 0


@case
def add_integers(rng):
    for kind in ("i1", "i2", "i4", "i8", "f2", "f8"):
        x, y = (rng.integers(-50, 50, 300).astype(kind) for _ in range(2))
        out = np.zeros_like(x)
        add_kernel[(2,)](dt.tensor(x), dt.tensor(y), dt.tensor(out), 300, BLOCK=256)
        yield out, x + y, 0


@case
def add_bf16(rng):
    x, y, out = to_bf16(floats(rng, 500)), to_bf16(floats(rng, 500)), np.zeros(500, "u2")
    tensors = (dt.tensor(each, "bfloat16") for each in (x, y, out))
    add_kernel[(2,)](*tensors, 500, BLOCK=256)
    yield out, to_bf16(of_bf16(x) + of_bf16(y)), 0


@triton.jit
def functions_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=1.0)
    tl.store(out + at, tl.exp(value), mask=at < n)
    tl.store(out + n + at, tl.log(tl.abs(value) + 1.0), mask=at < n)
    tl.store(out + 2 * n + at, tl.sqrt(tl.abs(value)), mask=at < n)
    tl.store(out + 3 * n + at, tl.sin(value) + tl.cos(value), mask=at < n)
    tl.store(out + 4 * n + at, tl.sigmoid(value), mask=at < n)
    tl.store(out + 5 * n + at, tl.where(value > 0, value, tl.floor(value)), mask=at < n)


@case
def functions(rng):
    x, out = floats(rng, 200), np.zeros((6, 200), "f4")
    functions_kernel[(1,)](dt.tensor(x), dt.tensor(out), 200, BLOCK=256)
    wide = x.astype("f8")
    want = np.exp(wide), np.log1p(abs(wide)), np.sqrt(abs(wide)), np.sin(wide) + np.cos(wide), 1 / (1 + np.exp(-wide))
    yield out, np.array([*want, np.where(x > 0, x, np.floor(x))]), 2e-6


@triton.jit
def scalars_kernel(out, i, f, flag, big, N: tl.constexpr):
    at = tl.arange(0, N)
    value = at * i + big
    tl.store(out + at, tl.where(flag, value.to(tl.float64) + f, 0.0))


@case
def scalars(_rng):
    for flag in (True, False):
        out = np.zeros(64)
        scalars_kernel[(1,)](dt.tensor(out), -7, 2.5, flag, 1 << 40, N=64)
        yield out, (np.arange(64) * -7 + (1 << 40) + 2.5) * flag, 0


@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, at) > p
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, tl.where(kept, value / (1 - p), 0.0), mask=at < n)


def philox(counter, key):
    """Return the first word of Philox4x32-10 (Salmon and others, 2011) for counters of one word."""
    first, second, third, fourth = np.asarray(counter, "u8"), *np.zeros((3, np.size(counter)), "u8")
    keys = key & 0xFFFFFFFF, key >> 32
    for _round in range(10):
        left, right = first * np.uint64(0xD2511F53), third * np.uint64(0xCD9E8D57)
        first, second = right >> np.uint64(32) ^ second ^ np.uint64(keys[0]), right & np.uint64(0xFFFFFFFF)
        third, fourth = left >> np.uint64(32) ^ fourth ^ np.uint64(keys[1]), left & np.uint64(0xFFFFFFFF)
        keys = (keys[0] + 0x9E3779B9) % (1 << 32), (keys[1] + 0xBB67AE85) % (1 << 32)
    return first.astype("u4")


@case
def dropout(rng):
    x, out, seed = floats(rng, 4096), np.zeros(4096, "f4"), 123 << 32 | 45
    dropout_kernel[(4,)](dt.tensor(x), dt.tensor(out), 4096, 0.4, seed, BLOCK=1024)
    yield philox([0], 0), 0x6627E8D5, 0  # as the authors' test of their own code has it
    word = philox(np.arange(4096), seed).view("i4")
    share = np.where(word < 0, ~word, word) * np.float32(4.6566127342e-10)
    yield out, np.where(share > np.float32(0.4), x / np.float32(0.6), 0), 1e-6


# --- Rows ---------------------------------------------------------------------------------------------------------


@triton.jit
def softmax_kernel(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * stride + at, value / tl.sum(value, axis=0), mask=at < columns)


@case
def softmax(rng):
    x, out = floats(rng, 6, 200), np.zeros((6, 200), "f4")
    softmax_kernel[(6,)](dt.tensor(x), dt.tensor(out), 200, 200, BLOCK=256)
    power = np.exp(x - x.max(1, keepdims=True))
    yield out, power / power.sum(1, keepdims=True), 1e-6


@triton.jit
def norm_kernel(x, w, b, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    value = tl.load(x + row * columns + at, mask=mask, other=0.0)
    mean = tl.sum(value, axis=0) / columns
    centered = tl.where(mask, value - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centered * centered, axis=0) / columns + eps)
    result = centered * scale * tl.load(w + at, mask=mask) + tl.load(b + at, mask=mask)
    tl.store(out + row * columns + at, result, mask=mask)


@case
def layer_norm(rng):
    x, w, b, out = floats(rng, 5, 100), floats(rng, 100), floats(rng, 100), np.zeros((5, 100), "f4")
    norm_kernel[(5,)](*map(dt.tensor, (x, w, b, out)), 100, 1e-5, BLOCK=128)
    mean, variance = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    yield out, (x - mean) / np.sqrt(variance + 1e-5) * w + b, 1e-5


@triton.jit
def norm_weights_kernel(d, x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(0, rows, ROWS):
        row = first + tl.arange(0, ROWS)
        mask = (row[:, None] < rows) & (column[None, :] < columns)
        place = row[:, None] * columns + column[None, :]
        total += tl.load(d + place, mask=mask, other=0.0) * tl.load(x + place, mask=mask, other=0.0)
    tl.store(out + column, tl.sum(total, axis=0), mask=column < columns)


@case
def layer_norm_backward(rng):
    d, x, out = floats(rng, 21, 70), floats(rng, 21, 70), np.zeros(70, "f4")
    norm_weights_kernel[(3,)](*map(dt.tensor, (d, x, out)), 21, 70, ROWS=8, COLUMNS=32)
    yield out, (d * x).sum(0), 1e-4


@triton.jit
def reduce_kernel(x, out, place, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    value = tl.load(x + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    row = tl.arange(0, ROWS)
    tl.store(out + row, tl.max(value, axis=1))
    tl.store(out + ROWS + row, tl.min(value, axis=1))
    tl.store(place + row, tl.argmax(value, axis=1))
    tl.store(place + ROWS + row, tl.argmin(value, axis=1))


@case
def reductions(rng):
    x, out, place = floats(rng, 16, 64), np.zeros((2, 16), "f4"), np.zeros((2, 16), "i4")
    reduce_kernel[(1,)](*map(dt.tensor, (x, out, place)), ROWS=16, COLUMNS=64)
    yield out, np.array([x.max(1), x.min(1)]), 0
    yield place, np.array([x.argmax(1), x.argmin(1)]), 0


@triton.jit
def both(a, b):
    return a * b


@triton.jit
def scan_kernel(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    tl.store(out + at, tl.cumsum(value, 0))
    tl.store(out + N + at, tl.associative_scan(value, 0, both))
    tl.store(out + 2 * N + at, tl.cumsum(value, 0, reverse=True))


@case
def scans(rng):
    x, out = rng.uniform(0.9, 1.1, 512).astype("f4"), np.zeros((3, 512), "f4")
    scan_kernel[(1,)](dt.tensor(x), dt.tensor(out), N=512)
    yield out, np.array([x.cumsum(), x.cumprod(), x[::-1].cumsum()[::-1]]), 1e-3


@triton.jit
def sort_kernel(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.sort(tl.load(x + at)))
    tl.store(out + N + at, tl.flip(tl.load(x + at), 0))


@case
def sort(rng):
    x, out = rng.integers(0, 1000, 256).astype("i4"), np.zeros((2, 256), "i4")
    sort_kernel[(1,)](dt.tensor(x), dt.tensor(out), N=256)
    yield out, np.array([np.sort(x), x[::-1]]), 0


@triton.jit
def transpose_kernel(x, out, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    value = tl.load(x + row[:, None] * columns + column[None, :], mask=mask)
    tl.store(out + column[:, None] * rows + row[None, :], tl.trans(value), mask=tl.trans(mask))


@case
def transpose(rng):
    x, out = floats(rng, 50, 70), np.zeros((70, 50), "f4")
    transpose_kernel[(2, 3)](dt.tensor(x), dt.tensor(out), 50, 70, BLOCK=32)
    yield out, x.T, 0


@triton.jit
def gather_kernel(x, index, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(index + at, mask=at < n, other=0)
    tl.store(out + place, tl.load(x + (n - 1 - place), mask=at < n), mask=at < n)


@case
def gather_scatter(rng):
    x, index, out = floats(rng, 500), rng.permutation(500).astype("i4"), np.zeros(500, "f4")
    gather_kernel[(2,)](*map(dt.tensor, (x, index, out)), 500, BLOCK=256)
    yield out, x[::-1], 0


@triton.jit
def inner_gather_kernel(x, index, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), 0))


@case
def gather_in_registers(rng):
    x, index, out = floats(rng, 128), rng.integers(0, 128, 128).astype("i4"), np.zeros(128, "f4")
    inner_gather_kernel[(1,)](*map(dt.tensor, (x, index, out)), N=128)
    yield out, x[index], 0


@triton.jit
def pointers_kernel(parts, out, N: tl.constexpr):
    at = tl.arange(0, N)
    part = tl.load(parts + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.program_id(0) * N + at, tl.load(part + at))


@case
def pointers(rng):
    """Tensors that no argument is, but an array of pointers leads to."""
    parts, out = [dt.tensor(floats(rng, 64)) for _ in range(3)], np.zeros((3, 64), "f4")
    places = np.array([part.data_ptr() for part in parts])
    pointers_kernel[(3,)](dt.tensor(places), dt.tensor(out), N=64)
    yield out, np.array([part.array for part in parts]), 0


# --- Several programs ---------------------------------------------------------------------------------------------


@triton.jit
def histogram_kernel(x, bins, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(bins + tl.arange(0, BINS), counts)


@case
def histogram(rng):
    x, bins = rng.integers(0, 32, 700).astype("i4"), np.zeros(32, "i4")
    histogram_kernel[(3,)](dt.tensor(x), dt.tensor(bins), 700, BLOCK=256, BINS=32)
    yield bins, np.bincount(x, minlength=32), 0


@triton.jit
def atomics_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(out, tl.sum(value, axis=0))
    tl.atomic_max(out + 1, tl.max(value, axis=0))
    tl.atomic_xor(out + 2 + at % 8, value, mask=at < n)


@case
def atomics(rng):
    x, out = rng.integers(0, 1000, 600).astype("i4"), np.zeros(10, "i4")
    atomics_kernel[(3,)](dt.tensor(x), dt.tensor(out), 600, BLOCK=256)
    yield out, np.array([x.sum(), x.max(), *(np.bitwise_xor.reduce(x[k::8]) for k in range(8))]), 0


@triton.jit
def lock_kernel(x, lock, total, BLOCK: tl.constexpr):
    part = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), axis=0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + part)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@case
def lock(rng):
    x, held, total = rng.integers(0, 9, 1024).astype("i4"), np.zeros(1, "i4"), np.zeros(1, "i4")
    lock_kernel[(4,)](*map(dt.tensor, (x, held, total)), BLOCK=256)
    yield total, x.sum(keepdims=True), 0


# --- Matrices -----------------------------------------------------------------------------------------------------


@triton.jit
def matmul_kernel(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SPLIT: tl.constexpr):  # noqa: PLR0917
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    kind = tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32
    total = tl.zeros((M, N), dtype=kind)
    for first in range(tl.program_id(2) * K, k, K * SPLIT):
        inner = first + tl.arange(0, K)
        left = tl.load(a + row[:, None] * k + inner[None, :], mask=(row[:, None] < m) & (inner[None, :] < k), other=0)
        right = tl.load(
            b + inner[:, None] * n + column[None, :], mask=(inner[:, None] < k) & (column[None, :] < n), other=0
        )
        total = tl.dot(left, right, total, input_precision="ieee", out_dtype=kind)
    place, mask = c + row[:, None] * n + column[None, :], (row[:, None] < m) & (column[None, :] < n)
    if SPLIT == 1:
        tl.store(place, total, mask=mask)
    else:
        tl.atomic_add(place, total, mask=mask)


def multiplied(a, b, c, split=1, kind=None):
    (m, k), n = a.shape, b.shape[1]
    grid = triton.cdiv(m, 32), triton.cdiv(n, 32), split
    matmul_kernel[grid](dt.tensor(a, kind), dt.tensor(b, kind), dt.tensor(c), m, n, k, M=32, N=32, K=32, SPLIT=split)


@case
def matmul_f16(rng):
    a, b, c = floats(rng, 60, 80, kind="f2"), floats(rng, 80, 50, kind="f2"), np.zeros((60, 50), "f4")
    multiplied(a, b, c)
    yield c, a.astype("f4") @ b.astype("f4"), 1e-3


@case
def matmul_f32(rng):
    a, b, c = floats(rng, 33, 64), floats(rng, 64, 32), np.zeros((33, 32), "f4")
    multiplied(a, b, c)
    yield c, a @ b, 1e-4


@case
def matmul_bf16(rng):
    a, b, c = to_bf16(floats(rng, 32, 64)), to_bf16(floats(rng, 64, 32)), np.zeros((32, 32), "f4")
    multiplied(a, b, c, kind="bfloat16")
    yield c, of_bf16(a) @ of_bf16(b), 1e-3


@case
def matmul_i8(rng):
    a, b = (rng.integers(-128, 128, (64, 64)).astype("i1") for _ in range(2))
    c = np.zeros((64, 64), "i4")
    multiplied(a, b, c)
    yield c, a.astype("i4") @ b.astype("i4"), 0


@case
def matmul_split(rng):
    a, b, c = floats(rng, 32, 256, kind="f2"), floats(rng, 256, 32, kind="f2"), np.zeros((32, 32), "f4")
    multiplied(a, b, c, split=4)
    yield c, a.astype("f4") @ b.astype("f4"), 1e-3


NARROW = {"e4m3": (4, 3), "e5m2": (5, 2), "e2m1": (2, 1)}
"""The bits of the exponent and of the fraction."""


def narrow(codes, kind):
    """The numbers of codes that are neither infinite nor NaN."""
    exponent_bits, fraction_bits = NARROW[kind]
    sign, rest = np.divmod(codes.astype(int), 1 << exponent_bits + fraction_bits)
    exponent, fraction = np.divmod(rest, 1 << fraction_bits)
    size = (fraction / 2**fraction_bits + (exponent > 0)) * 2.0 ** (
        np.maximum(exponent, 1) - 2 ** (exponent_bits - 1) + 1
    )
    return np.where(sign, -size, size)


@triton.jit
def narrow_kernel(x, out, N: tl.constexpr, NARROW: tl.constexpr, WIDE: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at).to(WIDE).to(NARROW).to(WIDE).to(tl.float32))


@case
def narrow_floats(rng):
    """Each number becomes one of those that are nearest."""
    for kind, name in (("e4m3", tl.float8e4nv), ("e5m2", tl.float8e5)):
        known = narrow(np.arange(256)[np.arange(256) & 0x7F < 0x78], kind)
        for wide in (tl.float32, tl.float16, tl.bfloat16):
            x, out = rng.integers(-900, 900, 256).astype("f4") / 64, np.zeros(256, "f4")
            if wide is tl.bfloat16:
                x = of_bf16(to_bf16(x))
            narrow_kernel[(1,)](dt.tensor(x), dt.tensor(out), 256, name, wide)
            yield np.abs(out - x), np.abs(known[:, None] - x).min(axis=0), 0


@triton.jit
def scaled_kernel(a, b, c, p, q, SIZE: tl.constexpr, K: tl.constexpr, KIND: tl.constexpr, PACKED: tl.constexpr):  # noqa: PLR0917
    at, k, s = tl.arange(0, SIZE), tl.arange(0, K // PACKED), tl.arange(0, K // 32)
    x = tl.load(a + at[:, None] * (K // PACKED) + k[None, :])
    y = tl.load(b + k[:, None] * SIZE + at[None, :])
    scales = at[:, None] * (K // 32) + s[None, :]
    z = tl.dot_scaled(x, tl.load(p + scales), KIND, y, tl.load(q + scales), KIND)
    tl.store(c + at[:, None] * SIZE + at[None, :], z)


@case
def matmul_scaled(rng):
    size, depth = 64, 128
    for kind, (exponent_bits, fraction_bits) in NARROW.items():
        codes = rng.integers(0, 2 << exponent_bits + fraction_bits, (2, size, depth)).astype("u1")
        codes &= 0xFF ^ 1 << exponent_bits + fraction_bits - 1  # neither infinity nor NaN
        scales = rng.integers(122, 133, (2, size, depth // 32)).astype("u1")
        a, b = narrow(codes, kind) * np.repeat(2.0 ** (scales - 127.0), 32, axis=2)
        packed = [each[:, ::2] | each[:, 1::2] << 4 if kind == "e2m1" else each for each in codes]
        left, right, c = packed[0].copy(), packed[1].T.copy(), np.zeros((size, size), "f4")
        tensors = [dt.tensor(each) for each in (left, right, c, *scales.copy())]
        scaled_kernel[(1,)](*tensors, size, depth, kind, 2 if kind == "e2m1" else 1)
        yield c, a @ b.T, 1e-3


@triton.jit
def packed_kernel(a, b, c, p, q, SIZE: tl.constexpr, K: tl.constexpr):
    pair, at, k, s = tl.arange(0, SIZE // 2), tl.arange(0, SIZE), tl.arange(0, K), tl.arange(0, K // 32)
    x = tl.load(a + pair[:, None] + k[None, :] * (SIZE // 2))
    y = tl.load(b + k[:, None] * (SIZE // 2) + pair[None, :])
    scales = at[:, None] * (K // 32) + s[None, :]
    left, right = tl.load(p + scales), tl.load(q + scales)
    z = tl.dot_scaled(x, left, "e2m1", y, right, "e2m1", lhs_k_pack=False, rhs_k_pack=False)
    tl.store(c + at[:, None] * SIZE + at[None, :], z)


@case
def matmul_of_pairs_of_rows(rng):
    """Loads that transpose numbers of 4 bits; Triton has them for gfx950 alone."""
    size, depth = 64, 128
    if sys.argv[1] == "gfx950":
        codes = rng.integers(0, 16, (2, size, depth)).astype("u1")
        scales = rng.integers(122, 133, (2, size, depth // 32)).astype("u1")
        a, b = narrow(codes, "e2m1") * np.repeat(2.0 ** (scales - 127.0), 32, axis=2)
        left, right = ((each[::2] | each[1::2] << 4).T.copy() for each in codes)
        c = np.zeros((size, size), "f4")
        packed_kernel[(1,)](*(dt.tensor(each) for each in (left, right, c, *scales.copy())), size, depth)
        yield c, a @ b.T, 1e-3


@triton.jit
def persistent_kernel(a, b, c, n, k, tiles, PROGRAMS: tl.constexpr, B: tl.constexpr):
    per_row = n // B
    for tile in range(tl.program_id(0), tiles, PROGRAMS):
        row, column = tile // per_row * B + tl.arange(0, B), tile % per_row * B + tl.arange(0, B)
        total = tl.zeros((B, B), dtype=tl.float32)
        for first in range(0, k, B):
            inner = first + tl.arange(0, B)
            left = tl.load(a + row[:, None] * k + inner[None, :])
            total += tl.dot(left, tl.load(b + inner[:, None] * n + column[None, :]))
        tl.store(c + row[:, None] * n + column[None, :], total.to(tl.float16))


@case
def matmul_persistent(rng):
    a, b, c = floats(rng, 64, 32, kind="f2"), floats(rng, 32, 96, kind="f2"), np.zeros((64, 96), "f2")
    persistent_kernel[(3,)](*map(dt.tensor, (a, b, c)), 96, 32, 6, PROGRAMS=3, B=32)
    yield c, (a.astype("f4") @ b.astype("f4")).astype("f2"), 2e-2


@triton.autotune(
    [triton.Config({"BLOCK": block}, num_warps=warps) for block in (64, 256) for warps in (1, 4)], key=["n"]
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned_kernel(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at) if EVEN else tl.load(x + at, mask=at < n)
    tl.store(out + at, value * 2, mask=at < n)


@case
def autotune(rng):
    for size in (512, 500):
        x, out = floats(rng, size), np.zeros(size, "f4")
        tuned_kernel[lambda meta, n=size: (triton.cdiv(n, meta["BLOCK"]),)](dt.tensor(x), dt.tensor(out), size)
        yield out, x * 2, 0


@triton.jit
def attention_kernel(q, k, v, out, scale, n, D: tl.constexpr, B: tl.constexpr, CAUSAL: tl.constexpr):  # noqa: PLR0917
    row, column, head = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, D), tl.program_id(1) * n * D
    query = tl.load(q + head + row[:, None] * D + column[None, :])
    most, length = tl.full((B,), -float("inf"), tl.float32), tl.zeros((B,), tl.float32)
    total = tl.zeros((B, D), tl.float32)
    end = (tl.program_id(0) + 1) * B if CAUSAL else n
    for first in range(0, end, B):
        at = first + tl.arange(0, B)
        score = tl.dot(query, tl.trans(tl.load(k + head + at[:, None] * D + column[None, :]))) * scale
        if CAUSAL:
            score = tl.where(row[:, None] >= at[None, :], score, -float("inf"))
        now = tl.maximum(most, tl.max(score, axis=1))
        part = tl.exp(score - now[:, None])
        factor = tl.exp(most - now)
        length = length * factor + tl.sum(part, axis=1)
        total = total * factor[:, None]
        total = tl.dot(part.to(tl.float16), tl.load(v + head + at[:, None] * D + column[None, :]), total)
        most = now
    tl.store(out + head + row[:, None] * D + column[None, :], total / length[:, None])


@case
def attention(rng):
    for causal in (False, True):
        q, k, v = (floats(rng, 2, 64, 32, kind="f2") for _ in range(3))
        out = np.zeros((2, 64, 32), "f4")
        attention_kernel[(2, 2)](*map(dt.tensor, (q, k, v, out)), 0.2, 64, D=32, B=32, CAUSAL=causal)
        score = q.astype("f4") @ k.astype("f4").swapaxes(1, 2) * np.float32(0.2)
        if causal:
            score = np.where(np.tril(np.ones((64, 64), bool)), score, -np.inf)
        power = np.exp(score - score.max(2, keepdims=True))
        yield out, power / power.sum(2, keepdims=True) @ v.astype("f4"), 1e-2


# --- Descriptors, tuples, Gluon -----------------------------------------------------------------------------------


@triton.jit
def described_kernel(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    value = x.load([tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS])
    out.store([tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS], value + 1)


@case
def descriptors(rng):
    x, out = floats(rng, 40, 64), np.zeros((40, 64), "f4")
    given = (TensorDescriptor(dt.tensor(each), [40, 64], [64, 1], [16, 32]) for each in (x, out))
    described_kernel[(3, 2)](*given, ROWS=16, COLUMNS=32)
    yield out, x + 1, 0


@triton.jit
def made_descriptor_kernel(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    value = source.load([tl.program_id(0) * ROWS, 0])
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    tl.store(out + row, tl.sum(value, axis=1), mask=row < rows)


@case
def descriptors_in_kernels(rng):
    x, out = floats(rng, 20, 50), np.zeros(20, "f4")
    made_descriptor_kernel[(2,)](dt.tensor(x), dt.tensor(out), 20, 50, ROWS=16, COLUMNS=64)
    yield out, x.sum(1), 1e-4


@triton.jit
def tuple_kernel(pair, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(pair[0] + at) * pair[1])


@case
def tuples(rng):
    x, out = floats(rng, 64), np.zeros(64, "f4")
    tuple_kernel[(1,)]((dt.tensor(x), 3), dt.tensor(out), N=64)
    yield out, x * 3, 0


@gluon.jit
def gluon_kernel(x, out, N: gl.constexpr, LAYOUT: gl.constexpr, SHARED: gl.constexpr):
    at = gl.arange(0, N, layout=LAYOUT)
    kept = gl.allocate_shared_memory(gl.float32, [N], SHARED)
    kept.store(gl.load(x + at))
    gl.store(out + at, kept.load(LAYOUT) * 2)


@case
def gluon_shared(rng):
    x, out = floats(rng, 512), np.zeros(512, "f4")
    lanes = 64 if sys.argv[1].startswith("gfx9") else 32
    layout = gl.BlockedLayout([2], [lanes], [4], [0])
    shared = gl.SwizzledSharedLayout(1, 1, 1, [0])
    gluon_kernel[(1,)](dt.tensor(x), dt.tensor(out), N=512, LAYOUT=layout, SHARED=shared)
    yield out, x * 2, 0


def outcome(name: str) -> str:
    try:
        for got, want, limit in CASES[name](np.random.default_rng(1)):
            if not np.allclose(got, want, rtol=limit, atol=limit):
                wrong = ~np.isclose(got, want, rtol=limit, atol=limit)
                return f"{wrong.sum()} of {wrong.size} elements differ"
    except Exception as error:  # noqa: BLE001 (whatever it is, it is told)
        return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return "right"


def main() -> None:
    processor, checks, *names = [*sys.argv[1:], "-"]
    names = [name for name in names if name != "-"] or [*CASES]
    for name in names:
        is_debug = checks == "debug"
        with dt.use(processor, check=None if checks == "-" or is_debug else checks, debug=is_debug) as device:
            text = outcome(name)
        found = len([each for each in device.findings if each.severity == "error"])
        print(f"{name}: {text}" + (f", {found} errors" if found else ""), flush=True)


main()
