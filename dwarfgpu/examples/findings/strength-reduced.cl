kernel void products(global uint *out, uint n) {
  uint id = __builtin_amdgcn_workitem_id_x();
  for (int i = 0; i < 3; ++i) {
    if (id)
      n = i * id;
  }
  out[id] = n;
}
