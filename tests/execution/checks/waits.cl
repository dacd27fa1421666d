// Kernels that use a register before what loads it is complete, or let a store be overtaken, and with MENDED wait for it.
// Work-groups have 128 work-items, the grid 512. The line of the access ends with //, that of the use with ///.
#ifdef MENDED
#define FIX(wait) ASM(wait)
#define OR(mended, faulty) ASM(mended)
#else
#define FIX(wait)
#define OR(mended, faulty) ASM(faulty)
#endif
#define ASM __asm__ volatile
#define KERNEL(name) kernel void name(global int *out, global int *in)
#define GID ((int)get_global_id(0))
#define ID ((int)get_local_id(0))
#define READY global int *from = in + GID, *to = out + GID; ASM("" ::"v"(from), "v"(to))
/* What the compiler has loaded itself is complete from here on. */
#define USE(register) ASM("v_mov_b32 %0, " register : "=v"(x)); *to = x
#define LOADS "v40", "v41", "v42", "v43", "s40", "s41", "s44", "s45", "s46", "s47", "memory"
#if defined(__GFX9__)
#define FORM 0x27fac
#elif defined(__GFX10__)
#define FORM 0x31016fac
#else
#define FORM 0x30016fac
#endif
#if defined(__GFX12__)
#define VM(left) "s_wait_loadcnt " #left
#define LGKM(left) "s_wait_dscnt " #left
#define KM(left) "s_wait_kmcnt " #left
#define STORES "s_wait_storecnt 0"
#define BARRIER "s_barrier_signal -1\ns_barrier_wait -1\nglobal_inv scope:SCOPE_SE"
#else
#define VM(left) "s_waitcnt vmcnt(" #left ")"
#define LGKM(left) "s_waitcnt lgkmcnt(" #left ")"
#define KM LGKM
#if defined(__GFX9__)
#define STORES VM(0)
#define BARRIER "s_barrier"
#else
#define STORES "s_waitcnt_vscnt null, 0"
#define BARRIER "s_barrier\nbuffer_gl0_inv"
#endif
#endif
#if defined(__GFX12__)
#define RETURNS "th:TH_ATOMIC_RETURN"
#define NO_OFFSET "null"
#elif defined(__gfx942__)
#define RETURNS "sc0"
#else
#define RETURNS "glc"
#endif
#ifndef NO_OFFSET
#define NO_OFFSET "0"
#endif

#define FIRST(number) __builtin_amdgcn_readfirstlane(number)
#define IN ((ulong)(uint)FIRST((int)(long)in) | (ulong)(uint)FIRST((int)((long)in >> 32)) << 32)
/* Scalar registers have it, also in the function that clang makes of a kernel, whose arguments are in vector registers. */

