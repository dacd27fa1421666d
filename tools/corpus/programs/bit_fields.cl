#pragma OPENCL EXTENSION __cl_clang_bitfields : enable
struct flags { uint low : 3; uint middle : 13; int high : 16; };
kernel void bit_fields(global int *out, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  struct flags flags;
  flags.low = id;
  flags.middle = id * n;
  flags.high = -id;
  out[id] = flags.low + flags.middle - flags.high;
}
