/* The words of the language, which rocThrust keeps if the next word is defined. */
#define HIP_INCLUDE_HIP_AMD_DETAIL_HOST_DEFINES_H
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
