#include "corpus.h"
class Counter {
  int value;
 public:
  static constexpr int step = 4;
  __device__ explicit Counter(int start) : value(start) {}
  __device__ __attribute__((noinline)) int next() {
    int old = value;
    value += step;
    return old;
  }
};
__global__ void classes(int *out) {
  Counter counter(__builtin_amdgcn_workitem_id_x());
  int first = counter.next();
  int second = counter.next();
  out[first] = second;
}
