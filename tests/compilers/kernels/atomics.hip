// Words that many work-items change.
#include <hip/hip_runtime.h>

__global__ void every_atomic(int *words, unsigned *counts, float *sum, double *wide, unsigned long long *big) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&words[0], i);
  atomicSub(&words[1], i);
  atomicMin(&words[2], -i);
  atomicMax(&words[3], i * 2);
  atomicAnd(&words[4], ~(1 << i % 8));
  atomicOr(&words[5], 1 << i % 16);
  atomicXor(&words[6], i);
  atomicInc(&counts[0], 9);
  atomicDec(&counts[1], 9);
  atomicAdd(sum, 0.5f);
  atomicAdd(wide, 0.25);
  atomicAdd(big, 1ull << 33);
}

__global__ void add_by_exchange(float *sum, const float *a) {
  float v = a[blockIdx.x * blockDim.x + threadIdx.x];
  int *word = (int *)sum, seen = *word, old;
  do {
    old = seen;
    seen = atomicCAS(word, old, __float_as_int(__int_as_float(old) + v));
  } while (seen != old);
}

__global__ void last_block_sums(const int *a, int *parts, unsigned *arrived, int *out) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    int sum = 0;
    for (unsigned i = 0; i < blockDim.x; i++)
      sum += a[blockIdx.x * blockDim.x + i];
    parts[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    int sum = 0;
    for (unsigned i = 0; i < gridDim.x; i++)
      sum += parts[i];
    *out = sum;
  }
}

__global__ void push_on_list(int *next, int *head) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  next[i] = atomicExch(head, i);
}
