kernel void pairs(global short2 *out, global const short *in, global const short *first) {
  int i = __builtin_amdgcn_workitem_id_x();
  short low = first[0], x = in[i], high = x;
  if ((ushort)(x + 1) > 1)
    high = (short)1 % x;
  short2 pair = {low, high};
  if (x > 7)
    pair = __builtin_elementwise_min(pair, (short2)0);
  out[i] = pair;
}
