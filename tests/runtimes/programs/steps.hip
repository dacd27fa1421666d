// A right kernel that is launched twice from one line, and one that writes behind its buffer. With an argument, the
// program sends an interrupt to its parent and waits.
#include <hip/hip_runtime.h>
#include <csignal>
#include <cstdio>
#include <unistd.h>

__global__ void scale(float *data, float factor, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * factor;
}
__global__ void shift(float *data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i + 1] = data[i];
}

static void step(float *data, int n, float factor) {
  scale<<<(n + 63) / 64, 64>>>(data, factor, n);
}

int main(int count, char **) {
  int n = 100;
  float host[100], *data;
  for (int i = 0; i < n; i++) host[i] = i;
  (void)hipMalloc(&data, sizeof host);
  (void)hipMemcpy(data, host, sizeof host, hipMemcpyHostToDevice);
  step(data, n, 2.0f);
  if (count > 1) { kill(getppid(), SIGINT); sleep(600); }
  step(data, n, 0.5f);
  printf("scaled\n");
  (void)hipMemcpy(host, data, sizeof host, hipMemcpyDeviceToHost);
  shift<<<2, 64>>>(data, n);
  (void)hipDeviceSynchronize();
  (void)hipFree(data);
  return 3;
}
