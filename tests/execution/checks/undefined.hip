// Kernels in HIP that use what nothing has written, and with MENDED do not. Lines that use it end with ///.
#include <hip/hip_runtime.h>
#ifdef MENDED
#define OR(mended, faulty) mended
#else
#define OR(mended, faulty) faulty
#endif
#define ID threadIdx.x
#define GID (blockIdx.x * blockDim.x + threadIdx.x)
struct Parts { unsigned low : 5, high : 7; };
struct Base { long first; char letter; };
struct Derived : Base { short last; };
union Mixed { char letter; int number; };

__global__ void bit_fields(Parts *out, const int *in, int *raw) {
  volatile unsigned tmp;
  Parts parts;
  parts.low = in[GID];
  parts.high = OR(7, tmp);
  out[GID] = parts; ///
}
__global__ void derived(Derived *out, const int *in, int *raw) {
  volatile Derived tmp[2];
  tmp[0].first = tmp[1].first = in[GID];
  tmp[0].letter = tmp[1].letter = 'a';
  tmp[0].last = 2;
  if (OR(true, in[0] > 0))
    tmp[1].last = 3;
  out[GID].last = tmp[in[GID] & 1].last; ///
}
__global__ void mixed(Mixed *out, const int *in, int *raw) {
  volatile Mixed tmp;
  if (OR(true, in[GID] > 4))
    tmp.letter = 'x';
  out[GID].number = tmp.number; ///
}
__global__ void shared_array(int *out, const int *in, int *raw) {
  __shared__ int tile[128];
  if (OR(true, ID > 3))
    tile[ID] = in[GID];
  __syncthreads();
  out[GID] = tile[ID ^ 1]; ///
}
__global__ void divided(int *out, const int *in, int *raw) {
  if (in[GID] / (OR(in, raw)[GID] | 1) > 7) ///
    out[GID] = 4;
}
