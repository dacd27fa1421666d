/* Conversions from each type of numbers to each other one, in the usual rounding mode, and those to integers in all. */
#include "common.h"

/* ---- conversions ---- */
#define C_ONE(R, T) IN R convert_##R(T a) { return (R)a; } IN R convert_##R##_rte(T a) { return (R)a; }
#define C_N(R, T, n) IN R##n convert_##R##n(T##n a) { return __builtin_convertvector(a, R##n); }
#define PLAIN(R, T) IN R convert_##R(T a) { return (R)a; } WIDTHS(C_N, R, T)
#define ELEMENTS(R, f, T) IN R##2 f##2(T##2 a) { return (R##2)(f(a.s0), f(a.s1)); }
#define SAT_II(R, L, G, T) IN R convert_##R##_sat(T a) { return (T)-1 < 0 ? (long)a < (long)L && (L < 0 || a < 0) ? L : a > 0 && (ulong)a > (ulong)G ? G : (R)a : (ulong)a > (ulong)G ? G : (R)a; } NAMED(R, _sat, T)
#define SAT_FI(R, L, G, T) IN R convert_##R##_sat(T a) { return a != a ? 0 : a <= (T)L ? L : a >= (T)G ? G : (R)a; } NAMED(R, _sat, T) \
  ROUNDED(R, T, _rte, __builtin_rint) ROUNDED(R, T, _rtz, __builtin_trunc) ROUNDED(R, T, _rtp, __builtin_ceil) ROUNDED(R, T, _rtn, __builtin_floor)
#define ROUNDED(R, T, how, f) IN R convert_##R##how(T a) { return (R)f((double)a); } NAMED(R, how, T) IN R convert_##R##_sat##how(T a) { return convert_##R##_sat(f((double)a)); } NAMED(R, _sat##how, T)
#define FROM_ALL(M, R) M(R, char) M(R, uchar) M(R, short) M(R, ushort) M(R, int) M(R, uint) M(R, long) M(R, ulong) M(R, float) M(R, double) M(R, half)
#define TO_INTEGER(R, L, G) FROM_ALL(PLAIN, R) SAT_FI(R, L, G, double) SAT_FI(R, L, G, float) SAT_FI(R, L, G, half) \
  SAT_II(R, L, G, char) SAT_II(R, L, G, uchar) SAT_II(R, L, G, short) SAT_II(R, L, G, ushort) SAT_II(R, L, G, int) SAT_II(R, L, G, uint) SAT_II(R, L, G, long) SAT_II(R, L, G, ulong)
TO_INTEGER(char, CHAR_MIN, CHAR_MAX) TO_INTEGER(uchar, 0, UCHAR_MAX) TO_INTEGER(short, SHRT_MIN, SHRT_MAX) TO_INTEGER(ushort, 0, USHRT_MAX)
TO_INTEGER(int, INT_MIN, INT_MAX) TO_INTEGER(uint, 0, UINT_MAX) TO_INTEGER(long, LONG_MIN, LONG_MAX) TO_INTEGER(ulong, 0, ULONG_MAX)
#define RTE(R, T) IN R convert_##R##_rte(T a) { return (R)a; } NAMED(R, _rte, T)
FROM_ALL(PLAIN, float) FROM_ALL(PLAIN, double) FROM_ALL(PLAIN, half) FROM_ALL(RTE, float) FROM_ALL(RTE, double) FROM_ALL(RTE, half)
