__attribute__((noinline)) int leaf(int a, int b) {
  int sum = a * b + 1;
  return sum;
}
__attribute__((noinline)) int middle(int depth) {
  int before = depth * 2;
  int inner = leaf(before, depth);
  return inner + before;
}
kernel void calls(global int *out) {
  int id = __builtin_amdgcn_workitem_id_x();
  int result = middle(id);
  out[id] = result;
}
