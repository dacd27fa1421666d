__kernel void mean(__global const float *in, __global float *out) {
  int i = get_global_id(0);
  float s = 0, n = 0;
  for (int k = 0; k < 4; k++)
    if (in[i] > k) {
      s += in[i];
      n += 1;
    }
  out[i] = s / n;
}
