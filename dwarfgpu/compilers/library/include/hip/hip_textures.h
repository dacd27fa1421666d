/* Textures and surfaces in software: an object is a pointer to this description, which the host half writes, and no image
   instruction is executed. Weights of linear filtering are floats; hardware has 8 bits of them. */
#pragma once
typedef struct __hip_texture *hipTextureObject_t;
typedef struct __hip_surface *hipSurfaceObject_t;
typedef struct hipMipmappedArray *hipMipmappedArray_t;
enum hipTextureAddressMode { hipAddressModeWrap, hipAddressModeClamp, hipAddressModeMirror, hipAddressModeBorder };
enum hipTextureFilterMode { hipFilterModePoint, hipFilterModeLinear };
enum hipTextureReadMode { hipReadModeElementType, hipReadModeNormalizedFloat };
enum hipSurfaceBoundaryMode { hipBoundaryModeZero, hipBoundaryModeTrap, hipBoundaryModeClamp };
enum hipResourceType { hipResourceTypeArray, hipResourceTypeMipmappedArray, hipResourceTypeLinear, hipResourceTypePitch2D };
struct hipResourceDesc {
  hipResourceType resType;
  union {
    struct { hipArray_t array; } array;
    struct { hipMipmappedArray_t mipmap; } mipmap;
    struct { void *devPtr; hipChannelFormatDesc desc; size_t sizeInBytes; } linear;
    struct { void *devPtr; hipChannelFormatDesc desc; size_t width, height, pitchInBytes; } pitch2D;
  } res;
};
struct hipTextureDesc {
  hipTextureAddressMode addressMode[3]; hipTextureFilterMode filterMode; hipTextureReadMode readMode; int sRGB;
  float borderColor[4]; int normalizedCoords; unsigned maxAnisotropy; hipTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};
