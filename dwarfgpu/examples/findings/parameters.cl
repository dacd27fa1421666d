kernel void scale(global float *y, global const float *x, float a, int n) {
  int i = __builtin_amdgcn_workitem_id_x();
  if (i < n)
    y[i] = a * x[i];
}
