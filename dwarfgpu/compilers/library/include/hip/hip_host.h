/* The host half of <hip/hip_runtime.h>, for whole programs. Numbers and layouts are those of HIP's ABI, the same in HIP
   5.2 and 7.1 where nothing else is said. */
#pragma once
#include <stdlib.h>
#include <string.h>
#include <math.h>
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#define HIP_VERSION_MAJOR 6
#define HIP_VERSION_MINOR 4
#define HIP_VERSION_PATCH 0
#define HIP_VERSION 60400000
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphExec *hipGraphExec_t;
typedef struct ihipCtx_t *hipCtx_t;
typedef void *hipDeviceptr_t;
typedef int hipDevice_t;
#define hipStreamPerThread ((hipStream_t)2)
#define hipStreamDefault 0
#define hipStreamNonBlocking 1
enum hipError_t {
  hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2, hipErrorMemoryAllocation = 2, hipErrorNotInitialized = 3,
  hipErrorInitializationError = 3, hipErrorDeinitialized = 4, hipErrorInvalidConfiguration = 9, hipErrorInvalidPitchValue = 12,
  hipErrorInvalidSymbol = 13, hipErrorInvalidDevicePointer = 17, hipErrorInvalidMemcpyDirection = 21,
  hipErrorInsufficientDriver = 35, hipErrorMissingConfiguration = 52, hipErrorInvalidDeviceFunction = 98,
  hipErrorNoDevice = 100, hipErrorInvalidDevice = 101, hipErrorInvalidImage = 200, hipErrorInvalidContext = 201,
  hipErrorNoBinaryForGpu = 209, hipErrorInvalidSource = 300, hipErrorFileNotFound = 301,
  hipErrorSharedObjectSymbolNotFound = 302, hipErrorInvalidHandle = 400, hipErrorInvalidResourceHandle = 400,
  hipErrorIllegalState = 401, hipErrorNotFound = 500, hipErrorNotReady = 600,
  hipErrorIllegalAddress = 700, hipErrorLaunchOutOfResources = 701, hipErrorLaunchTimeOut = 702,
  hipErrorPeerAccessAlreadyEnabled = 704, hipErrorPeerAccessNotEnabled = 705, hipErrorContextIsDestroyed = 709,
  hipErrorAssert = 710,
  hipErrorHostMemoryAlreadyRegistered = 712, hipErrorHostMemoryNotRegistered = 713, hipErrorLaunchFailure = 719,
  hipErrorCooperativeLaunchTooLarge = 720, hipErrorNotSupported = 801,
  hipErrorStreamCaptureUnsupported = 900, hipErrorStreamCaptureInvalidated = 901, hipErrorStreamCaptureMerge = 902,
  hipErrorStreamCaptureUnmatched = 903, hipErrorStreamCaptureUnjoined = 904, hipErrorStreamCaptureIsolation = 905,
  hipErrorStreamCaptureImplicit = 906, hipErrorCapturedEvent = 907, hipErrorStreamCaptureWrongThread = 908,
  hipErrorGraphExecUpdateFailure = 910, hipErrorUnknown = 999, hipErrorRuntimeMemory = 1052,
  hipErrorProfilerDisabled = 5, hipErrorProfilerNotInitialized = 6, hipErrorProfilerAlreadyStarted = 7,
  hipErrorProfilerAlreadyStopped = 8, hipErrorPriorLaunchFailure = 53, hipErrorContextAlreadyCurrent = 202,
  hipErrorMapFailed = 205, hipErrorMapBufferObjectFailed = 205, hipErrorUnmapFailed = 206, hipErrorArrayIsMapped =
  207, hipErrorAlreadyMapped = 208, hipErrorAlreadyAcquired = 210, hipErrorNotMapped = 211, hipErrorNotMappedAsArray =
  212, hipErrorNotMappedAsPointer = 213, hipErrorECCNotCorrectable = 214, hipErrorUnsupportedLimit = 215,
  hipErrorContextAlreadyInUse = 216, hipErrorPeerAccessUnsupported = 217, hipErrorInvalidKernelFile = 218,
  hipErrorInvalidGraphicsContext = 219, hipErrorSharedObjectInitFailed = 303, hipErrorOperatingSystem = 304,
  hipErrorSetOnActiveProcess = 708, hipErrorRuntimeOther = 1053, hipErrorTbd = 1054
};
enum hipMemcpyKind {
  hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice, hipMemcpyDefault
};
enum hipDeviceAttribute_t {
  hipDeviceAttributeEccEnabled, hipDeviceAttributeAccessPolicyMaxWindowSize, hipDeviceAttributeAsyncEngineCount,
  hipDeviceAttributeCanMapHostMemory, hipDeviceAttributeCanUseHostPointerForRegisteredMem,
  hipDeviceAttributeClockRate, hipDeviceAttributeComputeMode, hipDeviceAttributeComputePreemptionSupported,
  hipDeviceAttributeConcurrentKernels, hipDeviceAttributeConcurrentManagedAccess,
  hipDeviceAttributeCooperativeLaunch, hipDeviceAttributeCooperativeMultiDeviceLaunch,
  hipDeviceAttributeDeviceOverlap, hipDeviceAttributeDirectManagedMemAccessFromHost,
  hipDeviceAttributeGlobalL1CacheSupported, hipDeviceAttributeHostNativeAtomicSupported,
  hipDeviceAttributeIntegrated, hipDeviceAttributeIsMultiGpuBoard, hipDeviceAttributeKernelExecTimeout,
  hipDeviceAttributeL2CacheSize, hipDeviceAttributeLocalL1CacheSupported, hipDeviceAttributeLuid,
  hipDeviceAttributeLuidDeviceNodeMask, hipDeviceAttributeComputeCapabilityMajor, hipDeviceAttributeManagedMemory,
  hipDeviceAttributeMaxBlocksPerMultiProcessor, hipDeviceAttributeMaxBlockDimX, hipDeviceAttributeMaxBlockDimY,
  hipDeviceAttributeMaxBlockDimZ, hipDeviceAttributeMaxGridDimX, hipDeviceAttributeMaxGridDimY,
  hipDeviceAttributeMaxGridDimZ, hipDeviceAttributeMaxSurface1D, hipDeviceAttributeMaxSurface1DLayered,
  hipDeviceAttributeMaxSurface2D, hipDeviceAttributeMaxSurface2DLayered, hipDeviceAttributeMaxSurface3D,
  hipDeviceAttributeMaxSurfaceCubemap, hipDeviceAttributeMaxSurfaceCubemapLayered,
  hipDeviceAttributeMaxTexture1DWidth, hipDeviceAttributeMaxTexture1DLayered, hipDeviceAttributeMaxTexture1DLinear,
  hipDeviceAttributeMaxTexture1DMipmap, hipDeviceAttributeMaxTexture2DWidth, hipDeviceAttributeMaxTexture2DHeight,
  hipDeviceAttributeMaxTexture2DGather, hipDeviceAttributeMaxTexture2DLayered, hipDeviceAttributeMaxTexture2DLinear,
  hipDeviceAttributeMaxTexture2DMipmap, hipDeviceAttributeMaxTexture3DWidth, hipDeviceAttributeMaxTexture3DHeight,
  hipDeviceAttributeMaxTexture3DDepth, hipDeviceAttributeMaxTexture3DAlt, hipDeviceAttributeMaxTextureCubemap,
  hipDeviceAttributeMaxTextureCubemapLayered, hipDeviceAttributeMaxThreadsDim, hipDeviceAttributeMaxThreadsPerBlock,
  hipDeviceAttributeMaxThreadsPerMultiProcessor, hipDeviceAttributeMaxPitch, hipDeviceAttributeMemoryBusWidth,
  hipDeviceAttributeMemoryClockRate, hipDeviceAttributeComputeCapabilityMinor,
  hipDeviceAttributeMultiGpuBoardGroupID, hipDeviceAttributeMultiprocessorCount,
  hipDeviceAttributePageableMemoryAccess = 65, hipDeviceAttributePageableMemoryAccessUsesHostPageTables,
  hipDeviceAttributePciBusId, hipDeviceAttributePciDeviceId, hipDeviceAttributePciDomainId,
  hipDeviceAttributePersistingL2CacheMaxSize, hipDeviceAttributeMaxRegistersPerBlock,
  hipDeviceAttributeMaxRegistersPerMultiprocessor, hipDeviceAttributeReservedSharedMemPerBlock,
  hipDeviceAttributeMaxSharedMemoryPerBlock, hipDeviceAttributeSharedMemPerBlockOptin,
  hipDeviceAttributeSharedMemPerMultiprocessor, hipDeviceAttributeSingleToDoublePrecisionPerfRatio,
  hipDeviceAttributeStreamPrioritiesSupported, hipDeviceAttributeSurfaceAlignment, hipDeviceAttributeTccDriver,
  hipDeviceAttributeTextureAlignment, hipDeviceAttributeTexturePitchAlignment,
  hipDeviceAttributeTotalConstantMemory, hipDeviceAttributeTotalGlobalMem, hipDeviceAttributeUnifiedAddressing,
  hipDeviceAttributeWarpSize = 87, hipDeviceAttributeMemoryPoolsSupported,
  hipDeviceAttributeVirtualMemoryManagementSupported, hipDeviceAttributeHostRegisterSupported,
  hipDeviceAttributeMemoryPoolSupportedHandleTypes, hipDeviceAttributeClockInstructionRate = 10000,
  hipDeviceAttributeMaxSharedMemoryPerMultiprocessor = 10002, hipDeviceAttributeHdpMemFlushCntl = 10005,
  hipDeviceAttributeHdpRegFlushCntl, hipDeviceAttributeCooperativeMultiDeviceUnmatchedFunc,
  hipDeviceAttributeCooperativeMultiDeviceUnmatchedGridDim,
  hipDeviceAttributeCooperativeMultiDeviceUnmatchedBlockDim,
  hipDeviceAttributeCooperativeMultiDeviceUnmatchedSharedMem, hipDeviceAttributeIsLargeBar,
  hipDeviceAttributeAsicRevision, hipDeviceAttributeCanUseStreamWaitValue, hipDeviceAttributeImageSupport,
  hipDeviceAttributePhysicalMultiProcessorCount, hipDeviceAttributeFineGrainSupport,
  hipDeviceAttributeWallClockRate, hipDeviceAttributeNumberOfXccs, hipDeviceAttributeMaxAvailableVgprsPerThread,
  hipDeviceAttributePciChipId
};
enum hipFuncAttribute { hipFuncAttributeMaxDynamicSharedMemorySize = 8, hipFuncAttributePreferredSharedMemoryCarveout = 9 };
enum hipFuncCache_t { hipFuncCachePreferNone, hipFuncCachePreferShared, hipFuncCachePreferL1, hipFuncCachePreferEqual };
enum hipSharedMemConfig { hipSharedMemBankSizeDefault, hipSharedMemBankSizeFourByte, hipSharedMemBankSizeEightByte };
enum hipLimit_t { hipLimitStackSize = 0, hipLimitPrintfFifoSize = 1, hipLimitMallocHeapSize = 2 };
enum hipComputeMode { hipComputeModeDefault, hipComputeModeExclusive, hipComputeModeProhibited, hipComputeModeExclusiveProcess };
enum hipStreamCaptureMode { hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed };
enum hipMemoryAdvise {
  hipMemAdviseSetReadMostly = 1, hipMemAdviseUnsetReadMostly, hipMemAdviseSetPreferredLocation,
  hipMemAdviseUnsetPreferredLocation, hipMemAdviseSetAccessedBy, hipMemAdviseUnsetAccessedBy,
  hipMemAdviseSetCoarseGrain = 100, hipMemAdviseUnsetCoarseGrain
};
#define hipHostMallocDefault 0x0
#define hipHostMallocPortable 0x1
#define hipHostMallocMapped 0x2
#define hipHostMallocWriteCombined 0x4
#define hipHostMallocCoherent 0x40000000
#define hipHostMallocNonCoherent 0x80000000
#define hipHostAllocDefault hipHostMallocDefault
#define hipHostAllocMapped hipHostMallocMapped
#define hipHostAllocPortable hipHostMallocPortable
#define hipHostRegisterDefault 0x0
#define hipHostRegisterPortable 0x1
#define hipHostRegisterMapped 0x2
#define hipMemAttachGlobal 1
#define hipMemAttachHost 2
#define hipMemAttachSingle 4
#define hipEventDefault 0
#define hipEventBlockingSync 1
#define hipEventDisableTiming 2
#define hipDeviceScheduleAuto 0
#define hipDeviceMapHost 8
#define hipCpuDeviceId (-1)
#define hipInvalidDeviceId (-2)
#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)
#define HIP_LAUNCH_PARAM_END ((void *)3)

