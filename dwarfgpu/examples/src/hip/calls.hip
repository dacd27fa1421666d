// HIP: chains of calls whose frames save registers in every way that call frame information can describe.
//
// The clobber lists make a function save the registers they name, whatever else the optimizer finds to save: s34 and up
// and some from v40 on are saved by the callee; s30/s31 hold the return address. `used` keeps the functions visible from
// outside: what callers expect of an unknown function holds for them.
#include "hip.h"

#define NOINLINE __attribute__((noinline, used))

// A leaf without a frame.
__device__ NOINLINE int leaf(int x) {
  int doubled = x * 2;
  return doubled + 1;
}

// Spills vector registers to scratch memory, for the lanes that are active on entry only, and scalar registers into
// lanes of a vector register.
__device__ NOINLINE int inner(int x, int *slot) {
  int local_array[4] = {x, x + 1, x + 2, x + 3};
  asm volatile("; v40, v41 and s34, s35 are in use" ::: "v40", "v41", "s34", "s35");
  *slot = local_array[x & 3];
  return leaf(x) + local_array[1];
}

// The same with values that live across the call.
__device__ NOINLINE int middle(int x, int y) {
  int slots[8];
  for (int i = 0; i < 8; ++i)
    slots[i] = i * y;
  int before = x * y;
  int got = inner(x + 1, &slots[y & 7]);
  asm volatile("; v42 is in use" ::: "v42");
  return got + before + slots[x & 7];
}

// A call that only some lanes make: the frames below exist for those lanes alone.
__device__ NOINLINE int outer(int x, int limit) {
  int result = x;
  if (x < limit)
    result += middle(x, limit);
  else
    result -= leaf(limit);
  return result;
}

// A frame for every level.
__device__ NOINLINE int recurse(int depth, int x) {
  int here = x + depth;
  if (depth > 0)
    here += recurse(depth - 1, here);
  return here;
}

// A frame of a size that is known only at run time: it needs a frame pointer.
__device__ NOINLINE int dynamic(int count, int x) {
  int *data = (int *)__builtin_alloca(count * sizeof(int));
  for (int i = 0; i < count; ++i)
    data[i] = leaf(x + i);
  return data[x & 1];
}

// A frame whose address other frames hold, and one that is aligned more than the stack is.
__device__ NOINLINE int aligned(int x) {
  alignas(64) int data[16];
  for (int i = 0; i < 16; ++i)
    data[i] = x + i;
  return inner(data[x & 15], &data[3]);
}

// A call through a pointer.
__device__ NOINLINE int indirect(int (*function)(int), int x) { return function(x) + 1; }

// Many vector registers at once.
__device__ NOINLINE float wide(float *values, int n) {
  float sum[24];
  for (int i = 0; i < 24; ++i)
    sum[i] = values[i];
  for (int k = 0; k < n; ++k) {
    int tag = leaf(k);
#pragma unroll
    for (int i = 0; i < 24; ++i)
      sum[i] = sum[i] * values[k] + (float)tag;
  }
  float total = 0;
  for (int i = 0; i < 24; ++i)
    total += sum[i];
  return total;
}

__global__ void calls(int *out, float *values, int n) {
  int lane = ITEM;
  int result = outer(lane, n);
  result += recurse(n & 3, lane);
  result += dynamic(n & 15, lane);
  result += aligned(lane);
  result += indirect(leaf, lane);
  out[lane] = result + (int)wide(values, n);
}
