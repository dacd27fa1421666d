static int low(int p, int q) {
  switch (p) {
  case 0:
    p--;
  }
  return 7 & q;
}
kernel void all(global int *out) {
  int id = __builtin_amdgcn_workitem_id_x();
  out[id] = low(id, id);
}
