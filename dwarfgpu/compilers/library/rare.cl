/* What few kernels call, in a part of its own so that others need not wait for it: conversions with a rounding mode, half
   in memory, shuffles, and what AMD adds. */
#include "common.h"

/* ---- conversions between integers: a rounding mode changes nothing ---- */
#define KEEP(R, T, how) IN R convert_##R##how(T a) { return convert_##R(a); } NAMED(R, how, T) IN R convert_##R##_sat##how(T a) { return convert_##R##_sat(a); } NAMED(R, _sat##how, T)
#define KEEPS(R, T) KEEP(R, T, _rte) KEEP(R, T, _rtz) KEEP(R, T, _rtp) KEEP(R, T, _rtn)
#define INTEGERS(M, R) M(R, char) M(R, uchar) M(R, short) M(R, ushort) M(R, int) M(R, uint) M(R, long) M(R, ulong)
INTEGERS(KEEPS, char) INTEGERS(KEEPS, uchar) INTEGERS(KEEPS, short) INTEGERS(KEEPS, ushort) INTEGERS(KEEPS, int) INTEGERS(KEEPS, uint) INTEGERS(KEEPS, long) INTEGERS(KEEPS, ulong)

/* ---- conversions to floating point. Roundings in one direction compose: an integer becomes a double first ---- */
#define UP(r, rest) ((rest) > 0 ? nextafter(r, (__typeof__(r))__builtin_inff()) : r)
#define DOWN(r, rest) ((rest) < 0 ? nextafter(r, (__typeof__(r))-__builtin_inff()) : r)
#define INWARD(r, rest) (r > 0 ? DOWN(r, rest) : r < 0 ? UP(r, rest) : r)   /* `rest` is what the nearest number is short of */
static double dg_rest(double high, double low, double sum) { return low - (sum - high); }
#define WIDE(T) \
  IN double dg_rtp(T a) { double h = (double)(a >> 32) * 0x1p32, l = (uint)a, r = h + l; return UP(r, dg_rest(h, l, r)); } \
  IN double dg_rtn(T a) { double h = (double)(a >> 32) * 0x1p32, l = (uint)a, r = h + l; return DOWN(r, dg_rest(h, l, r)); } \
  IN double dg_rtz(T a) { double h = (double)(a >> 32) * 0x1p32, l = (uint)a, r = h + l; return INWARD(r, dg_rest(h, l, r)); }
#define EXACT(T) IN double dg_rtp(T a) { return (double)a; } IN double dg_rtn(T a) { return (double)a; } IN double dg_rtz(T a) { return (double)a; }
EXACT(char) EXACT(uchar) EXACT(short) EXACT(ushort) EXACT(int) EXACT(uint) EXACT(float) EXACT(double) EXACT(half) WIDE(long) WIDE(ulong)
#define DIFFERENCE(d, r) ((d > (double)(r)) - (d < (double)(r)))
#define TO(R, T, how, mode) IN R convert_##R##how(T a) { double d = dg##how(a); R r = (R)d; return mode(r, DIFFERENCE(d, r)); } NAMED(R, how, T)
#define DIRECTED(R, T) TO(R, T, _rtp, UP) TO(R, T, _rtn, DOWN) TO(R, T, _rtz, INWARD)
#define FLOATING(R) INTEGERS(DIRECTED, R) DIRECTED(R, float) DIRECTED(R, double) DIRECTED(R, half)
FLOATING(float) FLOATING(double) FLOATING(half)

/* ---- half in memory; vectors of three are four apart if they are aligned ---- */
#define LOAD(n, A) \
  IN float##n vload_half##n(size_t i, const A half *p) { float##n v; for (int k = 0; k < n; k++) v[k] = p[n * i + k]; return v; } \
  IN float##n vloada_half##n(size_t i, const A half *p) { float##n v; for (int k = 0; k < n; k++) v[k] = p[(n == 3 ? 4 : n) * i + k]; return v; }
#define LOADS(A) IN float vload_half(size_t i, const A half *p) { return p[i]; } IN float vloada_half(size_t i, const A half *p) { return p[i]; } \
  LOAD(2, A) LOAD(3, A) LOAD(4, A) LOAD(8, A) LOAD(16, A)
LOADS(__global) LOADS(__constant) LOADS(__local) LOADS(__private) LOADS(__generic)
#define STORE(T, n, how, A, convert) \
  IN void vstore_half##n##how(T##n v, size_t i, A half *p) { for (int k = 0; k < n; k++) p[n * i + k] = convert(v[k]); } \
  IN void vstorea_half##n##how(T##n v, size_t i, A half *p) { for (int k = 0; k < n; k++) p[(n == 3 ? 4 : n) * i + k] = convert(v[k]); }
#define STORES(T, how, A, convert) \
  IN void vstore_half##how(T v, size_t i, A half *p) { p[i] = convert(v); } IN void vstorea_half##how(T v, size_t i, A half *p) { p[i] = convert(v); } \
  STORE(T, 2, how, A, convert) STORE(T, 3, how, A, convert) STORE(T, 4, how, A, convert) STORE(T, 8, how, A, convert) STORE(T, 16, how, A, convert)
