__kernel void header(__global const uchar *packet, __global int *out) {
  int i = get_global_id(0);
  out[i] = *(__global const int *)(packet + 4 * i + 2);
}
