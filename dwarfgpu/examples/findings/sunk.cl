static int chosen(int p, int q) {
  int r = p ? q : p;
  q ^= 1;
  return r;
}
kernel void sinks(global int *out, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int r = chosen(id, id - n);
  for (int i = 0; i < 3; ++i) {
  }
  out[id] = r;
}
