#include "corpus.h"
__global__ void shared_memory(int *out) {
  __shared__ int tile[64];
  __shared__ double sum;
  int id = __builtin_amdgcn_workitem_id_x();
  tile[id] = id * 2;
  if (id == 0)
    sum = 0.5;
  __builtin_amdgcn_s_barrier();
  int other = tile[id ^ 3];
  out[id] = other + (int)sum;
}
