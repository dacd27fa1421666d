kernel void narrowed(global int *out, global const long *in) {
  int id = __builtin_amdgcn_workitem_id_x();
  long u = in[id] - 2000;
  if (id & 1)
    u += in[id + 64];
  long v = u + 7;
  out[id] = v;
}
