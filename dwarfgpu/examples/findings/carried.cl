kernel void counts(global uint *out, uint n) {
  uint id = __builtin_amdgcn_workitem_id_x();
  uint4 v = n;
  n = 1 - (n >> 1);
  v.z = n + id;
  for (int i = 0; i < 3; ++i) {
    if ((id & 3) == 0)
      v.y--;
  }
  out[id] = n + id + v.x + v.y;
}
