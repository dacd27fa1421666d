kernel void cut(global int *out, global const int *in, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  long v2 = (long)n << n;
  for (int i = 0; i < 4; ++i)
    n = id;
  switch (n) {
  case 1:
    v2 += in[1];
  }
  int v5 = n & (id & v2);
  int v6[8];
  for (int i = 0; i < 8; ++i)
    v6[i] = i;
  out[id] = v2 + v5;
}
