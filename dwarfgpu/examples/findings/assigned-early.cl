kernel void early(global int *out, global const int *in, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  ushort v1 = in[id + 17 & 255] * id + n;
  int v2[8];
  for (int v3 = 0; v3 < 8; ++v3)
    v2[v3] = v3 * v1;
  int v4 = v2[id & 7];
  n |= id;
  v1--;
  out[id] = n + id + v1 + v4;
}
