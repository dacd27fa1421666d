kernel void constants(global int *out) {
  int id = __builtin_amdgcn_workitem_id_x();
  const int seven = 7;
  int minus = -3;
  uint most = 0xffffffffu;
  long far = 1234567890123L;
  char letter = 'x';
  out[id] = seven + minus + (int)most + (int)far + letter;
}
