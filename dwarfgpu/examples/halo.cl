__kernel void halo(__global const int *in, __global int *out) {
  __local int left[64], right[64];
  int i = get_local_id(0);
  left[i] = in[i];
  right[i] = 2 * in[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  int next = left[i + 1];
  out[i] = next + right[63 - i];
}
