// Programs of OpenCL whose commands use the same memory without an order; with a second argument they have one.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <string.h>

static const char *source =
    "kernel void first(global int *out) { out[get_global_id(0)] = 1; }\n"
    "kernel void second(global int *out) { out[get_global_id(0)] += 2; }\n";

int main(int count, char **words) {
  const char *mistake = count > 1 ? words[1] : "";
  int is_ordered = count > 2, host[64] = {0}, nine = 9;
  size_t grid = 64;
#define IS(name) !strcmp(mistake, name)
  cl_platform_id platform;
  cl_device_id device;
  clGetPlatformIDs(1, &platform, NULL);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_queue_properties unordered[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  cl_command_queue one = clCreateCommandQueueWithProperties(context, device, IS("queues") ? NULL : unordered, NULL);
  cl_command_queue two = IS("queues") ? clCreateCommandQueueWithProperties(context, device, NULL, NULL) : one;
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
  clBuildProgram(program, 1, &device, "", NULL, NULL);
  cl_kernel first = clCreateKernel(program, "first", NULL), second = clCreateKernel(program, "second", NULL);
  cl_mem cells = clCreateBuffer(context, CL_MEM_READ_WRITE, 256, NULL, NULL);
  clSetKernelArg(first, 0, sizeof cells, &cells);
  clSetKernelArg(second, 0, sizeof cells, &cells);
  cl_event done;
  clEnqueueNDRangeKernel(one, first, 1, NULL, &grid, NULL, 0, NULL, &done);
  int waits = is_ordered && !IS("barrier") && !IS("finish");
  if (IS("barrier") && is_ordered) clEnqueueBarrierWithWaitList(one, 0, NULL, NULL);
  if (IS("finish") && is_ordered) clFinish(one);
  if (IS("fill")) clEnqueueFillBuffer(two, cells, &nine, 4, 32, 64, waits, waits ? &done : NULL, NULL);
  else if (IS("read")) clEnqueueReadBuffer(two, cells, CL_FALSE, 0, 256, host, waits, waits ? &done : NULL, NULL);
  else if (IS("writes")) {
    cl_event written;
    clEnqueueWriteBuffer(one, cells, CL_FALSE, 0, 64, host, 1, &done, &written);
    clEnqueueWriteBuffer(one, cells, CL_FALSE, 60, 64, host, 1, is_ordered ? &written : &done, NULL);
    clReleaseEvent(written);
  } else clEnqueueNDRangeKernel(two, second, 1, NULL, &grid, NULL, waits, waits ? &done : NULL, NULL);
  clFinish(one), clFinish(two);
  clReleaseEvent(done), clReleaseMemObject(cells), clReleaseKernel(first), clReleaseKernel(second);
  clReleaseProgram(program), clReleaseCommandQueue(one), clReleaseContext(context);
  if (two != one) clReleaseCommandQueue(two);
  return 0;
}
