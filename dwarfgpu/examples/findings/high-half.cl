kernel void high(global int *out, global const uchar *bytes, global const short *numbers) {
  int id = __builtin_amdgcn_workitem_id_x();
  uchar byte = bytes[id];
  short number = numbers[id];
  out[id] = (short)(number - (short)byte) * (byte ^ 5);
}
