kernel void array_local(global int *out) {
  local int tile[64];
  local short halves[16];
  int id = __builtin_amdgcn_workitem_id_x();
  tile[id] = id;
  halves[id & 15] = (short)id;
  __builtin_amdgcn_s_barrier();
  out[id] = tile[63 - id] + halves[id & 7];
}
