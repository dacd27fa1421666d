// The kernels of `tools/dev.py bench run`.
#define LOCAL ((int)__builtin_amdgcn_workitem_id_x())
#define ROW ((int)__builtin_amdgcn_workitem_id_y())
#define GLOBAL ((int)(__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x()) + LOCAL)
#define TILE 16
kernel void saxpy(global float *y, global const float *x, float a, int n) {
  int i = GLOBAL;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
kernel void product(global float *c, global const float *a, global const float *b, int n) {
  local float left[TILE][TILE], right[TILE][TILE];
  int column = __builtin_amdgcn_workgroup_id_x() * TILE + LOCAL, row = __builtin_amdgcn_workgroup_id_y() * TILE + ROW;
  float sum = 0;
  for (int tile = 0; tile < n; tile += TILE) {
    left[ROW][LOCAL] = a[row * n + tile + LOCAL];
    right[ROW][LOCAL] = b[(tile + ROW) * n + column];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    for (int k = 0; k < TILE; ++k)
      sum += left[ROW][k] * right[k][LOCAL];
    __builtin_amdgcn_s_barrier();
  }
  c[row * n + column] = sum;
}
kernel void steps_(global int *out, global const int *in) {
  int number = in[GLOBAL], count = 0;
  while (number != 1) {
    number = number & 1 ? 3 * number + 1 : number / 2;
    count++;
  }
  out[GLOBAL] = count;
}

// One wave for as long as is wanted.
kernel void rounds(global int *out, int n) {
  int lane = __builtin_amdgcn_workitem_id_x();
  int total = lane;
  for (int i = 0; i < n; ++i) {
    total = total * 3 + i;
    if (total & 1)
      total ^= lane;
  }
  out[lane] = total;
}

__attribute__((noinline)) int called(int total, int i) { return total * 3 + i; }
kernel void calls(global int *out, int n) {
  int total = 0;
  for (int i = 0; i < n; ++i)
    total = called(total, i);
  out[0] = total;
}
