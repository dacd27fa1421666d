__attribute__((noinline)) int leaf(int a, int b) { return a * b + 1; }
__attribute__((noinline)) int middle(int x) {
  int before = x * 2;
  return leaf(before, x) + before;
}
kernel void calls(global int *out, global const int *in) {
  int id = __builtin_amdgcn_workitem_id_x();
  int a = in[id], b = in[id + 64], c = in[id + 128], d = in[id + 192];
  out[id + 64] = a * b + c * d;
  out[id] = middle(id);
}
