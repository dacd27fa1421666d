kernel void array_private(global int *out, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int slots[8];
  for (int i = 0; i < 8; ++i)
    slots[i] = i * n;
  out[id] = slots[id & 7];
}
