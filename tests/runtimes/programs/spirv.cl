// Kernels that a test executes as source and as SPIR-V: each needs something else of the translation.
typedef struct { float factor; int count; char tail; } shape;
typedef struct { long far; short few[5]; } inner;
typedef struct { inner first; float3 point; } outer;

constant int primes[4] = {2, 3, 5, 7};

kernel void saxpy(global float *y, global const float *x, float a, shape s, constant float *more) {
  size_t i = get_global_id(0);
  s.count -= s.tail;
  if (i < s.count) y[i] = a * x[i] * s.factor + y[i] + more[i % 2] + primes[i % 4];
}

kernel void structs(global outer *out, outer in, local outer *there) {
  in.first.few[get_local_id(0) % 5] += in.first.far;
  there[get_local_id(0)] = in;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = there[get_local_size(0) - 1 - get_local_id(0)];
}

int neighbour(local int *cells, int at) {
  barrier(CLK_LOCAL_MEM_FENCE);
  return cells[at];
}

kernel __attribute__((reqd_work_group_size(16, 1, 1))) void groups(global int *cells, local int *given, volatile global int *count) {
  local int own[16], *none = 0;
  int l = get_local_id(0);
  given[l] = own[l] = cells[get_global_id(0)];
  if (&given[l] == none || own + l == none) atomic_sub(count, 1000);  // the first address of local memory is 0
  int other = neighbour(given, 15 - l);
  if (l < 8) other += neighbour(own, l + 1) - neighbour(given, l);
  else other += (barrier(CLK_LOCAL_MEM_FENCE), 0) + (barrier(CLK_LOCAL_MEM_FENCE), 1);
  atomic_add(count, other);
  cells[get_global_id(0)] = other + work_group_reduce_add(l) + sub_group_any(l == 3);
  event_t copied = async_work_group_copy(own, cells + 16 * get_group_id(0), 16, 0);
  wait_group_events(1, &copied);
  cells[get_global_id(0)] += own[l ^ 1];
}

kernel void functions(global float *f, global int4 *v, global uint *u, global char4 *c) {
  float whole, four[4], *some = f[0] > 100 ? &whole : 0;
  int power;
  float4 both, sines = sincos(vload4(0, f), &both);
  f[4] = fract(f[1], &whole) + whole;
  if (some) *some = 5;
  f[5] = frexp(f[2], &power) + power + whole;
  f[8] = f[1] / f[2];
  vstore4(sines * both, 0, four);
  vstore_half(four[1], 12, (global half *)f);
  f[7] = four[2] + convert_int_sat_rte(f[3]) + vload_half(12, (global half *)f);
  v[0] = convert_int4_sat(vload4(0, f) * 1e9f) + clamp(v[0], -3, 9);
  v[1] = shuffle2(v[0], v[1], (uint4)(7, 1, 4, 2)) + (int)abs_diff(v[0].x, v[1].y) + isless(f[0], f[1]);
  u[0] = popcount(u[0]) + clz(u[1]) + mul_hi(u[1], u[2]) + rotate(u[2], 7u) + mad_sat(u[0], u[1], u[2]) + upsample((ushort)u[0], (ushort)u[1]);
  c[0] = add_sat(c[0], c[1]) + max(c[0], hadd(c[1], (char4)(-7))) + select(c[0], c[1], c[0] > c[1]);
  u[3] = any(v[0] < 0) + 2 * all(v[1] < 0) + as_uint(fma(f[0], f[1], f[2])) + (uint)get_global_size(0) + get_work_dim();
  generic int *anywhere = u[0] > 5 ? (generic int *)u : (generic int *)&power;
  if (to_global(anywhere)) *anywhere += 3;
}

kernel void doubled(read_only image2d_t in, write_only image2d_t out, sampler_t given) {
  const sampler_t own = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  float4 texel = read_imagef(in, own, at + 1) + read_imagef(in, given, convert_float2(at) + 0.75f);
  write_imagef(out, at, texel + get_image_width(in) + get_image_dim(out).y);
}

kernel void prints(global int *cells) {
  if (get_global_id(0) == 1) printf("item %d \"ptr null\" %s %5.2f %v4d\n", cells[1], "text", cells[2] / 4.0f, vload4(0, cells));
}

#ifdef __SPIR__
int __attribute__((overloadable)) __spirv_SpecConstant(int, int);
float __attribute__((overloadable)) __spirv_SpecConstant(int, float);
bool __attribute__((overloadable)) __spirv_SpecConstant(int, bool);
double __attribute__((overloadable)) __spirv_SpecConstant(int, double);

kernel void constants(global int *out, global float *real, global double *more) {
  out[0] = __spirv_SpecConstant(7, 5) + (__spirv_SpecConstant(11, true) ? 100 : 200);
  real[0] = __spirv_SpecConstant(9, 1.5f);
  more[0] = __spirv_SpecConstant(13, 0.1);
}
#endif
