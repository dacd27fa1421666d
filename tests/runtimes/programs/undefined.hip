// Bits that nothing has written, through kernels, copies and fills; with an argument all are written.
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void copy(int *to, const int *from, int n) { int i = threadIdx.x; if (i < n) to[i] = from[i]; }
__global__ void pick(int *to, const int *from) { to[from[threadIdx.x] & 63] = 1; }
int main(int count, char **) {
  int *a, *b, *c, host[64] = {0};
  (void)hipMalloc(&a, 256); (void)hipMalloc(&b, 256);
  (void)hipMalloc(&c, 256);
  if (count > 1) (void)hipMemset(a, 0, 256); else (void)hipMemset(a, 0, 128);
  copy<<<1, 64>>>(b, a, 32);
  (void)hipMemcpy(c, b, 128, hipMemcpyDeviceToDevice);
  (void)hipMemset(c + 32, 1, 64);
  (void)hipMemcpy(c + 48, count > 1 ? host : a + 48, 64, hipMemcpyDefault);
  pick<<<1, 64>>>(a, c);
  (void)hipMemcpy(host, a, 256, hipMemcpyDeviceToHost);
  (void)hipFree(a); (void)hipFree(b); (void)hipFree(c);
}
