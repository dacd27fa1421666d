#include "corpus.h"
__global__ void half_precision(_Float16 *out, _Float16 scale) {
  int id = __builtin_amdgcn_workitem_id_x();
  _Float16 value = (_Float16)id * scale;
  _Float16 more = value + scale;
  out[id] = more;
}
