/* What a kernel in HIP needs of <hip/hip_runtime.h>, for a clang without ROCm. Functions of the device have no debug
   information: their code has the line of the call. Where only kernels are compiled, functions of the host are declared
   alone; with DG_PROGRAM, a whole program is. */
#pragma once
#include <cfloat>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#ifndef INFINITY /* else <cmath> has come first */
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#endif
#include "hip_begin.h"

typedef unsigned uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned long ulong;
typedef _Float16 __half;
typedef _Float16 half;

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

/* ---- which work-item it is: AMDGPU usage, "Implicit Arguments" of version 5 ---- */
#define DG_HIDDEN(T, offset) \
  (*(const __attribute__((address_space(4))) T *)((const __attribute__((address_space(4))) char *) \
    __builtin_amdgcn_implicitarg_ptr() + (offset)))
#define DG_SIZE(group, n) \
  (group() < DG_HIDDEN(unsigned, 4 * n) ? DG_HIDDEN(unsigned short, 12 + 2 * n) : DG_HIDDEN(unsigned short, 18 + 2 * n))
#define DG_COUNT(n) (DG_HIDDEN(unsigned, 4 * n) + (DG_HIDDEN(unsigned short, 18 + 2 * n) != 0))
#define DG_AXIS(name, a, b, c) \
  struct dg_##name { \
    __declspec(property(get = get_x)) unsigned x; \
    __declspec(property(get = get_y)) unsigned y; \
    __declspec(property(get = get_z)) unsigned z; \
    DG_NEAR unsigned get_x() const { return a; } \
    DG_NEAR unsigned get_y() const { return b; } \
    DG_NEAR unsigned get_z() const { return c; } \
    DG_NEAR operator dim3() const { return dim3(a, b, c); } \
  };
DG_AXIS(thread, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z())
DG_AXIS(block, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z())
DG_AXIS(size, DG_SIZE(__builtin_amdgcn_workgroup_id_x, 0), DG_SIZE(__builtin_amdgcn_workgroup_id_y, 1),
  DG_SIZE(__builtin_amdgcn_workgroup_id_z, 2))
DG_AXIS(count, DG_COUNT(0), DG_COUNT(1), DG_COUNT(2))
extern const __device__ __attribute__((weak, nodebug)) dg_thread threadIdx;
extern const __device__ __attribute__((weak, nodebug)) dg_block blockIdx;
extern const __device__ __attribute__((weak, nodebug)) dg_size blockDim;
extern const __device__ __attribute__((weak, nodebug)) dg_count gridDim;
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z
struct dg_warp { __host__ DG_NEAR constexpr operator int() const { return __AMDGCN_WAVEFRONT_SIZE; } };
extern const __device__ __attribute__((weak, nodebug)) dg_warp warpSize;
DG_DEVICE unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

/* ---- vectors ---- */
/* Operators are templates, so that those that a program defines for the same types are preferred. */
#define DG_WIDTH(V) (sizeof(V::dg) / sizeof(V::x))
#define DG_EACH(V, r, value) for (unsigned i = 0; i < DG_WIDTH(V); i++) r.dg[i] = value;
#define DG_OPERATOR(op) \
  template <class V> DG_BOTH DG_IF(V, V) operator op(V a, V b) { V r; DG_EACH(V, r, a.dg[i] op b.dg[i]) return r; } \
  template <class V> DG_BOTH V operator op(V a, typename V::dg_part b) { V r; DG_EACH(V, r, a.dg[i] op b) return r; } \
  template <class V> DG_BOTH V operator op(typename V::dg_part a, V b) { V r; DG_EACH(V, r, a op b.dg[i]) return r; } \
  template <class V> DG_BOTH DG_IF(V, V &) operator op##=(V &a, V b) { a = a op b; return a; } \
  template <class V> DG_BOTH V &operator op##=(V &a, typename V::dg_part b) { a = a op b; return a; }
