// The part of HIP's door that is not made from prototypes: `<<<...>>>` pushes its configuration, which the stub of the
// kernel pops in the same thread; and a function that returns a structure.
#include "core.h"

typedef struct { uint32_t x, y, z; } dim3;
typedef struct { dim3 grid, block; size_t shared; word stream; } configuration;
typedef struct { int bits[4], kind; } format;

enum { MOST_PUSHED = 16, NO_DEVICE = 100, INVALID_CONFIGURATION = 9 };

const uint32_t dwarfgpu_api = 0;
const word dwarfgpu_no_device = NO_DEVICE;
const char dwarfgpu_no_device_text[] = "hipErrorNoDevice";
static __thread configuration pushed[MOST_PUSHED];
static __thread unsigned depth;

API int __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, word stream) {
  if (depth == MOST_PUSHED) return INVALID_CONFIGURATION;
  pushed[depth++] = (configuration){grid, block, shared, stream};
  return 0;
}

API int __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, word *stream) {
  if (!depth) return INVALID_CONFIGURATION;
  configuration last = pushed[--depth];
  *grid = last.grid, *block = last.block, *shared = last.shared, *stream = last.stream;
  return 0;
}

API format hipCreateChannelDesc(int x, int y, int z, int w, int kind) { return (format){{x, y, z, w}, kind}; }
