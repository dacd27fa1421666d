// Texture references, which the program binds to arrays and to memory, and functions that are declared alone.
#include <hip/hip_runtime.h>
#include <cstdio>

texture<float, hipTextureType2D> plane;
texture<uchar2, hipTextureType1D, hipReadModeNormalizedFloat> pairs;
static texture<int> line;
texture<float, hipTextureType3D> box(1, hipFilterModeLinear, hipAddressModeWrap);
texture<short4, hipTextureType2DLayered> layered;
__device__ int no_texture;

#define CHECK(call) \
  do { hipError_t error = (call); if (error) { printf("%s: %s\n", #call, hipGetErrorName(error)); return 1; } } while (0)
__global__ void planes(float *out) { out[threadIdx.x] = tex2D(plane, threadIdx.x + 0.5f, 1.5f); }
__global__ void lines(float2 *out, int *whole) {
  out[threadIdx.x] = tex1Dfetch(pairs, threadIdx.x);
  whole[threadIdx.x] = tex1Dfetch(line, threadIdx.x);
}
__global__ void boxes(float *out, short4 *four) {
  *out = tex3D(box, 1.25f, 0.25f, 0.5f);
  *four = tex2DLayered(layered, 0, 0, 1);
}

static int arrays() {
  float here[2][4] = {{0, 1, 2, 3}, {10, 11, 12, 13}}, there[5], *out;
  hipChannelFormatDesc channels = hipCreateChannelDesc<float>();
  hipArray_t array;
  CHECK(hipMallocArray(&array, &channels, 4, 2)); CHECK(hipMemcpy2DToArray(array, 0, 0, here, 16, 16, 2, hipMemcpyHostToDevice));
  CHECK(hipMalloc(&out, 20));
  for (int kind = 0; kind < 3; kind++) {
    if (kind == 1) plane.filterMode = hipFilterModeLinear, plane.addressMode[0] = hipAddressModeBorder;
    if (kind < 2) { CHECK(hipBindTextureToArray(plane, array)); }
    else { CHECK(hipMemcpyFromArray(there, array, 0, 0, 16, hipMemcpyDeviceToHost)); CHECK(hipMemcpy(out, there, 16, hipMemcpyHostToDevice)); CHECK(hipBindTexture2D(nullptr, plane, out, 2, 2, 8)); }
    planes<<<1, 5>>>(out);
    CHECK(hipMemcpy(there, out, 20, hipMemcpyDeviceToHost));
    printf("plane %d: %g %g %g %g %g\n", kind, there[0], there[1], there[2], there[3], there[4]);
  }
  CHECK(hipUnbindTexture(plane)); CHECK(hipFreeArray(array)); CHECK(hipFree(out));
  return 0;
}

static int memory() {
  unsigned char here[8] = {0, 255, 51, 102, 1, 0, 0, 0}, *bytes;
  float2 parts[4], *out;
  int whole[4], *numbers;
  size_t offset = 7;
  CHECK(hipMalloc(&bytes, 8)); CHECK(hipMemcpy(bytes, here, 8, hipMemcpyHostToDevice)); CHECK(hipMalloc(&out, 32)); CHECK(hipMalloc(&numbers, 16));
  CHECK(hipBindTexture(&offset, pairs, bytes)); CHECK(hipBindTexture(nullptr, line, bytes + 4, hipCreateChannelDesc<int>(), 4));
  lines<<<1, 4>>>(out, numbers);
  CHECK(hipMemcpy(parts, out, 32, hipMemcpyDeviceToHost)); CHECK(hipMemcpy(whole, numbers, 16, hipMemcpyDeviceToHost));
  printf("memory %g %g %g %g, %d %d, offset %zu\n", parts[0].x, parts[0].y, parts[1].x, parts[1].y, whole[0], whole[1], offset);
  const textureReference *found;
  CHECK(hipGetTextureReference(&found, HIP_SYMBOL(&line)));
  hipError_t none = hipGetTextureReference(&found, &no_texture), beyond = hipBindTexture(&offset, line, bytes, 12);
  printf("found %d, %s, %s\n", found == &line, hipGetErrorName(none), hipGetErrorName(beyond));
  CHECK(hipUnbindTexture(pairs)); CHECK(hipUnbindTexture(line)); CHECK(hipGetTextureAlignmentOffset(&offset, &line)); CHECK(hipFree(bytes)); CHECK(hipFree(out)); CHECK(hipFree(numbers));
  return 0;
}

static int boxed() {
  float here[8] = {0, 1, 2, 3, 4, 5, 6, 7}, found, *out;
  short4 cells[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, *four;
  hipArray_t arrays[2];
  CHECK(hipMalloc(&out, 4)); CHECK(hipMalloc(&four, 8));
  for (int i = 0; i < 2; i++) {
    hipExtent extent = i ? make_hipExtent(1, 1, 2) : make_hipExtent(2, 2, 2);
    CHECK(hipMalloc3DArray(&arrays[i], i ? &layered.channelDesc : &box.channelDesc, extent, i ? hipArrayLayered : 0));
    hipMemcpy3DParms copy = {};
    copy.srcPtr = make_hipPitchedPtr(i ? (void *)cells : here, 8, extent.width, extent.height), copy.dstArray = arrays[i], copy.extent = extent, copy.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&copy));
  }
  CHECK(hipBindTextureToArray(box, arrays[0])); CHECK(hipBindTextureToArray(layered, arrays[1], layered.channelDesc));
  boxes<<<1, 1>>>(out, four);
  CHECK(hipMemcpy(&found, out, 4, hipMemcpyDeviceToHost)); CHECK(hipMemcpy(cells, four, 8, hipMemcpyDeviceToHost));
  printf("box %g, layer %d %d\n", found, cells[0].x, cells[0].w);
  for (hipArray_t each : arrays) CHECK(hipFreeArray(each));
  CHECK(hipFree(out)); CHECK(hipFree(four));
  return 0;
}

static void not_there() {
  hipMipmappedArray_t mipmaps = nullptr;
  hipArray_t level;
  hipIpcMemHandle_t handle = {};
  hipIpcEventHandle_t event_handle = {};
  hipEvent_t event = nullptr;
  hipTexRef reference;
  void *p = nullptr;
  HIP_ARRAY3D_DESCRIPTOR about = {};
  hipError_t found[] = {
    hipMallocMipmappedArray(&mipmaps, &plane.channelDesc, make_hipExtent(4, 4, 0), 2), hipFreeMipmappedArray(mipmaps),
    hipGetMipmappedArrayLevel(&level, mipmaps, 1), hipMipmappedArrayCreate(&mipmaps, &about, 2), hipMipmappedArrayDestroy(mipmaps),
    hipMipmappedArrayGetLevel(&level, mipmaps, 1), hipBindTextureToMipmappedArray(&plane, mipmaps, &plane.channelDesc),
    hipIpcGetMemHandle(&handle, p), hipIpcOpenMemHandle(&p, handle, hipIpcMemLazyEnablePeerAccess), hipIpcCloseMemHandle(p),
    hipIpcGetEventHandle(&event_handle, event), hipIpcOpenEventHandle(&event, event_handle),
    hipModuleGetTexRef(&reference, nullptr, "line"), hipTexRefSetArray(&line, level, HIP_TRSA_OVERRIDE_FORMAT),
    hipTexRefSetAddress(nullptr, &line, p, 4), hipTexRefSetFormat(&line, HIP_AD_FORMAT_FLOAT, 1),
    hipTexRefSetFlags(&line, HIP_TRSF_READ_AS_INTEGER), hipTexRefSetFilterMode(&line, hipFilterModePoint),
    hipTexRefSetAddressMode(&line, 0, hipAddressModeClamp)};
  int count = 0;
  for (hipError_t each : found) count += each == hipErrorNotSupported;
  printf("not there %d of %zu\n", count, sizeof found / sizeof *found);
}

int main() {
  if (arrays() || memory() || boxed()) return 1;
  not_there();
}

// Prints:
// plane 0: 10 11 12 13 13
// plane 1: 10 11 12 13 0
// plane 2: 2 3 0 0 0
// memory 0 1 0.2 0.4, 1 0, offset 0
// found 1, hipErrorInvalidSymbol, hipErrorInvalidValue
// box 2, layer 5 8
// not there 19 of 19
// 5 launches, 3 kernels, 1 error, 19 warnings
