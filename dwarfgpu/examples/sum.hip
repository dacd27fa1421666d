#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void sum(const int *in, int *out) {
  __shared__ int part[64];
  int i = threadIdx.x;
  part[i] = in[i];
  for (int half = 32; half; half /= 2) {
    if (i < half)
      part[i] += part[i + half];
    __syncthreads();
  }
  if (i == 0)
    *out = part[0];
}

int main() {
  int numbers[64], total = 0, *in, *out;
  for (int i = 0; i < 64; i++)
    numbers[i] = i;
  hipMalloc(&in, sizeof numbers);
  hipMalloc(&out, sizeof total);
  hipMemcpy(in, numbers, sizeof numbers, hipMemcpyHostToDevice);
  sum<<<1, 64>>>(in, out);
  hipMemcpy(&total, out, sizeof total, hipMemcpyDeviceToHost);
  hipFree(in), hipFree(out);
  printf("%d\n", total);
}
