#include "corpus.h"
__global__ void wide_values(long *out, long a, double b) {
  int id = __builtin_amdgcn_workitem_id_x();
  long product = a * id;
  double scaled = b * id;
  unsigned long mask = (unsigned long)product >> 5;
  __int128 wide = (__int128)a * id;
  out[id] = product + (long)scaled + (long)mask + (long)(wide >> 64);
}
