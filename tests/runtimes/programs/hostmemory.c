// Programs of OpenCL that use memory of the host wrongly, as the first argument names; with a second one it is right.
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const char *source =
    "kernel void add(global int *out, int n) { out[get_global_id(0)] += n; }\n"
    "kernel void set(global int *out, int n) { out[get_global_id(0)] = n; }\n";
static int own[64], host[64], large[4096];

static void *idle(void *started) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t never = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  for (;;) pthread_cond_wait(&never, &mutex);
  return started;
}

static void *wait_for(void *event) {
  clWaitForEvents(1, (cl_event *)event);
  return NULL;
}

int main(int count, char **words) {
  const char *mistake = count > 1 ? words[1] : "";
  int is_right = count > 2, one = 1, status = 0;
  size_t grid = 64;
#define IS(name) (!strcmp(mistake, name))
#define WRONG(name) (IS(name) && !is_right)
  cl_platform_id platform;
  cl_device_id device;
  clGetPlatformIDs(1, &platform, NULL);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
  clBuildProgram(program, 1, &device, "", NULL, NULL);
  cl_kernel add = clCreateKernel(program, IS("unseen") ? "set" : "add", NULL);
  char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(pages + 4096, 4096);
  void *nothing = is_right ? (void *)own : pages + 4096;
  cl_mem cells = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof large, NULL, NULL);
  clEnqueueFillBuffer(queue, cells, &one, sizeof one, 0, sizeof large, 0, NULL, NULL);

  // Pointers to no memory.
  if (IS("read")) status = clEnqueueReadBuffer(queue, cells, CL_TRUE, 0, 256, nothing, 0, NULL, NULL);
  if (IS("write")) status = clEnqueueWriteBuffer(queue, cells, CL_FALSE, 0, 256, nothing, 0, NULL, NULL);
  if (IS("part")) status = clEnqueueReadBuffer(queue, cells, CL_TRUE, 0, 256, is_right ? pages : pages + 4000, 0, NULL, NULL);
  if (IS("constant")) status = clEnqueueReadBuffer(queue, cells, CL_TRUE, 0, 5, is_right ? (void *)own : "text", 0, NULL, NULL);
  if (IS("create")) clReleaseMemObject(clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 256, nothing, &status));

  // Maps.
  if (IS("reading")) {
    int *there = clEnqueueMapBuffer(queue, cells, CL_TRUE, is_right ? CL_MAP_READ | CL_MAP_WRITE : CL_MAP_READ, 0, 64, 0, NULL, NULL, NULL);
    there[1] = 5;
    clEnqueueUnmapMemObject(queue, cells, there, 0, NULL, NULL);
  }

  // Memory that the buffer uses.
  cl_mem_flags access = IS("unseen") ? CL_MEM_WRITE_ONLY : CL_MEM_READ_WRITE;
  cl_mem used = clCreateBuffer(context, CL_MEM_USE_HOST_PTR | access, sizeof own, own, NULL);
  clSetKernelArg(add, 0, sizeof used, &used), clSetKernelArg(add, 1, sizeof one, &one);
  if (WRONG("unmapped")) own[2] = 7;
  cl_map_flags flags = WRONG("used") ? CL_MAP_READ : CL_MAP_WRITE;
  if ((IS("unmapped") && is_right) || IS("used")) {
    int *there = clEnqueueMapBuffer(queue, used, CL_TRUE, flags, 8, 8, 0, NULL, NULL, NULL);
    own[2] = 7, own[3] = 8;
    clEnqueueUnmapMemObject(queue, used, there, 0, NULL, NULL);
  }
  if (IS("unmapped") || IS("used") || IS("unseen")) {
    clEnqueueNDRangeKernel(queue, add, 1, NULL, &grid, NULL, 0, NULL, NULL);
    if (!WRONG("unseen")) clEnqueueReadBuffer(queue, used, CL_TRUE, 0, sizeof own, own, 0, NULL, NULL);
    printf("own %d %d\n", own[1], own[2]);
  }

  // Commands that have not ended.
  cl_event user = clCreateUserEvent(context, NULL), ended;
  cl_bool is_blocking = is_right;
  if (IS("source")) {
    clEnqueueWriteBuffer(queue, cells, CL_FALSE, 0, sizeof host, host, 1, &user, &ended);
    if (!is_right) host[5] = 1;
    clSetUserEventStatus(user, CL_COMPLETE);
    clWaitForEvents(1, &ended);
    host[5] = 2;
    clReleaseEvent(ended);
  }
  if (IS("lazy-source")) clEnqueueWriteBuffer(queue, cells, is_blocking, 0, sizeof host, host, 0, NULL, NULL), host[7] = 1;
  if (IS("early")) {
    clEnqueueReadBuffer(queue, cells, is_blocking, 0, sizeof large, large, 0, NULL, NULL);
    clFlush(queue);
    printf("large %d\n", large[2000]);
  }
  if (IS("target")) clEnqueueReadBuffer(queue, cells, is_blocking, 0, sizeof host, host, 0, NULL, NULL), host[9] = 3;
  if (IS("never")) clEnqueueReadBuffer(queue, cells, CL_FALSE, 0, sizeof host, host, 0, NULL, NULL);
  if ((IS("wait") || IS("join")) && is_right) clSetUserEventStatus(user, CL_COMPLETE);
  puts("before");
  pthread_t thread;
  if (IS("wait") || IS("join")) pthread_create(&thread, NULL, idle, NULL);
  if (IS("join")) pthread_create(&thread, NULL, wait_for, &user), pthread_join(thread, NULL);
  if (IS("wait")) clWaitForEvents(1, &user);
  if (!WRONG("never")) clFinish(queue);
  clReleaseEvent(user), clReleaseMemObject(cells), clReleaseMemObject(used), clReleaseKernel(add);
  clReleaseProgram(program), clReleaseCommandQueue(queue), clReleaseContext(context);
  return status != 0;
}
