// Kernels whose waves as a whole reach memory: the numbers of lines are in no test.
kernel void counted(global int *out, local int *counter) {
  int lane = __builtin_amdgcn_workitem_id_x();
  if (!lane)
    *counter = 5;
  __builtin_amdgcn_s_barrier();
  int before = lane < 10 ? __builtin_amdgcn_ds_append(counter) : 0;
  out[lane] = before;
}
static void bump(private int *place, int i) {
  *place += i;
}
static __attribute__((always_inline)) void raised(private int *place, int total) {
  *place += total;
}
kernel void summed(global int *out, int n) {
  int lane = __builtin_amdgcn_workitem_id_x();
  int total = 0;
  for (int i = 0; i < n; ++i) {
    total += i + lane;
    bump(&total, 2 * i);
    raised(&total, 7);
  }
  out[lane] = total;
}
#ifdef SCALAR
#define SCALAR_ACCESS(instruction) \
  __asm__ volatile("v_readfirstlane_b32 s4, %0\n v_readfirstlane_b32 s6, %1\n v_readfirstlane_b32 s7, %2\n s_nop 4\n" \
                   instruction "\n s_waitcnt lgkmcnt(0)" ::"v"(number), "v"((uint)(ulong)out), \
                   "v"((uint)((ulong)out >> 32)) : "memory", "s4", "s6", "s7")
kernel void stored(global int *out, int number) {
  SCALAR_ACCESS("s_store_dword s4, s[6:7], 0x4");
}
kernel void added(global int *out, int number) {
  SCALAR_ACCESS("s_atomic_add s4, s[6:7], 0x8");
}
#endif
