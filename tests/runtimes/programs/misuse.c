// Programs of OpenCL with one mistake each, which the first argument names; with a second argument it is mended.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *source =
    "kernel void add(global int *out, global const int *in, int n) {\n"
    "  int i = get_global_id(0); if (i < n) out[i] = in[i] + 1;\n"
    "}\n"
    "kernel void local_sum(global int *out, local int *part) { part[get_local_id(0)] = 1; out[0] = part[0]; }\n";

int main(int count, char **words) {
  const char *mistake = count > 1 ? words[1] : "";
  int is_mended = count > 2, n = 64, host[64] = {0}, status = 0;
  size_t grid = 64, group = 16;
#define IS(name) (!strcmp(mistake, name) && !is_mended)
  cl_platform_id platform;
  cl_device_id device;
  clGetPlatformIDs(1, &platform, NULL);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
  status |= clBuildProgram(program, 1, &device, IS("option") ? "-no-such-option" : "", NULL, NULL);
  if (status) return 1;
  cl_kernel add = clCreateKernel(program, IS("name") ? "sub" : "add", NULL);
  cl_mem in = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof host, host, NULL);
  cl_mem_flags access = IS("read-only") ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
  cl_mem out = clCreateBuffer(context, access, IS("beyond") ? 128 : 256, NULL, NULL);
  if (IS("released")) clReleaseMemObject(out);
  if (IS("size")) status |= clSetKernelArg(add, 2, 8, &n);
  status |= clSetKernelArg(add, 0, sizeof out, &out);
  status |= clSetKernelArg(add, 1, sizeof in, &in);
  if (IS("using")) clEnqueueMapBuffer(queue, out, CL_TRUE, CL_MAP_WRITE, 0, 64, 0, NULL, NULL, NULL);
  if (!IS("missing")) status |= clSetKernelArg(add, 2, sizeof n, &n);
  if (IS("index")) status |= clSetKernelArg(add, 3, sizeof n, &n);
  if (IS("group")) grid = 60;
  status |= clEnqueueNDRangeKernel(queue, add, 1, NULL, &grid, &group, 0, NULL, NULL);
  size_t size = IS("range") ? 260 : IS("beyond") ? 128 : 256;
  if (IS("lifetime")) clReleaseMemObject(in), in = NULL;
  if (!IS("mapped")) status |= clEnqueueReadBuffer(queue, out, CL_TRUE, 0, size, host, 0, NULL, NULL);
  int *there = clEnqueueMapBuffer(queue, out, CL_TRUE, CL_MAP_READ, 0, 64, 0, NULL, NULL, NULL);
  if (there && there[0] > 5) puts("?");
  if (!IS("mapped")) status |= clEnqueueUnmapMemObject(queue, out, there, 0, NULL, NULL);
  cl_event user = IS("endless") ? clCreateUserEvent(context, NULL) : NULL;
  if (user) clEnqueueMarkerWithWaitList(queue, 1, &user, NULL);
  if (IS("host")) there[1] = 2;
  clFinish(queue);
  if (!strcmp(mistake, "local")) {
    cl_kernel local_sum = clCreateKernel(program, "local_sum", NULL);
    clSetKernelArg(local_sum, 0, sizeof out, &out), clSetKernelArg(local_sum, 1, is_mended ? 256 : 70000, NULL);
    clEnqueueNDRangeKernel(queue, local_sum, 1, NULL, &grid, &group, 0, NULL, NULL);
    clReleaseKernel(local_sum);
  }
  if (!strcmp(mistake, "changed")) {
    clEnqueueFillBuffer(queue, out, &n, sizeof n, 0, 64, 0, NULL, NULL);
    there = clEnqueueMapBuffer(queue, out, CL_TRUE, CL_MAP_READ, 0, 64, 0, NULL, NULL, NULL);
    if (IS("changed")) clEnqueueNDRangeKernel(queue, add, 1, NULL, &grid, &group, 0, NULL, NULL);
    clEnqueueUnmapMemObject(queue, out, there, 0, NULL, NULL);
  }
  if (!strcmp(mistake, "later")) { // the host has the map behind the kernel
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &grid, &group, 0, NULL, NULL);
    there = clEnqueueMapBuffer(queue, out, CL_TRUE, CL_MAP_WRITE, 0, 64, 0, NULL, NULL, NULL);
    clEnqueueUnmapMemObject(queue, out, there, 0, NULL, NULL);
  }
  if (IS("il")) clCreateProgramWithIL(context, "\3\2\43\7", 4, NULL);
  if (IS("unread")) clEnqueueReadBuffer(queue, out, CL_TRUE, 0, 0, host, 0, NULL, NULL);
  if (!strcmp(mistake, "filling") || !strcmp(mistake, "overlap")) {
    there = clEnqueueMapBuffer(queue, out, CL_TRUE, CL_MAP_READ, 0, 64, 0, NULL, NULL, NULL);
    if (IS("filling")) clEnqueueFillBuffer(queue, out, &n, sizeof n, 0, 64, 0, NULL, NULL);
    clEnqueueUnmapMemObject(queue, out, there, 0, NULL, NULL);
    there = clEnqueueMapBuffer(queue, out, CL_TRUE, CL_MAP_WRITE, 0, 64, 0, NULL, NULL, NULL);
    int *more = clEnqueueMapBuffer(queue, out, CL_TRUE, CL_MAP_WRITE, IS("overlap") ? 60 : 64, 64, 0, NULL, NULL, &status);
    clEnqueueUnmapMemObject(queue, out, there, 0, NULL, NULL);
    if (more) clEnqueueUnmapMemObject(queue, out, more, 0, NULL, NULL);
  }
  if (in) clReleaseMemObject(in);
  if (!IS("leak") && !IS("released")) clReleaseMemObject(out);
  if (IS("twice")) status |= clReleaseMemObject(out);
  clReleaseKernel(add);
  clReleaseProgram(program), clReleaseCommandQueue(queue), clReleaseContext(context);
  return status != 0;
}
