#include "corpus.h"
__device__ __attribute__((noinline)) void change(int &target, const int &by) {
  int before = target;
  target = before + by;
}
__global__ void references(int *out, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int own = id;
  int &alias = own;
  change(alias, n);
  out[id] = own;
}
