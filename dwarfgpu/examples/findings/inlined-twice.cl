static ulong mixed(ulong sum, ulong number) { return (sum << 7 | sum >> 57) + number; }
kernel void twice(global ulong *out, ulong number) {
  int id = __builtin_amdgcn_workitem_id_x();
  ulong sum = out[id];
  sum = mixed(sum, number);
  sum = mixed(sum, (ulong)id);
  sum = mixed(sum, out[id + 1]);
  out[id] = sum;
}
