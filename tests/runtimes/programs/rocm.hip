#include <hip/hip_runtime.h>
#include <cfenv>
#include <cmath>
#include <cstdio>
__global__ void calls(double *out) {
  int i = __ockl_get_local_id(0);
  double x = 0.25 + i, c, s;
  sincos(x, &s, &c);
  out[i] = s * s + c * c + erf(x) - (double)erff((float)x) + tgamma(i + 2.0) + j0(0.0) + fma(x, 2.0, -2 * x);
  out[i] += __ockl_wgred_add_i32(i & 1) + (i % 2 ? 100 * __ockl_activelane_u32() : 0);
  if (i == 3) {
    unsigned long message = __ockl_fprintf_stderr_begin();
    const char text[] = "work-item %d of a block says so in a text of more than 56 characters\n";
    message = __ockl_fprintf_append_string_n(message, text, sizeof text, 0);
    __ockl_fprintf_append_args(message, 1, i, 0, 0, 0, 0, 0, 0, 1);
  }
}
#ifdef __gfx90a__
#define VERSION 9010
#else
#define VERSION 11000
#endif
#define FUNCTIONS(add, sub, mul, div, fma, sqrt) { add(x, y), sub(x, y), mul(x, y), div(x, y), fma(x, y, z), sqrt(x) }
#define ALL(T, s) template <> __device__ Results<T> here(T x, T y, T z, int how) { \
  if (how == 0) return FUNCTIONS(__ocml_add_rtp_##s, __ocml_sub_rtp_##s, __ocml_mul_rtp_##s, __ocml_div_rtp_##s, __ocml_fma_rtp_##s, __ocml_sqrt_rtp_##s); \
  if (how == 1) return FUNCTIONS(__ocml_add_rtn_##s, __ocml_sub_rtn_##s, __ocml_mul_rtn_##s, __ocml_div_rtn_##s, __ocml_fma_rtn_##s, __ocml_sqrt_rtn_##s); \
  return FUNCTIONS(__ocml_add_rtz_##s, __ocml_sub_rtz_##s, __ocml_mul_rtz_##s, __ocml_div_rtz_##s, __ocml_fma_rtz_##s, __ocml_sqrt_rtz_##s); }
template <class T> struct Results { T of[6]; };
template <class T> __device__ Results<T> here(T, T, T, int);
ALL(float, f32) ALL(double, f64)
template <class T> __global__ void rounded(const T *in, Results<T> *out) {
  int i = __ockl_get_local_id(0);
  for (int how = 0; how < 3; how++) out[3 * i + how] = here(in[3 * i], in[3 * i + 1], in[3 * i + 2], how);
}
__global__ void constants(int *right) {
  bool is_version = __oclc_ISA_version == VERSION && __oclc_wavefrontsize64 == (__builtin_amdgcn_wavefrontsize() == 64);
  int i = __ockl_get_local_id(0);
  int sum = __ockl_wfred_add_i32(i), either = __ockl_wfred_or_u32(8 | i), odd = __ockl_wfred_xor_i64(i / 7);
  double least = __ockl_wfred_min_f64(i - 2.5), most = __ockl_wfred_max_u64(i);
  right[1] = sum == 28 && either == 15 && odd == 1 && least == -2.5 && most == 7;
  __ockl_grid_sync();
  right[0] = is_version && !__ockl_grid_is_valid() && __ockl_multi_grid_num_grids() == 1;
  int *block = (int *)__ockl_dm_alloc(sizeof *block);
  *block = i;
  if (__ockl_wfred_add_i32(*block) == sum) right[2] = 1;
  __ockl_dm_dealloc((unsigned long)block);
}
/* A texture of 4 x 2 pairs of floats: between texels, beyond the edge, four of one channel, one texel, and one that is written. */
__global__ void sampled(float *out, unsigned __attribute__((address_space(4))) *texture) {
  dg_v4 between = __ockl_image_sample_2D(texture, texture + 12, dg_v2{2, 1}), beyond = __ockl_image_sample_2D(texture, texture + 12, dg_v2{9, 9});
  dg_v4 four = __ockl_image_gather4g_2D(texture, texture + 12, dg_v2{2, 1}), ones = __ockl_image_gather4a_2D(texture, texture + 12, dg_v2{2, 1});
  dg_v4 one = __ockl_image_load_2D(texture, dg_i2{3, 1});
  __ockl_image_store_2D(texture, dg_i2{0, 1}, one * 2);
  dg_v4 written = __ockl_image_load_2D(texture, dg_i2{0, 1});
  float all[] = {between.x, between.y, beyond.x, beyond.y, one.x, one.y, written.x, written.y, four.x, four.y, four.z, four.w, ones.x + ones.w};
  for (float each : all) *out++ = each;
  *out++ = __ockl_image_channel_data_type_2D(texture), *out = __ockl_image_channel_order_2D(texture);
}
void texture() {
  struct { int type, unused; void *texels; int format[5]; size_t width, height, pitch; } resource = {3, 0, nullptr, {32, 32, 0, 0, 2}, 4, 2, 64};
  struct { int modes[3], filter, read, gamma; float border[4]; int rest[6]; } about = {{1, 1, 1}, 1};
  unsigned __attribute__((address_space(4))) *object;
  float texels[2][16] = {}, *out, there[15];
  for (int i = 0; i < 16; i++) texels[i / 8][i % 8] = i;
  (void)hipMalloc(&resource.texels, sizeof texels); (void)hipMalloc((void **)&out, sizeof there);
  (void)hipMemcpy(resource.texels, texels, sizeof texels, hipMemcpyHostToDevice);
  if (hipCreateTextureObject(&object, &resource, &about, nullptr)) printf("no texture\n");
  sampled<<<1, 1>>>(out, object);
  (void)hipMemcpy(there, out, sizeof there, hipMemcpyDeviceToHost);
  for (float each : there) printf("%g ", each);
  (void)hipDestroyTextureObject(object);
  __hip_surface *surface; // those of HIP 5 are functions of C++
  printf("%d %d ", hipCreateSurfaceObject(&surface, (hipResourceDesc *)&resource), hipDestroySurfaceObject(nullptr));
  (void)hipFree(resource.texels); (void)hipFree(out);
  printf("texels\n");
}
/* Count the results that are not those of the host, which is set to the same rounding. */
template <class T, class Bits> void compare(int least, int most) {
  const int count = 64, modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  static T in[3 * count];
  static Results<T> out[3 * count];
  unsigned long seed = 7;
  for (T &each : in) {
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    each = ldexp((T)(long)(seed >> 11 | 1), least + (int)(seed >> 33) % (most - least) - 53) * (seed >> 63 ? -1 : 1);
  }
  for (int i = 0; i < 24; i++) in[i] = (T)(i / 3 + 1) / (T)(i % 3 + 1), in[3 * i + 2] = -in[3 * i] * in[3 * i + 1];
  T *from; Results<T> *to;
  (void)hipMalloc((void **)&from, sizeof in); (void)hipMalloc((void **)&to, sizeof out);
  (void)hipMemcpy(from, in, sizeof in, hipMemcpyHostToDevice);
  rounded<T><<<1, count>>>(from, to);
  (void)hipMemcpy(out, to, sizeof out, hipMemcpyDeviceToHost);
  int wrong[6] = {};
  for (int k = 0; k < 3 * count; k++) {
    volatile T x = in[k / 3 * 3], y = in[k / 3 * 3 + 1], z = in[k / 3 * 3 + 2];
    fesetround(modes[k % 3]);
    volatile T there[] = FUNCTIONS([](T x, T y) { return x + y; }, [](T x, T y) { return x - y; }, [](T x, T y) { return x * y; }, [](T x, T y) { return x / y; }, std::fma, std::sqrt);
    fesetround(FE_TONEAREST);
    for (int f = 0; f < 6; f++) wrong[f] += there[f] == there[f] ? __builtin_bit_cast(Bits, out[k].of[f]) != __builtin_bit_cast(Bits, (T)there[f]) : out[k].of[f] == out[k].of[f];
  }
  printf("%d %d %d %d %d %d\n", wrong[0], wrong[1], wrong[2], wrong[3], wrong[4], wrong[5]);
  (void)hipFree(from); (void)hipFree(to);
}
int main() {
  double *out, host[8];
  (void)hipMalloc((void **)&out, sizeof host);
  calls<<<1, 8>>>(out);
  (void)hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost);
  for (double each : host) printf("%.6f\n", each);
  (void)hipFree(out);
  compare<float, int>(-70, 70); compare<float, int>(-149, -60);
  compare<double, long>(-500, 500); compare<double, long>(-1074, -500);
  texture();
  int *right, are_right[3];
  (void)hipMalloc((void **)&right, sizeof are_right);
  constants<<<1, 8>>>(right);
  (void)hipMemcpy(are_right, right, sizeof are_right, hipMemcpyDeviceToHost);
  printf("constants %d, waves %d, memory %d\n", are_right[0], are_right[1], are_right[2]);
  (void)hipFree(right);
}
// Prints:
// 7.000000
// 8.000000
// 12.000000
// 130.000000
// 126.000000
// 926.000000
// 5046.000000
// 40626.000000
// 0 0 0 0 0 0
// 0 0 0 0 0 0
// 0 0 0 0 0 0
// 0 0 0 0 0 0
// 7 8 14 15 14 15 28 30 11 13 5 3 2 15 3 1 0 texels
// constants 1, waves 1, memory 1
// 7 launches, 5 kernels, no error
