/* What sub-groups and work-groups compute together. A sub-group is a wave; loops go over the lanes that execute, so that
   the last wave of a work-group and calls under a condition are right, too. */
#include "common.h"
#define TOGETHER __attribute__((overloadable, always_inline, convergent))
__local ulong *dg_local_words(void);

/* ---- values of other lanes ---- */
static TOGETHER ulong dg_active(void) { return __builtin_amdgcn_uicmp(1u, 0u, 33); }
#define MOVE(T, function) \
  union { T value; int words[(sizeof(T) + 3) / 4]; } u = { .words = { 0 } }; u.value = v; \
  for (uint k = 0; k < sizeof u / 4; k++) u.words[k] = function; \
  return u.value;
#define LANES(T) \
  static TOGETHER T dg_lane_of(T v, int i) { MOVE(T, __builtin_amdgcn_readlane(u.words[k], i)) } \
  static TOGETHER T dg_from(T v, int i) { MOVE(T, __builtin_amdgcn_ds_bpermute(i * 4, u.words[k])) } \
  TOGETHER T sub_group_broadcast(T v, uint i) { return dg_lane_of(v, __builtin_amdgcn_readfirstlane(i)); } \
  TOGETHER T sub_group_non_uniform_broadcast(T v, uint i) { return sub_group_broadcast(v, i); } \
  TOGETHER T sub_group_broadcast_first(T v) { return dg_lane_of(v, __builtin_ctzl(dg_active())); } \
  TOGETHER T sub_group_shuffle(T v, uint i) { return dg_from(v, i); } \
  TOGETHER T sub_group_shuffle_xor(T v, uint mask) { return dg_from(v, dg_lane() ^ mask); } \
  TOGETHER T sub_group_shuffle_up(T v, uint by) { return dg_from(v, dg_lane() - by); } \
  TOGETHER T sub_group_shuffle_down(T v, uint by) { return dg_from(v, dg_lane() + by); } \
  TOGETHER int sub_group_non_uniform_all_equal(T v) { T first = sub_group_broadcast_first(v); return __builtin_amdgcn_uicmp((uint)!(v == first), 0u, 33) == 0; } \
  static TOGETHER T dg_of_item(T v, bool is_it) { \
    __local T *word = (__local T *)dg_local_words(); \
    TOGETHER_BARRIER; if (is_it) *word = v; TOGETHER_BARRIER; \
    T found = *word; TOGETHER_BARRIER; return found; } \
  TOGETHER T work_group_broadcast(T v, size_t x) { return dg_of_item(v, ID_0 == x); } \
  TOGETHER T work_group_broadcast(T v, size_t x, size_t y) { return dg_of_item(v, ID_0 == x && ID_1 == y); } \
  TOGETHER T work_group_broadcast(T v, size_t x, size_t y, size_t z) { return dg_of_item(v, ID_0 == x && ID_1 == y && ID_2 == z); }
#define TOGETHER_BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define OF_VECTOR(R, T, n) TOGETHER T##n sub_group_non_uniform_broadcast(T##n v, uint i) { for (int k = 0; k < n; k++) v[k] = sub_group_non_uniform_broadcast(v[k], i); return v; }
#define VECTORS(T) WIDTHS(OF_VECTOR, T, T)
LANES(char) LANES(uchar) LANES(short) LANES(ushort) LANES(int) LANES(uint) LANES(long) LANES(ulong) LANES(float) LANES(double) LANES(half)
VECTORS(char) VECTORS(uchar) VECTORS(short) VECTORS(ushort) VECTORS(int) VECTORS(uint) VECTORS(long) VECTORS(ulong) VECTORS(float) VECTORS(double) VECTORS(half)

/* ---- votes ---- */
TOGETHER int sub_group_any(int p) { return __builtin_amdgcn_uicmp((uint)p, 0u, 33) != 0; }
TOGETHER int sub_group_all(int p) { return __builtin_amdgcn_uicmp((uint)(p == 0), 0u, 33) == 0; }
TOGETHER int sub_group_non_uniform_any(int p) { return sub_group_any(p); }
TOGETHER int sub_group_non_uniform_all(int p) { return sub_group_all(p); }
TOGETHER int sub_group_elect(void) { return dg_lane() == __builtin_ctzl(dg_active()); }
static uint4 dg_words_of(ulong bits) { return (uint4)((uint)bits, (uint)(bits >> 32), 0, 0); }
static ulong dg_bits_of(uint4 words) { return words.x | (ulong)words.y << 32; }
static ulong dg_existing(void) { uint n = get_sub_group_size(); return n == 64 ? ~0ul : (1ul << n) - 1; }
TOGETHER uint4 sub_group_ballot(int p) { return dg_words_of(__builtin_amdgcn_uicmp((uint)p, 0u, 33)); }
TOGETHER int sub_group_inverse_ballot(uint4 w) { return dg_bits_of(w) >> dg_lane() & 1; }
TOGETHER int sub_group_ballot_bit_extract(uint4 w, uint i) { return dg_bits_of(w) >> i & 1; }
TOGETHER uint sub_group_ballot_bit_count(uint4 w) { return __builtin_popcountl(dg_bits_of(w) & dg_existing()); }
TOGETHER uint sub_group_ballot_inclusive_scan(uint4 w) { return __builtin_popcountl(dg_bits_of(w) & (2ul << dg_lane()) - 1); }
TOGETHER uint sub_group_ballot_exclusive_scan(uint4 w) { return __builtin_popcountl(dg_bits_of(w) & (1ul << dg_lane()) - 1); }
TOGETHER uint sub_group_ballot_find_lsb(uint4 w) { return __builtin_ctzl(dg_bits_of(w)); }
TOGETHER uint sub_group_ballot_find_msb(uint4 w) { return 63 - __builtin_clzl(dg_bits_of(w)); }
TOGETHER uint4 get_sub_group_eq_mask(void) { return dg_words_of(1ul << dg_lane()); }
TOGETHER uint4 get_sub_group_lt_mask(void) { return dg_words_of((1ul << dg_lane()) - 1); }
TOGETHER uint4 get_sub_group_le_mask(void) { return dg_words_of((2ul << dg_lane()) - 1); }
TOGETHER uint4 get_sub_group_gt_mask(void) { return dg_words_of(dg_existing() & ~((2ul << dg_lane()) - 1)); }
TOGETHER uint4 get_sub_group_ge_mask(void) { return dg_words_of(dg_existing() & ~((1ul << dg_lane()) - 1)); }

