// Contexts, the only device, attributes of functions, values that streams write.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>

#define CHECK(call) \
  do { hipError_t error = (call); if (error) { printf("%s: %s\n", #call, hipGetErrorName(error)); return 1; } } while (0)
template <int count> struct Lanes { static constexpr int value = count; };
__global__ void lanes(int *out) { *out = Lanes<warpSize>::value == __builtin_amdgcn_wavefrontsize() && warpSize == __AMDGCN_WAVEFRONT_SIZE; }
__global__ void kernel(int *out) {
  __shared__ int kept[32];
  kept[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = kept[31 - threadIdx.x];
}

static int contexts() {
  hipCtx_t first, second, found;
  unsigned flags = 9, version;
  int is_active = 0;
  hipDevice_t device = 7;
  CHECK(hipDevicePrimaryCtxRetain(&first, 0)); CHECK(hipCtxCreate(&second, 4, 0));
  CHECK(hipCtxGetCurrent(&found)); CHECK(hipCtxGetDevice(&device)); CHECK(hipCtxGetApiVersion(second, &version));
  printf("contexts %d, device %d, version %u", found == second, device, version);
  CHECK(hipCtxGetFlags(&flags)); CHECK(hipCtxPushCurrent(first)); CHECK(hipCtxPopCurrent(&found));
  printf(", flags %u, popped %d", flags, found == first);
  CHECK(hipCtxSetCurrent(first)); CHECK(hipCtxDestroy(second)); CHECK(hipCtxGetCurrent(&found));
  CHECK(hipDevicePrimaryCtxGetState(0, &flags, &is_active)); CHECK(hipDevicePrimaryCtxRelease(0));
  printf(", current %d, active %d, destroyed %d\n", found == first, is_active, hipCtxSetCurrent(second) == hipErrorInvalidValue);
  return 0;
}

static int devices() {
  char name[16];
  int device = 7, chosen = 7;
  hipUUID unique = {};
  hipDeviceProp_t about = {};
  CHECK(hipDeviceGetPCIBusId(name, sizeof name, 0)); CHECK(hipDeviceGetByPCIBusId(&device, name));
  CHECK(hipDeviceGetUuid(&unique, 0)); CHECK(hipChooseDevice(&chosen, &about));
  int peer = hipDeviceGetP2PAttribute(&peer, hipDevP2PAttrAccessSupported, 0, 1) == hipErrorInvalidDevice;
  printf("devices %d %d, unique %d, peer %d\n", device, chosen, unique.bytes[0] != 0, peer);
  return 0;
}

static int functions() {
  hipFuncAttributes about;
  int *cells, here[32], *signal;
  CHECK(hipFuncGetAttributes(&about, kernel));
  CHECK(hipMalloc(&cells, 128)); CHECK(hipExtMallocWithFlags((void **)&signal, 8, hipMallocSignalMemory));
  void *arguments[] = {&cells};
  hipLaunchParams launch = {(void *)kernel, dim3(1), dim3(32), arguments, 0, nullptr};
  CHECK(hipLaunchCooperativeKernelMultiDevice(&launch, 1, 0));
  CHECK(hipMemcpy(here, cells, 128, hipMemcpyDeviceToHost));
  printf("functions %zu %d, %s, launched %d\n", about.sharedSizeBytes, about.maxThreadsPerBlock, hipKernelNameRefByPtr((void *)kernel, nullptr), here[0]);
  CHECK(hipStreamWriteValue32(nullptr, signal, 5, 0)); CHECK(hipStreamWaitValue32(nullptr, signal, 3, hipStreamWaitValueGte));
  int refused = hipStreamWaitValue64(nullptr, signal, 6, hipStreamWaitValueEq) == hipErrorNotSupported;
  lanes<<<1, 1>>>(cells);
  int is_size = 0;
  CHECK(hipMemcpy(&is_size, cells, sizeof is_size, hipMemcpyDeviceToHost));
  printf("values, refused %d, lanes %d, on %d\n", refused, is_size, hipGetStreamDeviceId(nullptr));
  CHECK(hipFree(cells)); CHECK(hipFree(signal));
  return 0;
}

int main() { return contexts() || devices() || functions(); }

// Prints:
// contexts 1, device 0, version 4, flags 4, popped 1, current 1, active 1, destroyed 1
// devices 0 0, unique 1, peer 1
// functions 128 1024, _Z6kernelPi, launched 31
// values, refused 1, lanes 1, on 0
// 2 launches, 2 kernels, 1 warning
