kernel void scan(global double *o, global const double *in, ulong left) {
  int i = __builtin_amdgcn_workitem_id_x();
  double most = -__builtin_inf(), mine = most;
  for (; left; left &= left - 1) {
    double next = in[__builtin_ctzl(left)];
    most = most > next ? most : next;
    mine = __builtin_ctzl(left) == i ? most : mine;
  }
  o[i] = mine;
}
