// A program of OpenCL that is right: it prints what a reader can check.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *source =
    "kernel void scaled(global int *out, int by) { out[get_global_id(0)] = by * (int)get_global_id(0); }\n"
    "kernel void reversed(global int *out, local int *part, int n) {\n"
    "  int id = get_local_id(0); part[id] = out[get_global_id(0)];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE); out[get_global_id(0)] = part[get_local_size(0) - 1 - id];\n"
    "}\n"
    "kernel void said(global int *out) { if (get_global_id(0) == 3) printf(\"item %d of %d\\n\", 3, out[0]); }\n"
    "kernel void groups(global int *out) { out[get_global_id(0)] = get_local_size(0); }\n"
    "kernel void shown(read_only image2d_t in, write_only image2d_t out, sampler_t s) {\n"
    "  int2 at = (int2)(get_global_id(0), get_global_id(1)); write_imagei(out, at, read_imagei(in, s, at.yx) + 1);\n"
    "}\n"
    "kernel void moved(read_write image1d_buffer_t line) {\n"
    "  int at = get_global_id(0); write_imagei(line, at, read_imagei(line, at) + 5);\n"
    "}\n";

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static cl_program program;
static int calls;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called_back = PTHREAD_COND_INITIALIZER;

static void check(cl_int error, const char *what) {
  if (error) printf("%s: %d\n", what, error);
}

static void CL_CALLBACK ended(cl_event event, cl_int status, void *data) {
  (void)event;
  pthread_mutex_lock(&lock);
  calls += *(int *)data + status;
  pthread_cond_signal(&called_back);
  pthread_mutex_unlock(&lock);
}

static void CL_CALLBACK on_host(void *arguments) {
  int **buffer = arguments;
  for (int i = 0; i < 4; i++) buffer[0][i] += 100;
}

static cl_kernel kernel_of(const char *name) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, name, &error);
  check(error, name);
  return kernel;
}

static void *waits(void *event) {
  clWaitForEvents(1, (cl_event *)&event);
  return NULL;
}

