// As much of a header of HIP as rocm.hip needs. It names the functions of ROCm's device library, as ROCm's own does.
#pragma once
#include <stddef.h>
struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
typedef int hipError_t;
typedef struct ihipStream_t *hipStream_t;
enum hipMemcpyKind { hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost };
extern "C" {
hipError_t hipMalloc(void **pointer, size_t size);
hipError_t hipFree(void *pointer);
hipError_t hipCreateTextureObject(unsigned __attribute__((address_space(4))) **object, const void *resource, const void *texture, const void *view);
hipError_t hipDestroyTextureObject(unsigned __attribute__((address_space(4))) *object);
hipError_t hipMemcpy(void *to, const void *from, size_t size, hipMemcpyKind kind);
hipError_t hipDeviceSynchronize();
hipError_t hipLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared, hipStream_t stream);
unsigned __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, hipStream_t stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, hipStream_t *stream);
__device__ size_t __ockl_get_local_id(unsigned);
__device__ unsigned __ockl_activelane_u32();
__device__ int __ockl_wgred_add_i32(int);
typedef float dg_v2 __attribute__((ext_vector_type(2)));
typedef float dg_v4 __attribute__((ext_vector_type(4)));
typedef int dg_i2 __attribute__((ext_vector_type(2)));
__device__ dg_v4 __ockl_image_sample_2D(unsigned __attribute__((address_space(4))) *, unsigned __attribute__((address_space(4))) *, dg_v2);
__device__ dg_v4 __ockl_image_gather4g_2D(unsigned __attribute__((address_space(4))) *, unsigned __attribute__((address_space(4))) *, dg_v2);
__device__ dg_v4 __ockl_image_gather4a_2D(unsigned __attribute__((address_space(4))) *, unsigned __attribute__((address_space(4))) *, dg_v2);
__device__ dg_v4 __ockl_image_load_2D(unsigned __attribute__((address_space(4))) *, dg_i2);
__device__ void __ockl_image_store_2D(unsigned __attribute__((address_space(4))) *, dg_i2, dg_v4);
__device__ int __ockl_image_channel_data_type_2D(unsigned __attribute__((address_space(4))) *);
__device__ int __ockl_image_channel_order_2D(unsigned __attribute__((address_space(4))) *);
__device__ int __ockl_wfred_add_i32(int);
__device__ void __ockl_grid_sync();
__device__ int __ockl_grid_is_valid();
__device__ unsigned __ockl_multi_grid_num_grids();
__device__ unsigned __ockl_wfred_or_u32(unsigned);
__device__ long __ockl_wfred_xor_i64(long);
__device__ double __ockl_wfred_min_f64(double);
__device__ unsigned long __ockl_wfred_max_u64(unsigned long);
__device__ unsigned long __ockl_dm_alloc(unsigned long);
__device__ void __ockl_dm_dealloc(unsigned long);
#define ROUNDED(T, s, r) \
  __device__ T __ocml_add_##r##_##s(T, T), __ocml_sub_##r##_##s(T, T), __ocml_mul_##r##_##s(T, T), __ocml_div_##r##_##s(T, T); \
  __device__ T __ocml_fma_##r##_##s(T, T, T), __ocml_sqrt_##r##_##s(T);
ROUNDED(float, f32, rtp) ROUNDED(float, f32, rtn) ROUNDED(float, f32, rtz)
ROUNDED(double, f64, rtp) ROUNDED(double, f64, rtn) ROUNDED(double, f64, rtz)
extern __attribute__((constant)) const int __oclc_ISA_version;
extern __attribute__((constant)) const unsigned char __oclc_wavefrontsize64;
__device__ unsigned long __ockl_fprintf_stderr_begin();
__device__ unsigned long __ockl_fprintf_append_args(unsigned long m, unsigned n, unsigned long, unsigned long, unsigned long,
                                                    unsigned long, unsigned long, unsigned long, unsigned long, unsigned is_last);
__device__ unsigned long __ockl_fprintf_append_string_n(unsigned long m, const char *text, unsigned long size, unsigned is_last);
}
struct __hip_surface;
struct hipResourceDesc;
hipError_t hipCreateSurfaceObject(__hip_surface **object, const hipResourceDesc *resource);
hipError_t hipDestroySurfaceObject(__hip_surface *object);
