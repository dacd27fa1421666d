#include "corpus.h"
__device__ __attribute__((noinline)) int factorial(int n) {
  int smaller = n - 1;
  if (smaller < 1)
    return 1;
  int rest = factorial(smaller);
  return n * rest;
}
__global__ void recursion(int *out) {
  int id = __builtin_amdgcn_workitem_id_x();
  int value = factorial(id & 7);
  out[id] = value;
}
