__kernel void reverse(__global const int *in, __global int *out) {
  __local int tile[64];
  int i = get_local_id(0);
  tile[i] = in[get_global_id(0)];
  out[get_global_id(0)] = tile[63 - i];
}
