/* The functions of ROCm's device library by the names that the headers of HIP call (__ocml_*, __ockl_*), for programs
   that are built with the headers of ROCm or Debian. Mathematics is that of the other parts. */
#include "common.h"
#define HERE __attribute__((always_inline))
#define WAVES __attribute__((always_inline, convergent))

/* ---- mathematics ---- */
#define FLOATS(M, f) M(f, half, f16) M(f, float, f32) M(f, double, f64)
#define ONE(f, T, s) HERE T __ocml_##f##_##s(T x) { return f(x); }
#define TWO(f, T, s) HERE T __ocml_##f##_##s(T x, T y) { return f(x, y); }
#define THREE(f, T, s) HERE T __ocml_##f##_##s(T x, T y, T z) { return f(x, y, z); }
#define TO_INT(f, T, s) HERE int __ocml_##f##_##s(T x) { return f(x); }
#define WITH_INT(f, T, s) HERE T __ocml_##f##_##s(T x, int n) { return f(x, n); }
#define WITH_PLACE(f, T, s) HERE T __ocml_##f##_##s(T x, __private T *p) { return f(x, p); }
#define WITH_INT_PLACE(f, T, s) HERE T __ocml_##f##_##s(T x, __private int *p) { return f(x, p); }
#define OF_DOUBLE(f, T, s) HERE T __ocml_##f##_##s(T x) { return (T)dg_##f(x); }
#define AS(name, value, T, s) HERE T __ocml_##name##_##s(T x) { return value; }
FLOATS(ONE, acos) FLOATS(ONE, acosh) FLOATS(ONE, acospi) FLOATS(ONE, asin) FLOATS(ONE, asinh) FLOATS(ONE, asinpi)
FLOATS(ONE, atan) FLOATS(ONE, atanh) FLOATS(ONE, atanpi) FLOATS(ONE, cbrt) FLOATS(ONE, ceil) FLOATS(ONE, cos)
FLOATS(ONE, cosh) FLOATS(ONE, cospi) FLOATS(ONE, erf) FLOATS(ONE, erfc) FLOATS(ONE, exp) FLOATS(ONE, exp10)
FLOATS(ONE, exp2) FLOATS(ONE, expm1) FLOATS(ONE, fabs) FLOATS(ONE, floor) FLOATS(ONE, lgamma) FLOATS(ONE, log)
FLOATS(ONE, log10) FLOATS(ONE, log1p) FLOATS(ONE, log2) FLOATS(ONE, logb) FLOATS(ONE, rint) FLOATS(ONE, round)
FLOATS(ONE, rsqrt) FLOATS(ONE, sin) FLOATS(ONE, sinh) FLOATS(ONE, sinpi) FLOATS(ONE, sqrt) FLOATS(ONE, tan)
FLOATS(ONE, tanh) FLOATS(ONE, tanpi) FLOATS(ONE, tgamma) FLOATS(ONE, trunc)
FLOATS(TWO, atan2) FLOATS(TWO, atan2pi) FLOATS(TWO, copysign) FLOATS(TWO, fdim) FLOATS(TWO, fmax) FLOATS(TWO, fmin)
FLOATS(TWO, fmod) FLOATS(TWO, hypot) FLOATS(TWO, maxmag) FLOATS(TWO, minmag) FLOATS(TWO, nextafter) FLOATS(TWO, pow)
FLOATS(TWO, powr) FLOATS(TWO, remainder) FLOATS(THREE, fma) FLOATS(THREE, mad)
FLOATS(TO_INT, ilogb) FLOATS(TO_INT, isfinite) FLOATS(TO_INT, isinf) FLOATS(TO_INT, isnan) FLOATS(TO_INT, isnormal)
FLOATS(TO_INT, signbit) FLOATS(WITH_INT, ldexp) FLOATS(WITH_INT, pown) FLOATS(WITH_INT, rootn)
FLOATS(WITH_PLACE, sincos) FLOATS(WITH_PLACE, modf) FLOATS(WITH_PLACE, fract)
FLOATS(WITH_INT_PLACE, frexp) FLOATS(WITH_INT_PLACE, lgamma_r)
#define OTHERS(_, T, s) AS(nearbyint, rint(x), T, s) AS(rcbrt, 1 / cbrt(x), T, s) AS(rcp, 1 / x, T, s) \
  HERE T __ocml_sincospi_##s(T x, __private T *c) { *c = cospi(x); return sinpi(x); } \
  HERE T __ocml_remquo_##s(T x, T y, __private int *q) { return remquo(x, y, q); } \
  HERE T __ocml_scalbn_##s(T x, int n) { return ldexp(x, n); } \
  HERE T __ocml_scalb_##s(T x, T y) { return isinf(y) ? (y > 0 ? x * y : x / -y) : isnan(y) ? y : ldexp(x, (int)clamp((double)rint(y), -1e4, 1e4)); } \
  HERE T __ocml_max_##s(T x, T y) { return fmax(x, y); } HERE T __ocml_min_##s(T x, T y) { return fmin(x, y); } \
  HERE T __ocml_fmuladd_##s(T x, T y, T z) { return mad(x, y, z); } \
  HERE T __ocml_rhypot_##s(T x, T y) { return 1 / hypot(x, y); } \
  HERE T __ocml_len3_##s(T x, T y, T z) { return hypot(hypot(x, y), z); } \
  HERE T __ocml_len4_##s(T x, T y, T z, T w) { return hypot(hypot(x, y), hypot(z, w)); } \
  HERE T __ocml_rlen3_##s(T x, T y, T z) { return 1 / hypot(hypot(x, y), z); } \
  HERE T __ocml_rlen4_##s(T x, T y, T z, T w) { return 1 / hypot(hypot(x, y), hypot(z, w)); } \
  HERE T __ocml_add_rte_##s(T x, T y) { return x + y; } HERE T __ocml_sub_rte_##s(T x, T y) { return x - y; } \
  HERE T __ocml_mul_rte_##s(T x, T y) { return x * y; } HERE T __ocml_div_rte_##s(T x, T y) { return x / y; } \
  HERE T __ocml_sqrt_rte_##s(T x) { return sqrt(x); } HERE T __ocml_fma_rte_##s(T x, T y, T z) { return fma(x, y, z); }
