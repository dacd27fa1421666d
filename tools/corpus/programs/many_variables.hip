#include "corpus.h"
__device__ __attribute__((noinline)) int keep(int x) { int y = x ^ 21; return y; }
__global__ void many_variables(int *out, const int *in) {
  int id = __builtin_amdgcn_workitem_id_x();
  int a = in[id], b = in[id + 1], c = in[id + 2], d = in[id + 3];
  int e = keep(a), f = keep(b + e), g = keep(c + f);
  out[id] = a + b * c - d + e * f + g;
}
