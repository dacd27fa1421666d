kernel void branches(global int *out, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int result = 0;
  if (id < n) {
    int left = id * 3;
    result = left + 1;
  } else {
    int right = id - n;
    result = right * right;
  }
  out[id] = result;
}