struct hipResourceViewDesc {
  int format; size_t width, height, depth; unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
};
static_assert(sizeof(hipResourceDesc) == 64 && sizeof(hipTextureDesc) == 64, "textures");
struct textureReference {
  int normalized; hipTextureReadMode readMode; hipTextureFilterMode filterMode; hipTextureAddressMode addressMode[3];
  hipChannelFormatDesc channelDesc; int sRGB; unsigned maxAnisotropy; hipTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp; hipTextureObject_t textureObject; int numChannels;
  hipArray_Format format;
};
static_assert(sizeof(textureReference) == 88, "textureReference");
typedef textureReference *hipTexRef;
#define hipTextureType1D 1
#define hipTextureType2D 2
#define hipTextureType3D 3
#define hipTextureTypeCubemap 12
#define hipTextureType1DLayered 0xF1
#define hipTextureType2DLayered 0xF2
#define hipTextureTypeCubemapLayered 0xFC
#define HIP_TRSA_OVERRIDE_FORMAT 1
#define HIP_TRSF_READ_AS_INTEGER 1
#define HIP_TRSF_NORMALIZED_COORDINATES 2
#define HIP_TRSF_SRGB 16
/* A variable that both sides have: binding it gives both the same object. */
template <class T, int kind = hipTextureType1D, hipTextureReadMode mode = hipReadModeElementType>
struct __attribute__((device_builtin_texture_type)) texture : textureReference {
  texture(int is_normalized = 0, hipTextureFilterMode filter = hipFilterModePoint, hipTextureAddressMode address = hipAddressModeClamp,
    hipChannelFormatDesc channels = hipCreateChannelDesc<T>())
    : textureReference{is_normalized, mode, filter, {address, address, address}, channels} {}
};
extern "C" {
hipError_t hipCreateTextureObject(hipTextureObject_t *, const hipResourceDesc *, const hipTextureDesc *, const hipResourceViewDesc *);
hipError_t hipDestroyTextureObject(hipTextureObject_t);
hipError_t hipGetTextureObjectResourceDesc(hipResourceDesc *, hipTextureObject_t);
hipError_t hipGetTextureObjectTextureDesc(hipTextureDesc *, hipTextureObject_t);
hipError_t hipCreateSurfaceObject(hipSurfaceObject_t *, const hipResourceDesc *);
hipError_t hipDestroySurfaceObject(hipSurfaceObject_t);
hipError_t hipBindTexture(size_t *, const textureReference *, const void *, const hipChannelFormatDesc *, size_t = UINT_MAX);
hipError_t hipBindTexture2D(size_t *, const textureReference *, const void *, const hipChannelFormatDesc *, size_t, size_t, size_t);
hipError_t hipBindTextureToArray(const textureReference *, hipArray_const_t, const hipChannelFormatDesc *);
hipError_t hipUnbindTexture(const textureReference *);
hipError_t hipGetTextureAlignmentOffset(size_t *, const textureReference *);
hipError_t hipGetTextureReference(const textureReference **, const void *);
/* Declared, and not supported: mipmaps, and texture references of modules. */
typedef const struct hipMipmappedArray *hipMipmappedArray_const_t;
hipError_t hipMallocMipmappedArray(hipMipmappedArray_t *, const hipChannelFormatDesc *, hipExtent, unsigned, unsigned = 0);
hipError_t hipFreeMipmappedArray(hipMipmappedArray_t);
hipError_t hipGetMipmappedArrayLevel(hipArray_t *, hipMipmappedArray_const_t, unsigned);
hipError_t hipMipmappedArrayCreate(hipMipmappedArray_t *, HIP_ARRAY3D_DESCRIPTOR *, unsigned);
hipError_t hipMipmappedArrayDestroy(hipMipmappedArray_t);
hipError_t hipMipmappedArrayGetLevel(hipArray_t *, hipMipmappedArray_t, unsigned);
hipError_t hipBindTextureToMipmappedArray(const textureReference *, hipMipmappedArray_const_t, const hipChannelFormatDesc *);
hipError_t hipModuleGetTexRef(hipTexRef *, hipModule_t, const char *);
hipError_t hipTexRefSetArray(hipTexRef, hipArray_const_t, unsigned);
hipError_t hipTexRefSetAddress(size_t *, hipTexRef, hipDeviceptr_t, size_t);
hipError_t hipTexRefSetAddress2D(hipTexRef, const HIP_ARRAY_DESCRIPTOR *, hipDeviceptr_t, size_t);
hipError_t hipTexRefSetFormat(hipTexRef, hipArray_Format, int);
hipError_t hipTexRefSetFlags(hipTexRef, unsigned);
hipError_t hipTexRefSetFilterMode(hipTexRef, hipTextureFilterMode);
hipError_t hipTexRefSetAddressMode(hipTexRef, int, hipTextureAddressMode);
}
#define DG_REFERENCES template <class T, int k, hipTextureReadMode m> inline hipError_t
#define DG_REFERENCE const texture<T, k, m> &t
DG_REFERENCES hipBindTexture(size_t *offset, DG_REFERENCE, const void *p, size_t n = UINT_MAX) { return hipBindTexture(offset, &t, p, &t.channelDesc, n); }
DG_REFERENCES hipBindTexture(size_t *offset, DG_REFERENCE, const void *p, const hipChannelFormatDesc &c, size_t n = UINT_MAX) { return hipBindTexture(offset, &t, p, &c, n); }
DG_REFERENCES hipBindTexture2D(size_t *offset, DG_REFERENCE, const void *p, size_t w, size_t h, size_t pitch) { return hipBindTexture2D(offset, &t, p, &t.channelDesc, w, h, pitch); }
DG_REFERENCES hipBindTexture2D(size_t *offset, DG_REFERENCE, const void *p, const hipChannelFormatDesc &c, size_t w, size_t h, size_t pitch) {
  return hipBindTexture2D(offset, &t, p, &c, w, h, pitch);
}
DG_REFERENCES hipBindTextureToArray(DG_REFERENCE, hipArray_const_t a) { return hipBindTextureToArray(&t, a, &t.channelDesc); }
DG_REFERENCES hipBindTextureToArray(DG_REFERENCE, hipArray_const_t a, const hipChannelFormatDesc &c) { return hipBindTextureToArray(&t, a, &c); }
DG_REFERENCES hipBindTextureToMipmappedArray(DG_REFERENCE, hipMipmappedArray_const_t a) { return hipBindTextureToMipmappedArray(&t, a, &t.channelDesc); }
DG_REFERENCES hipUnbindTexture(DG_REFERENCE) { return hipUnbindTexture(&t); }
DG_REFERENCES hipGetTextureAlignmentOffset(size_t *offset, DG_REFERENCE) { return hipGetTextureAlignmentOffset(offset, &t); }
#undef DG_REFERENCE
#undef DG_REFERENCES

