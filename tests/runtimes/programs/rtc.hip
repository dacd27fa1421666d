// hipRTC: a kernel with a header, a template by its name, and a source with an error.
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call) \
  do { int error = (call); if (error) { printf("%s: %d\n", #call, error); return 1; } } while (0)

static const char *source = R"(
#include "factor.h"
__constant__ int offset = 7;
extern "C" __global__ void scaled(float *cells, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) cells[i] *= FACTOR;
}
namespace n { template <class T, int k> __global__ void filled(T *cells) { cells[threadIdx.x] = k + WITH + offset; } }
)";

int main() {
  hiprtcProgram program;
  const char *headers[] = {"#define FACTOR 3\n"}, *names[] = {"factor.h"}, *options[] = {"--gpu-architecture=gfx1100", "-DWITH=10"};
  CHECK(hiprtcCreateProgram(&program, source, "kernels.cu", 1, headers, names));
  CHECK(hiprtcAddNameExpression(program, "n::filled<int, 5>")); CHECK(hiprtcAddNameExpression(program, "&offset"));
  const char *filled = nullptr, *offset = nullptr;
  int early = hiprtcGetLoweredName(program, "n::filled<int, 5>", &filled);
  CHECK(hiprtcCompileProgram(program, 2, options));
  CHECK(hiprtcGetLoweredName(program, "n::filled<int, 5>", &filled)); CHECK(hiprtcGetLoweredName(program, "&offset", &offset));
  int late = hiprtcAddNameExpression(program, "x"), other = hiprtcGetLoweredName(program, "x", &filled);
  size_t size;
  CHECK(hiprtcGetCodeSize(program, &size));
  std::vector<char> code(size);
  CHECK(hiprtcGetCode(program, code.data()));
  printf("names %s %s, %d %d %d\n", filled, offset, early, late, other);
  hipModule_t module;
  hipFunction_t kernel, fill;
  CHECK(hipModuleLoadData(&module, code.data()));
  CHECK(hipModuleGetFunction(&kernel, module, "scaled")); CHECK(hipModuleGetFunction(&fill, module, filled));
  CHECK(hiprtcDestroyProgram(&program));
  float *cells, here[64];
  int count = 64, *numbers, there[4];
  for (int i = 0; i < 64; i++) here[i] = i;
  CHECK(hipMalloc(&cells, 256)); CHECK(hipMalloc(&numbers, 16)); CHECK(hipMemcpy(cells, here, 256, hipMemcpyHostToDevice));
  void *arguments[] = {&cells, &count}, *more[] = {&numbers};
  CHECK(hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(hipModuleLaunchKernel(fill, 1, 1, 1, 4, 1, 1, 0, nullptr, more, nullptr));
  CHECK(hipMemcpy(here, cells, 256, hipMemcpyDeviceToHost)); CHECK(hipMemcpy(there, numbers, 16, hipMemcpyDeviceToHost));
  printf("launched %g %d\n", here[63], there[3]);
  CHECK(hiprtcCreateProgram(&program, "__global__ void wrong() { nothing(); }", nullptr, 0, nullptr, nullptr));
  hiprtcResult result = hiprtcCompileProgram(program, 0, nullptr);
  CHECK(hiprtcGetProgramLogSize(program, &size));
  std::string log(size, 0);
  CHECK(hiprtcGetProgramLog(program, &log[0]));
  printf("%s, %d\n", hiprtcGetErrorString(result), log.find("undeclared identifier") != std::string::npos);
  CHECK(hiprtcDestroyProgram(&program)); CHECK(hipModuleUnload(module)); CHECK(hipFree(cells)); CHECK(hipFree(numbers));
  int destroyed = hiprtcDestroyProgram(&program);
  printf("destroyed %d\n", destroyed);
  return 0;
}

// Prints:
// names _ZN1n6filledIiLi5EEEvPT_ offset, 9 8 10
// launched 189 22
// HIPRTC_ERROR_COMPILATION, 1
// destroyed 4
// 2 launches, 2 kernels, no error
