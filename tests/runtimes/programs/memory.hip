// Memory of the host that kernels access, pools, boxes, arrays, and what pointers point to.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>
#include <vector>

#define CHECK(call) \
  do { hipError_t error = (call); if (error) { printf("%s: %s\n", #call, hipGetErrorName(error)); return 1; } } while (0)
static bool is(hipError_t expected, hipError_t found) {
  if (expected != found) printf("%s in place of %s\n", hipGetErrorName(found), hipGetErrorName(expected));
  return expected == found;
}
__global__ void doubled(int *out, const int *in) { out[threadIdx.x] = 2 * in[threadIdx.x]; }

static int registered() {
  std::vector<int> here(1000), there(64);
  static int fixed[64];
  int *device, *same;
  for (int i = 0; i < 1000; i++) here[i] = i;
  CHECK(hipMalloc(&device, 256));
  CHECK(hipHostRegister(here.data(), 4000, hipHostRegisterMapped));
  CHECK(hipHostRegister(fixed, sizeof fixed, hipHostRegisterDefault));
  CHECK(hipHostGetDevicePointer(&same, here.data(), 0));
  doubled<<<1, 64>>>(device, here.data());
  CHECK(hipMemcpy(there.data(), device, 256, hipMemcpyDeviceToHost));
  here[100] = -5;
  doubled<<<1, 64>>>(fixed, same + 100);
  CHECK(hipDeviceSynchronize());
  printf("registered %d, %d %d, same %d\n", there[63], fixed[0], fixed[63], same == here.data());
  CHECK(hipMemset(fixed, 1, 8)); CHECK(hipMemcpy(fixed + 2, device, 4, hipMemcpyDeviceToHost));
  hipPointerAttribute_t about;
  CHECK(hipPointerGetAttributes(&about, &fixed[3]));
  int errors = is(hipErrorHostMemoryAlreadyRegistered, hipHostRegister(&fixed[3], 4, 0)) + is(hipErrorInvalidValue, hipHostRegister(nullptr, 4, 0));
  CHECK(hipHostUnregister(fixed)); CHECK(hipHostUnregister(here.data()));
  errors += is(hipErrorHostMemoryNotRegistered, hipHostUnregister(fixed)) + is(hipErrorInvalidValue, hipPointerGetAttributes(&about, fixed));
  printf("set %x %d, type %d, errors %d\n", fixed[1], fixed[2], about.type, errors);
  CHECK(hipFree(device));
  return 0;
}

static int pools() {
  hipMemPool_t pool, other, current;
  hipMemPoolProps properties = {};
  properties.allocType = hipMemAllocationTypePinned, properties.location = {hipMemLocationTypeDevice, 0};
  unsigned long long used = 0, most = 0, threshold = 1 << 20, found = 0;
  int *cells, *more, follows = 0;
  CHECK(hipDeviceGetDefaultMemPool(&pool, 0)); CHECK(hipMemPoolCreate(&other, &properties));
  CHECK(hipMemPoolSetAttribute(other, hipMemPoolAttrReleaseThreshold, &threshold));
  CHECK(hipMemPoolGetAttribute(other, hipMemPoolAttrReleaseThreshold, &found));
  CHECK(hipMallocFromPoolAsync(&cells, 4096, other, nullptr)); CHECK(hipMallocAsync(&more, 64, nullptr));
  CHECK(hipMemPoolGetAttribute(other, hipMemPoolAttrUsedMemCurrent, &used));
  CHECK(hipFreeAsync(cells, nullptr)); CHECK(hipFreeAsync(more, nullptr));
  CHECK(hipMemPoolGetAttribute(other, hipMemPoolAttrUsedMemHigh, &most));
  CHECK(hipMemPoolGetAttribute(pool, hipMemPoolReuseFollowEventDependencies, &follows));
  CHECK(hipDeviceSetMemPool(0, other)); CHECK(hipDeviceGetMemPool(&current, 0)); CHECK(hipMemPoolTrimTo(other, 0));
  printf("pools %llu %llu, most %llu, follows %d, set %d\n", found, used, most, follows, current == other);
  CHECK(hipMemPoolDestroy(other)); CHECK(hipDeviceGetMemPool(&current, 0));
  printf("again %d, destroyed %d\n", current == pool, is(hipErrorInvalidValue, hipMemPoolTrimTo(other, 0)));
  return 0;
}

static int boxes() {
  hipExtent extent = make_hipExtent(12, 3, 2);
  hipPitchedPtr box;
  int here[2][3][3], back[18] = {}, rows[4] = {};
  for (int i = 0; i < 18; i++) (&here[0][0][0])[i] = i;
  CHECK(hipMalloc3D(&box, extent)); CHECK(hipMemset3D(box, 0xff, extent));
  hipMemcpy3DParms copy = {};
  copy.srcPtr = make_hipPitchedPtr(here, 12, 12, 3), copy.dstPtr = box, copy.extent = make_hipExtent(8, 3, 2), copy.kind = hipMemcpyHostToDevice;
  CHECK(hipMemcpy3D(&copy));
  hipMemcpy3DParms again = {};
  again.srcPtr = box, again.dstPtr = make_hipPitchedPtr(back, 12, 12, 3), again.extent = extent, again.kind = hipMemcpyDeviceToHost;
  CHECK(hipMemcpy3DAsync(&again));
  hip_Memcpy2D plane = {};
  plane.srcMemoryType = hipMemoryTypeDevice, plane.srcDevice = box.ptr, plane.srcPitch = box.pitch, plane.srcXInBytes = 4, plane.srcY = 1;
  plane.dstMemoryType = hipMemoryTypeHost, plane.dstHost = rows, plane.dstPitch = 8, plane.WidthInBytes = 8, plane.Height = 2;
  CHECK(hipMemcpyParam2D(&plane));
  printf("boxes %d %d %d, plane %d %d %d, pitch %zu\n", back[0], back[10], back[17], rows[0], rows[1], rows[2], box.pitch);
  hipArray_t array, line;
  hipChannelFormatDesc channels = hipCreateChannelDesc<int>(), known;
  hipExtent size;
  unsigned flags;
  CHECK(hipMallocArray(&array, &channels, 3, 6)); CHECK(hipArrayGetInfo(&known, &size, &flags, array));
  CHECK(hipMemcpy2DToArray(array, 0, 0, here, 12, 12, 6, hipMemcpyHostToDevice));
  CHECK(hipMemcpy2DFromArray(back, 8, array, 4, 2, 8, 3, hipMemcpyDeviceToHost));
  HIP_ARRAY_DESCRIPTOR described = {8, 0, HIP_AD_FORMAT_FLOAT, 1};
  CHECK(hipArrayCreate(&line, &described)); CHECK(hipMemcpyHtoA(line, 4, here, 12)); CHECK(hipMemcpyAtoH(rows, line, 8, 8));
  int refused = is(hipErrorInvalidValue, hipMemcpyHtoA(line, 28, here, 8)) + is(hipErrorInvalidValue, hipMemcpyAtoH(rows, array, 72, 4));
  printf("arrays %d %d %d, %d %zu %zu, line %d %d, refused %d\n", back[0], back[1], back[5], known.x, size.width, size.height, rows[0], rows[1], refused);
  CHECK(hipFreeArray(array)); CHECK(hipArrayDestroy(line)); CHECK(hipFree(box.ptr));
  return 0;
}

static int pointers() {
  char *both, *device;
  hipDeviceptr_t start;
  size_t size, whole;
  int type, place, last;
  bool is_managed;
  CHECK(hipMallocManaged(&both, 1000)); CHECK(hipMalloc(&device, 100));
  CHECK(hipMemGetAddressRange(&start, &size, device + 40)); CHECK(hipMemPtrGetInfo(both, &whole));
  CHECK(hipPointerGetAttribute(&type, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
  CHECK(hipPointerGetAttribute(&is_managed, HIP_POINTER_ATTRIBUTE_IS_MANAGED, both));
  printf("pointers %d %zu %zu, %d %d, none %d\n", start == device, size, whole, type, is_managed, is(hipErrorNotFound, hipMemGetAddressRange(&start, &size, &size)));
  CHECK(hipMemAdvise(both, 1000, hipMemAdviseSetPreferredLocation, hipCpuDeviceId)); CHECK(hipMemPrefetchAsync(both, 1000, 0));
  CHECK(hipMemRangeGetAttribute(&place, 4, hipMemRangeAttributePreferredLocation, both, 1000));
  CHECK(hipMemRangeGetAttribute(&last, 4, hipMemRangeAttributeLastPrefetchLocation, both, 1000));
  CHECK(hipMemAdvise(both, 1000, hipMemAdviseUnsetPreferredLocation, 0));
  printf("advice %d %d", place, last);
  CHECK(hipMemRangeGetAttribute(&place, 4, hipMemRangeAttributePreferredLocation, both, 1000));
  printf(" %d\n", place);
  CHECK(hipFree(both)); CHECK(hipFree(device));
  return 0;
}

int main() { return registered() || pools() || boxes() || pointers(); }

// Prints:
// registered 126, -10 326, same 1
// set 1010101 0, type 1, errors 4
// pools 1048576 4096, most 4096, follows 1, set 1
// again 1, destroyed 1
// boxes 0 10 -1, plane 4 -1 7, pitch 256
// arrays 7 8 14, 32 3 6, line 1 2, refused 2
// pointers 1 100 1000, 2 1, none 1
// advice -1 0 -2
// 2 launches, 1 kernel, no error
