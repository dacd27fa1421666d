// Launches of two kernels by turns, which add to the same cells; between two of them the host sets these.
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void add(int *cells, int turn) {
  int i = threadIdx.x;
  cells[i] += turn;
  if (i == turn) printf("turn %d\n", turn);
}
__global__ void flip(int *cells, int turn) {
  int i = threadIdx.x;
  if (i != turn) cells[i] = -cells[i];
}

int main() {
  int *cells;
  (void)hipMalloc(&cells, 256);
  (void)hipMemset(cells, 0, 256);
  for (int turn = 1; turn <= 6; turn++) {
    add<<<1, 64>>>(cells, turn);
    if (turn == 4) (void)hipMemset(cells, 1, 256);
    flip<<<1, 64>>>(cells, turn);
  }
  (void)hipDeviceSynchronize();
  (void)hipFree(cells);
}
