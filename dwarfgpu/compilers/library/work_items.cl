/* What nearly every kernel calls: which work-item it is, barriers and fences, atomics. */
#include "common.h"

#define DEFAULT 0
IN size_t get_local_id(uint d) { return AXES(ID); }
IN size_t get_group_id(uint d) { return AXES(GROUP); }
IN size_t get_global_id(uint d) { return AXES(GLOBAL); }
IN size_t get_global_offset(uint d) { return AXES(OFFSET); }
#undef DEFAULT
#define DEFAULT 1
IN size_t get_local_size(uint d) { return AXES(LOCAL); }
IN size_t get_enqueued_local_size(uint d) { return AXES(EDGE); }
IN size_t get_global_size(uint d) { return AXES(SIZE); }
IN size_t get_num_groups(uint d) { return AXES(GROUPS); }
IN uint get_work_dim(void) { return DIMENSIONS; }
IN size_t get_local_linear_id(void) { return ((size_t)ID_2 * LOCAL(1) + ID_1) * LOCAL(0) + ID_0; }
IN size_t get_global_linear_id(void) { return ((GLOBAL(2) - OFFSET(2)) * SIZE(1) + GLOBAL(1) - OFFSET(1)) * SIZE(0) + GLOBAL(0) - OFFSET(0); }
#define LEAST(a, b) ((a) < (b) ? (a) : (b))   /* `min` is in another part */
IN uint get_max_sub_group_size(void) { uint n = EDGE(0) * (uint)EDGE(1) * EDGE(2); return LEAST(n, (uint)WAVE); }
IN uint get_sub_group_local_id(void) { return dg_lane(); }
IN uint get_sub_group_id(void) { return (uint)get_local_linear_id() / WAVE; }
IN uint get_num_sub_groups(void) { return (dg_items() + WAVE - 1) / WAVE; }
IN uint get_enqueued_num_sub_groups(void) { return (EDGE(0) * (uint)EDGE(1) * EDGE(2) + WAVE - 1) / WAVE; }
IN uint get_sub_group_size(void) { uint n = dg_items() - get_sub_group_id() * (uint)WAVE; return LEAST(n, (uint)WAVE); }

/* ---- order ---- */
#define FENCE(scope) __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, scope)
IN __attribute__((convergent)) void barrier(cl_mem_fence_flags f) { if (f & CLK_GLOBAL_MEM_FENCE) FENCE("workgroup"); else FENCE("workgroup"); __builtin_amdgcn_s_barrier(); FENCE("workgroup"); }
IN __attribute__((convergent)) void work_group_barrier(cl_mem_fence_flags f) { barrier(f); }
IN __attribute__((convergent)) void work_group_barrier(cl_mem_fence_flags f, memory_scope s) { if (s >= memory_scope_device) FENCE("agent"); barrier(f); if (s >= memory_scope_device) FENCE("agent"); }
IN __attribute__((convergent)) void sub_group_barrier(cl_mem_fence_flags f) { FENCE("wavefront"); __builtin_amdgcn_wave_barrier(); }
IN __attribute__((convergent)) void sub_group_barrier(cl_mem_fence_flags f, memory_scope s) { FENCE("wavefront"); __builtin_amdgcn_wave_barrier(); }
IN void mem_fence(cl_mem_fence_flags f) { FENCE("workgroup"); }
IN void read_mem_fence(cl_mem_fence_flags f) { FENCE("workgroup"); }
IN void write_mem_fence(cl_mem_fence_flags f) { FENCE("workgroup"); }
IN void atomic_work_item_fence(cl_mem_fence_flags f, memory_order o, memory_scope s) { if (s <= memory_scope_work_group) FENCE("workgroup"); else if (s == memory_scope_device) FENCE("agent"); else FENCE(""); }
IN cl_mem_fence_flags get_fence(const __generic void *p) { return __builtin_amdgcn_is_shared((const void __generic *)p) ? CLK_LOCAL_MEM_FENCE : CLK_GLOBAL_MEM_FENCE; }
IN cl_mem_fence_flags get_fence(__generic void *p) { return get_fence((const __generic void *)p); }
/* What clang makes of to_global, to_local and to_private: null for an address in other memory (OpenCL C 3.0, 6.15.11). */
#define IS(where) __builtin_amdgcn_is_##where((const void __generic *)p)
__attribute__((always_inline)) __global void *__to_global(__generic void *p) { return IS(shared) || IS(private) ? 0 : (__global void *)p; }
__attribute__((always_inline)) __local void *__to_local(__generic void *p) { return IS(shared) ? (__local void *)p : 0; }
__attribute__((always_inline)) __private void *__to_private(__generic void *p) { return IS(private) ? (__private void *)p : 0; }