static void buffers(void) {
  int host[64], part[8] = {0};
  size_t grid = 64, group = 16, offset = 10, uneven = 40;
  cl_mem cells = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof host, NULL, NULL);
  cl_kernel scaled = kernel_of("scaled"), reversed = kernel_of("reversed"), said = kernel_of("said");
  int by = 3, n = 64;
  clSetKernelArg(scaled, 0, sizeof cells, &cells);
  clSetKernelArg(scaled, 1, sizeof by, &by);
  check(clEnqueueNDRangeKernel(queue, scaled, 1, NULL, &grid, &group, 0, NULL, NULL), "scaled");
  clSetKernelArg(reversed, 0, sizeof cells, &cells);
  clSetKernelArg(reversed, 1, group * sizeof(int), NULL);
  clSetKernelArg(reversed, 2, sizeof n, &n);
  check(clEnqueueNDRangeKernel(queue, reversed, 1, NULL, &grid, &group, 0, NULL, NULL), "reversed");
  check(clEnqueueReadBuffer(queue, cells, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
  printf("reversed %d %d %d\n", host[0], host[15], host[63]);

  by = 1000;
  clSetKernelArg(scaled, 1, sizeof by, &by);
  grid = 4;
  check(clEnqueueNDRangeKernel(queue, scaled, 1, &offset, &grid, NULL, 0, NULL, NULL), "offset");
  cl_kernel clone = clCloneKernel(scaled, NULL);
  grid = 1;
  check(clEnqueueNDRangeKernel(queue, clone, 1, NULL, &grid, NULL, 0, NULL, NULL), "clone");
  check(clEnqueueReadBuffer(queue, cells, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
  printf("offset %d %d %d\n", host[9], host[10], host[13]);

  clSetKernelArg(said, 0, sizeof cells, &cells);
  grid = 8;
  check(clEnqueueNDRangeKernel(queue, said, 1, NULL, &grid, NULL, 0, NULL, NULL), "said");

  int seven = 7;
  check(clEnqueueFillBuffer(queue, cells, &seven, sizeof seven, 0, sizeof host, 0, NULL, NULL), "fill");
  cl_buffer_region region = {128, 32};
  cl_mem second = clCreateSubBuffer(cells, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
  int four[4] = {1, 2, 3, 4};
  check(clEnqueueWriteBuffer(queue, second, CL_TRUE, 4, sizeof four, four, 0, NULL, NULL), "write");
  size_t from[3] = {4, 8, 0}, to[3] = {0, 0, 0}, box[3] = {8, 2, 1};
  check(clEnqueueReadBufferRect(queue, cells, CL_TRUE, from, to, box, 16, 0, 8, 0, part, 0, NULL, NULL), "box");
  int *mapped = clEnqueueMapBuffer(queue, cells, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, sizeof host, 0, NULL, NULL, NULL);
  printf("part %d %d, box %d %d %d %d\n", mapped[33], mapped[36], part[0], part[1], part[2], part[3]);
  mapped[0] = 12;
  check(clEnqueueUnmapMemObject(queue, cells, mapped, 0, NULL, NULL), "unmap");

  void *arguments[1] = {cells};
  const void *places[1] = {arguments};
  check(clEnqueueNativeKernel(queue, on_host, arguments, sizeof arguments, 1, &cells, places, 0, NULL, NULL), "native");
  check(clEnqueueReadBuffer(queue, cells, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
  printf("native %d %d %d\n", host[0], host[3], host[4]);

  int own[16] = {5};
  cl_mem used = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, sizeof own, own, NULL);
  clSetKernelArg(scaled, 0, sizeof used, &used);
  grid = 16;
  check(clEnqueueNDRangeKernel(queue, scaled, 1, NULL, &grid, NULL, 0, NULL, NULL), "used");
  int *there = clEnqueueMapBuffer(queue, used, CL_TRUE, CL_MAP_READ, 4, 60, 0, NULL, NULL, NULL);
  printf("used %d %d\n", there == own + 1, own[15]);
  check(clEnqueueUnmapMemObject(queue, used, there, 0, NULL, NULL), "unmap");

  cl_kernel groups = kernel_of("groups");
  clSetKernelArg(groups, 0, sizeof cells, &cells);
  cl_int error = clEnqueueNDRangeKernel(queue, groups, 1, NULL, &uneven, &group, 0, NULL, NULL);
  check(error, "uneven");
  check(clEnqueueReadBuffer(queue, cells, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
  printf("groups %d %d\n", host[0], host[39]);

  cl_mem all[] = {cells, second, used};
  for (int i = 0; i < 3; i++) clReleaseMemObject(all[i]);
  cl_kernel kernels[] = {scaled, reversed, said, clone, groups};
  for (int i = 0; i < 5; i++) clReleaseKernel(kernels[i]);
}

static void events(void) {
  cl_command_queue_properties flags = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
  cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, flags, 0};
  cl_command_queue other = clCreateCommandQueueWithProperties(context, device, properties, NULL);
  int host[4] = {1, 2, 3, 4}, back[4] = {0}, one = 1, ten = 10;
  cl_mem cells = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof host, host, NULL);
  cl_event user = clCreateUserEvent(context, NULL), written, read;
  host[0] = 50;
  check(clEnqueueWriteBuffer(other, cells, CL_FALSE, 0, sizeof host, host, 1, &user, &written), "write");
  check(clEnqueueReadBuffer(other, cells, CL_FALSE, 0, sizeof back, back, 1, &written, &read), "read");
  clSetEventCallback(read, CL_COMPLETE, ended, &one);
  clSetEventCallback(written, CL_RUNNING, ended, &ten);
  cl_int status;
  clGetEventInfo(read, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, waits, read);
  printf("before %d %d\n", back[0], status > CL_COMPLETE);
  check(clSetUserEventStatus(user, CL_COMPLETE), "status");
  pthread_join(thread, NULL);
  pthread_mutex_lock(&lock);
  while (calls < 12) pthread_cond_wait(&called_back, &lock);
  pthread_mutex_unlock(&lock);
  cl_ulong begun, done;
  clGetEventProfilingInfo(read, CL_PROFILING_COMMAND_START, sizeof begun, &begun, NULL);
  clGetEventProfilingInfo(read, CL_PROFILING_COMMAND_END, sizeof done, &done, NULL);
  printf("after %d, calls %d, time %d\n", back[0], calls, done > begun);
  cl_event failed = clCreateUserEvent(context, NULL), marked;
  check(clEnqueueMarkerWithWaitList(other, 1, &failed, &marked), "marker");
  check(clSetUserEventStatus(failed, -5), "status");
  printf("failed %d\n", clWaitForEvents(1, &marked));
  cl_event all[] = {user, written, read, failed, marked};
  for (int i = 0; i < 5; i++) clReleaseEvent(all[i]);
  clReleaseMemObject(cells);
  clReleaseCommandQueue(other);
}

// An image with memory of its own, or with that of a buffer whose rows have gaps.
static void images(int has_buffer) {
  cl_image_format format = {CL_RGBA, CL_SIGNED_INT32};
  cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
  int texels[4][4][4], back[4][4][4];
  for (int y = 0; y < 4; y++)
    for (int x = 0; x < 4; x++)
      for (int c = 0; c < 4; c++) texels[y][x][c] = 100 * y + 10 * x + c;
  cl_mem in = clCreateImage(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &shape, texels, NULL);
  int cells[4][20] = {{0}};
  cl_mem buffer = has_buffer ? clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof cells, cells, NULL) : NULL;
  shape.mem_object = buffer, shape.image_row_pitch = has_buffer ? sizeof *cells : 0;
  cl_mem out = clCreateImage(context, has_buffer ? 0 : CL_MEM_READ_WRITE, &format, &shape, NULL, NULL);
  cl_sampler sampler = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, NULL);
  cl_kernel shown = kernel_of("shown");
  clSetKernelArg(shown, 0, sizeof in, &in);
  clSetKernelArg(shown, 1, sizeof out, &out);
  clSetKernelArg(shown, 2, sizeof sampler, &sampler);
  size_t grid[] = {4, 4}, origin[3] = {0}, region[3] = {4, 4, 1}, corner[3] = {2, 2, 0}, two[3] = {2, 2, 1};
  check(clEnqueueNDRangeKernel(queue, shown, 2, NULL, grid, NULL, 0, NULL, NULL), "shown");
  int color[4] = {-1, -2, -3, -4};
  check(clEnqueueFillImage(queue, out, color, corner, two, 0, NULL, NULL), "fill");
  check(clEnqueueReadImage(queue, out, CL_TRUE, origin, region, 0, 0, back, 0, NULL, NULL), "read");
  printf("image %d %d %d\n", back[0][1][0], back[1][0][3], back[3][3][2]);
  size_t pitch;
  int *mapped = clEnqueueMapImage(queue, out, CL_TRUE, CL_MAP_READ, corner, two, &pitch, NULL, 0, NULL, NULL, NULL);
  printf("mapped %d %d %zu\n", mapped[0], mapped[pitch / 4 + 1], pitch);
  clEnqueueUnmapMemObject(queue, out, mapped, 0, NULL, NULL);
  if (has_buffer) {
    check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof cells, cells, 0, NULL, NULL), "read");
    printf("plane %d %d %d %d\n", cells[0][4], cells[1][3], cells[1][16], cells[3][14]);
    clReleaseMemObject(buffer);
  }
  clFinish(queue);
  clReleaseMemObject(in), clReleaseMemObject(out), clReleaseSampler(sampler), clReleaseKernel(shown);
}

static void lines(void) {
  cl_image_format format = {CL_RG, CL_SIGNED_INT16};
  short cells[64] = {7, 8, 9};
  cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof cells, cells, NULL), from = NULL;
  cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 16, .mem_object = buffer};
  cl_mem line = clCreateImage(context, 0, &format, &shape, NULL, NULL);
  cl_kernel moved = kernel_of("moved");
  clSetKernelArg(moved, 0, sizeof line, &line);
  size_t two = 2, origin[3] = {2, 0, 0}, region[3] = {1, 1, 1};
  int color[4] = {-3, 4, 0, 0};
  check(clEnqueueNDRangeKernel(queue, moved, 1, NULL, &two, NULL, 0, NULL, NULL), "moved");
  check(clEnqueueFillImage(queue, line, color, origin, region, 0, NULL, NULL), "fill");
  clGetImageInfo(line, CL_IMAGE_BUFFER, sizeof from, &from, NULL);
  check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof cells, cells, 0, NULL, NULL), "read");
  printf("line %d %d %d %d %d, %d; ", cells[0], cells[3], cells[4], cells[5], cells[6], from == buffer);
  clReleaseMemObject(buffer), clReleaseMemObject(line), clReleaseKernel(moved);
}