template <class V, class Part> struct dg_if { typedef V type; };
#define DG_IF(V, R) typename dg_if<R, typename V::dg_part>::type
DG_OPERATOR(+) DG_OPERATOR(-) DG_OPERATOR(*) DG_OPERATOR(/)
DG_OPERATOR(%) DG_OPERATOR(&) DG_OPERATOR(|) DG_OPERATOR(^) DG_OPERATOR(<<) DG_OPERATOR(>>)
template <class V> DG_BOTH DG_IF(V, V) operator-(V a) { V r; DG_EACH(V, r, -a.dg[i]) return r; }
template <class V> DG_BOTH DG_IF(V, V) operator~(V a) { V r; DG_EACH(V, r, ~a.dg[i]) return r; }
template <class V> DG_BOTH DG_IF(V, bool) operator==(V a, V b) {
  bool r = true;
  for (unsigned i = 0; i < DG_WIDTH(V); i++) r &= a.dg[i] == b.dg[i];
  return r;
}
template <class V> DG_BOTH DG_IF(V, bool) operator!=(V a, V b) { return !(a == b); }
template <class V> DG_BOTH DG_IF(V, V &) operator++(V &a) { a = a + 1; return a; }
template <class V> DG_BOTH DG_IF(V, V &) operator--(V &a) { a = a - 1; return a; }
template <class V> DG_BOTH DG_IF(V, V) operator++(V &a, int) { V old = a; ++a; return old; }
template <class V> DG_BOTH DG_IF(V, V) operator--(V &a, int) { V old = a; --a; return old; }
#define DG_PART(T) __attribute__((nodebug)) typedef T dg_part;
#define DG_VECTOR(T, name) \
  struct name##1 { T x; }; \
  struct alignas(2 * sizeof(T)) name##2 { DG_PART(T) union { struct { T x, y; }; T dg[2]; }; }; \
  struct name##3 { DG_PART(T) union { struct { T x, y, z; }; T dg[3]; }; }; \
  struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name##4 { \
    DG_PART(T) union { struct { T x, y, z, w; }; T dg[4]; }; }; \
  DG_BOTH name##1 make_##name##1(T x) { name##1 v; v.x = x; return v; } \
  DG_BOTH name##2 make_##name##2(T x, T y) { name##2 v; v.x = x; v.y = y; return v; } \
  DG_BOTH name##3 make_##name##3(T x, T y, T z) { name##3 v; v.x = x; v.y = y; v.z = z; return v; } \
  DG_BOTH name##4 make_##name##4(T x, T y, T z, T w) { name##4 v; v.x = x; v.y = y; v.z = z; v.w = w; return v; }
DG_VECTOR(char, char) DG_VECTOR(unsigned char, uchar) DG_VECTOR(short, short) DG_VECTOR(unsigned short, ushort)
DG_VECTOR(int, int) DG_VECTOR(unsigned, uint) DG_VECTOR(long, long) DG_VECTOR(unsigned long, ulong)
DG_VECTOR(long long, longlong) DG_VECTOR(unsigned long long, ulonglong) DG_VECTOR(float, float) DG_VECTOR(double, double)

