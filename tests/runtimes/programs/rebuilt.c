// A program of OpenCL that is built twice, with other options: each kernel is that of the last build,
// and lives until its command has ended.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>

static const char *source =
    "kernel void k(global int *out) {\n"
    "#if N == 1\n"
    "  *out = 11;\n"
    "#else\n"
    "  for (int i = 0; i < 5; i++) out[i] = 22;\n"
    "#endif\n"
    "}\n";

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  size_t one = 1;
  clGetPlatformIDs(1, &platform, NULL);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
  cl_mem cells = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, NULL);
  for (int number = 1; number < 3; number++) {
    char option[9];
    int value = 0;
    sprintf(option, "-DN=%d", number);
    clBuildProgram(program, 1, &device, option, NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "k", NULL);
    clSetKernelArg(kernel, 0, sizeof cells, &cells);
    cl_event begin = clCreateUserEvent(context, NULL);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 1, &begin, NULL);
    clReleaseKernel(kernel);
    if (number == 2) clReleaseProgram(program);
    clSetUserEventStatus(begin, CL_COMPLETE), clReleaseEvent(begin);
    clEnqueueReadBuffer(queue, cells, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL);
    printf("%d\n", value);
  }
  clReleaseMemObject(cells), clReleaseCommandQueue(queue), clReleaseContext(context);
}
