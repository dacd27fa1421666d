#define STEP(n) x = x * 5 + (x >> n) - k; y ^= x << n; out[i] += y & 3;
#define STEPS STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8)

// without optimization its loop has more instructions without a branch than the interpreter has in a block
kernel void long_body(global int *out, global const int *in, int times) {
  int i = get_global_id(0);
  int x = in[i], y = i;
  for (int k = 0; k < times; k++) { STEPS STEPS }
  out[i] += x ^ y;
}
