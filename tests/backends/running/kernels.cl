kernel void saxpy(global float *y, global const float *x, float a, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
kernel void col(global int *out, global const int *in) {
  int i = get_global_id(0); int n = in[i]; int c = 0;
  while (n != 1) { n = n & 1 ? 3*n+1 : n/2; c++; }
  out[i] = c;
}
kernel void red(global long *out, global const int *in, local int *t) {
  int l = get_local_id(0); t[l] = in[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = get_local_size(0)/2; s; s >>= 1) { if (l < s) t[l] += t[l+s]; barrier(CLK_LOCAL_MEM_FENCE); }
  if (!l) out[get_group_id(0)] = (long)t[0] * t[0];
}
kernel void dbl(global double *o, global const double *a, ulong d, ulong e) { int i=get_global_id(0); o[i] = a[i]/3.0 + (double)(d/e); }
kernel void sub(global int *o, global const int *in, global uchar *c, global short *h) {
  int i = get_global_id(0); int x = in[i];
  x += __builtin_amdgcn_update_dpp(7, x, 0x111, 0xf, 0xf, 0);
  x += __builtin_amdgcn_mov_dpp(x, 0x1b, 0xf, 0xf, 1);
  x ^= __builtin_amdgcn_ds_bpermute((i*4*7)&255, x);
  x += __builtin_amdgcn_ds_swizzle(x, 0x041f);
  uchar b = c[i]; short s = h[i];
  o[i] = x + (uchar)(b*3) + (short)(s - (short)b) * (b ^ 5);
}
kernel void half_(global half *o, global const half *a, int n) { 
  #pragma OPENCL EXTENSION cl_khr_fp16 : enable
  int i=get_global_id(0); half2 v = ((global half2*)a)[i]; v = v*v + (half2)(1.5h, 2.5h); ((global half2*)o)[i] = v; }
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
kernel void recursive(global int *out, global const int *in) { int i = get_global_id(0); out[i] = fib(in[i] & 7); }
kernel void private_array(global int *out, global const int *in) {
  int i = get_global_id(0); int a[8];
  for (int k = 0; k < 8; k++) a[k] = in[i] * (k + 1);
  for (int k = 0; k < 8; k++) for (int j = 0; j < 7; j++) if ((a[j] & 0xff) > (a[j + 1] & 0xff)) { int t = a[j]; a[j] = a[j + 1]; a[j + 1] = t; }
  out[i] = a[in[i] & 7] ^ a[0];
}
kernel void counted(global int *out, global const int *in, global int *total) {
  int i = get_global_id(0);
  if (in[i] & 1) __atomic_fetch_add(total, in[i], __ATOMIC_RELAXED);
  __atomic_fetch_max(total + 1, in[i], __ATOMIC_RELAXED);
  out[i] = __builtin_popcount(in[i]) + __builtin_clz(in[i] | 1);
}
typedef half half2_ __attribute__((ext_vector_type(2)));
typedef int int8_ __attribute__((ext_vector_type(8)));
kernel void by_number(global int *out, global const int *in, int k) {
  int i = get_global_id(0); int8_ v = ((global const int8_ *)in)[i & 3];
  v[k & 7] = i; v[(k + 3) & 7] += v[(k + 1) & 7]; out[i] = v[(k + i) & 7];
}
