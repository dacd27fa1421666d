// Kernels in HIP that make a NaN or an infinity out of numbers, and with MENDED do not, as nan.cl.
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#ifdef MENDED
#define OR(mended, faulty) mended
#else
#define OR(mended, faulty) faulty
#endif
#define GID (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL(name) extern "C" __global__ void name(float *out, const float *in, const int *count, float zero)
struct Stats {
  float sum;
  int number;
  __device__ float mean() const { return sum / number; } /// number
};
template <typename T> __device__ T safe_log(T value) {
  return log(value); /// value
}

KERNEL(member) {
  Stats stats{in[GID], count[GID] / 2 * OR(0, 1) + OR(1, 0)};
  out[GID] = stats.mean();
}
KERNEL(of_template) {
  out[GID] = safe_log(in[GID] - OR(-1.0f, 4.0f));
}
KERNEL(shuffled) {
  float x = in[GID] - OR(-1.0f, 4.0f);
  float y = 1.0f / x; /// x
  out[GID] = __shfl_xor(y, 1) + y;
}
KERNEL(hip_half) {
  float y = in[GID] * OR(100.0f, 400.0f);
  __half x = __float2half(y); /// y
  out[GID] = __half2float(x);
}
KERNEL(hip_double) {
  double x = in[GID] - OR(0.0, 2.0);
  out[GID] = log(x + OR(1, 0)); /// x
}
KERNEL(reduced) {
  __shared__ float tile[64];
  float x = in[GID] - OR(0.0f, 9.0f);
  tile[threadIdx.x] = sqrtf(x); /// x
  __syncthreads();
  for (int step = 32; step; step /= 2) {
    if (threadIdx.x < step)
      tile[threadIdx.x] += tile[threadIdx.x + step];
    __syncthreads();
  }
  if (!threadIdx.x)
    out[blockIdx.x] = tile[0];
}
