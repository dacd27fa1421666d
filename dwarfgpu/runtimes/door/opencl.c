// The part of OpenCL's door that is not made from prototypes: what loaders call before they know an object, and the
// thread in which functions of the program are called back.
#include "core.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const uint32_t dwarfgpu_api = 1;
const word dwarfgpu_no_device = (word)-1001;  // CL_PLATFORM_NOT_FOUND_KHR
const char dwarfgpu_no_device_text[] = "";

extern void *const dwarfgpu_dispatch[];
extern const struct { const char *name; void *function; } dwarfgpu_functions[];
int dwarfgpu_platforms(word dispatch, word starts_callbacks, word exits, unsigned room, word platforms, word count);
int dwarfgpu_callbacks(void);

static void *called_back(void *nothing) {
  dwarfgpu_callbacks();
  return nothing;
}

static word start_callbacks(void) {
  pthread_t thread;
  int error = pthread_create(&thread, NULL, called_back, NULL);
  if (!error) pthread_detach(thread);
  return (word)error;
}

API int clGetPlatformIDs(unsigned room, word platforms, word count) {
  return dwarfgpu_platforms((word)dwarfgpu_dispatch, (word)start_callbacks, (word)exit, room, platforms, count);
}

API int clIcdGetPlatformIDsKHR(unsigned room, word platforms, word count) {
  return clGetPlatformIDs(room, platforms, count);
}

API void *clGetExtensionFunctionAddress(const char *name) {
  if (name && !strcmp(name, "clIcdGetPlatformIDsKHR")) return (void *)clIcdGetPlatformIDsKHR;
  for (int i = 0; name && dwarfgpu_functions[i].name; i++)
    if (!strcmp(name, dwarfgpu_functions[i].name)) return dwarfgpu_functions[i].function;
  return NULL;
}

API void *clGetExtensionFunctionAddressForPlatform(word platform, const char *name) {
  (void)platform;
  return clGetExtensionFunctionAddress(name);
}
