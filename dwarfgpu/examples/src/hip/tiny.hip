// HIP: the smallest useful kernel, for the containers that hold code objects.
#include "hip.h"

__device__ int scale = 3;

extern "C" __global__ void tiny(int *out, int value) {
  int item = ITEM;
  int scaled = value * scale;
  out[item] = scaled + item;
}
