/* Floats of 8 bits: OCP's (a NaN of E4M3 is S.1111.111, E5M2 has infinities), and the forms of GFX940 to GFX942, "fnuz", whose
   bias is 1 larger and whose only NaN is 0x80 (MI300 ISA document, "8-bit Floating Point"). Rounded to nearest even; a finite
   number that is too large becomes the largest one, as by default. Infinities are infinities, or NaNs where a form has none. */
#pragma once
#include "hip_bf16.h"
enum __hip_saturation_t { __HIP_NOSAT, __HIP_SATFINITE };
enum __hip_fp8_interpretation_t { __HIP_E4M3, __HIP_E5M2, __HIP_E4M3_FNUZ, __HIP_E5M2_FNUZ };
typedef unsigned char __hip_fp8_storage_t;
typedef unsigned short __hip_fp8x2_storage_t;
typedef unsigned __hip_fp8x4_storage_t;
DG_BOTH float dg_float_of_fp8(unsigned char bits, int fraction, int bias, bool is_fnuz) {
  unsigned most = 0x7f >> fraction, exponent = (bits & 0x7f) >> fraction, rest = bits & ((1u << fraction) - 1);
  bool is_infinite = !is_fnuz && fraction == 2 && exponent == most && rest == 0;
  bool is_nan = is_fnuz ? bits == 0x80 : fraction == 2 ? exponent == most && rest : (bits & 0x7f) == 0x7f;
  if (is_nan) return __builtin_nanf("");
  float number = __builtin_ldexpf((float)(exponent ? rest | 1u << fraction : rest), (int)(exponent ? exponent : 1) - bias - fraction);
  if (is_infinite) number = __builtin_inff();
  return bits & 0x80 ? -number : number;
}
DG_BOTH unsigned char dg_fp8_of_float(float a, int fraction, int bias, bool is_fnuz, bool saturates) {
  unsigned bits, sign, most = is_fnuz ? 0x7f : fraction == 2 ? 0x7b : 0x7e;
  __builtin_memcpy(&bits, &a, sizeof bits);
  sign = bits >> 24 & 0x80;
  bool is_infinite = (bits & 0x7fffffff) == 0x7f800000;
  if (a != a || (is_infinite && (is_fnuz || fraction == 3))) return (unsigned char)(is_fnuz ? 0x80 : sign | 0x7f);
  if (is_infinite) return (unsigned char)(sign | 0x7c);
  int exponent = (int)(bits >> 23 & 0xff) - 127;
  if (exponent < 1 - bias) exponent = 1 - bias;
  /* The number in units of its last place, which the default rounding of floats makes an integer. */
  float units = __builtin_rintf(__builtin_ldexpf(__builtin_fabsf(a), fraction - exponent));
  unsigned code = units > 4096 ? 0xff : (unsigned)units + ((unsigned)(exponent + bias - 1) << fraction);
  if (code > most) code = saturates ? most : is_fnuz ? 0x80 : fraction == 2 ? 0x7c : 0x7f;
  return (unsigned char)(is_fnuz && (code == 0 || code == 0x80) ? code : sign | code);
}
DG_BOTH unsigned dg_fp8x4(unsigned a, unsigned b, unsigned c, unsigned d) { return a | b << 8 | c << 16 | d << 24; }
#define DG_FP8(form, fraction, bias, is_fnuz) \
  struct __hip_fp8_##form { \
    __hip_fp8_storage_t __x; \
    __hip_fp8_##form() = default; \
    DG_NEAR __host__ explicit __hip_fp8_##form(float a) : __x(dg_fp8_of_float(a, fraction, bias, is_fnuz, true)) {} \
    DG_NEAR __host__ explicit __hip_fp8_##form(double a) : __hip_fp8_##form((float)a) {} \
    DG_NEAR __host__ explicit __hip_fp8_##form(int a) : __hip_fp8_##form((float)a) {} \
    DG_NEAR __host__ explicit __hip_fp8_##form(__half a) : __hip_fp8_##form((float)a) {} \
    DG_NEAR __host__ explicit __hip_fp8_##form(__hip_bfloat16 a) : __hip_fp8_##form((float)a) {} \
    DG_NEAR __host__ operator float() const { return dg_float_of_fp8(__x, fraction, bias, is_fnuz); } \
  }; \
  struct alignas(2) __hip_fp8x2_##form { \
    __hip_fp8x2_storage_t __x; \
    DG_NEAR __host__ operator float2() const { \
      return make_float2(dg_float_of_fp8(__x & 0xff, fraction, bias, is_fnuz), dg_float_of_fp8(__x >> 8, fraction, bias, is_fnuz)); } \
    __hip_fp8x2_##form() = default; \
    DG_NEAR __host__ explicit __hip_fp8x2_##form(float2 a) : __x(__hip_fp8_##form(a.x).__x | __hip_fp8_##form(a.y).__x << 8) {} \
    DG_NEAR __host__ explicit __hip_fp8x2_##form(double2 a) : __hip_fp8x2_##form(make_float2(a.x, a.y)) {} \
    DG_NEAR __host__ explicit __hip_fp8x2_##form(__half2 a) : __hip_fp8x2_##form(make_float2(a.x, a.y)) {} \
    DG_NEAR __host__ explicit __hip_fp8x2_##form(__hip_bfloat162 a) : __hip_fp8x2_##form(make_float2(a.x, a.y)) {} \
  }; \
  struct alignas(4) __hip_fp8x4_##form { \
    __hip_fp8x4_storage_t __x; \
    __hip_fp8x4_##form() = default; \
    DG_NEAR __host__ explicit __hip_fp8x4_##form(float4 a) : __x(dg_fp8x4(__hip_fp8_##form(a.x).__x, __hip_fp8_##form(a.y).__x, __hip_fp8_##form(a.z).__x, __hip_fp8_##form(a.w).__x)) {} \
    DG_NEAR __host__ explicit __hip_fp8x4_##form(double4 a) : __hip_fp8x4_##form(make_float4(a.x, a.y, a.z, a.w)) {} \
    DG_NEAR __host__ __hip_fp8x4_##form(__half2 a, __half2 b) : __hip_fp8x4_##form(make_float4(a.x, a.y, b.x, b.y)) {} \
    DG_NEAR __host__ __hip_fp8x4_##form(__hip_bfloat162 a, __hip_bfloat162 b) : __hip_fp8x4_##form(make_float4(a.x, a.y, b.x, b.y)) {} \
    DG_NEAR __host__ operator float4() const { \
      return make_float4(dg_float_of_fp8(__x, fraction, bias, is_fnuz), dg_float_of_fp8(__x >> 8, fraction, bias, is_fnuz), \
        dg_float_of_fp8(__x >> 16, fraction, bias, is_fnuz), dg_float_of_fp8(__x >> 24, fraction, bias, is_fnuz)); } \
  };
DG_FP8(e4m3_fnuz, 3, 8, true) DG_FP8(e5m2_fnuz, 2, 16, true)
DG_FP8(e4m3, 3, 7, false) DG_FP8(e5m2, 2, 15, false)
DG_BOTH __hip_fp8_storage_t __hip_cvt_float_to_fp8(float a, __hip_saturation_t limit, __hip_fp8_interpretation_t kind) {
  int fraction = kind == __HIP_E4M3_FNUZ || kind == __HIP_E4M3 ? 3 : 2;
  bool is_fnuz = kind == __HIP_E4M3_FNUZ || kind == __HIP_E5M2_FNUZ;
  return dg_fp8_of_float(a, fraction, (fraction == 3 ? 7 : 15) + is_fnuz, is_fnuz, limit == __HIP_SATFINITE);
}
DG_BOTH __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 a, __hip_saturation_t limit, __hip_fp8_interpretation_t kind) {
  return (__hip_fp8x2_storage_t)(__hip_cvt_float_to_fp8(a.x, limit, kind) | __hip_cvt_float_to_fp8(a.y, limit, kind) << 8);
}
