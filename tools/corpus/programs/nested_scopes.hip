#include "corpus.h"
__global__ void nested_scopes(int *out, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int value = id;
  {
    int value = n * 2;
    {
      int value = id + n;
      out[id] = value;
    }
    out[id + 1] = value;
  }
  out[id + 2] = value;
}
