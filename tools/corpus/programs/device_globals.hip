#include "corpus.h"
__device__ int total = 42;
__constant__ float weights[3] = { 0.5f, 1.5f, 2.5f };
namespace settings { __device__ long limit = 77; }
__global__ void device_globals(int *out) {
  int id = __builtin_amdgcn_workitem_id_x();
  float weight = weights[id % 3];
  out[id] = total + (int)weight + (int)settings::limit;
}
