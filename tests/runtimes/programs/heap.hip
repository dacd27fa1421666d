// Memory that kernels allocate and free, and objects that have virtual functions.
#include <hip/hip_runtime.h>
#include <memory>
#include <new>
struct Number {
  int value;
  __device__ Number(int value) : value(value) {}
  __device__ virtual ~Number() {}
  __device__ virtual int sum() { return value; }
};
struct Row : Number {
  int *numbers;
  __device__ Row(int count) : Number(count), numbers(new int[count + 1]) { for (int i = 0; i <= count; i++) numbers[i] = i; }
  __device__ ~Row() override { delete[] numbers; }
  __device__ int sum() override {
    int found = 0;
    for (int i = 0; i <= value; i++) found += numbers[i];
    return found;
  }
};
__global__ void added(int *sums) {
  int id = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
  for (int round = 0; round < 3; round++) {
    Number *number = id % 2 ? new Number(id) : new Row(id);
    char *bytes = (char *)malloc(100);
    alignas(Number) char place[sizeof(Number)];
    sum += number->sum() + (new (place) Number(round))->sum() - round;
    for (int i = 0; i < 100; i++) bytes[i] = (char)i;
    for (int i = 0; i < 100; i++) sum += bytes[i] != i;
    free(bytes);
    delete number;
  }
  sums[id] = sum + (malloc(1 << 30) != nullptr) + (malloc(0) != nullptr);
}
__global__ void freed_twice() {
  void *block = malloc(8);
  free(block);
  free(block);
}
int main() {
  const int count = 128;
  int *sums, wrong = 0;
  auto host = std::make_unique<int[]>(count);
  (void)hipMalloc(&sums, count * sizeof(int));
  added<<<2, count / 2>>>(sums);
  (void)hipMemcpy(host.get(), sums, count * sizeof(int), hipMemcpyDeviceToHost);
  for (int i = 0; i < count; i++) wrong += host[i] != 3 * (i % 2 ? i : i * (i + 1) / 2);
  printf("wrong %d\n", wrong);
  (void)hipFree(sums);
  freed_twice<<<1, 1>>>();
  printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
}
// Prints:
// wrong 0
// hipErrorLaunchFailure
// 2 launches, 2 kernels, 1 error
