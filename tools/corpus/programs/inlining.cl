static inline int square(int x) {
  int result = x * x;
  return result;
}
static inline int twice(int y) {
  int inner = square(y + 1);
  return inner + inner;
}
kernel void inlining(global int *out, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int value = twice(id + n);
  out[id] = value;
}
