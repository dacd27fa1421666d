__attribute__((noinline)) int load(int *anywhere) {
  int value = *anywhere;
  return value + 1;
}
kernel void pointers_generic(global int *out, local int *scratch) {
  int id = __builtin_amdgcn_workitem_id_x();
  int own = id;
  int *either = id & 1 ? (int *)out : (int *)scratch;
  out[id] = load(either) + load(&own);
}