/* ---- atomics of OpenCL 1: relaxed, device ---- */
#define RMW(name, op, T, A) \
  IN T atomic_##name(volatile A T *p, T v) { return __opencl_atomic_fetch_##op((volatile A atomic_##T *)p, v, memory_order_relaxed, memory_scope_device); } \
  IN T atom_##name(volatile A T *p, T v) { return atomic_##name(p, v); }
#define RMW_LONG(name, op, T, A) \
  IN T atom_##name(volatile A T *p, T v) { return __opencl_atomic_fetch_##op((volatile A atomic_##T *)p, v, memory_order_relaxed, memory_scope_device); }
#define SWAP(name, T, A) \
  IN T name##_xchg(volatile A T *p, T v) { return __opencl_atomic_exchange((volatile A atomic_##T *)p, v, memory_order_relaxed, memory_scope_device); }
#define COMPARE(name, T, A) \
  IN T name##_cmpxchg(volatile A T *p, T c, T v) { __opencl_atomic_compare_exchange_strong((volatile A atomic_##T *)p, &c, v, memory_order_relaxed, memory_order_relaxed, memory_scope_device); return c; }
#define STEP(name, T, A) IN T name##_inc(volatile A T *p) { return name##_add(p, (T)1); } IN T name##_dec(volatile A T *p) { return name##_sub(p, (T)1); }
#define ALL(M, T, A) M(add, add, T, A) M(sub, sub, T, A) M(min, min, T, A) M(max, max, T, A) M(and, and, T, A) M(or, or, T, A) M(xor, xor, T, A)
#define WORD(T, A) ALL(RMW, T, A) SWAP(atomic, T, A) SWAP(atom, T, A) COMPARE(atomic, T, A) COMPARE(atom, T, A) STEP(atomic, T, A) STEP(atom, T, A)
#define LONGS(T, A) ALL(RMW_LONG, T, A) SWAP(atom, T, A) COMPARE(atom, T, A) STEP(atom, T, A)
WORD(int, __global) WORD(uint, __global) WORD(int, __local) WORD(uint, __local)
LONGS(long, __global) LONGS(ulong, __global) LONGS(long, __local) LONGS(ulong, __local)
SWAP(atomic, float, __global) SWAP(atomic, float, __local)

/* ---- atomics of OpenCL 2 ---- */
#define BY_SCOPE(call) switch (s) { case memory_scope_work_item: case memory_scope_sub_group: case memory_scope_work_group: { enum { S = memory_scope_work_group }; call; } \
  case memory_scope_device: { enum { S = memory_scope_device }; call; } default: { enum { S = memory_scope_all_svm_devices }; call; } }
#define OP2(name, op, T, V, A) \
  IN T atomic_##name##_explicit(volatile A atomic_##T *p, V v, memory_order o, memory_scope s) { BY_SCOPE(return __opencl_atomic_##op(p, v, memory_order_seq_cst, S)) } \
  IN T atomic_##name##_explicit(volatile A atomic_##T *p, V v, memory_order o) { return __opencl_atomic_##op(p, v, memory_order_seq_cst, memory_scope_device); } \
  IN T atomic_##name(volatile A atomic_##T *p, V v) { return __opencl_atomic_##op(p, v, memory_order_seq_cst, memory_scope_device); }
