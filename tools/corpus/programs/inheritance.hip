#include "corpus.h"
struct Base { int first; long second; };
struct Other { short third; };
struct Derived : Base, Other { char fourth; };
__global__ void inheritance(int *out, Derived input) {
  int id = __builtin_amdgcn_workitem_id_x();
  Derived copy = input;
  copy.third += id;
  Base base = copy;
  out[id] = copy.third + copy.fourth + (int)base.second;
}
