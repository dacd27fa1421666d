#pragma once
/* What all parts of the library share. They are built without -g, so that functions have no lines and no variables of
   their own: what is inlined into a kernel has the line of the call. DG_ABI is the version of the code object. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#ifndef DG_ABI
#define DG_ABI 5
#endif
#if __clang_major__ >= 19
#define WAVE __builtin_amdgcn_wavefrontsize()
#else
#define WAVE __AMDGCN_WAVEFRONT_SIZE
#endif
#if __clang_major__ >= 17
#define LDEXP __builtin_ldexp
#else
#define LDEXP __builtin_amdgcn_ldexp
#endif
#define IN  __attribute__((overloadable, always_inline))   /* with the line of the caller */
#define OUT __attribute__((overloadable, noinline))        /* too long for that */
/* clang 22 leaves pseudo instructions behind a __builtin_trap of GFX11 as they are, and then fails. */
#define TRAP __asm__ volatile("s_trap 2")

/* ---- where a work-item is: implicit arguments from version 5 on, the dispatch packet before ---- */
typedef __constant uchar *hidden;
#define HIDDEN(type, offset) (*(__constant type *)((hidden)__builtin_amdgcn_implicitarg_ptr() + (offset)))
#define PACKET(type, offset) (*(__constant type *)((hidden)__builtin_amdgcn_dispatch_ptr() + (offset)))
#define AXES(f) (d == 0 ? f(0) : d == 1 ? f(1) : d == 2 ? f(2) : (size_t)DEFAULT)
#define ID_0 __builtin_amdgcn_workitem_id_x()
#define ID_1 __builtin_amdgcn_workitem_id_y()
#define ID_2 __builtin_amdgcn_workitem_id_z()
#define GROUP_0 __builtin_amdgcn_workgroup_id_x()
#define GROUP_1 __builtin_amdgcn_workgroup_id_y()
#define GROUP_2 __builtin_amdgcn_workgroup_id_z()
#define ID(n) ID_##n
#define GROUP(n) GROUP_##n
#if DG_ABI >= 5
#define FULL(n) HIDDEN(uint, 4 * n)
#define REST(n) HIDDEN(ushort, 18 + 2 * n)
#define EDGE(n) HIDDEN(ushort, 12 + 2 * n)
#define OFFSET(n) HIDDEN(ulong, 40 + 8 * n)
#define SIZE(n) ((size_t)FULL(n) * EDGE(n) + REST(n))
#define DIMENSIONS HIDDEN(ushort, 64)
#define PRINTF HIDDEN(ulong, 72)
#else
#define EDGE(n) PACKET(ushort, 4 + 2 * n)
#define SIZE(n) ((size_t)PACKET(uint, 12 + 4 * n))
#define FULL(n) (PACKET(uint, 12 + 4 * n) / EDGE(n))
#define REST(n) (PACKET(uint, 12 + 4 * n) % EDGE(n))
#define OFFSET(n) HIDDEN(ulong, 8 * n)
#define DIMENSIONS (PACKET(ushort, 2) & 3)
#define PRINTF HIDDEN(ulong, 24)
#endif
#define LOCAL(n) (GROUP(n) < FULL(n) ? (uint)EDGE(n) : (uint)REST(n))
#define GROUPS(n) ((size_t)FULL(n) + (REST(n) != 0))
#define GLOBAL(n) ((size_t)GROUP(n) * EDGE(n) + ID(n) + OFFSET(n))
static __attribute__((always_inline)) uint dg_lane(void) { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
static __attribute__((always_inline)) uint dg_items(void) { return LOCAL(0) * LOCAL(1) * LOCAL(2); }

/* ---- each element of a vector ---- */
#define E1(R, f, T) IN R##2 f(T##2 a) { return (R##2)(f(a.s0), f(a.s1)); } IN R##3 f(T##3 a) { return (R##3)(f(a.s0), f(a.s1), f(a.s2)); } \
  IN R##4 f(T##4 a) { return (R##4)(f(a.lo), f(a.hi)); } IN R##8 f(T##8 a) { return (R##8)(f(a.lo), f(a.hi)); } IN R##16 f(T##16 a) { return (R##16)(f(a.lo), f(a.hi)); }
#define E2(R, f, T, U) IN R##2 f(T##2 a, U##2 b) { return (R##2)(f(a.s0, b.s0), f(a.s1, b.s1)); } IN R##3 f(T##3 a, U##3 b) { return (R##3)(f(a.s0, b.s0), f(a.s1, b.s1), f(a.s2, b.s2)); } \
  IN R##4 f(T##4 a, U##4 b) { return (R##4)(f(a.lo, b.lo), f(a.hi, b.hi)); } IN R##8 f(T##8 a, U##8 b) { return (R##8)(f(a.lo, b.lo), f(a.hi, b.hi)); } \
  IN R##16 f(T##16 a, U##16 b) { return (R##16)(f(a.lo, b.lo), f(a.hi, b.hi)); }
#define E3(R, f, T, U, V) IN R##2 f(T##2 a, U##2 b, V##2 c) { return (R##2)(f(a.s0, b.s0, c.s0), f(a.s1, b.s1, c.s1)); } \
  IN R##3 f(T##3 a, U##3 b, V##3 c) { return (R##3)(f(a.s0, b.s0, c.s0), f(a.s1, b.s1, c.s1), f(a.s2, b.s2, c.s2)); } \
  IN R##4 f(T##4 a, U##4 b, V##4 c) { return (R##4)(f(a.lo, b.lo, c.lo), f(a.hi, b.hi, c.hi)); } IN R##8 f(T##8 a, U##8 b, V##8 c) { return (R##8)(f(a.lo, b.lo, c.lo), f(a.hi, b.hi, c.hi)); } \
  IN R##16 f(T##16 a, U##16 b, V##16 c) { return (R##16)(f(a.lo, b.lo, c.lo), f(a.hi, b.hi, c.hi)); }
#define WITH_SCALAR(f, T) IN T##2 f(T##2 a, T b) { return f(a, (T##2)b); } IN T##3 f(T##3 a, T b) { return f(a, (T##3)b); } IN T##4 f(T##4 a, T b) { return f(a, (T##4)b); } \
  IN T##8 f(T##8 a, T b) { return f(a, (T##8)b); } IN T##16 f(T##16 a, T b) { return f(a, (T##16)b); }
#define WITH_SCALARS(f, T) IN T##2 f(T##2 a, T b, T c) { return f(a, (T##2)b, (T##2)c); } IN T##3 f(T##3 a, T b, T c) { return f(a, (T##3)b, (T##3)c); } \
  IN T##4 f(T##4 a, T b, T c) { return f(a, (T##4)b, (T##4)c); } IN T##8 f(T##8 a, T b, T c) { return f(a, (T##8)b, (T##8)c); } IN T##16 f(T##16 a, T b, T c) { return f(a, (T##16)b, (T##16)c); }
#define NAMED(R, s, T) IN R##2 convert_##R##2##s(T##2 a) { return (R##2)(convert_##R##s(a.s0), convert_##R##s(a.s1)); } IN R##3 convert_##R##3##s(T##3 a) { return (R##3)(convert_##R##s(a.s0), convert_##R##s(a.s1), convert_##R##s(a.s2)); } \
  IN R##4 convert_##R##4##s(T##4 a) { return (R##4)(convert_##R##2##s(a.lo), convert_##R##2##s(a.hi)); } IN R##8 convert_##R##8##s(T##8 a) { return (R##8)(convert_##R##4##s(a.lo), convert_##R##4##s(a.hi)); } \
  IN R##16 convert_##R##16##s(T##16 a) { return (R##16)(convert_##R##8##s(a.lo), convert_##R##8##s(a.hi)); }
#define WIDTHS(M, R, T) M(R, T, 2) M(R, T, 3) M(R, T, 4) M(R, T, 8) M(R, T, 16)

/* ---- pairs: numbers of about 106 bits, as a sum of two ---- */
typedef double2 dg_pair;
static dg_pair dg_sum(double a, double b) { double s = a + b, t = s - a; return (dg_pair)(s, (a - (s - t)) + (b - t)); }
static dg_pair dg_times(dg_pair a, dg_pair b) { double p = a.x * b.x; return dg_sum(p, __builtin_fma(a.x, b.x, -p) + (a.x * b.y + a.y * b.x)); }
static dg_pair dg_over(dg_pair a, dg_pair b) { double q = a.x / b.x; return dg_sum(q, ((__builtin_fma(-q, b.x, a.x) + a.y) - q * b.y) / b.x); }
static dg_pair dg_plus(dg_pair a, dg_pair b) { dg_pair s = dg_sum(a.x, b.x); return dg_sum(s.x, s.y + (a.y + b.y)); }
