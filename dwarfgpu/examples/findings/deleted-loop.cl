kernel void last(global int *out) {
  int id = __builtin_amdgcn_workitem_id_x(), n;
  for (int i = 0; i < 3; ++i) {
    n = 0;
    n += id << i;
  }
  out[id] = n;
}
