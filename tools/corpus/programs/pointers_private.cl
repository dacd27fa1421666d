int touch(private int *where, int by);
__attribute__((noinline)) int touch(private int *where, int by) {
  int before = *where;
  *where = before + by;
  return before;
}
kernel void pointers_private(global int *out, int n) {
  int counter = n;
  private int *pointer = &counter;
  int first = touch(pointer, 3);
  out[__builtin_amdgcn_workitem_id_x()] = first + counter;
}
