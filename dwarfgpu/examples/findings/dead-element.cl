kernel void tuple(global int *out, global const int *in, int n) {
  int id = __builtin_amdgcn_workitem_id_x(), w = in[255];
  int a[8], c[8];
  for (int i = 0; i < 8; ++i)
    a[i] = i * id;
  int b = a[n & 7];
  for (int i = 0; i < 8; ++i)
    c[i] = i * b;
  out[id] = w + b + c[id & 7];
}
