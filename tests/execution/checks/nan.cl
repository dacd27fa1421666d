// Kernels that make a NaN or an infinity out of numbers, and with MENDED do not. The line that makes it ends with /// and
// its operand. `in` is 0, 1, 2 ..., `count` too; `zero` is 0.
#ifdef MENDED
#define OR(mended, faulty) mended
#else
#define OR(mended, faulty) faulty
#endif
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define GID get_global_id(0)
#define LID get_local_id(0)
#define KERNEL(name) kernel void name(global float *out, global const float *in, global const int *count, float zero)

// --- Divisions

KERNEL(mean) {
  float s = 0, n = OR(1, 0);
  for (int k = 0; k < 4; k++)
    if (in[GID] > 100 + k) {
      s += in[GID];
      n += 1;
    }
  out[GID] = s / n; /// n
}
KERNEL(reciprocal) {
  float x = in[GID] + OR(1, 0);
  out[GID] = 1.0f / x; /// x
}
KERNEL(by_count) {
  int n = count[GID] + OR(1, 0);
  out[GID] = in[GID] / n; /// n
}
float ratio(float part, float whole) {
  return part / whole; /// whole
}
KERNEL(ratio_in_function) {
  out[GID] = ratio(in[GID], in[GID] - OR(0.5f, 7.0f));
}
KERNEL(double_ratio) {
  double s = in[GID], n = in[GID] - OR(0.5, 9.0);
  out[GID] = s / n; /// n
}
KERNEL(native_ratio) {
  float n = in[GID] - OR(0.5f, 3.0f);
  out[GID] = native_divide(2.0f, n); /// n
}
KERNEL(remainder_by_zero) {
  float n = in[GID] + OR(1.0f, 0.0f);
  out[GID] = fmod(17.0f, n); /// n
}

// --- Roots and logarithms

KERNEL(root) {
  float x = in[GID] - OR(0.0f, 5.0f);
  out[GID] = sqrt(x); /// x
}
KERNEL(double_root) {
  double x = in[GID] - OR(0.0, 5.0);
  out[GID] = sqrt(x); /// x
}
KERNEL(inverse_root) {
  float x = in[GID] + OR(1.0f, 0.0f);
  out[GID] = rsqrt(x); /// x
}
KERNEL(logarithm) {
  float x = in[GID] - OR(-1.0f, 5.0f);
  out[GID] = log(x); /// x
}
KERNEL(power) {
  float base = in[GID] - OR(0.0f, 2.5f);
  out[GID] = pow(base, 0.5f); /// base
}

// --- Overflow

KERNEL(product) {
  float x = in[GID] * 1e30f;
  out[GID] = x * OR(1e3f, 1e8f); /// x
}
KERNEL(growth) {
  float x = in[GID];
  for (int k = 0; k < 8; k++)
    x = x * OR(10.0f, 1e6f); /// x
  out[GID] = x;
}
KERNEL(fused) {
  float x = in[GID] * 1e36f;
  out[GID] = fma(x, OR(0.25f, 2.0f), x); /// x
}
KERNEL(scaled) {
  int n = count[GID];
  out[GID] = ldexp(1.0f, OR(n / 2, n)); /// n
}
KERNEL(to_half) {
  float x = in[GID] * OR(100.0f, 1000.0f);
  half h = (half)x; /// x
  ((global half *)out)[GID] = h;
}
KERNEL(half_pair) {
  half2 x = (half2)((half)in[GID], (half)(in[GID] * 100.0f));
  half2 y = x * OR((half2)(1, 2), (half2)(1, 8)); /// x
  out[GID] = y.x + y.y;
}
KERNEL(to_float) {
  double x = in[GID] * OR(1e30, 1e38);
  float y = (float)x; /// x
  out[GID] = y;
}
KERNEL(to_integer) {
  float x = in[GID] * OR(1e6f, 1e9f);
  int n = (int)x; /// x
  out[GID] = n;
}

// --- Infinities that meet

KERNEL(masked_weight) {
  float mask = count[GID] > OR(-1, 9) ? 1.0f : -INFINITY;
  out[GID] = mask * zero; /// mask
}
KERNEL(inf_by_inf) {
  float limit = count[GID] > OR(256, 128) ? INFINITY : 1.0f;
  out[GID] = limit / limit; /// limit
}

// --- On the way

KERNEL(by_local_memory) {
  local float tile[64];
  float n = in[GID] - OR(0.5f, 70.0f);
  tile[LID] = zero / n; /// n
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int k = 0; k < 64; k++)
    s += tile[k];
  out[GID] = s;
}
KERNEL(by_array) {
  float tmp[8];
  for (int k = 0; k < 8; k++)
    tmp[k] = zero / (k - OR(0.5f, 3.0f)); /// k
  out[GID] = tmp[count[GID] & 7];
}
KERNEL(compared) {
  float n = in[GID] * zero + OR(1.0f, 0.0f);
  float share = zero / n; /// n
  if (share > 0.5f)
    out[GID] = 1;
  else
    out[GID] = 2;
}
KERNEL(converted) {
  float n = in[GID] - OR(0.5f, 8.0f);
  float share = zero / n; /// n
  out[GID] = (int)share;
}
KERNEL(component) {
  float4 v = (float4)(in[GID], zero, 1, 2);
  float4 w = v / (v.y + OR(1.0f, 0.0f)); /// v
  out[GID] = w.z;
}

// --- No findings: an infinity that is a constant, those that a finite result replaces, and a conversion that saturates

kernel void softmax(global float *out, global const float *in, global const int *count, float zero) {
  local float tile[64];
  float score = count[LID] < 40 ? in[LID] * 0.1f : -INFINITY;
  tile[LID] = score;
  barrier(CLK_LOCAL_MEM_FENCE);
  float most = -INFINITY;
  for (int k = 0; k < 64; k++)
    most = fmax(most, tile[k]);
  float e = exp(score - most);
  barrier(CLK_LOCAL_MEM_FENCE);
  tile[LID] = e;
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int k = 0; k < 64; k++)
    sum += tile[k];
  float sigmoid = 1.0f / (1.0f + exp(in[GID] * 10.0f));
  out[GID] = e / sum + sigmoid + tanh(in[GID]) + sqrt(in[GID] * zero) + convert_int_sat(in[GID] * 1e9f);
}
