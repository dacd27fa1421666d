"""Dot products: sums of the products of the parts of two registers, and a third number.

Integers are exact. Of floats, no document says how often a sum is rounded; here it is once: the products are exact in
doubles, and so are most sums; those that are not are added as fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dwarfgpu.isa.semantics.floats import rounded_to_odd
from dwarfgpu.isa.semantics.narrow_floats import FORMATS, from_bf16, to_bf16, widened

Lanes = Any

# --- Integers -----------------------------------------------------------------------------------------------------


def parts(value: Lanes, bits: int, *, is_signed: bool) -> Iterator[Lanes]:
    """Yield the parts of 32-bit numbers as 64-bit integers, the lowest first."""
    for first in range(0, 32, bits):
        if is_signed:
            yield (value.view(np.int32) << 32 - bits - first >> 32 - bits).astype(np.int64)
        else:
            yield (value >> first & (1 << bits) - 1).astype(np.int64)


def integer_dot(
    bits: int, *, left_signed: bool, right_signed: bool, clamps: bool = False
) -> Callable[[Lanes, Lanes, Lanes], Lanes]:
    """Return the dot product of parts of some bits, whose sum has the type of the third source."""

    def dot(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
        pairs = zip(parts(left, bits, is_signed=left_signed), parts(right, bits, is_signed=right_signed), strict=True)
        total = sum(a * b for a, b in pairs) + other.astype(np.int64)
        kind = np.uint32 if other.dtype == np.uint32 else np.int32
        if clamps:
            total = np.clip(total, np.iinfo(kind).min, np.iinfo(kind).max)
        return total.astype(kind)

    return dot


# --- Floats -------------------------------------------------------------------------------------------------------


def halfs(value: Lanes) -> list[Any]:
    """Return the halfs in registers, as doubles."""
    return [(value >> first & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float64) for first in (0, 16)]


def bf16s(value: Lanes) -> list[Any]:
    """Return the bf16 numbers in registers, as doubles."""
    return [from_bf16(value >> first & 0xFFFF).astype(np.float64) for first in (0, 16)]


def _bytes(name: str) -> Callable[[Lanes], list[Any]]:
    form = FORMATS[name, False]
    return lambda value: [widened(value >> first & 0xFF, form).astype(np.float64) for first in range(0, 32, 8)]


def _sum(left: list[Any], right: list[Any], other: Lanes) -> Any:
    """Return sums as doubles that round to the right number: where one is not exact, its last bit says so."""
    terms = [a * b for a, b in zip(left, right, strict=True)]
    total = other.astype(np.float64)
    inexact: Any = np.zeros((1, 1), bool)
    for term in terms:
        before, total = total, total + term
        part = total - before
        inexact = inexact | ((before - (total - part)) + (term - part) != 0)
    inexact = inexact & np.isfinite(total)
    if inexact.any():
        total = np.array(total)
        columns = [np.broadcast_to(column, total.shape) for column in (other, *terms)]
        for index in zip(*np.nonzero(np.broadcast_to(inexact, total.shape)), strict=True):
            total[index] = rounded_to_odd(sum(Fraction(float(column[index])) for column in columns))
    return total


def dot_halfs(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    """Return dot products of halfs, with a single or a half."""
    return _sum(halfs(left), halfs(right), other).astype(other.dtype)


def dot_bf16(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    """Return dot products of bf16 numbers, with a single or the bits of a bf16 number."""
    if other.dtype == np.float32:
        return _sum(bf16s(left), bf16s(right), other).astype(np.float32)
    return to_bf16(_sum(bf16s(left), bf16s(right), from_bf16(other)).astype(np.float32))


def _of_bytes(left_name: str, right_name: str) -> Callable[[Lanes, Lanes, Lanes], Lanes]:
    left_bytes, right_bytes = _bytes(left_name), _bytes(right_name)
    return lambda left, right, other: _sum(left_bytes(left), right_bytes(right), other).astype(np.float32)


FUNCTIONS: dict[str, Callable[[Lanes, Lanes, Lanes], Lanes]] = {
    **{
        f"dot_{letters}{bits}": integer_dot(bits, left_signed=letters == "i", right_signed=letters == "i")
        for bits in (16, 8, 4)
        for letters in ("i", "u", "iu")
        if (letters, bits) != ("iu", 16)
    },
    "dot_f16": dot_halfs,
    "dot_bf16": dot_bf16,
    **{f"dot_{left}_{right}": _of_bytes(left, right) for left in ("fp8", "bf8") for right in ("fp8", "bf8")},
}
"""The dot products, by the names that formulas have for them."""
