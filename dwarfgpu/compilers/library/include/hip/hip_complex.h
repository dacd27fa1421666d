/* Complex numbers of HIP. */
#pragma once
#include "hip_runtime.h"
typedef float2 hipFloatComplex;
typedef double2 hipDoubleComplex;
typedef hipFloatComplex hipComplex;
#define DG_COMPLEX(C, T, f, make) \
  DG_BOTH C make(T a, T b) { return make_##T##2(a, b); } \
  DG_BOTH T hipCreal##f(C a) { return a.x; } \
  DG_BOTH T hipCimag##f(C a) { return a.y; } \
  DG_BOTH C hipConj##f(C a) { return make(a.x, -a.y); } \
  DG_BOTH C hipCadd##f(C a, C b) { return a + b; } \
  DG_BOTH C hipCsub##f(C a, C b) { return a - b; } \
  DG_BOTH C hipCmul##f(C a, C b) { return make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); } \
  DG_BOTH T hipCsqabs##f(C a) { return a.x * a.x + a.y * a.y; } \
  DG_BOTH C hipCdiv##f(C a, C b) { C r = hipCmul##f(a, hipConj##f(b)); return r / hipCsqabs##f(b); } \
  DG_BOTH C hipCfma##f(C a, C b, C c) { return hipCmul##f(a, b) + c; } \
  DG_DEVICE T hipCabs##f(C a) { return hypot(a.x, a.y); }
DG_COMPLEX(hipFloatComplex, float, f, make_hipFloatComplex)
DG_COMPLEX(hipDoubleComplex, double, , make_hipDoubleComplex)
DG_BOTH hipComplex make_hipComplex(float a, float b) { return make_hipFloatComplex(a, b); }
DG_BOTH hipFloatComplex hipComplexDoubleToFloat(hipDoubleComplex a) { return make_hipFloatComplex((float)a.x, (float)a.y); }
DG_BOTH hipDoubleComplex hipComplexFloatToDouble(hipFloatComplex a) { return make_hipDoubleComplex(a.x, a.y); }
