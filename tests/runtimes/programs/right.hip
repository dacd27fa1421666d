// What HIP programs do: arguments of all sizes, variables of the device, managed memory, printf, events, threads, fork.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call) \
  do { hipError_t error = (call); if (error) { printf("%s: %s\n", #call, hipGetErrorString(error)); return 1; } } while (0)

struct Mixed { double numbers[5]; char letter; float *pointer; };
__constant__ float table[4];
__device__ int counter = 5;
__managed__ int both = 7;

__global__ void scaled(float factor, const float *in, float *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] += factor * in[i];
}
__global__ void mixed(char a, short b, Mixed c, double d, bool e, int3 f, float *out) {
  out[0] = a + b + (float)c.numbers[4] + c.letter + (float)d + e + f.z;
  out[1] = *c.pointer;
}
__global__ void variables(float *out) {
  out[threadIdx.x] = table[threadIdx.x] + counter;
  if (threadIdx.x == 0) { atomicAdd(&counter, 1); both += 1; printf("block %d of %d, %s\n", (int)blockIdx.x, (int)gridDim.x, "text"); }
}
template <class T> __global__ void reversed(T *out) {
  extern __shared__ T kept[];
  kept[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
}
__global__ void add(int *sum, int number) { atomicAdd(sum, number); }
static void called(void *data) { *(int *)data += 1; }

int main() {
  const int count = 1000;
  std::vector<float> x(count, 2), y(count, 1);
  float *in, *out, milliseconds;
  hipEvent_t start, stop;
  CHECK(hipEventCreate(&start)); CHECK(hipEventCreate(&stop));
  CHECK(hipMalloc(&in, count * 4)); CHECK(hipMalloc((void **)&out, count * 4));
  CHECK(hipMemcpy(in, x.data(), count * 4, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(out, y.data(), count * 4, hipMemcpyHostToDevice));
  CHECK(hipEventRecord(start));
  scaled<<<(count + 255) / 256, 256>>>(3, in, out, count);
  CHECK(hipGetLastError()); CHECK(hipEventRecord(stop)); CHECK(hipEventSynchronize(stop));
  CHECK(hipEventElapsedTime(&milliseconds, start, stop));
  CHECK(hipMemcpy(y.data(), out, count * 4, hipMemcpyDeviceToHost));
  printf("scaled %g %g %d\n", y[0], y[count - 1], milliseconds > 0);
  Mixed c = {{1, 2, 3, 4, 5}, 6, in};
  mixed<<<1, 1>>>(1, 2, c, 8, true, make_int3(1, 2, 9), out);
  CHECK(hipMemcpy(y.data(), out, 8, hipMemcpyDeviceToHost));
  printf("mixed %g %g\n", y[0], y[1]);
  float numbers[4] = {10, 20, 30, 40};
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), numbers, 16));
  variables<<<1, 4>>>(out);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(y.data(), out, 16, hipMemcpyDeviceToHost));
  int found;
  CHECK(hipMemcpyFromSymbol(&found, HIP_SYMBOL(counter), 4));
  printf("variables %g %d %d\n", y[3], found, both);
  hipLaunchKernelGGL(reversed<float>, dim3(1), dim3(64), 64 * 4, 0, out);
  CHECK(hipMemcpy(y.data(), out, 256, hipMemcpyDeviceToHost));
  printf("reversed %g %g\n", y[0], y[63]);
  int *sum, *mapped;
  CHECK(hipMallocManaged(&sum, 4)); CHECK(hipHostMalloc(&mapped, 4));
  *sum = 0, *mapped = 5;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++)
    threads.emplace_back([sum] { for (int k = 0; k < 5; k++) add<<<1, 64>>>(sum, 1); (void)hipDeviceSynchronize(); });
  for (auto &thread : threads) thread.join();
  add<<<1, 1>>>(mapped, 2);
  CHECK(hipDeviceSynchronize());
  printf("threads %d, mapped %d\n", *sum, *mapped);
  int number = 3;
  void *arguments[] = {&sum, &number};
  CHECK(hipLaunchKernel((const void *)add, dim3(1), dim3(2), arguments, 0, nullptr));
  int calls = 0;
  CHECK(hipLaunchHostFunc(nullptr, called, &calls));
  CHECK(hipMemset(in, 0xff, 4)); CHECK(hipMemcpy(&found, in, 4, hipMemcpyDeviceToHost));
  printf("by address %d, calls %d, set %d\n", *sum, calls, found);
  hipDeviceProp_t about;
  CHECK(hipGetDeviceProperties(&about, 0));
  printf("%s %d %s %s\n", about.name, about.warpSize, about.gcnArchName, hipGetErrorName(hipErrorNotReady));
  fflush(stdout);
  if (fork() == 0) { void *more; printf("child: %s\n", hipGetErrorName(hipMalloc(&more, 4))); fflush(stdout); _exit(0); }
  wait(nullptr);
  CHECK(hipFree(in)); CHECK(hipFree(out)); CHECK(hipFree(sum)); CHECK(hipHostFree(mapped));
  CHECK(hipEventDestroy(start)); CHECK(hipEventDestroy(stop));
  return 3;
}
