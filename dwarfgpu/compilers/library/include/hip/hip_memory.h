/* Pools, pointers, boxes and arrays: a part of the host half of <hip/hip_runtime.h>. */
#pragma once
typedef struct ihipMemPoolHandle_t *hipMemPool_t;
enum hipMemoryType {
  hipMemoryTypeUnregistered, hipMemoryTypeHost, hipMemoryTypeDevice, hipMemoryTypeManaged, hipMemoryTypeArray = 10,
  hipMemoryTypeUnified
};
enum hipMemPoolAttr {
  hipMemPoolReuseFollowEventDependencies = 1, hipMemPoolReuseAllowOpportunistic, hipMemPoolReuseAllowInternalDependencies,
  hipMemPoolAttrReleaseThreshold, hipMemPoolAttrReservedMemCurrent, hipMemPoolAttrReservedMemHigh,
  hipMemPoolAttrUsedMemCurrent, hipMemPoolAttrUsedMemHigh
};
enum hipMemLocationType { hipMemLocationTypeInvalid, hipMemLocationTypeDevice };
struct hipMemLocation { hipMemLocationType type; int id; };
enum hipMemAccessFlags { hipMemAccessFlagsProtNone, hipMemAccessFlagsProtRead, hipMemAccessFlagsProtReadWrite = 3 };
struct hipMemAccessDesc { hipMemLocation location; hipMemAccessFlags flags; };
enum hipMemAllocationType { hipMemAllocationTypeInvalid, hipMemAllocationTypePinned };
enum hipMemAllocationHandleType { hipMemHandleTypeNone, hipMemHandleTypePosixFileDescriptor };
struct hipMemPoolProps {
  hipMemAllocationType allocType; hipMemAllocationHandleType handleTypes; hipMemLocation location;
  void *win32SecurityAttributes; size_t maxSize; unsigned char reserved[56];
};
typedef struct ihipMemGenericAllocationHandle *hipMemGenericAllocationHandle_t;
struct hipMemAllocationProp {
  hipMemAllocationType type;
  union { hipMemAllocationHandleType requestedHandleType, requestedHandleTypes; };
  hipMemLocation location; void *win32HandleMetaData;
  struct { unsigned char compressionType, gpuDirectRDMACapable; unsigned short usage; } allocFlags;
};
static_assert(sizeof(hipMemAllocationProp) == 32 && sizeof(hipMemAccessDesc) == 12, "memory that is mapped");
enum hipMemAllocationGranularity_flags { hipMemAllocationGranularityMinimum, hipMemAllocationGranularityRecommended };
enum hipMemRangeAttribute {
  hipMemRangeAttributeReadMostly = 1, hipMemRangeAttributePreferredLocation, hipMemRangeAttributeAccessedBy,
  hipMemRangeAttributeLastPrefetchLocation, hipMemRangeAttributeCoherencyMode = 100
};
enum hipPointer_attribute {
  HIP_POINTER_ATTRIBUTE_CONTEXT = 1, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, HIP_POINTER_ATTRIBUTE_DEVICE_POINTER,
  HIP_POINTER_ATTRIBUTE_HOST_POINTER, HIP_POINTER_ATTRIBUTE_P2P_TOKENS, HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS,
  HIP_POINTER_ATTRIBUTE_BUFFER_ID, HIP_POINTER_ATTRIBUTE_IS_MANAGED, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
  HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11, HIP_POINTER_ATTRIBUTE_RANGE_SIZE, HIP_POINTER_ATTRIBUTE_MAPPED
};
enum hipChannelFormatKind {
  hipChannelFormatKindSigned, hipChannelFormatKindUnsigned, hipChannelFormatKindFloat, hipChannelFormatKindNone
};
struct hipChannelFormatDesc { int x, y, z, w; hipChannelFormatKind f; };
enum hipArray_Format {
  HIP_AD_FORMAT_UNSIGNED_INT8 = 1, HIP_AD_FORMAT_UNSIGNED_INT16, HIP_AD_FORMAT_UNSIGNED_INT32, HIP_AD_FORMAT_SIGNED_INT8 = 8,
  HIP_AD_FORMAT_SIGNED_INT16, HIP_AD_FORMAT_SIGNED_INT32, HIP_AD_FORMAT_HALF = 16, HIP_AD_FORMAT_FLOAT = 32
};
struct HIP_ARRAY_DESCRIPTOR { size_t Width, Height; hipArray_Format Format; unsigned NumChannels; };
struct HIP_ARRAY3D_DESCRIPTOR { size_t Width, Height, Depth; hipArray_Format Format; unsigned NumChannels, Flags; };
struct hip_Memcpy2D {
  size_t srcXInBytes, srcY; hipMemoryType srcMemoryType; const void *srcHost; hipDeviceptr_t srcDevice; hipArray_t srcArray;
  size_t srcPitch, dstXInBytes, dstY; hipMemoryType dstMemoryType; void *dstHost; hipDeviceptr_t dstDevice;
  hipArray_t dstArray; size_t dstPitch, WidthInBytes, Height;
};
struct HIP_MEMCPY3D {
  size_t srcXInBytes, srcY, srcZ, srcLOD; hipMemoryType srcMemoryType; const void *srcHost; hipDeviceptr_t srcDevice;
  hipArray_t srcArray; size_t srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD; hipMemoryType dstMemoryType;
  void *dstHost; hipDeviceptr_t dstDevice; hipArray_t dstArray; size_t dstPitch, dstHeight, WidthInBytes, Height, Depth;
};
#define hipArrayDefault 0
#define hipArrayLayered 1
#define hipArraySurfaceLoadStore 2
#define hipArrayCubemap 4
inline hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w, hipChannelFormatKind f) { return {x, y, z, w, f}; }
template <class T> struct dg_channels { enum { count = 0 }; typedef T element; };
#define DG_CHANNELS(T, E, n) template <> struct dg_channels<T> { enum { count = n }; typedef E element; };
#define DG_CHANNELS_OF(T, E) DG_CHANNELS(E, E, 1) DG_CHANNELS(T##1, E, 1) DG_CHANNELS(T##2, E, 2) DG_CHANNELS(T##4, E, 4)
DG_CHANNELS_OF(char, signed char) DG_CHANNELS_OF(uchar, unsigned char) DG_CHANNELS_OF(short, short)
DG_CHANNELS_OF(ushort, unsigned short) DG_CHANNELS_OF(int, int) DG_CHANNELS_OF(uint, unsigned) DG_CHANNELS_OF(float, float)
DG_CHANNELS(char, char, 1)
#undef DG_CHANNELS_OF
#undef DG_CHANNELS
template <class T> inline hipChannelFormatDesc hipCreateChannelDesc() {
  typedef typename dg_channels<T>::element E;
  int count = dg_channels<T>::count, bits = 8 * sizeof(E);
  hipChannelFormatKind f = E(0.5f) != E(0) ? hipChannelFormatKindFloat : E(-1) < E(0) ? hipChannelFormatKindSigned : hipChannelFormatKindUnsigned;
  return {count > 0 ? bits : 0, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 2 ? bits : 0, f};
}