FLOATS(OTHERS, _)
double dg_erfinv(double); double dg_erfcinv(double); double dg_erfcx(double); double dg_normcdf(double);
double dg_normcdfinv(double); double dg_j0(double); double dg_j1(double); double dg_y0(double); double dg_y1(double);
double dg_cyl_bessel_i0(double); double dg_cyl_bessel_i1(double);
#define dg_ncdf dg_normcdf
#define dg_ncdfinv dg_normcdfinv
#define dg_i0 dg_cyl_bessel_i0
#define dg_i1 dg_cyl_bessel_i1
FLOATS(OF_DOUBLE, erfinv) FLOATS(OF_DOUBLE, erfcinv) FLOATS(OF_DOUBLE, erfcx) FLOATS(OF_DOUBLE, ncdf)
FLOATS(OF_DOUBLE, ncdfinv) FLOATS(OF_DOUBLE, j0) FLOATS(OF_DOUBLE, j1) FLOATS(OF_DOUBLE, y0) FLOATS(OF_DOUBLE, y1)
FLOATS(OF_DOUBLE, i0) FLOATS(OF_DOUBLE, i1)
#define NATIVE(f) AS(native_##f, native_##f(x), float, f32) AS(native_##f, f(x), half, f16) AS(native_##f, f(x), double, f64)
NATIVE(cos) NATIVE(exp) NATIVE(exp2) NATIVE(exp10) NATIVE(log) NATIVE(log10) NATIVE(log2) NATIVE(rsqrt) NATIVE(sin) NATIVE(sqrt)
#define PAIR(f) AS(f, f(x), half2, 2f16)
PAIR(ceil) PAIR(cos) PAIR(exp) PAIR(exp10) PAIR(exp2) PAIR(fabs) PAIR(floor) PAIR(log) PAIR(log10) PAIR(log2) PAIR(rint)
PAIR(rsqrt) PAIR(sin) PAIR(sqrt) PAIR(trunc) AS(rcp, 1 / x, half2, 2f16) THREE(fma, half2, 2f16)
HERE half2 __ocml_pown_2f16(half2 x, int2 n) { return pown(x, n); }
HERE short2 __ocml_isinf_2f16(half2 x) { return isinf(x); }
HERE short2 __ocml_isnan_2f16(half2 x) { return isnan(x); }
#define ROUNDED(how, T, s, R, r) HERE R __ocml_cvt##how##_##r##_##s(T x) { return convert_##R##_##how(x); }
#define ROUNDINGS(T, s, R, r) ROUNDED(rtn, T, s, R, r) ROUNDED(rtp, T, s, R, r) ROUNDED(rtz, T, s, R, r)
ROUNDINGS(float, f32, half, f16) ROUNDINGS(double, f64, half, f16) ROUNDINGS(double, f64, float, f32)
ROUNDINGS(int, s32, float, f32) ROUNDINGS(uint, u32, float, f32) ROUNDINGS(long, s64, float, f32)
ROUNDINGS(ulong, u64, float, f32) ROUNDINGS(long, s64, double, f64) ROUNDINGS(ulong, u64, double, f64)

