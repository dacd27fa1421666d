kernel void conversions(global int *out, int n) {
  int id = __builtin_amdgcn_workitem_id_x() + n;
  char narrow = (char)id;
  uchar byte = (uchar)id;
  short half_word = (short)(id * 3);
  ushort word = (ushort)(id + 7);
  long wide = (long)narrow * half_word;
  out[id] = narrow + byte;
  out[id + 1] = half_word - word;
  out[id + 2] = (int)wide;
}
