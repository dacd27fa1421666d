"""Floating point arithmetic that numpy does not have: multiplication and addition with one rounding, and others.

The rounding is to nearest, ties to even. A number of lanes is done at once; the rare cases that the fast way could
round twice are found and done again exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import Any

import numpy as np

Lanes = Any

_ABOVE_TIE = np.uint64(64 - 28)
"""The bits of a double from the first one that a single does not have: it is the last that a tie may have."""
_SPLIT = 134217729.0  # 2^27 + 1
_FAR = 150
"""More than twice the bits of a double: so far apart, the greater of two summands hides the bits of the other."""


def left_first(operation: np.ufunc) -> Callable[[Lanes, Lanes], Lanes]:
    """Return a sum or product of floats that is the left one of two NaNs.

    Which of them numpy gives depends on the processor, on the place in the array and on whether an operand is one
    number.
    """

    def run(left: Lanes, right: Lanes) -> Lanes:
        result = operation(left, right)
        if 1 in np.isnan(result).tobytes():
            return np.where(np.isnan(left), left + left, result)
        return result

    return run


multiplied = left_first(np.multiply)


def _product_first(operation: Callable[[Lanes, Lanes, Lanes], Lanes]) -> Callable[[Lanes, Lanes, Lanes], Lanes]:
    """Return a sum of a product that is the product where that is a NaN, whatever is added."""

    @wraps(operation)
    def run(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
        result = operation(left, right, other)
        if 1 in np.isnan(result).tobytes():
            product = multiplied(left, right)
            return np.where(np.isnan(product), product, result)
        return result

    return run


def fused_double(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    """Return ``left * right + other`` of singles as doubles that round to the right single: rounded to odd."""
    product = left.astype(np.float64) * right.astype(np.float64)  # exact
    addend = other.astype(np.float64)
    total = product + addend
    return _to_odd(total, product, addend)


def _to_odd(total: Lanes, left: Lanes, right: Lanes) -> Lanes:
    """Return a sum of doubles rounded to odd: an inexact one has its last bit set, and is no tie if rounded again."""
    part = total - left
    error = (left - (total - part)) + (right - part)
    bits = total.view(np.int64)
    inexact = (error != 0) & np.isfinite(total) & (bits & 1 == 0)
    if not inexact.any():
        return total
    step = np.where((error > 0) == (total > 0), 1, -1)
    step = np.where(total == 0, 0, step)
    return np.where(inexact, bits + step, bits).view(np.float64)


@_product_first
def fused_single(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    """Return ``left * right + other`` of singles with one rounding."""
    product = left.astype(np.float64)  # exact
    fits = right.size == 1 or right.shape == left.shape
    product = np.multiply(product, right.astype(np.float64), out=product if fits else None)
    addend = other.astype(np.float64)
    total = product + addend
    result = total.astype(np.float32)
    # Where the sum of doubles is half way between two singles, it may have been rounded twice. The last 28 bits of such
    # a double are 0, also where the singles are denormal and have fewer bits.
    low = np.left_shift(total.view(np.uint64), _ABOVE_TIE)
    if low.size and not low.min():
        # An exact sum is rounded once; where the greater summand taken from a sum leaves the other, it is exact.
        rest = np.subtract(total, product, out=low.view(np.float64))  # in memory that the cache has
        is_exact = rest == addend
        is_exact &= np.subtract(total, addend, out=rest) == product
        if not is_exact.all():
            doubtful = (total.view(np.uint64) << _ABOVE_TIE == 0) & ~is_exact
            np.copyto(result, _to_odd(total, product, addend).astype(np.float32), where=doubtful)
    return result


@_product_first
def fused_half(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    """Return ``left * right + other`` of halfs with one rounding."""
    product = left.astype(np.float64) * right.astype(np.float64)
    addend = other.astype(np.float64)
    return _to_odd(product + addend, product, addend).astype(np.float16)


@_product_first
def fused_long(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    """Return ``left * right + other`` of doubles with one rounding."""
    left, right, other = np.broadcast_arrays(left, right, other)
    product = left * right
    magnitudes = np.maximum(np.abs(product), np.abs(other))
    safe = (magnitudes < 2.0**995) & (np.abs(product) > 2.0**-900)
    safe &= np.maximum(np.abs(left), np.abs(right)) < 2.0**990
    high, rest = _fused_parts(left, right, other)
    result = np.where(safe, high + rest, product + other)  # also of infinities
    again = ~safe & (left != 0) & (right != 0) & np.isfinite(left) & np.isfinite(right) & np.isfinite(other)
    if again.any():
        result[again] = fused_apart(left[again], right[again], other[again])
    # A product of finite numbers is finite, however large.
    too_large = np.isinf(product) & np.isinf(other) & np.isfinite(left) & np.isfinite(right)
    return np.where(too_large, other, result) if too_large.any() else result


def _fused_parts(left: Lanes, right: Lanes, other: Lanes) -> tuple[Lanes, Lanes]:
    """Return two doubles whose sum is ``left * right + other``, the second one rounded to odd.

    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd".
    """
    product = left * right
    low = _product_error(left, right, product)
    high, error = _two_sum(product, other)
    return high, _to_odd(low + error, low, error)


def fused_apart(left: Lanes, right: Lanes, other: Lanes, shift: Lanes = 0) -> Lanes:
    """Return ``(left * right + other) * 2**shift`` of finite doubles with one rounding: exponents are added apart.

    Input: lengths of vectors of doubles of any size; it takes a fiftieth of the time that fractions take.
    """
    (left, power), (right, more), (part, own) = np.frexp(left), np.frexp(right), np.frexp(other)
    power = np.where(left * right == 0, own, power + more)
    # What is farther away only decides between neighbours.
    power = np.where(part == 0, power, np.maximum(power, own - _FAR))
    high, rest = _fused_parts(left, right, np.ldexp(part, np.maximum(own - power, -_FAR)))
    total, power = high + rest, power + shift
    result = np.ldexp(total, power)
    small = np.abs(result) <= np.finfo(np.float64).tiny  # it has fewer bits: it is rounded to the last one of these
    if small.any():
        power = np.maximum(power, -_FAR - 1200)  # below, it is 0
        coarse = np.copysign(np.ldexp(1.0, np.where(small, 52 - 1074 - power, 0)), total)
        sum_, error = _two_sum(coarse, high)
        rounded = sum_ + _to_odd(error + rest, error, rest) - coarse
        result = np.where(small, np.copysign(np.ldexp(rounded, power), total), result)
    return result


def rounded_to_odd(exact: Fraction | int) -> float:
    """Return a fraction as a double; if no double is equal to it, the neighbour whose last bit is 1."""
    nearest = float(exact)
    if Fraction(nearest) == exact or int(np.float64(nearest).view(np.int64)) & 1:
        return nearest
    return float(np.nextafter(nearest, np.inf if exact > Fraction(nearest) else -np.inf))


def _product_error(left: Lanes, right: Lanes, product: Lanes) -> Lanes:
    """Return what a product of doubles lacks (Veltkamp and Dekker)."""
    left_high, left_low = _halves(left)
    right_high, right_low = _halves(right)
    error = left_high * right_high - product
    error = error + left_high * right_low
    error = error + left_low * right_high
    return error + left_low * right_low


def _halves(value: Lanes) -> tuple[Lanes, Lanes]:
    scaled = value * _SPLIT
    high = scaled - (scaled - value)
    return high, value - high


def _two_sum(left: Lanes, right: Lanes) -> tuple[Lanes, Lanes]:
    total = left + right
    part = total - left
    return total, (left - (total - part)) + (right - part)


def smaller(left: Lanes, right: Lanes) -> Lanes:
    """Return the smaller number; a NaN is no number; -0 is smaller than +0."""
    result = np.where(left == right, np.where(np.signbit(left), left, right), np.fmin(left, right))
    return _number_of_both(result, left, right)


def larger(left: Lanes, right: Lanes) -> Lanes:
    """Return the larger number; a NaN is no number; +0 is larger than -0."""
    result = np.where(left == right, np.where(np.signbit(left), right, left), np.fmax(left, right))
    return _number_of_both(result, left, right)


def _number_of_both(result: Lanes, left: Lanes, right: Lanes) -> Lanes:
    """Return a minimum or maximum without a NaN where one source is a number.

    What numpy gives for a signalling NaN depends on the processor and on the length of the array.
    """
    is_nan = np.isnan(result)
    return np.where(is_nan, np.where(np.isnan(left), right, left), result) if is_nan.any() else result


def is_signalling(value: Lanes) -> Lanes:
    """Return where floats are signalling NaNs: the highest bit of the fraction is 0."""
    size = value.dtype.itemsize
    quiet = {2: 9, 4: 22, 8: 51}[size]
    return np.isnan(value) & (value.view(f"u{size}") >> quiet & 1 == 0)


def quieted(function: Any) -> Any:
    """Return a minimum or maximum as MODE.IEEE wants it: a signalling NaN gives a NaN.

    Operations on three numbers are one on two whose result, which is quiet, meets the third number.
    """

    def run(*sources: Lanes) -> Lanes:
        result = function(*sources)
        last = sources[-1]
        signalling = is_signalling(last)
        if len(sources) == 2:
            signalling = signalling | is_signalling(sources[0])
        return np.where(signalling, result.dtype.type(np.nan), result) if signalling.any() else result

    return run


def exponents(value: Lanes) -> Lanes:
    """Return the exponent fields of floats."""
    if value.dtype == np.float64:
        return (value.view(np.uint64) >> np.uint64(52) & np.uint64(0x7FF)).astype(np.int32)
    return (value.view(np.uint32) >> 23 & 0xFF).astype(np.int32)