/* MODE holds how floats are rounded: its two lowest bits of 32 bits, the next two of 64. The three instructions stay together. */
#define SET_MODE(bit, how) "s_setreg_imm32_b32 hwreg(HW_REG_MODE, " #bit ", 2), " #how "\n\t"
#define IN_MODE(f, op, operands, T, s, bit, r, how, parameters, ...) HERE T __ocml_##f##_##r##_##s parameters { \
  T result; \
  __asm__ volatile(SET_MODE(bit, how) op #s " %0, " operands "\n\t" SET_MODE(bit, 0) : "=&v"(result) : __VA_ARGS__); \
  return result; }
#define IN_MODES(T, s, bit, r, how) \
  IN_MODE(add, "v_add_", "%1, %2", T, s, bit, r, how, (T x, T y), "v"(x), "v"(y)) \
  IN_MODE(mul, "v_mul_", "%1, %2", T, s, bit, r, how, (T x, T y), "v"(x), "v"(y)) \
  IN_MODE(fma, "v_fma_", "%1, %2, %3", T, s, bit, r, how, (T x, T y, T z), "v"(x), "v"(y), "v"(z)) \
  HERE T __ocml_sub_##r##_##s(T x, T y) { return __ocml_add_##r##_##s(x, -y); }
IN_MODES(float, f32, 0, rtp, 1) IN_MODES(float, f32, 0, rtn, 2) IN_MODES(float, f32, 0, rtz, 3)
IN_MODES(double, f64, 2, rtp, 1) IN_MODES(double, f64, 2, rtn, 2) IN_MODES(double, f64, 2, rtz, 3)
/* A quotient or root of floats that is no float is not so near to one that its nearest double is that float: so the double
   rounds as it does. Of doubles, the rest that fma finds says on which side of the nearest one they are: of numbers
   around 1, where the rest is exact. */
#define RTP(x, rest) ((rest) > 0)
#define RTN(x, rest) -((rest) < 0)
#define RTZ(x, rest) ((x) > 0 ? RTN(x, rest) : RTP(x, rest))
static double dg_neighbour(double x, int side) { return side ? nextafter(x, side * (double)INFINITY) : x; }
#define STEPPED(r, TO) \
  HERE float __ocml_div_##r##_f32(float x, float y) { return convert_float_##r((double)x / y); } \
  HERE float __ocml_sqrt_##r##_f32(float x) { return convert_float_##r(sqrt((double)x)); } \
  double __ocml_div_##r##_f64(double x, double y) { \
    if (!(isfinite(x) && isfinite(y) && x && y)) return x / y; \
    int ex = ilogb(x), ey = ilogb(y), e = ex - ey; \
    x = ldexp(x, -ex), y = ldexp(y, -ey); \
    double q = x / y, rest = fma(-q, y, x) * y; \
    q = dg_neighbour(q, TO(q, rest)); \
    return __ocml_mul_##r##_f64(ldexp(q, clamp(e, -1000, 1000)), ldexp(1.0, clamp(e - clamp(e, -1000, 1000), -1074, 1023))); } \
  double __ocml_sqrt_##r##_f64(double x) { \
    if (!(isfinite(x) && x > 0)) return sqrt(x); \
    int e = ilogb(x) >> 1; \
    x = ldexp(x, -2 * e); \
    double root = sqrt(x), rest = fma(-root, root, x); \
    return ldexp(dg_neighbour(root, TO(root, rest)), e); }
STEPPED(rtp, RTP) STEPPED(rtn, RTN) STEPPED(rtz, RTZ)