/* Infinity that clang does not see: of a double whose low word is 0, clang 22 moves the low word alone (s_mov_b64). */
static double dg_endless(void) { uint high = 0x7ff00000; __asm__("" : "+s"(high)); return __builtin_astype((ulong)high << 32, double); }

/* ---- reductions and scans: T, the name, what a fold begins with, and a fold of a and b ---- */
#define SUB_GROUP(T, name, start, fold, prefix) \
  TOGETHER T prefix##reduce_##name(T v) { \
    T a = start; \
    for (ulong left = dg_active(); left; left &= left - 1) { T b = dg_lane_of(v, __builtin_ctzl(left)); a = fold; } \
    return a; } \
  TOGETHER T prefix##scan_inclusive_##name(T v) { \
    T a = start, mine = a; \
    for (ulong left = dg_active(); left; left &= left - 1) { \
      uint i = __builtin_ctzl(left); T b = dg_lane_of(v, i); a = fold; mine = i == dg_lane() ? a : mine; } \
    return mine; } \
  TOGETHER T prefix##scan_exclusive_##name(T v) { \
    T a = start, mine = a; \
    for (ulong left = dg_active(); left; left &= left - 1) { \
      uint i = __builtin_ctzl(left); T b = dg_lane_of(v, i); mine = i == dg_lane() ? a : mine; a = fold; } \
    return mine; }
#define WORK_GROUP(T, name, start, fold) \
  static TOGETHER T dg_before_##name(T whole, T *all) { /* the fold of the waves before this one, and of all */ \
    __local T *words = (__local T *)dg_local_words(); uint me = get_sub_group_id(), n = get_num_sub_groups(); \
    TOGETHER_BARRIER; words[me] = whole; TOGETHER_BARRIER; \
    T a = start, before = a; \
    for (uint i = 0; i < n; i++) { T b = words[i]; before = i == me ? a : before; a = fold; } \
    TOGETHER_BARRIER; *all = a; return before; } \
  TOGETHER T work_group_reduce_##name(T v) { T all; dg_before_##name(sub_group_reduce_##name(v), &all); return all; } \
  TOGETHER T work_group_scan_inclusive_##name(T v) { \
    T all, a = dg_before_##name(sub_group_reduce_##name(v), &all), b = sub_group_scan_inclusive_##name(v); return fold; } \
  TOGETHER T work_group_scan_exclusive_##name(T v) { \
    T all, a = dg_before_##name(sub_group_reduce_##name(v), &all), b = sub_group_scan_exclusive_##name(v); return fold; }
#define FOLD(T, name, start, fold) SUB_GROUP(T, name, start, fold, sub_group_) WORK_GROUP(T, name, start, fold) \
  SUB_GROUP(T, name, start, fold, sub_group_non_uniform_)
#define NUMBERS(T, least, most) FOLD(T, add, 0, a + b) FOLD(T, min, most, a < b ? a : b) FOLD(T, max, least, a > b ? a : b) \
  SUB_GROUP(T, mul, 1, a * b, sub_group_non_uniform_)
#define BITS(T) SUB_GROUP(T, and, ~(T)0, a & b, sub_group_non_uniform_) SUB_GROUP(T, or, 0, a | b, sub_group_non_uniform_) \
  SUB_GROUP(T, xor, 0, a ^ b, sub_group_non_uniform_)
NUMBERS(int, INT_MIN, INT_MAX) NUMBERS(uint, 0, UINT_MAX) NUMBERS(long, LONG_MIN, LONG_MAX) NUMBERS(ulong, 0, ULONG_MAX)
NUMBERS(float, -INFINITY, INFINITY) NUMBERS(double, -dg_endless(), dg_endless()) NUMBERS(half, -INFINITY, INFINITY)
BITS(int) BITS(uint) BITS(long) BITS(ulong)
#define SMALL(T, least, most) BITS(T) SUB_GROUP(T, add, 0, a + b, sub_group_non_uniform_) SUB_GROUP(T, mul, 1, a * b, sub_group_non_uniform_) \
  SUB_GROUP(T, min, most, a < b ? a : b, sub_group_non_uniform_) SUB_GROUP(T, max, least, a > b ? a : b, sub_group_non_uniform_)
SMALL(char, CHAR_MIN, CHAR_MAX) SMALL(uchar, 0, UCHAR_MAX) SMALL(short, SHRT_MIN, SHRT_MAX) SMALL(ushort, 0, USHRT_MAX)
SUB_GROUP(int, logical_and, 1, a && b, sub_group_non_uniform_) SUB_GROUP(int, logical_or, 0, a || b, sub_group_non_uniform_)
SUB_GROUP(int, logical_xor, 0, !a != !b, sub_group_non_uniform_)
TOGETHER int work_group_all(int p) { return work_group_reduce_min((int)(p != 0)); }
TOGETHER int work_group_any(int p) { return work_group_reduce_max((int)(p != 0)); }
