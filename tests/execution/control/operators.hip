#define __device__ __attribute__((device, noinline))
struct V {
  float x, y;
};
__device__ V operator+(V a, V b) {
  return {a.x + b.x, a.y + b.y};
}
__device__ void operator+=(V &a, V b) {
  a.x += b.x;
}
__device__ V &operator++(V &a) {
  a.y += 1;
  return a;
}
extern "C" __attribute__((global)) void k(float *out) {
  V v = {1, 2};
  v = v + v;
  v += v;
  ++v;
  out[0] = v.x;
}