struct dg_texture {
  const unsigned char *base; unsigned long long slice;
  unsigned pitch, width, height, depth, channels, bits, kind, address[3], filter, normalized, read;
  float border[4];
};
static_assert(sizeof(dg_texture) == 88, "dg_texture");
struct dg_along { int low, high; float part; };

/* ---- texels ---- */
__device__ inline int dg_raw(const dg_texture *t, int x, int y, int z, unsigned channel) {
  const unsigned char *p = t->base + z * t->slice + y * (unsigned long long)t->pitch + (x * (unsigned long long)t->channels + channel) * (t->bits / 8);
  bool is_signed = t->kind == hipChannelFormatKindSigned;
  if (t->bits == 8) return is_signed ? *(const signed char *)p : *p;
  if (t->bits == 16) return is_signed ? *(const short *)p : *(const unsigned short *)p;
  return *(const int *)p;
}
__device__ inline bool dg_is_inside(const dg_texture *t, int x, int y, int z) {
  return (unsigned)x < t->width && (unsigned)y < t->height && (unsigned)z < t->depth;
}
/* A division of floats may be 2.5 units off. */
__device__ inline float dg_value(const dg_texture *t, int x, int y, int z, unsigned channel) {
  if (!dg_is_inside(t, x, y, z)) return t->border[channel];
  int raw = dg_raw(t, x, y, z, channel);
  if (t->kind == hipChannelFormatKindFloat) {
    if (t->bits == 32) return __builtin_bit_cast(float, raw);
    return __builtin_bit_cast(_Float16, (unsigned short)raw);
  }
  bool is_signed = t->kind == hipChannelFormatKindSigned;
  if (t->read != hipReadModeNormalizedFloat) return is_signed ? (float)raw : (float)(unsigned)raw;
  double most = is_signed ? (1u << (t->bits - 1)) - 1 : (1u << t->bits) - 1;
  float value = raw / most;
  return value < -1 ? -1 : value;
}

