"""Dot products: sums of the products of the parts of two registers, and a third number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dwarfgpu.isa.semantics.integer_rows import Lanes
from dwarfgpu.isa.semantics.rows import vector


def parts(value: Lanes, bits: int, *, is_signed: bool) -> Iterator[Lanes]:
    """Yield the parts of 32-bit numbers as 64-bit integers, the lowest first."""
    for first in range(0, 32, bits):
        if is_signed:
            yield (value.view(np.int32) << 32 - bits - first >> 32 - bits).astype(np.int64)
        else:
            yield (value >> first & (1 << bits) - 1).astype(np.int64)


def _integer(bits: int, left_signed: bool, right_signed: bool) -> Callable[[Lanes, Lanes, Lanes], Lanes]:  # noqa: FBT001
    def dot(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
        pairs = zip(parts(left, bits, is_signed=left_signed), parts(right, bits, is_signed=right_signed), strict=True)
        total = sum(a * b for a, b in pairs) + other.astype(np.int64)
        return total.astype(np.uint32 if other.dtype == np.uint32 else np.int32)

    return dot


def _accumulated(dot: Callable[[Lanes, Lanes, Lanes], Lanes]) -> Callable[[Lanes, Lanes, Lanes], Lanes]:
    return lambda old, left, right: dot(left, right, old)


for _count, _bits in ((2, 16), (4, 8), (8, 4)):
    _signed = _integer(_bits, left_signed=True, right_signed=True)
    _unsigned = _integer(_bits, left_signed=False, right_signed=False)
    _text = f"D = sum of the {_count} products of the parts of S0 and S1, plus S2"
    vector(f"v_dot{_count}_i32_i{_bits}", "b32 b32 i32 -> i32", _text)(_signed)
    vector(f"v_dot{_count}_u32_u{_bits}", "b32 b32 u32 -> u32", _text)(_unsigned)
    _text = f"D = sum of the {_count} products of the parts of S0 and S1, plus D"
    vector(f"v_dot{_count}c_i32_i{_bits}", "i32 b32 b32 -> i32", _text)(_accumulated(_signed))


def _halfs(value: Lanes) -> tuple[Any, Any]:
    return tuple((value >> first & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float64) for first in (0, 16))


@vector("v_dot2_f32_f16", "b32 b32 f32 -> f32", "D = S0.f16[0] * S1.f16[0] + S0.f16[1] * S1.f16[1] + S2")
def dot_halfs(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    # OPEN: the documents do not say how often the sum is rounded; here once, from doubles.
    (a, b), (c, d) = _halfs(left), _halfs(right)
    return (a * c + b * d + other.astype(np.float64)).astype(np.float32)


@vector(
    "v_dot2c_f32_f16 v_dot2acc_f32_f16", "f32 b32 b32 -> f32", "D = S0.f16[0] * S1.f16[0] + S0.f16[1] * S1.f16[1] + D"
)
def accumulate_halfs(old: Lanes, left: Lanes, right: Lanes) -> Lanes:
    return dot_halfs(left, right, old)
