// A program without kernels, in C: memory of the device, and a function that is not there.
#include <stdio.h>
#include <string.h>

int hipMalloc(void **, size_t);
int hipMemcpy(void *, const void *, size_t, int);
int hipFree(void *);
int hipIpcGetMemHandle(void *, void *);
struct format { int x, y, z, w, kind; } hipCreateChannelDesc(int, int, int, int, int);
#ifdef R0600 /* HIP 6 and later: where hipDeviceProp_t has gcnArchName and warpSize, and its size */
int hipGetDevicePropertiesR0600(void *, int);
#define hipGetDeviceProperties hipGetDevicePropertiesR0600
enum { NAME = 1160, LANES = 308, SIZE = 1472 };
#else
int hipGetDeviceProperties(void *, int);
enum { NAME = 396, LANES = 276, SIZE = 792 };
#endif

int main(void) {
  void *device, *handle = NULL;
  char there[4096], back[4096] = {0};
  memset(there, 7, sizeof there);
  if (hipMalloc(&device, sizeof there) || hipMemcpy(device, there, sizeof there, 1)) return 2;
  int error = hipMemcpy(back, device, sizeof back, 2);
  printf("copied %d\n", !error && !memcmp(there, back, sizeof back));
  printf("not supported %d\nnull %p\n", hipIpcGetMemHandle(&handle, device), handle);
  struct format pair = hipCreateChannelDesc(32, 16, 0, 0, 2);
  printf("format %d %d %d %d\n", pair.x, pair.y, pair.w, pair.kind);
  int lanes;
  memset(there, 90, sizeof there);
  error = hipGetDeviceProperties(there, 0);
  memcpy(&lanes, there + LANES, sizeof lanes);
  printf("properties %d %s %d %c\n", error, there + NAME, lanes, there[SIZE]);
  return hipFree(device);
}
