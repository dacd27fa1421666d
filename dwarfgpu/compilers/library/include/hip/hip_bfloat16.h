/* The upper half of a float, rounded to nearest even. */
#pragma once
#include "hip_runtime.h"
struct hip_bfloat16 {
  uint16_t data;
  hip_bfloat16() = default;
  DG_NEAR __host__ explicit hip_bfloat16(float a) {
    unsigned bits;
    __builtin_memcpy(&bits, &a, sizeof bits);
    data = (uint16_t)(a != a ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  DG_NEAR __host__ operator float() const {
    unsigned bits = (unsigned)data << 16;
    float a;
    __builtin_memcpy(&a, &bits, sizeof a);
    return a;
  }
};
#define DG_BFLOAT(op) \
  DG_BOTH hip_bfloat16 operator op(hip_bfloat16 a, hip_bfloat16 b) { return hip_bfloat16((float)a op (float)b); } \
  DG_BOTH hip_bfloat16 &operator op##=(hip_bfloat16 &a, hip_bfloat16 b) { return a = a op b; }
DG_BFLOAT(+) DG_BFLOAT(-) DG_BFLOAT(*) DG_BFLOAT(/)