/* ---- barriers, fences, atomics ---- */
#define DG_FENCE(order, scope) __builtin_amdgcn_fence(order, scope)
DG_DEVICE void __syncthreads() {
  DG_FENCE(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  DG_FENCE(__ATOMIC_ACQUIRE, "workgroup");
}
DG_DEVICE void __syncwarp(unsigned long long mask = ~0ull) {
  DG_FENCE(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  DG_FENCE(__ATOMIC_ACQUIRE, "wavefront");
}
DG_DEVICE void __threadfence() { DG_FENCE(__ATOMIC_SEQ_CST, "agent"); }
DG_DEVICE void __threadfence_block() { DG_FENCE(__ATOMIC_SEQ_CST, "workgroup"); }
DG_DEVICE void __threadfence_system() { DG_FENCE(__ATOMIC_SEQ_CST, ""); }
#define DG_SCOPES(M) M(, AGENT) M(_system, SYSTEM) M(_block, WORKGROUP)
#define DG_ATOMIC(name, op, suffix, scope) \
  template <class T> DG_DEVICE T atomic##name##suffix(T *p, decltype(T()) v) { \
    return __hip_atomic_fetch_##op(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_##scope); }
#define DG_ATOMICS(suffix, scope) \
  DG_ATOMIC(Add, add, suffix, scope) DG_ATOMIC(Min, min, suffix, scope) DG_ATOMIC(Max, max, suffix, scope) \
  DG_ATOMIC(And, and, suffix, scope) DG_ATOMIC(Or, or, suffix, scope) DG_ATOMIC(Xor, xor, suffix, scope) \
  template <class T> DG_DEVICE T atomicSub##suffix(T *p, decltype(T()) v) { \
    return __hip_atomic_fetch_add(p, (T)-v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_##scope); } \
  template <class T> DG_DEVICE T atomicExch##suffix(T *p, decltype(T()) v) { \
    return __hip_atomic_exchange(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_##scope); } \
  template <class T> DG_DEVICE T atomicCAS##suffix(T *p, decltype(T()) expected, decltype(T()) v) { \
    T seen = expected; \
    __hip_atomic_compare_exchange_strong(p, &seen, (T)v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, \
      __HIP_MEMORY_SCOPE_##scope); \
    return seen; }
DG_SCOPES(DG_ATOMICS)
DG_DEVICE unsigned atomicInc(unsigned *p, unsigned most) {
  unsigned old = *p, seen;
  while ((seen = atomicCAS(p, old, old >= most ? 0 : old + 1)) != old) old = seen;
  return old;
}
DG_DEVICE unsigned atomicDec(unsigned *p, unsigned most) {
  unsigned old = *p, seen;
  while ((seen = atomicCAS(p, old, old == 0 || old > most ? most : old - 1)) != old) old = seen;
  return old;
}

template <class T> DG_DEVICE T unsafeAtomicAdd(T *p, decltype(T()) v) { return atomicAdd(p, v); }
template <class T> DG_DEVICE T safeAtomicAdd(T *p, decltype(T()) v) { return atomicAdd(p, v); }
/* Of pairs of halves, both are added at once. */
#define DG_ATOMIC_PAIR(T) \
  DG_DEVICE T atomicAdd(T *p, T v) { \
    unsigned seen = __hip_atomic_load((unsigned *)p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT), sum; \
    T old; \
    do { \
      __builtin_memcpy(&old, &seen, sizeof old); \
      T both(old.x + v.x, old.y + v.y); \
      __builtin_memcpy(&sum, &both, sizeof sum); \
    } while (!__hip_atomic_compare_exchange_strong((unsigned *)p, &seen, sum, __ATOMIC_RELAXED, __ATOMIC_RELAXED, \
      __HIP_MEMORY_SCOPE_AGENT)); \
    return old; } \
  DG_DEVICE T unsafeAtomicAdd(T *p, T v) { return atomicAdd(p, v); } \
  DG_DEVICE T safeAtomicAdd(T *p, T v) { return atomicAdd(p, v); }
DG_DEVICE int __syncthreads_count(int p) {
  __shared__ int count;
  if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) count = 0;
  __syncthreads();
  if (p) atomicAdd(&count, 1);
  __syncthreads();
  int all = count;
  __syncthreads();
  return all;
}
DG_DEVICE int __syncthreads_or(int p) { return __syncthreads_count(p) != 0; }
DG_DEVICE int __syncthreads_and(int p) { return __syncthreads_count(!p) == 0; }

/* ---- lanes ---- */
template <class T> DG_DEVICE T dg_from(T v, int lane) {
  static_assert(sizeof(T) % 4 == 0 || sizeof(T) < 4, "lanes exchange words");
  int words[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(words, &v, sizeof v);
  for (int &word : words) word = __builtin_amdgcn_ds_bpermute(lane << 2, word);
  __builtin_memcpy(&v, words, sizeof v);
  return v;
}
template <class T> DG_DEVICE T __shfl(T v, int lane, int width = warpSize) {
  int me = __lane_id();
  return dg_from(v, (me & ~(width - 1)) + (lane & (width - 1)));
}
template <class T> DG_DEVICE T __shfl_down(T v, unsigned by, int width = warpSize) {
  int me = __lane_id();
  return dg_from(v, (me & (width - 1)) + (int)by < width ? me + (int)by : me);
}
template <class T> DG_DEVICE T __shfl_up(T v, unsigned by, int width = warpSize) {
  int me = __lane_id();
  return dg_from(v, (me & (width - 1)) >= (int)by ? me - (int)by : me);
}
template <class T> DG_DEVICE T __shfl_xor(T v, int mask, int width = warpSize) {
  int me = __lane_id(), to = me ^ mask;
  return dg_from(v, to < ((me + width) & ~(width - 1)) ? to : me);
}
DG_DEVICE unsigned long long __ballot(int p) { return __builtin_amdgcn_uicmp(p, 0, 33); }
DG_DEVICE int __any(int p) { return __ballot(p) != 0; }
DG_DEVICE int __all(int p) { return __ballot(!p) == 0; }
DG_DEVICE unsigned long long __activemask() { return __ballot(1); }
#define DG_SYNC(name, second) \
  template <class T> DG_DEVICE T name##_sync(unsigned long long mask, T v, second by, int width = warpSize) { \
    return name(v, by, width); }
DG_SYNC(__shfl, int) DG_SYNC(__shfl_down, unsigned) DG_SYNC(__shfl_up, unsigned) DG_SYNC(__shfl_xor, int)
DG_DEVICE unsigned long long __ballot_sync(unsigned long long mask, int p) { return __ballot(p) & mask; }
DG_DEVICE int __any_sync(unsigned long long mask, int p) { return __ballot_sync(mask, p) != 0; }
DG_DEVICE int __all_sync(unsigned long long mask, int p) { return __ballot_sync(mask, !p) == 0; }
template <class T> DG_DEVICE unsigned long long __match_any(T v) {
  unsigned long long mine = 0;
  for (unsigned long long left = __activemask(); left;) {
    T first = dg_from(v, __builtin_ctzll(left));
    unsigned long long same = __ballot(v == first) & left;
    if (v == first) mine = same;
    left &= ~same;
  }
  return mine;
}
template <class T> DG_DEVICE unsigned long long __match_all(T v, int *all) {
  *all = __all(v == dg_from(v, __builtin_ctzll(__activemask())));
  return *all ? __activemask() : 0;
}
template <class T> DG_DEVICE unsigned long long __match_any_sync(unsigned long long mask, T v) { return __match_any(v) & mask; }
template <class T> DG_DEVICE unsigned long long __match_all_sync(unsigned long long mask, T v, int *all) {
  return __match_all(v, all) & mask;
}

/* ---- integers ---- */
DG_DEVICE int __popc(unsigned a) { return __builtin_popcount(a); }
DG_DEVICE int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
DG_DEVICE int __clz(int a) { return a == 0 ? 32 : __builtin_clz(a); }
DG_DEVICE int __clzll(long long a) { return a == 0 ? 64 : __builtin_clzll(a); }
DG_DEVICE int __ffs(int a) { return __builtin_ffs(a); }
DG_DEVICE int __ffsll(long long a) { return __builtin_ffsll(a); }
DG_DEVICE unsigned __brev(unsigned a) { return __builtin_bitreverse32(a); }
DG_DEVICE unsigned long long __brevll(unsigned long long a) { return __builtin_bitreverse64(a); }
DG_DEVICE int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
DG_DEVICE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
DG_DEVICE int abs(int a) { return __builtin_abs(a); }
DG_DEVICE long abs(long a) { return __builtin_labs(a); }
DG_DEVICE long long abs(long long a) { return __builtin_llabs(a); }
DG_DEVICE float abs(float a) { return __builtin_fabsf(a); }
DG_DEVICE double abs(double a) { return __builtin_fabs(a); }
DG_DEVICE long labs(long a) { return __builtin_labs(a); }
DG_DEVICE long long llabs(long long a) { return __builtin_llabs(a); }
namespace std { using ::abs; }
DG_DEVICE int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
DG_DEVICE int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
DG_DEVICE unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b) >> 1); }
DG_DEVICE unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }
DG_DEVICE unsigned __sad(int a, int b, unsigned c) { return (a < b ? (unsigned)b - a : (unsigned)a - b) + c; }
DG_DEVICE unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
DG_DEVICE long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
DG_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
DG_DEVICE unsigned long long dg_pair(unsigned low, unsigned high) { return (unsigned long long)high << 32 | low; }
DG_DEVICE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return (unsigned)(dg_pair(low, high) << (by & 31) >> 32);
}
DG_DEVICE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return (unsigned)(dg_pair(low, high) >> (by & 31));
}
DG_DEVICE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned by) {
  return (unsigned)(dg_pair(low, high) << (by < 32 ? by : 32) >> 32);
}
DG_DEVICE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by) {
  return (unsigned)(dg_pair(low, high) >> (by < 32 ? by : 32));
}
DG_DEVICE unsigned __byte_perm(unsigned a, unsigned b, unsigned places) {
  unsigned result = 0;
  for (int i = 0; i < 4; i++)
    result |= (unsigned)(dg_pair(a, b) >> 8 * (places >> 4 * i & 7) & 255) << 8 * i;
  return result;
}
#define DG_FIELDS(bits, T) \
  DG_DEVICE T dg_mask_##bits(unsigned width) { \
    return width & bits - 1 ? ((T)1 << (width & bits - 1)) - 1 : width ? ~(T)0 : 0; } \
  DG_DEVICE T __bitextract_u##bits(T a, unsigned first, unsigned width) { \
    return a >> (first & bits - 1) & dg_mask_##bits(width); } \
  DG_DEVICE T __bitinsert_u##bits(T a, T b, unsigned first, unsigned width) { \
    T mask = dg_mask_##bits(width) << (first & bits - 1); \
    return (a & ~mask) | (b << (first & bits - 1) & mask); }
