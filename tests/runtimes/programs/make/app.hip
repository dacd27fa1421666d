#include <hip/hip_runtime.h>
__managed__ int n;
__global__ void k() { n = FIRST; }
int more();
int main() {
  k<<<1, 1>>>();
  (void)hipDeviceSynchronize();
  return n + more();
}