/* ---- work-items, lanes, integers ---- */
#define ASKED(f) HERE size_t __ockl_##f(uint d) { return f(d); }
ASKED(get_local_id) ASKED(get_group_id) ASKED(get_global_id) ASKED(get_global_offset) ASKED(get_local_size)
ASKED(get_enqueued_local_size) ASKED(get_global_size) ASKED(get_num_groups)
HERE uint __ockl_get_work_dim(void) { return get_work_dim(); }
HERE size_t __ockl_get_local_linear_id(void) { return get_local_linear_id(); }
HERE size_t __ockl_get_global_linear_id(void) { return get_global_linear_id(); }
WAVES static ulong dg_executing(void) { return __builtin_amdgcn_uicmp(1u, 0u, 33); }
WAVES static ulong dg_votes(int p) { return __builtin_amdgcn_uicmp((uint)p, 0u, 33); }
HERE uint __ockl_lane_u32(void) { return dg_lane(); }
WAVES uint __ockl_activelane_u32(void) { return __builtin_popcountl(dg_executing() & (1ul << dg_lane()) - 1); }
WAVES bool __ockl_wfany_i32(int p) { return dg_votes(p) != 0; }
WAVES bool __ockl_wfall_i32(int p) { return dg_votes(p == 0) == 0; }
WAVES bool __ockl_wfsame_i32(int p) { return dg_votes(p) == 0 || dg_votes(p == 0) == 0; }
HERE uchar __ockl_clz_u8(uchar x) { return clz(x); }
HERE ushort __ockl_clz_u16(ushort x) { return clz(x); }
HERE uint __ockl_clz_u32(uint x) { return clz(x); }
HERE ulong __ockl_clz_u64(ulong x) { return clz(x); }
HERE uint __ockl_ctz_u32(uint x) { return x ? __builtin_ctz(x) : 32; }
HERE ulong __ockl_ctz_u64(ulong x) { return x ? __builtin_ctzl(x) : 64; }
HERE uint __ockl_popcount_u32(uint x) { return __builtin_popcount(x); }
HERE ulong __ockl_popcount_u64(ulong x) { return __builtin_popcountl(x); }
HERE int __ockl_mul24_i32(int x, int y) { return mul24(x, y); }
HERE uint __ockl_mul24_u32(uint x, uint y) { return mul24(x, y); }
HERE int __ockl_mul_hi_i32(int x, int y) { return mul_hi(x, y); }
HERE uint __ockl_mul_hi_u32(uint x, uint y) { return mul_hi(x, y); }
HERE long __ockl_mul_hi_i64(long x, long y) { return mul_hi(x, y); }
HERE ulong __ockl_mul_hi_u64(ulong x, ulong y) { return mul_hi(x, y); }
HERE uint __ockl_sadd_u32(uint x, uint y, uint z) { return (x > y ? x - y : y - x) + z; }
HERE void __ockl_atomic_add_noret_f32(__generic float *p, float v) { __opencl_atomic_fetch_add((__generic atomic_float *)p, v, memory_order_relaxed, memory_scope_device); }
HERE float __ockl_fdot2(half2 a, half2 b, float c, bool sat) { float r = (float)a.x * b.x + ((float)a.y * b.y + c); return sat ? fmin(fmax(r, 0.0f), 1.0f) : r; }
#define DOT(f, T, V, R, least, most, sum) HERE R __ockl_##f(V a, V b, R c, bool sat) { T r = (T)c; sum return sat ? (R)(r < least ? least : r > most ? most : r) : (R)r; }
#define EACH(n) for (int k = 0; k < n; k++) r += (__typeof__(r))a[k] * b[k];
#define PART(T, x, k) ((T)((x) << (28 - 4 * (k))) >> 28)
DOT(sdot2, long, short2, int, INT_MIN, INT_MAX, EACH(2)) DOT(udot2, ulong, ushort2, uint, 0, UINT_MAX, EACH(2))
DOT(sdot4, long, char4, int, INT_MIN, INT_MAX, EACH(4)) DOT(udot4, ulong, uchar4, uint, 0, UINT_MAX, EACH(4))
DOT(sdot8, long, int, int, INT_MIN, INT_MAX, for (int k = 0; k < 8; k++) r += PART(int, a, k) * PART(int, b, k);)
DOT(udot8, ulong, uint, uint, 0, UINT_MAX, for (int k = 0; k < 8; k++) r += PART(uint, a, k) * PART(uint, b, k);)
ulong dg_malloc(ulong); void dg_free(ulong);
HERE ulong __ockl_dm_alloc(ulong size) { return dg_malloc(size); }
HERE void __ockl_dm_dealloc(ulong address) { dg_free(address); }
HERE bool __ockl_is_local_addr(const __generic void *p) { return __builtin_amdgcn_is_shared(p); }
HERE bool __ockl_is_private_addr(const __generic void *p) { return __builtin_amdgcn_is_private(p); }
HERE ulong __ockl_memtime_u64(void) { return __builtin_readcyclecounter(); }
HERE ulong __ockl_steadyctr_u64(void) { return __builtin_readcyclecounter(); }
WAVES int __ockl_wgred_add_i32(int x) { return work_group_reduce_add(x); }
WAVES int __ockl_wgred_and_i32(int x) { return work_group_all(x); }
WAVES int __ockl_wgred_or_i32(int x) { return work_group_any(x); }
#define REDUCED(T, s, f) WAVES T __ockl_wfred_##f##_##s(T x) { return sub_group_reduce_##f(x); }
#define FOLDED(T, s, f) WAVES T __ockl_wfred_##f##_##s(T x) { return sub_group_non_uniform_reduce_##f(x); }
#define NUMBERS(T, s) REDUCED(T, s, add) REDUCED(T, s, min) REDUCED(T, s, max)
#define BITS(T, s) FOLDED(T, s, and) FOLDED(T, s, or) FOLDED(T, s, xor)
NUMBERS(int, i32) NUMBERS(uint, u32) NUMBERS(long, i64) NUMBERS(ulong, u64) NUMBERS(float, f32) NUMBERS(double, f64)
BITS(int, i32) BITS(uint, u32) BITS(long, i64) BITS(ulong, u64)
bool dg_is_cooperative(void); void dg_grid_sync(void);
HERE uint __ockl_grid_is_valid(void) { return dg_is_cooperative(); }
WAVES void __ockl_grid_sync(void) { dg_grid_sync(); }
/* of several devices, of which there is one */
HERE uint __ockl_multi_grid_is_valid(void) { return dg_is_cooperative(); }
HERE uint __ockl_multi_grid_num_grids(void) { return 1; }
HERE uint __ockl_multi_grid_grid_rank(void) { return 0; }
HERE uint __ockl_multi_grid_size(void) { return get_global_size(0) * get_global_size(1) * get_global_size(2); }
HERE uint __ockl_multi_grid_thread_rank(void) { return get_global_linear_id(); }
WAVES void __ockl_multi_grid_sync(void) { dg_grid_sync(); }
HERE void __atomic_work_item_fence(uint flags, memory_order o, memory_scope s) { atomic_work_item_fence(flags, o, s); }