DG_FIELDS(32, unsigned) DG_FIELDS(64, unsigned long long)
DG_DEVICE int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
DG_DEVICE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
/* Less special than those of std, which a program may have made visible, too. */
template <class A, class B> DG_BOTH auto min(A x, B y) -> decltype(x + y) { decltype(x + y) a = x, b = y; return b < a ? b : a; }
template <class A, class B> DG_BOTH auto max(A x, B y) -> decltype(x + y) { decltype(x + y) a = x, b = y; return a < b ? b : a; }
#define DG_EXTREMES(prefix, T) \
  DG_DEVICE T prefix##min(T a, T b) { return min<T>(a, b); } \
  DG_DEVICE T prefix##max(T a, T b) { return max<T>(a, b); }
DG_EXTREMES(u, unsigned) DG_EXTREMES(ll, long long) DG_EXTREMES(ull, unsigned long long)
DG_DEVICE void *memcpy(void *to, const void *from, size_t size) { return __builtin_memcpy(to, from, size); }
DG_DEVICE void *memset(void *to, int value, size_t size) { return __builtin_memset(to, value, size); }
#define DG_LOAD(name) template <class T> DG_DEVICE T __##name(const T *p) { return *p; }
#define DG_STORE(name) template <class T> DG_DEVICE void __##name(T *p, decltype(T()) v) { *p = v; }
DG_LOAD(ldg) DG_LOAD(ldcg) DG_LOAD(ldca) DG_LOAD(ldcs) DG_LOAD(ldlu) DG_LOAD(ldcv)
DG_STORE(stwb) DG_STORE(stcg) DG_STORE(stcs) DG_STORE(stwt)
#define DG_BITS(name, R, T) DG_DEVICE R name(T a) { R r; __builtin_memcpy(&r, &a, sizeof r); return r; }
DG_BITS(__int_as_float, float, int) DG_BITS(__uint_as_float, float, unsigned) DG_BITS(__float_as_int, int, float)
DG_BITS(__float_as_uint, unsigned, float) DG_BITS(__double_as_longlong, long long, double)
DG_BITS(__longlong_as_double, double, long long)
DG_DEVICE double __hiloint2double(int high, int low) { return __longlong_as_double(dg_pair(low, high)); }
DG_DEVICE int __double2hiint(double a) { return (int)(__double_as_longlong(a) >> 32); }
DG_DEVICE int __double2loint(double a) { return (int)__double_as_longlong(a); }
DG_DEVICE long long clock64() { return __builtin_readcyclecounter(); }
DG_DEVICE long long wall_clock64() { return __builtin_readcyclecounter(); }
DG_DEVICE int clock() { return (int)__builtin_readcyclecounter(); }

