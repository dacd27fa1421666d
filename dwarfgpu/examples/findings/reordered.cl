kernel void counts(global uint *out, global const uint *in) {
  uint id = __builtin_amdgcn_workitem_id_x();
  uint4 v = id;
  if (id != 11)
    for (int i = 0; i < 4; ++i)
      v.x |= (id ? i : 1) | i << in[255];
  out[id] = v.x;
}
