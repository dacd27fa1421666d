// Lanes of a wave, and groups of them.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>
namespace cg = cooperative_groups;

__global__ void ballots(const int *a, unsigned long long *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long odd = __ballot(a[i] & 1);
  out[i] = __popcll(odd) + 100 * (__any(a[i] == 7) != 0) + 1000 * (__all(a[i] < 1000) != 0);
}

__global__ void butterfly(const double *a, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double v = a[i];
  for (int mask = 1; mask < 32; mask *= 2)
    v = fmax(v, __shfl_xor(v, mask, 32));
  out[i] = v;
}

__global__ void rotate_lanes(const int *a, int *out, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = __shfl(a[i], threadIdx.x + by, 16);
}

__global__ void sum_of_tiles(const int *a, int *out) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int v = a[blockIdx.x * block.size() + block.thread_rank()];
  for (unsigned by = tile.size() / 2; by > 0; by /= 2)
    v += tile.shfl_down(v, by);
  block.sync();
  if (tile.thread_rank() == 0)
    out[blockIdx.x * tile.meta_group_size() + tile.meta_group_rank()] = v + 1000 * tile.any(v == 120);
}

__global__ void one_atomic_for_each_wave(const int *a, unsigned *count, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (a[i] % 3 == 0) {
    cg::coalesced_group group = cg::coalesced_threads();
    unsigned first = 0;
    if (group.thread_rank() == 0)
      first = atomicAdd(count, group.size());
    out[group.shfl(first, 0) + group.thread_rank()] = a[i];
  }
}

__global__ void ranks_with_masks(const int *a, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long chosen = __ballot(a[i] > 20);
  out[i] = __popcll(chosen & ((1ull << __lane_id()) - 1));
}