static void shared(void) {
  int *cells = clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0), by = 2;
  cl_kernel scaled = kernel_of("scaled");
  clSetKernelArgSVMPointer(scaled, 0, cells);
  clSetKernelArg(scaled, 1, sizeof by, &by);
  size_t grid = 16;
  check(clEnqueueNDRangeKernel(queue, scaled, 1, NULL, &grid, NULL, 0, NULL, NULL), "shared");
  check(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, cells, 64, 0, NULL, NULL), "map");
  printf("shared %d\n", cells[15]);
  check(clEnqueueSVMUnmap(queue, cells, 0, NULL, NULL), "unmap");
  clFinish(queue);
  clSVMFree(context, cells);
  clReleaseKernel(scaled);
}

static void linked(void) {
  const char *first = "#include \"six.h\"\nint six(void) { return SIX; }\n", *header = "#define SIX 6\n";
  const char *second = "int six(void); kernel void k(global int *p) { *p = six(); }\n", *name = "six.h";
  cl_program one = clCreateProgramWithSource(context, 1, &first, NULL, NULL);
  cl_program two = clCreateProgramWithSource(context, 1, &second, NULL, NULL);
  cl_program text = clCreateProgramWithSource(context, 1, &header, NULL, NULL);
  check(clCompileProgram(one, 0, NULL, "", 1, &text, &name, NULL, NULL), "compile");
  check(clCompileProgram(two, 0, NULL, "", 0, NULL, NULL, NULL, NULL), "compile");
  cl_program both[] = {one, two};
  cl_int error;
  cl_program whole = clLinkProgram(context, 0, NULL, "", 2, both, NULL, NULL, &error);
  check(error, "link");
  size_t size;
  clGetProgramInfo(whole, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
  unsigned char *binary = malloc(size);
  clGetProgramInfo(whole, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
  cl_program again = clCreateProgramWithBinary(context, 1, &device, &size, (const unsigned char **)&binary, NULL, &error);
  check(error, "binary");
  check(clBuildProgram(again, 0, NULL, NULL, NULL, NULL), "build");
  cl_kernel kernel = clCreateKernel(again, "k", &error);
  cl_mem cell = clCreateBuffer(context, 0, 4, NULL, NULL);
  clSetKernelArg(kernel, 0, sizeof cell, &cell);
  size_t one_item = 1;
  check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one_item, NULL, 0, NULL, NULL), "k");
  int found = 0;
  clEnqueueReadBuffer(queue, cell, CL_TRUE, 0, 4, &found, 0, NULL, NULL);
  printf("linked %d\n", found);
  free(binary);
  cl_program all[] = {one, two, text, whole, again};
  clReleaseKernel(kernel), clReleaseMemObject(cell);
  for (int i = 0; i < 5; i++) clReleaseProgram(all[i]);
}

int main(void) {
  cl_platform_id platform;
  char name[64], argument[64];
  check(clGetPlatformIDs(1, &platform, NULL), "platform");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL), "device");
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
  context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
  program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
  check(clBuildProgram(program, 1, &device, "-cl-std=CL3.0", NULL, NULL), "build");
  cl_kernel reversed = kernel_of("reversed");
  clGetKernelArgInfo(reversed, 1, CL_KERNEL_ARG_NAME, sizeof argument, argument, NULL);
  printf("%s, %s\n", name, argument);
  clReleaseKernel(reversed);
  buffers(), events(), images(0), images(1), lines(), shared(), linked();
  clReleaseProgram(program), clReleaseCommandQueue(queue), clReleaseContext(context);
  return 0;
}
