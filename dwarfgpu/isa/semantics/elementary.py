"""Functions of floats that no single operation of numpy is: roots, logarithms, angles, and the steps of a division.

Reciprocals, roots, logarithms, exponentials and trigonometric functions are within 1 ulp of the exact result here as
on the hardware, but not always the same; all others are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dwarfgpu.isa.semantics import floats

Lanes = Any

# --- Functions ----------------------------------------------------------------------------------------------------


def _through(function: Any, value: Lanes, wide: Any = np.float64) -> Lanes:
    """Apply a function with more precision than the number has."""
    return function(value.astype(wide)).astype(value.dtype)


def reciprocal(value: Lanes) -> Lanes:
    """Return 1 / x."""
    return _through(lambda number: 1.0 / number, value)


def square_root(value: Lanes) -> Lanes:
    """Return square roots."""
    return _through(np.sqrt, value)


def reciprocal_root(value: Lanes) -> Lanes:
    """Return 1 / sqrt(x)."""
    return _through(lambda number: 1.0 / np.sqrt(number), value)


def power_of_two(value: Lanes) -> Lanes:
    """Return 2^x."""
    return _through(np.exp2, value)


def logarithm(value: Lanes) -> Lanes:
    """Return logarithms to the base 2."""
    return _through(np.log2, value)


def _turned(value: Lanes, quarters: int) -> Lanes:
    """Return the sine of numbers of turns and some quarter turns: exactly 0, 1 or -1 where that is a quarter turn."""
    turns = value.astype(np.float64)
    turns -= np.floor(turns)
    nearest = np.rint(4 * turns)
    rest = (turns - nearest / 4) * (2 * np.pi)
    quadrant = nearest + quarters
    sines = np.where(quadrant % 2 == 1, np.cos(rest), np.sin(rest))
    return np.where(quadrant % 4 >= 2, 0 - sines, sines).astype(value.dtype)


def sine(value: Lanes) -> Lanes:
    """Return the sine of numbers of turns."""
    return np.where(value == 0, value, _turned(value, 0))  # the sine of -0 is -0


def cosine(value: Lanes) -> Lanes:
    """Return the cosine of numbers of turns."""
    return _turned(value, 1)


def hyperbolic_tangent(value: Lanes) -> Lanes:
    """Return hyperbolic tangents: of small and of large numbers as the document of GFX12.5 says, else the nearest ones.

    It calls what hardware computes between them a cubic approximation, and does not say how near that is.
    """
    magnitude = np.abs(value)
    near: Lanes = np.where(magnitude < 1 / 1024, magnitude, _through(np.tanh, magnitude))
    near = np.where(magnitude >= 8, value.dtype.type(1), near)
    return np.copysign(near, value)


# --- Division -----------------------------------------------------------------------------------------------------

_SCALES = {np.dtype(np.float32): (96, 64, 23, 255, 150), np.dtype(np.float64): (768, 128, 53, 2047, 1075)}


def _is_denormal(value: Lanes) -> Lanes:
    return (floats.exponents(value) == 0) & (value != 0)


def scale_for_division(value: Lanes, denominator: Lanes, numerator: Lanes) -> tuple[Lanes, Lanes]:
    """Return numbers scaled for a division, and whether the quotient is to be scaled back."""
    far, step, tiny, _highest, _lost = _SCALES[value.dtype]
    value, denominator, numerator = np.broadcast_arrays(value, denominator, numerator)
    up, down = np.ldexp(value, step), np.ldexp(value, -step)
    with np.errstate(all="ignore"):
        inverse_denormal = _is_denormal(value.dtype.type(1) / denominator)
        quotient_denormal = _is_denormal(numerator / denominator)
    is_denominator = value == denominator
    cases = (
        ((numerator == 0) | (denominator == 0), value.dtype.type(np.nan), False),
        (floats.exponents(numerator) - floats.exponents(denominator) >= far, np.where(is_denominator, up, value), True),
        (_is_denormal(denominator), up, False),
        (inverse_denormal & quotient_denormal, np.where(is_denominator, down, value), True),
        (inverse_denormal, down, False),
        (quotient_denormal, np.where(value == numerator, up, value), True),
        (floats.exponents(numerator) <= tiny, up, False),
    )
    conditions = [condition for condition, _result, _flag in cases]
    result = np.select(conditions, [np.broadcast_to(chosen, value.shape) for _c, chosen, _f in cases], value)
    flags = np.select(conditions, [np.broadcast_to(flag, value.shape) for _c, _r, flag in cases], default=False)
    return result.astype(value.dtype), flags


def fused_for_division(left: Lanes, right: Lanes, other: Lanes, scaled: Lanes) -> Lanes:
    """Return ``left * right + other`` of singles with one rounding, scaled back in lanes with a flag."""
    result = floats.fused_single(left, right, other)
    if scaled.any():
        exact = floats.fused_double(left, right, other)
        back = np.where(floats.exponents(other) > 127, 2.0**64, 2.0**-64)
        result = np.where(scaled, (exact * back).astype(np.float32), result)
    return result


def fused_long_for_division(left: Lanes, right: Lanes, other: Lanes, scaled: Lanes) -> Lanes:
    """Return ``left * right + other`` of doubles with one rounding, scaled back in lanes with a flag."""
    result = floats.fused_long(left, right, other)
    if scaled.any():
        shift = np.where(floats.exponents(other) > 1023, 128, -128)
        whole = np.ldexp(result, shift)
        # A denormal result has fewer bits, so the sum that has been rounded already is not rounded again.
        # Nor is one whose sum is finite only when it has been scaled.
        tiny = scaled & (np.abs(whole) < np.finfo(np.float64).tiny) & (result != 0)
        tiny = tiny | scaled & np.isinf(result) & np.isfinite(left) & np.isfinite(right) & np.isfinite(other)
        result = np.where(scaled, whole, result)
        tiny = np.broadcast_to(tiny, result.shape)
        columns = [np.broadcast_to(column, result.shape)[tiny] for column in (left, right, other, shift)]
        result[tiny] = floats.fused_apart(*columns)
    return result


def fix_division(quotient: Lanes, denominator: Lanes, numerator: Lanes) -> Lanes:
    """Return quotients, and what special cases give instead."""
    kind = quotient.dtype.type
    quotient, denominator, numerator = np.broadcast_arrays(quotient, denominator, numerator)
    sign = np.where(np.signbit(denominator) ^ np.signbit(numerator), kind(-1), kind(1))
    infinite = np.isinf(denominator), np.isinf(numerator)
    cases = [
        (np.isnan(numerator), numerator),
        (np.isnan(denominator), denominator),
        ((denominator == 0) & (numerator == 0) | infinite[0] & infinite[1], np.full(quotient.shape, np.nan, kind)),
        ((denominator == 0) | infinite[1], sign * kind(np.inf)),
        (infinite[0] | (numerator == 0), sign * kind(0)),
    ]
    if kind is not np.float16:
        _far, _step, _tiny, highest, lost = _SCALES[quotient.dtype]
        cases += [
            (floats.exponents(numerator) - floats.exponents(denominator) < -lost, sign * kind(0)),
            (floats.exponents(denominator) == highest, sign * kind(np.inf)),
            # OPEN: no document says so, but a quotient that is too large is no NaN, as which it comes out of the steps.
            (np.isnan(quotient), sign * kind(np.inf)),
        ]
    return np.select([condition for condition, _ in cases], [chosen for _, chosen in cases], sign * np.abs(quotient))


# --- Reduction of angles ------------------------------------------------------------------------------------------

_TWO_BY_PI = int(
    "145f306dc9c882a53f84eafa3ea69bb81b6c52b3278872083fca2c757bd778ac36e48dc74849ba5c00c925dd413a32439fc3"
    "bd63962534e7dd1046bea5d768909d338e04d68befc827323ac7306a673e93908bf177bf250763ff12fffbc0b301fde5e231"
    "6b414da3eda6cfd9e4f96136e9e8c7ecd3cbfd45aea4f758fd7cbe2f67a0e73ef14a525d4d7f6bf623f1aba10ac06608df8f"
    "6",
    16,
)
"""The first 1201 bits of 2 / pi behind the point."""


def _part_of_two_by_pi(exponent: int, segment: int) -> float:
    """Return 53 bits of 2 / pi, as many of them shifted away as a number of an exponent makes whole turns of."""
    shift = 53 * (segment & 31) + max(exponent - 1077, 0)
    part = (_TWO_BY_PI << shift & (1 << 1201) - 1) >> 1201 - 53
    scale = -53 - shift + (128 if exponent >= 1968 else 0)
    return float(np.ldexp(np.float64(part), scale))


def part_of_two_by_pi(value: Lanes, segment: Lanes) -> Lanes:
    """Return 53 bits of 2 / pi for a segment and the exponent of a number."""
    exponent, segment = np.broadcast_arrays(floats.exponents(value), segment)
    results = [
        _part_of_two_by_pi(*pair) for pair in zip(exponent.ravel().tolist(), segment.ravel().tolist(), strict=True)
    ]
    return np.array(results, np.float64).reshape(exponent.shape)
