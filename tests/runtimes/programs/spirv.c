// Executes the kernels of spirv.cl, of source or of SPIR-V, and prints what they have made: `spirv FILE OPTIONS`.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static cl_program program;
static cl_mem made[20];
static int buffers;

static cl_mem filled(int kind) {
  int cells[1024];
  for (int i = 0; i < 1024; i++) {
    if (kind == 'f') ((float *)cells)[i] = i * 0.3f + 0.7f;
    else cells[i] = kind == 'i' ? i * 1000 - 3000 : kind == 'u' ? i * 0x12345679 : 0;
  }
  return made[buffers++] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 2048, cells, NULL);
}

static void shown(const char *name, cl_mem memory) {
  unsigned bytes[512], sum = 5381;
  clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, 2048, bytes, 0, NULL, NULL);
  for (int i = 0; i < 512; i++) sum = sum * 33 + bytes[i];
  printf("%s %08x %08x %08x %08x %08x\n", name, sum, bytes[0], bytes[1], bytes[2], bytes[3]);
}

// Executes a kernel; each argument is its size and where it is, and 0 ends them.
static void run(const char *name, size_t items, size_t group, ...) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, name, &error);
  va_list words;
  va_start(words, group);
  size_t size;
  for (int i = 0; (size = va_arg(words, size_t)); i++) error |= clSetKernelArg(kernel, i, size, va_arg(words, void *));
  va_end(words);
  error |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL);
  if (error) printf("%s: %d\n", name, error);
  clReleaseKernel(kernel);
}

static cl_int specialize(cl_uint number, size_t size, const void *value) {
  return clSetProgramSpecializationConstant(program, number, size, value);
}

int main(int count, char **words) {
  cl_platform_id platform;
  cl_int error, integer = 70;
  float real = 2.5f, a = 0.25f;
  double more = 1 / 3.0;
  size_t size, needed = 0, zero[3] = {0}, all[3] = {8, 8, 1}, memory = sizeof(cl_mem);
  static char content[1 << 20], text[4000];
  clGetPlatformIDs(1, &platform, NULL);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  queue = clCreateCommandQueueWithProperties(context, device, NULL, NULL);
  FILE *file = fopen(words[1], "rb");
  const char *source = content;
  size = fread(content, 1, sizeof content, file), fclose(file);
  int is_il = !strstr(words[1], ".cl");
  if (is_il) {
    clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, sizeof text, text, NULL);
    fprintf(stderr, "reads %s\n", text);
    program = clCreateProgramWithIL(context, content, size, &error);
    fprintf(stderr, "created %d\n", error);
    if (error) return 0;
    fprintf(stderr, "set %d %d %d", specialize(7, 4, &integer), specialize(9, 4, &real), specialize(11, 1, zero));
    fprintf(stderr, " %d", specialize(13, 8, &more));
    fprintf(stderr, ", not %d %d\n", specialize(8, 4, &integer), specialize(7, 8, &integer));
  } else
    program = clCreateProgramWithSource(context, 1, &source, &size, &error);
  if (!strcmp(words[2], "link")) {
    error = clCompileProgram(program, 1, &device, "", 0, NULL, NULL, NULL, NULL);
    if (!error) program = clLinkProgram(context, 1, &device, "", 1, &program, NULL, NULL, &error);
  } else
    error = clBuildProgram(program, 1, &device, words[2], NULL, NULL);
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof text, text, NULL);
  printf("built %d %s\n", error, text);
  if (error) return 0;

  struct { float factor; int count; char tail; } shape = {1.5f, 40, 7};
  struct { struct { long far; short few[5]; } first; cl_float3 point; } outer = {{3, {1, 2, 3, 4, 5}}, {{1, 2, 3}}};
  cl_mem x = filled('f'), y = filled('f'), structs = filled(0), cells = filled('i'), counter = filled(0);
  cl_mem f = filled('f'), v = filled('i'), u = filled('u'), c = filled('u');
  run("saxpy", 64, 16, memory, &y, memory, &x, sizeof a, &a, sizeof shape, &shape, memory, &f, (size_t)0);
  shown("saxpy", y);
  run("structs", 32, 16, memory, &structs, sizeof outer, &outer, 16 * sizeof outer, NULL, (size_t)0);
  shown("structs", structs);
  run("groups", 64, 16, memory, &cells, sizeof(int[16]), NULL, memory, &counter, (size_t)0);
  shown("groups", cells), shown("counter", counter);
  run("functions", 1, 1, memory, &f, memory, &v, memory, &u, memory, &c, (size_t)0);
  shown("f", f), shown("v", v), shown("u", u), shown("c", c);
  run("prints", 2, 2, memory, &cells, (size_t)0);

  cl_image_format format = {CL_RGBA, CL_FLOAT};
  cl_image_desc square = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 8, .image_height = 8};
  float texels[8 * 8 * 4];
  for (int i = 0; i < 256; i++) texels[i] = i;
  cl_mem in = clCreateImage(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format, &square, texels, NULL);
  cl_mem out = clCreateImage(context, CL_MEM_WRITE_ONLY, &format, &square, NULL, NULL);
  cl_sampler_properties linear[] = {
      CL_SAMPLER_NORMALIZED_COORDS, 0, CL_SAMPLER_ADDRESSING_MODE, CL_ADDRESS_CLAMP, CL_SAMPLER_FILTER_MODE, CL_FILTER_LINEAR, 0};
  cl_sampler sampler = clCreateSamplerWithProperties(context, linear, NULL);
  cl_kernel doubled = clCreateKernel(program, "doubled", NULL);
  clSetKernelArg(doubled, 0, memory, &in), clSetKernelArg(doubled, 1, memory, &out);
  clSetKernelArg(doubled, 2, sizeof sampler, &sampler);
  clEnqueueNDRangeKernel(queue, doubled, 2, NULL, all, NULL, 0, NULL, NULL);
  clEnqueueReadImage(queue, out, CL_TRUE, zero, all, 0, 0, texels, 0, NULL, NULL);
  printf("image %g %g %g %g\n", texels[0], texels[5], texels[130], texels[255]);

  cl_kernel groups = clCreateKernel(program, "groups", NULL);
  clGetKernelWorkGroupInfo(groups, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof all, all, NULL);
  clGetKernelArgInfo(doubled, 0, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof error, &error, NULL);
  printf("groups of %zu, access %x\n", all[0], error);
  if (is_il && strcmp(words[2], "link")) {
    run("constants", 1, 1, memory, &counter, memory, &f, memory, &v, (size_t)0);
    clEnqueueReadBuffer(queue, counter, CL_TRUE, 0, 4, &integer, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, f, CL_TRUE, 0, 4, &real, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, v, CL_TRUE, 0, 8, &more, 0, NULL, NULL);
    clGetProgramInfo(program, CL_PROGRAM_IL, 0, NULL, &needed);
    fprintf(stderr, "constants %d %g %.17g, same size %d\n", integer, real, more, needed == size);
  }
  while (buffers) clReleaseMemObject(made[--buffers]);
  clReleaseMemObject(in), clReleaseMemObject(out);
}
