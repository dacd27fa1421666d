#pragma once
/* Groups of <hip/hip_cooperative_groups.h>: the grid, the block, tiles of a wave, and the lanes that execute. */
#include "hip_runtime.h"
extern "C" __device__ __attribute__((convergent)) void dg_grid_sync();
extern "C" __device__ bool dg_is_cooperative();
namespace cooperative_groups {
struct thread_block {
  DG_NEAR void sync() const { __syncthreads(); }
  DG_NEAR unsigned thread_rank() const { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
  DG_NEAR unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
  DG_NEAR unsigned num_threads() const { return size(); }
  DG_NEAR dim3 group_index() const { return blockIdx; }
  DG_NEAR dim3 thread_index() const { return threadIdx; }
  DG_NEAR dim3 group_dim() const { return blockDim; }
};
DG_DEVICE thread_block this_thread_block() { return {}; }
/* Blocks are numbered along x first, and the threads of a block follow each other. */
struct grid_group {
  DG_NEAR bool is_valid() const { return dg_is_cooperative(); }
  DG_NEAR void sync() const { dg_grid_sync(); }
  DG_NEAR unsigned long long block_rank() const { return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
  DG_NEAR unsigned long long num_blocks() const { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  DG_NEAR unsigned long long thread_rank() const { return block_rank() * thread_block().size() + thread_block().thread_rank(); }
  DG_NEAR unsigned long long size() const { return num_blocks() * thread_block().size(); }
  DG_NEAR unsigned long long num_threads() const { return size(); }
  DG_NEAR dim3 group_dim() const { return gridDim; }
};
DG_DEVICE grid_group this_grid() { return {}; }
template <unsigned N, class Parent = void> struct thread_block_tile {
  static_assert((N & (N - 1)) == 0 && N <= 64, "a tile is a part of a wave");
  thread_block_tile() = default;
  template <class Other> DG_NEAR thread_block_tile(const thread_block_tile<N, Other> &) {}
  DG_NEAR void sync() const { __syncwarp(); }
  DG_NEAR unsigned thread_rank() const { return __lane_id() % N; }
  DG_NEAR unsigned meta_group_rank() const { return thread_block().thread_rank() / N; }
  DG_NEAR unsigned meta_group_size() const { return (thread_block().size() + N - 1) / N; }
  static constexpr __host__ __device__ unsigned size() { return N; }
  static constexpr __host__ __device__ unsigned num_threads() { return N; }
  template <class T> DG_NEAR T shfl(T v, int lane) const { return __shfl(v, lane, N); }
  template <class T> DG_NEAR T shfl_down(T v, unsigned by) const { return __shfl_down(v, by, N); }
  template <class T> DG_NEAR T shfl_up(T v, unsigned by) const { return __shfl_up(v, by, N); }
  template <class T> DG_NEAR T shfl_xor(T v, unsigned mask) const { return __shfl_xor(v, mask, N); }
  DG_NEAR unsigned long long ballot(int p) const {
    return __ballot(p) >> (__lane_id() / N * N) & (N == 64 ? ~0ull : (1ull << N % 64) - 1);
  }
  DG_NEAR int any(int p) const { return ballot(p) != 0; }
  DG_NEAR int all(int p) const { return ballot(!p) == 0; }
};
template <unsigned N, class Group> DG_DEVICE thread_block_tile<N, Group> tiled_partition(const Group &) { return {}; }
/* A block or a tile, by what it is when it is converted. */
struct thread_group {
  unsigned count, rank;
  bool is_block;
  DG_NEAR thread_group(const thread_block &block) : count(block.size()), rank(block.thread_rank()), is_block(true) {}
  template <unsigned N, class Parent> DG_NEAR thread_group(const thread_block_tile<N, Parent> &tile)
      : count(N), rank(tile.thread_rank()), is_block(false) {}
  DG_NEAR void sync() const { if (is_block) __syncthreads(); else __syncwarp(); }
  DG_NEAR unsigned size() const { return count; }
  DG_NEAR unsigned num_threads() const { return count; }
  DG_NEAR unsigned thread_rank() const { return rank; }
};
struct coalesced_group {
  unsigned long long lanes;
  DG_NEAR void sync() const { __syncwarp(); }
  DG_NEAR unsigned size() const { return __popcll(lanes); }
  DG_NEAR unsigned num_threads() const { return size(); }
  DG_NEAR unsigned thread_rank() const { return __popcll(lanes & ((1ull << __lane_id()) - 1)); }
  template <class T> DG_NEAR T shfl(T v, int rank) const {
    unsigned long long left = lanes;
    for (int i = 0; i < rank; i++) left &= left - 1;
    return dg_from(v, __ffsll(left) - 1);
  }
  DG_NEAR int any(int p) const { return __any(p); }
  DG_NEAR int all(int p) const { return __all(p); }
};
DG_DEVICE coalesced_group coalesced_threads() { return {__activemask()}; }
#define DG_OPERATION(name, value) \
  template <class T = void> struct name { DG_NEAR T operator()(T a, T b) const { return value; } }; \
  template <> struct name<void> { template <class T> DG_NEAR T operator()(T a, T b) const { return value; } };
DG_OPERATION(plus, a + b) DG_OPERATION(less, a < b ? a : b) DG_OPERATION(greater, b < a ? a : b)
DG_OPERATION(bit_and, a & b) DG_OPERATION(bit_or, a | b) DG_OPERATION(bit_xor, a ^ b)
template <unsigned N, class Parent, class T, class Operation>
DG_DEVICE T reduce(const thread_block_tile<N, Parent> &tile, T v, Operation op) {
  for (unsigned by = N / 2; by; by /= 2) v = op(v, tile.shfl_xor(v, by));
  return v;
}
template <class T, class Operation> DG_DEVICE T reduce(const coalesced_group &group, T v, Operation op) {
  T all = group.shfl(v, 0);
  for (unsigned rank = 1; rank < group.size(); rank++) all = op(all, group.shfl(v, (int)rank));
  return all;
}
template <class Group> DG_DEVICE void sync(const Group &group) { group.sync(); }
}
