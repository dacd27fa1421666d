// Code of two sources, as bitcode and as an object or an archive in the files of the arguments, becomes one module.
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>
#include <cstdio>
#include <string>
#define CHECK(call) do { int result = (int)(call); if (result) printf("line %d: %d\n", __LINE__, result); } while (0)

static std::string bitcode(const char *source) {
  const char *options[] = {"-fgpu-rdc"};
  hiprtcProgram program;
  size_t size = 0;
  CHECK(hiprtcCreateProgram(&program, source, nullptr, 0, nullptr, nullptr));
  CHECK(hiprtcCompileProgram(program, 1, options));
  CHECK(hiprtcGetBitcodeSize(program, &size));
  std::string content(size, 0);
  CHECK(hiprtcGetBitcode(program, &content[0]));
  CHECK(hiprtcDestroyProgram(&program));
  return content;
}
static void linked(const std::string &first, const std::string &second, const char *object, hiprtcJITInputType form = HIPRTC_JIT_INPUT_OBJECT) {
  hiprtcLinkState link;
  void *code = nullptr;
  size_t size = 0;
  CHECK(hiprtcLinkCreate(0, nullptr, nullptr, &link));
  CHECK(hiprtcLinkAddData(link, HIPRTC_JIT_INPUT_LLVM_BITCODE, (void *)first.data(), first.size(), "first", 0, nullptr, nullptr));
  if (object) CHECK(hiprtcLinkAddFile(link, form, object, 0, nullptr, nullptr));
  else if (second.size())
    CHECK(hiprtcLinkAddData(link, HIPRTC_JIT_INPUT_LLVM_BITCODE, (void *)second.data(), second.size(), "second", 0, nullptr, nullptr));
  hiprtcResult result = hiprtcLinkComplete(link, &code, &size);
  if (result) {
    printf("%s\n", hiprtcGetErrorString(result));
    CHECK(hiprtcLinkDestroy(link));
    return;
  }
  hipModule_t module;
  hipFunction_t kernel;
  float *cells, here[4] = {1, 2, 3, 4};
  CHECK(hipModuleLoadData(&module, code));
  CHECK(hiprtcLinkDestroy(link));
  CHECK(hipModuleGetFunction(&kernel, module, "all"));
  CHECK(hipMalloc(&cells, 16)); CHECK(hipMemcpy(cells, here, 16, hipMemcpyHostToDevice));
  void *arguments[] = {&cells};
  CHECK(hipModuleLaunchKernel(kernel, 1, 1, 1, 4, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(hipMemcpy(here, cells, 16, hipMemcpyDeviceToHost));
  printf("%g %g %g %g\n", here[0], here[1], here[2], here[3]);
  CHECK(hipFree(cells)); CHECK(hipModuleUnload(module));
}
int main(int count, char **words) {
  std::string first = bitcode("__device__ float twice(float);\n"
    "extern \"C\" __global__ void all(float *p) { p[threadIdx.x] = twice(p[threadIdx.x]); }\n");
  std::string second = bitcode("__device__ float twice(float a) { return 2 * a + cosf(0 * a); }\n");
  linked(first, second, nullptr);
  linked(first, "", nullptr);
  if (count > 1) linked(first, "", words[1]);
  if (count > 2) linked(first, "", words[2], HIPRTC_JIT_INPUT_LIBRARY);
  if (count > 3) linked(first, "", words[3], HIPRTC_JIT_INPUT_LLVM_ARCHIVES_OF_BUNDLED_BITCODE);
  hiprtcLinkState nothing = nullptr;
  printf("nothing %d %d\n", hiprtcLinkDestroy(nothing), hiprtcLinkCreate(0, nullptr, nullptr, nullptr));
}
// Prints:
// 3 5 7 9
// HIPRTC_ERROR_LINKING
// 3 5 7 9
// 3 5 7 9
// 3 5 7 9
// nothing 3 3
// 4 launches, 1 kernel, 1 error