/* ---- what the functions of ROCm's own bitcode ask for ---- */
#define CONTROL(T, name, value) __attribute__((weak, visibility("hidden"))) __constant const T __oclc_##name = value;
CONTROL(uchar, finite_only_opt, 0) CONTROL(uchar, unsafe_math_opt, 0) CONTROL(uchar, daz_opt, 0) CONTROL(uchar, correctly_rounded_sqrt32, 1)
CONTROL(int, ABI_version, DG_ABI * 100) CONTROL(int, ISA_version, DG_ISA) CONTROL(uchar, wavefrontsize64, DG_LANES == 64)
CONTROL(uint, wavefrontsize_log2, DG_LANES == 64 ? 6 : 5)

/* ---- calls of the host: a wave fills a packet, sends an interrupt, and waits ---- */
typedef struct { ulong next, lanes; uint service, control; } dg_packet;
typedef struct { __global dg_packet *headers; __global ulong *contents; ulong signal, free, ready, mask; } dg_calls;
typedef struct { ulong kind, value; __global atomic_ulong *event; uint id; } dg_signal;
#define EVERYWHERE memory_scope_all_svm_devices
#define HOST_CALLS ((__global dg_calls *)HIDDEN(ulong, DG_ABI >= 5 ? 80 : 24))
#define LOAD(p) __opencl_atomic_load((__global atomic_ulong *)(p), memory_order_acquire, EVERYWHERE)
#define SWAP(p, old, new) __opencl_atomic_compare_exchange_strong((__global atomic_ulong *)(p), old, new, memory_order_acq_rel, memory_order_acquire, EVERYWHERE)
static void dg_push(__global dg_calls *calls, __global ulong *stack, ulong packet) {
  ulong top = LOAD(stack);
  do __opencl_atomic_store((__global atomic_ulong *)&calls->headers[packet & calls->mask].next, top, memory_order_relaxed, EVERYWHERE);
  while (!SWAP(stack, &top, packet));
}
static ulong dg_pop(__global dg_calls *calls) {
  ulong top = LOAD(&calls->free), next;
  do next = LOAD(&calls->headers[top & calls->mask].next);
  while (!SWAP(&calls->free, &top, next));
  return top;
}
__attribute__((noinline, convergent)) long2 __ockl_hostcall_internal(__global dg_calls *calls, uint service, ulong8 words) {
  ulong lanes = dg_executing(), packet = 0;
  bool is_first = dg_lane() == __builtin_ctzl(lanes);
  if (is_first) packet = dg_pop(calls);
  packet = __builtin_amdgcn_readfirstlane((uint)packet) | (ulong)(uint)__builtin_amdgcn_readfirstlane((uint)(packet >> 32)) << 32;
  __global dg_packet *header = calls->headers + (packet & calls->mask);
  __global ulong *content = calls->contents + ((packet & calls->mask) * 64 + dg_lane()) * 8;
  for (int k = 0; k < 8; k++) content[k] = words[k];
  if (is_first) {
    header->lanes = lanes, header->service = service;
    __opencl_atomic_store((__global atomic_uint *)&header->control, 1u, memory_order_relaxed, EVERYWHERE);
  }
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
  if (is_first) {
    dg_push(calls, &calls->ready, packet);
    __global dg_signal *signal = (__global dg_signal *)calls->signal;
    __opencl_atomic_fetch_add((__global atomic_ulong *)&signal->value, 1ul, memory_order_release, EVERYWHERE);
    if (signal->event) {
      __opencl_atomic_store(signal->event, (ulong)signal->id, memory_order_release, EVERYWHERE);
      __builtin_amdgcn_s_sendmsg(1, __builtin_amdgcn_readfirstlane(signal->id) & 0xffffff);
    }
  }
  while (__opencl_atomic_load((__global atomic_uint *)&header->control, memory_order_acquire, EVERYWHERE) & 1) __builtin_amdgcn_s_sleep(1);
  long2 result = (long2)(content[0], content[1]);
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
  if (is_first) dg_push(calls, &calls->free, packet + calls->mask + 1 ? packet + calls->mask + 1 : packet + 2 * (calls->mask + 1));
  return result;
}
#define BEGINS 1
#define ENDS 2
WAVES static ulong dg_message(ulong descriptor, uint count, ulong8 words) { /* a part of a message, whose words follow the descriptor */
  words = words.s70123456; words.s0 = (descriptor & ~0xe0ul) | count << 5;
  return __ockl_hostcall_internal(HOST_CALLS, 2, words).x;
}
WAVES ulong __ockl_printf_begin(ulong version) { return dg_message(BEGINS, 1, (ulong8)(0)); }
WAVES ulong __ockl_fprintf_stdout_begin(void) { return dg_message(BEGINS, 1, (ulong8)(0)); }
WAVES ulong __ockl_fprintf_stderr_begin(void) { return dg_message(BEGINS, 1, (ulong8)(1, 0, 0, 0, 0, 0, 0, 0)); }
#define APPENDING(name) \
  WAVES ulong name##_append_args(ulong m, uint count, ulong a, ulong b, ulong c, ulong d, ulong e, ulong f, ulong g, uint is_last) { \
    return dg_message(m | (is_last ? ENDS : 0), count, (ulong8)(a, b, c, d, e, f, g, 0)); } \
  WAVES ulong name##_append_string_n(ulong m, const __generic char *text, ulong length, uint is_last) { \
    if (!text) return dg_message(m | (is_last ? ENDS : 0), 1, (ulong8)(0)); \
    do { \
      ulong8 words = 0; uint size = length < 56 ? length : 56; \
      for (uint k = 0; k < size; k++) words[k / 8] |= (ulong)(uchar)text[k] << k % 8 * 8; \
      text += size; length -= size; \
      m = dg_message(m | (is_last && !length ? ENDS : 0), (size + 7) / 8, words); \
    } while (length); \
    return m; }
APPENDING(__ockl_printf) APPENDING(__ockl_fprintf)
