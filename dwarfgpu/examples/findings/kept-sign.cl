kernel void bytes(global double *out, global const uchar *in, global int *most) {
  int i = __builtin_amdgcn_workitem_id_x();
  out[i] = 0;
  uchar v = in[i];
  if (!(v & 1))
    __scoped_atomic_fetch_max(most, i, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  if ((char)v < 0)
    out[i] = v;
}
