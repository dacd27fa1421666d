kernel void older(global int *out, global const int *in, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  ushort v = n & id;
  if (n & 3)
    n++;
  else
    v |= n;
  v--;
  for (int i = 0; i < 4; ++i)
    out[i * 64 + id] = i;
  n += in[5];
  for (int i = 0; i < (n & 7); ++i)
    v *= v - in[id];
  out[id] = v;
}
