#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void floats(global float *out, float scale, double big) {
  int id = __builtin_amdgcn_workitem_id_x();
  float single = id * scale;
  double wide = single + big;
  half small = (half)single;
  out[id] = single;
  out[id + 64] = (float)wide + (float)small;
}
