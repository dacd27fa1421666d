kernel void inverse(global float *out, float x) {
  out[0] = __builtin_amdgcn_rcpf(0.0f - x);
}
