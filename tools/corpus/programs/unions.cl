union word { int number; float real; uchar bytes[4]; };
kernel void unions(global int *out, float value) {
  int id = __builtin_amdgcn_workitem_id_x();
  union word word;
  word.real = value * id;
  int bits = word.number;
  uchar low = word.bytes[0];
  out[id] = bits ^ low;
}
