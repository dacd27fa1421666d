// Kernels of HIP with an error that a check finds, and with MENDED without it. Work-groups have 128 work-items, the grid 512.
// `out` and `in` have 512 numbers. The lines of both sides end with a number of slashes.
#include <hip/hip_runtime.h>
#ifdef MENDED
#define FIX(code) code
#define OR(mended, faulty) mended
#else
#define FIX(code)
#define OR(mended, faulty) faulty
#endif
#define KERNEL(name) extern "C" __global__ void name(int *out, int *in)
#define ID threadIdx.x
#define GID (blockIdx.x * blockDim.x + threadIdx.x)
struct Row { int key; float values[3]; };

KERNEL(turned) {
  __shared__ int tile[128];
  tile[ID] = in[GID]; //
  FIX(__syncthreads());
  out[GID] = tile[127 - ID]; ///
}
KERNEL(rows) {
  __shared__ Row row[128];
  row[ID].values[1] = in[GID]; //
  FIX(__syncthreads());
  out[GID] = row[ID ^ 64].values[1]; ///
}
KERNEL(twice) {
  __shared__ int tile[128];
  tile[ID / OR(1, 2)] = in[GID]; // ///
  __syncthreads();
  out[GID] = tile[ID / 2];
}
KERNEL(neighbour) {
  int number = in[OR(GID, GID ^ 128)]; //
  OR(out, in)[GID] = number + 1; ///
}
KERNEL(total) {
  if (ID & 63) return;
#ifdef MENDED
  __hip_atomic_fetch_add(out, in[GID], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
  out[0] += in[GID]; // ///
#endif
}
KERNEL(in_branch) {
  __shared__ int tile[128];
  tile[ID] = in[GID];
  FIX(__syncthreads());
  if (in[GID] & 1) {
    OR(, __syncthreads()); // ///
    out[GID] = tile[ID];
  }
}
KERNEL(leaves) {
  if (OR(GID == 600, in[GID] == 100)) return;
  __syncthreads(); // ///
  out[GID] = in[GID];
}
KERNEL(past) {
  out[GID] = in[GID + OR(0, 3)]; //
}
KERNEL(add_past) {
  __hip_atomic_fetch_add(&out[GID + OR(0, 2)], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); //
  in[GID] = 1;
}
KERNEL(stored_pointer) {
  __shared__ int *from[128];
  from[ID] = in + GID;
  __syncthreads();
  int *at = from[127 - ID];
  out[GID] = at[OR(0, 200)]; //
}
KERNEL(shared_next) {
  __shared__ int left[128], right[128];
  left[ID] = in[GID];
  right[ID] = in[GID] + 1;
  __syncthreads();
  int number = left[ID + OR(0, 1)]; //
  out[GID] = number + right[127 - ID];
}
KERNEL(shared_before) {
  __shared__ Row rows[128];
  __shared__ int longer_name[128];
  rows[ID].key = in[GID];
  __syncthreads();
  longer_name[(int)ID - OR(0, 4)] = in[GID] + 1; //
  __syncthreads();
  out[GID] = rows[127 - ID].key + longer_name[ID & 63];
}
KERNEL(private_next) {
  volatile int each[4] = {1, 2, 3, 4}, others[8];
  for (int i = 0; i < 8; i++)
    others[i] = in[i];
  int at = in[GID] & OR(3, 7);
  int number = each[at]; //
  out[GID] = number + others[at];
}
KERNEL(odd) {
  out[GID] = *(int *)((char *)in + OR(4 * (GID / 2), GID)); //
}
KERNEL(odd_add) {
  if (GID < 100)
    __hip_atomic_fetch_add((int *)((char *)out + OR(4, 2) * GID), 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); //
  in[GID] = 1;
}
