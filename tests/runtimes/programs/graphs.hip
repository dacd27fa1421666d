// Graphs: captured on several streams, built by hand, changed, and the errors of calls while a stream captures.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>

#define CHECK(call) \
  do { hipError_t error = (call); if (error) { printf("%s: %s\n", #call, hipGetErrorName(error)); return 1; } } while (0)
static bool is(hipError_t expected, hipError_t found) {
  if (expected != found) printf("%s in place of %s\n", hipGetErrorName(found), hipGetErrorName(expected));
  return expected == found;
}

__device__ int offset = 100;
__global__ void add(int *cells, int number) { cells[threadIdx.x] += number; }
__global__ void times(int *cells, int number) { cells[threadIdx.x] *= number; }
__global__ void sum(int *out, const int *a, const int *b) { out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x] + offset; }
static void count(void *data) { ++*(int *)data; }
static int host[64], calls;

static int captured(int *a, int *b) {
  hipStream_t first, second;
  hipEvent_t fork, join;
  hipGraph_t graph;
  hipGraphExec_t executable;
  hipStreamCaptureStatus status;
  unsigned long long number = 0;
  CHECK(hipStreamCreate(&first)); CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  CHECK(hipEventCreate(&fork)); CHECK(hipEventCreate(&join));
  CHECK(hipStreamBeginCapture(first, hipStreamCaptureModeGlobal));
  CHECK(hipMemsetAsync(a, 0, 256, first));
  CHECK(hipEventRecord(fork, first)); CHECK(hipStreamWaitEvent(second, fork));
  add<<<1, 64, 0, first>>>(a, 2);
  CHECK(hipMemsetAsync(b, 0, 256, second));
  add<<<1, 64, 0, second>>>(b, 5);
  CHECK(hipEventRecord(join, second)); CHECK(hipStreamWaitEvent(first, join));
  sum<<<1, 64, 0, first>>>(a, a, b);
  CHECK(hipMemcpyAsync(host, a, 256, hipMemcpyDeviceToHost, first));
  CHECK(hipLaunchHostFunc(first, count, &calls));
  CHECK(hipStreamGetCaptureInfo(second, &status, &number));
  CHECK(hipStreamEndCapture(first, &graph));
  size_t nodes = 0, edges = 0, roots = 0;
  CHECK(hipGraphGetNodes(graph, nullptr, &nodes)); CHECK(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  CHECK(hipGraphGetRootNodes(graph, nullptr, &roots));
  printf("captured %zu nodes, %zu edges, %zu root, status %d, number %d, before %d %d\n", nodes, edges, roots, status, number > 0, host[0], calls);
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; i++) CHECK(hipGraphLaunch(executable, first));
  CHECK(hipStreamSynchronize(first)); CHECK(hipStreamIsCapturing(first, &status));
  printf("launched %d %d, calls %d, status %d\n", host[0], host[63], calls, status);
  // an update by a graph of the same form, and one of another form
  hipGraph_t other;
  hipGraphNode_t wrong;
  hipGraphExecUpdateResult result;
  CHECK(hipStreamBeginCapture(first, hipStreamCaptureModeRelaxed));
  CHECK(hipMemsetAsync(a, 0, 256, first));
  int *more;
  CHECK(hipMallocAsync(&more, 256, first));
  CHECK(hipFreeAsync(more, first));
  CHECK(hipStreamEndCapture(first, &other));
  bool differs = is(hipErrorGraphExecUpdateFailure, hipGraphExecUpdate(executable, other, &wrong, &result));
  printf("update %d %d\n", differs, result);
  CHECK(hipGraphDestroy(other)); CHECK(hipGraphExecDestroy(executable)); CHECK(hipGraphDestroy(graph));
  CHECK(hipStreamDestroy(first)); CHECK(hipStreamDestroy(second));
  CHECK(hipEventDestroy(fork)); CHECK(hipEventDestroy(join));
  return 0;
}

static int by_hand(int *a, int *b) {
  hipGraph_t graph, child, clone;
  hipGraphNode_t set, copy, first, last, end, called, found, inside, box;
  hipGraphExec_t executable;
  int three = 3, four = 4, given[64], back[64];
  for (int i = 0; i < 64; i++) given[i] = i;
  CHECK(hipGraphCreate(&graph, 0)); CHECK(hipGraphCreate(&child, 0));
  hipMemsetParams fill = {b, 4, 1, 256, 7, 64};
  CHECK(hipGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
  CHECK(hipGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, a, given, 256, hipMemcpyHostToDevice));
  void *with_three[] = {&a, &three}, *with_four[] = {&a, &four}, *all[] = {&a, &a, &b};
  hipKernelNodeParams kernel = {dim3(64), nullptr, (void *)times, dim3(1), with_three, 0};
  CHECK(hipGraphAddKernelNode(&first, graph, &copy, 1, &kernel));
  hipGraphNode_t both[] = {set, first};
  CHECK(hipGraphAddEmptyNode(&end, graph, both, 2));
  hipKernelNodeParams adding = {dim3(64), nullptr, (void *)sum, dim3(1), all, 0};
  CHECK(hipGraphAddKernelNode(&inside, child, nullptr, 0, &adding));
  CHECK(hipGraphAddChildGraphNode(&last, graph, &end, 1, child));
  hipMemcpy3DParms rows = {};
  rows.srcPtr = make_hipPitchedPtr(a, 64, 64, 4), rows.dstPtr = make_hipPitchedPtr(back, 64, 64, 4);
  rows.extent = make_hipExtent(64, 4, 1), rows.kind = hipMemcpyDeviceToHost;
  CHECK(hipGraphAddMemcpyNode(&box, graph, nullptr, 0, &rows));
  CHECK(hipGraphAddDependencies(graph, &last, &box, 1));
  hipHostNodeParams host_node = {count, &calls};
  CHECK(hipGraphAddHostNode(&called, graph, &box, 1, &host_node));
  CHECK(hipGraphInstantiateWithFlags(&executable, graph, 0));
  calls = 0;
  CHECK(hipGraphLaunch(executable, nullptr)); CHECK(hipDeviceSynchronize());
  printf("by hand %d %d, calls %d\n", back[0], back[63], calls);
  hipKernelNodeParams asked;
  CHECK(hipGraphKernelNodeGetParams(first, &asked));
  printf("asked %d %d %d\n", asked.func == (void *)times, asked.blockDim.x, *(int *)asked.kernelParams[1]);
  kernel.kernelParams = with_four;
  CHECK(hipGraphExecKernelNodeSetParams(executable, first, &kernel));
  CHECK(hipGraphLaunch(executable, nullptr)); CHECK(hipDeviceSynchronize());
  printf("changed %d\n", back[63]);
  CHECK(hipGraphClone(&clone, graph)); CHECK(hipGraphNodeFindInClone(&found, first, clone));
  hipGraphNodeType kind;
  size_t before = 2;
  hipGraphNode_t earlier[2];
  CHECK(hipGraphNodeGetType(found, &kind)); CHECK(hipGraphNodeGetDependencies(end, earlier, &before));
  printf("clone %d, before the end %zu %d\n", kind, before, earlier[0] == set && earlier[1] == first);
  kernel.kernelParams = with_three;
  CHECK(hipGraphKernelNodeSetParams(found, &kernel));
  hipGraphNode_t none;
  hipGraphExecUpdateResult result;
  CHECK(hipGraphExecUpdate(executable, clone, &none, &result));
  CHECK(hipGraphLaunch(executable, nullptr)); CHECK(hipDeviceSynchronize());
  printf("updated %d %d\n", back[63], result);
  bool circle = is(hipSuccess, hipGraphAddDependencies(graph, &box, &first, 1));
  hipGraphExec_t never;
  circle &= is(hipErrorInvalidValue, hipGraphInstantiate(&never, graph, nullptr, nullptr, 0));
  CHECK(hipGraphRemoveDependencies(graph, &box, &first, 1)); CHECK(hipGraphDestroyNode(called));
  printf("circle %d, destroyed %d\n", circle, is(hipErrorInvalidValue, hipGraphNodeGetType(called, &kind)));
  CHECK(hipGraphExecDestroy(executable)); CHECK(hipGraphDestroy(graph)); CHECK(hipGraphDestroy(clone)); CHECK(hipGraphDestroy(child));
  return 0;
}

static int refused(int *a) {
  hipStream_t stream, other;
  hipGraph_t graph;
  hipEvent_t event;
  void *more;
  CHECK(hipStreamCreate(&stream)); CHECK(hipStreamCreate(&other)); CHECK(hipEventCreate(&event));
  int good = is(hipErrorStreamCaptureUnsupported, hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal));
  good += is(hipErrorIllegalState, hipStreamEndCapture(stream, &graph));
  hipError_t (*calls[])(hipStream_t, int *, void **, hipEvent_t) = {
    [](hipStream_t s, int *, void **, hipEvent_t) { return hipStreamSynchronize(s); },
    [](hipStream_t, int *, void **, hipEvent_t) { return hipDeviceSynchronize(); },
    [](hipStream_t, int *, void **p, hipEvent_t) { return hipMalloc(p, 4); },
    [](hipStream_t, int *a, void **, hipEvent_t) { return hipMemset(a, 0, 4); },
    [](hipStream_t s, int *, void **, hipEvent_t e) { (void)hipEventRecord(e, s); return hipEventSynchronize(e); },
  };
  hipError_t expected[] = {hipErrorStreamCaptureUnsupported, hipErrorStreamCaptureUnsupported, hipErrorStreamCaptureUnsupported,
    hipErrorStreamCaptureImplicit, hipErrorCapturedEvent};
  for (int i = 0; i < 5; i++) {
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    good += is(expected[i], calls[i](stream, a, &more, event));
    good += is(hipErrorStreamCaptureInvalidated, hipStreamEndCapture(stream, &graph));
  }
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  CHECK(hipEventRecord(event, stream)); CHECK(hipStreamWaitEvent(other, event));
  CHECK(hipMemsetAsync(a, 1, 4, other));
  good += is(hipErrorStreamCaptureUnmatched, hipStreamEndCapture(other, &graph));
  good += is(hipErrorStreamCaptureUnjoined, hipStreamEndCapture(stream, &graph));
  printf("refused %d\n", good);
  CHECK(hipStreamDestroy(stream)); CHECK(hipStreamDestroy(other)); CHECK(hipEventDestroy(event));
  return 0;
}

int main() {
  int *a, *b;
  CHECK(hipMalloc(&a, 256)); CHECK(hipMalloc(&b, 256));
  if (captured(a, b) || by_hand(a, b) || refused(a)) return 1;
  CHECK(hipFree(a)); CHECK(hipFree(b));
  return 0;
}

// Prints:
// captured 7 nodes, 7 edges, 1 root, status 1, number 1, before 0 0
// launched 107 107, calls 3, status 0
// update 1 2
// by hand 107 296, calls 1
// asked 1 64 3
// changed 359
// clone 0, before the end 2 1
// updated 296 0
// circle 1, destroyed 1
// refused 14
// 15 launches, 3 kernels, 6 errors
