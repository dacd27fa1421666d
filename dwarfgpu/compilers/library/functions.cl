/* Integers and mathematics. float functions are computed in double and rounded once (0.5 ULP but for ties); double
   functions are within 2 units in the last place. */
#include "common.h"

/* ---- integers: T, its unsigned U, least L, greatest G, a wider W (or T itself for 64 bits) ---- */
#define BITS(T) ((int)sizeof(T) * 8)
#define INTEGER(T, U, L, G) \
  IN T max(T a, T b) { return a > b ? a : b; } E2(T, max, T, T) WITH_SCALAR(max, T) IN T min(T a, T b) { return a < b ? a : b; } E2(T, min, T, T) WITH_SCALAR(min, T) \
  IN T clamp(T x, T a, T b) { return min(max(x, a), b); } E3(T, clamp, T, T, T) WITH_SCALARS(clamp, T) \
  IN U abs(T a) { return (T)-1 < 0 && a < 0 ? (U)(0 - (U)a) : (U)a; } E1(U, abs, T) IN U abs_diff(T a, T b) { return a > b ? (U)a - (U)b : (U)b - (U)a; } E2(U, abs_diff, T, T) \
  IN T hadd(T a, T b) { return (a >> 1) + (b >> 1) + (a & b & 1); } E2(T, hadd, T, T) IN T rhadd(T a, T b) { return (a >> 1) + (b >> 1) + ((a | b) & 1); } E2(T, rhadd, T, T) \
  IN T add_sat(T a, T b) { T r; return __builtin_add_overflow(a, b, &r) ? (b < 0 ? L : G) : r; } E2(T, add_sat, T, T) \
  IN T sub_sat(T a, T b) { T r; return __builtin_sub_overflow(a, b, &r) ? ((T)-1 < 0 && b < 0 ? G : L) : r; } E2(T, sub_sat, T, T) \
  IN T rotate(T a, T n) { uint k = (uint)n & (BITS(T) - 1); return k ? (T)((U)((U)a << k) | (U)((U)a >> (BITS(T) - k))) : a; } E2(T, rotate, T, T) \
  IN T popcount(T a) { return (T)__builtin_popcountl((ulong)(U)a); } E1(T, popcount, T) \
  IN T clz(T a) { return (T)(a == 0 ? BITS(T) : __builtin_clzl((ulong)(U)a) - (64 - BITS(T))); } E1(T, clz, T) IN T ctz(T a) { return (T)(a == 0 ? BITS(T) : __builtin_ctzl((ulong)(U)a)); } E1(T, ctz, T)
#define HIGH(T, W) IN T mul_hi(T a, T b) { return (T)(((W)a * (W)b) >> BITS(T)); } E2(T, mul_hi, T, T) IN T mad_hi(T a, T b, T c) { return mul_hi(a, b) + c; } E3(T, mad_hi, T, T, T)
#define MAD_SAT(T, W, L, G) IN T mad_sat(T a, T b, T c) { W r = (W)a * (W)b + (W)c; return (T)(r < (W)L ? (W)L : r > (W)G ? (W)G : r); } E3(T, mad_sat, T, T, T)
INTEGER(char, uchar, CHAR_MIN, CHAR_MAX) INTEGER(uchar, uchar, 0, UCHAR_MAX) INTEGER(short, ushort, SHRT_MIN, SHRT_MAX) INTEGER(ushort, ushort, 0, USHRT_MAX)
INTEGER(int, uint, INT_MIN, INT_MAX) INTEGER(uint, uint, 0, UINT_MAX) INTEGER(long, ulong, LONG_MIN, LONG_MAX) INTEGER(ulong, ulong, 0, ULONG_MAX)
HIGH(char, int) HIGH(uchar, uint) HIGH(short, int) HIGH(ushort, uint) HIGH(int, long) HIGH(uint, ulong) HIGH(long, __int128) HIGH(ulong, unsigned __int128)
MAD_SAT(char, int, CHAR_MIN, CHAR_MAX) MAD_SAT(uchar, uint, 0, UCHAR_MAX) MAD_SAT(short, int, SHRT_MIN, SHRT_MAX) MAD_SAT(ushort, uint, 0, USHRT_MAX)
MAD_SAT(int, long, INT_MIN, INT_MAX) MAD_SAT(uint, ulong, 0, UINT_MAX) MAD_SAT(long, __int128, LONG_MIN, LONG_MAX) MAD_SAT(ulong, unsigned __int128, 0, ULONG_MAX)
IN int mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); } IN uint mul24(uint a, uint b) { return (a & 0xffffff) * (b & 0xffffff); } E2(int, mul24, int, int) E2(uint, mul24, uint, uint)
IN int mad24(int a, int b, int c) { return mul24(a, b) + c; } IN uint mad24(uint a, uint b, uint c) { return mul24(a, b) + c; } E3(int, mad24, int, int, int) E3(uint, mad24, uint, uint, uint)
#define UPSAMPLE(R, T, U) IN R upsample(T a, U b) { return (R)(((ulong)a << BITS(U)) | b); } E2(R, upsample, T, U)
UPSAMPLE(short, char, uchar) UPSAMPLE(ushort, uchar, uchar) UPSAMPLE(int, short, ushort) UPSAMPLE(uint, ushort, ushort) UPSAMPLE(long, int, uint) UPSAMPLE(ulong, uint, uint)

