/* What each source of HIP begins with: the words of the language, and mathematics, since templates of <cmath> find only
   the functions that were declared before them. clang's __clang_hip_runtime_wrapper.h does this for ROCm. */
#pragma once
#include "amd_detail/host_defines.h"
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define DG_DEVICE __device__ static inline __attribute__((always_inline, nodebug))
#define DG_BOTH __host__ __device__ static inline __attribute__((always_inline, nodebug))
#define DG_NEAR __device__ inline __attribute__((always_inline, nodebug))

/* ---- memory ---- */
extern "C" {
__device__ unsigned long dg_malloc(unsigned long);
__device__ void dg_free(unsigned long);
__device__ inline void *malloc(decltype(sizeof 0) size) { return (void *)dg_malloc(size); }
__device__ inline void free(void *block) { dg_free((unsigned long)block); }
}
__device__ inline void *operator new(decltype(sizeof 0) size) { return malloc(size); }
__device__ inline void *operator new[](decltype(sizeof 0) size) { return malloc(size); }
__device__ inline void *operator new(decltype(sizeof 0), void *place) noexcept { return place; }
__device__ inline void *operator new[](decltype(sizeof 0), void *place) noexcept { return place; }
__device__ inline void operator delete(void *, void *) noexcept {}
__device__ inline void operator delete[](void *, void *) noexcept {}
__device__ inline void operator delete(void *block) noexcept { free(block); }
__device__ inline void operator delete[](void *block) noexcept { free(block); }
__device__ inline void operator delete(void *block, decltype(sizeof 0)) noexcept { free(block); }
__device__ inline void operator delete[](void *block, decltype(sizeof 0)) noexcept { free(block); }

