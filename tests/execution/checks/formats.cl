// A load and a store of a buffer with a format, by a resource of 512 bytes.
#define MOVE(buffer, instruction, ...) __asm__ volatile( \
  "v_readfirstlane_b32 s20, %1\nv_readfirstlane_b32 s21, %2\ns_movk_i32 s22, 0x200\nv_readfirstlane_b32 s23, %3\n" \
  "s_nop 4\n" instruction "\ns_waitcnt vmcnt(0)" : "+v"(x) \
  : "v"((int)(long)(buffer)), "v"((int)((long)(buffer) >> 32)), "v"(flags), "v"(4 * i + shift) \
  : "memory", "s20", "s21", "s22", "s23")
kernel void loaded(global int *out, global int *in, int flags, int shift) {
  int i = __builtin_amdgcn_workitem_id_x(), x = 0;
  MOVE(in, "buffer_load_format_x %0, %4, s[20:23], 0 offen");
  out[i] = x;
}
kernel void stored(global int *out, global int *in, int flags, int shift) {
  int i = __builtin_amdgcn_workitem_id_x(), x = in[i];
  MOVE(out, "buffer_store_format_x %0, %4, s[20:23], 0 offen");
}
kernel void half_loaded(global int *out, global int *in, int flags, int shift) {
  int i = __builtin_amdgcn_workitem_id_x(), x = 0;
  MOVE(in, "buffer_load_format_d16_x %0, %4, s[20:23], 0 offen");
  out[i] = x;
}
