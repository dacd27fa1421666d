__attribute__((noinline)) int leaf(int a, int b) { return a * b + 1; }
__attribute__((noinline)) int middle(int x) {
  int before = x * 2;
  return leaf(before, x) + before;
}
kernel void calls(global int *out) {
  int id = __builtin_amdgcn_workitem_id_x();
  out[id] = middle(id);
}
