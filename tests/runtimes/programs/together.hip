// Cooperative launches: each round of a grid needs what the whole grid has written in the one before.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>
#include <cstdio>
namespace cg = cooperative_groups;
__global__ void rounds(int *cells, int *others, int count) {
  cg::grid_group grid = cg::this_grid();
  int me = (int)grid.thread_rank(), size = (int)grid.size();
  for (int round = 0; round < count; round++) {
    others[me] = cells[(me + 37) % size] + 1;
    grid.sync();
    int *last = cells;
    cells = others, others = last;
  }
  if (me == 0) others[0] = grid.is_valid();
}
int main() {
  const int blocks = 12, threads = 96, size = blocks * threads;
  int *cells, host[size], count = 5, wrong = 0, all = 0, valid, most;
  (void)hipMalloc(&cells, 2 * sizeof host);
  for (int i = 0; i < size; i++) host[i] = i;
  for (int turn = 0; turn < 2; turn++) {
    int *others = cells + size;
    void *arguments[] = {&cells, &others, &count};
    (void)hipMemcpy(cells, host, sizeof host, hipMemcpyHostToDevice);
    hipLaunchAttribute waits = {hipLaunchAttributeCooperative, {}};
    waits.val.cooperative = 1;
    hipLaunchConfig_t sizes = {dim3(blocks), dim3(threads), 0, nullptr, &waits, 1};
    printf("%s\n", hipGetErrorName(turn ? hipLaunchKernelExC(&sizes, (void *)rounds, arguments) :
        hipLaunchCooperativeKernel((void *)rounds, dim3(blocks), dim3(threads), arguments, 0, nullptr)));
    (void)hipMemcpy(&valid, cells, sizeof valid, hipMemcpyDeviceToHost);
    int there[size];
    (void)hipMemcpy(there, others, sizeof there, hipMemcpyDeviceToHost);
    for (int i = 0; i < size; i++) wrong += there[i] != (i + 37 * count) % size + count;
    all += valid;
  }
  int *others = cells + size;
  void *arguments[] = {&cells, &others, &count};
  printf("wrong %d, valid %d, ", wrong, all);
  count = 0;
  rounds<<<1, 64>>>(cells, others, 0);
  (void)hipMemcpy(&valid, others, sizeof valid, hipMemcpyDeviceToHost);
  (void)hipOccupancyMaxActiveBlocksPerMultiprocessor(&most, (const void *)rounds, threads, 0);
  hipError_t error = hipLaunchCooperativeKernel((void *)rounds, dim3(1 << 15), dim3(threads), arguments, 0, nullptr);
  printf("without %d, fits %d, too many %s\n", valid, most > 0, hipGetErrorName(error));
  (void)hipFree(cells);
}
// Prints:
// hipSuccess
// hipSuccess
// wrong 0, valid 2, without 0, fits 1, too many hipErrorCooperativeLaunchTooLarge
// 3 launches, 1 kernel, 1 error
