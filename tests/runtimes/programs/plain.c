// A program without kernels, in C: memory of the device, and a function that is not there.
#include <stdio.h>
#include <string.h>

int hipMalloc(void **, size_t);
int hipMemcpy(void *, const void *, size_t, int);
int hipFree(void *);
int hipIpcGetMemHandle(void *, void *);

int main(void) {
  void *device, *handle = NULL;
  char there[4096], back[4096] = {0};
  memset(there, 7, sizeof there);
  if (hipMalloc(&device, sizeof there) || hipMemcpy(device, there, sizeof there, 1)) return 2;
  int error = hipMemcpy(back, device, sizeof back, 2);
  printf("copied %d\n", !error && !memcmp(there, back, sizeof back));
  printf("not supported %d\nnull %p\n", hipIpcGetMemHandle(&handle, device), handle);
  return hipFree(device);
}