/* The layout of HIP 6 and later, "R0600": 1472 bytes; that of 5.x has 792 and another order. */
struct hipDeviceProp_tR0600 {
  char name[256], uuid[16], luid[8]; unsigned luidDeviceNodeMask; size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize; size_t memPitch; int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  size_t totalConstMem; int major, minor; size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
  int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2], maxTexture2DLinear[3],
  maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap, maxTexture1DLayered[2],
  maxTexture2DLayered[3], maxTextureCubemapLayered[2], maxSurface1D, maxSurface2D[2], maxSurface3D[3],
  maxSurface1DLayered[2], maxSurface2DLayered[3], maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
  size_t surfaceAlignment; int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount,
  unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor,
  streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported; size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported,
  singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported,
  canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch; size_t sharedMemPerBlockOptin;
  int dg_more[114]; char gcnArchName[256]; size_t maxSharedMemoryPerMultiProcessor; int clockInstructionRate; unsigned arch;
  void *dg_flush[2]; int dg_unmatched[4], isLargeBar, asicRevision;
};
static_assert(sizeof(hipDeviceProp_tR0600) == 1472 && offsetof(hipDeviceProp_tR0600, totalGlobalMem) == 288 &&
  offsetof(hipDeviceProp_tR0600, concurrentKernels) == 576 && offsetof(hipDeviceProp_tR0600, cooperativeLaunch) == 688 &&
  offsetof(hipDeviceProp_tR0600, sharedMemPerMultiprocessor) == 640 && offsetof(hipDeviceProp_tR0600, multiProcessorCount) == 388 &&
  offsetof(hipDeviceProp_tR0600, gcnArchName) == 1160 && offsetof(hipDeviceProp_tR0600, clockInstructionRate) == 1424, "R0600");
