#define STEP(n) x = x * 5 + (x >> n) - k; y ^= x << n; out[i] += y & 3;
#define STEPS STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8)

// without optimization its loop has more instructions without a branch than the interpreter has in a block
kernel void long_body(global int *out, global const int *in, int times) {
  int i = get_global_id(0);
  int x = in[i], y = i;
  for (int k = 0; k < times; k++) { STEPS STEPS }
  out[i] += x ^ y;
}

// Division, powers of 2 and classes of singles and doubles, and what there is of halfs.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void quotients(global float *f, global double *d, global half *h, global int *n, int count) {
  int i = get_global_id(0);
  float single = f[i];
  double wide = d[i];
  half narrow = h[i];
  for (int k = 1; k < count; k++) {
    single = single / n[i] + k / single + __builtin_ldexpf(single, n[i] % (20 * k) - 40);
    wide = wide / n[i] + k / wide;
    narrow = narrow * (half)n[i] + (half)k - narrow / (half)(k + 1);
    n[i] += __builtin_isinf(single) + (narrow > (half)100) + (int)narrow + (single < (float)narrow);
  }
  f[i] = single;
  d[i] = wide;
  h[i] = narrow;
}

// Lanes whose numbers are in a row, backwards, or at one place, and of which only some execute.
kernel void in_rows(global int *out, global const int *in, int times) {
  int i = get_global_id(0), own[4] = {i, 1, 2, 3};
  for (int k = 0; k < times; k++) {
    own[k & 3] += in[i] + in[255 - i];
    if ((i + k) % 5) own[1] += in[k];
    if (i > 3 * k && i < 250 - k) {
      out[i] += own[(i + k) & 3];
      out[i + k] ^= 1;
    }
    if (i == 77) own[2] = out[k];
  }
  out[i] += own[0] ^ own[3];
}

// Lanes that read local memory in a row, at one place, or anywhere, all of them or some, between stores to private memory.
kernel void tiles(global int *out, global const int *in, int times) {
  local int t[256];
  int l = get_local_id(0), i = get_global_id(0), sum = 0, own[3] = {l, 5, i};
  t[l] = in[i];
  t[l + 128] = i * 77;
  for (int k = 0; k < times; k++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    local short *halfs = (local short *)t;
    local long *longs = (local long *)t;
    own[1] = t[l + k] + t[(l & 64) + k];
    sum += t[l + 2 * k] * t[9 * k] + halfs[l + k] - halfs[511 - l] + (int)longs[l] + t[(l & 15) + 16 * k];
    if (l > 3 * k) own[2] ^= t[l + 100] + t[200 + k] + t[own[1] & 255];
    own[0] += own[2] + (int)(longs[k] >> 9);
    sum ^= own[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l ^ k] = sum;
  }
  out[i] = sum + own[0];
}

// Generic addresses that all lanes share, of private, local and global memory, also of narrow numbers.
constant int table[4] = {3, 1, 4, 1};
kernel void one_address(global int *out, global const int *in, int times) {
  local int sum[2];
  int i = get_global_id(0), own[2] = {i, 7};
  short narrow[2] = {(short)i, 3};
  for (int k = 0; k < times; k++) {
    if (i & 1) own[1] += narrow[1] + table[k & 3];
    narrow[0] += (short)own[0];
    *(int *)&sum[1] = k;
    own[0] += *(int *)&sum[1] + *(const int *)&in[2];
  }
  out[i] = own[0] ^ own[1] ^ narrow[0];
}

// Waves that go different ways: loops of different lengths, calls in some turns, private and local memory.
__attribute__((noinline)) int turned(int a, int b) {
  for (; b > 0; b -= 2) a = a * 3 + b;
  return a;
}

kernel void parting(global int *out, global const int *in, int times) {
  local int t[128];
  int i = get_global_id(0), l = get_local_id(0), w = i / 32, own[4] = {i, 1, 2, 3};
  for (int k = 0; k < times + in[32 * w] % 8; k++) {
    t[l] = own[k & 3];
    if ((w + k) % 3) own[(k + 1) & 3] += turned(t[l], w + k % 5);
    else own[1] ^= in[(i + k) & 255];
    out[i] += own[k & 3];
  }
}

// Lanes that reach local, private and global memory by one instruction: so many neighbours the same kind, and with parts.
kernel void kinds(global long *out, global const int *in, int times) {
  local long shared[128];
  int l = get_local_id(0), i = get_global_id(0);
  long own[4] = {i, 1, 2, l};
  shared[l] = in[i];
  for (int k = 1; k <= times; k *= 2) {
    int kind = (l / k + k) % 3;
    long *p = kind == 0 ? (long *)&shared[l] : kind == 1 ? &own[(in[i] + k) & 3] : (long *)&out[i];
    *p += in[i] * (long)k << 20;
    ((int *)p)[1] ^= l;
    ((short *)p)[1] -= k;
    if (l & k) ((char *)p)[3] += (char)*p;
  }
  out[i] += shared[l] ^ own[0] ^ own[1] * own[2] ^ own[3];
}
