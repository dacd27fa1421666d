"""The functions that formulas call, for columns: arrays with one element for each wave and lane, never changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from dwarfgpu.isa.semantics import dots, elementary, floats
from dwarfgpu.isa.semantics.narrow_floats import to_bf16

Lanes: TypeAlias = Any
"""An array ``[wave, lane]``."""

MANY = 1024
"""From so many lanes on it pays to ask whether all have the same."""


def merged(flags: Lanes, new: Lanes, old: Lanes) -> Lanes:
    """Return integers: new ones in lanes with a flag, old ones in others."""
    if not flags.ndim or max(flags.size, new.size, old.size) < MANY:
        return np.where(flags, new, old)
    # np.where asks for each lane, which costs several times as much where its answers follow no pattern.
    words = flags.astype(f"i{new.dtype.itemsize}")
    words = np.negative(words, out=words).view(new.dtype)
    chosen = new ^ old
    chosen = np.bitwise_and(chosen, words, out=chosen if chosen.shape == np.broadcast(chosen, words).shape else None)
    chosen ^= old
    return chosen


# --- Bits of integers ---------------------------------------------------------------------------------------------


def reversed_bits(value: Lanes) -> Lanes:
    """Return 32-bit numbers with their bits in the opposite order."""
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        value = value >> shift & mask | (value & mask) << shift
    return value >> 16 | value << 16


def ones(value: Lanes) -> Lanes:
    """Return the number of ones in 32-bit numbers."""
    value = value - (value >> 1 & 0x55555555)
    value = (value & 0x33333333) + (value >> 2 & 0x33333333)
    return (value + (value >> 4) & 0x0F0F0F0F) * np.uint32(0x01010101) >> 24


def width_of(value: Lanes) -> Lanes:
    """Return the number of bits up to the highest one of 32-bit numbers."""
    return np.frexp(value.astype(np.float64))[1].astype(np.uint32)


def leading_zeros(value: Lanes) -> Lanes:
    """Return how many zeros are above the highest 1 of 32-bit numbers."""
    return np.where(value == 0, np.uint32(0xFFFFFFFF), 32 - width_of(value))


def lowest_one(value: Lanes) -> Lanes:
    """Return the position of the lowest 1 of 32-bit numbers."""
    return np.where(value == 0, np.uint32(0xFFFFFFFF), width_of(value & -value) - 1)


def leading_signs(value: Lanes) -> Lanes:
    """Return how many of the highest bits of 32-bit numbers are alike."""
    return leading_zeros((value ^ value >> 31).view(np.uint32))


def permute_bytes(high: Lanes, low: Lanes, selector: Lanes) -> Lanes:
    """Return numbers whose bytes a third number chooses from two."""
    both = high.astype(np.uint64) << 32 | low.astype(np.uint64)
    result: Lanes = np.zeros((1, 1), np.uint32)
    for index in range(4):
        chosen = (selector >> (8 * index) & 0xFF).astype(np.uint64)
        byte = both >> (chosen & 7) * 8 & 0xFF
        sign = np.where(both >> ((chosen & 3) * 16 + 15) & 1, 0xFF, 0).astype(np.uint64)
        constant = np.where(chosen == 12, 0, 0xFF).astype(np.uint64)
        byte = np.where(chosen < 8, byte, np.where(chosen < 12, sign, constant))
        result = result | byte.astype(np.uint32) << (8 * index)
    return result


# --- Conversions and classes of floats ----------------------------------------------------------------------------


def saturated(value: Lanes, kind: Any) -> Lanes:
    """Return floats that are whole numbers as integers of a type, the nearest ones where they do not fit."""
    limits = np.iinfo(kind)
    number = np.where(np.isnan(value), 0.0, value.astype(np.float64))
    return np.clip(number, float(limits.min), float(limits.max)).astype(np.int64).astype(kind)


def half_to_zero(value: Lanes) -> Lanes:
    """Return the bits of the half next to a single in the direction of zero."""
    with np.errstate(over="ignore"):
        half = value.astype(np.float16)
        too_far = np.abs(half.astype(np.float64)) > np.abs(value.astype(np.float64))
    bits = half.view(np.uint16).astype(np.uint32)
    return np.where(too_far & ~np.isnan(value) & ~np.isinf(value), bits - 1, bits)


_FRACTIONS = {2: 10, 4: 23, 8: 52}
"""The bits of the fraction, by the bytes of a float."""


def is_class(value: Lanes, wanted: Lanes) -> Lanes:
    """Return whether a float is of one of the classes that are bits of a mask."""
    size = value.dtype.itemsize
    bits = value.view(f"u{size}")
    fraction_bits = _FRACTIONS[size]
    one: Any = bits.dtype.type(1)
    fraction = bits & ((one << fraction_bits) - one)
    exponent = bits >> fraction_bits & ((one << (8 * size - 1 - fraction_bits)) - one)
    highest = (one << (8 * size - 1 - fraction_bits)) - one
    negative = bits >> (8 * size - 1) != 0
    is_nan = (exponent == highest) & (fraction != 0)
    quiet = fraction >> (fraction_bits - 1) != 0
    magnitude = np.where(exponent == highest, 0, np.where(exponent != 0, 1, np.where(fraction != 0, 2, 3)))
    # signalling NaN, quiet NaN, -infinity, -normal, -denormal, -0, +0, +denormal, +normal, +infinity
    number = np.where(is_nan, np.where(quiet, 1, 0), np.where(negative, 2 + magnitude, 9 - magnitude))
    return (wanted >> number.astype(np.uint32) & 1) != 0


def fraction(value: Lanes) -> Lanes:
    """Return what floats have behind the point, below 1."""
    one = value.dtype.type(1)
    return np.minimum(value - np.floor(value), np.nextafter(one, value.dtype.type(0)))


def scale(value: Lanes, exponent: Lanes) -> Lanes:
    """Return floats times powers of 2."""
    if value.dtype == np.float16:
        return np.ldexp(value.astype(np.float32), exponent.astype(np.int32)).astype(np.float16)
    return np.ldexp(value, exponent)


def mantissa(value: Lanes) -> Lanes:
    """Return floats with the exponent 0; infinities and NaNs as they are."""
    return np.where(np.isfinite(value), np.frexp(value)[0], value)


def exponent(value: Lanes) -> Lanes:
    """Return the exponents of floats, 0 for infinities and NaNs."""
    return np.where(np.isfinite(value), np.frexp(value)[1], 0).astype(np.int32)


# --- Names --------------------------------------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": np.minimum, "max": np.maximum, "min f": floats.smaller, "max f": floats.larger, "clamp": np.clip,
    "ones": ones, "clz": leading_zeros, "ctz": lowest_one, "cls": leading_signs, "reversed": reversed_bits,
    "permute_bytes": permute_bytes,
    "fma f16": floats.fused_half, "fma f32": floats.fused_single, "fma f64": floats.fused_long,
    "abs": np.abs, "isnan": np.isnan, "is_class": is_class, "trunc": np.trunc, "floor": np.floor, "ceil": np.ceil,
    "rint": np.rint, "fract": fraction, "ldexp": scale, "frexp_mant": mantissa, "frexp_exp": exponent,
    "rcp": elementary.reciprocal, "sqrt": elementary.square_root, "rsq": elementary.reciprocal_root,
    "exp2": elementary.power_of_two, "log2": elementary.logarithm, "sin": elementary.sine, "cos": elementary.cosine,
    "tanh": elementary.hyperbolic_tangent,
    "bf16": to_bf16, "rtz_f16": half_to_zero,
    "div_scale": elementary.scale_for_division, "div_fmas f32": elementary.fused_for_division,
    "div_fmas f64": elementary.fused_long_for_division, "div_fixup": elementary.fix_division,
    "trig_preop": elementary.part_of_two_by_pi,
    **dots.FUNCTIONS,
}  # fmt: skip
"""The functions by name; with a type or a kind of types of the first argument where there is another one for these."""
