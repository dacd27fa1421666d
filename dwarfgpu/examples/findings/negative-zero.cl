#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void product(global half *out, float a, float b) {
  out[0] = (half)(a * b);
}
