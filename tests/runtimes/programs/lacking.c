// What is not there: each line is a call and its error.
#include <stddef.h>
#include <stdio.h>

#define NAMES(X) \
  X(hipMallocMipmappedArray) X(hipFreeMipmappedArray) X(hipGetMipmappedArrayLevel) X(hipMipmappedArrayCreate) \
  X(hipBindTextureToMipmappedArray) X(hipModuleGetTexRef) X(hipTexRefSetArray) X(hipTexRefSetAddress) \
  X(hipIpcGetMemHandle) X(hipIpcOpenMemHandle) X(hipIpcCloseMemHandle) X(hipIpcGetEventHandle) X(hipIpcOpenEventHandle) \
  X(hipMemPoolExportToShareableHandle) X(hipMemExportToShareableHandle)
#define DECLARE(name) int name(void);
#define CALL(name) printf("%s %d\n", #name, name());
NAMES(DECLARE)

struct extent { size_t width, height, depth; };
struct property { int type, handles, location, device; void *data; long flags; };
int hipMalloc3DArray(void **, const int *, struct extent, unsigned);
int hipArray3DCreate(void **, const void *);
int hipCreateTextureObject(void **, const void *, const void *, const void *);
int hipMemGetAllocationGranularity(size_t *, const struct property *, int);
int hipMemAddressReserve(char **, size_t, size_t, void *, unsigned long long);
int hipMemCreate(void **, size_t, const struct property *, unsigned long long);
int hipMemMap(char *, size_t, size_t, void *, unsigned long long);
int hipMemUnmap(char *, size_t);
int hipMemRelease(void *);
int hipMemAddressFree(char *, size_t);

int main(void) {
  NAMES(CALL)
  void *array = NULL, *texture = NULL, *memory;
  int format[] = {32, 0, 0, 0, 2};
  struct { struct extent extent; int format; unsigned channels, flags; } cube = {{4, 4, 6}, 32, 1, 4};
  printf("cube %d\n", hipMalloc3DArray(&array, format, cube.extent, cube.flags));
  printf("cube of the driver %d, %p\n", hipArray3DCreate(&array, &cube), array);
  char resource[64] = {1}, how[64] = {0};
  printf("mipmap %d, %p\n", hipCreateTextureObject(&texture, resource, how, NULL), texture);

  struct property all = {.type = 1, .location = 1};
  size_t size;
  char *place;
  int done = hipMemGetAllocationGranularity(&size, &all, 0) + hipMemAddressReserve(&place, 2 * size, 0, NULL, 0);
  done += hipMemCreate(&memory, size, &all, 0) + hipMemMap(place, size, 0, memory, 0);
  printf("address %d, second address %d\n", done, hipMemMap(place + size, size, 0, memory, 0));
  return hipMemUnmap(place, size) + hipMemRelease(memory) + hipMemAddressFree(place, 2 * size);
}
