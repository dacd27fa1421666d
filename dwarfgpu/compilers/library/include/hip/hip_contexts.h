/* Contexts, and rarer questions about devices, functions and streams: a part of the host half of <hip/hip_runtime.h>. */
#pragma once
struct hipUUID { char bytes[16]; };
enum hipDeviceP2PAttr {
  hipDevP2PAttrPerformanceRank, hipDevP2PAttrAccessSupported, hipDevP2PAttrNativeAtomicSupported,
  hipDevP2PAttrHipArrayAccessSupported
};
enum hipFunction_attribute {
  HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
  HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, HIP_FUNC_ATTRIBUTE_NUM_REGS, HIP_FUNC_ATTRIBUTE_PTX_VERSION,
  HIP_FUNC_ATTRIBUTE_BINARY_VERSION, HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
  HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
};
enum hipLaunchAttributeID { hipLaunchAttributeCooperative = 2, hipLaunchAttributePriority = 8 };
struct hipLaunchAttribute { hipLaunchAttributeID id; union { char pad[64]; int cooperative, priority; } val __attribute__((aligned(8))); };
struct hipLaunchConfig_t { dim3 gridDim, blockDim; size_t dynamicSmemBytes; hipStream_t stream; hipLaunchAttribute *attrs; unsigned numAttrs; };
static_assert(sizeof(hipLaunchAttribute) == 72 && sizeof(hipLaunchConfig_t) == 56, "hipLaunchConfig_t");
struct hipLaunchParams { void *func; dim3 gridDim, blockDim; void **args; size_t sharedMem; hipStream_t stream; };
static_assert(sizeof(hipLaunchParams) == 56, "hipLaunchParams");
#define hipStreamWaitValueGte 0
#define hipStreamWaitValueEq 1
#define hipStreamWaitValueAnd 2
#define hipStreamWaitValueNor 3
#define hipMallocSignalMemory 2
#define hipDeviceMallocDefault 0
#define hipDeviceMallocFinegrained 1
#define hipChooseDevice hipChooseDeviceR0600
#define hipIpcMemLazyEnablePeerAccess 1
#define HIP_IPC_HANDLE_SIZE 64
struct hipIpcMemHandle_t { char reserved[HIP_IPC_HANDLE_SIZE]; };
struct hipIpcEventHandle_t { char reserved[HIP_IPC_HANDLE_SIZE]; };
extern "C" {
hipError_t hipCtxCreate(hipCtx_t *, unsigned, hipDevice_t);
hipError_t hipCtxDestroy(hipCtx_t);
hipError_t hipCtxGetCurrent(hipCtx_t *);
hipError_t hipCtxSetCurrent(hipCtx_t);
hipError_t hipCtxPushCurrent(hipCtx_t);
hipError_t hipCtxPopCurrent(hipCtx_t *);
hipError_t hipCtxGetDevice(hipDevice_t *);
hipError_t hipCtxGetFlags(unsigned *);
hipError_t hipCtxGetApiVersion(hipCtx_t, unsigned *);
hipError_t hipCtxSynchronize();
hipError_t hipDevicePrimaryCtxRetain(hipCtx_t *, hipDevice_t);
hipError_t hipDevicePrimaryCtxRelease(hipDevice_t);
hipError_t hipDevicePrimaryCtxReset(hipDevice_t);
hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t, unsigned);
hipError_t hipDevicePrimaryCtxGetState(hipDevice_t, unsigned *, int *);
hipError_t hipChooseDevice(int *, const hipDeviceProp_t *);
hipError_t hipSetValidDevices(int *, int);
hipError_t hipGetDeviceFlags(unsigned *);
hipError_t hipDeviceGetByPCIBusId(int *, const char *);
hipError_t hipDeviceGetUuid(hipUUID *, hipDevice_t);
hipError_t hipDeviceGetP2PAttribute(int *, hipDeviceP2PAttr, int, int);
hipError_t hipDeviceGetCacheConfig(hipFuncCache_t *);
hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig *);
hipError_t hipFuncGetAttribute(int *, hipFunction_attribute, hipFunction_t);
const char *hipKernelNameRef(hipFunction_t);
const char *hipKernelNameRefByPtr(const void *, hipStream_t);
hipError_t hipStreamWriteValue32(hipStream_t, void *, unsigned, unsigned);
hipError_t hipStreamWriteValue64(hipStream_t, void *, unsigned long long, unsigned);
hipError_t hipStreamWaitValue32(hipStream_t, void *, unsigned, unsigned, unsigned = ~0u);
hipError_t hipStreamWaitValue64(hipStream_t, void *, unsigned long long, unsigned, unsigned long long = ~0ull);
hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams *, int, unsigned);
hipError_t hipExtLaunchMultiKernelMultiDevice(hipLaunchParams *, int, unsigned);
hipError_t hipLaunchKernelExC(const hipLaunchConfig_t *, const void *, void **);
hipError_t hipExtMallocWithFlags(void **, size_t, unsigned);
/* Declared, and not supported: memory and events of other processes. */
hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *, void *);
hipError_t hipIpcOpenMemHandle(void **, hipIpcMemHandle_t, unsigned);
hipError_t hipIpcCloseMemHandle(void *);
hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t *, hipEvent_t);
hipError_t hipIpcOpenEventHandle(hipEvent_t *, hipIpcEventHandle_t);
}
