// Whole programs: the host's part is skipped.
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#define CHECK(call) do { hipError_t e = (call); if (e != hipSuccess) { fprintf(stderr, "%s\n", hipGetErrorString(e)); exit(1); } } while (0)

__global__ __launch_bounds__(64) void greet(const int *a) {
  int i = threadIdx.x;
  if (a[i] > 2)
    printf("thread %d: %d, %.2f, %s\n", i, a[i], a[i] / 4.0, a[i] % 2 ? "odd" : "even");
}

__global__ void count_down(int *left) {
  int i = threadIdx.x;
  assert(left[i] > 0);
  left[i]--;
}

int main() {
  int *a;
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipMalloc(&a, 256));
  CHECK(hipMemset(a, 0, 256));
  greet<<<1, 64, 0, stream>>>(a);
  hipLaunchKernelGGL(count_down, dim3(1), dim3(64), 0, stream, a);
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipFree(a));
  return 0;
}
