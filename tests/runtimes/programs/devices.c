// A program of OpenCL that uses two devices in one context: it prints what a reader can check.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static const char *source =
    "kernel void add(global int *out, int n) {\n"
    "  if (get_global_id(0) == 0) printf(\"adds %d\\n\", n);\n"
    "  out[get_global_id(0)] += n * get_max_sub_group_size();\n"
    "}\n";
static cl_device_id devices[2];
static cl_command_queue queues[2];
static cl_mem cells;

static void add(cl_program program, const char *what) {
  int host[128], status[2];
  size_t grid = 128, group = 64;
  cl_event ended[2] = {0};
  cl_kernel kernel = clCreateKernel(program, "add", NULL);
  clSetKernelArg(kernel, 0, sizeof cells, &cells);
  for (int i = 0; i < 2; i++) {
    int n = i ? 1000 : 1;
    clSetKernelArg(kernel, 1, sizeof n, &n);
    status[i] = clEnqueueNDRangeKernel(queues[i], kernel, 1, NULL, &grid, &group, i && ended[0], i && ended[0] ? ended : NULL, &ended[i]);
  }
  clFinish(queues[0]);
  clEnqueueReadBuffer(queues[1], cells, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL);
  printf("%s %d %d: %d %d\n", what, status[0], status[1], host[0], host[127]);
  clReleaseKernel(kernel);
  for (int i = 0; i < 2; i++)
    if (ended[i]) clReleaseEvent(ended[i]);
}

int main(void) {
  cl_platform_id platform;
  cl_uint count;
  char name[2][64], none[4] = {0};
  clGetPlatformIDs(1, &platform, NULL);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 2, devices, &count);
  for (int i = 0; i < 2; i++) clGetDeviceInfo(devices[i], CL_DEVICE_NAME, sizeof name[i], name[i], NULL);
  printf("%u %s, %s\n", count, name[0], name[1]);
  cl_context context = clCreateContext(NULL, 2, devices, NULL, NULL, NULL);
  for (int i = 0; i < 2; i++) queues[i] = clCreateCommandQueueWithProperties(context, devices[i], NULL, NULL);
  cells = clCreateBuffer(context, CL_MEM_READ_WRITE, 512, NULL, NULL);
  clEnqueueFillBuffer(queues[0], cells, none, 4, 0, 512, 0, NULL, NULL), clFinish(queues[0]);

  cl_program both = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
  clBuildProgram(both, 0, NULL, "-cl-std=CL3.0", NULL, NULL);
  add(both, "both");
  size_t sizes[2], needed;
  clGetProgramInfo(both, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, &needed);
  unsigned char *binaries[2] = {malloc(sizes[0]), malloc(sizes[1])};
  clGetProgramInfo(both, CL_PROGRAM_BINARIES, sizeof binaries, binaries, NULL);
  cl_int states[2], error;
  cl_program again = clCreateProgramWithBinary(context, 2, devices, sizes, (const unsigned char **)binaries, states, &error);
  clBuildProgram(again, 0, NULL, "", NULL, NULL);
  add(again, "again");

  cl_program second = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
  clBuildProgram(second, 1, devices + 1, "-cl-std=CL3.0", NULL, NULL);
  cl_build_status built[2];
  for (int i = 0; i < 2; i++) clGetProgramBuildInfo(second, devices[i], CL_PROGRAM_BUILD_STATUS, 4, &built[i], NULL);
  add(second, "second");
  size_t wave[2];
  cl_kernel kernel = clCreateKernel(both, "add", NULL);
  for (int i = 0; i < 2; i++)
    clGetKernelWorkGroupInfo(kernel, devices[i], CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, 8, &wave[i], NULL);
  printf("built %d %d, waves %zu %zu, none %d\n", built[0], built[1], wave[0], wave[1],
         clGetKernelWorkGroupInfo(kernel, NULL, CL_KERNEL_WORK_GROUP_SIZE, 8, &needed, NULL));
  clReleaseKernel(kernel), clReleaseMemObject(cells), free(binaries[0]), free(binaries[1]);
  clReleaseProgram(both), clReleaseProgram(again), clReleaseProgram(second);
  clReleaseCommandQueue(queues[0]), clReleaseCommandQueue(queues[1]), clReleaseContext(context);
  return 0;
}
