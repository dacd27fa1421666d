/* What few kernels call, in a part of its own so that others need not wait for it: conversions with a rounding mode, half
   in memory, and what AMD adds. */
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

/* ---- what HIP adds: double functions by the names that its header calls ---- */
#define CORE __attribute__((noinline)) double
double dg_exp(double); double dg_log(double); double dg_erf(double); double dg_sin(double); double dg_cos(double);
#define INFINITE __builtin_inf()
/* e**(a * a) * erfc(a), a > 0.4, by a continued fraction. */
static dg_pair dg_scaled(double a) { double t = 0; for (int k = (int)(200 / (a * a)) + 25; k > 0; k--) t = 0.5 * k / (a + t); return dg_over((dg_pair)(0x1.20dd750429b6dp-1, 0x1.1ae3a914fed80p-57), dg_sum(a, t)); }
CORE dg_erfcx(double x) {
  if (x >= 0.5) return x > 1e9 ? 0x1.20dd750429b6dp-1 / x : dg_scaled(x).x;
  double z = x * x, low = __builtin_fma(x, x, -z), e = dg_exp(z); return x < -27 ? INFINITE : dg_times((dg_pair)(e, e * low), dg_sum(1, -dg_erf(x))).x;
}
static dg_pair dg_erfc_inverse(double c) { /* Newton's method on the logarithm of erfc, 0 < c < 0.5; the last step is added to nothing */
  double l = dg_log(c), y = __builtin_sqrt(-l - 0.5 * dg_log(3.2 * (0.3 - l))), step = 0;
  if (!(y > 0.47)) y = 0.47;
  for (int i = 0; i < 6; i++) { y += step; double e = dg_scaled(y).x, z = y * y, low = __builtin_fma(y, y, -z); step = (((dg_log(e) - z) - l) - low) * e * 0.886226925452758; }
  return dg_sum(y, step);
}
static dg_pair dg_erf_inverse(dg_pair x) { /* Newton's method on the series of erf, |x| <= 0.75 */
  dg_pair two = (dg_pair)(0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56); /* 2 / sqrt(pi) */
  double y = x.x * 0.9, step = 0;
  for (int i = 0; i < 6; i++) {
    y += step; double z = y * y; dg_pair term = (dg_pair)(y, 0), sum = term, square = (dg_pair)(-z, -__builtin_fma(y, y, -z));
    for (int k = 1; k < 20; k++) { term = dg_over(dg_times(term, square), (dg_pair)(k, 0)); sum = dg_plus(sum, dg_over(term, (dg_pair)(2 * k + 1, 0))); }
    sum = dg_times(sum, two); step = ((x.x - sum.x) + (x.y - sum.y)) * 0.886226925452758 * dg_exp(z);
  }
  return dg_sum(y, step);
}
static dg_pair dg_both_inverse(dg_pair x, double c) { /* of erf(x) and erfc(c), where x is 1 - c; c is rounded if |x| <= 0.5 */
  if (!(c > 0 && c < 2)) return (dg_pair)(c == 0 ? INFINITE : c == 2 ? -INFINITE : __builtin_nan(""), 0);
  return c < 0.25 ? dg_erfc_inverse(c) : c > 1.75 ? -dg_erfc_inverse(2 - c) : dg_erf_inverse(x);
}
CORE dg_erfinv(double x) { double a = __builtin_fabs(x); return __builtin_copysign(dg_both_inverse((dg_pair)(a, 0), 1 - a).x, x); }
CORE dg_erfcinv(double c) { return dg_both_inverse(dg_sum(1, -c), c).x; }
CORE dg_normcdf(double x) {
  double a = x * -0x1.6a09e667f3bcdp-1, low = __builtin_fma(x, -0x1.6a09e667f3bcdp-1, -a) + x * 0x1.bdd3413b26456p-55, z = a * a; /* a + low is -x / sqrt(2) */
  if (a < 0.5 || a > 40) return a < -6 ? 1 : a > 40 ? 0 : 0.5 * ((1 - dg_erf(a)) - low * 0x1.20dd750429b6dp+0 * dg_exp(-z));
  dg_pair s = dg_scaled(a); s.y -= __builtin_fma(a, a, -z) * s.x + low * 0x1.20dd750429b6dp+0; return 0.5 * dg_times(s, (dg_pair)(dg_exp(-z), 0)).x;
}
CORE dg_normcdfinv(double p) {
  dg_pair y = dg_both_inverse(dg_sum(1, -2 * p), 2 * p);
  return __builtin_isfinite(y.x) ? 0 - dg_times(y, (dg_pair)(0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54)).x : -y.x;
}