#define hipDeviceProp_t hipDeviceProp_tR0600
#define hipGetDeviceProperties hipGetDevicePropertiesR0600
struct hipFuncAttributes { int binaryVersion, cacheModeCA; size_t constSizeBytes, localSizeBytes;
  int maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion; size_t sharedSizeBytes; };
struct hipPointerAttribute_t { int type, device; void *devicePointer, *hostPointer; int isManaged; unsigned allocationFlags; };

extern "C" {
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, hipStream_t stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3 *, dim3 *, size_t *, hipStream_t *);
hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);
hipError_t hipLaunchCooperativeKernel(const void *, dim3, dim3, void **, unsigned, hipStream_t);
hipError_t hipExtLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t, hipEvent_t, hipEvent_t, int);
const char *hipGetErrorString(hipError_t);
const char *hipGetErrorName(hipError_t);
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
hipError_t hipInit(unsigned);
hipError_t hipFree(void *);
hipError_t hipHostFree(void *);
hipError_t hipFreeHost(void *);
hipError_t hipMemcpy(void *, const void *, size_t, hipMemcpyKind);
hipError_t hipMemcpyAsync(void *, const void *, size_t, hipMemcpyKind, hipStream_t = nullptr);
hipError_t hipMemcpyHtoD(hipDeviceptr_t, void *, size_t);
hipError_t hipMemcpyDtoH(void *, hipDeviceptr_t, size_t);
hipError_t hipMemcpyDtoD(hipDeviceptr_t, hipDeviceptr_t, size_t);
hipError_t hipMemcpyPeer(void *, int, const void *, int, size_t);
hipError_t hipMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, hipMemcpyKind);
hipError_t hipMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, hipMemcpyKind, hipStream_t = nullptr);
hipError_t hipMemset(void *, int, size_t);
hipError_t hipMemsetAsync(void *, int, size_t, hipStream_t = nullptr);
hipError_t hipMemsetD32(hipDeviceptr_t, int, size_t);
hipError_t hipMemset2D(void *, size_t, int, size_t, size_t);
hipError_t hipMemGetInfo(size_t *, size_t *);
hipError_t hipMemPrefetchAsync(const void *, size_t, int, hipStream_t = nullptr);
hipError_t hipMemAdvise(const void *, size_t, hipMemoryAdvise, int);
hipError_t hipHostRegister(void *, size_t, unsigned);
hipError_t hipHostUnregister(void *);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t *, const void *);
hipError_t hipDeviceSynchronize();
hipError_t hipDeviceReset();
hipError_t hipSetDevice(int);
hipError_t hipGetDevice(int *);
hipError_t hipGetDeviceCount(int *);
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *, int);
hipError_t hipDeviceGetAttribute(int *, hipDeviceAttribute_t, int);
hipError_t hipDeviceGet(hipDevice_t *, int);
hipError_t hipDeviceGetName(char *, int, hipDevice_t);
hipError_t hipDeviceCanAccessPeer(int *, int, int);
hipError_t hipDeviceEnablePeerAccess(int, unsigned);
hipError_t hipDeviceSetLimit(hipLimit_t, size_t);
hipError_t hipDeviceGetLimit(size_t *, hipLimit_t);
hipError_t hipDeviceSetCacheConfig(hipFuncCache_t);
hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig);
hipError_t hipSetDeviceFlags(unsigned);
hipError_t hipDriverGetVersion(int *);
hipError_t hipRuntimeGetVersion(int *);
hipError_t hipStreamCreate(hipStream_t *);
hipError_t hipStreamCreateWithFlags(hipStream_t *, unsigned);
hipError_t hipStreamCreateWithPriority(hipStream_t *, unsigned, int);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipStreamQuery(hipStream_t);
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned = 0);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipEventCreate(hipEvent_t *);
hipError_t hipEventCreateWithFlags(hipEvent_t *, unsigned);
hipError_t hipEventRecord(hipEvent_t, hipStream_t = nullptr);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventQuery(hipEvent_t);
hipError_t hipEventElapsedTime(float *, hipEvent_t, hipEvent_t);
hipError_t hipEventDestroy(hipEvent_t);
hipError_t hipEventRecordWithFlags(hipEvent_t, hipStream_t, unsigned);
hipError_t hipStreamGetDevice(hipStream_t, hipDevice_t *);
int hipGetStreamDeviceId(hipStream_t);
typedef void (*hipHostFn_t)(void *);
typedef void (*hipStreamCallback_t)(hipStream_t, hipError_t, void *);
hipError_t hipLaunchHostFunc(hipStream_t, hipHostFn_t, void *);
hipError_t hipStreamAddCallback(hipStream_t, hipStreamCallback_t, void *, unsigned);
hipError_t hipStreamGetFlags(hipStream_t, unsigned *);
hipError_t hipStreamGetPriority(hipStream_t, int *);
hipError_t hipDeviceGetStreamPriorityRange(int *, int *);
hipError_t hipDeviceGetPCIBusId(char *, int, int);
hipError_t hipDeviceTotalMem(size_t *, hipDevice_t);
hipError_t hipDeviceComputeCapability(int *, int *, hipDevice_t);
hipError_t hipDeviceDisablePeerAccess(int);
hipError_t hipDrvGetErrorName(hipError_t, const char **);
hipError_t hipDrvGetErrorString(hipError_t, const char **);
hipError_t hipHostGetFlags(unsigned *, void *);
hipError_t hipMemcpyWithStream(void *, const void *, size_t, hipMemcpyKind, hipStream_t);
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t, void *, size_t, hipStream_t);
hipError_t hipMemcpyDtoHAsync(void *, hipDeviceptr_t, size_t, hipStream_t);
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t, hipDeviceptr_t, size_t, hipStream_t);
hipError_t hipMemcpyPeerAsync(void *, int, const void *, int, size_t, hipStream_t = nullptr);
hipError_t hipMemsetD8(hipDeviceptr_t, unsigned char, size_t);
hipError_t hipMemsetD16(hipDeviceptr_t, unsigned short, size_t);
hipError_t hipMemsetD32Async(hipDeviceptr_t, int, size_t, hipStream_t = nullptr);
hipError_t hipMemset2DAsync(void *, size_t, int, size_t, size_t, hipStream_t = nullptr);
hipError_t hipModuleLoadDataEx(hipModule_t *, const void *, unsigned, void *, void **);
hipError_t hipProfilerStart();
hipError_t hipProfilerStop();
hipError_t hipModuleLoad(hipModule_t *, const char *);
hipError_t hipModuleLoadData(hipModule_t *, const void *);
hipError_t hipModuleUnload(hipModule_t);
hipError_t hipModuleGetFunction(hipFunction_t *, hipModule_t, const char *);
hipError_t hipModuleGetGlobal(hipDeviceptr_t *, size_t *, hipModule_t, const char *);
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
  hipStream_t, void **, void **);
}
#include "hip_graphs.h"
#include "hip_memory.h"
#include "hip_contexts.h"
#include "hip_textures.h"
extern "C" {
hipError_t dg_hipMalloc(void **, size_t) __asm__("hipMalloc");
hipError_t dg_hipMallocAsync(void **, size_t, hipStream_t) __asm__("hipMallocAsync");
hipError_t dg_hipMallocFromPool(void **, size_t, hipMemPool_t, hipStream_t) __asm__("hipMallocFromPoolAsync");
hipError_t dg_hipHostMalloc(void **, size_t, unsigned) __asm__("hipHostMalloc");
hipError_t dg_hipMallocManaged(void **, size_t, unsigned) __asm__("hipMallocManaged");
hipError_t dg_hipMallocPitch(void **, size_t *, size_t, size_t) __asm__("hipMallocPitch");
hipError_t dg_hipHostGetDevicePointer(void **, void *, unsigned) __asm__("hipHostGetDevicePointer");
hipError_t dg_hipMemcpyToSymbol(const void *, const void *, size_t, size_t, hipMemcpyKind) __asm__("hipMemcpyToSymbol");
hipError_t dg_hipMemcpyFromSymbol(void *, const void *, size_t, size_t, hipMemcpyKind) __asm__("hipMemcpyFromSymbol");
hipError_t dg_hipGetSymbolAddress(void **, const void *) __asm__("hipGetSymbolAddress");
hipError_t dg_hipGetSymbolSize(size_t *, const void *) __asm__("hipGetSymbolSize");
hipError_t dg_hipFuncSetAttribute(const void *, hipFuncAttribute, int) __asm__("hipFuncSetAttribute");
hipError_t dg_hipFuncSetCacheConfig(const void *, hipFuncCache_t) __asm__("hipFuncSetCacheConfig");
hipError_t dg_hipFuncGetAttributes(hipFuncAttributes *, const void *) __asm__("hipFuncGetAttributes");
hipError_t dg_hipOccupancy(int *, const void *, int, size_t) __asm__("hipOccupancyMaxActiveBlocksPerMultiprocessor");
hipError_t dg_hipOccupancyBlock(int *, int *, const void *, size_t, int) __asm__("hipOccupancyMaxPotentialBlockSize");
hipError_t dg_hipFreeAsync(void *, hipStream_t) __asm__("hipFreeAsync");
}
template <class T> inline hipError_t hipMalloc(T **p, size_t n) { return dg_hipMalloc((void **)p, n); }
template <class T> inline hipError_t hipMallocAsync(T **p, size_t n, hipStream_t s) { return dg_hipMallocAsync((void **)p, n, s); }
template <class T> inline hipError_t hipMallocFromPoolAsync(T **p, size_t n, hipMemPool_t m, hipStream_t s) { return dg_hipMallocFromPool((void **)p, n, m, s); }
template <class T> inline hipError_t hipMallocAsync(T **p, size_t n, hipMemPool_t m, hipStream_t s) { return dg_hipMallocFromPool((void **)p, n, m, s); }
inline hipError_t hipFreeAsync(void *p, hipStream_t s) { return dg_hipFreeAsync(p, s); }
template <class T> inline hipError_t hipHostMalloc(T **p, size_t n, unsigned f = 0) { return dg_hipHostMalloc((void **)p, n, f); }
template <class T> inline hipError_t hipHostAlloc(T **p, size_t n, unsigned f = 0) { return dg_hipHostMalloc((void **)p, n, f); }
template <class T> inline hipError_t hipMallocHost(T **p, size_t n) { return dg_hipHostMalloc((void **)p, n, 0); }
template <class T> inline hipError_t hipMallocManaged(T **p, size_t n, unsigned f = 1) { return dg_hipMallocManaged((void **)p, n, f); }
template <class T> inline hipError_t hipMallocPitch(T **p, size_t *pitch, size_t w, size_t h) { return dg_hipMallocPitch((void **)p, pitch, w, h); }
template <class T> inline hipError_t hipHostGetDevicePointer(T **p, void *h, unsigned f) { return dg_hipHostGetDevicePointer((void **)p, h, f); }
template <class T> inline hipError_t hipMemcpyToSymbol(const T &s, const void *p, size_t n, size_t o = 0, hipMemcpyKind k = hipMemcpyHostToDevice) { return dg_hipMemcpyToSymbol((const void *)&s, p, n, o, k); }
template <class T> inline hipError_t hipMemcpyFromSymbol(void *p, const T &s, size_t n, size_t o = 0, hipMemcpyKind k = hipMemcpyDeviceToHost) { return dg_hipMemcpyFromSymbol(p, (const void *)&s, n, o, k); }
template <class T> inline hipError_t hipGetSymbolAddress(void **p, const T &s) { return dg_hipGetSymbolAddress(p, (const void *)&s); }
template <class T> inline hipError_t hipGetSymbolSize(size_t *n, const T &s) { return dg_hipGetSymbolSize(n, (const void *)&s); }
template <class F> inline hipError_t hipFuncSetAttribute(F *f, hipFuncAttribute a, int v) { return dg_hipFuncSetAttribute((const void *)f, a, v); }
template <class F> inline hipError_t hipFuncSetCacheConfig(F *f, hipFuncCache_t c) { return dg_hipFuncSetCacheConfig((const void *)f, c); }
template <class F> inline hipError_t hipFuncGetAttributes(hipFuncAttributes *a, F *f) { return dg_hipFuncGetAttributes(a, (const void *)f); }
template <class F> inline hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *n, F *f, int b, size_t s) { return dg_hipOccupancy(n, (const void *)f, b, s); }
template <class F> inline hipError_t hipLaunchKernel(F *f, dim3 g, dim3 b, void **a, size_t s = 0, hipStream_t q = nullptr) { return ::hipLaunchKernel((const void *)f, g, b, a, s, q); }
template <class F> inline hipError_t hipOccupancyMaxPotentialBlockSize(int *g, int *b, F f, size_t s = 0, int most = 0) { return dg_hipOccupancyBlock(g, b, (const void *)f, s, most); }
template <class F> inline hipError_t hipLaunchCooperativeKernel(F *f, dim3 g, dim3 b, void **a, unsigned s = 0, hipStream_t q = nullptr) { return ::hipLaunchCooperativeKernel((const void *)f, g, b, a, s, q); }
#define HIP_SYMBOL(name) name
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) \
  do { kernel<<<dim3(grid), dim3(block), shared, stream>>>(__VA_ARGS__); } while (0)
