"""Conversions between integers and floats. To an integer they truncate and saturate; a NaN becomes 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from dwarfgpu.isa.semantics.integer_rows import Lanes
from dwarfgpu.isa.semantics.narrow_floats import to_bf16
from dwarfgpu.isa.semantics.rows import vector


def saturated(value: Lanes, kind: Any) -> Lanes:
    """Return floats that are whole numbers as integers of a type, the nearest ones where they do not fit."""
    limits = np.iinfo(kind)
    number = np.where(np.isnan(value), 0.0, value.astype(np.float64))
    return np.clip(number, float(limits.min), float(limits.max)).astype(np.int64).astype(kind)


@vector("v_cvt_f32_u32", "u32 -> f32", "D = (float) S0")
@vector("v_cvt_f32_i32", "i32 -> f32", "D = (float) S0")
@vector("v_cvt_f32_f16", "f16 -> f32", "D = (float) S0")
@vector("v_cvt_f32_f64", "f64 -> f32", "D = (float) S0")
def to_single(value: Lanes) -> Lanes:
    return value.astype(np.float32)


@vector("v_cvt_f64_u32", "u32 -> f64", "D = (double) S0")
@vector("v_cvt_f64_i32", "i32 -> f64", "D = (double) S0")
@vector("v_cvt_f64_f32", "f32 -> f64", "D = (double) S0")
def to_double(value: Lanes) -> Lanes:
    return value.astype(np.float64)


@vector("v_cvt_f16_f32", "f32 -> f16", "D = (half) S0")
@vector("v_cvt_f16_u16", "u16 -> f16", "D = (half) S0")
@vector("v_cvt_f16_i16", "i16 -> f16", "D = (half) S0")
def to_half(value: Lanes) -> Lanes:
    with np.errstate(over="ignore"):
        return value.astype(np.float16)


@vector("v_cvt_u32_f32", "f32 -> u32", "D = (uint) S0")
@vector("v_cvt_u32_f64", "f64 -> u32", "D = (uint) S0")
def to_unsigned(value: Lanes) -> Lanes:
    return saturated(np.trunc(value), np.uint32)


@vector("v_cvt_i32_f32", "f32 -> i32", "D = (int) S0")
@vector("v_cvt_i32_f64", "f64 -> i32", "D = (int) S0")
def to_signed(value: Lanes) -> Lanes:
    return saturated(np.trunc(value), np.int32)


@vector("v_cvt_u16_f16", "f16 -> u16", "D = (ushort) S0")
def to_unsigned_short(value: Lanes) -> Lanes:
    return saturated(np.trunc(value), np.uint16)


@vector("v_cvt_i16_f16", "f16 -> i16", "D = (short) S0")
def to_signed_short(value: Lanes) -> Lanes:
    return saturated(np.trunc(value), np.int16)


@vector("v_cvt_rpi_i32_f32 v_cvt_nearest_i32_f32", "f32 -> i32", "D = (int) floor(S0 + 0.5)")
def to_nearest(value: Lanes) -> Lanes:
    return saturated(np.floor(value.astype(np.float64) + 0.5), np.int32)


@vector("v_cvt_flr_i32_f32 v_cvt_floor_i32_f32", "f32 -> i32", "D = (int) floor(S0)")
def to_floor(value: Lanes) -> Lanes:
    return saturated(np.floor(value), np.int32)


def _from_byte(shift: int) -> Any:
    return lambda value: (value >> shift & 0xFF).astype(np.float32)


for _index in range(4):
    vector(f"v_cvt_f32_ubyte{_index}", "u32 -> f32", f"D = (float) byte {_index} of S0")(_from_byte(8 * _index))


@vector("v_cvt_pkrtz_f16_f32 v_cvt_pk_rtz_f16_f32", "f32 f32 -> b32", "D = { (half) S1, (half) S0 }, rounded to zero")
def pack_to_zero(low: Lanes, high: Lanes) -> Lanes:
    return _half_to_zero(low) | _half_to_zero(high) << 16


def _half_to_zero(value: Lanes) -> Lanes:
    """Return the bits of the half next to a single in the direction of zero."""
    with np.errstate(over="ignore"):
        half = value.astype(np.float16)
        too_far = np.abs(half.astype(np.float64)) > np.abs(value.astype(np.float64))
    bits = half.view(np.uint16).astype(np.uint32)
    return np.where(too_far & ~np.isnan(value) & ~np.isinf(value), bits - 1, bits)


@vector("v_cvt_pk_u8_f32", "f32 u32 u32 -> u32", "D = S2 with byte S1[1:0] = (uchar) S0")
def pack_byte(value: Lanes, place: Lanes, other: Lanes) -> Lanes:
    shift = (place & 3) * 8
    return other & ~(np.uint32(0xFF) << shift) | saturated(np.rint(value), np.uint8).astype(np.uint32) << shift


@vector("v_cvt_pknorm_i16_f32 v_cvt_pk_norm_i16_f32", "f32 f32 -> b32", "D = { snorm16(S1), snorm16(S0) }")
def pack_signed_norms(low: Lanes, high: Lanes) -> Lanes:
    words = [saturated(np.rint(np.clip(value.astype(np.float64), -1, 1) * 32767), np.int16) for value in (low, high)]
    return words[0].view(np.uint16).astype(np.uint32) | words[1].view(np.uint16).astype(np.uint32) << 16


@vector("v_cvt_pknorm_u16_f32 v_cvt_pk_norm_u16_f32", "f32 f32 -> b32", "D = { unorm16(S1), unorm16(S0) }")
def pack_norms(low: Lanes, high: Lanes) -> Lanes:
    words = [
        saturated(np.rint(np.clip(value.astype(np.float64), 0, 1) * 65535), np.uint16).astype(np.uint32)
        for value in (low, high)
    ]
    return words[0] | words[1] << 16


@vector("v_cvt_pknorm_i16_f16 v_cvt_pk_norm_i16_f16", "f16 f16 -> b32", "D = { snorm16(S1), snorm16(S0) }")
def pack_signed_norms_of_halfs(low: Lanes, high: Lanes) -> Lanes:
    return pack_signed_norms(low, high)


@vector("v_cvt_pknorm_u16_f16 v_cvt_pk_norm_u16_f16", "f16 f16 -> b32", "D = { unorm16(S1), unorm16(S0) }")
def pack_norms_of_halfs(low: Lanes, high: Lanes) -> Lanes:
    return pack_norms(low, high)


@vector("v_cvt_norm_i16_f16", "f16 -> i16", "D = snorm16(S0)")
def signed_norm(value: Lanes) -> Lanes:
    return saturated(np.rint(np.clip(value.astype(np.float64), -1, 1) * 32767), np.int16)


@vector("v_cvt_norm_u16_f16", "f16 -> u16", "D = unorm16(S0)")
def unsigned_norm(value: Lanes) -> Lanes:
    return saturated(np.rint(np.clip(value.astype(np.float64), 0, 1) * 65535), np.uint16)


@vector("v_cvt_pkaccum_u8_f32", "u32 f32 u32 -> u32", "D.byte[S1[1:0]] = (uchar) S0")
def replace_byte(old: Lanes, value: Lanes, place: Lanes) -> Lanes:
    return pack_byte(value, place, old)


@vector("v_cvt_pk_i16_f32", "f32 f32 -> b32", "D = { (short) S1, (short) S0 }")
def pack_shorts(low: Lanes, high: Lanes) -> Lanes:
    words = [saturated(np.trunc(value), np.int16).view(np.uint16).astype(np.uint32) for value in (low, high)]
    return words[0] | words[1] << 16


@vector("v_cvt_pk_u16_f32", "f32 f32 -> b32", "D = { (ushort) S1, (ushort) S0 }")
def pack_unsigned_shorts(low: Lanes, high: Lanes) -> Lanes:
    words = [saturated(np.trunc(value), np.uint16).astype(np.uint32) for value in (low, high)]
    return words[0] | words[1] << 16


@vector("v_cvt_i32_i16", "i16 -> i32", "D = signext(S0)")
def extend_short(value: Lanes) -> Lanes:
    return value.astype(np.int32)


@vector("v_cvt_u32_u16", "u16 -> u32", "D = S0")
def extend_unsigned_short(value: Lanes) -> Lanes:
    return value.astype(np.uint32)


@vector("v_cvt_off_f32_i4", "u32 -> f32", "D = signext(S0[3:0]) / 16")
def sixteenths(value: Lanes) -> Lanes:
    return (value.view(np.int32) << 28 >> 28).astype(np.float32) / np.float32(16)


@vector("v_cvt_pk_bf16_f32", "f32 f32 -> b32", "D = { (bf16) S1, (bf16) S0 }")
def pack_bf16(low: Lanes, high: Lanes) -> Lanes:
    return to_bf16(low).astype(np.uint32) | to_bf16(high).astype(np.uint32) << 16