/* ---- coordinates ---- */
__device__ inline dg_along dg_along_axis(const dg_texture *t, int axis, float at, int size) {
  unsigned mode = t->address[axis];
  if (!t->normalized && (mode == hipAddressModeWrap || mode == hipAddressModeMirror)) mode = hipAddressModeClamp;
  float u = t->normalized ? at * size : at;
  if (mode == hipAddressModeWrap) u = (at - __builtin_floorf(at)) * size;
  if (mode == hipAddressModeMirror) u = __builtin_fabsf(at - 2 * __builtin_rintf(0.5f * at)) * size;
  if (!(u > -1e9f)) u = -1e9f;
  if (u > 1e9f) u = 1e9f;
  float first = __builtin_floorf(t->filter ? u - 0.5f : u);
  dg_along result = {(int)first, (int)first + (t->filter ? 1 : 0), t->filter ? u - 0.5f - first : 0.0f};
  if (mode == hipAddressModeWrap) {
    if (result.low < 0) result.low += size;
    if (result.high >= size) result.high -= size;
  }
  if (mode == hipAddressModeBorder) return result;
  result.low = result.low < 0 ? 0 : result.low >= size ? size - 1 : result.low;
  result.high = result.high < 0 ? 0 : result.high >= size ? size - 1 : result.high;
  return result;
}
__device__ inline float dg_filtered(const dg_texture *t, dg_along x, dg_along y, dg_along z, unsigned channel) {
  if (!t->filter) return dg_value(t, x.low, y.low, z.low, channel);
  float sum = 0;
  for (int corner = 0; corner < 8; corner++) {
    float weight = (corner & 1 ? x.part : 1 - x.part) * (corner & 2 ? y.part : 1 - y.part) * (corner & 4 ? z.part : 1 - z.part);
    if (weight == 0) continue;
    sum += weight * dg_value(t, corner & 1 ? x.high : x.low, corner & 2 ? y.high : y.low, corner & 4 ? z.high : z.low, channel);
  }
  return sum;
}
/* The four texels that linear filtering would use, in the order in which they are gathered. */
__device__ inline void dg_corners(const dg_texture *t, float x, float y, int (*corners)[2]) {
  dg_texture filtered = *t;
  filtered.filter = hipFilterModeLinear;
  dg_along u = dg_along_axis(&filtered, 0, x, t->width), v = dg_along_axis(&filtered, 1, y, t->height);
  corners[0][0] = corners[3][0] = u.low, corners[1][0] = corners[2][0] = u.high;
  corners[0][1] = corners[1][1] = v.high, corners[2][1] = corners[3][1] = v.low;
}
template <class T> __device__ inline T dg_sampled(hipTextureObject_t object, dg_along x, dg_along y, dg_along z) {
  typedef typename dg_channels<T>::element E;
  const dg_texture *t = (const dg_texture *)object;
  T result = {};
  for (unsigned i = 0; i < (unsigned)dg_channels<T>::count && i < t->channels; i++) {
    if (E(0.5f) != E(0)) ((E *)&result)[i] = (E)dg_filtered(t, x, y, z, i);
    else if (dg_is_inside(t, x.low, y.low, z.low)) ((E *)&result)[i] = (E)dg_raw(t, x.low, y.low, z.low, i);
  }
  return result;
}
template <class T> __device__ inline T tex2Dgather(hipTextureObject_t object, float x, float y, int channel = 0) {
  typedef typename dg_channels<T>::element E;
  static_assert(dg_channels<T>::count == 4, "four texels are gathered");
  const dg_texture *t = (const dg_texture *)object;
  T result = {};
  int corners[4][2];
  dg_corners(t, x, y, corners);
  for (int i = 0; i < 4 && (unsigned)channel < t->channels; i++) {
    if (E(0.5f) != E(0)) ((E *)&result)[i] = (E)dg_value(t, corners[i][0], corners[i][1], 0, channel);
    else if (dg_is_inside(t, corners[i][0], corners[i][1], 0)) ((E *)&result)[i] = (E)dg_raw(t, corners[i][0], corners[i][1], 0, channel);
  }
  return result;
}
#define DG_X dg_along_axis((const dg_texture *)object, 0, x, ((const dg_texture *)object)->width)
#define DG_Y dg_along_axis((const dg_texture *)object, 1, y, ((const dg_texture *)object)->height)
#define DG_Z dg_along_axis((const dg_texture *)object, 2, z, ((const dg_texture *)object)->depth)
#define DG_ONE(i) dg_along{i, i, 0}
/* What a reference reads: the type of its elements, or as many floats. */
template <class T, hipTextureReadMode mode, int count = dg_channels<T>::count> struct dg_read { typedef T type; };
template <class T> struct dg_read<T, hipReadModeNormalizedFloat, 1> { typedef float type; };
template <class T> struct dg_read<T, hipReadModeNormalizedFloat, 2> { typedef float2 type; };
template <class T> struct dg_read<T, hipReadModeNormalizedFloat, 4> { typedef float4 type; };
#define DG_FETCHES(name, kind, result, ...) \
  template <class T> __device__ inline T name(hipTextureObject_t object, __VA_ARGS__) { return result; } \
  template <class T> __device__ inline void name(T *out, hipTextureObject_t object, __VA_ARGS__) { *out = result; } \
  template <class E, hipTextureReadMode mode> __device__ inline typename dg_read<E, mode>::type name(texture<E, kind, mode> reference, __VA_ARGS__) { \
    typedef typename dg_read<E, mode>::type T; \
    hipTextureObject_t object = reference.textureObject; \
    return result; \
  }
