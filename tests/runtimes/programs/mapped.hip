// Memory that is mapped at addresses that were reserved, as a vector that grows.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>

#define CHECK(call) \
  do { hipError_t error = (call); if (error) { printf("%s: %s\n", #call, hipGetErrorName(error)); return 1; } } while (0)
static bool is(hipError_t expected, hipError_t found) {
  if (expected != found) printf("%s in place of %s\n", hipGetErrorName(found), hipGetErrorName(expected));
  return expected == found;
}
__global__ void numbered(int *cells, int first) { cells[first + blockIdx.x * blockDim.x + threadIdx.x] = first + threadIdx.x; }

int main(int argc, char **) {
  hipMemAllocationProp about = {}, same;
  about.type = hipMemAllocationTypePinned, about.location = {hipMemLocationTypeDevice, 0};
  hipMemAccessDesc all = {about.location, hipMemAccessFlagsProtReadWrite}, reading = {about.location, hipMemAccessFlagsProtRead};
  size_t least, usual;
  CHECK(hipMemGetAllocationGranularity(&least, &about, hipMemAllocationGranularityMinimum));
  CHECK(hipMemGetAllocationGranularity(&usual, &about, hipMemAllocationGranularityRecommended));
  const int count = (int)(usual / sizeof(int));
  hipMemGenericAllocationHandle_t first, second, again;
  void *place, *other;
  CHECK(hipMemAddressReserve(&place, 8 * usual, usual, nullptr, 0)); CHECK(hipMemAddressReserve(&other, 2 * usual, 0, nullptr, 0));
  CHECK(hipMemCreate(&first, usual, &about, 0)); CHECK(hipMemCreate(&second, usual, &about, 0));
  int *cells = (int *)place;
  CHECK(hipMemMap(place, usual, 0, first, 0)); CHECK(hipMemSetAccess(place, usual, &all, 1));
  numbered<<<1, 64>>>(cells, count - 64);
  CHECK(hipMemMap(cells + count, usual, 0, second, 0)); CHECK(hipMemSetAccess(cells + count, usual, &all, 1));
  numbered<<<2, 64>>>(cells, count - 32);
  int ends[4];
  CHECK(hipMemcpy(ends, cells + count - 2, sizeof ends, hipMemcpyDeviceToHost));
  printf("across %d %d %d %d\n", ends[0] - count, ends[1] - count, ends[2] - count, ends[3] - count);
  unsigned long long flags;
  CHECK(hipMemGetAccess(&flags, &about.location, cells)); CHECK(hipMemGetAllocationPropertiesFromHandle(&same, first));
  CHECK(hipMemRetainAllocationHandle(&again, cells + 5));
  printf("access %llu, same %d, handle %d\n", flags, !memcmp(&same, &about, sizeof about), again == first);
  CHECK(hipMemRelease(first)); CHECK(hipMemRelease(again));
  CHECK(hipMemUnmap(place, usual)); // its memory is gone, and the other one moves
  CHECK(hipMemUnmap(cells + count, usual)); CHECK(hipMemMap(other, usual, 0, second, 0)); CHECK(hipMemSetAccess(other, usual, &reading, 1));
  CHECK(hipMemcpy(ends, other, sizeof ends, hipMemcpyDeviceToHost));
  printf("moved %d %d\n", ends[0] - count, ends[1] - count);
  int refused = is(hipErrorInvalidValue, hipMemMap(other, usual, 0, first, 0)) + is(hipErrorNotSupported, hipMemMap(place, usual, 0, second, 0));
  refused += is(hipErrorInvalidValue, hipMemAddressFree(other, 2 * usual)) + is(hipErrorInvalidValue, hipFree(other));
  refused += is(hipErrorInvalidValue, hipMemCreate(&first, 100, &about, 0)) + is(hipErrorInvalidValue, hipMemUnmap(other, 2 * usual));
  printf("refused %d\n", refused);
  if (argc > 1) {
    numbered<<<1, 64>>>((int *)(argc > 2 ? other : place), 0); // may only be read, and nothing is there
    printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
  }
  CHECK(hipMemUnmap(other, usual)); CHECK(hipMemRelease(second));
  CHECK(hipMemAddressFree(other, 2 * usual)); CHECK(hipMemAddressFree(place, 8 * usual));
}
// Prints:
// across -2 -1 0 1
// access 3, same 1, handle 1
// moved 0 1
// refused 6
// 2 launches, 1 kernel, 1 error, 1 warning
