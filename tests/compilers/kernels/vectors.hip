// Work-items that compute one element each, or several with a stride.
#include <hip/hip_runtime.h>

__global__ void vector_add(const float *a, const float *b, float *out, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n)
    out[i] = a[i] + b[i];
}

__global__ void square_by_stride(const float *a, float *out, int n) {
  for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    out[i] = a[i] * a[i];
}

__global__ void saxpy_of_four(float k, const float4 *a, float4 *out, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n)
    out[i] = a[i] * k + out[i];
}

__global__ void polynomial(const double *a, double *out, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n)
    return;
  double x = a[i], sum = 0;
  const double factors[5] = {1, -2, 3, -4, 5};
  for (int k = 4; k >= 0; k--)
    sum = fma(sum, x, factors[k]);
  out[i] = sum;
}

struct Particle {
  float3 place, speed;
  int bounces;
};

__device__ void bounce(float &place, float &speed, int &count) {
  if (place < 0 || place > 1) {
    speed = -speed;
    place = fminf(fmaxf(place, 0.0f), 1.0f);
    count++;
  }
}

__global__ void move_particles(Particle *particles, float step, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n)
    return;
  Particle &p = particles[i];
  p.place += p.speed * step;
  bounce(p.place.x, p.speed.x, p.bounces);
  bounce(p.place.y, p.speed.y, p.bounces);
  bounce(p.place.z, p.speed.z, p.bounces);
}

__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};

__global__ void look_up(const unsigned *a, int *out, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n)
    out[i] = table[a[i] & 7];
}

__global__ void where_am_i(dim3 *out) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  unsigned width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  out[(z * height + y) * width + x] = dim3(x, y, z);
}

__global__ void gather_and_scatter(const float *a, const int *from, const int *to, float *out, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n)
    out[to[i]] = a[from[i]];
}