KERNEL(from_global) {
  int x;
  READY;
  ASM("global_load_dword v40, %0, off" ::"v"(from) : LOADS); //
  FIX(VM(0));
  USE("v40"); ///
}
KERNEL(second_from_global) {
  int x;
  READY;
  ASM("global_load_dword v40, %0, off\n global_load_dword v41, %0, off" ::"v"(from) : LOADS); //
  OR(VM(0), VM(1));
  USE("v41"); ///
}
KERNEL(first_from_global) {
  int x;
  READY;
  ASM("global_load_dword v40, %0, off\n global_load_dword v41, %0, off" ::"v"(from) : LOADS); //
  OR(VM(1), VM(2));
  USE("v40"); ///
}
KERNEL(pair_from_global) {
  int x;
  READY;
  ASM("global_load_dwordx2 v[40:41], %0, off" ::"v"(in + (GID & ~1)) : LOADS); //
  OR(VM(0), LGKM(0));
  USE("v41"); ///
}
KERNEL(from_buffer) {
  int x;
  READY;
  ASM("s_mov_b64 s[44:45], %0\n s_mov_b32 s46, 2048\n s_mov_b32 s47, %1" ::"s"(IN), "i"(FORM) : LOADS);
  ASM("buffer_load_dword v40, %0, s[44:47], " NO_OFFSET " offen" ::"v"(4 * GID) : LOADS); //
  FIX(VM(0));
  USE("v40"); ///
}
KERNEL(from_anywhere) {
  int x;
  READY;
  ASM("flat_load_dword v40, %0" ::"v"(from) : LOADS); //
  FIX(VM(0)); FIX(LGKM(0));
  USE("v40"); ///
}
KERNEL(added) {
  int x;
  READY;
  ASM("global_atomic_add v40, %0, %1, off " RETURNS ::"v"(from), "v"(1) : LOADS); //
  FIX(VM(0));
  USE("v40"); ///
}
KERNEL(from_local) {
  local int tile[128];
  int x;
  READY;
  tile[ID] = *from;
  ASM("ds_read_b32 v40, %0" ::"v"(tile + ID) : LOADS); //
  OR(LGKM(0), VM(0));
  USE("v40"); ///
}
KERNEL(second_from_local) {
  local int tile[128];
  int x;
  READY;
  tile[ID] = *from;
  ASM("ds_read_b32 v40, %0\n ds_read_b32 v41, %0" ::"v"(tile + ID) : LOADS); //
  OR(LGKM(0), LGKM(1));
  USE("v41"); ///
}
KERNEL(added_in_local) {
  local int tile[128];
  int x;
  READY;
  tile[ID] = *from;
  ASM("ds_add_rtn_u32 v40, %0, %1" ::"v"(tile + ID), "v"(1) : LOADS); //
  FIX(LGKM(0));
  USE("v40"); ///
}
KERNEL(from_lane) {
  int x;
  READY;
  ASM("ds_bpermute_b32 v40, %0, %1" ::"v"(4 * ID), "v"(*from) : LOADS); //
  FIX(LGKM(0));
  USE("v40"); ///
}
KERNEL(swizzled) {
  int x;
  READY;
  ASM("ds_swizzle_b32 v40, %0 offset:0x8055" ::"v"(*from) : LOADS); //
  FIX(LGKM(0));
  USE("v40"); ///
}
KERNEL(scalar) {
  int x;
  READY;
  ASM("s_load_dword s40, %0, 0x0" ::"s"(IN) : LOADS); //
  FIX(KM(0));
  USE("s40"); ///
}
KERNEL(second_scalar) {
  int x;
  READY;
  ASM("s_load_dword s40, %0, 0x0\n s_load_dword s41, %0, 0x4" ::"s"(IN) : LOADS); //
  OR(KM(0), KM(1));
  USE("s40"); ///
}
KERNEL(address) {
  local uint tile[128];
  int x;
  READY;
  tile[ID] = (uint)(tile + ID);
  ASM("ds_read_b32 v40, %0" ::"v"(tile + ID) : LOADS); //
  FIX(LGKM(0));
  ASM("ds_read_b32 v41, v40" ::: LOADS); ///
  ASM(LGKM(0));
  USE("v41");
}
KERNEL(stored) {
  READY;
  ASM("v_mov_b32 v42, %0\n v_mov_b32 v43, %1" ::"v"((int)(long)to), "v"((int)((long)to >> 32)) : LOADS);
  ASM("global_load_dword v40, %0, off" ::"v"(from) : LOADS); //
  FIX(VM(0));
  ASM("global_store_dword v[42:43], v40, off" ::: LOADS); ///
}
KERNEL(overtaken) {
  int x;
  READY;
  ASM("global_store_dword %0, %1, off" ::"v"(from), "v"(GID) : LOADS); //
  FIX(STORES);
  ASM(BARRIER);
  ASM("global_load_dword v40, %0, off" ::"v"(in + (GID ^ 64)) : LOADS); ///
  ASM(VM(0));
  USE("v40");
}
