/* The functions of images of ROCm's device library (__ockl_image_*): an object is the description of hip_textures.h, which
   has what a sampler would have. There are no mipmaps, so the only level is the first. */
#define DG_PROGRAM /* for the types of textures */
#include "include/hip/hip_runtime.h"
typedef float V2 __attribute__((ext_vector_type(2)));
typedef float V4 __attribute__((ext_vector_type(4)));
typedef int I2 __attribute__((ext_vector_type(2)));
typedef int I4 __attribute__((ext_vector_type(4)));
typedef unsigned __attribute__((address_space(4))) *Object;
#define HERE extern "C" __device__
#define ONE(i) dg_along{i, i, 0}
#define TEXTURE(object) const dg_texture *t = (const dg_texture *)(unsigned long)object;

/* Integers are the bits of floats. */
static __device__ V4 dg_texel(const dg_texture *t, dg_along x, dg_along y, dg_along z) {
  bool is_float = t->kind == hipChannelFormatKindFloat || t->read == hipReadModeNormalizedFloat;
  V4 result = 0;
  for (unsigned i = 0; i < t->channels; i++) {
    if (is_float) result[i] = dg_filtered(t, x, y, z, i);
    else if (dg_is_inside(t, x.low, y.low, z.low)) result[i] = __builtin_bit_cast(float, dg_raw(t, x.low, y.low, z.low, i));
  }
  return result;
}
static __device__ void dg_put(const dg_texture *t, int x, int y, int z, V4 value) {
  if (!dg_is_inside(t, x, y, z)) return;
  unsigned char *p = (unsigned char *)t->base + z * t->slice + y * (unsigned long)t->pitch + x * (unsigned long)(t->channels * t->bits / 8);
  for (unsigned i = 0; i < t->channels; i++) {
    unsigned bits = __builtin_bit_cast(unsigned, (float)value[i]);
    if (t->bits == 8) p[i] = (unsigned char)bits;
    else if (t->bits == 32) ((unsigned *)p)[i] = bits;
    else if (t->kind == hipChannelFormatKindFloat) ((_Float16 *)p)[i] = (_Float16)value[i];
    else ((unsigned short *)p)[i] = (unsigned short)bits;
  }
}
#define LOADS(s, C, x, y, z) \
  HERE V4 __ockl_image_load_##s(Object i, C c) { TEXTURE(i) return dg_texel(t, ONE(x), ONE(y), ONE(z)); } \
  HERE V4 __ockl_image_load_lod_##s(Object i, C c, int) { return __ockl_image_load_##s(i, c); } \
  HERE void __ockl_image_store_##s(Object i, C c, V4 value) { TEXTURE(i) dg_put(t, x, y, z, value); } \
  HERE void __ockl_image_store_lod_##s(Object i, C c, int, V4 value) { __ockl_image_store_##s(i, c, value); }
LOADS(1D, int, c, 0, 0) LOADS(1Db, int, c, 0, 0) LOADS(1Da, I2, c.x, 0, c.y) LOADS(2D, I2, c.x, c.y, 0) LOADS(2Da, I4, c.x, c.y, c.z) LOADS(3D, I4, c.x, c.y, c.z)
#define X(at) dg_along_axis(t, 0, at, t->width)
#define Y(at) dg_along_axis(t, 1, at, t->height)
#define Z(at) dg_along_axis(t, 2, at, t->depth)
#define LAYER(at) ONE((int)__builtin_rintf(at))
#define SAMPLES(s, C, D, x, y, z) \
  HERE V4 __ockl_image_sample_##s(Object i, Object, C c) { TEXTURE(i) return dg_texel(t, x, y, z); } \
  HERE V4 __ockl_image_sample_lod_##s(Object i, Object, C c, float) { TEXTURE(i) return dg_texel(t, x, y, z); } \
  HERE V4 __ockl_image_sample_grad_##s(Object i, Object, C c, D, D) { TEXTURE(i) return dg_texel(t, x, y, z); }
SAMPLES(1D, float, float, X(c), ONE(0), ONE(0)) SAMPLES(1Da, V2, float, X(c.x), ONE(0), LAYER(c.y)) SAMPLES(2D, V2, V2, X(c.x), Y(c.y), ONE(0))
SAMPLES(2Da, V4, V2, X(c.x), Y(c.y), LAYER(c.z)) SAMPLES(3D, V4, V4, X(c.x), Y(c.y), Z(c.z))

/* A channel that is not there is 0, and the fourth one 1. */
static __device__ V4 dg_gathered(const dg_texture *t, V2 at, unsigned channel) {
  bool is_float = t->kind == hipChannelFormatKindFloat || t->read == hipReadModeNormalizedFloat;
  V4 result = channel < 3 ? 0.0f : is_float ? 1.0f : __builtin_bit_cast(float, 1);
  int corners[4][2];
  dg_corners(t, at.x, at.y, corners);
  for (int i = 0; i < 4 && channel < t->channels; i++) {
    int x = corners[i][0], y = corners[i][1];
    if (is_float) result[i] = dg_value(t, x, y, 0, channel);
    else if (dg_is_inside(t, x, y, 0)) result[i] = __builtin_bit_cast(float, dg_raw(t, x, y, 0, channel));
  }
  return result;
}
#define GATHERS(letter, channel) HERE V4 __ockl_image_gather4##letter##_2D(Object i, Object, V2 c) { TEXTURE(i) return dg_gathered(t, c, channel); }
GATHERS(r, 0) GATHERS(g, 1) GATHERS(b, 2) GATHERS(a, 3)

/* As HSA numbers them: hsa_ext_image_channel_type_t, and the orders R, RG, RGB and RGBA. */
static __device__ int dg_type(const dg_texture *t) {
  int by_size = t->bits == 8 ? 0 : t->bits == 16 ? 1 : 2;
  return t->kind == hipChannelFormatKindFloat ? 13 + by_size : (t->kind == hipChannelFormatKindSigned ? 8 : 11) + by_size;
}
#define FORMAT(s) \
  HERE int __ockl_image_channel_data_type_##s(Object i) { TEXTURE(i) return dg_type(t); } \
  HERE int __ockl_image_channel_order_##s(Object i) { TEXTURE(i) return t->channels == 1 ? 1 : t->channels == 2 ? 3 : t->channels == 3 ? 6 : 8; }
FORMAT(1D) FORMAT(1Da) FORMAT(1Db) FORMAT(2D) FORMAT(2Da) FORMAT(3D)
