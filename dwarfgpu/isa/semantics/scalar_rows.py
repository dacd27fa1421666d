"""Scalar operations: on one number for all lanes, and on EXEC.

The ISA documents call the sources S0 and S1, the destination D, and the condition code SCC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dwarfgpu.isa.semantics import compare_rows, convert_rows, float_rows  # noqa: F401 (they add the rows of vectors)
from dwarfgpu.isa.semantics.numbers import (
    ALL,
    LOW,
    Number,
    choose,
    flag,
    map_bits,
    shifted_arithmetic,
    shifted_left,
    shifted_right,
    signed,
    unsigned,
)
from dwarfgpu.isa.semantics.rows import MEANINGS, scalar

# --- Moves --------------------------------------------------------------------------------------------------------


@scalar("s_mov_b32", "b32 -> b32", "D = S0")
@scalar("s_mov_b64", "b64 -> b64", "D = S0")
@scalar("s_movk_i32", "b32 -> b32", "D = signext(SIMM16)")
def move(value: Number) -> Number:
    return value


@scalar("s_cmov_b32 s_cmovk_i32", "b32 b32 scc -> b32", "if (SCC) D = S0")
@scalar("s_cmov_b64", "b64 b64 scc -> b64", "if (SCC) D = S0")
def move_if(old: Number, value: Number, scc: Number) -> Number:
    return choose(scc, value, old)


@scalar("s_cselect_b32", "b32 b32 scc -> b32", "D = SCC ? S0 : S1")
@scalar("s_cselect_b64", "b64 b64 scc -> b64", "D = SCC ? S0 : S1")
def select(chosen: Number, other: Number, scc: Number) -> Number:
    return choose(scc, chosen, other)


# --- Arithmetic ---------------------------------------------------------------------------------------------------


@scalar("s_add_u32 s_add_co_u32", "b32 b32 -> b32 scc", "D = S0 + S1; SCC = unsigned carry out")
def add(left: Number, right: Number) -> tuple[Number, Number]:
    total = left + right
    return total & LOW, total >> 32


@scalar("s_addc_u32 s_add_co_ci_u32", "b32 b32 scc -> b32 scc", "D = S0 + S1 + SCC; SCC = unsigned carry out")
def add_carry(left: Number, right: Number, scc: Number) -> tuple[Number, Number]:
    total = left + right + scc
    return total & LOW, total >> 32


@scalar("s_sub_u32 s_sub_co_u32", "b32 b32 -> b32 scc", "D = S0 - S1; SCC = unsigned borrow")
def subtract(left: Number, right: Number) -> tuple[Number, Number]:
    return unsigned(left - right, 32), flag(left < right)


@scalar("s_subb_u32 s_sub_co_ci_u32", "b32 b32 scc -> b32 scc", "D = S0 - S1 - SCC; SCC = unsigned borrow")
def subtract_borrow(left: Number, right: Number, scc: Number) -> tuple[Number, Number]:
    taken = right + scc
    return unsigned(left - taken, 32), flag(left < taken)


def _overflows(left: Number, right: Number, result: Number) -> Number:
    """Return 1 where the signs of two summands agree and that of their sum is another."""
    return (~(left ^ right) & (left ^ result)) >> 31 & 1


@scalar("s_add_i32 s_add_co_i32", "b32 b32 -> b32 scc", "D = S0 + S1; SCC = signed overflow")
@scalar("s_addk_i32 s_addk_co_i32", "b32 b32 -> b32 scc", "D = D + signext(SIMM16); SCC = signed overflow")
def add_signed(left: Number, right: Number) -> tuple[Number, Number]:
    total = (left + right) & LOW
    return total, _overflows(left, right, total)


@scalar("s_sub_i32 s_sub_co_i32", "b32 b32 -> b32 scc", "D = S0 - S1; SCC = signed overflow")
def subtract_signed(left: Number, right: Number) -> tuple[Number, Number]:
    difference = unsigned(left - right, 32)
    return difference, _overflows(left, right ^ LOW, difference)


@scalar("s_add_nc_u64", "b64 b64 -> b64", "D = S0 + S1")
def add_long(left: Number, right: Number) -> Number:
    return unsigned(left + right, 64)


@scalar("s_sub_nc_u64", "b64 b64 -> b64", "D = S0 - S1")
def subtract_long(left: Number, right: Number) -> Number:
    return unsigned(left - right, 64)


@scalar("s_mul_i32", "b32 b32 -> b32", "D = S0 * S1")
@scalar("s_mulk_i32", "b32 b32 -> b32", "D = D * signext(SIMM16)")
def multiply(left: Number, right: Number) -> Number:
    return left * right & LOW


@scalar("s_mul_u64", "b64 b64 -> b64", "D = S0 * S1")
def multiply_long(left: Number, right: Number) -> Number:
    return unsigned(left * right, 64)


@scalar("s_mul_hi_u32", "b32 b32 -> b32", "D = (S0 * S1) >> 32")
def multiply_high(left: Number, right: Number) -> Number:
    return left * right >> 32


@scalar("s_mul_hi_i32", "b32 b32 -> b32", "D = (S0 * S1) >> 32")
def multiply_high_signed(left: Number, right: Number) -> Number:
    return unsigned(signed(left, 32) * signed(right, 32) >> 32, 32)


@scalar("s_lshl1_add_u32", "b32 b32 -> b32 scc", "D = (S0 << 1) + S1; SCC = carry out")
def shift_1_add(left: Number, right: Number) -> tuple[Number, Number]:
    return _shift_add(left, right, 1)


@scalar("s_lshl2_add_u32", "b32 b32 -> b32 scc", "D = (S0 << 2) + S1; SCC = carry out")
def shift_2_add(left: Number, right: Number) -> tuple[Number, Number]:
    return _shift_add(left, right, 2)


@scalar("s_lshl3_add_u32", "b32 b32 -> b32 scc", "D = (S0 << 3) + S1; SCC = carry out")
def shift_3_add(left: Number, right: Number) -> tuple[Number, Number]:
    return _shift_add(left, right, 3)


@scalar("s_lshl4_add_u32", "b32 b32 -> b32 scc", "D = (S0 << 4) + S1; SCC = carry out")
def shift_4_add(left: Number, right: Number) -> tuple[Number, Number]:
    return _shift_add(left, right, 4)


def _shift_add(left: Number, right: Number, count: int) -> tuple[Number, Number]:
    total = (left << count) + right
    return total & LOW, flag(total > LOW)


@scalar("s_abs_i32", "b32 -> b32 nonzero", "D = abs(S0); SCC = (D != 0)")
def absolute(value: Number) -> Number:
    return choose(value >> 31, unsigned(-signed(value, 32), 32), value)


@scalar("s_absdiff_i32", "b32 b32 -> b32 nonzero", "D = abs(S0 - S1); SCC = (D != 0)")
def absolute_difference(left: Number, right: Number) -> Number:
    return absolute(unsigned(left - right, 32))


@scalar("s_min_i32", "b32 b32 -> b32 scc", "D = min(S0, S1); SCC = S0 is chosen")
def minimum_signed(left: Number, right: Number) -> tuple[Number, Number]:
    return _chosen(signed(left, 32) < signed(right, 32), left, right)


@scalar("s_min_u32", "b32 b32 -> b32 scc", "D = min(S0, S1); SCC = S0 is chosen")
def minimum(left: Number, right: Number) -> tuple[Number, Number]:
    return _chosen(left < right, left, right)


@scalar("s_max_i32", "b32 b32 -> b32 scc", "D = max(S0, S1); SCC = S0 is chosen")
def maximum_signed(left: Number, right: Number) -> tuple[Number, Number]:
    return _chosen(signed(left, 32) > signed(right, 32), left, right)


@scalar("s_max_u32", "b32 b32 -> b32 scc", "D = max(S0, S1); SCC = S0 is chosen")
def maximum(left: Number, right: Number) -> tuple[Number, Number]:
    return _chosen(left > right, left, right)


def _chosen(condition: Any, left: Number, right: Number) -> tuple[Number, Number]:
    return choose(condition, left, right), flag(condition)


# --- Logic --------------------------------------------------------------------------------------------------------


@scalar("s_and_b32", "b32 b32 -> b32 nonzero", "D = S0 & S1; SCC = (D != 0)")
@scalar("s_and_b64", "b64 b64 -> b64 nonzero", "D = S0 & S1; SCC = (D != 0)")
def logical_and(left: Number, right: Number) -> Number:
    return left & right


@scalar("s_or_b32", "b32 b32 -> b32 nonzero", "D = S0 | S1; SCC = (D != 0)")
@scalar("s_or_b64", "b64 b64 -> b64 nonzero", "D = S0 | S1; SCC = (D != 0)")
def logical_or(left: Number, right: Number) -> Number:
    return left | right


@scalar("s_xor_b32", "b32 b32 -> b32 nonzero", "D = S0 ^ S1; SCC = (D != 0)")
@scalar("s_xor_b64", "b64 b64 -> b64 nonzero", "D = S0 ^ S1; SCC = (D != 0)")
def logical_xor(left: Number, right: Number) -> Number:
    return left ^ right


@scalar("s_andn2_b32 s_and_not1_b32", "b32 b32 -> b32 nonzero", "D = S0 & ~S1; SCC = (D != 0)")
@scalar("s_andn2_b64 s_and_not1_b64", "b64 b64 -> b64 nonzero", "D = S0 & ~S1; SCC = (D != 0)")
def and_not(left: Number, right: Number) -> Number:
    return left & (right ^ ALL)


@scalar("s_orn2_b32 s_or_not1_b32", "b32 b32 -> b32 nonzero", "D = S0 | ~S1; SCC = (D != 0)")
def or_not(left: Number, right: Number) -> Number:
    return left | (right ^ LOW)


@scalar("s_orn2_b64 s_or_not1_b64", "b64 b64 -> b64 nonzero", "D = S0 | ~S1; SCC = (D != 0)")
def or_not_long(left: Number, right: Number) -> Number:
    return left | (right ^ ALL)


@scalar("s_nand_b32", "b32 b32 -> b32 nonzero", "D = ~(S0 & S1); SCC = (D != 0)")
def not_and(left: Number, right: Number) -> Number:
    return left & right ^ LOW


@scalar("s_nand_b64", "b64 b64 -> b64 nonzero", "D = ~(S0 & S1); SCC = (D != 0)")
def not_and_long(left: Number, right: Number) -> Number:
    return left & right ^ ALL


@scalar("s_nor_b32", "b32 b32 -> b32 nonzero", "D = ~(S0 | S1); SCC = (D != 0)")
def not_or(left: Number, right: Number) -> Number:
    return (left | right) ^ LOW


@scalar("s_nor_b64", "b64 b64 -> b64 nonzero", "D = ~(S0 | S1); SCC = (D != 0)")
def not_or_long(left: Number, right: Number) -> Number:
    return (left | right) ^ ALL


@scalar("s_xnor_b32", "b32 b32 -> b32 nonzero", "D = ~(S0 ^ S1); SCC = (D != 0)")
def not_xor(left: Number, right: Number) -> Number:
    return left ^ right ^ LOW


@scalar("s_xnor_b64", "b64 b64 -> b64 nonzero", "D = ~(S0 ^ S1); SCC = (D != 0)")
def not_xor_long(left: Number, right: Number) -> Number:
    return left ^ right ^ ALL


@scalar("s_not_b32", "b32 -> b32 nonzero", "D = ~S0; SCC = (D != 0)")
def logical_not(value: Number) -> Number:
    return value ^ LOW


@scalar("s_not_b64", "b64 -> b64 nonzero", "D = ~S0; SCC = (D != 0)")
def logical_not_long(value: Number) -> Number:
    return value ^ ALL


def _whole_quads(value: int) -> int:
    return sum(15 << at for at in range(0, 64, 4) if value >> at & 15)


@scalar("s_wqm_b32", "b32 -> b32 nonzero", "D = S0, with all bits of a quad set where one is; SCC = (D != 0)")
@scalar("s_wqm_b64", "b64 -> b64 nonzero", "D = S0, with all bits of a quad set where one is; SCC = (D != 0)")
def whole_quads(value: Number) -> Number:
    return map_bits(_whole_quads, value)


# --- Shifts and bit fields ----------------------------------------------------------------------------------------


@scalar("s_lshl_b32", "b32 b32 -> b32 nonzero", "D = S0 << S1[4:0]; SCC = (D != 0)")
def shift_left(value: Number, count: Number) -> Number:
    return shifted_left(value, count, 32)


@scalar("s_lshl_b64", "b64 b32 -> b64 nonzero", "D = S0 << S1[5:0]; SCC = (D != 0)")
def shift_left_long(value: Number, count: Number) -> Number:
    return shifted_left(value, count, 64)


@scalar("s_lshr_b32", "b32 b32 -> b32 nonzero", "D = S0 >> S1[4:0]; SCC = (D != 0)")
def shift_right(value: Number, count: Number) -> Number:
    return shifted_right(value, count, 32)


@scalar("s_lshr_b64", "b64 b32 -> b64 nonzero", "D = S0 >> S1[5:0]; SCC = (D != 0)")
def shift_right_long(value: Number, count: Number) -> Number:
    return shifted_right(value, count, 64)


@scalar("s_ashr_i32", "b32 b32 -> b32 nonzero", "D = signext(S0) >> S1[4:0]; SCC = (D != 0)")
def shift_arithmetic(value: Number, count: Number) -> Number:
    return shifted_arithmetic(value, count, 32)


@scalar("s_ashr_i64", "b64 b32 -> b64 nonzero", "D = signext(S0) >> S1[5:0]; SCC = (D != 0)")
def shift_arithmetic_long(value: Number, count: Number) -> Number:
    return shifted_arithmetic(value, count, 64)


@scalar("s_bfm_b32", "b32 b32 -> b32", "D = ((1 << S0[4:0]) - 1) << S1[4:0]")
def field_mask(width: Number, start: Number) -> Number:
    return _ones(width & 31) << (start & 31) & LOW


@scalar("s_bfm_b64", "b32 b32 -> b64", "D = ((1 << S0[5:0]) - 1) << S1[5:0]")
def field_mask_long(width: Number, start: Number) -> Number:
    return unsigned(_ones(width & 63) << (start & 63), 64)


def _ones(count: Number) -> Number:
    """Return a number of ones, fewer than 64."""
    return ((count & 0) + 1 << count) - 1


def _field(value: Number, where: Number, bits: int, *, is_signed: bool) -> Number:
    """Extract the bits that S1 tells: S1[22:16] from bit S1[4:0] or S1[5:0] on."""
    count = where >> 16 & 127
    width = np.minimum(count, bits) if isinstance(count, np.ndarray) else min(count, bits)
    if not is_signed:
        part = value >> (where & (bits - 1))
        whole = (where & 0) + ((1 << bits) - 1)
        return part & choose(width >= bits, whole, _ones(width & 63))
    narrow = choose(width == 0, 0, value) if isinstance(width, np.ndarray) or not width else value
    part = shifted_arithmetic(narrow, where & (bits - 1), bits)
    above = choose(width == 0, 0, bits - width)
    return shifted_arithmetic(unsigned(part << above, bits), above, bits)


@scalar("s_bfe_u32", "b32 b32 -> b32 nonzero", "D = (S0 >> S1[4:0]) & ((1 << S1[22:16]) - 1); SCC = (D != 0)")
def extract_field(value: Number, where: Number) -> Number:
    return _field(value, where, 32, is_signed=False)


@scalar("s_bfe_i32", "b32 b32 -> b32 nonzero", "the same, with the sign of the field; SCC = (D != 0)")
def extract_signed_field(value: Number, where: Number) -> Number:
    return _field(value, where, 32, is_signed=True)


@scalar("s_bfe_u64", "b64 b32 -> b64 nonzero", "D = (S0 >> S1[5:0]) & ((1 << S1[22:16]) - 1); SCC = (D != 0)")
def extract_field_long(value: Number, where: Number) -> Number:
    return _field(value, where, 64, is_signed=False)


@scalar("s_bfe_i64", "b64 b32 -> b64 nonzero", "the same, with the sign of the field; SCC = (D != 0)")
def extract_signed_field_long(value: Number, where: Number) -> Number:
    return _field(value, where, 64, is_signed=True)


@scalar("s_bitset0_b32", "b32 b32 -> b32", "D[S0[4:0]] = 0")
def clear_bit(old: Number, position: Number) -> Number:
    return old & (_bit(position & 31) ^ LOW)


@scalar("s_bitset0_b64", "b64 b32 -> b64", "D[S0[5:0]] = 0")
def clear_bit_long(old: Number, position: Number) -> Number:
    return old & (_bit(position & 63) ^ ALL)


@scalar("s_bitset1_b32", "b32 b32 -> b32", "D[S0[4:0]] = 1")
def set_bit(old: Number, position: Number) -> Number:
    return old | _bit(position & 31)


@scalar("s_bitset1_b64", "b64 b32 -> b64", "D[S0[5:0]] = 1")
def set_bit_long(old: Number, position: Number) -> Number:
    return old | _bit(position & 63)


def _bit(position: Number) -> Number:
    return (position & 0) + 1 << position


@scalar("s_sext_i32_i8", "b32 -> b32", "D = signext(S0[7:0])")
def extend_byte(value: Number) -> Number:
    return unsigned(signed(value & 0xFF, 8), 32)


@scalar("s_sext_i32_i16", "b32 -> b32", "D = signext(S0[15:0])")
def extend_short(value: Number) -> Number:
    return unsigned(signed(value & 0xFFFF, 16), 32)


@scalar("s_pack_ll_b32_b16", "b32 b32 -> b32", "D = { S1[15:0], S0[15:0] }")
def pack_low_low(low: Number, high: Number) -> Number:
    return low & 0xFFFF | (high & 0xFFFF) << 16


@scalar("s_pack_lh_b32_b16", "b32 b32 -> b32", "D = { S1[31:16], S0[15:0] }")
def pack_low_high(low: Number, high: Number) -> Number:
    return low & 0xFFFF | high & 0xFFFF0000


@scalar("s_pack_hh_b32_b16", "b32 b32 -> b32", "D = { S1[31:16], S0[31:16] }")
def pack_high_high(low: Number, high: Number) -> Number:
    return low >> 16 | high & 0xFFFF0000


@scalar("s_pack_hl_b32_b16", "b32 b32 -> b32", "D = { S1[15:0], S0[31:16] }")
def pack_high_low(low: Number, high: Number) -> Number:
    return low >> 16 | (high & 0xFFFF) << 16


# --- Bits of a number ---------------------------------------------------------------------------------------------


def _reversed(bits: int) -> Any:
    return lambda value: int(f"{value:0{bits}b}"[::-1], 2)


@scalar("s_brev_b32", "b32 -> b32", "D[31:0] = S0[0:31]")
def reverse(value: Number) -> Number:
    return map_bits(_reversed(32), value)


@scalar("s_brev_b64", "b64 -> b64", "D[63:0] = S0[0:63]")
def reverse_long(value: Number) -> Number:
    return map_bits(_reversed(64), value)


@scalar("s_bcnt0_i32_b32", "b32 -> b32 nonzero", "D = number of bits of S0 that are 0; SCC = (D != 0)")
def count_zeros(value: Number) -> Number:
    return map_bits(lambda number: 32 - number.bit_count(), value)


@scalar("s_bcnt0_i32_b64", "b64 -> b32 nonzero", "D = number of bits of S0 that are 0; SCC = (D != 0)")
def count_zeros_long(value: Number) -> Number:
    return map_bits(lambda number: 64 - number.bit_count(), value)


@scalar("s_bcnt1_i32_b32", "b32 -> b32 nonzero", "D = number of bits of S0 that are 1; SCC = (D != 0)")
@scalar("s_bcnt1_i32_b64", "b64 -> b32 nonzero", "D = number of bits of S0 that are 1; SCC = (D != 0)")
def count_ones(value: Number) -> Number:
    return map_bits(int.bit_count, value)


def _first_one(number: int) -> int:
    return (number & -number).bit_length() - 1 if number else LOW


@scalar("s_ff1_i32_b32 s_ctz_i32_b32", "b32 -> b32", "D = position of the lowest 1 of S0, -1 if none")
@scalar("s_ff1_i32_b64 s_ctz_i32_b64", "b64 -> b32", "D = position of the lowest 1 of S0, -1 if none")
def lowest_one(value: Number) -> Number:
    return map_bits(_first_one, value)


@scalar("s_ff0_i32_b32", "b32 -> b32", "D = position of the lowest 0 of S0, -1 if none")
def lowest_zero(value: Number) -> Number:
    return map_bits(lambda number: _first_one(number ^ LOW), value)


@scalar("s_ff0_i32_b64", "b64 -> b32", "D = position of the lowest 0 of S0, -1 if none")
def lowest_zero_long(value: Number) -> Number:
    return map_bits(lambda number: _first_one(number ^ ALL), value)


@scalar("s_flbit_i32_b32 s_clz_i32_u32", "b32 -> b32", "D = number of zeros above the highest 1 of S0, -1 if none")
def leading_zeros(value: Number) -> Number:
    return map_bits(lambda number: 32 - number.bit_length() if number else LOW, value)


@scalar("s_flbit_i32_b64 s_clz_i32_u64", "b64 -> b32", "D = number of zeros above the highest 1 of S0, -1 if none")
def leading_zeros_long(value: Number) -> Number:
    return map_bits(lambda number: 64 - number.bit_length() if number else LOW, value)


def _leading_signs(bits: int) -> Any:
    def count(number: int) -> int:
        differing = number ^ ((1 << bits) - 1) if number >> (bits - 1) else number
        return bits - differing.bit_length() if differing else LOW

    return count


@scalar("s_flbit_i32 s_cls_i32", "b32 -> b32", "D = number of bits at the top of S0 equal to its sign, -1 if all are")
def leading_signs(value: Number) -> Number:
    return map_bits(_leading_signs(32), value)


@scalar("s_flbit_i32_i64 s_cls_i32_i64", "b64 -> b32", "D = number of bits at the top of S0 equal to its sign")
def leading_signs_long(value: Number) -> Number:
    return map_bits(_leading_signs(64), value)


def _quads(bits: int) -> Any:
    return lambda number: sum(1 << at // 4 for at in range(0, bits, 4) if number >> at & 15)


@scalar("s_quadmask_b32", "b32 -> b32 nonzero", "D = a bit for each quad of S0 that is not 0; SCC = (D != 0)")
@scalar("s_quadmask_b64", "b64 -> b64 nonzero", "D = a bit for each quad of S0 that is not 0; SCC = (D != 0)")
def quad_mask(value: Number) -> Number:
    return map_bits(_quads(64), value)


def _replicated(number: int) -> int:
    return sum(3 << 2 * at for at in range(32) if number >> at & 1)


@scalar("s_bitreplicate_b64_b32", "b32 -> b64", "D = S0 with each bit twice")
def replicate_bits(value: Number) -> Number:
    return map_bits(_replicated, value)


# --- Comparisons --------------------------------------------------------------------------------------------------


@scalar("s_cmp_eq_i32 s_cmp_eq_u32 s_cmpk_eq_i32 s_cmpk_eq_u32", "b32 b32 -> scc", "SCC = (S0 == S1)")
@scalar("s_cmp_eq_u64", "b64 b64 -> scc", "SCC = (S0 == S1)")
def is_equal(left: Number, right: Number) -> Number:
    return flag(left == right)


@scalar("s_cmp_lg_i32 s_cmp_lg_u32 s_cmpk_lg_i32 s_cmpk_lg_u32", "b32 b32 -> scc", "SCC = (S0 != S1)")
@scalar("s_cmp_lg_u64", "b64 b64 -> scc", "SCC = (S0 != S1)")
def is_unequal(left: Number, right: Number) -> Number:
    return flag(left != right)


@scalar("s_cmp_gt_u32 s_cmpk_gt_u32", "b32 b32 -> scc", "SCC = (S0 > S1)")
def is_greater(left: Number, right: Number) -> Number:
    return flag(left > right)


@scalar("s_cmp_ge_u32 s_cmpk_ge_u32", "b32 b32 -> scc", "SCC = (S0 >= S1)")
def is_not_less(left: Number, right: Number) -> Number:
    return flag(left >= right)


@scalar("s_cmp_lt_u32 s_cmpk_lt_u32", "b32 b32 -> scc", "SCC = (S0 < S1)")
def is_less(left: Number, right: Number) -> Number:
    return flag(left < right)


@scalar("s_cmp_le_u32 s_cmpk_le_u32", "b32 b32 -> scc", "SCC = (S0 <= S1)")
def is_not_greater(left: Number, right: Number) -> Number:
    return flag(left <= right)


@scalar("s_cmp_gt_i32 s_cmpk_gt_i32", "b32 b32 -> scc", "SCC = (S0 > S1)")
def is_greater_signed(left: Number, right: Number) -> Number:
    return flag(signed(left, 32) > signed(right, 32))


@scalar("s_cmp_ge_i32 s_cmpk_ge_i32", "b32 b32 -> scc", "SCC = (S0 >= S1)")
def is_not_less_signed(left: Number, right: Number) -> Number:
    return flag(signed(left, 32) >= signed(right, 32))


@scalar("s_cmp_lt_i32 s_cmpk_lt_i32", "b32 b32 -> scc", "SCC = (S0 < S1)")
def is_less_signed(left: Number, right: Number) -> Number:
    return flag(signed(left, 32) < signed(right, 32))


@scalar("s_cmp_le_i32 s_cmpk_le_i32", "b32 b32 -> scc", "SCC = (S0 <= S1)")
def is_not_greater_signed(left: Number, right: Number) -> Number:
    return flag(signed(left, 32) <= signed(right, 32))


@scalar("s_bitcmp0_b32", "b32 b32 -> scc", "SCC = (S0[S1[4:0]] == 0)")
def is_bit_clear(value: Number, position: Number) -> Number:
    return value >> (position & 31) & 1 ^ 1


@scalar("s_bitcmp0_b64", "b64 b32 -> scc", "SCC = (S0[S1[5:0]] == 0)")
def is_bit_clear_long(value: Number, position: Number) -> Number:
    return value >> (position & 63) & 1 ^ 1


@scalar("s_bitcmp1_b32", "b32 b32 -> scc", "SCC = (S0[S1[4:0]] == 1)")
def is_bit_set(value: Number, position: Number) -> Number:
    return value >> (position & 31) & 1


@scalar("s_bitcmp1_b64", "b64 b32 -> scc", "SCC = (S0[S1[5:0]] == 1)")
def is_bit_set_long(value: Number, position: Number) -> Number:
    return value >> (position & 63) & 1


# --- Floats (GFX11.5 and later): the operations of vectors, on one number for all lanes ---------------------------

_FLOAT_NAMES = """
s_add_f32 s_sub_f32 s_mul_f32 s_fmac_f32 s_fmaak_f32 s_fmamk_f32 s_min_num_f32 s_max_num_f32 s_ceil_f32 s_floor_f32
s_trunc_f32 s_rndne_f32 s_cvt_f32_i32 s_cvt_f32_u32 s_cvt_i32_f32 s_cvt_u32_f32 s_cvt_f16_f32 s_cvt_f32_f16
s_cvt_pk_rtz_f16_f32 s_add_f16 s_sub_f16 s_mul_f16 s_fmac_f16 s_min_num_f16 s_max_num_f16 s_ceil_f16 s_floor_f16
s_trunc_f16 s_rndne_f16 s_minimum_f32 s_maximum_f32 s_minimum_f16 s_maximum_f16
v_s_rcp_f32 v_s_rsq_f32 v_s_sqrt_f32 v_s_exp_f32 v_s_log_f32
v_s_rcp_f16 v_s_rsq_f16 v_s_sqrt_f16 v_s_exp_f16 v_s_log_f16
"""

for _name in _FLOAT_NAMES.split():
    _row = MEANINGS[re.sub(r"^(v_)?s_", "v_", _name)]
    scalar(_name, f"{' '.join(_row.sources)} -> {' '.join(_row.results)}", _row.document)(_row.function)
for _type in ("f16", "f32"):
    for _word in ("lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt"):
        _row = MEANINGS[f"v_cmp_{_word}_{_type}"]
        _text = _row.document.replace("D[lane]", "SCC")
        scalar(f"s_cmp_{_word}_{_type}", f"{_type} {_type} -> scc", _text)(_row.function)


@scalar("s_cvt_hi_f32_f16", "u32 -> f32", "D = (float) S0[31:16].f16")
def high_half_to_single(value: Any) -> Any:
    return (value >> 16).astype(np.uint16).view(np.float16).astype(np.float32)


# --- EXEC: its old value is kept, or it is written, in one step ---------------------------------------------------

# ``exec`` as a source or a result is the mask of the executing lanes, with the size of a wave.

_MASKS: dict[str, tuple[str, Callable[[Number, Number, int], Number]]] = {
    "and": ("S0 & EXEC", lambda value, lanes, _all: value & lanes),
    "or": ("S0 | EXEC", lambda value, lanes, _all: value | lanes),
    "xor": ("S0 ^ EXEC", lambda value, lanes, _all: value ^ lanes),
    "andn1 and_not0": ("~S0 & EXEC", lambda value, lanes, all_: (value ^ all_) & lanes),
    "andn2 and_not1": ("S0 & ~EXEC", lambda value, lanes, all_: value & (lanes ^ all_)),
    "orn1 or_not0": ("~S0 | EXEC", lambda value, lanes, all_: value ^ all_ | lanes),
    "orn2 or_not1": ("S0 | ~EXEC", lambda value, lanes, all_: value | lanes ^ all_),
    "nand": ("~(S0 & EXEC)", lambda value, lanes, all_: value & lanes ^ all_),
    "nor": ("~(S0 | EXEC)", lambda value, lanes, all_: (value | lanes) ^ all_),
    "xnor": ("~(S0 ^ EXEC)", lambda value, lanes, all_: value ^ lanes ^ all_),
}


def _saving(mask: Callable[[Number, Number, int], Number], all_lanes: int) -> Callable[[Number, Number], Any]:
    def save(value: Number, lanes: Number) -> tuple[Number, Number, Number]:
        new = mask(value, lanes, all_lanes)
        return lanes, new, flag(new != 0)

    return save


def _writing(mask: Callable[[Number, Number, int], Number], all_lanes: int) -> Callable[[Number, Number], Any]:
    def write(value: Number, lanes: Number) -> tuple[Number, Number, Number]:
        new = mask(value, lanes, all_lanes)
        return new, new, flag(new != 0)

    return write


for _words, (_text, _mask) in _MASKS.items():
    for _bits, _all in ((32, LOW), (64, ALL)):
        _types = f"b{_bits} exec -> b{_bits} exec scc"
        _saves = " ".join(f"s_{word}_saveexec_b{_bits}" for word in _words.split())
        scalar(_saves, _types, f"D = EXEC; EXEC = {_text}; SCC = (EXEC != 0)")(_saving(_mask, _all))
        if _words.startswith("andn"):
            _writes = " ".join(f"s_{word}_wrexec_b{_bits}" for word in _words.split())
            scalar(_writes, _types, f"EXEC = {_text}; D = EXEC; SCC = (EXEC != 0)")(_writing(_mask, _all))
