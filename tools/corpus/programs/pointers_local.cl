kernel void pointers_local(global int *out, local int *scratch) {
  int id = __builtin_amdgcn_workitem_id_x();
  local int *mine = scratch + id;
  *mine = id * 5;
  __builtin_amdgcn_s_barrier();
  local int *other = scratch + (id ^ 1);
  out[id] = *other;
}
