// Blocks that share local memory.
#include <hip/hip_runtime.h>
#define TILE 8

__global__ void reverse_in_blocks(const int *a, int *out) {
  extern __shared__ int words[];
  words[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = words[blockDim.x - 1 - threadIdx.x];
}

__global__ void transpose(const float *a, float *out, int width, int height) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x < width && y < height)
    tile[threadIdx.y][threadIdx.x] = a[y * width + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  if (x < height && y < width)
    out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void multiply(const float *a, const float *b, float *out, int n) {
  __shared__ float left[TILE][TILE], right[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int first = 0; first < n; first += TILE) {
    left[threadIdx.y][threadIdx.x] = a[row * n + first + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(first + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; k++)
      sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  out[row * n + column] = sum;
}

__global__ void stencil(const float *a, float *out, int n) {
  __shared__ float near[64 + 4];
  int i = blockIdx.x * blockDim.x + threadIdx.x, at = threadIdx.x + 2;
  near[at] = i < n ? a[i] : 0;
  if (threadIdx.x < 2) {
    near[at - 2] = i >= 2 ? a[i - 2] : 0;
    near[at + 64] = i + 64 < n ? a[i + 64] : 0;
  }
  __syncthreads();
  if (i < n)
    out[i] = near[at - 2] + near[at - 1] + near[at] + near[at + 1] + near[at + 2];
}

__global__ void convolve(const float *a, const float *mask, float *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  float sum = 0;
  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++) {
      int u = min(max(x + i, 0), width - 1), v = min(max(y + j, 0), height - 1);
      sum += a[v * width + u] * mask[(j + 1) * 3 + i + 1];
    }
  out[y * width + x] = sum;
}

__global__ void bitonic_sort(int *a) {
  __shared__ int words[64];
  int i = threadIdx.x;
  words[i] = a[blockIdx.x * 64 + i];
  for (int size = 2; size <= 64; size *= 2)
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      int other = i ^ step;
      if (other > i && (words[i] > words[other]) == ((i & size) == 0)) {
        int word = words[i];
        words[i] = words[other];
        words[other] = word;
      }
    }
  __syncthreads();
  a[blockIdx.x * 64 + i] = words[i];
}

__global__ void game_of_life(const unsigned char *a, unsigned char *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  int alive = 0;
  for (int j = height - 1; j <= height + 1; j++)
    for (int i = width - 1; i <= width + 1; i++)
      alive += a[(y + j) % height * width + (x + i) % width];
  unsigned char self = a[y * width + x];
  alive -= self;
  out[y * width + x] = alive == 3 || (alive == 2 && self);
}

__global__ void floyd_warshall(int *distances, int n, int through) {
  int to = blockIdx.x * blockDim.x + threadIdx.x, from = blockIdx.y;
  if (to >= n)
    return;
  int longer = distances[from * n + through] + distances[through * n + to];
  if (longer < distances[from * n + to])
    distances[from * n + to] = longer;
}
