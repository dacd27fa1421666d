#include "corpus.h"
__global__ void lambdas(int *out, int n) {
  int id = __builtin_amdgcn_workitem_id_x();
  int base = id * n;
  auto add = [base, &n](int more) { int result = base + more; return result + n; };
  int value = add(5);
  out[id] = value;
}
