/* __hip_bfloat16 and its pairs: the upper half of a float; results are computed as floats and rounded to nearest even. */
#pragma once
#include "hip_bfloat16.h"
struct __hip_bfloat16 : hip_bfloat16 {
  __hip_bfloat16() = default;
  DG_NEAR __host__ __hip_bfloat16(float a) : hip_bfloat16(a) {}
  DG_NEAR __host__ __hip_bfloat16(hip_bfloat16 a) : hip_bfloat16(a) {}
};
struct alignas(4) __hip_bfloat162 {
  DG_PART(__hip_bfloat16)
  union { struct { __hip_bfloat16 x, y; }; __hip_bfloat16 dg[2]; };
  DG_NEAR __host__ __hip_bfloat162() {}
  DG_NEAR __host__ __hip_bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) : x(a), y(b) {}
};
DG_ATOMIC_PAIR(__hip_bfloat162)
typedef __hip_bfloat16 __nv_bfloat16;
typedef __hip_bfloat162 __nv_bfloat162;
DG_BOTH __hip_bfloat16 __float2bfloat16(float a) { return a; }
DG_BOTH __hip_bfloat16 __float2bfloat16_rn(float a) { return a; }
DG_BOTH __hip_bfloat16 __double2bfloat16(double a) { return (float)a; }
DG_BOTH __hip_bfloat16 __int2bfloat16_rn(int a) { return (float)a; }
DG_BOTH float __bfloat162float(__hip_bfloat16 a) { return a; }
DG_BOTH __hip_bfloat162 make_bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return __hip_bfloat162(a, b); }
DG_BOTH __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return __hip_bfloat162(a, b); }
DG_BOTH __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 a) { return __hip_bfloat162(a, a); }
/* A template, since programs define it, too: not each version of HIP has it. */
template <class T> DG_BOTH __hip_bfloat162 __float2bfloat162_rn(T a) { return __hip_bfloat162((float)a, (float)a); }
DG_BOTH __hip_bfloat162 __floats2bfloat162_rn(float a, float b) { return __hip_bfloat162(a, b); }
DG_BOTH __hip_bfloat162 __float22bfloat162_rn(float2 a) { return __hip_bfloat162(a.x, a.y); }
DG_BOTH float2 __bfloat1622float2(__hip_bfloat162 a) { return make_float2(a.x, a.y); }
DG_BOTH __hip_bfloat16 __low2bfloat16(__hip_bfloat162 a) { return a.x; }
DG_BOTH __hip_bfloat16 __high2bfloat16(__hip_bfloat162 a) { return a.y; }
DG_BOTH float __low2float(__hip_bfloat162 a) { return a.x; }
DG_BOTH float __high2float(__hip_bfloat162 a) { return a.y; }
DG_BITS(__bfloat16_as_ushort, unsigned short, __hip_bfloat16) DG_BITS(__ushort_as_bfloat16, __hip_bfloat16, unsigned short)
#define DG_BFLOATS(name, value) \
  DG_BOTH __hip_bfloat16 name(__hip_bfloat16 p, __hip_bfloat16 q) { float a = p, b = q; return (float)(value); } \
  DG_BOTH __hip_bfloat162 name##2(__hip_bfloat162 p, __hip_bfloat162 q) { return __hip_bfloat162(name(p.x, q.x), name(p.y, q.y)); }
DG_BFLOATS(__hadd, a + b) DG_BFLOATS(__hsub, a - b) DG_BFLOATS(__hmul, a * b) DG_BFLOATS(__hdiv, a / b)
DG_BFLOATS(__hmax, fmaxf(a, b)) DG_BFLOATS(__hmin, fminf(a, b))
#define DG_COMPARE_BFLOATS(name, op) DG_BOTH bool name(__hip_bfloat16 a, __hip_bfloat16 b) { return (float)a op (float)b; }
DG_COMPARE_BFLOATS(__heq, ==) DG_COMPARE_BFLOATS(__hne, !=) DG_COMPARE_BFLOATS(__hlt, <) DG_COMPARE_BFLOATS(__hle, <=)
DG_COMPARE_BFLOATS(__hgt, >) DG_COMPARE_BFLOATS(__hge, >=)
DG_BOTH __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) { return __builtin_fmaf(a, b, c); }
DG_BOTH __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  return __hip_bfloat162(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
DG_BOTH __hip_bfloat16 __hneg(__hip_bfloat16 a) { return -(float)a; }
DG_BOTH __hip_bfloat16 __habs(__hip_bfloat16 a) { return __builtin_fabsf(a); }
DG_BOTH bool __hisnan(__hip_bfloat16 a) { return (float)a != (float)a; }
#define DG_BFLOAT_OF(name, function) DG_BOTH __hip_bfloat16 name(__hip_bfloat16 a) { return (float)function((float)a); }
DG_BFLOAT_OF(hexp, expf) DG_BFLOAT_OF(hlog, logf) DG_BFLOAT_OF(hsqrt, sqrtf) DG_BFLOAT_OF(hrsqrt, rsqrtf)
DG_BFLOAT_OF(hsin, sinf) DG_BFLOAT_OF(hcos, cosf) DG_BFLOAT_OF(hrcp, 1 /) DG_BFLOAT_OF(htrunc, truncf)
