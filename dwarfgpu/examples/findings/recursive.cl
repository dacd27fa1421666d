__attribute__((noinline)) int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
kernel void recursive(global int *out) {
  int id = __builtin_amdgcn_workitem_id_x();
  out[id] = fibonacci(id & 3);
}