#define ORDER(T, A) \
  IN T atomic_load_explicit(volatile A atomic_##T *p, memory_order o, memory_scope s) { BY_SCOPE(return __opencl_atomic_load(p, memory_order_seq_cst, S)) } \
  IN T atomic_load_explicit(volatile A atomic_##T *p, memory_order o) { return __opencl_atomic_load(p, memory_order_seq_cst, memory_scope_device); } \
  IN T atomic_load(volatile A atomic_##T *p) { return __opencl_atomic_load(p, memory_order_seq_cst, memory_scope_device); } \
  IN void atomic_store_explicit(volatile A atomic_##T *p, T v, memory_order o, memory_scope s) { BY_SCOPE(__opencl_atomic_store(p, v, memory_order_seq_cst, S); return) } \
  IN void atomic_store_explicit(volatile A atomic_##T *p, T v, memory_order o) { __opencl_atomic_store(p, v, memory_order_seq_cst, memory_scope_device); } \
  IN void atomic_store(volatile A atomic_##T *p, T v) { __opencl_atomic_store(p, v, memory_order_seq_cst, memory_scope_device); } \
  IN void atomic_init(volatile A atomic_##T *p, T v) { __opencl_atomic_store(p, v, memory_order_relaxed, memory_scope_work_group); } \
  OP2(exchange, exchange, T, T, A)
#define EXPECT(kind, T, A, E) \
  IN bool atomic_compare_exchange_##kind##_explicit(volatile A atomic_##T *p, E T *e, T v, memory_order o, memory_order f, memory_scope s) { BY_SCOPE(return __opencl_atomic_compare_exchange_##kind(p, e, v, memory_order_seq_cst, memory_order_seq_cst, S)) } \
  IN bool atomic_compare_exchange_##kind##_explicit(volatile A atomic_##T *p, E T *e, T v, memory_order o, memory_order f) { return __opencl_atomic_compare_exchange_##kind(p, e, v, memory_order_seq_cst, memory_order_seq_cst, memory_scope_device); } \
  IN bool atomic_compare_exchange_##kind(volatile A atomic_##T *p, E T *e, T v) { return __opencl_atomic_compare_exchange_##kind(p, e, v, memory_order_seq_cst, memory_order_seq_cst, memory_scope_device); }
#define TWO(T, A) ORDER(T, A) OP2(fetch_add, fetch_add, T, T, A) OP2(fetch_sub, fetch_sub, T, T, A) OP2(fetch_min, fetch_min, T, T, A) OP2(fetch_max, fetch_max, T, T, A) \
  OP2(fetch_and, fetch_and, T, T, A) OP2(fetch_or, fetch_or, T, T, A) OP2(fetch_xor, fetch_xor, T, T, A) EXPECT(strong, T, A, __generic) EXPECT(weak, T, A, __generic)
TWO(int, __generic) TWO(uint, __generic) TWO(long, __generic) TWO(ulong, __generic) ORDER(float, __generic) ORDER(double, __generic)
EXPECT(strong, float, __generic, __generic) EXPECT(weak, float, __generic, __generic) EXPECT(strong, double, __generic, __generic) EXPECT(weak, double, __generic, __generic)
OP2(fetch_add, fetch_add, ulong, long, __generic) OP2(fetch_sub, fetch_sub, ulong, long, __generic)   /* atomic_uintptr_t and ptrdiff_t */
IN bool atomic_flag_test_and_set_explicit(volatile __generic atomic_flag *p, memory_order o, memory_scope s) { return __opencl_atomic_exchange((volatile __generic atomic_int *)p, 1, memory_order_seq_cst, memory_scope_device); }
IN bool atomic_flag_test_and_set(volatile __generic atomic_flag *p) { return __opencl_atomic_exchange((volatile __generic atomic_int *)p, 1, memory_order_seq_cst, memory_scope_device); }
IN bool atomic_flag_test_and_set_explicit(volatile __generic atomic_flag *p, memory_order o) { return atomic_flag_test_and_set(p); }
IN void atomic_flag_clear(volatile __generic atomic_flag *p) { __opencl_atomic_store((volatile __generic atomic_int *)p, 0, memory_order_seq_cst, memory_scope_device); }
IN void atomic_flag_clear_explicit(volatile __generic atomic_flag *p, memory_order o, memory_scope s) { __opencl_atomic_store((volatile __generic atomic_int *)p, 0, memory_order_seq_cst, memory_scope_device); }
IN void atomic_flag_clear_explicit(volatile __generic atomic_flag *p, memory_order o) { atomic_flag_clear(p); }

/* What C++ calls for a virtual function without a body. */
void __cxa_pure_virtual(void) { TRAP; }