DG_FETCHES(tex1Dfetch, hipTextureType1D, (dg_sampled<T>(object, DG_ONE(x), DG_ONE(0), DG_ONE(0))), int x)
DG_FETCHES(tex1D, hipTextureType1D, (dg_sampled<T>(object, DG_X, DG_ONE(0), DG_ONE(0))), float x)
DG_FETCHES(tex2D, hipTextureType2D, (dg_sampled<T>(object, DG_X, DG_Y, DG_ONE(0))), float x, float y)
DG_FETCHES(tex3D, hipTextureType3D, (dg_sampled<T>(object, DG_X, DG_Y, DG_Z)), float x, float y, float z)
DG_FETCHES(tex1DLayered, hipTextureType1DLayered, (dg_sampled<T>(object, DG_X, DG_ONE(0), DG_ONE(layer))), float x, int layer)
DG_FETCHES(tex2DLayered, hipTextureType2DLayered, (dg_sampled<T>(object, DG_X, DG_Y, DG_ONE(layer))), float x, float y, int layer)
/* Without mipmaps the only level is the first. */
DG_FETCHES(tex1DLod, hipTextureType1D, (dg_sampled<T>(object, DG_X, DG_ONE(0), DG_ONE(0))), float x, float)
DG_FETCHES(tex2DLod, hipTextureType2D, (dg_sampled<T>(object, DG_X, DG_Y, DG_ONE(0))), float x, float y, float)
DG_FETCHES(tex3DLod, hipTextureType3D, (dg_sampled<T>(object, DG_X, DG_Y, DG_Z)), float x, float y, float z, float)
#undef DG_X
#undef DG_Y
#undef DG_Z

/* ---- surfaces: the first coordinate counts bytes ---- */
template <class T> __device__ inline T *dg_cell(hipSurfaceObject_t object, int x, int y, int z) {
  const dg_texture *t = (const dg_texture *)object;
  if (x % (int)sizeof(T) || !dg_is_inside(t, x / (int)(t->channels * t->bits / 8), y, z) || x + sizeof(T) > t->pitch) return nullptr;
  return (T *)(t->base + z * t->slice + y * (unsigned long long)t->pitch + x);
}
#define DG_SURFACES(name, y, z, ...) \
  template <class T> __device__ inline void name##read(T *out, hipSurfaceObject_t object, __VA_ARGS__, int = hipBoundaryModeZero) { \
    T *cell = dg_cell<T>(object, x, y, z); \
    *out = cell ? *cell : T(); \
  } \
  template <class T> __device__ inline T name##read(hipSurfaceObject_t object, __VA_ARGS__, int = hipBoundaryModeZero) { \
    T *cell = dg_cell<T>(object, x, y, z); \
    return cell ? *cell : T(); \
  } \
  template <class T> __device__ inline void name##write(T value, hipSurfaceObject_t object, __VA_ARGS__, int = hipBoundaryModeZero) { \
    T *cell = dg_cell<T>(object, x, y, z); \
    if (cell) *cell = value; \
  }
DG_SURFACES(surf1D, 0, 0, int x)
DG_SURFACES(surf2D, y, 0, int x, int y)
DG_SURFACES(surf3D, y, z, int x, int y, int z)
DG_SURFACES(surf2DLayered, y, layer, int x, int y, int layer)
#undef DG_SURFACES
#undef DG_FETCHES
#undef DG_ONE