/* ---- half and half2 ---- */
struct alignas(4) __half2 {
  DG_PART(__half)
  union { struct { __half x, y; }; __half dg[2]; };
  __half2() = default;
  DG_NEAR __host__ __half2(__half a, __half b) : x(a), y(b) {}
};
DG_ATOMIC_PAIR(__half2)
typedef __half2 half2;
DG_BOTH __half2 make_half2(__half a, __half b) { return __half2(a, b); }
#define DG_CONVERT(name, R, T) DG_BOTH R name(T a) { return (R)a; }
DG_CONVERT(__float2half, __half, float) DG_CONVERT(__float2half_rn, __half, float) DG_CONVERT(__half2float, float, __half)
DG_CONVERT(__double2half, __half, double) DG_CONVERT(__int2half_rn, __half, int) DG_CONVERT(__uint2half_rn, __half, unsigned)
DG_CONVERT(__half2int_rz, int, __half) DG_CONVERT(__half2uint_rz, unsigned, __half)
DG_DEVICE int __half2int_rn(__half a) { return (int)rintf((float)a); }
DG_BITS(__half_as_ushort, unsigned short, __half) DG_BITS(__ushort_as_half, __half, unsigned short)
DG_BITS(__half_as_short, short, __half) DG_BITS(__short_as_half, __half, short)
DG_BOTH __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
DG_BOTH __half2 __half2half2(__half a) { return __half2(a, a); }
DG_BOTH __half2 __floats2half2_rn(float a, float b) { return __half2((__half)a, (__half)b); }
DG_BOTH __half2 __float2half2_rn(float a) { return __half2((__half)a, (__half)a); }
DG_BOTH __half2 __float22half2_rn(float2 a) { return __half2((__half)a.x, (__half)a.y); }
DG_BOTH float2 __half22float2(__half2 a) { return make_float2((float)a.x, (float)a.y); }
DG_BOTH __half __low2half(__half2 a) { return a.x; }
DG_BOTH __half __high2half(__half2 a) { return a.y; }
DG_BOTH float __low2float(__half2 a) { return (float)a.x; }
DG_BOTH float __high2float(__half2 a) { return (float)a.y; }
DG_BOTH __half2 __lowhigh2highlow(__half2 a) { return __half2(a.y, a.x); }
DG_BOTH __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
DG_BOTH __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }
#define DG_HALVES1(name, value) \
  DG_BOTH __half name(__half a) { return (__half)(value); }
