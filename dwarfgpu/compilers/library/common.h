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
