// Results that nothing looks at, one a line, behind lines that look at theirs.
#include <hip/hip_runtime.h>
#include <cstdio>

#define CHECK(call) do { hipError_t error = (call); if (error != hipSuccess) printf("%d\n", error); } while (0)
__global__ void nothing(int) {}

static hipError_t passed() { return hipSetDevice(9); }

int main(int count, char **) {
  int device;
  CHECK(hipSetDevice(7));
  if (hipSetDevice(7) == hipSuccess) return 1;
  hipError_t kept = hipSetDevice(7);
  kept =
      hipSetDevice(7);
  bool is_same = passed() == kept
      && hipSetDevice(7) == kept;
  nothing<<<1, 2000>>>(1);
  printf("%s %d\n", hipGetErrorName(hipGetLastError()), is_same);
  (void)hipGetDevice(&device), (void)hipSetDevice(0); if (hipSetDevice(7) == hipSuccess) return 1;
  if (count > 1) return 0;
  hipSetDevice(7);
  if (device == 0) (void)hipSetDevice(
      7 + (device));
  else hipSetDevice(1);
  nothing<<<1, 2000>>>(1);
}
