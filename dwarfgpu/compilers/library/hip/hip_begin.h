/* What each source of HIP begins with: the words of the language, and the functions of two numbers that templates of
   <cmath> call, which find only what was declared before them. clang's __clang_hip_runtime_wrapper.h is the same for ROCm. */
#pragma once
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#ifdef DG_PROGRAM
#define __managed__ __attribute__((managed))
#else
#define __managed__ __attribute__((device)) /* without a host it is memory of the device */
#endif
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define DG_DEVICE __device__ static inline __attribute__((always_inline, nodebug))
#define DG_BOTH __host__ __device__ static inline __attribute__((always_inline, nodebug))
#define DG_NEAR __device__ inline __attribute__((always_inline, nodebug))
#define DG_TWO(name) \
  DG_DEVICE float name(float, float); \
  DG_DEVICE double name(double, double);
DG_TWO(pow) DG_TWO(atan2) DG_TWO(hypot) DG_TWO(fmod) DG_TWO(remainder) DG_TWO(fmin) DG_TWO(fmax) DG_TWO(copysign)
DG_TWO(fdim) DG_TWO(nextafter)
