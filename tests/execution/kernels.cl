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
typedef float float4_ __attribute__((ext_vector_type(4)));
typedef float float8_ __attribute__((ext_vector_type(8)));
typedef half half4_ __attribute__((ext_vector_type(4)));
typedef half half8_ __attribute__((ext_vector_type(8)));
typedef half half16_ __attribute__((ext_vector_type(16)));
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// Each wave multiplies two matrices of 16 x 16 halfs.
#if defined(__gfx90a__) || defined(__gfx942__)
kernel void matrix(global float *d, global const half *a, global const half *b) {
  int lane = get_local_id(0) & 63, wave = get_global_id(0) / 64, i = lane & 15, k = lane / 16 * 4;
  half4_ x, y; float4_ z = 0.5f;
  for (int n = 0; n < 4; n++) { x[n] = a[256 * wave + 16 * i + k + n]; y[n] = b[256 * wave + 16 * (k + n) + i]; }
  z = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, z, 0, 0, 0);
  for (int n = 0; n < 4; n++) d[256 * wave + 16 * (lane / 16 * 4 + n) + i] = z[n];
}
#elif defined(__GFX11__)
kernel void matrix(global float *d, global const half *a, global const half *b) {
  int lane = get_local_id(0) & 31, wave = get_global_id(0) / 32, i = lane & 15;
  half16_ x, y; float8_ z = 0.5f;
  for (int n = 0; n < 16; n++) { x[n] = a[256 * wave + 16 * i + n]; y[n] = b[256 * wave + 16 * n + i]; }
  z = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, z);
  for (int n = 0; n < 8; n++) d[256 * wave + 16 * (2 * n + lane / 16) + i] = z[n];
}
#elif defined(__GFX12__)
kernel void matrix(global float *d, global const half *a, global const half *b) {
  int lane = get_local_id(0) & 31, wave = get_global_id(0) / 32, i = lane & 15, k = lane / 16 * 8;
  half8_ x, y; float8_ z = 0.5f;
  for (int n = 0; n < 8; n++) { x[n] = a[256 * wave + 16 * i + k + n]; y[n] = b[256 * wave + 16 * (k + n) + i]; }
  z = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, z);
  for (int n = 0; n < 8; n++) d[256 * wave + 16 * (8 * (lane / 16) + n) + i] = z[n];
}
#endif
kernel void narrow(global float *o, global ushort *p, global const float *in, global const half *h) {
  int i = get_global_id(0); float x = in[i];
  o[i] = __builtin_fmaf((float)h[2 * i], (float)h[2 * i + 1], x);
  union { __bf16 b; ushort u; } y; y.b = (__bf16)x; p[i] = y.u;
}
#define RELAXED __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE
kernel void totals(global float *f, global double *d, global long *n, global uint *u, global const int *in, local float *t) {
  int i = get_global_id(0), l = get_local_id(0), x = in[i];
  if (!l) *t = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  __scoped_atomic_fetch_add(t, (float)(x & 15), __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  __scoped_atomic_fetch_add(f, (float)(x & 31), RELAXED);
  __scoped_atomic_fetch_add(d, (double)x, RELAXED);
  __scoped_atomic_fetch_min(n, (long)x - 100, RELAXED);
  __scoped_atomic_fetch_xor(n + 1, (long)x << 20, RELAXED);
  __builtin_amdgcn_atomic_inc32((global int *)u, 99, __ATOMIC_RELAXED, "agent");
  __scoped_atomic_fetch_or(u + 1, x, RELAXED);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (!l) __scoped_atomic_fetch_max(f + 1, *t, RELAXED);
}
typedef char char8_ __attribute__((ext_vector_type(8)));
kernel void bytes(global short *out, global const char8_ *a, global const char8_ *b) {
  int i = get_global_id(0); char8_ x = a[i], y = b[i]; short sum = 0; ushort high = 0; uchar last = 0;
  for (int k = 0; k < 8; k++) { sum = (short)(sum << 1) + (short)(x[k] * y[k]); high |= (ushort)((uchar)(x[k] & y[k]) << 8); last = (uchar)(last + x[k]) >> 1; }
  out[2 * i] = sum; out[2 * i + 1] = high | last;
}
