// Each error that the name in the first argument says, and with a second argument the same without the error.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
__global__ void written(int *out, int first) { out[threadIdx.x + first] = 1; }
__global__ void raced(int *out, int is_atomic) {
  if (is_atomic) atomicAdd(out, 1); else *out = *out + 1;
}
__global__ void trapped(int is_right) { if (!is_right) __builtin_trap(); }
extern "C" int close(int); static struct Last { int *cells = nullptr; ~Last() { if (cells) written<<<1, 64>>>(cells, 0); } } last;
int main(int count, char **words) {
  int is_right = count > 2;
  const char *name = count > 1 ? words[1] : "";
  int *cells, *other, host[64] = {0};
  (void)hipMalloc(&cells, 256);
  (void)hipMalloc(&other, 256);
  (void)hipMemset(cells, 0, 256);
  if (!strcmp(name, "beyond")) written<<<1, 64>>>(cells, !is_right);
  if (!strcmp(name, "race")) raced<<<1, 64>>>(cells, is_right);
  if (!strcmp(name, "trap")) trapped<<<1, 64>>>(is_right);
  if (!strcmp(name, "host-pointer")) written<<<1, 64>>>(is_right ? cells : host, 0);
  if (!strcmp(name, "freed")) {
    if (!is_right) (void)hipFree(other);
    written<<<1, 64>>>(other, 0);
  }
  if (!strcmp(name, "copy")) (void)hipMemcpy(host, cells, is_right ? 256 : 260, hipMemcpyDeviceToHost);
  if (!strcmp(name, "direction")) (void)hipMemcpy(host, cells, 4, is_right ? hipMemcpyDeviceToHost : hipMemcpyHostToDevice);
  if (!strcmp(name, "twice")) { (void)hipFree(cells); if (!is_right) (void)hipFree(cells); }
  if (!strcmp(name, "unknown")) (void)hipFree(is_right ? nullptr : cells + 1);
  if (!strcmp(name, "threads")) written<<<1, is_right ? 64 : 2000>>>(cells, 0);
  if (!strcmp(name, "empty")) written<<<is_right, 64>>>(cells, 0);
  if (!strcmp(name, "host-access")) { fflush(stdout); printf("%d\n", is_right ? 0 : cells[3]); }
  if (!strcmp(name, "no-memory")) {
    char *pages = (char *)mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 4096, 4096);
    (void)hipMemcpy(pages + (is_right ? 0 : 4000), cells, 256, hipMemcpyDeviceToHost);
  }
  if (!strcmp(name, "rows")) (void)hipMemcpy2D(host, is_right ? 8 : 1ull << 62, host + 32, 8, 4, 6, hipMemcpyHostToHost);
  if (!strcmp(name, "shared")) written<<<1, 64, is_right ? 256 : 70000>>>(cells, 0);
  if (!strcmp(name, "freed-copy")) {
    if (!is_right) (void)hipFree(other);
    (void)hipMemcpy(host, other, 4, hipMemcpyDeviceToHost);
  }
  if (!strcmp(name, "late") && !is_right) last.cells = cells;
  if (!strcmp(name, "closed") && !is_right) for (int i = 3; i < 100; i++) close(i);
  if (!strcmp(name, "free-other")) {
    int *pinned;
    (void)hipHostMalloc(&pinned, 4);
    (void)(is_right ? hipHostFree(pinned) : hipFree(pinned));
  }
  if (!strcmp(name, "null-result")) {
    int number, *result = is_right ? &number : nullptr;
    if (!hipGetDevice(result) != is_right) return 8;
    if (!hipGetDeviceCount(result) != is_right) return 9;
  }
  if (!strcmp(name, "after")) {
    hipEvent_t event; hipStream_t stream; void *more;
    (void)hipEventCreate(&event); (void)hipStreamCreate(&stream);
    if (!is_right) written<<<1, 64>>>(cells, 1);
    (void)hipDeviceSynchronize();
    int results[] = {
      hipMalloc(&more, 4), hipMemcpy(host, cells, 4, hipMemcpyDeviceToHost), hipMemset(cells, 0, 4), hipFree(cells),
      hipStreamCreate(&stream), hipStreamSynchronize(stream), hipEventCreate(&event), hipEventRecord(event, stream),
      hipStreamWaitEvent(stream, event, 0), hipEventSynchronize(event), hipDeviceSynchronize(),
      hipLaunchKernel((void *)written, 1, 64, (void *[]){&other, &is_right}, 0, nullptr),
    };
    for (int each : results) printf("%d ", each);
  }
  if (!strcmp(name, "pitch")) {
    printf("%d ", hipMemcpy2D(cells, 8, host, is_right ? 8 : 4, 8, 2, hipMemcpyHostToDevice));
    printf("%d ", hipMemcpy2D(cells, is_right ? 8 : 4, host, 8, 8, 2, hipMemcpyHostToDevice));
  }
  printf("%s, then %s\n", hipGetErrorName(hipGetLastError()), hipGetErrorName(hipDeviceSynchronize()));
  if (is_right) { if (strcmp(name, "twice")) (void)hipFree(cells); (void)hipFree(other); }
  return 0;
}
