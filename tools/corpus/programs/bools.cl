kernel void bools(global int *out, int limit) {
  int id = __builtin_amdgcn_workitem_id_x();
  bool is_small = id < limit;
  bool is_odd = id & 1;
  bool both = is_small && is_odd;
  out[id] = both ? 1 : is_small ? 2 : 3;
}
