/* Vectors in memory, and copies of work-groups. */
#include "common.h"

/* ---- memory: vectors and copies ---- */
#define READ(T, A) \
  IN T##2 vload2(size_t i, const A T *p) { p += i * 2; return (T##2)(p[0], p[1]); } \
  IN T##3 vload3(size_t i, const A T *p) { p += i * 3; return (T##3)(p[0], p[1], p[2]); } \
  IN T##4 vload4(size_t i, const A T *p) { p += i * 4; return (T##4)(p[0], p[1], p[2], p[3]); } \
  IN T##8 vload8(size_t i, const A T *p) { p += i * 8; return (T##8)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]); } \
  IN T##16 vload16(size_t i, const A T *p) { p += i * 16; return (T##16)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15]); }
#define WRITE(T, A) \
  IN void vstore2(T##2 v, size_t i, A T *p) { p += i * 2; p[0] = v.s0; p[1] = v.s1; } \
  IN void vstore3(T##3 v, size_t i, A T *p) { p += i * 3; p[0] = v.s0; p[1] = v.s1; p[2] = v.s2; } \
  IN void vstore4(T##4 v, size_t i, A T *p) { p += i * 4; p[0] = v.s0; p[1] = v.s1; p[2] = v.s2; p[3] = v.s3; } \
  IN void vstore8(T##8 v, size_t i, A T *p) { vstore4(v.lo, 2 * i, p); vstore4(v.hi, 2 * i + 1, p); } \
  IN void vstore16(T##16 v, size_t i, A T *p) { vstore8(v.lo, 2 * i, p); vstore8(v.hi, 2 * i + 1, p); }
#define COPY1(T) \
  IN __attribute__((convergent)) event_t async_work_group_copy(__local T *to, const __global T *from, size_t n, event_t e) { for (size_t i = get_local_linear_id(); i < n; i += dg_items()) to[i] = from[i]; return e; } \
  IN __attribute__((convergent)) event_t async_work_group_copy(__global T *to, const __local T *from, size_t n, event_t e) { for (size_t i = get_local_linear_id(); i < n; i += dg_items()) to[i] = from[i]; return e; } \
  IN __attribute__((convergent)) event_t async_work_group_strided_copy(__local T *to, const __global T *from, size_t n, size_t step, event_t e) { for (size_t i = get_local_linear_id(); i < n; i += dg_items()) to[i] = from[i * step]; return e; } \
  IN __attribute__((convergent)) event_t async_work_group_strided_copy(__global T *to, const __local T *from, size_t n, size_t step, event_t e) { for (size_t i = get_local_linear_id(); i < n; i += dg_items()) to[i * step] = from[i]; return e; } \
  IN void prefetch(const __global T *p, size_t n) { }
#define COPY(T) COPY1(T) COPY1(T##2) COPY1(T##3) COPY1(T##4) COPY1(T##8) COPY1(T##16)
#define MEMORY(T) READ(T, __global) READ(T, __constant) READ(T, __local) READ(T, __private) READ(T, __generic) \
  WRITE(T, __global) WRITE(T, __local) WRITE(T, __private) WRITE(T, __generic) COPY(T)
MEMORY(char) MEMORY(uchar) MEMORY(short) MEMORY(ushort) MEMORY(int) MEMORY(uint) MEMORY(long) MEMORY(ulong) MEMORY(float) MEMORY(double) MEMORY(half)
IN __attribute__((convergent)) void wait_group_events(int n, event_t *e) { barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }
IN __attribute__((convergent)) void wait_group_events(int n, __private event_t *e) { barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }
