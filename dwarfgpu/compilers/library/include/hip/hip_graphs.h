/* Graphs, and copies in three dimensions: a part of the host half of <hip/hip_runtime.h>. */
#pragma once
typedef struct hipGraphNode *hipGraphNode_t;
typedef struct hipArray *hipArray_t;
typedef const struct hipArray *hipArray_const_t;
enum hipStreamCaptureStatus { hipStreamCaptureStatusNone, hipStreamCaptureStatusActive, hipStreamCaptureStatusInvalidated };
enum hipStreamUpdateCaptureDependenciesFlags { hipStreamAddCaptureDependencies, hipStreamSetCaptureDependencies };
enum hipGraphNodeType {
  hipGraphNodeTypeKernel, hipGraphNodeTypeMemcpy, hipGraphNodeTypeMemset, hipGraphNodeTypeHost, hipGraphNodeTypeGraph,
  hipGraphNodeTypeEmpty, hipGraphNodeTypeWaitEvent, hipGraphNodeTypeEventRecord, hipGraphNodeTypeMemAlloc = 10,
  hipGraphNodeTypeMemFree = 11
};
enum hipGraphExecUpdateResult {
  hipGraphExecUpdateSuccess, hipGraphExecUpdateError, hipGraphExecUpdateErrorTopologyChanged,
  hipGraphExecUpdateErrorNodeTypeChanged, hipGraphExecUpdateErrorFunctionChanged,
  hipGraphExecUpdateErrorParametersChanged, hipGraphExecUpdateErrorNotSupported
};
enum hipGraphInstantiateFlags { hipGraphInstantiateFlagAutoFreeOnLaunch = 1, hipGraphInstantiateFlagUpload = 2 };
struct hipKernelNodeParams { dim3 blockDim; void **extra, *func; dim3 gridDim; void **kernelParams; unsigned sharedMemBytes; };
struct hipMemsetParams { void *dst; unsigned elementSize; size_t height, pitch; unsigned value; size_t width; };
struct hipHostNodeParams { void (*fn)(void *); void *userData; };
struct hipPitchedPtr { void *ptr; size_t pitch, xsize, ysize; };
struct hipExtent { size_t width, height, depth; };
struct hipPos { size_t x, y, z; };
struct hipMemcpy3DParms {
  hipArray_t srcArray; hipPos srcPos; hipPitchedPtr srcPtr; hipArray_t dstArray; hipPos dstPos; hipPitchedPtr dstPtr;
  hipExtent extent; hipMemcpyKind kind;
};
static_assert(sizeof(hipKernelNodeParams) == 64 && sizeof(hipMemsetParams) == 48 && sizeof(hipMemcpy3DParms) == 160, "nodes");
inline hipExtent make_hipExtent(size_t w, size_t h, size_t d) { return {w, h, d}; }
inline hipPos make_hipPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
inline hipPitchedPtr make_hipPitchedPtr(void *p, size_t pitch, size_t x, size_t y) { return {p, pitch, x, y}; }