/* ---- choices. S is the signed integer as wide as T ---- */
#define CHOOSE(T, S, U) IN T select(T a, T b, S c) { return c ? b : a; } IN T select(T a, T b, U c) { return c ? b : a; } \
  IN T##2 select(T##2 a, T##2 b, S##2 c) { return c < (S##2)0 ? b : a; } IN T##3 select(T##3 a, T##3 b, S##3 c) { return c < (S##3)0 ? b : a; } IN T##4 select(T##4 a, T##4 b, S##4 c) { return c < (S##4)0 ? b : a; } \
  IN T##8 select(T##8 a, T##8 b, S##8 c) { return c < (S##8)0 ? b : a; } IN T##16 select(T##16 a, T##16 b, S##16 c) { return c < (S##16)0 ? b : a; } \
  IN T##2 select(T##2 a, T##2 b, U##2 c) { return select(a, b, as_##S##2(c)); } IN T##3 select(T##3 a, T##3 b, U##3 c) { return select(a, b, as_##S##3(c)); } IN T##4 select(T##4 a, T##4 b, U##4 c) { return select(a, b, as_##S##4(c)); } \
  IN T##8 select(T##8 a, T##8 b, U##8 c) { return select(a, b, as_##S##8(c)); } IN T##16 select(T##16 a, T##16 b, U##16 c) { return select(a, b, as_##S##16(c)); } \
  IN T bitselect(T a, T b, T c) { return as_##T((U)((as_##U(a) & ~as_##U(c)) | (as_##U(b) & as_##U(c)))); } E3(T, bitselect, T, T, T)
CHOOSE(char, char, uchar) CHOOSE(uchar, char, uchar) CHOOSE(short, short, ushort) CHOOSE(ushort, short, ushort) CHOOSE(int, int, uint) CHOOSE(uint, int, uint) CHOOSE(long, long, ulong) CHOOSE(ulong, long, ulong)
CHOOSE(float, int, uint) CHOOSE(double, long, ulong) CHOOSE(half, short, ushort)
#define ANY(T) IN int any(T a) { return a < 0; } IN int all(T a) { return a < 0; } \
  IN int any(T##2 a) { return any(a.s0) | any(a.s1); } IN int any(T##3 a) { return any(a.s01) | any(a.s2); } IN int any(T##4 a) { return any(a.lo) | any(a.hi); } IN int any(T##8 a) { return any(a.lo) | any(a.hi); } IN int any(T##16 a) { return any(a.lo) | any(a.hi); } \
  IN int all(T##2 a) { return all(a.s0) & all(a.s1); } IN int all(T##3 a) { return all(a.s01) & all(a.s2); } IN int all(T##4 a) { return all(a.lo) & all(a.hi); } IN int all(T##8 a) { return all(a.lo) & all(a.hi); } IN int all(T##16 a) { return all(a.lo) & all(a.hi); }
ANY(char) ANY(short) ANY(int) ANY(long)
/* scalar: 1; vector: -1 */
#define TEST1(f, T, S, cond) IN int f(T a) { return cond; } IN S##2 f(T##2 a) { return -(S##2)(f(a.s0), f(a.s1)); } IN S##3 f(T##3 a) { return -(S##3)(f(a.s0), f(a.s1), f(a.s2)); } \
  IN S##4 f(T##4 a) { return (S##4)(f(a.lo), f(a.hi)); } IN S##8 f(T##8 a) { return (S##8)(f(a.lo), f(a.hi)); } IN S##16 f(T##16 a) { return (S##16)(f(a.lo), f(a.hi)); }
#define TEST2(f, T, S, cond) IN int f(T a, T b) { return cond; } IN S##2 f(T##2 a, T##2 b) { return -(S##2)(f(a.s0, b.s0), f(a.s1, b.s1)); } IN S##3 f(T##3 a, T##3 b) { return -(S##3)(f(a.s0, b.s0), f(a.s1, b.s1), f(a.s2, b.s2)); } \
  IN S##4 f(T##4 a, T##4 b) { return (S##4)(f(a.lo, b.lo), f(a.hi, b.hi)); } IN S##8 f(T##8 a, T##8 b) { return (S##8)(f(a.lo, b.lo), f(a.hi, b.hi)); } IN S##16 f(T##16 a, T##16 b) { return (S##16)(f(a.lo, b.lo), f(a.hi, b.hi)); }
#define TESTS(T, S) TEST1(isnan, T, S, __builtin_isnan(a)) TEST1(isinf, T, S, __builtin_isinf(a)) TEST1(isfinite, T, S, __builtin_isfinite(a)) TEST1(isnormal, T, S, __builtin_isnormal(a)) TEST1(signbit, T, S, as_##S(a) < 0) \
  TEST2(isequal, T, S, a == b) TEST2(isnotequal, T, S, a != b) TEST2(isgreater, T, S, a > b) TEST2(isgreaterequal, T, S, a >= b) TEST2(isless, T, S, a < b) TEST2(islessequal, T, S, a <= b) \
  TEST2(islessgreater, T, S, a < b || a > b) TEST2(isordered, T, S, a == a && b == b) TEST2(isunordered, T, S, a != a || b != b)
TESTS(float, int) TESTS(double, long) TESTS(half, short)

/* ---- mathematics, in double ---- */
#define CORE __attribute__((noinline)) double /* not static: HIP calls them by these names, which clang does not know */
#define HORNER(...) ({ const double c_[] = { __VA_ARGS__ }; double p_ = c_[0]; _Pragma("unroll") for (int i_ = 1; i_ < (int)(sizeof c_ / sizeof *c_); i_++) p_ = __builtin_fma(p_, z, c_[i_]); p_; })
#define EXP_TERMS HORNER(1.0/6227020800, 1.0/479001600, 1.0/39916800, 1.0/3628800, 1.0/362880, 1.0/40320, 1.0/5040, 1.0/720, 1.0/120, 1.0/24, 1.0/6, 0.5) /* (e**z - 1 - z) / z**2 */
#define LN2_HI 0x1.62e42fefa38p-1
#define LN2_LO 0x1.ef35793c7673p-45
static double dg_exp_of(double r, double low, double k) { /* e**(r + low) * 2**k, |r| <= 0.35 */
  double sum = r + low; low = (r - sum) + low; r = sum;
  double z = r, q = EXP_TERMS;
  return LDEXP(1 + (r + __builtin_fma(r * r, q, low)), (int)k);
}
static double dg_exp2part(double high, double low) { /* e**(high + low) */
  if (high > 709.8) return __builtin_inf(); if (high < -745.2) return 0;
  double k = __builtin_rint(high * 0x1.71547652b82fep+0);
  return dg_exp_of(__builtin_fma(-k, LN2_HI, high), __builtin_fma(-k, LN2_LO, low), k);
}
CORE dg_exp(double x) { return x != x ? x : dg_exp2part(x, 0); }
CORE dg_exp2(double x) { if (x != x) return x; if (x >= 1024) return __builtin_inf(); if (x < -1075) return 0; double k = __builtin_rint(x), f = x - k, r = f * LN2_HI; return dg_exp_of(r, __builtin_fma(f, LN2_HI, -r) + f * LN2_LO, k); }
CORE dg_exp10(double x) { if (x != x) return x; double h = x * 0x1.26bb1bbb55516p+1; return dg_exp2part(h, __builtin_fma(x, 0x1.26bb1bbb55516p+1, -h) + x * -0x1.f48ad494ea3e9p-53); }
CORE dg_expm1(double x) {
  if (x != x) return x; if (x > 709.8) return __builtin_inf(); if (x < -40) return -1;
  double k = __builtin_rint(x * 0x1.71547652b82fep+0), r = __builtin_fma(-k, LN2_HI, x), z = __builtin_fma(-k, LN2_LO, r), q = EXP_TERMS;
  double low = (r - z) - k * LN2_LO; if (k == 0) return __builtin_fma(x * x, q, x);
  dg_pair s = dg_sum(1 - LDEXP(1.0, -(int)k), z);
  return LDEXP(s.x + (s.y + __builtin_fma(z * z, q, low)), (int)k);
}
static dg_pair dg_atanh_rest(dg_pair s) { /* 2 atanh(s) - 2 s, |s| <= 0.18 */
  double z = s.x * s.x, q = HORNER(2.0/25, 2.0/23, 2.0/21, 2.0/19, 2.0/17, 2.0/15, 2.0/13, 2.0/11, 2.0/9, 2.0/7, 2.0/5), third = 2.0/3;
  dg_pair square = (dg_pair)(z, __builtin_fma(s.x, s.x, -z) + 2 * s.x * s.y), head = dg_sum(third, __builtin_fma(z, q, 0x1.5555555555555p-55));
  return dg_times(dg_times(square, s), head);
}
static double dg_log_of(double x, double *low) { /* the logarithm of a positive finite number, in two parts */
  int e = 0; if (x < 0x1p-1022) x *= 0x1p54, e = -54;
  long bits = as_long(x); e += (int)(bits >> 52) - 1023; double m = as_double((bits & 0xfffffffffffffl) | 0x3ff0000000000000l);
  if (m > 1.4142135623730951) m *= 0.5, e++;
  double f = m - 1, g = m + 1, g_low = m - (g - 1); dg_pair s = dg_over((dg_pair)(f, 0), (dg_pair)(g, g_low)), t = dg_atanh_rest(s);
  double a = e * LN2_HI, b = 2 * s.x, high = a + b, rest = (a - (high - (high - a))) + (b - (high - a));
  dg_pair v = dg_sum(high, t.x); v = dg_sum(v.x, v.y + (__builtin_fma(e, LN2_LO, t.y + 2 * s.y) + rest)); *low = v.y; return v.x;
}
#define LOG_EDGES if (x != x || x < 0) return __builtin_nan(""); if (x == 0) return -__builtin_inf(); if (__builtin_isinf(x)) return x; double low, high = dg_log_of(x, &low);
CORE dg_log(double x) { LOG_EDGES return high; }
#define TIMES(hi, lo) ({ double p_ = high * hi; p_ + (__builtin_fma(high, hi, -p_) + (high * lo + low * hi)); })
CORE dg_log2(double x) { LOG_EDGES return TIMES(0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56); }
CORE dg_log10(double x) { LOG_EDGES return TIMES(0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57); }
CORE dg_log1p(double x) { double u = 1 + x; if (u == 1 || u == __builtin_inf()) return x; return dg_log(u) + (u > 0 ? (x - (u - 1)) / u : 0); }
CORE dg_pow(double x, double y) {
  if (y == 0 || x == 1) return 1; if (x != x || y != y) return __builtin_nan("");
  double a = __builtin_fabs(x); bool whole = __builtin_rint(y) == y, odd = whole && __builtin_fabs(y) < 0x1p53 && ((long)y & 1);
  double sign = as_long(x) < 0 && odd ? -1 : 1;
  if (__builtin_isinf(y)) return a == 1 ? 1 : (a > 1) == (y > 0) ? __builtin_inf() : 0;
  if (a == 0 || __builtin_isinf(a)) return sign * ((a == 0) == (y > 0) ? 0 : __builtin_inf());
  if (x < 0 && !whole) return __builtin_nan("");
  double low, high = dg_log_of(a, &low), p = y * high;
  if (__builtin_fabs(p) > 1e4) return sign * (p > 0 ? __builtin_inf() : 0);
  return sign * dg_exp2part(p, __builtin_fma(y, high, -p) + y * low);
}
CORE dg_powr(double x, double y) { /* e**(y * log(x)), and so no number where both factors are not */
  bool is_none = x != x || y != y || x < 0 || (y == 0 && (x == 0 || __builtin_isinf(x))) || (x == 1 && __builtin_isinf(y));
  return is_none ? __builtin_nan("") : dg_pow(__builtin_fabs(x), y);
}
CORE dg_rootn(double x, int n) {
  double a = __builtin_fabs(x); if (x != x || n == 0 || (a != 0 && x < 0 && !(n & 1))) return __builtin_nan("");
  if (a == 0 || __builtin_isinf(a)) a = (a == 0) == (n > 0) ? 0 : __builtin_inf();
  else { double low, high = dg_log_of(a, &low), p = high / n; a = dg_exp2part(p, (__builtin_fma(-p, (double)n, high) + low) / n); }
  return n & 1 ? __builtin_copysign(a, x) : a;
}
__constant ulong dg_two_over_pi[] = { 0xa2f9836e4e441529ul, 0xfc2757d1f534ddc0ul, 0xdb6295993c439041ul, 0xfe5163abdebbc561ul, 0xb7246e3a424dd2e0ul, 0x06492eea09d1921cul, 0xfe1deb1cb129a73eul, 0xe88235f52ebb4484ul, 0xe99c7026b45f7e41ul, 0x3991d639835339f4ul, 0x9c845f8bbdf9283bul, 0x1ff897ffde05980ful, 0xef2f118b5a0a6d1ful, 0x6d367ecf27cb09b7ul, 0x4f463f669e5fea2dul, 0x7527bac7ebe5f17bul, 0x3d0739f78a5292eaul, 0x6bfb5fb11f8d5d08ul, 0x56033046fc7b6babul };
static int dg_quarter(double x, double *r, double *low) { /* x = quarter * pi/2 + r + low */
  double a = __builtin_fabs(x);
  if (a < 0x1p20) {
    double k = __builtin_rint(x * 0x1.45f306dc9c883p-1), t = __builtin_fma(-k, 0x1.921fb544p+0, x), p = k * 0x1.0b4611a6p-34, u = t - p, e = (t - u) - p, v = k * 0x1.3198a2e037073p-69;
    *r = u - v; *low = ((u - *r) - v) + e; return (int)k & 3;
  }
  long bits = as_long(a); int e = (int)(bits >> 52) - 1075; ulong m = (bits & 0xffffffffffffful) | 0x10000000000000ul; /* a = m * 2**e */
  int at = e - 2 + 64; /* the first bit of 2/pi whose product with m is below 2**66 */
  if (at < 0) at = 0;
  int skip = e > 0 ? e - 2 : -2, word = (skip < 0 ? 0 : skip) / 64, shift = (skip < 0 ? 0 : skip) % 64; if (skip < 0) skip = 0;
  ulong w[4]; for (int i = 0; i < 4; i++) { ulong hi = dg_two_over_pi[word + i], lo = dg_two_over_pi[word + i + 1]; w[i] = shift ? (hi << shift) | (lo >> (64 - shift)) : hi; }
  /* w / 2**256 * 2**-skip is 2/pi without bits above; m * w * 2**(e - skip) / 2**256 */
  ulong p[4], carry = 0; for (int i = 3; i >= 0; i--) { unsigned __int128 t = (unsigned __int128)m * w[i] + carry; p[i] = (ulong)t; carry = (ulong)(t >> 64); }
  int left = e - skip; /* 2 when e > 1, else e */
  if (left < 0) { /* shift right */ int n = -left; for (int i = 3; i > 0; i--) p[i] = (p[i] >> n) | (p[i - 1] << (64 - n)); p[0] = (p[0] >> n) | (carry << (64 - n)); carry >>= n; left = 0; }
  ulong whole = (carry << left) | (left ? p[0] >> (64 - left) : 0); for (int i = 0; i < 3 && left; i++) p[i] = (p[i] << left) | (p[i + 1] >> (64 - left));
  int quarter = (int)whole & 3; bool up = p[0] >> 63; if (up) { quarter++; for (int i = 0; i < 3; i++) p[i] = ~p[i]; }
  double f1 = (double)(p[0] >> 11) * 0x1p-53, f2 = (double)(((p[0] & 0x7ff) << 42) | (p[1] >> 22)) * 0x1p-106; if (up) f1 = -f1, f2 = -f2;
  double h = f1 + f2, l = (f1 - h) + f2, t = h * 0x1.921fb54442d18p+0; double tl = __builtin_fma(h, 0x1.921fb54442d18p+0, -t) + h * 0x1.1a62633145c07p-54 + l * 0x1.921fb54442d18p+0;
  if (x < 0) { t = -t; tl = -tl; quarter = -quarter; }
  *r = t + tl; *low = (t - *r) + tl; return quarter & 3;
}
static double dg_sine(double r, double l) { double z = r * r, q = HORNER(1.0/355687428096000, -1.0/1307674368000, 1.0/6227020800, -1.0/39916800, 1.0/362880, -1.0/5040, 1.0/120, -1.0/6); return r + __builtin_fma(z * r, q, l * (1 - z * 0.5)); }
static double dg_cosine(double r, double l) { double z = r * r, q = HORNER(-1.0/6402373705728000, 1.0/20922789888000, -1.0/87178291200, 1.0/479001600, -1.0/3628800, 1.0/40320, -1.0/720, 1.0/24), h = 1 - 0.5 * z; return h + ((1 - h) - 0.5 * z + __builtin_fma(z * z, q, -r * l)); }
#define ODD_RANGE if (!__builtin_isfinite(x)) return __builtin_nan(""); double r, l; int n = dg_quarter(x, &r, &l);
CORE dg_sin(double x) { if (x == 0) return x; ODD_RANGE double v = n & 1 ? dg_cosine(r, l) : dg_sine(r, l); return n & 2 ? -v : v; }
CORE dg_cos(double x) { ODD_RANGE double v = n & 1 ? dg_sine(r, l) : dg_cosine(r, l); return (n + 1) & 2 ? -v : v; }
CORE dg_tan(double x) { if (x == 0) return x; ODD_RANGE double s = dg_sine(r, l), c = dg_cosine(r, l); return n & 1 ? -c / s : s / c; }
#define PI 0x1.921fb54442d18p+1
CORE dg_sinpi(double x) { double k = __builtin_rint(2 * x), f = x - 0.5 * k; if (!__builtin_isfinite(x)) return __builtin_nan(""); int n = (int)(long)(k - 4 * __builtin_floor(k * 0.25)); double t = f * PI, l = __builtin_fma(f, PI, -t) + f * 0x1.1a62633145c07p-53, v = n & 1 ? dg_cosine(t, l) : dg_sine(t, l); return v == 0 ? __builtin_copysign(v, x) : n & 2 ? -v : v; }
CORE dg_cospi(double x) { double k = __builtin_rint(2 * x), f = x - 0.5 * k; if (!__builtin_isfinite(x)) return __builtin_nan(""); int n = (int)(long)(k - 4 * __builtin_floor(k * 0.25)); double t = f * PI, l = __builtin_fma(f, PI, -t) + f * 0x1.1a62633145c07p-53, v = n & 1 ? dg_sine(t, l) : dg_cosine(t, l); return v == 0 ? 0 : (n + 1) & 2 ? -v : v; }
CORE dg_tanpi(double x) { return dg_sinpi(x) / dg_cospi(x); }
/* The angle of (x, y), y >= 0, from 0 to pi. */
static dg_pair dg_direction(dg_pair y, dg_pair x) {
  double base = 0, low = 0; bool left = as_long(x.x) < 0; if (left) x = -x; if (x.x != x.x || y.x != y.x) return (dg_pair)(__builtin_nan(""), 0);
  if (__builtin_isinf(y.x)) y = (dg_pair)(1, 0), x = (dg_pair)(__builtin_isinf(x.x), 0); else if (__builtin_isinf(x.x) || y.x == 0) x = (dg_pair)(1, 0), y = (dg_pair)(0, 0);
  if (x.x > 0x1p1000 || y.x > 0x1p1000) x *= 0x1p-60, y *= 0x1p-60;
  dg_pair up = y, down = x;
  if (y.x > 2.414213562373095 * x.x) { base = PI / 2; low = 0x1.1a62633145c07p-54; up = -x; down = y; }
  else if (y.x > 0.41421356237309503 * x.x) { base = PI / 4; low = 0x1.1a62633145c07p-55; double rest = y.y - x.y, sum = y.y + x.y; up = dg_sum(y.x, -x.x); up.y += rest; down = dg_sum(y.x, x.x); down.y += sum; }
  dg_pair t = dg_over(up, down);
  double z = t.x * t.x, q = HORNER(-1.0/47, 1.0/45, -1.0/43, 1.0/41, -1.0/39, 1.0/37, -1.0/35, 1.0/33, -1.0/31, 1.0/29, -1.0/27, 1.0/25, -1.0/23, 1.0/21, -1.0/19, 1.0/17, -1.0/15, 1.0/13, -1.0/11, 1.0/9, -1.0/7, 1.0/5, -1.0/3);
  dg_pair v = dg_sum(base, t.x); v = dg_sum(v.x, v.y + __builtin_fma(z * t.x, q, __builtin_fma(-z, t.y, t.y) + low));
  if (!left) return v;
  dg_pair w = dg_sum(PI, -v.x); return dg_sum(w.x, w.y + (0x1.1a62633145c07p-53 - v.y));
}
static dg_pair dg_beside(double x) { /* the root of 1 - x * x */
  double p = x * x; dg_pair w = dg_sum(1, -p); w.y -= __builtin_fma(x, x, -p); double c = __builtin_sqrt(w.x + w.y);
  return (dg_pair)(c, c == 0 ? 0 : ((w.x - c * c) - __builtin_fma(c, c, -(c * c)) + w.y) / (2 * c));
}
#define ONLY(v) (dg_pair)(v, 0)
#define ANGLE(name, signed_by, Y, X) CORE dg_##name { return __builtin_copysign(dg_direction(Y, X).x, signed_by); } \
  CORE dg_pi_##name { return __builtin_copysign(dg_times(dg_direction(Y, X), (dg_pair)(0x1.45f306dc9c883p-2, -0x1.6b01ec5417056p-56)).x, signed_by); }
ANGLE(atan(double x), x, ONLY(__builtin_fabs(x)), ONLY(1.0)) ANGLE(atan2(double y, double x), y, ONLY(__builtin_fabs(y)), ONLY(x))
ANGLE(asin(double x), x, ONLY(__builtin_fabs(x)), dg_beside(x)) ANGLE(acos(double x), 1, dg_beside(x), ONLY(x))
CORE dg_sinh(double x) {
  double a = __builtin_fabs(x), z = x * x;
  if (a < 1) return __builtin_fma(x * z, HORNER(1.0/51090942171709440000.0, 1.0/121645100408832000, 1.0/355687428096000, 1.0/1307674368000, 1.0/6227020800, 1.0/39916800, 1.0/362880, 1.0/5040, 1.0/120, 1.0/6), x);
  if (a > 700) { double h = dg_exp(0.5 * a); return __builtin_copysign(0.5 * h * h, x); } double t = dg_expm1(a); return __builtin_copysign(0.5 * (t + t / (t + 1)), x); }
CORE dg_cosh(double x) { double a = __builtin_fabs(x); if (a > 700) { double h = dg_exp(0.5 * a); return 0.5 * h * h; } double t = dg_exp(a); return 0.5 * (t + 1 / t); }
CORE dg_tanh(double x) { double a = __builtin_fabs(x); if (a > 20) return __builtin_copysign(1.0, x); double t = dg_expm1(2 * a); return __builtin_copysign(t / (t + 2), x); }
CORE dg_asinh(double x) { double a = __builtin_fabs(x); return __builtin_copysign(a > 0x1p28 ? dg_log(a) + 0.6931471805599453 : dg_log1p(a + a * a / (1 + __builtin_sqrt(1 + a * a))), x); }
CORE dg_acosh(double x) { if (!(x >= 1)) return __builtin_nan(""); double t = x - 1; return x > 0x1p28 ? dg_log(x) + 0.6931471805599453 : dg_log1p(t + __builtin_sqrt(2 * t + t * t)); }
CORE dg_atanh(double x) { double a = __builtin_fabs(x); return __builtin_copysign(0.5 * dg_log1p(2 * a / (1 - a)), x); }
CORE dg_cbrt(double x) {
  if (x == 0 || !__builtin_isfinite(x)) return x;
  double scale = 1, a = __builtin_fabs(x); if (a < 0x1p-900) a *= 0x1p162, scale = 0x1p-54;
  double low, high = dg_log_of(a, &low), t = dg_exp2part(high / 3, 0); t = t - (t * t * t - a) / (3 * t * t);
  return __builtin_copysign(t * scale, x);
}
CORE dg_hypot(double x, double y) {
  double a = __builtin_fabs(x), b = __builtin_fabs(y); if (__builtin_isinf(a) || __builtin_isinf(b)) return __builtin_inf(); double m = a > b ? a : b; if (m == 0 || a != a || b != b) return a + b;
  int e = (int)((as_long(m) >> 52) & 0x7ff) - 1023; a = LDEXP(a, -e); b = LDEXP(b, -e); return LDEXP(__builtin_sqrt(__builtin_fma(a, a, b * b)), e);
}
/* The logarithm of gamma(2 + z), |z| <= 0.5: (1 - euler) z + sum of (zeta(k) - 1) / k (-z)**k; not recursive, because a
   recursive function has no bound for its stack. */
#define LGAMMA_SLOPE 0x1.b0ee6072093cep-2
#define LGAMMA_TERMS -0x1.8f9c1a8df9d78p-47, 0x1.99999c0716ee9p-46, -0x1.a41a45603e5b6p-45, 0x1.af28718a10d6ep-44, -0x1.bacf9a27bc89bp-43, \
    0x1.c71c7f6f10e37p-42, -0x1.d41d56e5ee2e2p-41, 0x1.e1e2026aafcd8p-40, -0x1.f07c514fc9f0ap-39, 0x1.000026e3f644fp-37, \
    -0x1.08424cbc543d8p-36, 0x1.11116e693ed98p-35, -0x1.1a7c26ec2523cp-34, 0x1.24932a337434cp-33, -0x1.2f69a9fabe3e0p-32, \
    0x1.3b15d2b2fc10cp-31, -0x1.47b1679258d0ep-30, 0x1.555a877ffd2c3p-29, -0x1.6434a8447aeadp-28, 0x1.7469daccfadcdp-27, \
    -0x1.862c734df3eacp-26, 0x1.99b93c2070b0fp-25, -0x1.af5a6cbbf8a97p-24, 0x1.c76bbb3f07a4dp-23, -0x1.e2600d93cfd2fp-22, \
    0x1.0064cdeb22f0fp-20, -0x1.11b2eb7679541p-19, 0x1.2597a39f34aacp-18, -0x1.3cbc963ce2243p-17, 0x1.580dcee66eb02p-16, \
    -0x1.78de5bd7c81efp-15, 0x1.a127b0f17d65ap-14, -0x1.d3fd4c76d2fc8p-13, 0x1.0b36af86396e9p-11, -0x1.38ac5c2bf8e08p-10, \
    0x1.7add6eadb6c30p-9, -0x1.e404fc218f5f2p-8, 0x1.51322ac7d8483p-6, -0x1.13e001a557607p-4, 0x1.4a34cc4a60fa6p-2
static dg_pair dg_lgamma2(double z) {
  double p = z * LGAMMA_SLOPE, q = HORNER(LGAMMA_TERMS);
  return dg_sum(p, __builtin_fma(z, LGAMMA_SLOPE, -p) + __builtin_fma(z * z, q, z * 0x1.6cb90701fbfabp-58));
}
/* Where gamma(x) is 1 or -1 beside x = -2, -3, ... -17: the distance from that number, below and above it (none
   above -2), each in two parts. */
__constant double dg_ones[16][2][2] = {
  { {-0x1.d3fe4b007c361p-2, 0x1.541360cea0e60p-56}, {0, 0} },
  { {-0x1.260dbc9e59af8p-3, 0x1.1d065994b0991p-58}, {0x1.025f7af2137fap-2, -0x1.7995a4b4641ebp-56} },
  { {-0x1.4273c2ccac062p-5, 0x1.e307a790f3f77p-59}, {0x1.6e3aae0f406bdp-5, 0x1.e5753daddb926p-61} },
  { {-0x1.0d4afe16db219p-7, -0x1.498adcb2a729cp-61}, {0x1.1510b222a0657p-7, 0x1.e5eab7f12cef6p-61} },
  { {-0x1.6b25897c8ced8p-10, -0x1.f0b65b458e173p-66}, {0x1.6d0a6e0bf2a09p-10, -0x1.4ed62cbd31ee0p-64} },
  { {-0x1.9fef6ff0f5be9p-13, 0x1.be919233c3eaap-67}, {0x1.a044a3c880185p-13, 0x1.d949a3dc02de1p-68} },
  { {-0x1.a01459fc9f60dp-16, 0x1.30c4f8c4dea26p-70}, {0x1.a01fa98c3c356p-16, 0x1.7d4add4f3562dp-72} },
  { {-0x1.71dda3ec36b6cp-19, -0x1.0ffb70d477adfp-74}, {0x1.71ded0bf801bdp-19, -0x1.3a55d249679f9p-74} },
  { {-0x1.27e4eee649ed1p-22, -0x1.d95e15441e031p-76}, {0x1.27e50808cbe75p-22, 0x1.1885afab83963p-76} },
  { {-0x1.ae6454c576597p-26, 0x1.90015bf1b415cp-80}, {0x1.ae64583932495p-26, -0x1.a55b7a31a0b4ap-81} },
  { {-0x1.1eed8ee62acf8p-29, -0x1.e04a1e70f241cp-85}, {0x1.1eed8f18f0438p-29, -0x1.acc3d3c978bd8p-84} },
  { {-0x1.612461380cd08p-33, 0x1.17237e0e47fbdp-87}, {0x1.6124613d00d0bp-33, 0x1.001c54155b96cp-87} },
  { {-0x1.93974a8bd29cfp-37, 0x1.09d47384560edp-91}, {0x1.93974a8c3cf6cp-37, -0x1.f04e88bb6e247p-91} },
  { {-0x1.ae7f3e7337a1dp-41, 0x1.ef83d0b08e728p-95}, {0x1.ae7f3e733f622p-41, -0x1.81b8fc4e9b9acp-95} },
  { {-0x1.ae7f3e733b428p-45, -0x1.25fc9dc8f8bbep-99}, {0x1.ae7f3e733bc16p-45, -0x1.2e72e4d113627p-100} },
  { {-0x1.952c77030ad11p-49, -0x1.db2968e993b05p-106}, {0x1.952c77030ad84p-49, -0x1.c46a08a2e008bp-104} }
};
/* gamma(x) is gamma(2 + z) * p for x > 2, and gamma(2 + z) / p below. */
static dg_pair dg_between(double x, double n) {
  dg_pair p = (dg_pair)(1, 0);
  for (double k = 1; k <= n; k++) p = dg_times(p, dg_sum(x, -k));
  for (double k = 0; k < -n; k++) p = dg_times(p, dg_sum(x, k));
  return p;
}
/* Near such a place the logarithms cancel, so compute how each factor, and gamma(2 + z), differ from theirs there.
   Return NaN if x is not near. */
static double dg_lgamma_near(double z, int m) {
  double at = dg_ones[m - 2][z > 0][0], low = dg_ones[m - 2][z > 0][1], slope = 0, q = 0, c; dg_pair t = dg_sum(z - at, -low), u = (dg_pair)(0, 0);
  for (int k = 0; k < m + 2; k++) {
    dg_pair b = dg_sum(k - m, at), d; b.y += low; d = dg_over(t, b);
    dg_pair v = dg_times(u, d), w = dg_sum(u.x, d.x); u = dg_sum(w.x, v.x + (w.y + (u.y + d.y + v.y)));
  }
  if (!(__builtin_fabs(u.x) < 0.25)) return __builtin_nan("");
  dg_pair up = dg_sum(2, u.x), s; up.y += u.y; s = dg_over(u, up); dg_pair rest = dg_atanh_rest(s);
  const double terms[] = { LGAMMA_TERMS };
  for (int k = 0; k < (int)(sizeof terms / sizeof *terms); k++) { slope = __builtin_fma(slope, z, q); q = __builtin_fma(q, at, terms[k]); }
  slope = __builtin_fma(slope, z, q);
  slope = __builtin_fma(slope, z, q = __builtin_fma(q, at, LGAMMA_SLOPE));
  double p = t.x * slope; dg_pair sum = dg_sum(-2 * s.x, p);
  return sum.x + (sum.y + ((__builtin_fma(t.x, slope, -p) + t.y * slope) - (2 * s.y + rest.x + rest.y)));
}
static __attribute__((noinline)) double dg_lgamma_of(double x, int *sign) {
  *sign = as_long(x) < 0 && (x == 0 || ((long)__builtin_floor(x) & 1)) ? -1 : 1; if (x != x) return x;
  double a = __builtin_fabs(x); if (__builtin_isinf(x) || (x < 0 && a >= 0x1p52)) return __builtin_inf();
  if (x > 13 || x < -40) {
    double low, high = dg_log_of(a, &low), z = 1 / (a * a), q = HORNER(1.0/156, -691.0/360360, 1.0/1188, -1.0/1680, 1.0/1260, -1.0/360, 1.0/12) / a;
    dg_pair head = dg_times((dg_pair)(a - 0.5, 0), dg_sum(high - 1, low + ((high - (high - 1)) - 1)));
    double v = head.x + (head.y + (q + 0.41893853320467274178)), sine;
    if (x > 0) return v == v ? v : __builtin_inf();
    sine = dg_sinpi(a); return sine == 0 ? __builtin_inf() : dg_log(PI / (a * __builtin_fabs(sine))) - v;
  }
  double n = __builtin_rint(x - 2), z = x - (n + 2), v;
  int m = x > -2.6 ? 2 : -2 - (int)n;
  if (x < -2.25 && x > -17.5 && (v = dg_lgamma_near(x + m, m)) == v) return v;
  dg_pair g = dg_lgamma2(z); if (n == 0) return g.x;
  dg_pair p = dg_between(x, n); if (p.x == 0) return __builtin_inf();
  double low, high = dg_log_of(__builtin_fabs(p.x), &low), way = n > 0 ? 1 : -1;
  dg_pair sum = dg_sum(way * high, g.x);
  return sum.x + (sum.y + (way * (low + p.y / p.x) + g.y));
}
CORE dg_lgamma(double x) { int s; return dg_lgamma_of(x, &s); }
CORE dg_tgamma(double x) {
  if (x != x || x == __builtin_inf()) return x;
  if (x == 0) return 1 / x;
  if (x < 0 && x == __builtin_rint(x)) return __builtin_nan("");
  if (x > 172) return __builtin_inf();
  if (x < -186) return as_long(__builtin_floor(x) * 0.5) == as_long(__builtin_rint(__builtin_floor(x) * 0.5)) ? 0.0 : -0.0;
  double last = 1, below = 1; /* else what is between overflows */
  if (x > 170) x -= 1, last = x;
  while (x < -168) below *= x, x += 1;
  double n = __builtin_rint(x - 2), z = x - (n + 2);
  dg_pair p = dg_between(x, n);
  if (n < 0) p = __builtin_isinf(p.x) ? p : dg_over((dg_pair)(1, 0), p);
  dg_pair g = dg_lgamma2(z), s = dg_sum(1, g.x);
  z = g.x;
  dg_pair e = dg_sum(s.x, s.y + __builtin_fma(z * z, EXP_TERMS, g.y));
  double v = e.x * p.x;
  return last * (__builtin_isfinite(v) && p.y == p.y ? dg_times(e, p).x : v) / below;
}
CORE dg_erfc_up(double a) { /* a continued fraction, a >= 0.5 */
  double z = a * a, t = 0;
  for (int k = (int)(200 / z) + 25; k > 0; k--) t = 0.5 * k / (a + t);
  dg_pair below = dg_sum(a, t), above = dg_times((dg_pair)(dg_exp2part(-z, -__builtin_fma(a, a, -z)), 0), (dg_pair)(0x1.20dd750429b6dp-1, 0x1.1ae3a914fed80p-57));
  return dg_over(above, (dg_pair)(below.x, 0)).x;
}
CORE dg_erf(double x) {
  double a = __builtin_fabs(x);
  if (x != x) return x;
  if (a >= 2) return __builtin_copysign(a > 6 ? 1 : 1 - dg_erfc_up(a), x);
  double z = x * x, z_low = __builtin_fma(x, x, -z); /* sum of 2**n x**(2 n + 1) / (2 n + 1)!!, all of one sign */
  dg_pair term = (dg_pair)(x, 0), sum = term, square = (dg_pair)(2 * z, 2 * z_low);
  for (int k = 3; k < 90; k += 2) { term = dg_over(dg_times(term, square), (dg_pair)(k, 0)); dg_pair s = dg_sum(sum.x, term.x); sum = (dg_pair)(s.x, s.y + (sum.y + term.y)); }
  dg_pair head = dg_times(sum, (dg_pair)(0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56));
  return dg_times(head, (dg_pair)(dg_exp2part(-z, -z_low), 0)).x;
}
CORE dg_erfc(double x) { return x > 0.5 ? x > 28 ? 0 : dg_erfc_up(x) : 1 - dg_erf(x); }
CORE dg_fmod(double x, double y) { /* exact */
  double a = __builtin_fabs(x), b = __builtin_fabs(y); if (!__builtin_isfinite(x) || y != y || y == 0) return __builtin_nan(""); if (a < b) return x; 
  int e, f; ulong m, d; double scale = 1; if (b < 0x1p-1022 || a < 0x1p-1022) { a *= 0x1p54; b *= 0x1p54; scale = 0x1p-54; if (__builtin_isinf(a)) { a *= 1; } }
  e = (int)(as_long(a) >> 52); f = (int)(as_long(b) >> 52); m = (as_ulong(a) & 0xffffffffffffful) | 0x10000000000000ul; d = (as_ulong(b) & 0xffffffffffffful) | 0x10000000000000ul;
  for (; e > f; e--) { if (m >= d) m -= d; m <<= 1; } if (m >= d) m -= d;
  return __builtin_copysign(LDEXP((double)m, f - 1075) * scale, x);
}
CORE dg_rsqrt(double x) { return 1 / __builtin_sqrt(x); }
CORE dg_remainder(double x, double y) { double b = __builtin_fabs(y); if (__builtin_isinf(b) && __builtin_isfinite(x)) return x; double r = __builtin_fabs(dg_fmod(x, b)), q = dg_fmod(x, 2 * b); bool odd = __builtin_fabs(q) >= b; double h = r - (b - r); if (h > 0 || (h == 0 && odd)) r -= b; return as_long(x) < 0 ? -r : r; }

double dg_remquo(double x, double y, int *p) { /* and the low seven bits of the quotient */
  double r = dg_remainder(x, y), a = __builtin_fabs(x), b = __builtin_fabs(y), n = __builtin_rint((dg_fmod(a, 128 * b) - (as_long(x) < 0 ? -r : r)) / b);
  *p = n != n ? 0 : ((as_long(x) ^ as_long(y)) < 0 ? -1 : 1) * ((int)n & 127); return r;
}

#define FLOATS(M) M(float) M(double) M(half)
#define M1(f, T) IN T f(T x) { return (T)dg_##f((double)x); } E1(T, f, T)
#define M2(f, T) IN T f(T x, T y) { return (T)dg_##f((double)x, (double)y); } E2(T, f, T, T)
#define B1(f, b, T) IN T f(T x) { return (T)b(x); } E1(T, f, T)
#define CALLS(T) M1(exp, T) M1(exp2, T) M1(exp10, T) M1(expm1, T) M1(log, T) M1(log2, T) M1(log10, T) M1(log1p, T) M2(pow, T) M1(sin, T) M1(cos, T) M1(tan, T) M1(sinpi, T) M1(cospi, T) M1(tanpi, T) M1(atan, T) M2(atan2, T) \
  M1(asin, T) M1(acos, T) M1(sinh, T) M1(cosh, T) M1(tanh, T) M1(asinh, T) M1(acosh, T) M1(atanh, T) M1(cbrt, T) M2(hypot, T) M1(lgamma, T) M1(tgamma, T) M1(erf, T) M1(erfc, T) M2(remainder, T) \
  M2(fmod, T) IN T powr(T x, T y) { return (T)dg_powr((double)x, (double)y); } E2(T, powr, T, T) \
  IN T pown(T x, int n) { return (T)dg_pow((double)x, (double)n); } E2(T, pown, T, int) IN T rootn(T x, int n) { return (T)dg_rootn((double)x, n); } E2(T, rootn, T, int) \
  IN T asinpi(T x) { return (T)dg_pi_asin((double)x); } E1(T, asinpi, T) IN T acospi(T x) { return (T)dg_pi_acos((double)x); } E1(T, acospi, T) IN T atanpi(T x) { return (T)dg_pi_atan((double)x); } E1(T, atanpi, T) \
  IN T atan2pi(T x, T y) { return (T)dg_pi_atan2((double)x, (double)y); } E2(T, atan2pi, T, T) M1(rsqrt, T)
FLOATS(CALLS)
#define WITH(T, b) IN T sqrt(T x) { return (T)__builtin_sqrt##b(x); } E1(T, sqrt, T) IN T fabs(T x) { return (T)__builtin_fabs##b(x); } E1(T, fabs, T) IN T floor(T x) { return (T)__builtin_floor##b(x); } E1(T, floor, T) \
  IN T ceil(T x) { return (T)__builtin_ceil##b(x); } E1(T, ceil, T) IN T trunc(T x) { return (T)__builtin_trunc##b(x); } E1(T, trunc, T) IN T rint(T x) { return (T)__builtin_rint##b(x); } E1(T, rint, T) IN T round(T x) { return (T)__builtin_round##b(x); } E1(T, round, T) \
  IN T copysign(T x, T y) { return (T)__builtin_copysign##b(x, y); } E2(T, copysign, T, T) IN T fmax(T x, T y) { return (T)__builtin_fmax##b(x, y); } E2(T, fmax, T, T) WITH_SCALAR(fmax, T) IN T fmin(T x, T y) { return (T)__builtin_fmin##b(x, y); } E2(T, fmin, T, T) WITH_SCALAR(fmin, T)
WITH(float, f) WITH(double, ) WITH(half, f)
#define STEP(R, T, n) IN T##n step(T e, T##n x) { return step((T##n)e, x); }
#define SMOOTHSTEP(R, T, n) IN T##n smoothstep(T e, T f, T##n x) { return smoothstep((T##n)e, (T##n)f, x); }
#define SHIFT(R, T, n) IN T##n ldexp(T##n x, int k) { return ldexp(x, (int##n)k); }
#define MIXED(T, S) \
  IN T fma(T a, T b, T c) { return (T)FMA(a, b, c); } E3(T, fma, T, T, T) IN T mad(T a, T b, T c) { return a * b + c; } E3(T, mad, T, T, T) \
  IN T max(T a, T b) { return a < b ? b : a; } E2(T, max, T, T) WITH_SCALAR(max, T) IN T min(T a, T b) { return b < a ? b : a; } E2(T, min, T, T) WITH_SCALAR(min, T) \
  IN T clamp(T x, T a, T b) { return fmin(fmax(x, a), b); } E3(T, clamp, T, T, T) WITH_SCALARS(clamp, T) \
  IN T fdim(T x, T y) { return x != x ? x : y != y ? y : x > y ? x - y : 0; } E2(T, fdim, T, T) IN T maxmag(T x, T y) { return fabs(x) > fabs(y) ? x : fabs(y) > fabs(x) ? y : fmax(x, y); } E2(T, maxmag, T, T) IN T minmag(T x, T y) { return fabs(x) < fabs(y) ? x : fabs(y) < fabs(x) ? y : fmin(x, y); } E2(T, minmag, T, T) \
  IN T degrees(T x) { return (T)(x * (T)57.29577951308232); } E1(T, degrees, T) IN T radians(T x) { return (T)(x * (T)0.017453292519943295); } E1(T, radians, T) \
  IN T mix(T x, T y, T a) { return x + (y - x) * a; } E3(T, mix, T, T, T) IN T step(T e, T x) { return x < e ? (T)0 : (T)1; } E2(T, step, T, T) WIDTHS(STEP, T, T) \
  IN T smoothstep(T e, T f, T x) { T t = clamp((x - e) / (f - e), (T)0, (T)1); return t * t * (3 - 2 * t); } E3(T, smoothstep, T, T, T) WIDTHS(SMOOTHSTEP, T, T) IN T sign(T x) { return x > 0 ? (T)1 : x < 0 ? (T)-1 : x == x ? x : (T)0; } E1(T, sign, T) \
  IN T##2 mix(T##2 x, T##2 y, T a) { return x + (y - x) * a; } IN T##3 mix(T##3 x, T##3 y, T a) { return x + (y - x) * a; } IN T##4 mix(T##4 x, T##4 y, T a) { return x + (y - x) * a; } IN T##8 mix(T##8 x, T##8 y, T a) { return x + (y - x) * a; } IN T##16 mix(T##16 x, T##16 y, T a) { return x + (y - x) * a; } \
  IN T dot(T a, T b) { return a * b; } IN T dot(T##2 a, T##2 b) { return a.x * b.x + a.y * b.y; } IN T dot(T##3 a, T##3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; } IN T dot(T##4 a, T##4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; } \
  IN T##3 cross(T##3 a, T##3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; } IN T##4 cross(T##4 a, T##4 b) { return (T##4)(cross(a.xyz, b.xyz), (T)0); } \
  IN int ilogb(T x) { double a = fabs((double)x); return a == 0 ? FP_ILOGB0 : !isfinite(a) ? FP_ILOGBNAN : a < 0x1p-1022 ? (int)(as_long(a * 0x1p54) >> 52) - 1077 : (int)(as_long(a) >> 52) - 1023; } \
  IN T logb(T x) { return x == 0 ? (T)-__builtin_inff() : x != x ? x : isinf(x) ? fabs(x) : (T)ilogb(x); } E1(T, logb, T) IN T ldexp(T x, int n) { return (T)LDEXP((double)x, n); } E2(T, ldexp, T, int) WIDTHS(SHIFT, T, T) E1(int, ilogb, T) \
  OUTPUTS(T, S, __private) OUTPUTS(T, S, __global) OUTPUTS(T, S, __local) OUTPUTS(T, S, __generic) NORM_OF_SCALAR(T) NORM(T, 2) NORM(T, 3) NORM(T, 4)
#define FMA(a, b, c) _Generic((a), double: __builtin_fma((double)(a), (double)(b), (double)(c)), default: __builtin_fmaf((float)(a), (float)(b), (float)(c)))
#define OUT1(f, R, T, A, P) IN T##2 f(T##2 x, A P##2 *p) { P a, b; T##2 r = (T##2)(f(x.s0, &a), f(x.s1, &b)); *p = (P##2)(a, b); return r; } IN T##3 f(T##3 x, A P##3 *p) { P a, b, c; T##3 r = (T##3)(f(x.s0, &a), f(x.s1, &b), f(x.s2, &c)); *p = (P##3)(a, b, c); return r; } \
  IN T##4 f(T##4 x, A P##4 *p) { P##2 a, b; T##4 r = (T##4)(f(x.lo, &a), f(x.hi, &b)); *p = (P##4)(a, b); return r; } IN T##8 f(T##8 x, A P##8 *p) { P##4 a, b; T##8 r = (T##8)(f(x.lo, &a), f(x.hi, &b)); *p = (P##8)(a, b); return r; } \
  IN T##16 f(T##16 x, A P##16 *p) { P##8 a, b; T##16 r = (T##16)(f(x.lo, &a), f(x.hi, &b)); *p = (P##16)(a, b); return r; }
#define OUT2(f, T, A) IN T##2 f(T##2 x, T##2 y, A int2 *p) { int a, b; T##2 r = (T##2)(f(x.s0, y.s0, &a), f(x.s1, y.s1, &b)); *p = (int2)(a, b); return r; } \
  IN T##3 f(T##3 x, T##3 y, A int3 *p) { int2 a; int b; T##3 r = (T##3)(f(x.s01, y.s01, &a), f(x.s2, y.s2, &b)); *p = (int3)(a, b); return r; } \
  IN T##4 f(T##4 x, T##4 y, A int4 *p) { int2 a, b; T##4 r = (T##4)(f(x.lo, y.lo, &a), f(x.hi, y.hi, &b)); *p = (int4)(a, b); return r; } \
  IN T##8 f(T##8 x, T##8 y, A int8 *p) { int4 a, b; T##8 r = (T##8)(f(x.lo, y.lo, &a), f(x.hi, y.hi, &b)); *p = (int8)(a, b); return r; } \
  IN T##16 f(T##16 x, T##16 y, A int16 *p) { int8 a, b; T##16 r = (T##16)(f(x.lo, y.lo, &a), f(x.hi, y.hi, &b)); *p = (int16)(a, b); return r; }
#define OUTPUTS(T, S, A) IN T sincos(T x, A T *c) { *c = cos(x); return sin(x); } OUT1(sincos, T, T, A, T) IN T modf(T x, A T *p) { T t = trunc(x); *p = t; return copysign(isinf(x) ? (T)0 : x - t, x); } OUT1(modf, T, T, A, T) \
  IN T fract(T x, A T *p) { T f = floor(x); *p = f; return x != x ? x : fmin(x - f, (T)LAST_BELOW_1(T)); } OUT1(fract, T, T, A, T) \
  IN T frexp(T x, A int *p) { if (x == 0 || !isfinite(x)) { *p = 0; return x; } int e = ilogb(x) + 1; *p = e; return (T)LDEXP((double)x, -e); } OUT1(frexp, T, T, A, int) IN T lgamma_r(T x, A int *p) { int s; T v = (T)dg_lgamma_of((double)x, &s); *p = s; return v; } OUT1(lgamma_r, T, T, A, int) \
  IN T remquo(T x, T y, A int *p) { return (T)dg_remquo((double)x, (double)y, p); } OUT2(remquo, T, A)
#define LAST_BELOW_1(T) (sizeof(T) == 8 ? 0x1.fffffffffffffp-1 : sizeof(T) == 4 ? 0x1.fffffep-1 : 0x1.ffcp-1)
/* Squares of float do not overflow in double; those of double are made from numbers that a power of two divides. */
static __attribute__((always_inline)) double dg_norm(double *a, int n, bool is_double, int *e) {
  double most = 0, sum = 0; for (int k = 0; k < n; k++) most = __builtin_fmax(most, __builtin_fabs(a[k]));
  *e = is_double && most > 0 && most < __builtin_inf() ? ilogb(most) : 0;
  for (int k = 0; k < n; k++) { a[k] = LDEXP(a[k], -*e); sum += a[k] * a[k]; }
  return __builtin_sqrt(sum);
}
#define DISTANCE(T, n, element) double a[n]; int e; for (int k = 0; k < n; k++) a[k] = element; double s = dg_norm(a, n, sizeof(T) == 8, &e); return (T)LDEXP(s, e);
#define NORM(T, n) IN T length(T##n v) { DISTANCE(T, n, v[k]) } IN T distance(T##n v, T##n w) { DISTANCE(T, n, (double)v[k] - (double)w[k]) } \
  IN T##n normalize(T##n v) { \
    double a[n]; int e; bool is_endless = false; for (int k = 0; k < n; k++) { a[k] = v[k]; is_endless |= __builtin_isinf(a[k]); } \
    for (int k = 0; k < n && is_endless; k++) a[k] = __builtin_isinf(a[k]) ? __builtin_copysign(1.0, a[k]) : 0 * a[k]; \
    double s = dg_norm(a, n, sizeof(T) == 8, &e); if (s == 0) return v; for (int k = 0; k < n; k++) v[k] = (T)(a[k] / s); return v; }
#define NORM_OF_SCALAR(T) IN T length(T v) { return fabs(v); } IN T distance(T v, T w) { return fabs(v - w); } IN T normalize(T v) { return v != v || v == 0 ? v : copysign((T)1, v); }
MIXED(float, int) MIXED(double, long) MIXED(half, short)
IN float nextafter(float x, float y) { if (x != x || y != y) return x + y; if (x == y) return y; int b = as_int(x); if (x == 0) return as_float((y < 0 ? 0x80000000 : 0) | 1); return as_float((x < y) == (x > 0) ? b + 1 : b - 1); } E2(float, nextafter, float, float)
IN half nextafter(half x, half y) { if (x != x || y != y) return x + y; if (x == y) return y; short b = as_short(x); if (x == 0) return as_half((short)((y < 0 ? 0x8000 : 0) | 1)); return as_half((short)((x < y) == (x > 0) ? b + 1 : b - 1)); } E2(half, nextafter, half, half)
IN double nextafter(double x, double y) { if (x != x || y != y) return x + y; if (x == y) return y; long b = as_long(x); if (x == 0) return as_double((y < 0 ? 0x8000000000000000 : 0) | 1); return as_double((x < y) == (x > 0) ? b + 1 : b - 1); } E2(double, nextafter, double, double)
IN float nan(uint x) { return as_float(0x7fc00000 | (x & 0x3fffff)); } IN double nan(ulong x) { return as_double(0x7ff8000000000000 | (x & 0x7ffffffffffff)); }
IN half nan(ushort x) { return as_half((ushort)(0x7e00 | (x & 0x1ff))); } E1(float, nan, uint) E1(double, nan, ulong) E1(half, nan, ushort)
#define LESS(p, f) IN float p##f(float x) { return f(x); } E1(float, p##f, float)
#define LOOSE(p) LESS(p, sin) LESS(p, cos) LESS(p, tan) LESS(p, exp) LESS(p, exp2) LESS(p, exp10) LESS(p, log) LESS(p, log2) LESS(p, log10) LESS(p, sqrt) LESS(p, rsqrt) \
  IN float p##recip(float x) { return 1 / x; } E1(float, p##recip, float) IN float p##divide(float x, float y) { return x / y; } E2(float, p##divide, float, float) IN float p##powr(float x, float y) { return powr(x, y); } E2(float, p##powr, float, float)
LOOSE(native_) LOOSE(half_)
#define FAST(T) IN float fast_length(T a) { return length(a); } IN float fast_distance(T a, T b) { return distance(a, b); } IN T fast_normalize(T a) { return normalize(a); }
FAST(float) FAST(float2) FAST(float3) FAST(float4)
