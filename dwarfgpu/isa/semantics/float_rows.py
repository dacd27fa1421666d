"""Vector operations on floats: arithmetic, rounding, parts of numbers, division, and functions.

Reciprocals, roots, logarithms, exponentials and trigonometric functions are within 1 ulp of the exact result here as
on the hardware, but not always the same; all others are exact. Denormal numbers are kept or flushed, and results
clamped and multiplied, by what reads and writes the operands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dwarfgpu.isa.semantics import floats
from dwarfgpu.isa.semantics.integer_rows import Lanes
from dwarfgpu.isa.semantics.rows import vector

# --- Arithmetic ---------------------------------------------------------------------------------------------------


@vector("v_add_f32", "f32 f32 -> f32", "D = S0 + S1")
@vector("v_add_f16", "f16 f16 -> f16", "D = S0 + S1")
@vector("v_add_f64", "f64 f64 -> f64", "D = S0 + S1")
def add(left: Lanes, right: Lanes) -> Lanes:
    return left + right


@vector("v_sub_f32", "f32 f32 -> f32", "D = S0 - S1")
@vector("v_sub_f16", "f16 f16 -> f16", "D = S0 - S1")
def subtract(left: Lanes, right: Lanes) -> Lanes:
    return left - right


@vector("v_subrev_f32", "f32 f32 -> f32", "D = S1 - S0")
@vector("v_subrev_f16", "f16 f16 -> f16", "D = S1 - S0")
def subtract_reversed(left: Lanes, right: Lanes) -> Lanes:
    return right - left


@vector("v_mul_f32", "f32 f32 -> f32", "D = S0 * S1")
@vector("v_mul_f16", "f16 f16 -> f16", "D = S0 * S1")
@vector("v_mul_f64", "f64 f64 -> f64", "D = S0 * S1")
def multiply(left: Lanes, right: Lanes) -> Lanes:
    return left * right


@vector("v_mul_legacy_f32 v_mul_dx9_zero_f32", "f32 f32 -> f32", "D = S0 * S1; 0 if either is 0")
def multiply_legacy(left: Lanes, right: Lanes) -> Lanes:
    return np.where((left == 0) | (right == 0), np.float32(0), left * right)


@vector("v_fma_f32", "f32 f32 f32 -> f32", "D = S0 * S1 + S2, rounded once")
@vector("v_fmaak_f32 v_fmamk_f32", "f32 f32 f32 -> f32", "D = S0 * K + S1 or S0 * S1 + K, rounded once")
def fused(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return floats.fused_single(left, right, other)


@vector("v_fma_f16", "f16 f16 f16 -> f16", "D = S0 * S1 + S2, rounded once")
@vector("v_fmaak_f16 v_fmamk_f16", "f16 f16 f16 -> f16", "D = S0 * K + S1 or S0 * S1 + K, rounded once")
def fused_half(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return floats.fused_half(left, right, other)


@vector("v_fma_f64", "f64 f64 f64 -> f64", "D = S0 * S1 + S2, rounded once")
def fused_long(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return floats.fused_long(left, right, other)


@vector("v_fmac_f32", "f32 f32 f32 -> f32", "D = S0 * S1 + D, rounded once")
def accumulate(old: Lanes, left: Lanes, right: Lanes) -> Lanes:
    return floats.fused_single(left, right, old)


@vector("v_fmac_f16", "f16 f16 f16 -> f16", "D = S0 * S1 + D, rounded once")
def accumulate_half(old: Lanes, left: Lanes, right: Lanes) -> Lanes:
    return floats.fused_half(left, right, old)


@vector("v_fmac_f64", "f64 f64 f64 -> f64", "D = S0 * S1 + D, rounded once")
def accumulate_long(old: Lanes, left: Lanes, right: Lanes) -> Lanes:
    return floats.fused_long(left, right, old)


@vector("v_mac_f32", "f32 f32 f32 -> f32", "D = S0 * S1 + D, rounded twice")
@vector("v_mac_f16", "f16 f16 f16 -> f16", "D = S0 * S1 + D, rounded twice")
def accumulate_rounded(old: Lanes, left: Lanes, right: Lanes) -> Lanes:
    return left * right + old


@vector("v_mad_f32", "f32 f32 f32 -> f32", "D = S0 * S1 + S2, rounded twice")
@vector("v_mad_f16 v_mad_legacy_f16", "f16 f16 f16 -> f16", "D = S0 * S1 + S2, rounded twice")
@vector("v_madak_f32 v_madmk_f32", "f32 f32 f32 -> f32", "D = S0 * K + S1 or S0 * S1 + K, rounded twice")
@vector("v_madak_f16 v_madmk_f16", "f16 f16 f16 -> f16", "D = S0 * K + S1 or S0 * S1 + K, rounded twice")
def multiply_add(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return left * right + other


@vector("v_fma_legacy_f16", "f16 f16 f16 -> f16", "D = S0 * S1 + S2, rounded once")
def fused_half_legacy(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return floats.fused_half(left, right, other)


@vector("v_fma_legacy_f32 v_fma_dx9_zero_f32", "f32 f32 f32 -> f32", "D = S0 * S1 + S2, rounded once; 0 * x is 0")
def fused_legacy(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return np.where((left == 0) | (right == 0), np.float32(0) + other, floats.fused_single(left, right, other))


@vector("v_fmac_legacy_f32 v_fmac_dx9_zero_f32", "f32 f32 f32 -> f32", "D = S0 * S1 + D, rounded once; 0 * x is 0")
def accumulate_legacy(old: Lanes, left: Lanes, right: Lanes) -> Lanes:
    return fused_legacy(left, right, old)


@vector("v_mad_legacy_f32", "f32 f32 f32 -> f32", "D = S0 * S1 + S2, rounded twice; 0 * x is 0")
def multiply_add_legacy(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return multiply_legacy(left, right) + other


@vector(
    "v_mullit_f32", "f32 f32 f32 -> f32", "D = S0 * S1, 0 * x is 0; -max if S1 is -max, -inf or NaN, or S2 <= 0 or NaN"
)
def multiply_for_light(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    lowest = np.finfo(np.float32).min
    is_off = (right == lowest) | (right == -np.inf) | np.isnan(right) | ~(other > 0)
    return np.where(is_off, lowest, multiply_legacy(left, right))


# --- Minimum and maximum ------------------------------------------------------------------------------------------


@vector("v_min_f32 v_min_num_f32", "f32 f32 -> f32", "D = min(S0, S1); the number if the other is a NaN")
@vector("v_min_f16 v_min_num_f16", "f16 f16 -> f16", "D = min(S0, S1); the number if the other is a NaN")
@vector("v_min_f64 v_min_num_f64", "f64 f64 -> f64", "D = min(S0, S1); the number if the other is a NaN")
def minimum(left: Lanes, right: Lanes) -> Lanes:
    return floats.smaller(left, right)


@vector("v_max_f32 v_max_num_f32", "f32 f32 -> f32", "D = max(S0, S1); the number if the other is a NaN")
@vector("v_max_f16 v_max_num_f16", "f16 f16 -> f16", "D = max(S0, S1); the number if the other is a NaN")
@vector("v_max_f64 v_max_num_f64", "f64 f64 -> f64", "D = max(S0, S1); the number if the other is a NaN")
def maximum(left: Lanes, right: Lanes) -> Lanes:
    return floats.larger(left, right)


@vector("v_min3_f32 v_min3_num_f32", "f32 f32 f32 -> f32", "D = min(S0, S1, S2)")
@vector("v_min3_f16 v_min3_num_f16", "f16 f16 f16 -> f16", "D = min(S0, S1, S2)")
def minimum_of_three(first: Lanes, second: Lanes, third: Lanes) -> Lanes:
    return floats.smaller(floats.smaller(first, second), third)


@vector("v_max3_f32 v_max3_num_f32", "f32 f32 f32 -> f32", "D = max(S0, S1, S2)")
@vector("v_max3_f16 v_max3_num_f16", "f16 f16 f16 -> f16", "D = max(S0, S1, S2)")
def maximum_of_three(first: Lanes, second: Lanes, third: Lanes) -> Lanes:
    return floats.larger(floats.larger(first, second), third)


@vector("v_med3_f32 v_med3_num_f32", "f32 f32 f32 -> f32", "D = the middle one; the smallest if one is a NaN")
@vector("v_med3_f16 v_med3_num_f16", "f16 f16 f16 -> f16", "D = the middle one; the smallest if one is a NaN")
def middle(first: Lanes, second: Lanes, third: Lanes) -> Lanes:
    low, high = floats.smaller(first, second), floats.larger(first, second)
    ordered = floats.larger(low, floats.smaller(high, third))
    is_nan = np.isnan(first) | np.isnan(second) | np.isnan(third)
    return np.where(is_nan, minimum_of_three(first, second, third), ordered)


@vector("v_minimum_f32", "f32 f32 -> f32", "D = minimum(S0, S1) of IEEE 754-2019: a NaN if one is")
@vector("v_minimum_f16", "f16 f16 -> f16", "D = minimum(S0, S1) of IEEE 754-2019: a NaN if one is")
@vector("v_minimum_f64", "f64 f64 -> f64", "D = minimum(S0, S1) of IEEE 754-2019: a NaN if one is")
def minimum_or_nan(left: Lanes, right: Lanes) -> Lanes:
    return np.where(np.isnan(left) | np.isnan(right), left + right, floats.smaller(left, right))


@vector("v_maximum_f32", "f32 f32 -> f32", "D = maximum(S0, S1) of IEEE 754-2019: a NaN if one is")
@vector("v_maximum_f16", "f16 f16 -> f16", "D = maximum(S0, S1) of IEEE 754-2019: a NaN if one is")
@vector("v_maximum_f64", "f64 f64 -> f64", "D = maximum(S0, S1) of IEEE 754-2019: a NaN if one is")
def maximum_or_nan(left: Lanes, right: Lanes) -> Lanes:
    return np.where(np.isnan(left) | np.isnan(right), left + right, floats.larger(left, right))


def _then(first: Any, second: Any) -> Any:
    return lambda left, right, other: second(first(left, right), other)


for _type in ("f32", "f16"):
    for _names, _text, _function in (
        ("minimum3", "minimum(minimum(S0, S1), S2)", _then(minimum_or_nan, minimum_or_nan)),
        ("maximum3", "maximum(maximum(S0, S1), S2)", _then(maximum_or_nan, maximum_or_nan)),
        ("minimummaximum", "maximum(minimum(S0, S1), S2)", _then(minimum_or_nan, maximum_or_nan)),
        ("maximumminimum", "minimum(maximum(S0, S1), S2)", _then(maximum_or_nan, minimum_or_nan)),
        ("minmax minmax_num", "max(min(S0, S1), S2)", _then(minimum, maximum)),
        ("maxmin maxmin_num", "min(max(S0, S1), S2)", _then(maximum, minimum)),
    ):
        _all = " ".join(f"v_{_name}_{_type}" for _name in _names.split())
        vector(_all, f"{_type} {_type} {_type} -> {_type}", f"D = {_text}")(_function)


# --- Rounding and parts -------------------------------------------------------------------------------------------


@vector("v_trunc_f32", "f32 -> f32", "D = trunc(S0)")
@vector("v_trunc_f16", "f16 -> f16", "D = trunc(S0)")
@vector("v_trunc_f64", "f64 -> f64", "D = trunc(S0)")
def truncate(value: Lanes) -> Lanes:
    return np.trunc(value)


@vector("v_ceil_f32", "f32 -> f32", "D = ceil(S0)")
@vector("v_ceil_f16", "f16 -> f16", "D = ceil(S0)")
@vector("v_ceil_f64", "f64 -> f64", "D = ceil(S0)")
def ceiling(value: Lanes) -> Lanes:
    return np.ceil(value)


@vector("v_rndne_f32", "f32 -> f32", "D = the nearest integer, ties to even")
@vector("v_rndne_f16", "f16 -> f16", "D = the nearest integer, ties to even")
@vector("v_rndne_f64", "f64 -> f64", "D = the nearest integer, ties to even")
def round_even(value: Lanes) -> Lanes:
    return np.rint(value)


@vector("v_floor_f32", "f32 -> f32", "D = floor(S0)")
@vector("v_floor_f16", "f16 -> f16", "D = floor(S0)")
@vector("v_floor_f64", "f64 -> f64", "D = floor(S0)")
def floor(value: Lanes) -> Lanes:
    return np.floor(value)


@vector("v_fract_f32", "f32 -> f32", "D = S0 - floor(S0), below 1")
@vector("v_fract_f16", "f16 -> f16", "D = S0 - floor(S0), below 1")
@vector("v_fract_f64", "f64 -> f64", "D = S0 - floor(S0), below 1")
def fraction(value: Lanes) -> Lanes:
    one = value.dtype.type(1)
    return np.minimum(value - np.floor(value), np.nextafter(one, value.dtype.type(0)))


@vector("v_ldexp_f32", "f32 i32 -> f32", "D = S0 * 2^S1")
@vector("v_ldexp_f64", "f64 i32 -> f64", "D = S0 * 2^S1")
@vector("v_ldexp_f16", "f16 i16 -> f16", "D = S0 * 2^S1")
def scale(value: Lanes, exponent: Lanes) -> Lanes:
    if value.dtype == np.float16:
        return np.ldexp(value.astype(np.float32), exponent.astype(np.int32)).astype(np.float16)
    return np.ldexp(value, exponent)


@vector("v_frexp_mant_f32", "f32 -> f32", "D = the fraction of S0, from 0.5 to below 1")
@vector("v_frexp_mant_f16", "f16 -> f16", "D = the fraction of S0, from 0.5 to below 1")
@vector("v_frexp_mant_f64", "f64 -> f64", "D = the fraction of S0, from 0.5 to below 1")
def mantissa(value: Lanes) -> Lanes:
    return np.where(np.isfinite(value), np.frexp(value)[0], value)


@vector("v_frexp_exp_i32_f32", "f32 -> i32", "D = the exponent of S0, 0 for an infinity or a NaN")
@vector("v_frexp_exp_i32_f64", "f64 -> i32", "D = the exponent of S0, 0 for an infinity or a NaN")
def exponent(value: Lanes) -> Lanes:
    return np.where(np.isfinite(value), np.frexp(value)[1], 0).astype(np.int32)


@vector("v_frexp_exp_i16_f16", "f16 -> i16", "D = the exponent of S0, 0 for an infinity or a NaN")
def exponent_half(value: Lanes) -> Lanes:
    return exponent(value).astype(np.int16)


# --- Functions ----------------------------------------------------------------------------------------------------


def _through(function: Any, value: Lanes, wide: Any = np.float64) -> Lanes:
    """Apply a function with more precision than the number has."""
    return function(value.astype(wide)).astype(value.dtype)


@vector("v_rcp_f32 v_rcp_iflag_f32", "f32 -> f32", "D = 1 / S0, 1 ulp")
@vector("v_rcp_f16", "f16 -> f16", "D = 1 / S0")
@vector("v_rcp_f64", "f64 -> f64", "D = 1 / S0, an approximation")
def reciprocal(value: Lanes) -> Lanes:
    return _through(lambda number: 1.0 / number, value)


@vector("v_sqrt_f32", "f32 -> f32", "D = sqrt(S0), 1 ulp")
@vector("v_sqrt_f16", "f16 -> f16", "D = sqrt(S0)")
@vector("v_sqrt_f64", "f64 -> f64", "D = sqrt(S0), an approximation")
def square_root(value: Lanes) -> Lanes:
    return _through(np.sqrt, value)


@vector("v_rsq_f32", "f32 -> f32", "D = 1 / sqrt(S0), 1 ulp")
@vector("v_rsq_f16", "f16 -> f16", "D = 1 / sqrt(S0)")
@vector("v_rsq_f64", "f64 -> f64", "D = 1 / sqrt(S0), an approximation")
def reciprocal_root(value: Lanes) -> Lanes:
    return _through(lambda number: 1.0 / np.sqrt(number), value)


@vector("v_exp_f32 v_exp_legacy_f32", "f32 -> f32", "D = 2^S0, 1 ulp")
@vector("v_exp_f16", "f16 -> f16", "D = 2^S0")
def power_of_two(value: Lanes) -> Lanes:
    return _through(np.exp2, value)


@vector("v_log_f32 v_log_legacy_f32", "f32 -> f32", "D = log2(S0), 1 ulp")
@vector("v_log_f16", "f16 -> f16", "D = log2(S0)")
def logarithm(value: Lanes) -> Lanes:
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


@vector("v_sin_f32", "f32 -> f32", "D = sin(S0 * 2 pi)")
@vector("v_sin_f16", "f16 -> f16", "D = sin(S0 * 2 pi)")
def sine(value: Lanes) -> Lanes:
    return np.where(value == 0, value, _turned(value, 0))  # the sine of -0 is -0


@vector("v_cos_f32", "f32 -> f32", "D = cos(S0 * 2 pi)")
@vector("v_cos_f16", "f16 -> f16", "D = cos(S0 * 2 pi)")
def cosine(value: Lanes) -> Lanes:
    return _turned(value, 1)


# --- Interpolation (GFX11 and later): P0, P10 and P20 are in lanes 0, 1 and 2 of each quad ------------------------


@vector("v_interp_p10_f32", "f32 f32 f32 -> f32", "D = fma(S0 of lane 1 of the quad, S1, S2 of lane 0)")
@vector("v_interp_p2_f32", "f32 f32 f32 -> f32", "D = fma(S0 of lane 2 of the quad, S1, S2)")
def interpolate(parameter: Lanes, place: Lanes, other: Lanes) -> Lanes:
    return floats.fused_single(parameter, place, other)


@vector("v_interp_p10_f16_f32", "f16 f32 f16 -> f32", "the same with halfs as parameters")
def interpolate_first_half(parameter: Lanes, place: Lanes, other: Lanes) -> Lanes:
    return floats.fused_single(parameter.astype(np.float32), place, other.astype(np.float32))


@vector("v_interp_p2_f16_f32", "f16 f32 f32 -> f16", "the same with a half as parameter; the single becomes a half")
def interpolate_half(parameter: Lanes, place: Lanes, other: Lanes) -> Lanes:
    return floats.fused_single(parameter.astype(np.float32), place, other).astype(np.float16)


# --- Faces of cubes ---------------------------------------------------------------------------------------------


def _major(x: Lanes, y: Lanes, z: Lanes) -> tuple[Lanes, Lanes]:
    """Return whether z, and whether else y, is the axis on which a direction is longest."""
    is_z = (np.abs(z) >= np.abs(x)) & (np.abs(z) >= np.abs(y))
    return is_z, ~is_z & (np.abs(y) >= np.abs(x))


@vector(
    "v_cubeid_f32", "f32 f32 f32 -> f32", "D = the face of the cube {S0, S1, S2}: +x 0, -x 1, +y 2, -y 3, +z 4, -z 5"
)
def cube_face(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    is_z, is_y = _major(x, y, z)
    face = np.where(is_z, np.where(z < 0, 5, 4), np.where(is_y, np.where(y < 0, 3, 2), np.where(x < 0, 1, 0)))
    return face.astype(np.float32)


@vector("v_cubesc_f32", "f32 f32 f32 -> f32", "D = the first coordinate on the face, not divided")
def cube_first(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    is_z, is_y = _major(x, y, z)
    return np.where(is_z, np.where(z < 0, -x, x), np.where(is_y, x, np.where(x < 0, z, -z)))


@vector("v_cubetc_f32", "f32 f32 f32 -> f32", "D = the second coordinate on the face, not divided")
def cube_second(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    _is_z, is_y = _major(x, y, z)
    return np.where(is_y, np.where(y < 0, -z, z), -y)


@vector("v_cubema_f32", "f32 f32 f32 -> f32", "D = twice the longest coordinate")
def cube_axis(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    is_z, is_y = _major(x, y, z)
    return np.float32(2) * np.where(is_z, z, np.where(is_y, y, x))


# --- Division -----------------------------------------------------------------------------------------------------

_SCALES = {np.dtype(np.float32): (96, 64, 23, 255, 150), np.dtype(np.float64): (768, 128, 53, 2047, 1075)}


def _is_denormal(value: Lanes) -> Lanes:
    return (floats.exponents(value) == 0) & (value != 0)


@vector(
    "v_div_scale_f32", "f32 f32 f32 -> f32 mask", "D = S0 scaled for the division of S2 by S1; VCC[lane] = scale back"
)
@vector(
    "v_div_scale_f64", "f64 f64 f64 -> f64 mask", "D = S0 scaled for the division of S2 by S1; VCC[lane] = scale back"
)
def scale_for_division(value: Lanes, denominator: Lanes, numerator: Lanes) -> tuple[Lanes, Lanes]:
    far, step, tiny, _highest, _lost = _SCALES[value.dtype]
    value, denominator, numerator = np.broadcast_arrays(value, denominator, numerator)
    up, down = np.ldexp(value, step), np.ldexp(value, -step)
    with np.errstate(all="ignore"):
        inverse_denormal = _is_denormal(value.dtype.type(1) / denominator)
        quotient_denormal = _is_denormal(numerator / denominator)
    is_denominator = value == denominator
    cases = (
        ((numerator == 0) | (denominator == 0), value.dtype.type(np.nan), False),
        (
            floats.exponents(numerator) - floats.exponents(denominator) >= far,
            np.where(is_denominator, up, value),
            True,
        ),
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


@vector("v_div_fmas_f32", "f32 f32 f32 vcc -> f32", "D = S0 * S1 + S2, scaled back where VCC[lane]")
def fused_for_division(left: Lanes, right: Lanes, other: Lanes, scaled: Lanes) -> Lanes:
    result = floats.fused_single(left, right, other)
    if scaled.any():
        exact = floats.fused_double(left, right, other)
        back = np.where(floats.exponents(other) > 127, 2.0**64, 2.0**-64)
        result = np.where(scaled, (exact * back).astype(np.float32), result)
    return result


@vector("v_div_fmas_f64", "f64 f64 f64 vcc -> f64", "D = S0 * S1 + S2, scaled back where VCC[lane]")
def fused_long_for_division(left: Lanes, right: Lanes, other: Lanes, scaled: Lanes) -> Lanes:
    result = floats.fused_long(left, right, other)
    if scaled.any():
        back = np.where(floats.exponents(other) > 1023, 2.0**128, 2.0**-128)
        whole = result * back
        # A denormal result has fewer bits, so the sum that has been rounded already is not rounded again.
        # Nor is one whose sum is finite only when it has been scaled.
        tiny = scaled & (np.abs(whole) < np.finfo(np.float64).tiny) & (result != 0)
        tiny = tiny | scaled & np.isinf(result) & np.isfinite(left) & np.isfinite(right) & np.isfinite(other)
        result = np.where(scaled, whole, result)
        columns = [np.broadcast_to(column, result.shape) for column in (left, right, other, back)]
        for index in zip(*np.nonzero(np.broadcast_to(tiny, result.shape)), strict=True):
            result[index] = floats.fused_exactly(*(float(column[index]) for column in columns))
    return result


@vector("v_div_fixup_f32", "f32 f32 f32 -> f32", "D = the quotient S0 of S2 by S1, or what a special case gives")
@vector("v_div_fixup_f64", "f64 f64 f64 -> f64", "D = the quotient S0 of S2 by S1, or what a special case gives")
def fix_division(quotient: Lanes, denominator: Lanes, numerator: Lanes) -> Lanes:
    kind = quotient.dtype.type
    _far, _step, _tiny, highest, lost = _SCALES[quotient.dtype]
    quotient, denominator, numerator = np.broadcast_arrays(quotient, denominator, numerator)
    sign = np.where(np.signbit(denominator) ^ np.signbit(numerator), kind(-1), kind(1))
    infinite = np.isinf(denominator), np.isinf(numerator)
    smallest = np.nextafter(kind(0), kind(1))
    cases = (
        (np.isnan(numerator), numerator),
        (np.isnan(denominator), denominator),
        ((denominator == 0) & (numerator == 0) | infinite[0] & infinite[1], np.full(quotient.shape, np.nan, kind)),
        ((denominator == 0) | infinite[1], sign * kind(np.inf)),
        (infinite[0] | (numerator == 0), sign * kind(0)),
        (floats.exponents(numerator) - floats.exponents(denominator) < -lost, sign * kind(0) * smallest),
        (floats.exponents(denominator) == highest, sign * kind(np.inf)),
        # OPEN: no document says so, but a quotient that is too large is no NaN, as which it comes out of the steps.
        (np.isnan(quotient), sign * kind(np.inf)),
    )
    return np.select([condition for condition, _ in cases], [chosen for _, chosen in cases], sign * np.abs(quotient))


@vector("v_div_fixup_f16 v_div_fixup_legacy_f16", "f16 f16 f16 -> f16", "the same for halfs")
def fix_division_of_halfs(quotient: Lanes, denominator: Lanes, numerator: Lanes) -> Lanes:
    quotient, denominator, numerator = np.broadcast_arrays(quotient, denominator, numerator)
    sign = np.where(np.signbit(denominator) ^ np.signbit(numerator), np.float16(-1), np.float16(1))
    infinite = np.isinf(denominator), np.isinf(numerator)
    cases = (
        (np.isnan(numerator), numerator),
        (np.isnan(denominator), denominator),
        (
            (denominator == 0) & (numerator == 0) | infinite[0] & infinite[1],
            np.full(quotient.shape, np.nan, np.float16),
        ),
        ((denominator == 0) | infinite[1], sign * np.float16(np.inf)),
        (infinite[0] | (numerator == 0), sign * np.float16(0)),
    )
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


@vector("v_trig_preop_f64", "f64 u32 -> f64", "D = 53 bits of 2 / pi for the segment S1[4:0] and the exponent of S0")
def part_of_two_by_pi(value: Lanes, segment: Lanes) -> Lanes:
    exponent, segment = np.broadcast_arrays(floats.exponents(value), segment)
    results = [
        _part_of_two_by_pi(*pair) for pair in zip(exponent.ravel().tolist(), segment.ravel().tolist(), strict=True)
    ]
    return np.array(results, np.float64).reshape(exponent.shape)