extern "C" {
hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *, int);
hipError_t hipDeviceGetMemPool(hipMemPool_t *, int);
hipError_t hipDeviceSetMemPool(int, hipMemPool_t);
hipError_t hipMemPoolCreate(hipMemPool_t *, const hipMemPoolProps *);
hipError_t hipMemPoolDestroy(hipMemPool_t);
hipError_t hipMemPoolTrimTo(hipMemPool_t, size_t);
hipError_t hipMemPoolGetAttribute(hipMemPool_t, hipMemPoolAttr, void *);
hipError_t hipMemPoolSetAttribute(hipMemPool_t, hipMemPoolAttr, void *);
hipError_t hipMemPoolSetAccess(hipMemPool_t, const hipMemAccessDesc *, size_t);
hipError_t hipMemPoolGetAccess(hipMemAccessFlags *, hipMemPool_t, hipMemLocation *);
hipError_t hipPointerGetAttribute(void *, hipPointer_attribute, hipDeviceptr_t);
hipError_t hipPointerSetAttribute(const void *, hipPointer_attribute, hipDeviceptr_t);
hipError_t hipMemGetAddressRange(hipDeviceptr_t *, size_t *, hipDeviceptr_t);
hipError_t hipMemPtrGetInfo(void *, size_t *);
hipError_t hipMemRangeGetAttribute(void *, size_t, hipMemRangeAttribute, const void *, size_t);
hipError_t hipMemGetAllocationGranularity(size_t *, const hipMemAllocationProp *, hipMemAllocationGranularity_flags);
hipError_t hipMemAddressReserve(void **, size_t, size_t, void *, unsigned long long);
hipError_t hipMemAddressFree(void *, size_t);
hipError_t hipMemCreate(hipMemGenericAllocationHandle_t *, size_t, const hipMemAllocationProp *, unsigned long long);
hipError_t hipMemRelease(hipMemGenericAllocationHandle_t);
hipError_t hipMemMap(void *, size_t, size_t, hipMemGenericAllocationHandle_t, unsigned long long);
hipError_t hipMemUnmap(void *, size_t);
hipError_t hipMemSetAccess(void *, size_t, const hipMemAccessDesc *, size_t);
hipError_t hipMemGetAccess(unsigned long long *, const hipMemLocation *, void *);
hipError_t hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t *, void *);
hipError_t hipMemGetAllocationPropertiesFromHandle(hipMemAllocationProp *, hipMemGenericAllocationHandle_t);
hipError_t hipStreamAttachMemAsync(hipStream_t, void *, size_t = 0, unsigned = 4);
hipError_t hipMemAllocPitch(hipDeviceptr_t *, size_t *, size_t, size_t, unsigned);
hipError_t hipMalloc3D(hipPitchedPtr *, hipExtent);
hipError_t hipMemset3D(hipPitchedPtr, int, hipExtent);
hipError_t hipMemset3DAsync(hipPitchedPtr, int, hipExtent, hipStream_t = nullptr);
hipError_t hipMemcpy3D(const hipMemcpy3DParms *);
hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms *, hipStream_t = nullptr);
hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D *);
hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D *, hipStream_t);
hipError_t hipMemcpyParam2D(const hip_Memcpy2D *);
hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D *, hipStream_t = nullptr);
hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D *);
hipError_t hipMallocArray(hipArray_t *, const hipChannelFormatDesc *, size_t, size_t = 0, unsigned = 0);
hipError_t hipMalloc3DArray(hipArray_t *, const hipChannelFormatDesc *, hipExtent, unsigned = 0);
hipError_t hipArrayCreate(hipArray_t *, const HIP_ARRAY_DESCRIPTOR *);
hipError_t hipArray3DCreate(hipArray_t *, const HIP_ARRAY3D_DESCRIPTOR *);
hipError_t hipArrayDestroy(hipArray_t);
hipError_t hipFreeArray(hipArray_t);
hipError_t hipArrayGetInfo(hipChannelFormatDesc *, hipExtent *, unsigned *, hipArray_t);
hipError_t hipGetChannelDesc(hipChannelFormatDesc *, hipArray_const_t);
hipError_t hipMemcpyToArray(hipArray_t, size_t, size_t, const void *, size_t, hipMemcpyKind);
hipError_t hipMemcpyFromArray(void *, hipArray_const_t, size_t, size_t, size_t, hipMemcpyKind);
hipError_t hipMemcpy2DToArray(hipArray_t, size_t, size_t, const void *, size_t, size_t, size_t, hipMemcpyKind);
hipError_t hipMemcpy2DToArrayAsync(hipArray_t, size_t, size_t, const void *, size_t, size_t, size_t, hipMemcpyKind, hipStream_t = nullptr);
hipError_t hipMemcpy2DFromArray(void *, size_t, hipArray_const_t, size_t, size_t, size_t, size_t, hipMemcpyKind);
hipError_t hipMemcpy2DFromArrayAsync(void *, size_t, hipArray_const_t, size_t, size_t, size_t, size_t, hipMemcpyKind, hipStream_t = nullptr);
hipError_t hipMemcpyHtoA(hipArray_t, size_t, const void *, size_t);
hipError_t hipMemcpyAtoH(void *, hipArray_t, size_t, size_t);
}
