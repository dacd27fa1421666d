// What the kernels of both languages need, on a GPU and on the host, where each work-item is a thread.
#if defined(__AMDGCN__)
#define LOCAL_ID ((uint)__builtin_amdgcn_workitem_id_x())
#define GROUP_ID ((uint)__builtin_amdgcn_workgroup_id_x())
#define BARRIER() do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)
#ifdef __OPENCL_C_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#define SHARED local
#define DEVICE
#define KERNEL(name) kernel void name(global ulong *out, global const uint *in, global uint *cells)
typedef half float16_t;
#else
#define __constant__ __attribute__((__constant__))
#define SHARED static __attribute__((shared))
#define DEVICE __attribute__((device))
#define KERNEL(name) extern "C" __attribute__((__global__)) void name(ulong *out, const uint *in, uint *cells)
typedef _Float16 float16_t;
#endif
#else
#include <pthread.h>
static __thread unsigned LOCAL_ID, GROUP_ID;
static pthread_barrier_t together;
#define BARRIER() pthread_barrier_wait(&together)
#define SHARED static
#define DEVICE
#define __constant__
#ifdef __cplusplus
#define KERNEL(name) extern "C" void name(ulong *out, const uint *in, uint *cells)
#else
#define KERNEL(name) void name(ulong *out, const uint *in, uint *cells)
#endif
typedef _Float16 float16_t;
#endif
#ifndef __OPENCL_C_VERSION__
#define global
#define constant
typedef unsigned char uchar;
typedef signed char schar;
typedef unsigned short ushort;
typedef unsigned uint;
typedef unsigned long ulong;
typedef int int2 __attribute__((ext_vector_type(2)));
typedef int int4 __attribute__((ext_vector_type(4)));
typedef uint uint4 __attribute__((ext_vector_type(4)));
typedef uchar uchar4 __attribute__((ext_vector_type(4)));
typedef short short2 __attribute__((ext_vector_type(2)));
typedef ushort ushort8 __attribute__((ext_vector_type(8)));
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef double double2 __attribute__((ext_vector_type(2)));
typedef long long2 __attribute__((ext_vector_type(2)));
#else
typedef signed char schar;
#endif
typedef float16_t pair16 __attribute__((ext_vector_type(2)));
#define GROUP 64
#define GLOBAL_ID (GROUP_ID * GROUP + LOCAL_ID)
#define IN(k) in[(GLOBAL_ID * 7 + (k) * 13) & 1023]
#define RESULT(k, value) out[4 * GLOBAL_ID + (k)] = (ulong)(value)
#define NOINLINE __attribute__((noinline))
#define DEVICE_SCOPE __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE
#define GROUP_SCOPE __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP

DEVICE static inline uint bits32(float x) { union { float f; uint u; } it; it.f = x; return x != x ? 0x7fc00000 : it.u; }
DEVICE static inline ulong bits64(double x) {
  union { double f; ulong u; } it;
  it.f = x;
  return x != x ? 0x7ff8000000000000ul : it.u;
}
DEVICE static inline ushort bits16(float16_t x) { union { float16_t f; ushort u; } it; it.f = x; return x != x ? 0x7e00 : it.u; }
DEVICE static inline float single_of(uint x) { return (float)((int)x >> 9) * 0.00390625f; }
DEVICE static inline double double_of(uint x) { return (double)(int)x / 3.0; }
DEVICE static inline float16_t half_of(uint x) { return (float16_t)((float)((int)x >> 20) * 0.0625f); }

#if !defined(__AMDGCN__)
typedef void Entry(ulong *, const uint *, uint *);
struct item { Entry *entry; ulong *out; const uint *in; uint *cells; uint group, id; };
static void *run_item(void *given) {
  struct item *it = (struct item *)given;
  LOCAL_ID = it->id, GROUP_ID = it->group;
  it->entry(it->out, it->in, it->cells);
  return 0;
}
#ifdef __cplusplus
extern "C"
#endif
void run_groups(Entry *entry, ulong *out, const uint *in, uint *cells, uint groups) {
  pthread_barrier_init(&together, 0, GROUP);
  for (uint group = 0; group < groups; ++group) {
    pthread_t threads[GROUP];
    struct item items[GROUP];
    for (uint id = 0; id < GROUP; ++id) {
      struct item it = {entry, out, in, cells, group, id};
      items[id] = it;
      pthread_create(&threads[id], 0, run_item, &items[id]);
    }
    for (uint id = 0; id < GROUP; ++id) pthread_join(threads[id], 0);
  }
}
#endif