#define DG_HALVES2(name, value) \
  DG_BOTH __half name(__half a, __half b) { return (__half)(value); } \
  DG_BOTH __half2 name##2(__half2 a, __half2 b) { return __half2(name(a.x, b.x), name(a.y, b.y)); }
#define DG_COMPARE(name, op) DG_BOTH bool name(__half a, __half b) { return a op b; } \
  DG_BOTH __half2 name##2(__half2 a, __half2 b) { return __half2((__half)(a.x op b.x), (__half)(a.y op b.y)); }
DG_HALVES2(__hadd, a + b) DG_HALVES2(__hsub, a - b) DG_HALVES2(__hmul, a * b) DG_HALVES2(__hdiv, (float)a / (float)b)
DG_HALVES2(__hmax, fmaxf((float)a, (float)b)) DG_HALVES2(__hmin, fminf((float)a, (float)b))
DG_BOTH __half2 __h2div(__half2 a, __half2 b) { return __hdiv2(a, b); }
DG_BOTH __half __hfma(__half a, __half b, __half c) { return __builtin_fmaf16(a, b, c); }
DG_BOTH __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }
DG_HALVES1(__hneg, -a) DG_HALVES1(__habs, fabsf((float)a))
DG_BOTH __half2 __hneg2(__half2 a) { return __half2(-a.x, -a.y); }
DG_BOTH __half2 __habs2(__half2 a) { return __half2(__habs(a.x), __habs(a.y)); }
DG_COMPARE(__heq, ==) DG_COMPARE(__hne, !=) DG_COMPARE(__hlt, <) DG_COMPARE(__hle, <=) DG_COMPARE(__hgt, >) DG_COMPARE(__hge, >=)
DG_BOTH bool __hisnan(__half a) { return a != a; }
#define DG_HALF_OF(name, function) \
  DG_HALVES1(h##name, function((float)a)) \
  DG_BOTH __half2 h2##name(__half2 a) { return __half2(h##name(a.x), h##name(a.y)); }
DG_HALF_OF(sqrt, sqrtf) DG_HALF_OF(rsqrt, rsqrtf) DG_HALF_OF(exp, expf) DG_HALF_OF(exp2, exp2f) DG_HALF_OF(log, logf)
DG_HALF_OF(log2, log2f) DG_HALF_OF(log10, log10f) DG_HALF_OF(sin, sinf) DG_HALF_OF(cos, cosf) DG_HALF_OF(rcp, 1 /)
DG_HALF_OF(floor, floorf) DG_HALF_OF(ceil, ceilf) DG_HALF_OF(trunc, truncf) DG_HALF_OF(rint, rintf)

/* ---- output and its end ---- */
/* clang 22 leaves pseudo instructions behind a __builtin_trap of GFX11 as they are, and then fails. */
#define DG_TRAP (({ __asm__ volatile("s_trap 2"); }), __builtin_unreachable())
extern "C" __device__ int printf(const char *format, ...);
extern "C" __device__ [[noreturn]] inline __attribute__((always_inline, nodebug)) void __assert_fail(
    const char *text, const char *file, unsigned line, const char *function) {
  printf("%s:%u: %s: Assertion `%s' failed.\n", file, line, function, text);
  DG_TRAP;
}
DG_DEVICE void __trap() { DG_TRAP; }
DG_DEVICE void abort() { DG_TRAP; }
#include <cassert>

#ifdef DG_PROGRAM
#include "hip_host.h"
#else /* ---- the host: declared, never compiled ---- */
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
enum hipError_t { hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2, hipErrorUnknown = 999 };
enum hipMemcpyKind {
  hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice, hipMemcpyDefault
};
struct hipDeviceProp_t {
  char name[256], gcnArchName[256];
  size_t totalGlobalMem, sharedMemPerBlock;
  int warpSize, maxThreadsPerBlock, multiProcessorCount, major, minor, clockRate;
};
extern "C" {
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, hipStream_t stream = nullptr);
const char *hipGetErrorString(hipError_t);
const char *hipGetErrorName(hipError_t);
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
hipError_t hipFree(void *);
hipError_t hipHostFree(void *);
hipError_t hipMemcpy(void *, const void *, size_t, hipMemcpyKind);
hipError_t hipMemcpyAsync(void *, const void *, size_t, hipMemcpyKind, hipStream_t = nullptr);
hipError_t hipMemset(void *, int, size_t);
hipError_t hipDeviceSynchronize();
hipError_t hipSetDevice(int);
hipError_t hipGetDevice(int *);
hipError_t hipGetDeviceCount(int *);
hipError_t hipGetDeviceProperties(hipDeviceProp_t *, int);
hipError_t hipStreamCreate(hipStream_t *);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipEventCreate(hipEvent_t *);
hipError_t hipEventRecord(hipEvent_t, hipStream_t = nullptr);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventElapsedTime(float *, hipEvent_t, hipEvent_t);
hipError_t hipEventDestroy(hipEvent_t);
}
template <class T> hipError_t hipMalloc(T **, size_t);
template <class T> hipError_t hipHostMalloc(T **, size_t, unsigned = 0);
template <class T> hipError_t hipMallocManaged(T **, size_t, unsigned = 0);
template <class T> hipError_t hipMemcpyToSymbol(const T &, const void *, size_t, size_t = 0, hipMemcpyKind = hipMemcpyHostToDevice);
template <class T> hipError_t hipMemcpyFromSymbol(void *, const T &, size_t, size_t = 0, hipMemcpyKind = hipMemcpyDeviceToHost);
#define HIP_SYMBOL(name) name
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) \
  ((void)(kernel<<<dim3(grid), dim3(block), shared, stream>>>(__VA_ARGS__)))
#endif