/* Bessel functions: series of J of all orders up to x = 20, by recurrence downwards; Hankel's expansion beyond. */
typedef struct { double j0, j1, y0, y1; } dg_bessel;
static double dg_hankel(double n, double x, int odd, double sign) { /* the sum of even or odd terms a(k) / x**k, without the first, 1 */
  double term = 1, sum = 0, m = 4 * n * n, s = 1;
  for (int k = 1; k < 60; k++) {
    double next = term * (m - (2 * k - 1.0) * (2 * k - 1.0)) / (8 * k * x);
    if (__builtin_fabs(next) > __builtin_fabs(term) || __builtin_fabs(next) < 1e-19) break;
    term = next; if ((k & 1) == 0) s *= sign;
    if ((k & 1) == odd) sum += s * term;
  }
  return sum;
}
static dg_bessel dg_j_and_y(double x) { /* x > 0 */
  dg_bessel r = { 0, 0, 0, 0 };
  if (x > 20) {
    double s = dg_sin(x), c = dg_cos(x), f = 1 / __builtin_sqrt(3.141592653589793 * x), p, q;
    p = 1 + dg_hankel(0, x, 0, -1); q = dg_hankel(0, x, 1, -1); r.j0 = f * (p * (c + s) - q * (s - c)); r.y0 = f * (p * (s - c) + q * (c + s));
    p = 1 + dg_hankel(1, x, 0, -1); q = dg_hankel(1, x, 1, -1); r.j1 = f * (p * (s - c) + q * (s + c)); r.y1 = f * (q * (s - c) - p * (s + c));
    return r;
  }
  int n = 2 * (int)(0.5 * x + 0.5 * __builtin_sqrt(200 * x) + 12);
  double above = 0, here = 1e-280, sum = 0, y0 = 0, y1 = 0, two = 2 / x;
  for (int k = n; k > 0; k--) { /* here is J(k), up to a factor */
    double sign = k >> 1 & 1 ? -1 : 1;
    if (k & 1) { if (k > 1) { double h = (k - 1) / 2; y1 += sign * k * here / (h * (h + 1)); } }
    else { sum += 2 * here; y0 += sign * here / (k / 2); }
    double below = k * two * here - above; above = here; here = below;
    if (__builtin_fabs(here) > 1e200) { here *= 1e-200; above *= 1e-200; sum *= 1e-200; y0 *= 1e-200; y1 *= 1e-200; }
  }
  double f = 1 / (sum + here); dg_pair whole = dg_sum(sum, here), over_pi = (dg_pair)(0x1.45f306dc9c883p-1, -0x1.6b01ec5417056p-55), l = dg_sum(dg_log(0.5 * x), 0x1.2788cfc6fb619p-1); l.y += -0x1.6cb90701fbfabp-58; /* 2 / pi, Euler's constant */
  dg_pair j0 = dg_over((dg_pair)(here, 0), whole), j1 = dg_over((dg_pair)(above, 0), whole), less = dg_plus(l, (dg_pair)(-1, 0)); r.j0 = j0.x; r.j1 = j1.x;
  r.y0 = dg_times(dg_plus(dg_times(l, j0), (dg_pair)(-2 * y0 * f, 0)), over_pi).x;
  r.y1 = dg_times(dg_plus(dg_plus(dg_times(less, j1), -dg_over(j0, (dg_pair)(x, 0))), (dg_pair)(-y1 * f, 0)), over_pi).x;
  return r;
}
#define IS_NAN (x != x)
CORE dg_j0(double x) { double a = __builtin_fabs(x); return IS_NAN ? x : __builtin_isinf(x) ? 0 : a < 1e-8 ? 1 : dg_j_and_y(a).j0; }
CORE dg_j1(double x) { double a = __builtin_fabs(x), v = a < 1e-8 ? 0.5 * a : __builtin_isinf(x) ? 0 : dg_j_and_y(a).j1; return IS_NAN ? x : x < 0 ? -v : v; }
#define Y_EDGES if (IS_NAN || x < 0) return __builtin_nan(""); if (x == 0) return -INFINITE; if (__builtin_isinf(x)) return 0;
CORE dg_y0(double x) { Y_EDGES return x < 1e-8 ? 0.6366197723675814 * (dg_log(x) - 0.11593151565841245) : dg_j_and_y(x).y0; }
CORE dg_y1(double x) { Y_EDGES return x < 1e-8 ? -0.6366197723675814 / x : dg_j_and_y(x).y1; }
double dg_jn(int n, double x) {
  double a = __builtin_fabs(x), sign = n & 1 && (n < 0) != (x < 0) ? -1 : 1; n = n < 0 ? -n : n;
  if (IS_NAN) return x; if (n == 0) return dg_j0(a); if (n == 1) return sign * dg_j1(a); if (a == 0 || __builtin_isinf(a)) return 0;
  if (n < a) { double low = dg_j0(a), high = dg_j1(a); for (int k = 1; k < n; k++) { double next = k * 2 / a * high - low; low = high; high = next; } return sign * high; }
  double above = 0, here = 1e-280, sum = 0, found = 0;
  for (int k = 2 * (int)(0.5 * n + 0.5 * __builtin_sqrt(200.0 * n) + 12); k > 0; k--) {
    if (k == n) found = here; if (!(k & 1)) sum += 2 * here;
    double below = k * 2 / a * here - above; above = here; here = below;
    if (__builtin_fabs(here) > 1e150) { here *= 1e-150; above *= 1e-150; sum *= 1e-150; found *= 1e-150; }
  }
  return sign * (found / (sum + here));
}
double dg_yn(int n, double x) {
  double sign = n < 0 && n & 1 ? -1 : 1; n = n < 0 ? -n : n; if (n == 0) return dg_y0(x); if (n == 1) return sign * dg_y1(x); Y_EDGES
  double low = dg_y0(x), high = dg_y1(x); for (int k = 1; k < n && !__builtin_isinf(high); k++) { double next = k * 2 / x * high - low; low = high; high = next; } return sign * high;
}
static double dg_i_of(double n, double a) { /* modified, of order 0 or 1: all terms are positive */
  if (a > 720) return INFINITE;
  if (a > 30) {
    dg_pair s = dg_sum(1, dg_hankel(n, a, 0, 1) - dg_hankel(n, a, 1, 1)), t = dg_times((dg_pair)(0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52), (dg_pair)(a, 0));
    double root = __builtin_sqrt(t.x), far = a > 600 ? 512 : 0;
    s = dg_times(dg_over(s, (dg_pair)(root, (__builtin_fma(-root, root, t.x) + t.y) / (2 * root))), (dg_pair)(dg_exp(a - far), 0));
    return far == 0 ? s.x : s.x * 0x1.9476504ba852ep+738 + (s.y * 0x1.9476504ba852ep+738 + s.x * 0x1.b0272159f0071p+684); /* e**512 */
  }
  double z = 0.25 * a * a; dg_pair square = (dg_pair)(z, __builtin_fma(0.25 * a, a, -z)), term = (dg_pair)(n == 0 ? 1 : 0.5 * a, 0), sum = term;
  for (int k = 1; term.x > 1e-18 * sum.x; k++) { term = dg_over(dg_times(term, square), (dg_pair)(k * (k + n), 0)); sum = dg_plus(sum, term); }
  return sum.x;
}
CORE dg_cyl_bessel_i0(double x) { return IS_NAN ? x : dg_i_of(0, __builtin_fabs(x)); }
CORE dg_cyl_bessel_i1(double x) { return IS_NAN ? x : __builtin_copysign(dg_i_of(1, __builtin_fabs(x)), x); }