/* ---- mathematics: functions of the library, whose names are not those that clang replaces by less exact code ---- */
#define DG_CALL1(name) \
  extern "C" __device__ double dg_##name(double); \
  DG_DEVICE float name##f(float a) { return (float)dg_##name(a); } \
  DG_DEVICE float name(float a) { return (float)dg_##name(a); } \
  DG_DEVICE double name(double a) { return dg_##name(a); }
#define DG_CALL2(name) \
  extern "C" __device__ double dg_##name(double, double); \
  DG_DEVICE float name##f(float a, float b) { return (float)dg_##name(a, b); } \
  DG_DEVICE float name(float a, float b) { return (float)dg_##name(a, b); } \
  DG_DEVICE double name(double a, double b) { return dg_##name(a, b); }
DG_CALL1(sin) DG_CALL1(cos) DG_CALL1(tan) DG_CALL1(asin) DG_CALL1(acos) DG_CALL1(atan) DG_CALL1(sinh) DG_CALL1(cosh)
DG_CALL1(tanh) DG_CALL1(asinh) DG_CALL1(acosh) DG_CALL1(atanh) DG_CALL1(sinpi) DG_CALL1(cospi) DG_CALL1(exp)
DG_CALL1(exp2) DG_CALL1(exp10) DG_CALL1(expm1) DG_CALL1(log) DG_CALL1(log2) DG_CALL1(log10) DG_CALL1(log1p)
DG_CALL1(cbrt) DG_CALL1(rsqrt) DG_CALL1(erf) DG_CALL1(erfc) DG_CALL1(lgamma) DG_CALL1(tgamma)
DG_CALL2(pow) DG_CALL2(atan2) DG_CALL2(hypot) DG_CALL2(fmod) DG_CALL2(remainder)
#define DG_BUILTIN1(name) \
  DG_DEVICE float name##f(float a) { return __builtin_##name##f(a); } \
  DG_DEVICE float name(float a) { return __builtin_##name##f(a); } \
  DG_DEVICE double name(double a) { return __builtin_##name(a); }
#define DG_BUILTIN2(name) \
  DG_DEVICE float name##f(float a, float b) { return __builtin_##name##f(a, b); } \
  DG_DEVICE float name(float a, float b) { return __builtin_##name##f(a, b); } \
  DG_DEVICE double name(double a, double b) { return __builtin_##name(a, b); }
DG_BUILTIN1(sqrt) DG_BUILTIN1(fabs) DG_BUILTIN1(floor) DG_BUILTIN1(ceil) DG_BUILTIN1(trunc) DG_BUILTIN1(rint)
DG_BUILTIN1(round) DG_BUILTIN1(nearbyint)
DG_BUILTIN2(fmin) DG_BUILTIN2(fmax) DG_BUILTIN2(copysign)
DG_DEVICE float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DG_DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DG_DEVICE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
DG_DEVICE float __sinf(float a) { return sinf(a); }
DG_DEVICE float __cosf(float a) { return cosf(a); }
DG_DEVICE float __expf(float a) { return expf(a); }
DG_DEVICE float __logf(float a) { return logf(a); }
DG_DEVICE float __log2f(float a) { return log2f(a); }
DG_DEVICE float __powf(float a, float b) { return powf(a, b); }
DG_DEVICE float __fdividef(float a, float b) { return a / b; }
DG_DEVICE float __saturatef(float a) { return fminf(fmaxf(a, 0), 1); }
DG_DEVICE float __log10f(float a) { return log10f(a); }
DG_DEVICE float __exp10f(float a) { return exp10f(a); }
DG_DEVICE float __tanf(float a) { return tanf(a); }
#define DG_ROUNDED(from, F, to, T) \
  DG_DEVICE T __##from##2##to##_rn(F a) { return (T)rint(a); } \
  DG_DEVICE T __##from##2##to##_rz(F a) { return (T)a; } \
  DG_DEVICE T __##from##2##to##_rd(F a) { return (T)floor(a); } \
  DG_DEVICE T __##from##2##to##_ru(F a) { return (T)ceil(a); }
#define DG_TO_INTEGERS(name, T) DG_ROUNDED(float, float, name, T) DG_ROUNDED(double, double, name, T) \
  DG_DEVICE float __##name##2float_rn(T a) { return (float)a; } \
  DG_DEVICE double __##name##2double_rn(T a) { return (double)a; }
DG_TO_INTEGERS(int, int) DG_TO_INTEGERS(uint, unsigned) DG_TO_INTEGERS(ll, long long)
DG_TO_INTEGERS(ull, unsigned long long)
DG_DEVICE float __double2float_rn(double a) { return (float)a; }
/* Of these, no two become one operation. */
#define DG_NEAREST(name, T, value) DG_DEVICE T name(T a, T b) { _Pragma("clang fp contract(off)") return value; }
DG_NEAREST(__fadd_rn, float, a + b) DG_NEAREST(__fsub_rn, float, a - b) DG_NEAREST(__fmul_rn, float, a * b)
DG_NEAREST(__dadd_rn, double, a + b) DG_NEAREST(__dsub_rn, double, a - b) DG_NEAREST(__dmul_rn, double, a * b)
DG_NEAREST(__fdiv_rn, float, a / b) DG_NEAREST(__ddiv_rn, double, a / b)
DG_DEVICE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
DG_DEVICE double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
DG_DEVICE float __fsqrt_rn(float a) { return sqrtf(a); }
DG_DEVICE double __dsqrt_rn(double a) { return sqrt(a); }
DG_DEVICE float __frcp_rn(float a) { return 1 / a; }
DG_DEVICE double __drcp_rn(double a) { return 1 / a; }
DG_DEVICE float __frsqrt_rn(float a) { return rsqrtf(a); }
#define DG_KINDS(T, f, code) \
  DG_DEVICE bool isnan(T a) { return __builtin_isnan(a); } \
  DG_DEVICE bool isinf(T a) { return __builtin_isinf(a); } \
  DG_DEVICE bool isfinite(T a) { return __builtin_isfinite(a); } \
  DG_DEVICE bool signbit(T a) { return __builtin_signbit(a); } \
  DG_DEVICE long lround##f(T a) { return (long)round(a); } \
  DG_DEVICE long long llround##f(T a) { return (long long)round(a); } \
  DG_DEVICE long lrint##f(T a) { return (long)rint(a); } \
  DG_DEVICE long long llrint##f(T a) { return (long long)rint(a); } \
  DG_DEVICE T modf##f(T a, T *whole) { *whole = trunc(a); return copysign(isinf(a) ? 0 : a - *whole, a); } \
  DG_DEVICE T frexp##f(T a, int *power) { \
    *power = __builtin_amdgcn_frexp_exp##f(a); return __builtin_amdgcn_frexp_mant##f(a); } \
  DG_DEVICE void sincos##f(T a, T *s, T *c) { *s = sin(a); *c = cos(a); } \
  DG_DEVICE void sincospi##f(T a, T *s, T *c) { *s = sinpi(a); *c = cospi(a); } \
  DG_DEVICE T rcbrt##f(T a) { return 1 / cbrt(a); } \
  DG_DEVICE T rhypot##f(T a, T b) { return 1 / hypot(a, b); } \
  DG_DEVICE T norm3d##f(T a, T b, T c) { return (T)hypot(hypot((double)a, (double)b), (double)c); } \
  DG_DEVICE T norm4d##f(T a, T b, T c, T d) { \
    return (T)hypot(hypot((double)a, (double)b), hypot((double)c, (double)d)); } \
  DG_DEVICE T rnorm3d##f(T a, T b, T c) { return 1 / norm3d##f(a, b, c); } \
  DG_DEVICE T rnorm4d##f(T a, T b, T c, T d) { return 1 / norm4d##f(a, b, c, d); } \
  DG_DEVICE T powi##f(T a, int b) { return pow(a, (T)b); } \
  DG_DEVICE T nan##f(const char *) { return __builtin_nan##f(""); } \
  DG_DEVICE T ldexp##f(T a, int power) { return __builtin_ldexp##f(a, power); } \
  DG_DEVICE T scalbn##f(T a, int power) { return ldexp##f(a, power); } \
  DG_DEVICE T scalbln##f(T a, long power) { \
    return ldexp##f(a, power > 5000 ? 5000 : power < -5000 ? -5000 : (int)power); } \
  extern "C" __device__ int dg_ilogb_##T(T) __asm__("_Z5ilogb" code); \
  DG_DEVICE int ilogb##f(T a) { return dg_ilogb_##T(a); } \
  DG_DEVICE T logb##f(T a) { return a == 0 ? -__builtin_inf() : isfinite(a) ? (T)ilogb##f(a) : fabs(a); } \
  extern "C" __device__ T dg_nextafter_##T(T, T) __asm__("_Z9nextafter" code code); \
  DG_DEVICE T nextafter##f(T a, T b) { return dg_nextafter_##T(a, b); } \
  DG_DEVICE T fdim##f(T a, T b) { return a <= b ? 0 : a - b; }
DG_KINDS(float, f, "f") DG_KINDS(double, , "d")
DG_CALL1(erfinv) DG_CALL1(erfcinv) DG_CALL1(erfcx) DG_CALL1(normcdf) DG_CALL1(normcdfinv)
DG_CALL1(j0) DG_CALL1(j1) DG_CALL1(y0) DG_CALL1(y1) DG_CALL1(cyl_bessel_i0) DG_CALL1(cyl_bessel_i1)
extern "C" __device__ double dg_jn(int, double), dg_yn(int, double), dg_remquo(double, double, int *);
DG_DEVICE float jnf(int n, float a) { return (float)dg_jn(n, a); }
DG_DEVICE double jn(int n, double a) { return dg_jn(n, a); }
DG_DEVICE float ynf(int n, float a) { return (float)dg_yn(n, a); }
DG_DEVICE double yn(int n, double a) { return dg_yn(n, a); }
DG_DEVICE float remquof(float a, float b, int *quotient) { return (float)dg_remquo(a, b, quotient); }
DG_DEVICE double remquo(double a, double b, int *quotient) { return dg_remquo(a, b, quotient); }
DG_DEVICE double norm(int count, const double *a) { double r = 0; for (int i = 0; i < count; i++) r = hypot(r, a[i]); return r; }
DG_DEVICE float normf(int count, const float *a) {
  double r = 0;
  for (int i = 0; i < count; i++) r = hypot(r, (double)a[i]);
  return (float)r;
}
DG_DEVICE double rnorm(int count, const double *a) { return 1 / norm(count, a); }
DG_DEVICE float rnormf(int count, const float *a) { return 1 / normf(count, a); }
#define DG_FROM(name, T, code, to, length) \
  extern "C" __device__ to dg_##name##_##to##_rz(T) __asm__("_Z" length "convert_" #to "_rtz" code); \
  extern "C" __device__ to dg_##name##_##to##_ru(T) __asm__("_Z" length "convert_" #to "_rtp" code); \
  extern "C" __device__ to dg_##name##_##to##_rd(T) __asm__("_Z" length "convert_" #to "_rtn" code); \
  DG_DEVICE to __##name##2##to##_rz(T a) { return dg_##name##_##to##_rz(a); } \
  DG_DEVICE to __##name##2##to##_ru(T a) { return dg_##name##_##to##_ru(a); } \
  DG_DEVICE to __##name##2##to##_rd(T a) { return dg_##name##_##to##_rd(a); }
DG_FROM(int, int, "i", float, "17") DG_FROM(uint, unsigned, "j", float, "17") DG_FROM(ll, long long, "l", float, "17")
DG_FROM(ull, unsigned long long, "m", float, "17") DG_FROM(double, double, "d", float, "17")
DG_FROM(ll, long long, "l", double, "18") DG_FROM(ull, unsigned long long, "m", double, "18")
/* `rest` is what the nearest float is short of; the neighbour on the other side is the other rounding. */
DG_DEVICE float dg_towards(float nearest, double rest, float to) {
  return rest != 0 && (rest > 0) == (to > nearest) ? nextafterf(nearest, to) : nearest;
}
DG_DEVICE double dg_rest_of_sum(float a, float b, float nearest) {
  double sum = (double)a + b, part = sum - a;
  return sum != nearest ? sum - nearest : (a - (sum - part)) + (b - part);
}
#define DG_DIRECTED(name, nearest, rest) \
  DG_DEVICE float name##_ru(float a, float b) { float r = nearest; return dg_towards(r, rest, __builtin_inff()); } \
  DG_DEVICE float name##_rd(float a, float b) { float r = nearest; return dg_towards(r, rest, -__builtin_inff()); } \
  DG_DEVICE float name##_rz(float a, float b) { float r = nearest; return r == 0 ? r : dg_towards(r, rest, 0); }
DG_DIRECTED(__fmul, __fmul_rn(a, b), (double)a * b - r) DG_DIRECTED(__fadd, __fadd_rn(a, b), dg_rest_of_sum(a, b, r))
DG_DIRECTED(__fsub, __fsub_rn(a, b), dg_rest_of_sum(a, -b, r))
DG_DEVICE void __sincosf(float a, float *s, float *c) { sincosf(a, s, c); }
