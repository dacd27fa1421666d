#include "corpus.h"
__device__ __attribute__((noinline)) short mix(char a, short b, bool flag, unsigned char c) {
  short both = a + b;
  return flag ? both : c;
}
__global__ void narrow_arguments(int *out, char x, short y, bool z) {
  int id = __builtin_amdgcn_workitem_id_x();
  short result = mix(x, y + id, z, (unsigned char)id);
  out[id] = result;
}
