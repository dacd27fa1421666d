// What programs bring along beside the runtime header: operators of their own, tiles with a parent, narrow floats.
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp8.h>

namespace cg = cooperative_groups;

// A program's own operators for the same types, with other meanings: they are preferred to those of the header.
__device__ float4 &operator+=(float4 &a, float4 b) { a.x += b.x; return a; }
inline __host__ __device__ float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

struct __align__(16) padded { int number; };
__managed__ int calls;
__attribute__((__noinline__)) __device__ int limited(int a) { return a < INT_MAX / 2 ? a : INT_MIN; }

__global__ void own_operators(const float4 *a, const float2 *b, float4 *out, float2 *products, int *sizes) {
  int i = threadIdx.x;
  float4 sum = a[i] + a[i] * 2;
  sum += a[i];
  out[i] = sum;
  products[i] = b[i] * b[i];
  float2 shifted = b[i];
  shifted -= 1.0f;
  products[i] += shifted;
  sizes[i] = limited((int)sizeof(padded)) + (FLT_MAX > 1);
  if (i == 0) calls++;
}

__device__ int sum_of(const cg::thread_block_tile<8, cg::thread_block> &tile, int v) { return cg::reduce(tile, v, cg::plus<int>()); }

__global__ void reduced(const int *a, int *sums, int *most, int *bits, int *some) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<8, cg::thread_block> tile = cg::tiled_partition<8>(block);
  int i = block.thread_rank();
  sums[i] = sum_of(tile, a[i]);
  most[i] = cg::reduce(tile, a[i], cg::greater<int>());
  bits[i] = cg::reduce(tile, a[i], cg::bit_xor<>());
  if (i % 3 == 0) some[i] = cg::reduce(cg::coalesced_threads(), a[i], cg::less<int>());
}

__global__ void brain_floats(const float *a, const float *b, unsigned short *out, float *sums) {
  int i = threadIdx.x;
  __hip_bfloat16 x = __float2bfloat16(a[i]), y = __float2bfloat16(b[i]);
  out[i] = __bfloat16_as_ushort(__hadd(x, y));
  __hip_bfloat162 pair = __hmul2(__halves2bfloat162(x, y), __float2bfloat162_rn(2.0f));
  sums[i] = __low2float(pair) + __high2float(pair) + (__hgt(x, y) ? 1000.0f : 0.0f) + (float)(x * y);
}

template <class T> __device__ void both_ways(const float *a, unsigned char *codes, float *numbers, int i) {
  codes[i] = T(a[i]).__x;
  T all;
  all.__x = (unsigned char)i;
  numbers[i] = all;
}
__global__ void eight_bits(const float *a, unsigned char *codes, float *numbers) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i / 256 == 0) both_ways<__hip_fp8_e4m3_fnuz>(a, codes, numbers, i);
  if (i / 256 == 1) both_ways<__hip_fp8_e5m2_fnuz>(a, codes, numbers, i);
  if (i / 256 == 2) both_ways<__hip_fp8_e4m3>(a, codes, numbers, i);
  if (i / 256 == 3) both_ways<__hip_fp8_e5m2>(a, codes, numbers, i);
}
