// Sums, scans and histograms.
#include <hip/hip_runtime.h>

__global__ void reduce_in_block(const int *a, int *out, int n) {
  extern __shared__ int words[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  words[threadIdx.x] = i < n ? a[i] : 0;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      words[threadIdx.x] += words[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = words[0];
}

__device__ float wave_sum(float v) {
  for (int by = warpSize / 2; by > 0; by /= 2)
    v += __shfl_down(v, by);
  return v;
}

__global__ void reduce_by_shuffles(const float *a, float *out, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += a[i];
  sum = wave_sum(sum);
  if (__lane_id() == 0)
    atomicAdd(out, sum);
}

__global__ void scan_in_block(const int *a, int *out) {
  __shared__ int words[128];
  int i = threadIdx.x;
  words[i] = a[blockIdx.x * 128 + i];
  for (int by = 1; by < 128; by *= 2) {
    __syncthreads();
    int before = i >= by ? words[i - by] : 0;
    __syncthreads();
    words[i] += before;
  }
  out[blockIdx.x * 128 + i] = words[i];
}

__global__ void scan_by_shuffles(const int *a, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < n ? a[i] : 0;
  for (int by = 1; by < 32; by *= 2) {
    int before = __shfl_up(v, by, 32);
    if (threadIdx.x % 32 >= by)
      v += before;
  }
  if (i < n)
    out[i] = v;
}

__global__ void histogram(const unsigned char *a, unsigned *out, int n) {
  __shared__ unsigned counts[16];
  if (threadIdx.x < 16)
    counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[a[i] / 16], 1u);
  __syncthreads();
  if (threadIdx.x < 16)
    atomicAdd(&out[threadIdx.x], counts[threadIdx.x]);
}

__global__ void dot(const double *a, const double *b, double *out, int n) {
  __shared__ double sums[64];
  double sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    sum += a[i] * b[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 64; i++)
      sum += sums[i];
    *out = sum;
  }
}

__global__ void largest(const float *a, int *place, float *value, int n) {
  __shared__ float values[64];
  __shared__ int places[64];
  int best = threadIdx.x;
  for (int i = threadIdx.x; i < n; i += 64)
    if (a[i] > a[best])
      best = i;
  values[threadIdx.x] = a[best];
  places[threadIdx.x] = best;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half && values[threadIdx.x + half] > values[threadIdx.x]) {
      values[threadIdx.x] = values[threadIdx.x + half];
      places[threadIdx.x] = places[threadIdx.x + half];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    *place = places[0];
    *value = values[0];
  }
}

__global__ void softmax(const float *a, float *out, int width) {
  __shared__ float words[64];
  float v = a[blockIdx.x * width + threadIdx.x];
  words[threadIdx.x] = v;
  __syncthreads();
  float most = words[0];
  for (int i = 1; i < width; i++)
    most = fmaxf(most, words[i]);
  float e = expf(v - most);
  __syncthreads();
  words[threadIdx.x] = e;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < width; i++)
    sum += words[i];
  out[blockIdx.x * width + threadIdx.x] = e / sum;
}
