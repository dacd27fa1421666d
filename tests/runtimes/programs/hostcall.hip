#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void say(int *counts, const char *text) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 40 == 0) counts[i / 40] = printf("%d of %s: %.2f%% %5s|%p\n", i, text, i / 3.0, "abc", (void *)0);
  if (i == 3) printf("three\n");
}
int main() {
  hipDeviceProp_t about;
  (void)hipGetDeviceProperties(&about, 0);
  int *counts, host[4];
  char *text;
  (void)hipMalloc(&counts, sizeof host);
  (void)hipHostMalloc(&text, 100, 0);
  snprintf(text, 100, "a text that needs %d packets", 2);
  printf("%s\n", about.gcnArchName);
  say<<<2, 80>>>(counts, text);
  (void)hipDeviceSynchronize();
  printf("between\n");
  say<<<1, 8>>>(counts, text);
  (void)hipMemcpy(host, counts, sizeof host, hipMemcpyDeviceToHost);
  printf("%d %d\n", host[0], host[3]);
  (void)hipFree(counts), (void)hipHostFree(text);
}
// Prints:
// gfx1100
// 0 of a text that needs 2 packets: 0.00%   abc|(nil)
// 40 of a text that needs 2 packets: 13.33%   abc|(nil)
// 80 of a text that needs 2 packets: 26.67%   abc|(nil)
// 120 of a text that needs 2 packets: 40.00%   abc|(nil)
// three
// between
// 0 of a text that needs 2 packets: 0.00%   abc|(nil)
// three
// 52 55
// 2 launches, 1 kernel, no error
