// Each way to use memory without an order that the first argument names, and with a second one the same with an order.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <thread>

__global__ void fill(int *out, int value) { out[threadIdx.x] = value; }
__global__ void add(int *out, const int *in) { out[threadIdx.x] += in[threadIdx.x]; }
__global__ void count(int *out) { atomicAdd(out, 1); }

int main(int words, char **word) {
  const char *name = words > 1 ? word[1] : "";
  int is_right = words > 2;
  int *a, *b, *managed, *pinned, host[128] = {0};
  hipStream_t first, second, apart;
  hipEvent_t event;
  (void)hipMalloc(&a, 512);
  (void)hipMalloc(&b, 512);
  (void)hipMallocManaged(&managed, 512);
  (void)hipHostMalloc(&pinned, 512);
  (void)hipMemset(a, 0, 512);
  (void)hipMemset(b, 0, 512);
  (void)hipStreamCreate(&first);
  (void)hipStreamCreate(&second);
  (void)hipStreamCreateWithFlags(&apart, hipStreamNonBlocking);
  (void)hipEventCreate(&event);
  if (!strcmp(name, "copies")) {
    (void)hipMemcpyAsync(a, b, 256, hipMemcpyDeviceToDevice, first);
    if (is_right) { (void)hipEventRecord(event, first); (void)hipStreamWaitEvent(second, event, 0); }
    (void)hipMemcpyAsync(a + 32, pinned, 256, hipMemcpyHostToDevice, second);
  }
  if (!strcmp(name, "kernels")) {
    fill<<<1, 64, 0, first>>>(a, 1);
    if (is_right) (void)hipStreamSynchronize(first);
    add<<<1, 64, 0, second>>>(b, a);
  }
  if (!strcmp(name, "late-event")) {
    (void)hipEventRecord(event, first);
    fill<<<1, 64, 0, first>>>(a, 1);
    if (is_right) (void)hipEventRecord(event, first);
    (void)hipStreamWaitEvent(second, event, 0);
    add<<<1, 64, 0, second>>>(b, a);
  }
  if (!strcmp(name, "non-blocking")) {
    fill<<<1, 64, 0, is_right ? first : apart>>>(a, 1);
    add<<<1, 64>>>(b, a);
  }
  if (!strcmp(name, "managed")) {
    fill<<<1, 64>>>(managed, 5);
    if (is_right) (void)hipDeviceSynchronize();
    printf("%d\n", managed[3]);
  }
  if (!strcmp(name, "pinned")) {
    fill<<<1, 64, 0, first>>>(a, 6);
    (void)hipMemcpyAsync(pinned, a, 256, hipMemcpyDeviceToHost, first);
    if (is_right) { (void)hipEventRecord(event, first); (void)hipEventSynchronize(event); }
    printf("%d\n", pinned[3]);
  }
  if (!strcmp(name, "thread")) {
    fill<<<1, 64, 0, first>>>(managed, 7);
    if (is_right) (void)hipStreamSynchronize(first);
    std::thread([&] { printf("%d\n", managed[3]); }).join();
  }
  if (!strcmp(name, "harmless")) {  // halves, atomic operations, and reads need no order; a copy to the stack waits
    fill<<<1, 64, 0, first>>>(a, 1);
    fill<<<1, 64, 0, second>>>(a + 64, 2);
    count<<<1, 64, 0, first>>>(b);
    count<<<1, 64, 0, apart>>>(b);
    (void)hipDeviceSynchronize();
    add<<<1, 64, 0, first>>>(managed, a);
    add<<<1, 64, 0, second>>>(b, a);
    fill<<<1, 64, 0, second>>>(pinned, 8);
    (void)hipMemcpyAsync(host, b, 256, hipMemcpyDeviceToHost, second);
    printf("%d %d\n", host[3], pinned[3]);
  }
  (void)hipDeviceSynchronize();
  for (int *each : {a, b, managed}) (void)hipFree(each);
  (void)hipHostFree(pinned);
}
