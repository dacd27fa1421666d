#include "corpus.h"
__device__ __attribute__((noinline)) int plus_one(int x) { int y = x + 1; return y; }
__device__ __attribute__((noinline)) int minus_one(int x) { int y = x - 1; return y; }
__global__ void function_pointers(int *out, int which) {
  int id = __builtin_amdgcn_workitem_id_x();
  int (*chosen)(int) = which ? plus_one : minus_one;
  int value = chosen(id);
  out[id] = value;
}
