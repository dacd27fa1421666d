"""Vector operations on integers: arithmetic, logic, shifts, bit fields, and choices between lanes' values."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from dwarfgpu.isa.semantics.rows import vector

Lanes: TypeAlias = Any
"""An array ``[wave, lane]``."""


MANY = 1024
"""From so many lanes on it pays to ask whether all have the same."""


def merged(flags: Lanes, new: Lanes, old: Lanes) -> Lanes:
    """Return unsigned integers: new ones in lanes with a flag, old ones in others."""
    if max(flags.size, new.size, old.size) < MANY:
        return np.where(flags, new, old)
    # np.where asks for each lane, which costs several times as much where its answers follow no pattern.
    words = flags.astype(f"i{new.dtype.itemsize}")
    words = np.negative(words, out=words).view(new.dtype)
    chosen = new ^ old
    chosen = np.bitwise_and(chosen, words, out=chosen if chosen.shape == np.broadcast(chosen, words).shape else None)
    chosen ^= old
    return chosen


_NO_SIGN = np.zeros((1, 1), np.int32)
_NO_SIGN.setflags(write=False)


def long(value: Lanes) -> Lanes:
    """Return 32-bit integers as 64-bit integers of the same sign."""
    return value.astype(np.int64 if value.dtype == np.int32 else np.uint64)


# --- Moves and logic ----------------------------------------------------------------------------------------------


@vector("v_mov_b32 v_accvgpr_read_b32 v_accvgpr_write_b32 v_accvgpr_mov_b32", "b32 -> b32", "D = S0")
@vector("v_mov_b64", "b64 -> b64", "D = S0")
@vector("v_mov_b16", "b16 -> b16", "D = S0")
def move(value: Lanes) -> Lanes:
    return value


@vector("v_and_b32", "b32 b32 -> b32", "D = S0 & S1")
@vector("v_and_b16", "b16 b16 -> b16", "D = S0 & S1")
def logical_and(left: Lanes, right: Lanes) -> Lanes:
    return left & right


@vector("v_or_b32", "b32 b32 -> b32", "D = S0 | S1")
@vector("v_or_b16", "b16 b16 -> b16", "D = S0 | S1")
def logical_or(left: Lanes, right: Lanes) -> Lanes:
    return left | right


@vector("v_xor_b32", "b32 b32 -> b32", "D = S0 ^ S1")
@vector("v_xor_b16", "b16 b16 -> b16", "D = S0 ^ S1")
def logical_xor(left: Lanes, right: Lanes) -> Lanes:
    return left ^ right


@vector("v_xnor_b32", "b32 b32 -> b32", "D = ~(S0 ^ S1)")
def not_xor(left: Lanes, right: Lanes) -> Lanes:
    return ~(left ^ right)


@vector("v_not_b32", "b32 -> b32", "D = ~S0")
@vector("v_not_b16", "b16 -> b16", "D = ~S0")
def logical_not(value: Lanes) -> Lanes:
    return ~value


@vector("v_and_or_b32", "b32 b32 b32 -> b32", "D = (S0 & S1) | S2")
def and_or(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return left & right | other


@vector("v_or3_b32", "b32 b32 b32 -> b32", "D = S0 | S1 | S2")
def or_three(first: Lanes, second: Lanes, third: Lanes) -> Lanes:
    return first | second | third


@vector("v_xor3_b32", "b32 b32 b32 -> b32", "D = S0 ^ S1 ^ S2")
def xor_three(first: Lanes, second: Lanes, third: Lanes) -> Lanes:
    return first ^ second ^ third


@vector("v_bfi_b32", "b32 b32 b32 -> b32", "D = (S0 & S1) | (~S0 & S2)")
def insert_bits(mask: Lanes, chosen: Lanes, other: Lanes) -> Lanes:
    return mask & chosen | ~mask & other


@vector("v_cndmask_b32", "b32 b32 mask -> b32", "D = VCC[lane] ? S1 : S0")
@vector("v_cndmask_b16", "b16 b16 mask -> b16", "D = VCC[lane] ? S1 : S0")
def choose(other: Lanes, chosen: Lanes, condition: Lanes) -> Lanes:
    return merged(condition, chosen, other)


# --- Addition -----------------------------------------------------------------------------------------------------


@vector("v_add_u32 v_add_nc_u32", "u32 u32 -> u32", "D = S0 + S1")
@vector("v_add_u16 v_add_nc_u16", "u16 u16 -> u16", "D = S0 + S1")
@vector("v_add_i16 v_add_nc_i16", "u16 u16 -> u16", "D = S0 + S1")
@vector("v_add_i32 v_add_nc_i32", "u32 u32 -> u32", "D = S0 + S1")
def add(left: Lanes, right: Lanes) -> Lanes:
    return left + right


@vector("v_sub_u32 v_sub_nc_u32", "u32 u32 -> u32", "D = S0 - S1")
@vector("v_sub_u16 v_sub_nc_u16", "u16 u16 -> u16", "D = S0 - S1")
@vector("v_sub_i16 v_sub_nc_i16", "u16 u16 -> u16", "D = S0 - S1")
@vector("v_sub_i32 v_sub_nc_i32", "u32 u32 -> u32", "D = S0 - S1")
def subtract(left: Lanes, right: Lanes) -> Lanes:
    return left - right


@vector("v_subrev_u32 v_subrev_nc_u32", "u32 u32 -> u32", "D = S1 - S0")
@vector("v_subrev_u16", "u16 u16 -> u16", "D = S1 - S0")
def subtract_reversed(left: Lanes, right: Lanes) -> Lanes:
    return right - left


@vector("v_add_co_u32", "u32 u32 -> u32 mask", "D = S0 + S1; VCC[lane] = carry out")
def add_carry_out(left: Lanes, right: Lanes) -> tuple[Lanes, Lanes]:
    total = left + right
    return total, total < left


@vector("v_addc_co_u32 v_add_co_ci_u32", "u32 u32 mask -> u32 mask", "D = S0 + S1 + VCC[lane]; VCC[lane] = carry out")
def add_carry(left: Lanes, right: Lanes, carry: Lanes) -> tuple[Lanes, Lanes]:
    part = left + right
    over = part < left
    if not carry.any():
        return part, over
    total = part + carry
    return total, over | (total < part)


@vector("v_sub_co_u32", "u32 u32 -> u32 mask", "D = S0 - S1; VCC[lane] = borrow")
def subtract_borrow_out(left: Lanes, right: Lanes) -> tuple[Lanes, Lanes]:
    return left - right, left < right


@vector("v_subrev_co_u32", "u32 u32 -> u32 mask", "D = S1 - S0; VCC[lane] = borrow")
def subtract_reversed_borrow_out(left: Lanes, right: Lanes) -> tuple[Lanes, Lanes]:
    return right - left, right < left


@vector("v_subb_co_u32 v_sub_co_ci_u32", "u32 u32 mask -> u32 mask", "D = S0 - S1 - VCC[lane]; VCC[lane] = borrow")
def subtract_borrow(left: Lanes, right: Lanes, borrow: Lanes) -> tuple[Lanes, Lanes]:
    part, under = left - right, left < right
    if not borrow.any():
        return part, under
    return part - borrow, under | (left == right) & borrow


@vector(
    "v_subbrev_co_u32 v_subrev_co_ci_u32", "u32 u32 mask -> u32 mask", "D = S1 - S0 - VCC[lane]; VCC[lane] = borrow"
)
def subtract_reversed_borrow(left: Lanes, right: Lanes, borrow: Lanes) -> tuple[Lanes, Lanes]:
    return subtract_borrow(right, left, borrow)


@vector("v_add3_u32", "u32 u32 u32 -> u32", "D = S0 + S1 + S2")
def add_three(first: Lanes, second: Lanes, third: Lanes) -> Lanes:
    return first + second + third


@vector("v_lshl_add_u32", "u32 u32 u32 -> u32", "D = (S0 << S1[4:0]) + S2")
def shift_add(value: Lanes, count: Lanes, other: Lanes) -> Lanes:
    return (value << (count & 31)) + other


@vector("v_lshl_add_u64", "u64 u32 u64 -> u64", "D = (S0 << S1[2:0]) + S2")
def shift_add_long(value: Lanes, count: Lanes, other: Lanes) -> Lanes:
    return (value << (count & 7).astype(np.uint64)) + other


@vector("v_add_lshl_u32", "u32 u32 u32 -> u32", "D = (S0 + S1) << S2[4:0]")
def add_shift(left: Lanes, right: Lanes, count: Lanes) -> Lanes:
    return (left + right) << (count & 31)


@vector("v_xad_u32", "u32 u32 u32 -> u32", "D = (S0 ^ S1) + S2")
def xor_add(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return (left ^ right) + other


@vector("v_lshl_or_b32", "b32 b32 b32 -> b32", "D = (S0 << S1[4:0]) | S2")
def shift_or(value: Lanes, count: Lanes, other: Lanes) -> Lanes:
    return value << (count & 31) | other


# --- Multiplication -----------------------------------------------------------------------------------------------


@vector("v_mul_lo_u32 v_mul_lo_i32", "u32 u32 -> u32", "D = S0 * S1")
@vector("v_mul_lo_u16", "u16 u16 -> u16", "D = S0 * S1")
def multiply(left: Lanes, right: Lanes) -> Lanes:
    return left * right


@vector("v_mul_hi_u32", "u32 u32 -> u32", "D = (S0 * S1) >> 32")
@vector("v_mul_hi_i32", "i32 i32 -> i32", "D = (S0 * S1) >> 32")
def multiply_high(left: Lanes, right: Lanes) -> Lanes:
    return (long(left) * long(right) >> 32).astype(left.dtype)


@vector("v_mul_u32_u24", "u32 u32 -> u32", "D = S0[23:0] * S1[23:0]")
def multiply_24(left: Lanes, right: Lanes) -> Lanes:
    return (left & 0xFFFFFF) * (right & 0xFFFFFF)


@vector("v_mul_hi_u32_u24", "u32 u32 -> u32", "D = (S0[23:0] * S1[23:0]) >> 32")
def multiply_high_24(left: Lanes, right: Lanes) -> Lanes:
    return (long(left & 0xFFFFFF) * long(right & 0xFFFFFF) >> 32).astype(np.uint32)


def signed_24(value: Lanes) -> Lanes:
    """Return the signed number in bits 23 to 0."""
    return value << 8 >> 8


@vector("v_mul_i32_i24", "i32 i32 -> i32", "D = signext(S0[23:0]) * signext(S1[23:0])")
def multiply_signed_24(left: Lanes, right: Lanes) -> Lanes:
    return signed_24(left) * signed_24(right)


@vector("v_mul_hi_i32_i24", "i32 i32 -> i32", "D = (signext(S0[23:0]) * signext(S1[23:0])) >> 32")
def multiply_high_signed_24(left: Lanes, right: Lanes) -> Lanes:
    return (long(signed_24(left)) * long(signed_24(right)) >> 32).astype(np.int32)


@vector("v_mad_u32_u24", "u32 u32 u32 -> u32", "D = S0[23:0] * S1[23:0] + S2")
def multiply_add_24(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return multiply_24(left, right) + other


@vector("v_mad_i32_i24", "i32 i32 i32 -> i32", "D = signext(S0[23:0]) * signext(S1[23:0]) + S2")
def multiply_add_signed_24(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return multiply_signed_24(left, right) + other


@vector("v_mad_u64_u32 v_mad_co_u64_u32", "u32 u32 u64 -> u64 mask", "D = S0 * S1 + S2; VCC[lane] = carry out")
def multiply_add_long(left: Lanes, right: Lanes, other: Lanes) -> tuple[Lanes, Lanes]:
    total = long(left) * long(right) + other
    return total, total < other


@vector("v_mad_i64_i32 v_mad_co_i64_i32", "i32 i32 i64 -> i64 mask", "D = S0 * S1 + S2; VCC[lane] = overflow")
def multiply_add_long_signed(left: Lanes, right: Lanes, other: Lanes) -> tuple[Lanes, Lanes]:
    product = long(left) * long(right)
    total = product + other
    return total, (~(product ^ other) & (product ^ total)) < 0


@vector("v_mad_u16 v_mad_legacy_u16", "u16 u16 u16 -> u16", "D = S0 * S1 + S2")
@vector("v_mad_i16 v_mad_legacy_i16", "u16 u16 u16 -> u16", "D = S0 * S1 + S2")
def multiply_add_short(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return left * right + other


@vector("v_mad_u32_u16", "u16 u16 u32 -> u32", "D = S0 * S1 + S2")
@vector("v_mad_i32_i16", "i16 i16 i32 -> i32", "D = S0 * S1 + S2")
def multiply_add_wider(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return left.astype(other.dtype) * right.astype(other.dtype) + other


# --- Shifts and bit fields ----------------------------------------------------------------------------------------


@vector("v_lshlrev_b32", "b32 b32 -> b32", "D = S1 << S0[4:0]")
def shift_left(count: Lanes, value: Lanes) -> Lanes:
    return value << (count & 31)


@vector("v_lshlrev_b64", "b32 b64 -> b64", "D = S1 << S0[5:0]")
def shift_left_long(count: Lanes, value: Lanes) -> Lanes:
    return value << (count & 63).astype(np.uint64)


@vector("v_lshlrev_b16", "b16 b16 -> b16", "D = S1 << S0[3:0]")
def shift_left_short(count: Lanes, value: Lanes) -> Lanes:
    return value << (count & 15)


@vector("v_lshrrev_b16", "b16 b16 -> b16", "D = S1 >> S0[3:0]")
def shift_right_short(count: Lanes, value: Lanes) -> Lanes:
    return value >> (count & 15)


@vector("v_lshrrev_b32", "b32 b32 -> b32", "D = S1 >> S0[4:0]")
def shift_right(count: Lanes, value: Lanes) -> Lanes:
    return value >> (count & 31)


@vector("v_lshrrev_b64", "b32 b64 -> b64", "D = S1 >> S0[5:0]")
def shift_right_long(count: Lanes, value: Lanes) -> Lanes:
    return value >> (count & 63).astype(np.uint64)


@vector("v_ashrrev_i32", "i32 i32 -> i32", "D = signext(S1) >> S0[4:0]")
def shift_arithmetic(count: Lanes, value: Lanes) -> Lanes:
    if value.size >= MANY and count.size == 1 and count[0, 0] & 31 == 31 and value.min() >= 0:
        return _NO_SIGN  # the sign of an index, before it is added to an address
    return value >> (count & 31)


@vector("v_ashrrev_i64", "u32 i64 -> i64", "D = signext(S1) >> S0[5:0]")
def shift_arithmetic_long(count: Lanes, value: Lanes) -> Lanes:
    return value >> (count & 63).astype(np.int64)


@vector("v_ashrrev_i16", "i16 i16 -> i16", "D = signext(S1) >> S0[3:0]")
def shift_arithmetic_short(count: Lanes, value: Lanes) -> Lanes:
    return value >> (count & 15)


@vector("v_bfe_u32", "u32 u32 u32 -> u32", "D = (S0 >> S1[4:0]) & ((1 << S2[4:0]) - 1)")
def extract_field(value: Lanes, start: Lanes, width: Lanes) -> Lanes:
    one = np.uint32(1)
    return value >> (start & 31) & ((one << (width & 31)) - one)


@vector("v_bfe_i32", "i32 u32 u32 -> i32", "the same, with the sign of the field")
def extract_signed_field(value: Lanes, start: Lanes, width: Lanes) -> Lanes:
    width = (width & 31).astype(np.int32)
    above = 32 - np.maximum(width, 1)
    field = value >> (start & 31).astype(np.int32) << above >> above
    return np.where(width == 0, np.int32(0), field)


@vector("v_bfm_b32", "b32 b32 -> b32", "D = ((1 << S0[4:0]) - 1) << S1[4:0]")
def field_mask(width: Lanes, start: Lanes) -> Lanes:
    one = np.uint32(1)
    return ((one << (width & 31)) - one) << (start & 31)


@vector("v_alignbit_b32", "b32 b32 b16 -> b32", "D = ({S0, S1} >> S2[4:0]) & 0xffffffff")
def align_bits(high: Lanes, low: Lanes, count: Lanes) -> Lanes:
    both = long(high) << 32 | long(low)
    return (both >> long(count & 31)).astype(np.uint32)


@vector("v_alignbyte_b32", "b32 b32 b16 -> b32", "D = ({S0, S1} >> (8 * S2[1:0])) & 0xffffffff")
def align_bytes(high: Lanes, low: Lanes, count: Lanes) -> Lanes:
    return align_bits(high, low, (count & 3) * 8)


@vector(
    "v_perm_b32", "b32 b32 b32 -> b32", "D.byte[i] = byte S2.byte[i] of {S0, S1}; 8 to 11 signs, 12 is 0, 13 up 0xff"
)
def permute_bytes(high: Lanes, low: Lanes, selector: Lanes) -> Lanes:
    both = long(high) << 32 | long(low)
    result: Lanes = np.zeros((1, 1), np.uint32)
    for index in range(4):
        chosen = long(selector >> (8 * index) & 0xFF)
        byte = both >> (chosen & 7) * 8 & 0xFF
        sign = np.where(both >> ((chosen & 3) * 16 + 15) & 1, 0xFF, 0).astype(np.uint64)
        constant = np.where(chosen == 12, 0, 0xFF).astype(np.uint64)
        byte = np.where(chosen < 8, byte, np.where(chosen < 12, sign, constant))
        result = result | byte.astype(np.uint32) << (8 * index)
    return result


def reversed_bits(value: Lanes) -> Lanes:
    """Return 32-bit numbers with their bits in the opposite order."""
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        value = value >> shift & mask | (value & mask) << shift
    return value >> 16 | value << 16


@vector("v_bfrev_b32", "b32 -> b32", "D[31:0] = S0[0:31]")
def reverse_bits(value: Lanes) -> Lanes:
    return reversed_bits(value)


def ones(value: Lanes) -> Lanes:
    """Return the number of ones in 32-bit numbers."""
    value = value - (value >> 1 & 0x55555555)
    value = (value & 0x33333333) + (value >> 2 & 0x33333333)
    return (value + (value >> 4) & 0x0F0F0F0F) * np.uint32(0x01010101) >> 24


@vector("v_bcnt_u32_b32", "b32 u32 -> u32", "D = number of ones of S0, plus S1")
def count_ones(value: Lanes, other: Lanes) -> Lanes:
    return ones(value) + other


def width_of(value: Lanes) -> Lanes:
    """Return the number of bits up to the highest one of 32-bit numbers."""
    return np.frexp(value.astype(np.float64))[1].astype(np.uint32)


@vector("v_ffbh_u32 v_clz_i32_u32", "u32 -> u32", "D = number of zeros above the highest 1 of S0, -1 if none")
def leading_zeros(value: Lanes) -> Lanes:
    return np.where(value == 0, np.uint32(0xFFFFFFFF), 32 - width_of(value))


@vector("v_ffbl_b32 v_ctz_i32_b32", "u32 -> u32", "D = position of the lowest 1 of S0, -1 if none")
def lowest_one(value: Lanes) -> Lanes:
    return np.where(value == 0, np.uint32(0xFFFFFFFF), width_of(value & -value) - 1)


@vector("v_ffbh_i32 v_cls_i32", "i32 -> u32", "D = number of bits at the top of S0 equal to its sign, -1 if all are")
def leading_signs(value: Lanes) -> Lanes:
    differing = (value ^ value >> 31).view(np.uint32)
    return np.where(differing == 0, np.uint32(0xFFFFFFFF), 32 - width_of(differing))


# --- Minimum, maximum, differences --------------------------------------------------------------------------------


@vector("v_min_u32", "u32 u32 -> u32", "D = min(S0, S1)")
@vector("v_min_i32", "i32 i32 -> i32", "D = min(S0, S1)")
@vector("v_min_u16", "u16 u16 -> u16", "D = min(S0, S1)")
@vector("v_min_i16", "i16 i16 -> i16", "D = min(S0, S1)")
def minimum(left: Lanes, right: Lanes) -> Lanes:
    return np.minimum(left, right)


@vector("v_max_u32", "u32 u32 -> u32", "D = max(S0, S1)")
@vector("v_max_i32", "i32 i32 -> i32", "D = max(S0, S1)")
@vector("v_max_u16", "u16 u16 -> u16", "D = max(S0, S1)")
@vector("v_max_i16", "i16 i16 -> i16", "D = max(S0, S1)")
def maximum(left: Lanes, right: Lanes) -> Lanes:
    return np.maximum(left, right)


@vector("v_min3_u32", "u32 u32 u32 -> u32", "D = min(S0, S1, S2)")
@vector("v_min3_i32", "i32 i32 i32 -> i32", "D = min(S0, S1, S2)")
@vector("v_min3_u16", "u16 u16 u16 -> u16", "D = min(S0, S1, S2)")
@vector("v_min3_i16", "i16 i16 i16 -> i16", "D = min(S0, S1, S2)")
def minimum_of_three(first: Lanes, second: Lanes, third: Lanes) -> Lanes:
    return np.minimum(np.minimum(first, second), third)


@vector("v_max3_u32", "u32 u32 u32 -> u32", "D = max(S0, S1, S2)")
@vector("v_max3_i32", "i32 i32 i32 -> i32", "D = max(S0, S1, S2)")
@vector("v_max3_u16", "u16 u16 u16 -> u16", "D = max(S0, S1, S2)")
@vector("v_max3_i16", "i16 i16 i16 -> i16", "D = max(S0, S1, S2)")
def maximum_of_three(first: Lanes, second: Lanes, third: Lanes) -> Lanes:
    return np.maximum(np.maximum(first, second), third)


@vector("v_med3_u32", "u32 u32 u32 -> u32", "D = the middle one of S0, S1 and S2")
@vector("v_med3_i32", "i32 i32 i32 -> i32", "D = the middle one of S0, S1 and S2")
@vector("v_med3_u16", "u16 u16 u16 -> u16", "D = the middle one of S0, S1 and S2")
@vector("v_med3_i16", "i16 i16 i16 -> i16", "D = the middle one of S0, S1 and S2")
def middle(first: Lanes, second: Lanes, third: Lanes) -> Lanes:
    return np.maximum(np.minimum(first, second), np.minimum(np.maximum(first, second), third))


@vector("v_maxmin_u32", "u32 u32 u32 -> u32", "D = min(max(S0, S1), S2)")
@vector("v_maxmin_i32", "i32 i32 i32 -> i32", "D = min(max(S0, S1), S2)")
def maximum_minimum(first: Lanes, second: Lanes, third: Lanes) -> Lanes:
    return np.minimum(np.maximum(first, second), third)


@vector("v_minmax_u32", "u32 u32 u32 -> u32", "D = max(min(S0, S1), S2)")
@vector("v_minmax_i32", "i32 i32 i32 -> i32", "D = max(min(S0, S1), S2)")
def minimum_maximum(first: Lanes, second: Lanes, third: Lanes) -> Lanes:
    return np.maximum(np.minimum(first, second), third)


@vector("v_sad_u32", "u32 u32 u32 -> u32", "D = abs(S0 - S1) + S2")
def absolute_difference(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return np.maximum(left, right) - np.minimum(left, right) + other


def bytes_of(value: Lanes) -> list[Lanes]:
    """Return the bytes of 32-bit numbers, the lowest first."""
    return [value >> shift & 0xFF for shift in (0, 8, 16, 24)]


@vector("v_sad_u8", "u32 u32 u32 -> u32", "D = the sum of abs(S0.byte[i] - S1.byte[i]), plus S2")
def absolute_differences(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    for a, b in zip(bytes_of(left), bytes_of(right), strict=True):
        other = absolute_difference(a, b, other)
    return other


@vector("v_sad_hi_u8", "u32 u32 u32 -> u32", "D = (the sum of abs(S0.byte[i] - S1.byte[i]) << 16) + S2")
def absolute_differences_high(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    return (absolute_differences(left, right, np.zeros((1, 1), np.uint32)) << 16) + other


@vector("v_sad_u16", "u32 u32 u32 -> u32", "D = the sum of abs(S0.u16[i] - S1.u16[i]), plus S2")
def absolute_differences_of_shorts(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    low = absolute_difference(left & 0xFFFF, right & 0xFFFF, other)
    return absolute_difference(left >> 16, right >> 16, low)


@vector("v_msad_u8", "u32 u32 u32 -> u32", "D = the sum of abs(S0.byte[i] - S1.byte[i]) where S1.byte[i] != 0, plus S2")
def masked_differences(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
    for a, b in zip(bytes_of(left), bytes_of(right), strict=True):
        other = np.where(b == 0, other, absolute_difference(a, b, other))
    return other


def _of_four_places(function: Any) -> Any:
    """Return the operation on the four runs of 4 bytes that start in the low half of S0, with sums of 16 bits."""

    def run(left: Lanes, right: Lanes, other: Lanes) -> Lanes:
        result: Lanes = np.zeros((1, 1), np.uint64)
        for place in range(4):
            part = (left >> 8 * place & 0xFFFFFFFF).astype(np.uint32)
            total = function(part, right, (other >> 16 * place & 0xFFFF).astype(np.uint32))
            result = result | (total & 0xFFFF).astype(np.uint64) << 16 * place
        return result

    return run


vector(
    "v_qsad_pk_u16_u8",
    "u64 u32 u64 -> u64",
    "D.u16[i] = the sum of the differences of S0 from byte i on, plus S2.u16[i]",
)(_of_four_places(absolute_differences))
vector("v_mqsad_pk_u16_u8", "u64 u32 u64 -> u64", "the same where S1.byte[i] != 0")(_of_four_places(masked_differences))


@vector("v_lerp_u8", "u32 u32 u32 -> u32", "D.byte[i] = (S0.byte[i] + S1.byte[i] + S2.byte[i][0]) >> 1")
def mean_of_bytes(left: Lanes, right: Lanes, rounding: Lanes) -> Lanes:
    result: Lanes = np.zeros((1, 1), np.uint32)
    for place, columns in enumerate(zip(bytes_of(left), bytes_of(right), bytes_of(rounding), strict=True)):
        result = result | (columns[0] + columns[1] + (columns[2] & 1) >> 1) << 8 * place
    return result


# --- Packing ------------------------------------------------------------------------------------------------------


@vector("v_pack_b32_f16", "b16 b16 -> b32", "D = { S1.f16, S0.f16 }")
def pack_halves(low: Lanes, high: Lanes) -> Lanes:
    return low.astype(np.uint32) | high.astype(np.uint32) << 16


@vector("v_sat_pk_u8_i16", "i32 -> b32", "D = { clamp8(S0[31:16]), clamp8(S0[15:0]) }")
def pack_saturated(value: Lanes) -> Lanes:
    low = np.clip(value << 16 >> 16, 0, 255)
    return (low | np.clip(value >> 16, 0, 255) << 8).view(np.uint32)


@vector("v_cvt_pk_u16_u32", "u32 u32 -> u32", "D = { min(S1, 0xffff), min(S0, 0xffff) }")
def pack_unsigned(low: Lanes, high: Lanes) -> Lanes:
    return np.minimum(low, 0xFFFF) | np.minimum(high, 0xFFFF) << 16


@vector("v_cvt_pk_i16_i32", "i32 i32 -> u32", "D = { clamp16(S1), clamp16(S0) }")
def pack_signed(low: Lanes, high: Lanes) -> Lanes:
    low, high = np.clip(low, -0x8000, 0x7FFF), np.clip(high, -0x8000, 0x7FFF)
    return (low & 0xFFFF | high << 16).view(np.uint32)


# --- Results that are clamped -------------------------------------------------------------------------------------

_EXACT: dict[str, Any] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "subrev": lambda left, right: right - left,
    "mul_lo": lambda left, right: left * right,
    "mad": lambda left, right, other: left * right + other,
    "sad": lambda left, right, other: abs(left - right) + other,
}
_NARROW: dict[str, Any] = {
    "v_mul_u32_u24": lambda left, right: (left & 0xFFFFFF) * (right & 0xFFFFFF),
    "v_mul_i32_i24": lambda left, right: (left << 40 >> 40) * (right << 40 >> 40),
    "v_mad_u32_u24": lambda left, right, other: (left & 0xFFFFFF) * (right & 0xFFFFFF) + other,
    "v_mad_i32_i24": lambda left, right, other: (left << 40 >> 40) * (right << 40 >> 40) + other,
}
_CLAMPED = re.compile(r"v_(add|sub|subrev|mul_lo|mad|sad)_(?:nc_|legacy_)?([iu])(16|32)(?:_([iu])16)?$")


@cache
def saturated(name: str) -> tuple[tuple[str, ...], str, Any] | None:
    """Return what an integer operation whose result is clamped computes: types of sources and result, and how."""
    match = _CLAMPED.match(name)
    if name in _NARROW:
        kind, exact = name.split("_")[2], _NARROW[name]
        sources: tuple[str, ...] = (kind,) * (3 if "mad" in name else 2)
    elif match:
        kind, exact = match[2] + match[3], _EXACT[match[1]]
        narrow = f"{match[4]}16" if match[4] else kind
        sources = (narrow, narrow, kind) if match[1] in ("mad", "sad") else (narrow, narrow)
    else:
        return None
    limits = np.iinfo(f"{kind[0]}{int(kind[1:]) // 8}")

    def run(*columns: Lanes) -> Lanes:
        total = exact(*(column.astype(np.int64) for column in columns))
        return np.clip(total, limits.min, limits.max).astype(limits.dtype)

    return sources, kind, run
