kernel void narrow(global int *out, global const char *bytes) {
  int id = __builtin_amdgcn_workitem_id_x();
  char byte = bytes[id];
  out[id] = byte * 3;
  out[id + 64] = byte >> (id & 7);
}
