// Templates, mathematics, bits and halves.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

template <class T, int N> struct Vector {
  T parts[N];
  __device__ T dot(const Vector &other) const {
    T sum = 0;
    for (int i = 0; i < N; i++)
      sum += parts[i] * other.parts[i];
    return sum;
  }
};

template <class T, int N> __global__ void dots(const Vector<T, N> *a, const Vector<T, N> *b, T *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = a[i].dot(b[i]);
}
template __global__ void dots<int, 3>(const Vector<int, 3> *, const Vector<int, 3> *, int *, int);

template <class F> __device__ void each(float *out, int n, F f) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    out[i] = f(out[i]);
}

__global__ void with_a_lambda(float *out, int n, float k) {
  each(out, n, [=](float v) { return v * k + 1; });
}

struct Shape {
  __device__ virtual float area() const = 0;
};
struct Circle : Shape {
  float radius;
  __device__ Circle(float r) : radius(r) {}
  __device__ float area() const override { return 3 * radius * radius; }
};

__device__ __noinline__ float area_of(const Shape &shape) { return shape.area(); }

__global__ void virtual_calls(const float *a, float *out) {
  Circle circle(a[threadIdx.x]);
  out[threadIdx.x] = area_of(circle);
}

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__global__ void recursion(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x % 8); }

__global__ void mandelbrot(int *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float cr = -2 + 3.0f * x / width, ci = -1 + 2.0f * y / height, r = 0, i = 0;
  int count = 0;
  while (count < 20 && r * r + i * i < 4) {
    float next = r * r - i * i + cr;
    i = 2 * r * i + ci;
    r = next;
    count++;
  }
  out[y * width + x] = count;
}

__global__ void black_scholes(const float *price, const float *strike, const float *years, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float rate = 0.02f, spread = 0.3f, root = sqrtf(years[i]);
  float d1 = (logf(price[i] / strike[i]) + (rate + spread * spread / 2) * years[i]) / (spread * root);
  float d2 = d1 - spread * root;
  out[i] = price[i] * 0.5f * erfcf(-d1 * 0.70710678f) - strike[i] * expf(-rate * years[i]) * 0.5f * erfcf(-d2 * 0.70710678f);
}

__global__ void bits(const unsigned *a, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = __popc(a[i]) + (__clz(a[i]) << 8) + (__ffs(a[i]) << 16) + (__brev(a[i]) & 0xff000000);
}

__global__ void random_numbers(unsigned *out, unsigned seed) {
  unsigned x = seed + blockIdx.x * blockDim.x + threadIdx.x + 1;
  for (int i = 0; i < 4; i++) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__global__ void halves(const __half *a, const __half2 *b, __half2 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  __half2 v = __hfma2(__half2half2(a[i]), b[i], __floats2half2_rn(1, 2));
  v = __hadd2(v, __lowhigh2highlow(b[i])) * __float2half(0.5f);
  out[i] = __hgt(__low2half(v), __high2half(v)) ? v : __halves2half2(hsqrt(__habs(v.x)), __hneg(v.y));
}