/* ---- malloc of kernels: blocks of 2^5 to 2^24 bytes of a heap; each has 16 bytes in front, its power and the next free one.
   Those that were freed are kept in lists, whose heads change their upper 16 bits each time ---- */
#define HEAP (16ul << 20)
#define PLACE(head) ((head) << 16 >> 16)
#define GET(p) __opencl_atomic_load(p, memory_order_acquire, memory_scope_device)
#define PUT(p, value) __opencl_atomic_store(p, value, memory_order_release, memory_scope_device)
#define CHANGE(p, old, new) __opencl_atomic_compare_exchange_strong(p, old, new, memory_order_acq_rel, memory_order_acquire, memory_scope_device)
static __global atomic_ulong dg_heap[HEAP / 8] __attribute__((aligned(32))), dg_top, dg_freed[25];
__attribute__((noinline)) ulong dg_malloc(ulong size) {
  if (!size || size > HEAP - 16) return 0;
  ulong power = 64 - __builtin_clzl(size + 15), head = GET(&dg_freed[power]);
  while (PLACE(head)) {
    __global atomic_ulong *block = (__global atomic_ulong *)PLACE(head);
    if (CHANGE(&dg_freed[power], &head, (head >> 48) + 1 << 48 | GET(block + 1))) { PUT(block, power); return (ulong)block + 16; }
  }
  ulong top = GET(&dg_top);
  do if (top + (1ul << power) > HEAP) return 0; while (!CHANGE(&dg_top, &top, top + (1ul << power)));
  PUT(dg_heap + top / 8, power);
  return (ulong)(dg_heap + top / 8 + 2);
}
__attribute__((noinline)) void dg_free(ulong address) {
  if (!address) return;
  __global atomic_ulong *block = (__global atomic_ulong *)(address - 16);
  ulong power = __opencl_atomic_exchange(block, 0ul, memory_order_acq_rel, memory_scope_device);
  if (power < 5 || power > 24) { TRAP; return; } /* no block, or one that was freed */
  ulong head = GET(&dg_freed[power]);
  do PUT(block + 1, PLACE(head)); while (!CHANGE(&dg_freed[power], &head, (head >> 48) + 1 << 48 | (ulong)block));
}

/* ---- cooperative launches: all work-groups have started, and the last one that arrives lets the others go on ---- */
static __global atomic_uint dg_arrived, dg_passed;
bool dg_is_cooperative(void) { return HIDDEN(ulong, DG_ABI >= 5 ? 88 : 48) != 0; }
__attribute__((noinline, convergent)) void dg_grid_sync(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  __builtin_amdgcn_s_barrier();
  if (!(ID_0 | ID_1 | ID_2)) {
    uint passed = GET(&dg_passed), before = __opencl_atomic_fetch_add(&dg_arrived, 1u, memory_order_acq_rel, memory_scope_device);
    if (before + 1 == GROUPS(0) * GROUPS(1) * GROUPS(2)) { PUT(&dg_arrived, 0u); PUT(&dg_passed, passed + 1); }
    else while (GET(&dg_passed) == passed) __builtin_amdgcn_s_sleep(1);
  }
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
}
