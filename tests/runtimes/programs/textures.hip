// Textures of arrays and of memory, with each filter and way to go on outside, layers, and surfaces.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>

#define CHECK(call) \
  do { hipError_t error = (call); if (error) { printf("%s: %s\n", #call, hipGetErrorName(error)); return 1; } } while (0)
__global__ void plane(float *out, hipTextureObject_t t, float scale) {
  const float at[][2] = {{0.5f, 0.5f}, {1, 1}, {2.75f, 0.5f}, {-0.5f, 0.5f}, {4.5f, 1.5f}, {1.25f, 1.75f}};
  out[threadIdx.x] = tex2D<float>(t, at[threadIdx.x][0] * scale, at[threadIdx.x][1] * scale * 2);
}
__global__ void gathered(float4 *out, hipTextureObject_t t) {
  out[0] = tex2Dgather<float4>(t, 2, 1), out[1] = tex2Dgather<float4>(t, 4, 1.25f), out[2] = tex2Dgather<float4>(t, 2, 1, 1);
}
__global__ void line(int4 *out, uchar2 *pairs, float *parts, hipTextureObject_t whole, hipTextureObject_t bytes, hipTextureObject_t parted) {
  int i = threadIdx.x;
  out[i] = tex1Dfetch<int4>(whole, i - 1);
  pairs[i] = tex1Dfetch<uchar2>(bytes, i);
  parts[i] = tex1Dfetch<float>(parted, i);
}
__global__ void layers(float *out, hipTextureObject_t box, hipTextureObject_t layered) {
  out[0] = tex3D<float>(box, 0.5f, 0.5f, 1.0f);
  tex3D(&out[1], box, 1.5f, 1.0f, 1.5f);
  out[2] = tex2DLayered<float>(layered, 1.5f, 0.5f, 1);
}
__global__ void surfaces(hipSurfaceObject_t s, int *found) {
  int x = threadIdx.x % 4, y = threadIdx.x / 4, value;
  surf2Dread(&value, s, 4 * x, y);
  surf2Dwrite(value * 10, s, 4 * x, y);
  surf2Dwrite(-1, s, 4 * x, y + 2);
  if (threadIdx.x == 0) *found = surf2Dread<int>(s, 16, 0);
}

static int planes() {
  hipArray_t array;
  hipChannelFormatDesc channels = hipCreateChannelDesc<float>();
  float here[2][4] = {{0, 1, 2, 3}, {10, 11, 12, 13}}, there[6], *out;
  CHECK(hipMallocArray(&array, &channels, 4, 2)); CHECK(hipMemcpy2DToArray(array, 0, 0, here, 16, 16, 2, hipMemcpyHostToDevice));
  CHECK(hipMalloc(&out, 24));
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray, resource.res.array.array = array;
  for (int kind = 0; kind < 6; kind++) {
    hipTextureDesc about = {};
    hipTextureAddressMode modes[] = {hipAddressModeClamp, hipAddressModeClamp, hipAddressModeBorder, hipAddressModeWrap, hipAddressModeMirror, hipAddressModeBorder};
    about.addressMode[0] = about.addressMode[1] = modes[kind];
    about.filterMode = kind % 2 ? hipFilterModeLinear : hipFilterModePoint;
    about.normalizedCoords = kind == 3 || kind == 4;
    about.borderColor[0] = 100;
    hipTextureObject_t texture;
    CHECK(hipCreateTextureObject(&texture, &resource, &about, nullptr));
    plane<<<1, 6>>>(out, texture, about.normalizedCoords ? 0.25f : 1.0f);
    CHECK(hipMemcpy(there, out, 24, hipMemcpyDeviceToHost));
    printf("plane %d:", kind);
    for (float each : there) printf(" %g", each);
    puts("");
    CHECK(hipDestroyTextureObject(texture));
  }
  hipTextureDesc about = {};
  hipTextureObject_t texture, wrong = nullptr;
  CHECK(hipCreateTextureObject(&texture, &resource, &about, nullptr));
  float4 *corners, four[3];
  CHECK(hipMalloc(&corners, sizeof four));
  gathered<<<1, 1>>>(corners, texture);
  CHECK(hipMemcpy(four, corners, sizeof four, hipMemcpyDeviceToHost)); CHECK(hipFree(corners));
  printf("gathered");
  for (float4 each : four) printf(" %g %g %g %g,", each.x, each.y, each.z, each.w);
  puts("");
  hipResourceDesc found;
  CHECK(hipGetTextureObjectResourceDesc(&found, texture)); CHECK(hipDestroyTextureObject(texture));
  int again = hipDestroyTextureObject(texture) == hipErrorInvalidValue, none = hipCreateTextureObject(&wrong, nullptr, &about, nullptr) == hipErrorInvalidValue;
  printf("asked %d, again %d, none %d\n", found.res.array.array == array, again, none);
  CHECK(hipFreeArray(array)); CHECK(hipFree(out));
  return 0;
}

static int lines() {
  int4 here[4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, -16}}, back[6], *out;
  unsigned char bytes[12] = {0, 51, 102, 255, 4, 5, 6, 7, 8, 9, 10, 11}, *device;
  int4 *memory;
  uchar2 *pairs, back_pairs[6];
  float *parts, back_parts[6];
  CHECK(hipMalloc(&memory, 64)); CHECK(hipMalloc(&device, 12)); CHECK(hipMalloc(&out, 96)); CHECK(hipMalloc(&pairs, 12)); CHECK(hipMalloc(&parts, 24));
  CHECK(hipMemcpy(memory, here, 64, hipMemcpyHostToDevice)); CHECK(hipMemcpy(device, bytes, 12, hipMemcpyHostToDevice));
  hipTextureObject_t objects[3];
  hipChannelFormatDesc formats[] = {hipCreateChannelDesc<int4>(), hipCreateChannelDesc<uchar2>(), hipCreateChannelDesc<unsigned char>()};
  for (int i = 0; i < 3; i++) {
    hipResourceDesc resource = {};
    resource.resType = hipResourceTypeLinear, resource.res.linear.devPtr = i ? (void *)device : (void *)memory;
    resource.res.linear.desc = formats[i], resource.res.linear.sizeInBytes = i ? 12 : 64;
    hipTextureDesc about = {};
    about.readMode = i == 2 ? hipReadModeNormalizedFloat : hipReadModeElementType;
    CHECK(hipCreateTextureObject(&objects[i], &resource, &about, nullptr));
  }
  line<<<1, 6>>>(out, pairs, parts, objects[0], objects[1], objects[2]);
  CHECK(hipMemcpy(back, out, 96, hipMemcpyDeviceToHost)); CHECK(hipMemcpy(back_pairs, pairs, 12, hipMemcpyDeviceToHost)); CHECK(hipMemcpy(back_parts, parts, 24, hipMemcpyDeviceToHost));
  printf("lines %d %d %d %d, %d %d, %g %g %g\n", back[0].x, back[1].y, back[4].w, back[5].x, back_pairs[1].x, back_pairs[1].y, back_parts[0], back_parts[1], back_parts[3]);
  for (hipTextureObject_t each : objects) CHECK(hipDestroyTextureObject(each));
  CHECK(hipFree(memory)); CHECK(hipFree(device)); CHECK(hipFree(out)); CHECK(hipFree(pairs)); CHECK(hipFree(parts));
  return 0;
}

static int more() {
  hipArray_t box, layered, plain;
  hipChannelFormatDesc channels = hipCreateChannelDesc<float>(), whole = hipCreateChannelDesc<int>();
  float here[2][2][2] = {{{0, 1}, {2, 3}}, {{4, 5}, {6, 7}}}, back[3], *out;
  CHECK(hipMalloc(&out, 12)); CHECK(hipMalloc3DArray(&box, &channels, make_hipExtent(2, 2, 2)));
  CHECK(hipMalloc3DArray(&layered, &channels, make_hipExtent(2, 2, 2), hipArrayLayered));
  hipTextureObject_t objects[2];
  for (int i = 0; i < 2; i++) {
    hipMemcpy3DParms copy = {};
    copy.srcPtr = make_hipPitchedPtr(here, 8, 2, 2), copy.dstArray = i ? layered : box, copy.extent = make_hipExtent(2, 2, 2), copy.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&copy));
    hipResourceDesc resource = {};
    resource.resType = hipResourceTypeArray, resource.res.array.array = i ? layered : box;
    hipTextureDesc about = {};
    about.filterMode = hipFilterModeLinear;
    about.addressMode[0] = about.addressMode[1] = about.addressMode[2] = hipAddressModeClamp;
    CHECK(hipCreateTextureObject(&objects[i], &resource, &about, nullptr));
  }
  layers<<<1, 1>>>(out, objects[0], objects[1]);
  CHECK(hipMemcpy(back, out, 12, hipMemcpyDeviceToHost));
  int cells[8] = {1, 2, 3, 4, 5, 6, 7, 8}, *found, outside = 7;
  CHECK(hipMallocArray(&plain, &whole, 4, 2, hipArraySurfaceLoadStore)); CHECK(hipMemcpy2DToArray(plain, 0, 0, cells, 16, 16, 2, hipMemcpyHostToDevice));
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray, resource.res.array.array = plain;
  hipSurfaceObject_t surface;
  CHECK(hipCreateSurfaceObject(&surface, &resource)); CHECK(hipMalloc(&found, 4));
  surfaces<<<1, 8>>>(surface, found);
  CHECK(hipMemcpy2DFromArray(cells, 16, plain, 0, 0, 16, 2, hipMemcpyDeviceToHost)); CHECK(hipMemcpy(&outside, found, 4, hipMemcpyDeviceToHost));
  printf("layers %g %g %g, surface %d %d, outside %d\n", back[0], back[1], back[2], cells[0], cells[7], outside);
  for (hipTextureObject_t each : objects) CHECK(hipDestroyTextureObject(each));
  CHECK(hipDestroySurfaceObject(surface)); CHECK(hipFreeArray(plain)); CHECK(hipFreeArray(box)); CHECK(hipFreeArray(layered));
  CHECK(hipFree(out)); CHECK(hipFree(found));
  return 0;
}

int main() { return planes() || lines() || more(); }

// Prints:
// plane 0: 10 11 12 10 13 11
// plane 1: 5 10.5 7.25 5 13 10.75
// plane 2: 10 100 12 100 100 100
// plane 3: 0 5.5 2.25 3 10 8.25
// plane 4: 0 11 2 0 13 11
// plane 5: 5 55.25 7.25 100 100 100
// gathered 11 12 2 1, 13 13 3 3, 0 0 0 0,
// asked 1, again 1, none 1
// lines 0 2 -16 0, 102 255, 0 0.2 1
// layers 2 6 5, surface 10 80, outside 0
// 10 launches, 5 kernels, no error
