kernel void scalars(global int *out, int a, uint b, long c, ulong d) {
  int id = __builtin_amdgcn_workitem_id_x();
  int sum = a + id;
  uint product = b * (uint)id;
  long wide = c - id;
  ulong large = d ^ (ulong)wide;
  out[id] = sum;
  out[id + 1] = (int)product;
  out[id + 2] = (int)(large >> 3);
}
