// Launches of a kernel by turns, which add to the same cells; between two of them the host sets these.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

static const char *source =
    "kernel void add(global int *cells, int turn) {\n"
    "  int i = get_global_id(0);\n"
    "  cells[i] += turn;\n"
    "}\n";

int main(void) {
  size_t grid = 64;
  int nine = 9, turn = 0;
  cl_platform_id platform;
  cl_device_id device;
  clGetPlatformIDs(1, &platform, NULL);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
  clBuildProgram(program, 1, &device, "-g", NULL, NULL);
  cl_kernel add = clCreateKernel(program, "add", NULL);
  cl_mem cells = clCreateBuffer(context, CL_MEM_READ_WRITE, 256, NULL, NULL);
  clEnqueueFillBuffer(queue, cells, &turn, 4, 0, 256, 0, NULL, NULL);
  for (turn = 1; turn <= 12; turn++) {
    if (turn == 6) clEnqueueFillBuffer(queue, cells, &nine, 4, 0, 256, 0, NULL, NULL);
    clSetKernelArg(add, 0, sizeof cells, &cells);
    clSetKernelArg(add, 1, sizeof turn, &turn);
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &grid, NULL, 0, NULL, NULL);
  }
  clFinish(queue);
  clReleaseMemObject(cells), clReleaseKernel(add), clReleaseProgram(program);
  clReleaseCommandQueue(queue), clReleaseContext(context);
  return 0;
}
