// Types of 8 and 16 bits in pairs and fours, and atomic additions to pairs.
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>
#include <cstdio>

/* HIP has this one, but not in each version. */
__device__ __hip_bfloat162 __float2bfloat162_rn(const float a) { return __hip_bfloat162{__float2bfloat16(a), __float2bfloat16(-a)}; }
__global__ void own(float2 *out) { *out = __bfloat1622float2(__float2bfloat162_rn(2.0f)); }

template <class T> __global__ void add(T *sums, T one) {
  unsafeAtomicAdd(&sums[threadIdx.x % 2], one);
  atomicAdd(&sums[threadIdx.x % 2], one);
}
template <class T> __global__ void convert(float4 *values, T *four) {
  *four = T(*values);
  *values = float4(*four);
}
template <class T, class E> void added(const char *name, E zero, E one) {
  T *sums, host[2];
  (void)hipMalloc(&sums, sizeof host);
  (void)hipMemset(sums, 0, sizeof host);
  add<<<2, 64>>>(sums, T(zero, one));
  (void)hipMemcpy(host, sums, sizeof host, hipMemcpyDeviceToHost);
  printf("%s %g %g %g %g\n", name, (float)host[0].x, (float)host[0].y, (float)host[1].x, (float)host[1].y);
  (void)hipFree(sums);
}
template <class T> void converted(const char *name) {
  float4 *values, host = make_float4(1.3f, -500, 0.0156f, 3);
  T *four, own = T(host), there;
  (void)hipMalloc(&values, sizeof host);
  (void)hipMalloc(&four, sizeof own);
  (void)hipMemcpy(values, &host, sizeof host, hipMemcpyHostToDevice);
  convert<<<1, 1>>>(values, four);
  (void)hipMemcpy(&host, values, sizeof host, hipMemcpyDeviceToHost);
  (void)hipMemcpy(&there, four, sizeof there, hipMemcpyDeviceToHost);
  printf("%s %08x %d: %g %g %g %g\n", name, there.__x, own.__x == there.__x, host.x, host.y, host.z, host.w);
  (void)hipFree(values), (void)hipFree(four);
}
template <class T> void infinite(const char *name) {
  float2 both = make_float2(__builtin_inff(), -__builtin_inff());
  printf("%s %02x %02x %02x\n", name, T(both.x).__x, T(both.y).__x, T(1e6f).__x);
}
int main() {
  added<__half2, __half>("half2", 0, 1);
  added<__hip_bfloat162, __hip_bfloat16>("bfloat162", 0.0f, 1.0f);
  converted<__hip_fp8x4_e4m3>("e4m3");
  converted<__hip_fp8x4_e5m2>("e5m2");
  converted<__hip_fp8x4_e4m3_fnuz>("e4m3_fnuz");
  converted<__hip_fp8x4_e5m2_fnuz>("e5m2_fnuz");
  printf("pair %04x\n", __hip_cvt_float2_to_fp8x2(make_float2(1, 2), __HIP_SATFINITE, __HIP_E4M3));
  infinite<__hip_fp8_e4m3>("e4m3");
  infinite<__hip_fp8_e5m2>("e5m2");
  infinite<__hip_fp8_e4m3_fnuz>("e4m3_fnuz");
  infinite<__hip_fp8_e5m2_fnuz>("e5m2_fnuz");
  float2 *there, here;
  (void)hipMalloc(&there, sizeof here);
  own<<<1, 1>>>(there);
  (void)hipMemcpy(&here, there, sizeof here, hipMemcpyDeviceToHost);
  printf("own %g %g\n", here.x, here.y);
  (void)hipFree(there);
}
// Prints:
// half2 0 128 0 128
// bfloat162 0 128 0 128
// e4m3 4408fe3a 1: 1.25 -448 0.015625 3
// e5m2 4224e03d 1: 1.25 -512 0.015625 3
// e4m3_fnuz 4c10ff42 1: 1.25 -240 0.015625 3
// e5m2_fnuz 4628e441 1: 1.25 -512 0.015625 3
// pair 4038
// e4m3 7f ff 7e
// e5m2 7c fc 7b
// e4m3_fnuz 80 80 7f
// e5m2_fnuz 80 80 7f
// own 2 -2
// 7 launches, 7 kernels, no error
