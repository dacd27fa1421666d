kernel void loops(global int *out, global const int *in, int count) {
  int id = __builtin_amdgcn_workitem_id_x();
  int total = 0;
  for (int i = 0; i < count; i += 2) {
    int item = in[id + i];
    total += item * i;
  }
  int left = count;
  while (left > 3)
    left /= 2;
  out[id] = total + left;
}
