#include "corpus.h"
__global__ void salvaged(int *out, int n, unsigned char small) {
  int id = __builtin_amdgcn_workitem_id_x();
  int shifted = (id + n) >> 3;
  long wide = (long)id * 12;
  unsigned char low = (unsigned char)(id * 7);
  int dead = id * 2 + 1;
  int mixed = dead * (n + 3);
  unsigned product = (unsigned)small * (unsigned)low;
  out[id] = id;
  out[id + 1] = n;
}