extern "C" {
hipError_t hipStreamBeginCapture(hipStream_t, hipStreamCaptureMode);
hipError_t hipStreamBeginCaptureToGraph(hipStream_t, hipGraph_t, const hipGraphNode_t *, const void *, size_t, hipStreamCaptureMode);
hipError_t hipStreamEndCapture(hipStream_t, hipGraph_t *);
hipError_t hipStreamIsCapturing(hipStream_t, hipStreamCaptureStatus *);
hipError_t hipStreamGetCaptureInfo(hipStream_t, hipStreamCaptureStatus *, unsigned long long *);
hipError_t hipStreamGetCaptureInfo_v2(hipStream_t, hipStreamCaptureStatus *, unsigned long long * = nullptr,
  hipGraph_t * = nullptr, const hipGraphNode_t ** = nullptr, size_t * = nullptr);
hipError_t hipStreamUpdateCaptureDependencies(hipStream_t, hipGraphNode_t *, size_t, unsigned = 0);
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *);
hipError_t hipGraphCreate(hipGraph_t *, unsigned);
hipError_t hipGraphDestroy(hipGraph_t);
hipError_t hipGraphDestroyNode(hipGraphNode_t);
hipError_t hipGraphClone(hipGraph_t *, hipGraph_t);
hipError_t hipGraphNodeFindInClone(hipGraphNode_t *, hipGraphNode_t, hipGraph_t);
hipError_t hipGraphGetNodes(hipGraph_t, hipGraphNode_t *, size_t *);
hipError_t hipGraphGetRootNodes(hipGraph_t, hipGraphNode_t *, size_t *);
hipError_t hipGraphGetEdges(hipGraph_t, hipGraphNode_t *, hipGraphNode_t *, size_t *);
hipError_t hipGraphNodeGetDependencies(hipGraphNode_t, hipGraphNode_t *, size_t *);
hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t, hipGraphNode_t *, size_t *);
hipError_t hipGraphNodeGetType(hipGraphNode_t, hipGraphNodeType *);
hipError_t hipGraphAddDependencies(hipGraph_t, const hipGraphNode_t *, const hipGraphNode_t *, size_t);
hipError_t hipGraphRemoveDependencies(hipGraph_t, const hipGraphNode_t *, const hipGraphNode_t *, size_t);
hipError_t hipGraphInstantiate(hipGraphExec_t *, hipGraph_t, hipGraphNode_t *, char *, size_t);
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *, hipGraph_t, unsigned long long);
hipError_t hipGraphLaunch(hipGraphExec_t, hipStream_t);
hipError_t hipGraphUpload(hipGraphExec_t, hipStream_t);
hipError_t hipGraphExecDestroy(hipGraphExec_t);
hipError_t hipGraphExecGetFlags(hipGraphExec_t, unsigned long long *);
hipError_t hipGraphExecUpdate(hipGraphExec_t, hipGraph_t, hipGraphNode_t *, hipGraphExecUpdateResult *);
hipError_t hipGraphNodeSetEnabled(hipGraphExec_t, hipGraphNode_t, unsigned);
hipError_t hipGraphNodeGetEnabled(hipGraphExec_t, hipGraphNode_t, unsigned *);
#define DG_NODES(Kind, Params) \
  hipError_t hipGraphAdd##Kind##Node(hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, const Params *); \
  hipError_t hipGraph##Kind##NodeGetParams(hipGraphNode_t, Params *); \
  hipError_t hipGraph##Kind##NodeSetParams(hipGraphNode_t, const Params *); \
  hipError_t hipGraphExec##Kind##NodeSetParams(hipGraphExec_t, hipGraphNode_t, const Params *);
DG_NODES(Kernel, hipKernelNodeParams)
DG_NODES(Memcpy, hipMemcpy3DParms)
DG_NODES(Memset, hipMemsetParams)
DG_NODES(Host, hipHostNodeParams)
#undef DG_NODES
#define DG_COPIES(Kind, ...) \
  hipError_t hipGraphAddMemcpyNode##Kind(hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, __VA_ARGS__, hipMemcpyKind); \
  hipError_t hipGraphMemcpyNodeSetParams##Kind(hipGraphNode_t, __VA_ARGS__, hipMemcpyKind); \
  hipError_t hipGraphExecMemcpyNodeSetParams##Kind(hipGraphExec_t, hipGraphNode_t, __VA_ARGS__, hipMemcpyKind);
DG_COPIES(1D, void *, const void *, size_t)
DG_COPIES(ToSymbol, const void *, const void *, size_t, size_t)
DG_COPIES(FromSymbol, void *, const void *, size_t, size_t)
#undef DG_COPIES
hipError_t hipGraphAddEmptyNode(hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t);
hipError_t hipGraphAddChildGraphNode(hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, hipGraph_t);
hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t, hipGraph_t *);
hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t, hipGraphNode_t, hipGraph_t);
#define DG_EVENTS(Kind) \
  hipError_t hipGraphAdd##Kind##Node(hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, hipEvent_t); \
  hipError_t hipGraph##Kind##NodeGetEvent(hipGraphNode_t, hipEvent_t *); \
  hipError_t hipGraph##Kind##NodeSetEvent(hipGraphNode_t, hipEvent_t); \
  hipError_t hipGraphExec##Kind##NodeSetEvent(hipGraphExec_t, hipGraphNode_t, hipEvent_t);
DG_EVENTS(EventRecord)
DG_EVENTS(EventWait)
#undef DG_EVENTS
}