#define ROUNDINGS(T, A) STORES(T, , A, convert_half) STORES(T, _rte, A, convert_half_rte) STORES(T, _rtz, A, convert_half_rtz) STORES(T, _rtp, A, convert_half_rtp) STORES(T, _rtn, A, convert_half_rtn)
#define TO_MEMORY(A) ROUNDINGS(float, A) ROUNDINGS(double, A)
TO_MEMORY(__global) TO_MEMORY(__local) TO_MEMORY(__private) TO_MEMORY(__generic)

/* ---- elements by a mask ---- */
#define SHUFFLE(T, M, n, m) IN T##n shuffle(T##m a, M##n i) { T##n r; for (int k = 0; k < n; k++) r[k] = a[i[k] & (m - 1)]; return r; } \
  IN T##n shuffle2(T##m a, T##m b, M##n i) { T##n r; for (int k = 0; k < n; k++) { int j = (int)i[k] & (2 * m - 1); r[k] = j < m ? a[j] : b[j - m]; } return r; }
#define FROM(T, M, m) SHUFFLE(T, M, 2, m) SHUFFLE(T, M, 4, m) SHUFFLE(T, M, 8, m) SHUFFLE(T, M, 16, m)
#define SHUFFLES(T, M) FROM(T, M, 2) FROM(T, M, 4) FROM(T, M, 8) FROM(T, M, 16)
SHUFFLES(char, uchar) SHUFFLES(uchar, uchar) SHUFFLES(short, ushort) SHUFFLES(ushort, ushort) SHUFFLES(half, ushort) SHUFFLES(int, uint) SHUFFLES(uint, uint) SHUFFLES(float, uint)
SHUFFLES(long, ulong) SHUFFLES(ulong, ulong) SHUFFLES(double, ulong)

/* ---- cl_amd_media_ops and cl_amd_media_ops2 ---- */
#define PART(a, size, k) ((a) >> size * (k) & ((1u << size) - 1))
static uint dg_apart(uint a, uint b) { return a > b ? a - b : b - a; }
static uint dg_sum_apart(uint a, uint b) { uint n = 0; for (int k = 0; k < 4; k++) n += dg_apart(PART(a, 8, k), PART(b, 8, k)); return n; }
static uint dg_masked_apart(uint a, uint b) { uint n = 0; for (int k = 0; k < 4; k++) n += PART(b, 8, k) ? dg_apart(PART(a, 8, k), PART(b, 8, k)) : 0; return n; }
IN uint amd_pack(float4 v) { return as_uint(convert_uchar4_sat(rint(v))); }
#define UNPACK(k) IN float amd_unpack##k(uint a) { return PART(a, 8, k); } E1(float, amd_unpack##k, uint)
UNPACK(0) UNPACK(1) UNPACK(2) UNPACK(3)
#define WORDS(f, value) IN uint f(uint a, uint b, uint c) { return value; } E3(uint, f, uint, uint, uint)
WORDS(amd_bitalign, (uint)(((ulong)a << 32 | b) >> (c & 31))) WORDS(amd_bytealign, (uint)(((ulong)a << 32 | b) >> 8 * (c & 3)))
static uint dg_lerp(uint a, uint b, uint c) { uint r = 0; for (int k = 0; k < 4; k++) r |= (PART(a, 8, k) + PART(b, 8, k) + (c >> 8 * k & 1) >> 1) << 8 * k; return r; }
WORDS(amd_lerp, dg_lerp(a, b, c)) WORDS(amd_sad, dg_sum_apart(a, b) + c) WORDS(amd_sadhi, (dg_sum_apart(a, b) << 16) + c) WORDS(amd_msad, dg_masked_apart(a, b) + c)
WORDS(amd_sadw, dg_apart(PART(a, 16, 0), PART(b, 16, 0)) + dg_apart(a >> 16, b >> 16) + c) WORDS(amd_sadd, dg_apart(a, b) + c)
IN uint amd_sad4(uint4 a, uint4 b, uint c) { return dg_sum_apart(a.x, b.x) + dg_sum_apart(a.y, b.y) + dg_sum_apart(a.z, b.z) + dg_sum_apart(a.w, b.w) + c; }
#define QUADS(f, apart) IN ulong f(ulong a, uint b, ulong c) { ulong r = 0; for (int k = 0; k < 4; k++) r |= ((apart((uint)(a >> 8 * k), b) + (c >> 16 * k)) & 0xffff) << 16 * k; return r; } E3(ulong, f, ulong, uint, ulong)
QUADS(amd_qsad, dg_sum_apart) QUADS(amd_mqsad, dg_masked_apart)
IN uint amd_bfm(uint a, uint b) { return ((1u << (a & 31)) - 1) << (b & 31); } E2(uint, amd_bfm, uint, uint)
#define FIELD(T) IN T amd_bfe(T a, uint b, uint c) { uint first = b & 31, width = c & 31; return width == 0 ? 0 : first + width < 32 ? a << (32 - first - width) >> (32 - width) : a >> first; } E3(T, amd_bfe, T, uint, uint)
FIELD(int) FIELD(uint)
#define THREE(T, least, most) IN T amd_min3(T a, T b, T c) { return least(least(a, b), c); } E3(T, amd_min3, T, T, T) IN T amd_max3(T a, T b, T c) { return most(most(a, b), c); } E3(T, amd_max3, T, T, T) \
  IN T amd_median3(T a, T b, T c) { return most(least(a, b), least(most(a, b), c)); } E3(T, amd_median3, T, T, T)
THREE(int, min, max) THREE(uint, min, max) THREE(float, fmin, fmax)
