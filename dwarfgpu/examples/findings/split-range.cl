static int inner(int p) {
  int v = p > 4 ? 10 - p : 0;
  return p + 2 & v;
}
kernel void split(global int *out) {
  int id = __builtin_amdgcn_workitem_id_x();
  out[id] = inner(id + id) ? 5 : 1;
}
